/*
 * How stable shapes are: verdicts at their borders, shapes of library calls, and random uses
 * against a slow reference that follows shapes.h word by word.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/shape_stability.h"

#define MOST 400
#define ROWS 4

static struct kp_launch_config configs[MOST];
static struct kp_library_call calls[MOST];
static struct kp_shape_use uses[MOST];
static size_t count;
static struct kp_arena *arena;
static uint64_t seed;

static uint64_t random_below(uint64_t end)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % end;
}

static int begin(void **state)
{
	(void)state;
	memset(configs, 0, sizeof configs);
	memset(calls, 0, sizeof calls);
	count = 0;
	arena = kp_arena_create();
	return arena ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	kp_arena_destroy(arena);
	return 0;
}

static struct kp_shape_use *put(uint32_t grid, uint64_t launches, uint64_t total_ns)
{
	struct kp_launch_config *config = &configs[count];

	memcpy(config->grid, (uint32_t[]){grid, 1, 1}, sizeof config->grid);
	memcpy(config->block, (uint32_t[]){128, 1, 1}, sizeof config->block);
	uses[count] = (struct kp_shape_use){.config = config,
					    .launches = launches,
					    .calls = launches,
					    .total_ns = total_ns,
					    .first = count,
					    .bytes = NAN};
	return &uses[count++];
}

static struct kp_shape_use *put_call(uint64_t m, uint64_t n, uint64_t launches, uint64_t total_ns)
{
	struct kp_library_call *call = &calls[count];
	struct kp_shape_use *use = put(1, launches, total_ns);

	*call = (struct kp_library_call){.kind = KP_LIBRARY_GEMM,
					 .m = m,
					 .n = n,
					 .k = 64,
					 .batch = 1,
					 .a_type = 15,
					 .b_type = 15,
					 .c_type = 15,
					 .d_type = 15,
					 .epilogue = 1};
	use->call = call;
	return use;
}

static struct kp_stability summarise_spread(const uint32_t *grows, double spread)
{
	const struct kp_shapes_input input = {uses, count, grows, spread};
	struct kp_stability out;

	assert_int_equal(kp_shapes_summarise(&input, arena, &out), KP_OK);
	return out;
}

static struct kp_stability summarise(void)
{
	return summarise_spread(NULL, NAN);
}

static void test_shapes_one(void **state)
{
	struct kp_stability out;

	(void)state;
	put(7, 100, 5000);
	out = summarise();
	assert_int_equal(out.verdict, KP_SHAPES_SINGLE);
	assert_string_equal(out.reason, "one grid and block in all 100 launches");
	assert_int_equal(out.count, 1);
	assert_int_equal(out.versions, 1);
	assert_true(out.top_pct == 100 && out.top_five_pct == 100 && out.called_pct == 0);
	assert_int_equal(out.varies | out.grows, 0);
	assert_false(out.hidden);
	assert_int_equal(out.shape_count, 1);
	assert_true(isnan(out.shapes[0].waste) && isnan(out.shapes[0].work.flops));
}

static void test_shapes_unknown(void **state)
{
	struct kp_stability out;

	(void)state;
	put(7, 7, 5000);
	assert_string_equal(summarise().reason, "7 launches: too few to tell");
	uses[0].launches = 100;
	uses[0].total_ns = 0;
	out = summarise();
	assert_int_equal(out.verdict, KP_SHAPES_UNKNOWN);
	assert_string_equal(out.reason, "no launch was timed");
	assert_int_equal(out.versions, 0);
}

/* 90 % is enough, and so many versions are few. */
static void test_shapes_borders(void **state)
{
	struct kp_stability out;

	(void)state;
	put(1, 100, 90);
	put(2, 100, 10);
	assert_int_equal(summarise().verdict, KP_SHAPES_SINGLE);
	uses[0].total_ns = 89;
	out = summarise();
	assert_int_equal(out.verdict, KP_SHAPES_FEW_VERSIONS);
	assert_int_equal(out.versions, 2);
	assert_int_equal(out.varies, 1U << KP_SHAPE_GRID_X);
	count = 0;
	for (uint32_t i = 0; i < KP_SHAPES_FEW_MOST; i++)
		put(100 - 7 * i, 10, 100);
	assert_int_equal(summarise().verdict, KP_SHAPES_FEW_VERSIONS);
	put(200, 10, 100);
	put(300, 10, 100);
	out = summarise();
	assert_int_equal(out.versions, 9);
	assert_int_equal(out.verdict, KP_SHAPES_NOT_WORTH);
	assert_string_equal(out.reason,
			    "it takes 9 of 10 shapes to hold 90 % of the time; grid.x varies");
}

/* The same shape in two processes, on two streams, is one. */
static void test_shapes_merge_processes(void **state)
{
	struct kp_stability out;

	(void)state;
	put(4, 60, 600)->process = 0;
	put(4, 50, 500)->process = 1;
	out = summarise();
	assert_int_equal(out.count, 1);
	assert_int_equal(out.shapes[0].use.launches, 110);
	assert_int_equal(out.shapes[0].use.total_ns, 1100);
}

static void test_shapes_growth_is_one_version(void **state)
{
	struct kp_stability out;

	(void)state;
	for (uint32_t step = 0; step < 40; step++)
		put(512 + step, 32, 1000);
	out = summarise();
	assert_int_equal(out.verdict, KP_SHAPES_SINGLE);
	assert_int_equal(out.count, 40);
	assert_int_equal(out.versions, 1);
	assert_int_equal(out.grows, 1U << KP_SHAPE_GRID_X);
	assert_true(out.top_pct == 2.5 && out.top_five_pct == 12.5);
	assert_string_equal(out.reason, "40 shapes, but grid.x grows with position: one version "
					"takes the length at run time");
	assert_int_equal(out.shape_count, KP_SHAPES_LISTED);
}

/* A softmax whose rows stay, and whose shared memory has the length. */
static void test_shapes_growth_of_shared_memory(void **state)
{
	struct kp_stability out;

	(void)state;
	for (uint32_t step = 0; step < 12; step++)
		put(64, 32, 1000);
	for (uint32_t step = 0; step < 12; step++)
		configs[step].dynamic_shared_bytes = 4 * (512 + step);
	out = summarise();
	assert_int_equal(out.grows, 1U << KP_SHAPE_DYNAMIC_SHARED);
	/* An autotuner tries all sorts of grids: no length. */
	for (uint32_t step = 0; step < 12; step++)
		configs[step].grid[0] = 1 + step * 5 % 12;
	out = summarise();
	assert_int_equal(out.grows, 0);
}

static void test_shapes_in_graphs_are_not_all(void **state)
{
	struct kp_stability out;

	(void)state;
	put(4, 100, 600)->graph_launches = 51;
	out = summarise();
	assert_int_equal(out.verdict, KP_SHAPES_SINGLE);
	assert_true(out.hidden);
	assert_non_null(strstr(out.reason, "graph nodes keep their grid"));
	uses[0].graph_launches = 50;
	assert_false(summarise().hidden);
	/* What a library was asked for is known. */
	count = 0;
	put_call(8, 8, 100, 600)->graph_launches = 100;
	assert_false(summarise().hidden);
}

static void test_shapes_with_durations_that_spread(void **state)
{
	struct kp_stability out;

	(void)state;
	put(4, 100, 600);
	assert_false(summarise_spread(NULL, 0.25).hidden);
	out = summarise_spread(NULL, 0.5);
	assert_true(out.hidden);
	assert_non_null(strstr(out.reason, "durations spread by 50 % of their mean"));
}

/* Two kernels serve one call: the operator has one shape, and all its bytes. */
static void test_shapes_of_library_calls(void **state)
{
	static const uint32_t none[ROWS];
	struct kp_shape_use *use;
	struct kp_stability out;

	(void)state;
	use = put_call(128, 8, 100, 900);
	use->bytes = 100 * 20000.;
	use->bytes_source = KP_TRAFFIC_MEASURED;
	use = put_call(128, 8, 100, 100);
	use->row = 1;
	use->calls = 0; /* the second launch of each call */
	use->bytes = 100 * 5000.;
	use->bytes_source = KP_TRAFFIC_ESTIMATED;
	out = summarise_spread(none, NAN);
	assert_int_equal(out.count, 1);
	assert_true(out.called_pct == 100);
	assert_int_equal(out.shapes[0].use.launches, 200);
	assert_int_equal(out.shapes[0].use.row, 0);
	/* 2·128·8·64 operations; 128·64 + 64·8 + 128·8 numbers of two bytes */
	assert_true(out.shapes[0].work.flops == 131072);
	assert_true(out.shapes[0].work.least_bytes == 19456);
	assert_true(out.shapes[0].bytes_per_call == 25000);
	assert_true(out.shapes[0].waste == 25000 / 19456.);
	assert_int_equal(out.shapes[0].use.bytes_source, KP_TRAFFIC_ESTIMATED);
	assert_string_equal(out.reason, "one library call's shape in all 200 launches");
}

/* One launch whose parameters are known, of a kernel. */
static void put_sizes(uint32_t row, const char *names, uint32_t names_number, uint64_t first,
		      uint64_t second)
{
	struct kp_library_call *call = &calls[count];
	struct kp_shape_use *use = put(1, 10, 1000);

	*call = (struct kp_library_call){
		.from = KP_LIBRARY_FROM_PARAMETERS, .size1 = first, .size2 = second};
	use->call = call;
	use->row = row;
	use->names = names_number;
	use->sizes = (struct kp_text){names, strlen(names)};
}

/* Sizes by name vary by name: of two kernels with other names the one that varies more names it. */
static void test_shapes_of_parameters(void **state)
{
	static const uint32_t none[ROWS];
	struct kp_stability out;

	(void)state;
	put_sizes(0, "rows,n", 1, 77, 4096);
	put_sizes(0, "rows,n", 1, 78, 4096);
	put_sizes(0, "rows,n", 1, 2, 4096);
	put_sizes(1, "n", 2, 77, 0);
	out = summarise_spread(none, NAN);
	assert_int_equal(out.count, 4);
	assert_int_equal(out.kernels, 2);
	assert_true(out.called_pct == 0 && out.parameters_pct == 100);
	assert_false(out.hidden);
	assert_int_equal(out.varies, 1U << KP_SHAPE_SIZE_1);
	assert_string_equal(kp_stability_dim_name(&out, KP_SHAPE_SIZE_1), "rows");
	assert_string_equal(kp_stability_dim_name(&out, KP_SHAPE_SIZE_3), "size 3");
	assert_string_equal(kp_stability_dim_name(&out, KP_SHAPE_M), "m");
	assert_string_equal(
		out.reason,
		"4 of 4 shapes, of 2 kernels, hold 90 % of the time, and no kernel needs "
		"more than 3; rows varies");
}

/* A length that grows with each step is one version, by whatever name. */
static void test_shapes_of_parameters_grow(void **state)
{
	struct kp_stability out;

	(void)state;
	for (uint64_t i = 0; i < 12; i++)
		put_sizes(0, "b,sk", 1, 4, 100 + i);
	out = summarise();
	assert_int_equal(out.count, 12);
	assert_int_equal(out.versions, 1);
	assert_int_equal(out.grows, 1U << KP_SHAPE_SIZE_2);
	assert_string_equal(out.reason, "12 shapes, but sk grows with position: one version takes "
					"the length at run time");
}

/* Rows of a batch come and go: n varies, and nothing grows. */
static void test_shapes_of_calls_vary(void **state)
{
	static const uint64_t sizes[] = {8, 3, 12, 5, 9, 1, 7, 10, 2, 11, 4, 6};
	struct kp_stability out;

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		put_call(4096, sizes[i], 10, 100);
	out = summarise();
	assert_int_equal(out.varies, 1U << KP_SHAPE_N);
	assert_int_equal(out.grows, 0);
	assert_int_equal(out.verdict, KP_SHAPES_NOT_WORTH);
	/* Scores of attention without a library of its own: n is the length. */
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		calls[i].n = 300 + i;
	out = summarise();
	assert_int_equal(out.grows, 1U << KP_SHAPE_N);
	assert_int_equal(out.verdict, KP_SHAPES_SINGLE);
}

/* ---- random uses ---- */

static bool same_shape(const struct kp_shape_use *a, const struct kp_shape_use *b)
{
	if (!a->call != !b->call)
		return false;
	if (a->call)
		return a->call->m == b->call->m && a->call->n == b->call->n &&
		       a->call->a_type == b->call->a_type &&
		       a->call->transpose_b == b->call->transpose_b;
	return a->row == b->row && a->config->grid[0] == b->config->grid[0] &&
	       a->config->grid[1] == b->config->grid[1] &&
	       a->config->block[0] == b->config->block[0] &&
	       a->config->dynamic_shared_bytes == b->config->dynamic_shared_bytes;
}

static void put_random(void)
{
	bool call = random_below(3) == 0;
	uint64_t m = 1 + random_below(3), n = 1 + random_below(3);
	struct kp_shape_use *use = call ? put_call(m, n, 1, 0) : put(1, 1, 0);
	struct kp_launch_config *config = &configs[count - 1];

	config->grid[0] = 1 + (uint32_t)random_below(4);
	config->grid[1] = 1 + (uint32_t)random_below(2);
	config->block[0] = 32 << random_below(2);
	config->dynamic_shared_bytes = (uint32_t)random_below(2);
	calls[count - 1].a_type = 14 + random_below(2);
	calls[count - 1].transpose_b = random_below(2);
	use->row = (uint32_t)random_below(ROWS);
	use->process = (uint32_t)random_below(2);
	use->launches = use->calls = 1 + random_below(50);
	use->graph_launches = random_below(use->launches + 1);
	use->total_ns = random_below(4) ? random_below(1000) * random_below(1000) : 0;
}

static int descending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a < b) - (a > b);
}

/* Times of the shapes, largest first. */
static size_t slow_shapes(double *times, double *total)
{
	size_t shapes = 0;

	*total = 0;
	for (size_t i = 0; i < count; i++) {
		bool first = true;
		double ns = 0;

		for (size_t k = 0; k < count; k++) {
			first &= k >= i || !same_shape(&uses[i], &uses[k]);
			ns += same_shape(&uses[i], &uses[k]) ? (double)uses[k].total_ns : 0;
		}
		*total += (double)uses[i].total_ns;
		if (first)
			times[shapes++] = ns;
	}
	qsort(times, shapes, sizeof *times, descending);
	return shapes;
}

static void check_list(const struct kp_stability *out, double total)
{
	uint64_t launches = 0, listed = 0;

	for (size_t i = 0; i < count; i++)
		launches += uses[i].launches;
	for (size_t i = 0; i < out->shape_count; i++) {
		const struct kp_shape *shape = &out->shapes[i];
		uint64_t expected = 0, ns = 0;

		for (size_t k = 0; k < count; k++) {
			expected += same_shape(&shape->use, &uses[k]) ? uses[k].launches : 0;
			ns += same_shape(&shape->use, &uses[k]) ? uses[k].total_ns : 0;
		}
		assert_int_equal(shape->use.launches, expected);
		assert_int_equal(shape->use.total_ns, ns);
		assert_true(total == 0 || fabs(shape->share_pct - 100 * (double)ns / total) < 1e-9);
		assert_true(i == 0 || ns <= out->shapes[i - 1].use.total_ns);
		listed += shape->use.launches;
	}
	if (out->count <= KP_SHAPES_LISTED)
		assert_int_equal(listed, launches);
}

static bool same_kernel(const struct kp_shape_use *a, const struct kp_shape_use *b)
{
	return !a->call == !b->call && (a->call || a->row == b->row);
}

/* Shapes that hold enough of the time of the kernel of a use; *ns: that time. */
static size_t slow_versions(const struct kp_shape_use *of, double *ns)
{
	double times[MOST] = {0}, held = 0;
	size_t shapes = 0, versions = 0;

	*ns = 0;
	for (size_t i = 0; i < count; i++) {
		bool first = true;

		for (size_t k = 0; k < i; k++)
			first &= !same_shape(&uses[i], &uses[k]);
		if (!same_kernel(of, &uses[i]))
			continue;
		*ns += (double)uses[i].total_ns;
		for (size_t k = i; first && k < count; k++)
			times[shapes] +=
				same_shape(&uses[i], &uses[k]) ? (double)uses[k].total_ns : 0;
		shapes += first;
	}
	qsort(times, shapes, sizeof *times, descending);
	while (versions < shapes && held * 100 < KP_SHAPES_HELD_PCT * *ns)
		held += times[versions++];
	return versions;
}

/* The most of the kernels with most time that hold enough of all. */
static size_t slow_versions_each(double total)
{
	struct {
		double ns;
		size_t versions;
	} kernels[ROWS + 1], swapped;
	size_t kernel_count = 0, most = 0;
	double held = 0;

	for (size_t i = 0; i < count; i++) {
		bool first = true;

		for (size_t k = 0; k < i; k++)
			first &= !same_kernel(&uses[i], &uses[k]);
		if (!first)
			continue;
		kernels[kernel_count].versions = slow_versions(&uses[i], &kernels[kernel_count].ns);
		for (size_t k = kernel_count++; k > 0 && kernels[k].ns > kernels[k - 1].ns; k--) {
			swapped = kernels[k];
			kernels[k] = kernels[k - 1];
			kernels[k - 1] = swapped;
		}
	}
	for (size_t i = 0; i < kernel_count && held * 100 < KP_SHAPES_HELD_PCT * total; i++) {
		held += kernels[i].ns;
		most = kernels[i].versions > most ? kernels[i].versions : most;
	}
	return most;
}

static void test_shapes_against_a_slow_reference(void **state)
{
	static const uint32_t none[ROWS];

	(void)state;
	seed = 5;
	for (unsigned trial = 0; trial < 300; trial++) {
		double times[MOST] = {0}, total, held = 0, five = 0;
		size_t shapes, versions = 0;

		count = 0;
		for (uint64_t left = 1 + random_below(1 + trial); left > 0; left--)
			put_random();
		const struct kp_stability out = summarise_spread(none, NAN);
		shapes = slow_shapes(times, &total);
		assert_int_equal(out.count, shapes);
		assert_int_equal(out.shape_count,
				 shapes < KP_SHAPES_LISTED ? shapes : KP_SHAPES_LISTED);
		for (size_t i = 0; i < shapes && i < 5; i++)
			five += times[i];
		while (versions < shapes && held * 100 < KP_SHAPES_HELD_PCT * total)
			held += times[versions++];
		assert_int_equal(out.versions, versions);
		assert_int_equal(out.versions_each, slow_versions_each(total));
		assert_int_equal(out.grows, 0);
		if (total > 0) {
			assert_true(fabs(out.top_pct - 100 * times[0] / total) < 1e-9);
			assert_true(fabs(out.top_five_pct - 100 * five / total) < 1e-9);
		}
		check_list(&out, total);
	}
}

/* A trace can hold any number of grids; none is lost, and the list stays short. */
static void test_shapes_of_many_grids(void **state)
{
	enum { MANY = 200000 };
	struct kp_launch_config *many_configs = calloc(MANY, sizeof *many_configs);
	struct kp_shape_use *many = calloc(MANY, sizeof *many);
	struct kp_stability out;

	(void)state;
	assert_non_null(many_configs);
	assert_non_null(many);
	seed = 3;
	for (uint32_t i = 0; i < MANY; i++) {
		many_configs[i].grid[0] = i / 2 * 7919U;
		many_configs[i].grid[1] = i % 2;
		many[i] = (struct kp_shape_use){.config = &many_configs[i],
						.launches = 1,
						.calls = 1,
						.total_ns = UINT64_MAX,
						.first = random_below(MANY),
						.bytes = NAN};
	}
	const struct kp_shapes_input input = {many, MANY, NULL, NAN};
	assert_int_equal(kp_shapes_summarise(&input, arena, &out), KP_OK);
	assert_int_equal(out.count, MANY);
	assert_int_equal(out.shape_count, KP_SHAPES_LISTED);
	assert_int_equal(out.verdict, KP_SHAPES_NOT_WORTH);
	assert_in_range(out.versions, MANY / 10 * 9 - 1, MANY / 10 * 9 + 1);
	free(many);
	free(many_configs);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_shapes_one),
		TEST(test_shapes_unknown),
		TEST(test_shapes_borders),
		TEST(test_shapes_merge_processes),
		TEST(test_shapes_growth_is_one_version),
		TEST(test_shapes_growth_of_shared_memory),
		TEST(test_shapes_in_graphs_are_not_all),
		TEST(test_shapes_with_durations_that_spread),
		TEST(test_shapes_of_library_calls),
		TEST(test_shapes_of_parameters),
		TEST(test_shapes_of_parameters_grow),
		TEST(test_shapes_of_calls_vary),
		TEST(test_shapes_against_a_slow_reference),
		TEST(test_shapes_of_many_grids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
