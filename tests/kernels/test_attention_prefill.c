/*
 * attention_prefill against float64: every version, tails of rows and of keys, groups of heads,
 * causal with offsets, windows, caps, sequences behind each other, pages, caches that are filled in
 * part, both layouts, alignments.
 * What lies outside of the tensors is NaN. Hopper's versions need a GPU that is one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/attention_prepare.h"
#include "tests/kernels/launch.h"
#include "tests/kernels/poison.h"
#include "tests/kernels/tensors.h"

#define BATCH_MOST 2

struct prefill_case {
	uint32_t head_dim, batch, queries, keys, group, kv_heads, window, page_tokens, gap, shift;
	int32_t offset, lengths[BATCH_MOST];
	enum kp_dtype dtype;
	float softcap;
	bool causal, lse, is_varied, paged, heads_first, special, placed;
};

struct prefill_data {
	struct kp_tensor q, k, v, out, lse;
	int32_t *starts, *pages, *position;
};

static struct prefill_case draw(uint32_t head_dim, unsigned number)
{
	/* On the CPU every product is slow. */
	static const uint32_t small[] = {1, 63, 64, 65, 17, 129, 90, 33},
			      large[] = {1, 63, 128, 129, 200, 300, 385, 90};
	const uint32_t *lengths = kp_test_compute_capability() ? large : small;
	struct prefill_case out = {0};

	out.head_dim = head_dim;
	out.dtype = (enum kp_dtype)(number % 2);
	out.batch = 1 + number % 2;
	out.group = 1 + number % 3 / 2;
	out.kv_heads = 1 + number % 5 / 4;
	out.queries = lengths[kp_random_below(8)];
	out.keys = number % 4 == 3 ? lengths[kp_random_below(8)] : out.queries;
	out.causal = number % 2 == 0 || number % 5 == 3;
	out.window = out.causal && number % 6 == 4 ? 1 + kp_random_below(150) : 0;
	out.offset = number % 8 == 6 ? (int32_t)kp_random_below(100) - 50 : 0;
	out.softcap = number % 7 == 5 ? 1.5F : 0;
	out.is_varied = number % 5 == 2;
	out.paged = !out.is_varied && number % 7 == 3;
	out.placed = !out.is_varied && out.keys > out.queries;
	out.page_tokens = 16 * (1 + kp_random_below(3)) + number % 2;
	out.heads_first = number % 3 == 1;
	out.gap = number % 11 == 10 ? 3 : number % 2 * 8;
	out.shift = number % 13 == 12;
	out.special = number % 9 == 8;
	out.lse = number % 4 != 1;
	for (uint32_t i = 0; i < BATCH_MOST; i++)
		out.lengths[i] = (int32_t)kp_random_below(out.queries + 1);
	return out;
}

static uint32_t rows_of(const struct prefill_case *c, uint32_t each)
{
	uint32_t rows = 0;

	if (!c->is_varied)
		return c->batch * each;
	for (uint32_t i = 0; i < c->batch; i++)
		rows += (uint32_t)c->lengths[i];
	return rows;
}

/* Rows as planes of one, or, heads first, planes of a head: planes × rows × columns. */
static struct kp_tensor make_tensor(const struct prefill_case *c, uint32_t heads, uint32_t each)
{
	uint32_t batch = c->is_varied ? 1 : c->batch;
	uint32_t rows = c->is_varied ? rows_of(c, each) : each;
	struct kp_tensor out;

	if (c->heads_first)
		out = kp_tensor_make(c->dtype, batch * heads, rows, c->head_dim, c->gap, c->shift);
	else
		out = kp_tensor_make(c->dtype, batch, rows, heads * c->head_dim, c->gap, c->shift);
	return out;
}

static uint32_t pages_a_sequence(const struct prefill_case *c)
{
	return (c->keys + c->page_tokens - 1) / c->page_tokens;
}

/* Keys or values in pages: each a plane; those behind a sequence's last key stay NaN. */
static struct kp_tensor make_pages(const struct prefill_case *c, const int32_t *pages)
{
	uint32_t a_sequence = pages_a_sequence(c), count = c->batch * a_sequence;
	struct kp_tensor out = kp_tensor_make(c->dtype, count, c->page_tokens,
					      c->kv_heads * c->head_dim, c->gap, c->shift);
	size_t bytes = out.columns * kp_dtype_bytes(c->dtype);

	kp_tensor_fill(&out, KP_FILL_NORMAL, 1);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < c->page_tokens; j++)
			if (i % a_sequence * c->page_tokens + j >= c->keys)
				memset((char *)out.data + (pages[i] * out.plane + j * out.row) *
								  (int64_t)kp_dtype_bytes(c->dtype),
				       KP_POISON_BYTE, bytes);
	return out;
}

/* NaN behind the rows of a cache that are filled. */
static void empty(const struct prefill_case *c, struct kp_tensor *tensor, uint32_t filled)
{
	size_t bytes = (size_t)tensor->columns * kp_dtype_bytes(tensor->dtype);

	for (uint32_t plane = 0; plane < tensor->planes; plane++)
		for (uint32_t row = filled; row < c->keys; row++)
			memset((char *)tensor->data + (plane * tensor->plane + row * tensor->row) *
							      (int64_t)kp_dtype_bytes(c->dtype),
			       KP_POISON_BYTE, bytes);
}

/* A NaN or an infinity in a few places. */
static void plant(struct kp_tensor *tensor)
{
	static const double values[] = {NAN, INFINITY, -INFINITY, 448};

	for (int i = 0; i < 3 && tensor->rows; i++) {
		int64_t at = kp_random_below(tensor->planes) * tensor->plane +
			     kp_random_below(tensor->rows) * tensor->row +
			     kp_random_below(tensor->columns);

		kp_number_store(tensor->data, tensor->dtype, at, values[kp_random_below(4)]);
	}
}

static void make(const struct prefill_case *c, struct prefill_data *data)
{
	uint32_t heads = c->kv_heads * c->group, count = c->batch * pages_a_sequence(c);

	data->starts = kp_test_alloc((BATCH_MOST + 1) * sizeof(int32_t));
	data->starts[0] = 0;
	for (uint32_t i = 0; i < c->batch; i++)
		data->starts[i + 1] = data->starts[i] + c->lengths[i];
	/* In any order: each page swapped with one before it. */
	data->pages = kp_test_alloc(count * sizeof(int32_t));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t other = kp_random_below(i + 1);

		data->pages[i] = data->pages[other];
		data->pages[other] = (int32_t)i;
	}
	data->q = make_tensor(c, heads, c->queries);
	data->out = make_tensor(c, heads, c->queries);
	data->k = c->paged ? make_pages(c, data->pages) : make_tensor(c, c->kv_heads, c->keys);
	data->v = c->paged ? make_pages(c, data->pages) : make_tensor(c, c->kv_heads, c->keys);
	data->lse = kp_tensor_make(KP_DTYPE_FP32, 1, 1, rows_of(c, c->queries) * heads, 0, 0);
	kp_tensor_fill(&data->q, KP_FILL_NORMAL, 1);
	if (!c->paged) {
		kp_tensor_fill(&data->k, KP_FILL_NORMAL, 1);
		kp_tensor_fill(&data->v, KP_FILL_NORMAL, 1);
	}
	data->position = kp_test_alloc(sizeof(int32_t));
	*data->position = c->placed ? (int32_t)kp_random_below(c->keys - c->queries + 1) : 0;
	if (c->placed && !c->paged) {
		empty(c, &data->k, (uint32_t)*data->position + c->queries);
		empty(c, &data->v, (uint32_t)*data->position + c->queries);
	}
	if (c->special) {
		plant(&data->q);
		plant(&data->k);
	}
}

static void release(struct prefill_data *data)
{
	struct kp_tensor *tensors = &data->q;

	for (size_t i = 0; i < 5; i++)
		kp_tensor_free(&tensors[i]);
	kp_test_free(data->starts);
	kp_test_free(data->pages);
	kp_test_free(data->position);
}

/* The strides of sequences, rows and heads. */
static void strides(const struct prefill_case *c, const struct kp_tensor *tensor, uint32_t heads,
		    int64_t out[3])
{
	out[0] = c->heads_first ? tensor->plane * heads : tensor->plane;
	out[1] = tensor->row;
	out[2] = c->heads_first ? tensor->plane : c->head_dim;
}

static void set_strides(const struct prefill_case *c, const struct prefill_data *data,
			struct kp_attention_prefill_args *args)
{
	struct prefill_case cache = *c;
	int64_t q[3], k[3];

	/* Pages have their heads within a row. */
	cache.heads_first = c->heads_first && !c->paged;
	strides(c, &data->q, args->q_heads, q);
	strides(&cache, &data->k, args->kv_heads, k);
	args->q_batch = args->out_batch = q[0];
	args->q_query = args->out_query = q[1];
	args->q_head = args->out_head = q[2];
	args->k_batch = args->v_batch = k[0];
	args->k_key = args->v_key = k[1];
	args->k_head = args->v_head = k[2];
	args->pages_batch = pages_a_sequence(c);
}

static struct kp_attention_prefill_args args_of(const struct prefill_case *c,
						const struct prefill_data *data)
{
	struct kp_attention_prefill_args args = {0};

	args.q = data->q.data;
	args.k = data->k.data;
	args.v = data->v.data;
	args.out = data->out.data;
	args.lse = c->lse ? (float *)data->lse.data : NULL;
	args.q_starts = args.k_starts = c->is_varied ? data->starts : NULL;
	args.pages = c->paged ? data->pages : NULL;
	args.position = c->placed ? data->position : NULL;
	args.batch = c->batch;
	args.q_heads = c->kv_heads * c->group;
	args.kv_heads = c->kv_heads;
	args.head_dim = c->head_dim;
	args.queries = c->queries;
	args.keys = c->is_varied ? c->queries : c->keys;
	args.q_total = args.k_total = rows_of(c, c->queries);
	args.page_tokens = c->page_tokens;
	args.window = c->window;
	args.offset = c->offset;
	args.scale = 1.5F / sqrtf((float)c->head_dim);
	args.softcap = c->softcap;
	args.dtype = c->dtype;
	args.causal = c->causal;
	set_strides(c, data, &args);
	return args;
}

static void run(const struct kp_attention_prefill_args *args, enum kp_fiber_order order)
{
	const struct kp_kernel_device device = {4, kp_test_compute_capability()};
	struct kp_attention_call *call = aligned_alloc(64, sizeof(*call));
	struct kp_kernel_plan plan = KP_TEST_POISON;

	kp_expect(kp_attention_prefill_prepare(args, &device, kp_test_encode_map(), &plan, call) ==
			  KP_OK,
		  "not prepared");
	if (plan.grid_x)
		kp_test_launch(&plan, call, order);
	free(call);
}

struct expected {
	double *out, *magnitudes, *lse, *scores;
};

/* A row of a sequence and head: `row` counts as the reference does. */
static void compare_row(const struct prefill_case *c, const struct prefill_data *data,
			const struct expected *expected, size_t row, size_t lse_at)
{
	uint32_t heads = c->kv_heads * c->group, head = (uint32_t)(row % heads);
	uint32_t number = (uint32_t)(row / heads);
	uint32_t sequence = c->is_varied ? 0 : number / c->queries;
	uint32_t query = c->is_varied ? number : number % c->queries;
	uint32_t plane = c->heads_first ? sequence * heads + head : sequence;
	uint32_t column = c->heads_first ? 0 : head * c->head_dim;
	double score = isfinite(expected->scores[row]) ? expected->scores[row] : 0;
	double relative = (c->dtype == KP_DTYPE_BF16 ? 0x1p-8 : 0x1p-11) + 0x1p-20 * (1 + score);

	for (uint32_t i = 0; i < c->head_dim; i++) {
		double want = expected->out[row * c->head_dim + i];
		double got = kp_tensor_get(&data->out, plane, query, column + i);
		double slack =
			relative * expected->magnitudes[row * c->head_dim + i] + 0x1p-23 * c->keys;

		kp_expect(kp_is_close(got, want, c->dtype, 0, isfinite(slack) ? slack : 0),
			  "row %u head %u element %u: %g, not %g", number, head, i, got, want);
	}
	if (c->lse)
		kp_expect(kp_is_close(((const float *)data->lse.data)[lse_at], expected->lse[row],
				      KP_DTYPE_FP32, 2, 0x1p-19 * (1 + score + c->softcap)),
			  "log-sum-exp, row %u head %u: %g, not %g", number, head,
			  (double)((const float *)data->lse.data)[lse_at], expected->lse[row]);
}

static void compare(const struct prefill_case *c, const struct prefill_data *data,
		    const struct expected *expected)
{
	uint32_t heads = c->kv_heads * c->group, rows = rows_of(c, c->queries);

	for (uint32_t number = 0; number < rows; number++)
		for (uint32_t head = 0; head < heads; head++) {
			uint32_t each = c->is_varied ? rows : c->queries;
			size_t lse_at =
				((size_t)(number / each) * heads + head) * each + number % each;

			compare_row(c, data, expected, (size_t)number * heads + head, lse_at);
		}
}

static void run_again(const struct prefill_case *c, const struct prefill_data *first,
		      enum kp_fiber_order order)
{
	struct prefill_data again = *first;
	struct kp_attention_prefill_args args;

	again.out = make_tensor(c, c->kv_heads * c->group, c->queries);
	again.lse = kp_tensor_make(KP_DTYPE_FP32, 1, 1, first->lse.columns, 0, 0);
	args = args_of(c, &again);
	run(&args, order);
	kp_expect_same(&again.out, &first->out, "out in another order");
	kp_expect_same(&again.lse, &first->lse, "log-sum-exp in another order");
	kp_tensor_free(&again.out);
	kp_tensor_free(&again.lse);
}

static void check(const struct prefill_case *c, bool again, enum kp_fiber_order order)
{
	size_t rows = (size_t)rows_of(c, c->queries) * c->kv_heads * c->group;
	size_t count = rows * c->head_dim;
	double *room = malloc(2 * (count + rows + 1) * sizeof(double));
	struct expected expected = {room, room + count, room + 2 * count, room + 2 * count + rows};
	struct kp_attention_prefill_args args;
	struct prefill_data data;

	kp_case("prefill %s head %u batch %u%s queries %u keys %u%s heads %u×%u causal %d "
		"offset %d window %u cap %g pages %u heads first %d gap %u shift %u special %d",
		kp_dtype_name(c->dtype), c->head_dim, c->batch, c->is_varied ? " varied" : "",
		c->queries, c->keys, c->placed ? " partly" : "", c->kv_heads, c->group, c->causal,
		c->offset, c->window, (double)c->softcap, c->paged ? c->page_tokens : 0,
		c->heads_first, c->gap, c->shift, c->special);
	make(c, &data);
	args = args_of(c, &data);
	kp_expect(kp_attention_prefill_supports(&args, NULL), "not supported");
	kp_attention_prefill_reference(&args, expected.out, expected.magnitudes, expected.lse,
				       expected.scores);
	run(&args, order);
	compare(c, &data, &expected);
	kp_expect_gaps(&data.out, "out");
	if (again)
		run_again(c, &data, (enum kp_fiber_order)((order + 1) % KP_FIBER_ORDERS));
	release(&data);
	free(room);
}

/* On a GPU, larger shapes too, which several tiles and blocks share. */
static void check_large(void)
{
	static const struct {
		uint32_t head_dim, batch, queries, keys, window;
		bool causal;
	} rows[] = {
		{128, 2, 1000, 1000, 0, true},   {128, 1, 777, 1500, 0, false},
		{128, 1, 1300, 1300, 400, true}, {64, 2, 1000, 1000, 0, true},
		{64, 1, 500, 2000, 0, false},    {128, 1, 200, 4200, 0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct prefill_case c = draw(rows[i].head_dim, 0);

		c.dtype = (enum kp_dtype)(i % 2);
		c.batch = rows[i].batch;
		c.queries = rows[i].queries;
		c.keys = rows[i].keys;
		c.window = rows[i].window;
		c.causal = rows[i].causal;
		c.placed = rows[i].keys > rows[i].queries;
		check(&c, true, KP_FIBERS_UP);
	}
}

int main(void)
{
	static const struct {
		uint32_t head_dim;
		unsigned cases;
	} grid[] = {{64, 28}, {96, 6}, {128, 14}, {256, 4}, {1, 2}, {33, 2}, {80, 3}, {200, 2}};
	const bool on_hopper = kp_test_compute_capability() == 90 && kp_test_encode_map();

	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++)
		for (unsigned number = 0; number < kp_test_cases(grid[i].cases); number++) {
			struct prefill_case c = draw(grid[i].head_dim, number);

			check(&c, number % 4 == 0, (enum kp_fiber_order)(number % KP_FIBER_ORDERS));
		}
	if (on_hopper)
		check_large();
	kp_test_expect_all(on_hopper ? "prefill_" : "prefill_any_");
	return kp_checks_end();
}
