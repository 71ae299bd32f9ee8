/*
 * Fusion candidates of small traces: which chains are found, what they win, and what is none. A
 * launch is a letter: see the kernels below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

#define VECTORIZED "void at::native::vectorized_elementwise_kernel<4, at::native::"
#define REDUCE "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::"

static const struct {
	char letter;
	uint32_t duration_ns;
	const char *name;
} kernels[] = {
	{'c', 200, VECTORIZED "bfloat16_copy_kernel_cuda(float)>(int, float)"},
	{'p', 300, VECTORIZED "pow_tensor_scalar_kernel_impl<float>(float)>(int, float)"},
	{'M', 900, REDUCE "MeanOps<float>, float> >(float)"},
	{'e', 100, VECTORIZED "CUDAFunctorOnSelf_add<float> >(int, float)"},
	{'q', 100, VECTORIZED "rsqrt_kernel_cuda(float)>(int, float)"},
	{'*', 400,
	 VECTORIZED "BinaryFunctor<float, float, float, MulFunctor<float> > >(int, float)"},
	{'+', 500, VECTORIZED "CUDAFunctor_add<float> >(int, float)"},
	{'s', 300, VECTORIZED "silu_kernel(float)>(int, float)"},
	{'g', 300, VECTORIZED "GeluCUDAKernelImpl(float)>(int, float)"},
	{'W', 600,
	 VECTORIZED "BinaryFunctor<float, float, float, MulFunctor<double> > >(int, float)"},
	{'G', 5000, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"},
	{'S', 700, "softmax_kernel"},
	{'A', 4000, "flash_fwd_kernel"},
	{'T', 1000, "triton_poi_fused_add_mul_0"},
	{'N', 800, "rms_norm_kernel"},
	{'x', 100, "nobody_knows"},
};

#define KERNELS (sizeof(kernels) / sizeof(kernels[0]))
#define RMSNORM "cpMeq*c*" /* 200 + 300 + 900 + 100 + 100 + 400 + 200 + 400 ns */

struct player {
	struct trace_file file;
	uint32_t configs[KERNELS];
	uint64_t now_ns, gap_ns;
	uint32_t stream, graph, correlation;
};

static size_t number_of(char letter)
{
	size_t i = 0;

	while (i < KERNELS && kernels[i].letter != letter)
		i++;
	if (i == KERNELS)
		abort();
	return i;
}

static void use_stream(struct player *player, uint32_t stream)
{
	player->stream = stream;
	for (size_t i = 0; i < KERNELS; i++) {
		struct kp_launch_config config = {
			.context = 1, .stream = stream, .grid = {1, 1, 1}, .block = {128, 1, 1}};

		config.grid[0] += kernels[i].letter == 'W'; /* other kernels have another grid */
		if (kp_writer_intern(player->file.writer, kernels[i].name, strlen(kernels[i].name),
				     &config.name) != KP_OK ||
		    kp_writer_config(player->file.writer, &config, &player->configs[i]) != KP_OK)
			abort();
	}
}

static void begin(struct player *player)
{
	*player = (struct player){.gap_ns = 250};
	trace_file_begin(&player->file, 1);
	use_stream(player, 7);
}

static void launch_letters(struct player *player, const char *letters)
{
	for (; *letters; letters++) {
		size_t number = number_of(*letters);
		struct kp_launch launched = {
			.start_ns = BASE_NS + player->now_ns,
			.end_ns = BASE_NS + player->now_ns + kernels[number].duration_ns,
			.config = player->configs[number],
			.graph = player->graph,
			.correlation = player->graph ? player->correlation : 0,
		};

		if (kp_writer_launch(player->file.writer, &launched) != KP_OK)
			abort();
		player->now_ns += kernels[number].duration_ns + player->gap_ns;
	}
}

static void repeat(struct player *player, const char *letters, int times)
{
	for (int i = 0; i < times; i++)
		launch_letters(player, letters);
}

static struct ranked end(struct player *player)
{
	return rank_files(&player->file, 1, true);
}

/* A report of letters that come so often. */
static struct ranked play(const char *letters, int times)
{
	struct player player;

	begin(&player);
	repeat(&player, letters, times);
	return end(&player);
}

static const struct kp_fusion_row *find(const struct kp_report *report, const char *name)
{
	for (size_t i = 0; i < report->fusion.count; i++)
		if (strcmp(report->fusion.rows[i].name, name) == 0)
			return &report->fusion.rows[i];
	return NULL;
}

static void assert_ns(double value, double expected)
{
	assert_true(value > expected - 0.5 && value < expected + 0.5);
}

static void test_fusion_finds_rmsnorm(void **state)
{
	static const char *const steps[] = {"cast",  "pow", "mean", "add-scalar",
					    "rsqrt", "mul", "cast", "mul"};
	struct ranked ranked = play("G" RMSNORM, 10);
	const struct kp_report_fusion *fusion = &ranked.report->fusion;
	const struct kp_fusion_row *row = find(ranked.report, "RMSNorm");

	(void)state;
	assert_int_equal(fusion->count, 1);
	assert_non_null(row);
	assert_int_equal(row->runs, 10);
	assert_int_equal(row->graph_runs, 0);
	assert_int_equal(row->member_count, 8);
	for (size_t i = 0; i < 8; i++)
		assert_string_equal(row->members[i].step, steps[i]);
	assert_int_equal(row->members[2].total_ns, 9000);
	assert_string_equal(row->builtin, "rmsnorm");
	assert_int_equal(row->flow, KP_FUSION_BY_PATTERN);
	assert_int_equal(row->confidence, KP_FUSION_HIGH);
	assert_int_equal(row->kernel_ns, 26000);
	assert_int_equal(row->gap_ns, 7 * 250 * 10);
	/* At best 300 ns remain, the least above a quarter of the longest; at worst its 900. */
	assert_ns(row->kernel_gain.high, 26000 - 3000);
	assert_ns(row->kernel_gain.low, 26000 - 9000);
	assert_ns(row->gain.high, 23000 + 17500);
	assert_ns(row->gain.low, 17000 + 17500);
	assert_ns(row->alone_pct, 100);
	assert_int_equal(fusion->launches, 80);
	assert_int_equal(fusion->launches_saved, 70);
	assert_ns(fusion->gain.high, row->gain.high);
	assert_false(row->by_bytes);
	assert_true(row->bytes != row->bytes);
	ranked_end(&ranked);
}

/* Of long gaps only what a GPU needs is sure to go. */
static void test_fusion_tells_own_gaps_from_late_launches(void **state)
{
	struct player player;
	struct ranked ranked;
	const struct kp_fusion_row *row;

	(void)state;
	begin(&player);
	player.gap_ns = 20000;
	repeat(&player, "G" RMSNORM, 10);
	ranked = end(&player);
	row = find(ranked.report, "RMSNorm");
	assert_non_null(row);
	assert_ns(row->gap_gain.high, 7 * 20000 * 10);
	assert_ns(row->gap_gain.low, 7 * KP_FUSION_GAP_NS * 10);
	ranked_end(&ranked);
}

static void test_fusion_counts_no_launch_twice(void **state)
{
	/* The addition goes with the norm, the last product with the gate. */
	struct ranked ranked = play("G+" RMSNORM "GsG*", 10);
	const struct kp_fusion_row *norm = find(ranked.report, "RMSNorm with residual");
	const struct kp_fusion_row *gate = find(ranked.report, "SiLU gate");
	uint64_t launches = 0;

	(void)state;
	assert_non_null(norm);
	assert_non_null(gate);
	assert_int_equal(norm->runs, 10);
	assert_int_equal(norm->member_count, 9);
	assert_int_equal(gate->runs, 10);
	assert_int_equal(gate->member_count, 2);
	assert_string_equal(gate->builtin, "silu_mul");
	for (size_t i = 0; i < ranked.report->fusion.count; i++)
		launches += ranked.report->fusion.rows[i].runs *
			    ranked.report->fusion.rows[i].member_count;
	assert_int_equal(launches, 110);
	/* A kernel that is launched elsewhere, too, counts here only as often as here. */
	assert_int_equal(norm->members[6].total_ns, 10 * 400);
	ranked_end(&ranked);
}

/* A gate has one grid: here a product lies between, and another size behind it. */
static void test_fusion_tells_gates_by_their_grid(void **state)
{
	struct ranked ranked = play("GgGW", 10);

	(void)state;
	assert_null(find(ranked.report, "GELU gate"));
	assert_non_null(find(ranked.report, "activation after a product"));
	ranked_end(&ranked);
	ranked = play("GgG*", 10);
	assert_non_null(find(ranked.report, "GELU gate"));
	ranked_end(&ranked);
}

/* What a product can do is gone altogether at best. */
static void test_fusion_absorbs_what_is_between_products(void **state)
{
	struct ranked ranked = play("G*+ScGx", 10);
	const struct kp_fusion_row *row = find(ranked.report, "attention written out");

	(void)state;
	assert_non_null(row);
	assert_true(row->absorbed);
	assert_int_equal(row->member_count, 4);
	assert_int_equal(row->kernel_ns, 18000);
	assert_ns(row->kernel_gain.high, 18000);
	assert_ns(row->kernel_gain.low, 18000 - 7000);
	assert_int_equal(ranked.report->fusion.launches_saved, 40);
	ranked_end(&ranked);
	ranked = play("GSGx", 10);
	row = find(ranked.report, "attention written out");
	assert_non_null(row);
	assert_int_equal(row->member_count, 1);
	assert_ns(row->gain.low, 0);
	assert_ns(row->gain.high, 7000);
	ranked_end(&ranked);
}

static void test_fusion_promises_nothing_of_mere_neighbours(void **state)
{
	struct ranked ranked = play("A+*p", 10);
	const struct kp_fusion_row *row = find(ranked.report, "elementwise chain");

	(void)state;
	assert_non_null(row);
	assert_false(row->known);
	assert_int_equal(row->confidence, KP_FUSION_LOW);
	assert_null(row->builtin);
	assert_ns(row->gain.low, 0);
	assert_ns(row->kernel_gain.high, 10 * (500 + 400 + 300) - 10 * 300);
	/* And they are no part of what the report sums up. */
	assert_int_equal(ranked.report->fusion.launches, 0);
	assert_ns(ranked.report->fusion.gain.high, 0);
	ranked_end(&ranked);
}

/* Several launches of one kernel may be parts of one step. */
static void test_fusion_takes_equal_launches_for_one_step(void **state)
{
	struct ranked ranked = play("A****", 10);
	const struct kp_fusion_row *row = find(ranked.report, "elementwise chain");

	(void)state;
	assert_non_null(row);
	assert_ns(row->kernel_gain.high, 0);
	assert_ns(row->gap_gain.high, 3 * 250 * 10);
	ranked_end(&ranked);
}

static void test_fusion_finds_nothing_where_there_is_none(void **state)
{
	static const char *const none[] = {
		"TTG",     /* a compiler has fused these */
		"NGAG",    /* one kernel each */
		"G*xpM",   /* something unknown between */
		"cpMexq*", /* a norm that something breaks */
		"A",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct ranked ranked = play(none[i], 20);

		for (size_t k = 0; k < ranked.report->fusion.count; k++)
			assert_string_equal(ranked.report->fusion.rows[k].name,
					    "elementwise chain");
		if (i < 2)
			assert_int_equal(ranked.report->fusion.count, 0);
		ranked_end(&ranked);
	}
}

static void test_fusion_needs_what_recurs(void **state)
{
	struct ranked ranked = play("G" RMSNORM, KP_FUSION_RUNS_LEAST - 1);

	(void)state;
	assert_int_equal(ranked.report->fusion.count, 0);
	ranked_end(&ranked);
	ranked = play("G" RMSNORM, KP_FUSION_RUNS_LEAST);
	assert_int_equal(ranked.report->fusion.count, 1);
	ranked_end(&ranked);
}

/* Chains are found wherever they lie in the window that is looked at. */
static void test_fusion_loses_none_in_long_runs(void **state)
{
	static const char *const lead[] = {"", "A", "AG", "AGA", "GGGGG", "AAAAAAA"};

	(void)state;
	for (size_t i = 0; i < sizeof(lead) / sizeof(lead[0]); i++) {
		struct player player;
		struct ranked ranked;
		const struct kp_fusion_row *row;

		begin(&player);
		for (int k = 0; k < 301; k++) {
			launch_letters(&player, lead[i]);
			launch_letters(&player, "+" RMSNORM);
		}
		ranked = end(&player);
		row = find(ranked.report, "RMSNorm with residual");
		assert_non_null(row);
		assert_int_equal(row->runs, 301);
		assert_int_equal(ranked.report->fusion.launches, 301 * 9);
		ranked_end(&ranked);
	}
}

/* 33 kernels between two products, as PyTorch launches what is too large for 32-bit indices. */
static void test_fusion_finds_long_chains(void **state)
{
	struct ranked ranked = play("AAAGSSSSSSSSSSSSSSSSccccccccccccccccG", 50);
	const struct kp_fusion_row *row = find(ranked.report, "attention written out");

	(void)state;
	assert_non_null(row);
	assert_int_equal(row->member_count, 32);
	assert_true(row->runs >= 49);
	/* Of the products' neighbours the largest step of 16 softmaxes would remain at worst. */
	assert_ns(row->kernel_gain.low, (double)row->runs * 16 * 200);
	ranked_end(&ranked);
}

static void put_memop(struct player *player, uint32_t kind)
{
	struct kp_memop memop = {.start_ns = BASE_NS + player->now_ns,
				 .end_ns = BASE_NS + player->now_ns + 100,
				 .bytes = 64,
				 .kind = kind,
				 .context = 1,
				 .stream = player->stream};

	if (kp_writer_memop(player->file.writer, &memop) != KP_OK)
		abort();
	player->now_ns += 200;
}

static uint64_t runs_across(uint32_t kind, uint64_t pause_ns)
{
	struct player player;
	struct ranked ranked;
	const struct kp_fusion_row *row;
	uint64_t runs;

	begin(&player);
	for (int i = 0; i < 10; i++) {
		launch_letters(&player, "GcpM");
		if (kind != KP_MEMOP_KIND_COUNT)
			put_memop(&player, kind);
		player.now_ns += pause_ns;
		launch_letters(&player, "eq*c*");
	}
	ranked = end(&player);
	row = find(ranked.report, "RMSNorm");
	runs = row ? row->runs : 0;
	ranked_end(&ranked);
	return runs;
}

static void test_fusion_ends_where_something_else_happens(void **state)
{
	(void)state;
	assert_int_equal(runs_across(KP_MEMOP_KIND_COUNT, 0), 10);
	assert_int_equal(runs_across(KP_MEMOP_SET, 0), 10); /* a reduction's counters */
	assert_int_equal(runs_across(KP_MEMOP_DEVICE_TO_HOST, 0), 0);
	assert_int_equal(runs_across(KP_MEMOP_DEVICE_TO_DEVICE, 0), 0);
	assert_int_equal(runs_across(KP_MEMOP_KIND_COUNT, KP_FUSION_GAP_MAX_NS - 250), 10);
	assert_int_equal(runs_across(KP_MEMOP_KIND_COUNT, KP_FUSION_GAP_MAX_NS), 0);
}

static void test_fusion_counts_graphs_apart(void **state)
{
	struct player player;
	struct ranked ranked;
	const struct kp_fusion_row *row;

	(void)state;
	begin(&player);
	player.gap_ns = 20000;
	repeat(&player, "G" RMSNORM, 6);
	player.gap_ns = 400;
	player.graph = 3;
	for (player.correlation = 1; player.correlation <= 10; player.correlation++)
		launch_letters(&player, "G" RMSNORM);
	ranked = end(&player);
	row = find(ranked.report, "RMSNorm");
	assert_non_null(row);
	assert_int_equal(row->runs, 16);
	assert_int_equal(row->graph_runs, 10);
	assert_int_equal(row->graph_gap_ns, 10 * 7 * 400);
	assert_int_equal(row->gap_ns, 10 * 7 * 400 + 6 * 7 * 20000);
	assert_ns(row->gap_gain.low, 10 * 7 * 400 + 6 * 7 * KP_FUSION_GAP_NS);
	ranked_end(&ranked);
}

/* Neither branches of a graph nor two of its launches are one order. */
static void test_fusion_trusts_no_branches_of_graphs(void **state)
{
	struct player player;
	struct ranked ranked;

	(void)state;
	begin(&player);
	player.graph = 3;
	player.correlation = 1;
	player.gap_ns = (uint64_t)-50; /* each begins before the one before it ended */
	repeat(&player, "GG" RMSNORM, 10);
	ranked = end(&player);
	assert_int_equal(ranked.report->fusion.count, 0);
	ranked_end(&ranked);
	begin(&player);
	player.graph = 3;
	for (int i = 0; i < 20; i++) {
		player.correlation++;
		launch_letters(&player, i % 2 ? "eq*c*" : "GcpM");
	}
	ranked = end(&player);
	assert_null(find(ranked.report, "RMSNorm"));
	ranked_end(&ranked);
}

static void test_fusion_follows_each_stream(void **state)
{
	struct player player;
	struct ranked ranked;
	const struct kp_fusion_row *row;
	uint64_t now_ns;

	(void)state;
	begin(&player);
	for (int i = 0; i < 10; i++) {
		now_ns = player.now_ns;
		use_stream(&player, 7);
		launch_letters(&player, "G" RMSNORM);
		player.now_ns = now_ns; /* at the same time */
		use_stream(&player, 8);
		launch_letters(&player, "GsG*");
		player.now_ns += 100000;
	}
	ranked = end(&player);
	row = find(ranked.report, "RMSNorm");
	assert_non_null(row);
	assert_int_equal(row->runs, 10);
	assert_true(row->alone_pct < 50); /* what others do meanwhile is not won */
	assert_true(row->gain.low < (row->kernel_gain.low + row->gap_gain.low) / 2);
	assert_non_null(find(ranked.report, "SiLU gate"));
	ranked_end(&ranked);
}

/* More streams than are followed at once, and more chains than are kept: some are lost, and said.
 */
static void test_fusion_survives_hostile_traces(void **state)
{
	struct player player;
	struct ranked ranked;
	uint32_t random = 1;

	(void)state;
	begin(&player);
	for (uint32_t i = 0; i < 600; i++) {
		use_stream(&player, 100 + i);
		launch_letters(&player, "+" RMSNORM);
	}
	use_stream(&player, 7);
	for (uint32_t i = 0; i < 60000; i++) {
		random = random * 1664525U + 1013904223U;
		launch_letters(&player, (const char[]){"cpeq*+sg"[random >> 16 & 7], '\0'});
		if (random >> 28 == 0)
			launch_letters(&player, "A");
	}
	ranked = end(&player);
	assert_non_null(find(ranked.report, "RMSNorm with residual"));
	assert_int_equal(find(ranked.report, "RMSNorm with residual")->runs, 600);
	assert_true(ranked.report->fusion.count <= KP_FUSION_ROWS_MAX);
	assert_true(ranked.report->fusion.left_out > 0);
	ranked_end(&ranked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fusion_finds_rmsnorm),
		cmocka_unit_test(test_fusion_tells_own_gaps_from_late_launches),
		cmocka_unit_test(test_fusion_counts_no_launch_twice),
		cmocka_unit_test(test_fusion_tells_gates_by_their_grid),
		cmocka_unit_test(test_fusion_absorbs_what_is_between_products),
		cmocka_unit_test(test_fusion_promises_nothing_of_mere_neighbours),
		cmocka_unit_test(test_fusion_takes_equal_launches_for_one_step),
		cmocka_unit_test(test_fusion_finds_nothing_where_there_is_none),
		cmocka_unit_test(test_fusion_needs_what_recurs),
		cmocka_unit_test(test_fusion_loses_none_in_long_runs),
		cmocka_unit_test(test_fusion_finds_long_chains),
		cmocka_unit_test(test_fusion_ends_where_something_else_happens),
		cmocka_unit_test(test_fusion_counts_graphs_apart),
		cmocka_unit_test(test_fusion_trusts_no_branches_of_graphs),
		cmocka_unit_test(test_fusion_follows_each_stream),
		cmocka_unit_test(test_fusion_survives_hostile_traces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
