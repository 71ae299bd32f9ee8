/* Pieces of built-ins; see piece.h. */
#include "kernels/piece.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/reference/number.h"
#include "trace/scatter.h"

#define ELEMENT_BYTES 2U      /* of bf16 and fp16 */
#define OUTPUTS_MOST 32U      /* of a linear layer */
#define ACTIVATION_MOST 4096U /* elements */

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static const void *moved(const void *pointer, int64_t elements)
{
	return pointer ? (const char *)pointer + elements * (int64_t)ELEMENT_BYTES : NULL;
}

/* False: it is too much. Nothing to be read is nothing to do. */
static bool add_range(struct kp_piece *piece, const void *from, int64_t elements, size_t member)
{
	uint64_t before = 0;

	if (!from)
		return true;
	for (uint32_t i = 0; i < piece->range_count; i++)
		before += piece->ranges[i].bytes / ELEMENT_BYTES;
	if (elements < 1 || (uint64_t)elements > KP_PIECE_INPUTS - before)
		return false;
	piece->ranges[piece->range_count++] = (struct kp_piece_range){
		(uintptr_t)from, (uint64_t)elements * ELEMENT_BYTES, member};
	return true;
}

#define RANGE(of, name, elements)                                                                  \
	add_range(piece, piece->args.of.name, elements, offsetof(union kp_piece_args, of.name))

static bool end(struct kp_piece *piece, const void *result, uint64_t elements, enum kp_dtype dtype)
{
	piece->result = (uintptr_t)result;
	piece->elements = (uint32_t)elements;
	piece->dtype = dtype;
	return elements >= 1 && elements <= KP_PIECE_RESULTS;
}

/* Outputs side by side, of one token. */
static bool find_linear(const struct kp_linear_skinny_args *of, uint64_t draw,
			struct kp_piece *piece)
{
	struct kp_linear_skinny_args *args = &piece->args.linear_skinny;
	uint64_t token, first, count;

	if (of->tokens == 0 || of->outputs == 0 || of->inputs == 0 || of->weight_row < 0 ||
	    of->weight_scale)
		return false;
	count = smaller(OUTPUTS_MOST, of->outputs);
	while (count > 1 &&
	       (count - 1) * (uint64_t)of->weight_row + 2 * (uint64_t)of->inputs + 2 * count >
		       KP_PIECE_INPUTS)
		count--;
	token = draw % of->tokens;
	first = kp_scatter(draw) % (of->outputs - count + 1);
	*args = *of;
	args->tokens = 1;
	args->outputs = (uint32_t)count;
	args->x = moved(of->x, (int64_t)token * of->x_token);
	args->weight = moved(of->weight, (int64_t)first * of->weight_row);
	args->bias = moved(of->bias, (int64_t)first);
	args->residual = moved(of->residual, (int64_t)token * of->residual_token + (int64_t)first);
	return RANGE(linear_skinny, x, of->inputs) &&
	       RANGE(linear_skinny, weight, ((int64_t)count - 1) * of->weight_row + of->inputs) &&
	       RANGE(linear_skinny, bias, (int64_t)count) &&
	       RANGE(linear_skinny, residual, (int64_t)count) &&
	       end(piece, moved(of->y, (int64_t)token * of->y_token + (int64_t)first), count,
		   of->dtype);
}

static bool find_norm(const struct kp_norm_args *of, uint64_t draw, struct kp_piece *piece)
{
	struct kp_norm_args *args = &piece->args.norm;
	uint64_t rows = (uint64_t)of->outer * of->inner;
	int64_t outer, inner;

	if (rows == 0 || of->y_dtype != of->dtype)
		return false;
	outer = (int64_t)(draw % rows / of->inner);
	inner = (int64_t)(draw % rows % of->inner);
	*args = *of;
	args->outer = args->inner = 1;
	args->sum = NULL;
	args->mean = args->rstd = NULL;
	args->x = moved(of->x, outer * of->x_outer + inner * of->x_inner);
	args->residual =
		moved(of->residual, outer * of->residual_outer + inner * of->residual_inner);
	return RANGE(norm, x, of->columns) && RANGE(norm, residual, of->columns) &&
	       RANGE(norm, weight, of->columns) && RANGE(norm, bias, of->columns) &&
	       end(piece, moved(of->y, outer * of->y_outer + inner * of->y_inner), of->columns,
		   of->dtype);
}

static bool find_activation(const struct kp_activation_args *of, uint64_t draw,
			    struct kp_piece *piece)
{
	struct kp_activation_args *args = &piece->args.activation;
	uint64_t count = smaller(ACTIVATION_MOST, of->columns);
	int64_t row, first;

	if (of->rows == 0 || count == 0)
		return false;
	row = (int64_t)(draw % of->rows);
	first = (int64_t)(kp_scatter(draw) % (of->columns - count + 1));
	*args = *of;
	args->rows = 1;
	args->columns = (uint32_t)count;
	args->x = moved(of->x, row * of->x_row + first);
	args->up = moved(of->up, row * of->up_row + first);
	return RANGE(activation, x, (int64_t)count) && RANGE(activation, up, (int64_t)count) &&
	       end(piece, moved(of->y, row * of->y_row + first), count, of->dtype);
}

/* Of a causal one, the columns that its row sees. */
static bool find_softmax(const struct kp_softmax_args *of, uint64_t draw, struct kp_piece *piece)
{
	struct kp_softmax_args *args = &piece->args.softmax;
	uint64_t rows = (uint64_t)of->outer * of->queries;
	int64_t outer, query, seen = of->columns;

	if (rows == 0 || of->mask_outer_group == 0)
		return false;
	outer = (int64_t)(draw % rows / of->queries);
	query = (int64_t)(draw % rows % of->queries);
	if (of->causal)
		seen = query + 1 + of->columns - of->queries;
	if (seen < 1 || seen > of->columns)
		return false;
	*args = *of;
	args->outer = args->queries = 1;
	args->columns = (uint32_t)seen;
	args->causal = false;
	args->x = moved(of->x, outer * of->x_outer + query * of->x_query);
	args->mask = moved(of->mask,
			   outer / of->mask_outer_group * of->mask_outer + query * of->mask_query);
	return RANGE(softmax, x, seen) && RANGE(softmax, mask, seen) &&
	       end(piece, moved(of->y, outer * of->y_outer + query * of->y_query), (uint64_t)seen,
		   of->dtype);
}

bool kp_piece_find(uint32_t builtin, const void *args, uint64_t draw, struct kp_piece *out)
{
	*out = (struct kp_piece){.builtin = builtin};
	switch ((enum kp_ab_builtin)builtin) {
	case KP_AB_BUILTIN_linear_skinny:
		return find_linear(args, draw, out);
	case KP_AB_BUILTIN_rmsnorm:
	case KP_AB_BUILTIN_layernorm:
		return find_norm(args, draw, out);
	case KP_AB_BUILTIN_activation:
		return find_activation(args, draw, out);
	case KP_AB_BUILTIN_softmax:
		return find_softmax(args, draw, out);
	case KP_AB_BUILTIN_attention_prefill:
	case KP_AB_BUILTIN_COUNT:
		break;
	}
	return false;
}

static void compute(uint32_t builtin, const union kp_piece_args *args, double *out)
{
	switch ((enum kp_ab_builtin)builtin) {
	case KP_AB_BUILTIN_linear_skinny:
		kp_linear_skinny_reference(&args->linear_skinny, out, NULL);
		return;
	case KP_AB_BUILTIN_rmsnorm:
		kp_rmsnorm_reference(&args->norm, out);
		return;
	case KP_AB_BUILTIN_layernorm:
		kp_layernorm_reference(&args->norm, out);
		return;
	case KP_AB_BUILTIN_activation:
		kp_activation_reference(&args->activation, out);
		return;
	case KP_AB_BUILTIN_softmax:
		kp_softmax_reference(&args->softmax, out);
		return;
	case KP_AB_BUILTIN_attention_prefill:
	case KP_AB_BUILTIN_COUNT:
		return;
	}
}

enum kp_status kp_piece_compare(const struct kp_piece *piece, const void *const *inputs,
				const void *original, const void *candidate,
				struct kp_piece_errors *out)
{
	double *truth = calloc(piece->elements, sizeof(*truth));
	union kp_piece_args args = piece->args;

	if (!truth)
		return KP_NO_MEMORY;
	for (uint32_t i = 0; i < piece->range_count; i++)
		memcpy((char *)&args + piece->ranges[i].member, &inputs[i], sizeof(inputs[i]));
	compute(piece->builtin, &args, truth);
	for (uint32_t i = 0; i < piece->elements; i++) {
		double before = kp_number_load(original, piece->dtype, i);
		double after = kp_number_load(candidate, piece->dtype, i);

		if (!isfinite(before) || !isfinite(after) || !isfinite(truth[i]))
			continue;
		out->original2 += (before - truth[i]) * (before - truth[i]);
		out->candidate2 += (after - truth[i]) * (after - truth[i]);
		out->truth2 += truth[i] * truth[i];
		out->elements++;
	}
	free(truth);
	return KP_OK;
}
