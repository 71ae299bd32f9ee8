/* attention_decode against float64: every version, page edges, splits, windows, groups of
 * heads, lengths from nothing on; what lies outside of them in the caches is NaN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/attention_decode.h"
#include "tests/kernels/launch.h"
#include "tests/kernels/poison.h"
#include "tests/kernels/tensors.h"

#define BATCH_MOST 4
#define LONG_BYTES (240U << 10) /* of keys and values */

struct attention_case {
	uint32_t head_dim, batch, queries, group, kv_heads, page_tokens, length_most, window;
	uint32_t gap, shift, sm_count;
	int32_t lengths[BATCH_MOST];
	enum kp_dtype dtype, cache_dtype;
	float softcap;
	bool paged, special, lse;
};

struct attention_data {
	struct kp_tensor q, k, v, out, lse;
	int32_t *pages, *lengths;
};

static int32_t draw_length(const struct attention_case *c, unsigned number)
{
	const int32_t most = (int32_t)c->length_most;
	const int32_t edges[] = {most,
				 0,
				 1,
				 (int32_t)c->page_tokens,
				 (int32_t)c->page_tokens + 1,
				 (int32_t)c->queries - 1,
				 most + 5,
				 -3};

	if (number == 0)
		return most;
	if (kp_random_below(2))
		return (int32_t)kp_random_below(c->length_most + 1);
	return edges[kp_random_below(sizeof(edges) / sizeof(edges[0]))];
}

/* As long as it takes to be split among multiprocessors. */
static void make_long(struct attention_case *c)
{
	uint32_t key_bytes = 2 * c->head_dim * (uint32_t)kp_dtype_bytes(c->cache_dtype);

	c->batch = 1;
	c->length_most =
		LONG_BYTES / (key_bytes < LONG_BYTES / 2048 ? LONG_BYTES / 2048 : key_bytes);
	c->length_most += kp_random_below(80);
}

static struct attention_case draw(uint32_t head_dim, unsigned number)
{
	static const uint32_t groups[] = {1, 4, 8, 2, 3, 16}, pages[] = {16, 32, 64, 16, 48, 7};
	struct attention_case out = {0};

	out.head_dim = head_dim;
	out.dtype = (enum kp_dtype)(number % 2);
	out.cache_dtype = number / 2 % 2 ? KP_DTYPE_E4M3 : out.dtype;
	out.group = groups[number % 6];
	out.queries = number % 3 == 2 ? 1 + kp_random_below(4) : 1;
	out.kv_heads = 1 + kp_random_below(2);
	out.batch = 1 + kp_random_below(3);
	out.paged = number % 4 != 3;
	out.length_most = number % 5 == 4 ? 1 + kp_random_below(40) : 60 + kp_random_below(80);
	if (number % 3 == 1)
		make_long(&out);
	out.page_tokens = out.paged ? pages[kp_random_below(6)] : out.length_most + 10;
	out.window = number % 7 == 6 ? 1 + kp_random_below(70) : 0;
	out.softcap = number % 5 == 3 ? 1.5F : 0;
	out.gap = number % 8 == 7 ? 3 : number % 2 * 8;
	out.shift = number % 16 == 15;
	out.sm_count = number % 3 == 1 ? 16 : 1;
	out.special = number % 9 == 8;
	out.lse = number % 4 != 0;
	for (unsigned i = 0; i < BATCH_MOST; i++)
		out.lengths[i] = draw_length(&out, i);
	return out;
}

static uint32_t pages_a_sequence(const struct attention_case *c)
{
	return (c->length_most + c->page_tokens - 1) / c->page_tokens;
}

static uint32_t keys_of(const struct attention_case *c, uint32_t sequence)
{
	int32_t length = c->lengths[sequence];

	if (length > (int32_t)c->length_most)
		return c->length_most;
	return length < 0 ? 0 : (uint32_t)length;
}

/* The pages of all sequences in any order; those that a sequence has no keys for, beyond reach. */
static void make_pages(const struct attention_case *c, struct attention_data *data)
{
	uint32_t a_sequence = pages_a_sequence(c), count = c->batch * a_sequence;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t other = kp_random_below(i + 1);

		data->pages[i] = data->pages[other];
		data->pages[other] = (int32_t)i;
	}
	for (uint32_t i = 0; i < count; i++)
		if (i % a_sequence * c->page_tokens >= keys_of(c, i / a_sequence))
			data->pages[i] = INT32_MAX;
}

/* NaN in all tokens that no sequence has. */
static void poison(const struct attention_case *c, const struct attention_data *data,
		   struct kp_tensor *cache)
{
	size_t bytes = kp_dtype_bytes(cache->dtype);
	bool *used = calloc((size_t)cache->planes * cache->rows, sizeof(bool));

	for (uint32_t sequence = 0; sequence < c->batch; sequence++)
		for (uint32_t key = 0; key < keys_of(c, sequence); key++) {
			uint32_t page = sequence, place = key;

			if (c->paged) {
				page = (uint32_t)data->pages[sequence * pages_a_sequence(c) +
							     key / c->page_tokens];
				place = key % c->page_tokens;
			}
			used[page * cache->rows + place] = true;
		}
	for (uint32_t i = 0; i < cache->planes * cache->rows; i++)
		if (!used[i])
			memset((char *)cache->data + (i / cache->rows * cache->plane +
						      i % cache->rows * cache->row) *
							     (int64_t)bytes,
			       KP_POISON_BYTE, cache->columns * bytes);
	free(used);
}

/* A NaN or an infinity in a few places of q and of the keys. */
static void plant(struct kp_tensor *tensor)
{
	static const double values[] = {NAN, INFINITY, -INFINITY, 448};

	for (int i = 0; i < 3; i++) {
		int64_t at = kp_random_below(tensor->planes) * tensor->plane +
			     kp_random_below(tensor->rows) * tensor->row +
			     kp_random_below(tensor->columns);

		kp_number_store(tensor->data, tensor->dtype, at, values[kp_random_below(4)]);
	}
}

static void make(const struct attention_case *c, struct attention_data *data)
{
	uint32_t heads = c->kv_heads * c->group, columns = c->kv_heads * c->head_dim;
	uint32_t planes = c->paged ? c->batch * pages_a_sequence(c) : c->batch;

	data->q = kp_tensor_make(c->dtype, c->batch, c->queries, heads * c->head_dim, c->gap,
				 c->shift);
	data->out = kp_tensor_make(c->dtype, c->batch, c->queries, heads * c->head_dim, c->gap,
				   c->shift);
	data->k = kp_tensor_make(c->cache_dtype, planes, c->page_tokens, columns, c->gap, c->shift);
	data->v = kp_tensor_make(c->cache_dtype, planes, c->page_tokens, columns, c->gap, c->shift);
	data->lse = kp_tensor_make(KP_DTYPE_FP32, c->batch, c->queries, heads, 0, 0);
	data->lengths = kp_test_alloc(sizeof(c->lengths));
	memcpy(data->lengths, c->lengths, sizeof(c->lengths));
	/* Just as many as there are: one behind them would be seen. */
	data->pages = kp_test_alloc((size_t)c->batch * pages_a_sequence(c) * sizeof(int32_t));
	if (c->paged)
		make_pages(c, data);
	kp_tensor_fill(&data->q, KP_FILL_NORMAL, 1);
	kp_tensor_fill(&data->k, KP_FILL_NORMAL, 1);
	kp_tensor_fill(&data->v, KP_FILL_NORMAL, 1);
	if (c->special) {
		plant(&data->q);
		plant(&data->k);
	}
	poison(c, data, &data->k);
	poison(c, data, &data->v);
}

static void release(struct attention_data *data)
{
	struct kp_tensor *tensors = &data->q;

	for (size_t i = 0; i < 5; i++)
		kp_tensor_free(&tensors[i]);
	kp_test_free(data->lengths);
	kp_test_free(data->pages);
}

static struct kp_attention_decode_args args_of(const struct attention_case *c,
					       const struct attention_data *data)
{
	struct kp_attention_decode_args args = {0};

	args.q = data->q.data;
	args.k = data->k.data;
	args.v = data->v.data;
	args.out = data->out.data;
	args.lse = c->lse ? (float *)data->lse.data : NULL;
	args.lengths = data->lengths;
	args.pages = c->paged ? data->pages : NULL;
	args.batch = c->batch;
	args.queries = c->queries;
	args.q_heads = c->kv_heads * c->group;
	args.kv_heads = c->kv_heads;
	args.head_dim = c->head_dim;
	args.page_tokens = c->page_tokens;
	args.length_most = c->length_most;
	args.window = c->window;
	args.scale = 1.5F / sqrtf((float)c->head_dim);
	args.softcap = c->softcap;
	args.k_scale = 0.75F;
	args.v_scale = -2;
	args.q_batch = args.out_batch = data->q.plane;
	args.q_query = args.out_query = data->q.row;
	args.q_head = args.out_head = args.k_head = args.v_head = c->head_dim;
	args.k_page = args.v_page = data->k.plane;
	args.k_token = args.v_token = data->k.row;
	args.pages_batch = pages_a_sequence(c);
	args.dtype = c->dtype;
	args.cache_dtype = c->cache_dtype;
	return args;
}

/* Both launches, with a workspace of just the size and full of NaN. */
static void run(struct kp_attention_decode_args args, uint32_t sm_count, enum kp_fiber_order order)
{
	const struct kp_kernel_device device = {sm_count, 90};
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};
	size_t bytes = kp_attention_decode_workspace(&args, &device);

	args.workspace_bytes = bytes;
	args.workspace = kp_test_alloc(bytes);
	memset(args.workspace, KP_POISON_BYTE, bytes);
	kp_expect(kp_attention_decode_plan(&args, &device, plans, &args.chunk) == KP_OK, "no plan");
	args.splits = plans[0].grid_y;
	for (int i = 0; i < 2; i++) {
		if (plans[i].grid_x == 0)
			continue;
		kp_test_launch(&plans[i], &args, order);
	}
	kp_test_free(args.workspace);
}

struct expected {
	double *out, *magnitudes, *lse, *scores;
};

static void compare_row(const struct attention_case *c, const struct attention_data *data,
			const struct expected *expected, size_t row)
{
	uint32_t heads = c->kv_heads * c->group, head = (uint32_t)(row % heads);
	uint32_t query = (uint32_t)(row / heads % c->queries);
	uint32_t sequence = (uint32_t)(row / heads / c->queries);
	double score = isfinite(expected->scores[row]) ? expected->scores[row] : 0;
	double lse = expected->lse[row];
	/* Scores of infinite elements are no measure; others' sum may be as large as their result.
	 */
	double largest = isfinite(expected->scores[row]) || !isfinite(lse) ? 0 : fabs(lse);
	double relative = (c->dtype == KP_DTYPE_BF16 ? 0x1p-8 : 0x1p-11) + 0x1p-20 * (1 + score);

	for (uint32_t i = 0; i < c->head_dim; i++) {
		double want = expected->out[row * c->head_dim + i];
		double got = kp_tensor_get(&data->out, sequence, query, head * c->head_dim + i);
		double slack = relative * expected->magnitudes[row * c->head_dim + i] +
			       0x1p-23 * c->length_most;

		kp_expect(kp_is_close(got, want, c->dtype, 0, isfinite(slack) ? slack : 0),
			  "sequence %u query %u head %u element %u: %g, not %g", sequence, query,
			  head, i, got, want);
	}
	if (c->lse)
		kp_expect(kp_is_close(kp_tensor_get(&data->lse, sequence, query, head),
				      expected->lse[row], KP_DTYPE_FP32, 2,
				      0x1p-19 * (1 + score + c->softcap + largest)),
			  "log-sum-exp, sequence %u query %u head %u: %g, not %g", sequence, query,
			  head, kp_tensor_get(&data->lse, sequence, query, head),
			  expected->lse[row]);
}

static void run_again(const struct attention_case *c, const struct attention_data *first,
		      enum kp_fiber_order order)
{
	struct attention_data again = *first;
	struct kp_attention_decode_args args;

	again.out = kp_tensor_make(c->dtype, c->batch, c->queries, first->out.columns, c->gap,
				   c->shift);
	again.lse = kp_tensor_make(KP_DTYPE_FP32, c->batch, c->queries, first->lse.columns, 0, 0);
	args = args_of(c, &again);
	run(args, c->sm_count, order);
	kp_expect_same(&again.out, &first->out, "out in another order");
	kp_expect_same(&again.lse, &first->lse, "log-sum-exp in another order");
	kp_tensor_free(&again.out);
	kp_tensor_free(&again.lse);
}

static void check(const struct attention_case *c, bool again, enum kp_fiber_order order)
{
	size_t rows = (size_t)c->batch * c->queries * c->kv_heads * c->group;
	size_t count = rows * c->head_dim;
	double *room = malloc(2 * (count + rows) * sizeof(double));
	struct expected expected = {room, room + count, room + 2 * count, room + 2 * count + rows};
	struct kp_attention_decode_args args;
	struct attention_data data;

	kp_case("attention %s cache %s head %u batch %u queries %u heads %u×%u pages of %u%s most "
		"%u first %d window %u cap %g gap %u shift %u sms %u special %d",
		kp_dtype_name(c->dtype), kp_dtype_name(c->cache_dtype), c->head_dim, c->batch,
		c->queries, c->kv_heads, c->group, c->page_tokens, c->paged ? "" : " contiguous",
		c->length_most, c->lengths[0], c->window, (double)c->softcap, c->gap, c->shift,
		c->sm_count, c->special);
	make(c, &data);
	args = args_of(c, &data);
	kp_attention_decode_reference(&args, expected.out, expected.magnitudes, expected.lse,
				      expected.scores);
	run(args, c->sm_count, order);
	for (size_t row = 0; row < rows; row++)
		compare_row(c, &data, &expected, row);
	kp_expect_gaps(&data.out, "out");
	if (again)
		run_again(c, &data, (enum kp_fiber_order)((order + 1) % KP_FIBER_ORDERS));
	release(&data);
	free(room);
}

int main(void)
{
	static const struct {
		uint32_t head_dim;
		unsigned cases;
	} grid[] = {{64, 24}, {96, 12}, {128, 18}, {256, 8}, {1, 2}, {33, 4}, {80, 2}, {200, 2}};

	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++)
		for (unsigned number = 0; number < kp_test_cases(grid[i].cases); number++) {
			struct attention_case c = draw(grid[i].head_dim, number);

			check(&c, number % 4 == 0, (enum kp_fiber_order)(number % KP_FIBER_ORDERS));
		}
	kp_test_expect_all("attention_");
	return kp_checks_end();
}
