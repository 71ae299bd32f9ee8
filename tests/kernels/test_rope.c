/* The rotary embedding on the CPU against float64: both orders, partial, tables, caches of pages.
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/rope.h"
#include "tests/kernels/launch.h"
#include "tests/kernels/poison.h"
#include "tests/kernels/tensors.h"

#define PAGE_TOKENS 4
#define PLACES 20U /* five pages */
#define POSITIONS 131072

struct rope_data {
	struct kp_tensor q, k, v, q_out, k_out, k_cache, v_cache, cosines, sines, q_in, k_in;
	int64_t *slots, *positions;
	float *frequencies;
	double *q_expected, *k_expected;
};

/* Places in the cache in no order, each at most once; now and then none. */
static void fill_slots(int64_t *slots, uint32_t tokens)
{
	static const uint32_t steps[] = {1, 3, 7, 9, 11, 13, 17, 19}; /* prime to the places */
	uint32_t step = steps[kp_random_below(8)], at = kp_random_below(PLACES);

	for (uint32_t i = 0; i < tokens; i++) {
		slots[i] = kp_random_below(8) ? (int64_t)at : -1;
		at = (at + step) % PLACES;
	}
}

/* A page is page_tokens × heads × head_dim, with room between heads: planes of the tensor are
 * tokens. */
static struct kp_tensor cache_of(const struct kp_rope_args *args, uint32_t gap, uint32_t shift)
{
	return kp_tensor_make(args->dtype, PLACES, args->kv_heads, args->head_dim, gap, shift);
}

static void make(struct kp_rope_args *args, struct rope_data *data, uint32_t gap, uint32_t shift,
		 enum kp_fill fill)
{
	uint32_t pairs = args->rotary / 2;

	data->q = kp_tensor_make(args->dtype, args->tokens, args->q_heads, args->head_dim, gap,
				 shift);
	data->k = kp_tensor_make(args->dtype, args->tokens, args->kv_heads, args->head_dim, gap,
				 shift);
	data->v = kp_tensor_make(args->dtype, args->tokens, args->kv_heads, args->head_dim, gap,
				 shift);
	data->q_out = kp_tensor_copy(&data->q);
	data->k_out = kp_tensor_copy(&data->k);
	data->k_cache = cache_of(args, gap, shift);
	data->v_cache = cache_of(args, gap, shift);
	data->cosines = kp_tensor_make(args->table_dtype, 1, 64, pairs, 1, 0);
	data->sines = kp_tensor_make(args->table_dtype, 1, 64, pairs, 1, 0);
	data->slots = kp_test_alloc(args->tokens * sizeof(int64_t));
	data->positions = kp_test_alloc(args->tokens * sizeof(int64_t));
	data->frequencies = kp_test_alloc((pairs + 1) * sizeof(float));
	data->q_expected = calloc(data->q.bytes, 8);
	data->k_expected = calloc(data->k.bytes, 8);
	kp_tensor_fill(&data->q, fill, 1);
	kp_tensor_fill(&data->k, fill, 1);
	kp_tensor_fill(&data->v, fill, 1);
	fill_slots(data->slots, args->tokens);
	for (uint32_t row = 0; row < 64; row++)
		for (uint32_t i = 0; i < pairs; i++) {
			double angle = row * pow(10000, -2.0 * i / args->rotary);
			int64_t at = row * data->cosines.row + i;

			kp_number_store(data->cosines.data, args->table_dtype, at, cos(angle));
			kp_number_store(data->sines.data, args->table_dtype, at, sin(angle));
		}
	for (uint32_t i = 0; i < pairs; i++)
		data->frequencies[i] = (float)pow(500000, -2.0 * i / args->rotary);
}

static void point(struct kp_rope_args *args, const struct rope_data *data, bool in_place,
		  bool has_cache, bool has_table)
{
	args->q = data->q.data;
	args->k = data->k.data;
	args->v = has_cache ? data->v.data : NULL;
	args->q_out = in_place ? data->q.data : data->q_out.data;
	args->k_out = in_place ? data->k.data : data->k_out.data;
	if (has_cache && !in_place && kp_random_below(2))
		args->k_out = NULL;
	args->k_cache = has_cache ? data->k_cache.data : NULL;
	args->v_cache = has_cache ? data->v_cache.data : NULL;
	args->slots = has_cache ? data->slots : NULL;
	args->positions = data->positions;
	args->cosines = has_table ? data->cosines.data : NULL;
	args->sines = has_table ? data->sines.data : NULL;
	args->frequencies = has_table ? NULL : data->frequencies;
	args->q_token = args->q_out_token = data->q.plane;
	args->q_head = args->q_out_head = data->q.row;
	args->k_token = args->k_out_token = args->v_token = data->k.plane;
	args->k_head = args->k_out_head = args->v_head = data->k.row;
	args->k_cache_token = args->v_cache_token = data->k_cache.plane;
	args->k_cache_page = args->v_cache_page = data->k_cache.plane * args->page_tokens;
	args->k_cache_head = args->v_cache_head = data->k_cache.row;
	args->table_position = data->cosines.row;
}

/* Rotated heads; `in`: what they were. */
static void compare(const struct kp_rope_args *args, const char *name, const struct kp_tensor *in,
		    const struct kp_tensor *out, const int64_t *places, const double *expected)
{
	uint32_t count = args->head_dim;

	for (uint32_t token = 0; token < args->tokens; token++)
		for (uint32_t head = 0; head < in->rows; head++)
			for (uint32_t i = 0; i < count; i++) {
				size_t at = ((size_t)token * in->rows + head) * count + i;
				bool turns = i < args->rotary;
				uint32_t half = args->rotary / 2;
				uint32_t other = args->interleaved ? i ^ 1
						 : i < half        ? i + half
								   : i - half;
				double a = kp_tensor_get(in, token, head, i);
				double b = turns ? kp_tensor_get(in, token, head, other) : 0;
				double slack = turns ? 0x1p-21 * (fabs(a) + fabs(b)) : 0;

				if (turns && args->round_like_eager)
					slack += kp_number_ulp(args->dtype, a) +
						 kp_number_ulp(args->dtype, b) +
						 kp_number_ulp(args->dtype, 0.75) *
							 (fabs(a) + fabs(b));
				if (places && places[token] < 0)
					continue;
				kp_expect(kp_is_close(kp_tensor_get(out,
								    places ? (uint32_t)places[token]
									   : token,
								    head, i),
						      expected[at], args->dtype, 0,
						      isfinite(slack) ? slack : 0),
					  "%s token %u head %u element %u", name, token, head, i);
			}
}

/* Places that no token has are as they were; those of values hold them unchanged. */
static void check_cache(const struct kp_rope_args *args, const struct rope_data *data)
{
	for (uint32_t place = 0; place < PLACES; place++) {
		int64_t token = -1;

		for (uint32_t i = 0; i < args->tokens; i++)
			if (data->slots[i] == place)
				token = i;
		for (uint32_t at = 0; at < args->kv_heads * args->head_dim; at++) {
			uint32_t head = at / args->head_dim, i = at % args->head_dim;
			double k = kp_tensor_get(&data->k_cache, place, head, i);
			double v = kp_tensor_get(&data->v_cache, place, head, i);

			if (token < 0)
				kp_expect(isnan(k) && isnan(v), "place %u was written", place);
			else
				kp_expect(kp_is_close(
						  v,
						  kp_tensor_get(&data->v, (uint32_t)token, head, i),
						  args->dtype, -0.5, 0),
					  "value at place %u", place);
		}
	}
}

static void run(const struct kp_rope_args *args, uint32_t sm_count, enum kp_fiber_order order)
{
	const struct kp_kernel_device device = {sm_count, 90};
	struct kp_kernel_plan plan = KP_TEST_POISON;

	kp_expect(kp_rope_plan(args, &device, &plan) == KP_OK, "no plan");
	kp_test_launch(&plan, args, order);
}

static void release(struct rope_data *data)
{
	struct kp_tensor *tensors = &data->q;

	for (int i = 0; i < 11; i++)
		kp_tensor_free(&tensors[i]);
	kp_test_free(data->slots);
	kp_test_free(data->positions);
	kp_test_free(data->frequencies);
	free(data->q_expected);
	free(data->k_expected);
}

static void check(uint32_t head_dim, uint32_t rotary, unsigned number)
{
	bool in_place = kp_random_below(2), has_cache = kp_random_below(3), has_table = number % 2;
	enum kp_fill fill = (enum kp_fill)kp_random_below(KP_FILLS);
	uint32_t gap = number % 3 == 2 ? 3 : 8, shift = number % 7 == 6;
	struct kp_rope_args args = {0};
	struct rope_data data;

	args.dtype = (enum kp_dtype)(number / 2 % 2);
	args.table_dtype = kp_random_below(2) ? KP_DTYPE_FP32 : args.dtype;
	args.interleaved = number / 4 % 2;
	args.round_like_eager = kp_random_below(2);
	args.tokens = 1 + kp_random_below(6);
	args.q_heads = 1 + kp_random_below(9);
	args.kv_heads = 1 + kp_random_below(3);
	args.head_dim = head_dim;
	args.rotary = rotary;
	args.page_tokens = PAGE_TOKENS;
	kp_case("rope %s %u tokens %u+%u heads of %u, rotary %u, gap %u shift %u interleaved %d "
		"eager %d in place %d cache %d table %d fill %d",
		kp_dtype_name(args.dtype), args.tokens, args.q_heads, args.kv_heads, head_dim,
		rotary, gap, shift, args.interleaved, args.round_like_eager, in_place, has_cache,
		has_table, fill);
	make(&args, &data, gap, shift, fill);
	for (uint32_t i = 0; i < args.tokens; i++)
		data.positions[i] = kp_random_below(has_table ? 64 : POSITIONS);
	point(&args, &data, in_place, has_cache, has_table);
	kp_rope_reference(&args, data.q_expected, data.k_expected);
	data.q_in = kp_tensor_copy(&data.q);
	data.k_in = kp_tensor_copy(&data.k);
	run(&args, number % 2 ? 0 : 100, (enum kp_fiber_order)(number % KP_FIBER_ORDERS));
	compare(&args, "q", &data.q_in, in_place ? &data.q : &data.q_out, NULL, data.q_expected);
	if (args.k_out)
		compare(&args, "k", &data.k_in, in_place ? &data.k : &data.k_out, NULL,
			data.k_expected);
	if (has_cache) {
		compare(&args, "k cache", &data.k_in, &data.k_cache, data.slots, data.k_expected);
		check_cache(&args, &data);
	}
	kp_expect_gaps(&data.q_out, "q_out");
	kp_expect_gaps(&data.k_out, "k_out");
	kp_expect_gaps(&data.k_cache, "k_cache");
	kp_expect_gaps(&data.v_cache, "v_cache");
	kp_expect_gaps(&data.q, "q");
	release(&data);
}

int main(void)
{
	static const uint32_t shapes[][2] = {{64, 64},  {128, 128}, {80, 32}, {96, 96}, {128, 64},
					     {256, 64}, {6, 4},     {10, 10}, {2, 2},   {128, 0}};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (unsigned number = 0; number < kp_test_cases(32); number++)
			check(shapes[i][0], shapes[i][1], number);
	kp_test_expect_all("rope");
	return kp_checks_end();
}
