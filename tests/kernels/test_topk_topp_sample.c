/*
 * topk_topp_sample against the reference that sorts: every version and type, all rules, ties, NaN,
 * infinities, splits, strides; the distribution of what it draws; Philox by its published answers.
 */
#include "kernels/topk_topp_sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/launch.h"
#include "tests/kernels/tensors.h"

enum fill {
	FILL_NORMAL,
	FILL_TIES,     /* few values, zeros of both signs */
	FILL_CONSTANT, /* one */
	FILL_PEAK,     /* one far above the rest */
	FILL_MASKED,   /* most are -infinity, perhaps all */
	FILL_SPECIAL,  /* NaN and infinities */
	FILL_TINY,     /* denormals and zeros of both signs */
	FILL_STEPS,    /* a half, a quarter, … of the chance: sums that are p exactly */
	FILLS
};

struct sample_case {
	uint32_t rows, columns, gap, shift, sm_count, x_column;
	enum kp_dtype dtype;
	enum fill fill;
	bool is_64, each, philox; /* each: a rule for every row */
	float temperature, top_p, min_p;
	int32_t top_k;
};

struct sample_data {
	struct kp_tensor x, index, logprob;
	float *temperatures, *top_ps, *min_ps, *uniforms;
	int32_t *top_ks;
	uint64_t *philox;
};

static unsigned long drawn, near;

static const float temperatures[] = {1, 0.7F, 0, 3, 1e-3F, INFINITY, -1, NAN, 1e-42F};
static const float top_ps[] = {1, 0.9F, 0.5F, 0.999F, 0, 0.01F, -1, NAN, 0.75F};
static const float min_ps[] = {0, 0, 0.1F, 1e-4F, 0, NAN, 1, 0.5F, 2};
#define RULES 9U

static int32_t any_k(uint32_t columns)
{
	const int32_t ks[] = {0,
			      -1,
			      1,
			      2,
			      50,
			      (int32_t)columns,
			      (int32_t)columns - 1,
			      0,
			      (int32_t)(1 + kp_random_below(columns))};

	return ks[kp_random_below(9)];
}

/* The usual rules more often than the odd ones. */
static unsigned any_rule(void)
{
	return kp_random_below(2) ? kp_random_below(RULES) : kp_random_below(4) % 3;
}

static struct sample_case draw(uint32_t rows, uint32_t columns, unsigned number)
{
	struct sample_case out = {0};

	out.rows = rows;
	out.columns = columns;
	out.dtype = (enum kp_dtype)(number % 3);
	out.fill = number / 3 % 2 ? FILL_NORMAL : (enum fill)(number / 6 % FILLS);
	out.gap = number % 4 == 1 ? 8 : number % 4 == 2 ? 3 : 0;
	out.shift = number % 5;
	out.x_column = number % 7 == 6 ? 2 : 1;
	out.sm_count = number % 5 == 4 ? 0 : number % 5 == 3 ? 132 : 1 + number % 5;
	out.is_64 = kp_random_below(2);
	out.each = kp_random_below(2);
	out.philox = kp_random_below(4) == 0;
	out.temperature = temperatures[any_rule()];
	out.top_p = top_ps[any_rule()];
	out.min_p = min_ps[any_rule()];
	out.top_k = any_k(columns);
	return out;
}

static double element(const struct sample_case *c, uint32_t i)
{
	static const double special[] = {NAN, INFINITY, -INFINITY, -INFINITY};
	double normal = 3 * kp_random_normal(), tie;

	switch (c->fill) {
	case FILL_TIES:
		tie = 0.5 * (double)kp_random_below(6) - 1.5;
		return tie == 0 && kp_random_below(2) ? -0.0 : tie;
	case FILL_CONSTANT:
		return -7;
	case FILL_PEAK:
		return kp_random_below(c->columns) ? normal : 40;
	case FILL_MASKED:
		return kp_random_below(30) ? -INFINITY : normal;
	case FILL_SPECIAL:
		return kp_random_below(2 * c->columns) ? normal : special[kp_random_below(4)];
	case FILL_TINY:
		return kp_random_below(2) ? ldexp(normal, -130) : normal > 0 ? 0.0 : -0.0;
	case FILL_STEPS:
		return -0.6931471805599453 * (double)(i < 40 ? i + 1 : 200);
	default:
		return normal;
	}
}

static void fill_rules(const struct sample_case *c, struct sample_data *data)
{
	for (uint32_t row = 0; row < c->rows; row++) {
		data->temperatures[row] = temperatures[any_rule()];
		data->top_ps[row] = top_ps[any_rule()];
		data->min_ps[row] = min_ps[any_rule()];
		data->top_ks[row] = any_k(c->columns);
		/* Now and then an end of the range, or what is outside of it. */
		data->uniforms[row] = kp_random_below(12)
					      ? (float)kp_random_below(1U << 24) * 0x1p-24F
					      : (float)kp_random_below(4) * 0.7F - 0.7F;
	}
	data->philox[0] = 0x0123456789abcdefU + kp_random_below(1000);
	data->philox[1] = (1ULL << 32) + kp_random_below(1000);
}

static void make(const struct sample_case *c, struct sample_data *data)
{
	data->x = kp_tensor_make(c->dtype, 1, c->rows, (c->columns - 1) * c->x_column + 1, c->gap,
				 c->shift);
	data->index = kp_tensor_make_indices(c->rows, c->is_64);
	data->logprob = kp_tensor_make(KP_DTYPE_FP32, 1, c->rows, 1, 0, 0);
	data->temperatures = kp_test_alloc(c->rows * sizeof(float));
	data->top_ps = kp_test_alloc(c->rows * sizeof(float));
	data->min_ps = kp_test_alloc(c->rows * sizeof(float));
	data->uniforms = kp_test_alloc(c->rows * sizeof(float));
	data->top_ks = kp_test_alloc(c->rows * sizeof(int32_t));
	data->philox = kp_test_alloc(2 * sizeof(uint64_t));
	for (uint32_t row = 0; row < c->rows; row++)
		for (uint32_t i = 0; i < c->columns; i++)
			kp_number_store(data->x.data, c->dtype,
					row * data->x.row + (int64_t)i * c->x_column,
					element(c, i));
	fill_rules(c, data);
}

static void release(struct sample_data *data)
{
	kp_tensor_free(&data->x);
	kp_tensor_free(&data->index);
	kp_tensor_free(&data->logprob);
	kp_test_free(data->temperatures);
	kp_test_free(data->top_ps);
	kp_test_free(data->min_ps);
	kp_test_free(data->uniforms);
	kp_test_free(data->top_ks);
	kp_test_free(data->philox);
}

static struct kp_topk_topp_sample_args args_of(const struct sample_case *c,
					       const struct sample_data *data)
{
	return (struct kp_topk_topp_sample_args){
		.x = data->x.data,
		.temperatures = c->each ? data->temperatures : NULL,
		.top_ps = c->each ? data->top_ps : NULL,
		.min_ps = c->each ? data->min_ps : NULL,
		.top_ks = c->each ? data->top_ks : NULL,
		.uniforms = c->philox ? NULL : data->uniforms,
		.philox = c->philox && c->each ? data->philox : NULL,
		.seed = 0xfedcba9876543210U,
		.offset = 7,
		.index = data->index.data,
		.logprob = data->logprob.data,
		.rows = c->rows,
		.columns = c->columns,
		.x_row = data->x.row,
		.x_column = c->x_column,
		.index_row = data->index.row / data->index.columns,
		.temperature = c->temperature,
		.top_p = c->top_p,
		.min_p = c->min_p,
		.top_k = c->top_k,
		.dtype = c->dtype,
		.index_is_64 = c->is_64,
	};
}

/* All launches, with a workspace of just the size and full of NaN. */
static void run(struct kp_topk_topp_sample_args args, uint32_t sm_count, enum kp_fiber_order order)
{
	const struct kp_kernel_device device = {sm_count, 90};
	struct kp_kernel_plan plans[KP_SAMPLE_LAUNCHES];

	args.workspace_bytes = kp_topk_topp_sample_workspace(&args);
	args.workspace = kp_test_alloc(args.workspace_bytes);
	memset(args.workspace, KP_POISON_BYTE, args.workspace_bytes);
	kp_expect(kp_topk_topp_sample_plan(&args, &device, plans, &args.chunk, &args.levels) ==
			  KP_OK,
		  "no plan");
	args.splits = plans[0].grid_y;
	for (int i = 0; i < KP_SAMPLE_LAUNCHES; i++) {
		if (plans[i].grid_x == 0)
			continue;
		args.level = plans[i].team;
		kp_test_launch(&plans[i], &args, order);
	}
	kp_test_free(args.workspace);
}

/* A row; another token is right where u or a limit lies as near to it as the header says. */
static void compare_row(const struct sample_case *c, const struct sample_data *data, uint32_t row,
			const struct kp_sampled *want)
{
	int64_t got = kp_tensor_index(&data->index, row);
	double logprob = kp_tensor_get(&data->logprob, 0, row, 0);
	double slack = 0x1p-18 + c->columns * 0x1p-32;

	drawn++;
	if (got != want->index && want->margin <= slack) {
		near++;
		return;
	}
	kp_expect(got == want->index, "row %u: column %lld, not %lld (margin %g, %u kept)", row,
		  (long long)got, (long long)want->index, want->margin, want->kept);
	if (want->margin <= slack) /* perhaps one more or less is kept */
		slack = 0.01;
	kp_expect(fabs(logprob - want->logprob) <= slack * (1 + fabs(want->logprob)) ||
			  (isnan(logprob) && isnan(want->logprob)),
		  "row %u: logprob %.9g, not %.9g", row, logprob, want->logprob);
}

/* Another split and another order: the same bits. */
static void check_again(const struct sample_case *c, const struct sample_data *data,
			enum kp_fiber_order order)
{
	struct kp_tensor index = kp_tensor_copy(&data->index);
	struct kp_tensor logprob = kp_tensor_copy(&data->logprob);

	run(args_of(c, data), c->sm_count == 1 ? 20 : 1,
	    (enum kp_fiber_order)((order + 1) % KP_FIBER_ORDERS));
	kp_expect_same(&index, &data->index, "index by another split");
	kp_expect_same(&logprob, &data->logprob, "logprob by another split");
	kp_tensor_free(&index);
	kp_tensor_free(&logprob);
}

static void check(const struct sample_case *c, bool twice, enum kp_fiber_order order)
{
	struct kp_sampled *expected = calloc(c->rows, sizeof(*expected));
	struct kp_topk_topp_sample_args args;
	struct sample_data data;

	kp_case("sample %s %u×%u gap %u shift %u column %u fill %d sms %u each %d philox %d "
		"t %g k %d p %g min %g",
		kp_dtype_name(c->dtype), c->rows, c->columns, c->gap, c->shift, c->x_column,
		c->fill, c->sm_count, c->each, c->philox, (double)c->temperature, c->top_k,
		(double)c->top_p, (double)c->min_p);
	make(c, &data);
	args = args_of(c, &data);
	kp_expect(kp_topk_topp_sample_reference(&args, expected) == KP_OK, "no reference");
	run(args, c->sm_count, order);
	for (uint32_t row = 0; row < c->rows; row++)
		compare_row(c, &data, row, &expected[row]);
	kp_expect_gaps(&data.index, "index");
	if (twice)
		check_again(c, &data, order);
	release(&data);
	free(expected);
}

/* Zeros of both signs are one value: the second and third largest are kept together. */
static void check_zeros(enum kp_dtype dtype)
{
	static const double row[] = {-1, -0.0, 1, 0, -0.0, 0, -2};
	const struct sample_case c = {.rows = 10,
				      .columns = 7,
				      .sm_count = 1,
				      .x_column = 1,
				      .dtype = dtype,
				      .temperature = 2,
				      .top_p = 1,
				      .top_k = 2};
	struct kp_topk_topp_sample_args args;
	struct kp_sampled expected[10];
	struct sample_data data;

	kp_case("zeros of both signs, %s", kp_dtype_name(dtype));
	make(&c, &data);
	for (uint32_t i = 0; i < c.columns; i++)
		kp_number_store(data.x.data, dtype, i, row[i]);
	for (uint32_t i = 0; i < c.rows; i++)
		data.uniforms[i] = ((float)i + 0.5F) / 10;
	args = args_of(&c, &data);
	args.x_row = 0;
	kp_expect(kp_topk_topp_sample_reference(&args, expected) == KP_OK, "no reference");
	run(args, c.sm_count, KP_FIBERS_UP);
	for (uint32_t i = 0; i < c.rows; i++) {
		kp_expect(expected[i].kept == 5, "%u are kept", expected[i].kept);
		compare_row(&c, &data, i, &expected[i]);
	}
	release(&data);
}

/* ---- what is drawn, all in all ---- */

#define TOKENS 24U
#define DRAWS 100U

struct draws {
	struct sample_case c;
	struct sample_data data;
	struct kp_topk_topp_sample_args args;
	double chances[TOKENS];
	unsigned counts[TOKENS];
};

/* One row of logits for all draws: chances after temperature 0.8, top-k 20 and top-p 0.95. */
static void begin_draws(struct draws *draws, bool philox)
{
	const struct sample_case c = {.rows = DRAWS,
				      .columns = TOKENS,
				      .sm_count = 132,
				      .x_column = 1,
				      .dtype = KP_DTYPE_FP32,
				      .philox = philox,
				      .temperature = 0.8F,
				      .top_p = 0.95F,
				      .top_k = 20};
	double total = 0, before = 0;

	memset(draws, 0, sizeof(*draws));
	draws->c = c;
	make(&c, &draws->data);
	/* Falling in steps of a fifth, the columns out of order: 7 and 24 have no common divisor.
	 */
	for (uint32_t i = 0; i < TOKENS; i++) {
		kp_number_store(draws->data.x.data, c.dtype, i * 7 % TOKENS, 2 - 0.16 * i);
		total += i < 20 ? exp(-0.2 * i) : 0;
	}
	for (uint32_t i = 0; i < 20 && before < 0.95 * total; before += exp(-0.2 * i++))
		draws->chances[i * 7 % TOKENS] = exp(-0.2 * i);
	for (uint32_t i = 0; i < TOKENS; i++)
		draws->chances[i] /= before;
	for (uint32_t i = 0; i < DRAWS; i++)
		draws->data.uniforms[i] = ((float)i + 0.5F) / (float)DRAWS;
	draws->args = args_of(&c, &draws->data);
	draws->args.x_row = 0;
	run(draws->args, c.sm_count, KP_FIBERS_UP);
	for (uint32_t i = 0; i < DRAWS; i++) {
		int64_t index = kp_tensor_index(&draws->data.index, i);

		kp_expect(index >= 0 && index < TOKENS && draws->chances[index] > 0,
			  "draw %u: column %lld is not kept", i, (long long)index);
		if (index >= 0 && index < TOKENS)
			draws->counts[index]++;
	}
	release(&draws->data);
}

/* Numbers at even distances: each column has its share, to one draw at either end. */
static void check_shares(void)
{
	struct draws draws;

	kp_case("shares of even numbers");
	begin_draws(&draws, false);
	for (uint32_t i = 0; i < TOKENS; i++)
		kp_expect(fabs(draws.counts[i] - draws.chances[i] * DRAWS) <= 1.01,
			  "column %u: %u draws, not %g", i, draws.counts[i],
			  draws.chances[i] * DRAWS);
}

/* Philox with a fixed seed: χ² within what one draw in a thousand exceeds, by Wilson and Hilferty.
 */
static void check_chi_squared(void)
{
	struct draws draws;
	double chi = 0, degrees = -1, limit;

	kp_case("shares of random numbers");
	begin_draws(&draws, true);
	for (uint32_t i = 0; i < TOKENS; i++) {
		double wanted = draws.chances[i] * DRAWS;

		if (wanted == 0)
			continue;
		chi += (draws.counts[i] - wanted) * (draws.counts[i] - wanted) / wanted;
		degrees++;
	}
	limit = degrees * pow(1 - 2 / (9 * degrees) + 3.09 * sqrt(2 / (9 * degrees)), 3);
	kp_expect(degrees > 7 && chi < limit && chi > degrees / 5, "χ² %g of %g, at most %g", chi,
		  degrees, limit);
}

/* The known answers of Random123. */
static void check_philox(void)
{
	static const struct {
		uint32_t counter[4], key[2], out[4];
	} rows[] = {
		{{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{{~0U, ~0U, ~0U, ~0U},
		 {~0U, ~0U},
		 {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
		 {0xa4093822, 0x299f31d0},
		 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};
	uint32_t out[4];

	kp_case("philox");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		kp_philox_reference(rows[i].counter, rows[i].key, out);
		kp_expect(memcmp(out, rows[i].out, sizeof(out)) == 0, "answer %zu", i);
	}
}

int main(void)
{
	static const struct {
		uint32_t rows, columns;
		unsigned cases;
	} grid[] = {{2, 1, 6},     {4, 2, 9},    {4, 7, 24},    {3, 65, 36},    {3, 257, 24},
		    {2, 2049, 12}, {1, 9001, 6}, {1, 50257, 3}, {1, 128256, 2}, {1, 262144, 1}};

	check_philox();
	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++)
		for (unsigned number = 0; number < kp_test_cases(grid[i].cases); number++) {
			struct sample_case c = draw(grid[i].rows, grid[i].columns, number);

			check(&c, number % 3 == 0, (enum kp_fiber_order)(number % KP_FIBER_ORDERS));
		}
	for (int dtype = KP_DTYPE_BF16; dtype <= KP_DTYPE_FP32; dtype++)
		check_zeros((enum kp_dtype)dtype);
	check_shares();
	check_chi_squared();
	kp_case("all cases");
	kp_expect(near * 200 <= drawn, "%lu of %lu rows are too near to tell", near, drawn);
	kp_test_expect_all("sample_");
	return kp_checks_end();
}
