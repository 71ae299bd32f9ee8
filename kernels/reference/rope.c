/* The rotary embedding in float64; see kernels/rope.h. */
#include <math.h>

#include "kernels/reference/number.h"
#include "kernels/rope.h"

static double table(const struct kp_rope_args *args, const void *values, int64_t position,
		    uint32_t pair)
{
	return kp_number_load(values, args->table_dtype, position * args->table_position + pair);
}

static double rounded_as(const struct kp_rope_args *args, double value)
{
	return args->round_like_eager ? kp_number_rounded(args->dtype, value) : value;
}

/* Turns the pair `pair` of a head in place. */
static void rotate(const struct kp_rope_args *args, int64_t position, uint32_t pair, double *head)
{
	double *a = args->interleaved ? head + 2 * pair : head + pair;
	double *b = args->interleaved ? a + 1 : a + args->rotary / 2;
	double cosine, sine, first = *a, second = *b;

	if (args->cosines) {
		cosine = table(args, args->cosines, position, pair);
		sine = table(args, args->sines, position, pair);
	} else {
		cosine = cos((double)position * (double)args->frequencies[pair]);
		sine = sin((double)position * (double)args->frequencies[pair]);
	}
	cosine = rounded_as(args, cosine);
	sine = rounded_as(args, sine);
	*a = rounded_as(args, first * cosine) - rounded_as(args, second * sine);
	*b = rounded_as(args, second * cosine) + rounded_as(args, first * sine);
}

static void rotate_heads(const struct kp_rope_args *args, const void *from, uint32_t heads,
			 int64_t token_stride, int64_t head_stride, double *out)
{
	for (int64_t token = 0; token < args->tokens; token++)
		for (int64_t head = 0; head < heads; head++, out += args->head_dim) {
			for (int64_t i = 0; i < args->head_dim; i++)
				out[i] = kp_number_load(from, args->dtype,
							token * token_stride + head * head_stride +
								i);
			for (uint32_t pair = 0; pair < args->rotary / 2; pair++)
				rotate(args, args->positions[token], pair, out);
		}
}

void kp_rope_reference(const struct kp_rope_args *args, double *q_out, double *k_out)
{
	if (q_out)
		rotate_heads(args, args->q, args->q_heads, args->q_token, args->q_head, q_out);
	if (k_out)
		rotate_heads(args, args->k, args->kv_heads, args->k_token, args->k_head, k_out);
}
