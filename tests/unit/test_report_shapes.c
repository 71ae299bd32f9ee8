/*
 * Shapes in reports: of launches as they come in generation, in graphs and in library calls, from
 * traces that are written, read and ranked.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

#define LAYERS 4
#define STEPS 24
#define STEP_NS 100
#define BF16 15 /* cudaDataType + 1 */

struct program {
	struct trace_file file;
	uint64_t now_ns, step_ns; /* each launch takes a step */
	uint32_t launched;
};

static void begin(struct program *program, uint64_t process)
{
	*program = (struct program){.step_ns = STEP_NS};
	trace_file_begin(&program->file, process);
	describe_process(&program->file, "host");
	describe_device(&program->file, 0, "GPU-1");
}

static uint32_t config_of(struct program *program, const char *name, uint32_t grid)
{
	struct kp_launch_config config = {
		.context = 1, .stream = 7, .grid = {grid, 1, 1}, .block = {128, 1, 1}};
	uint32_t number;

	if (kp_writer_intern(program->file.writer, name, strlen(name), &config.name) != KP_OK ||
	    kp_writer_config(program->file.writer, &config, &number) != KP_OK)
		abort();
	return number;
}

static void put_in_graph(struct program *program, const char *name, uint32_t grid, uint32_t graph)
{
	struct kp_launch one = {.start_ns = BASE_NS + program->now_ns,
				.end_ns = BASE_NS + program->now_ns + program->step_ns,
				.config = config_of(program, name, grid),
				.correlation = ++program->launched,
				.graph_node = graph,
				.graph = graph};

	if (kp_writer_launch(program->file.writer, &one) != KP_OK)
		abort();
	program->now_ns += program->step_ns;
}

static void put(struct program *program, const char *name, uint32_t grid)
{
	put_in_graph(program, name, grid, 0);
}

static void put_call(struct program *program, const char *name, uint32_t grid,
		     const struct kp_library_call *call, uint32_t part)
{
	struct kp_library_launch launched = {.start_ns = BASE_NS + program->now_ns,
					     .end_ns = BASE_NS + program->now_ns,
					     .ordinal = program->launched,
					     .part = part,
					     .context = 1,
					     .stream = 7,
					     .grid = {grid, 1, 1},
					     .block = {128, 1, 1}};

	if (kp_writer_library_call(program->file.writer, call, &launched.call) != KP_OK ||
	    kp_writer_library(program->file.writer, &launched) != KP_OK)
		abort();
	put(program, name, grid);
}

/* A product of 64 by n, launched as part `part` of one call. */
static void put_called(struct program *program, const char *name, uint32_t grid, uint64_t n,
		       uint32_t part)
{
	const struct kp_library_call call = {.kind = KP_LIBRARY_GEMM,
					     .m = 64,
					     .n = n,
					     .k = 32,
					     .batch = 1,
					     .a_type = BF16,
					     .b_type = BF16,
					     .c_type = BF16,
					     .d_type = BF16,
					     .transpose_a = KP_TRANSPOSE_YES,
					     .transpose_b = KP_TRANSPOSE_NONE,
					     .epilogue = 1};

	put_call(program, name, grid, &call, part);
}

/* The program counted what it launched, and ended. */
static void finish(struct program *program)
{
	struct kp_counts counts = {0};
	struct kp_end ended = {0};

	KP_SET(&ended, END, way, KP_END_EXIT);
	KP_SET(&counts, COUNTS, kernels_issued, program->launched);
	KP_SET(&counts, COUNTS, kernels_recorded, program->launched);
	if (kp_writer_flush(program->file.writer) != KP_OK ||
	    kp_writer_counts(program->file.writer, &counts) != KP_OK ||
	    kp_writer_end(program->file.writer, &ended) != KP_OK)
		abort();
}

static const struct kp_operator_row *find_operator(const struct kp_report *report, const char *name)
{
	for (size_t i = 0; i < report->operator_count; i++)
		if (strcmp(report->operators[i].name, name) == 0)
			return &report->operators[i];
	return NULL;
}

/* All launches are in the shapes of their kernel and of its operator. */
static void check_sums(const struct kp_report *report)
{
	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *kernel = &report->kernels[i];
		uint64_t launches = kernel->stability->trials;
		uint64_t total_ns = kernel->stability->trial_ns;

		if (kernel->stability->count > KP_SHAPES_LISTED)
			continue;
		for (size_t k = 0; k < kernel->stability->shape_count; k++) {
			launches += kernel->stability->shapes[k].use.launches;
			total_ns += kernel->stability->shapes[k].use.total_ns;
			assert_int_equal(kernel->stability->shapes[k].kernel, i);
		}
		assert_int_equal(launches, kernel->calls);
		assert_int_equal(total_ns, kernel->durations.total_ns);
	}
	for (size_t i = 0; i < report->operator_count; i++) {
		const struct kp_operator_row *row = &report->operators[i];

		for (size_t k = 0; k < row->stability->shape_count; k++) {
			size_t kernel = row->stability->shapes[k].kernel;
			assert_in_range(kernel, row->first_kernel,
					row->first_kernel + row->kernel_count - 1);
		}
	}
}

/* Eager generation, twice over: one product a layer, and attention whose grid is the length. */
static void test_shapes_of_generation(void **state)
{
	struct program program;
	struct ranked ranked;
	const struct kp_stability *attention, *gemm;

	(void)state;
	begin(&program, 1);
	put(&program, "rms_norm_kernel", 512); /* prefill */
	for (uint32_t step = 0; step < 2 * STEPS; step++) {
		for (uint32_t layer = 0; layer < LAYERS; layer++) {
			put(&program, "rms_norm_kernel", 1);
			put(&program, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", 64);
			put(&program, "softmax_kernel", 300 + step % STEPS);
		}
	}
	finish(&program);
	ranked = rank_files(&program.file, 1, false);
	check_sums(ranked.report);
	gemm = find_operator(ranked.report, "gemm")->stability;
	assert_int_equal(gemm->verdict, KP_SHAPES_SINGLE);
	assert_int_equal(gemm->count, 1);
	assert_false(gemm->hidden);
	attention = find_operator(ranked.report, "softmax")->stability;
	assert_int_equal(attention->verdict, KP_SHAPES_SINGLE);
	assert_int_equal(attention->count, STEPS);
	assert_int_equal(attention->grows, 1U << KP_SHAPE_GRID_X);
	assert_int_equal(find_operator(ranked.report, "norm")->stability->grows, 0);
	ranked_end(&ranked);
}

/* Lengths in any order: nothing grows, and it is in too many shapes. */
static void test_shapes_of_random_lengths(void **state)
{
	const struct kp_stability *softmax;
	struct program program;
	struct ranked ranked;

	(void)state;
	begin(&program, 1);
	for (uint32_t i = 0; i < 200; i++)
		put(&program, "softmax_kernel", 300 + i * 11 % 31);
	finish(&program);
	ranked = rank_files(&program.file, 1, false);
	check_sums(ranked.report);
	softmax = find_kernel(ranked.report, "softmax_kernel")->stability;
	assert_int_equal(softmax->count, 31);
	assert_int_equal(softmax->grows, 0);
	assert_int_equal(softmax->verdict, KP_SHAPES_NOT_WORTH);
	ranked_end(&ranked);
}

static void test_shapes_of_graphs(void **state)
{
	const struct kp_stability *softmax;
	struct program program;
	struct ranked ranked;

	(void)state;
	begin(&program, 1);
	for (uint32_t i = 0; i < 20; i++)
		put_in_graph(&program, "softmax_kernel", 64, 3);
	finish(&program);
	ranked = rank_files(&program.file, 1, false);
	softmax = find_kernel(ranked.report, "softmax_kernel")->stability;
	assert_int_equal(softmax->verdict, KP_SHAPES_SINGLE);
	assert_true(softmax->hidden);
	assert_int_equal(softmax->shapes[0].use.graph_launches, 20);
	ranked_end(&ranked);
}

static void put_split(struct program *program, uint64_t n)
{
	put_called(program, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT", 24, n, 0);
	put_called(program, "splitKreduce_kernel", 8, n, 1);
}

/* cuDNN's calls say what they do in words, whose numbers differ between processes. */
static void test_shapes_of_other_calls(void **state)
{
	static const char *const words[] = {"conv fwd 3x3", "conv fwd 1x1"};
	const struct kp_stability *stability;
	struct program programs[2];
	struct trace_file files[2];
	struct ranked ranked;

	(void)state;
	for (uint32_t p = 0; p < 2; p++) {
		begin(&programs[p], p + 1);
		for (uint32_t i = 0; i < 20; i++) {
			struct kp_library_call call = {.kind = KP_LIBRARY_OTHER};
			const char *word = words[(i + p) % 2];
			uint32_t number;

			if (kp_writer_intern(programs[p].file.writer, word, strlen(word),
					     &number) != KP_OK)
				abort();
			call.detail = number + 1ULL;
			put_call(&programs[p], "conv_kernel", 9, &call, 0);
		}
		finish(&programs[p]);
		files[p] = programs[p].file;
	}
	ranked = rank_files(files, 2, false);
	check_sums(ranked.report);
	stability = find_kernel(ranked.report, "conv_kernel")->stability;
	assert_int_equal(stability->count, 2);
	assert_int_equal(stability->varies, 1U << KP_SHAPE_OPERATION);
	for (int i = 0; i < 2; i++)
		assert_int_equal(stability->shapes[i].use.launches, 20);
	assert_string_not_equal(stability->shapes[0].detail.bytes,
				stability->shapes[1].detail.bytes);
	ranked_end(&ranked);
}

/*
 * 50 launches of 100 µs that read 1 MB each, sampled ten times each: products with n = 8, from the
 * `odd`-th on with n = 16; from the `untied`-th on none that is known. The top shape's waste.
 */
static double waste_of(uint64_t odd, uint64_t untied, double *bytes)
{
	struct kp_counters_info counters = {0};
	struct program program;
	struct ranked ranked;
	double waste;

	begin(&program, 1);
	for (uint64_t i = 0; i < 50; i++) {
		program.now_ns = i * 100000;
		program.step_ns = 100000;
		if (i < untied)
			put_called(&program, "gemm_kernel", 24, i < odd ? 8 : 16, 0);
		else
			put(&program, "gemm_kernel", 24);
	}
	KP_SET(&counters, COUNTERS, number, 0);
	KP_SET(&counters, COUNTERS, device, 0);
	KP_SET(&counters, COUNTERS, metrics,
	       text("dram_read_bytes r byte\ndram_write_bytes w byte\n"));
	if (kp_writer_counters(program.file.writer, &counters) != KP_OK)
		abort();
	for (uint64_t i = 0; i < 500; i++) {
		struct kp_counter_sample sample = {.begin_ns = BASE_NS + i * 10000,
						   .end_ns = BASE_NS + i * 10000 + 10000,
						   .values = {100000, 0}};
		if (kp_writer_samples(program.file.writer, &sample, 1) != KP_OK)
			abort();
	}
	finish(&program);
	ranked = rank_files(&program.file, 1, false);
	assert_non_null(ranked.report->kernels[0].stability->shapes[0].use.call);
	*bytes = ranked.report->kernels[0].stability->shapes[0].bytes_per_call;
	waste = ranked.report->kernels[0].stability->shapes[0].waste;
	ranked_end(&ranked);
	return waste;
}

/* What a grid moved is a call's only where it serves one shape. */
static void test_shapes_and_what_they_moved(void **state)
{
	/* 64·32 + 32·8 + 64·8 numbers of two bytes */
	const double least = 5632;
	double bytes;

	(void)state;
	assert_true(fabs(waste_of(50, 50, &bytes) - 1e6 / least) < 0.02 * 1e6 / least);
	assert_true(fabs(bytes - 1e6) < 2e4);
	assert_true(fabs(waste_of(50, 48, &bytes) - 1e6 / least) < 0.02 * 1e6 / least);
	assert_true(isnan(waste_of(50, 40, &bytes)) && isnan(bytes));
	assert_true(isnan(waste_of(30, 50, &bytes)) && isnan(bytes));
}

/* Two kernels a call, one grid for two sizes, two processes; a launch outside of calls stays one.
 */
static void test_shapes_of_library_calls_in_reports(void **state)
{
	const struct kp_stability *gemm, *kernel;
	struct program programs[2];
	struct trace_file files[2];
	struct ranked ranked;

	(void)state;
	for (uint64_t p = 0; p < 2; p++) {
		begin(&programs[p], p + 1);
		if (p == 1) /* numbers of calls differ from those of the other process */
			put_split(&programs[p], 5);
		put(&programs[p], "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT", 7);
		for (int i = 0; i < 30; i++) {
			put_split(&programs[p], 8);
			put(&programs[p], "rms_norm_kernel", 1);
			put_split(&programs[p], 16);
		}
		finish(&programs[p]);
		files[p] = programs[p].file;
	}
	ranked = rank_files(files, 2, false);
	check_sums(ranked.report);
	gemm = find_operator(ranked.report, "gemm")->stability;
	assert_true(ranked.report->library_any);
	assert_int_equal(ranked.report->library.launches_tied, 242);
	assert_int_equal(gemm->count, 4); /* n = 5, 8, 16, and a grid of 7 */
	assert_int_equal(gemm->verdict, KP_SHAPES_FEW_VERSIONS);
	assert_int_equal(gemm->varies, 1U << KP_SHAPE_N);
	assert_true(gemm->called_pct > 98 && gemm->called_pct < 100);
	for (int i = 0; i < 2; i++) {
		const struct kp_shape *shape = &gemm->shapes[i];

		assert_non_null(shape->use.call);
		assert_int_equal(shape->use.launches, 120);
		assert_int_equal(shape->use.calls, 60);
		assert_true(shape->work.flops == 2. * 64 * 32 * (double)shape->use.call->n);
		assert_true(isnan(shape->waste));
	}
	kernel = find_kernel(ranked.report, "splitKreduce_kernel")->stability;
	assert_int_equal(kernel->count, 3);
	assert_true(kernel->called_pct == 100);
	ranked_end(&ranked);
}

/* ---- traces of real runs, and what somebody who knows the programs says of their shapes ---- */

static const struct {
	const char *trace, *kernel; /* a part of its name; NULL: the operator */
	const char *operator_name;
	enum kp_shapes_verdict verdict;
	uint32_t grows;
} judged[] = {
	/* Decode of fixed batch: each projection is one product, prefill is little beside it. */
	{"samples/traces/llm_decode_eager", "64x8_64x16_4x1_v_bz_splitK_TNT", "gemm",
	 KP_SHAPES_SINGLE, 0},
	{"samples/traces/llm_decode_eager", "256x8_64x6_2x1_v_bz_TNT", "gemm", KP_SHAPES_SINGLE, 0},
	{"samples/traces/llm_decode_eager", NULL, "gemm", KP_SHAPES_FEW_VERSIONS, 0},
	{"samples/traces/llm_decode_eager", NULL, "norm", KP_SHAPES_SINGLE, 0},
	{"samples/traces/llm_decode_graph", NULL, "gemm", KP_SHAPES_FEW_VERSIONS, 0},
	/* cuDNN's attention over a cache of fixed size. */
	{"samples/traces/torch_decode", NULL, "attention", KP_SHAPES_SINGLE, 0},
	/* torch.cat makes the cache longer with every token: 512 to 522 blocks. */
	{"tests/operators/hf_llama", "CatArrayBatchedCopy_vectorized", "kv-cache", KP_SHAPES_SINGLE,
	 1U << KP_SHAPE_GRID_X},
	{"tests/operators/hf_moe", "CatArrayBatchedCopy_vectorized", "kv-cache", KP_SHAPES_SINGLE,
	 1U << KP_SHAPE_GRID_X},
	/* Vision: each layer is another size. */
	{"tests/operators/convnet", NULL, "convolution", KP_SHAPES_NOT_WORTH, 0},
	{"tests/operators/convnet", NULL, "norm", KP_SHAPES_FEW_VERSIONS, 0},
	/* Tiles that an autotuner tries are no lengths. */
	{"tests/operators/jax", NULL, "gemm", KP_SHAPES_FEW_VERSIONS, 0},
	{"tests/operators/jax", NULL, "reduction", KP_SHAPES_SINGLE, 0},
	{"tests/operators/eager", NULL, "elementwise", KP_SHAPES_SINGLE, 0},
	{"tests/operators/eager", NULL, "sampling", KP_SHAPES_SINGLE, 0},
};

/* The kernel of the operator with that in its name that has most shapes. */
static const struct kp_stability *find_judged(const struct kp_report *report, size_t row)
{
	const struct kp_operator_row *operator= find_operator(report, judged[row].operator_name);
	const struct kp_stability *found = NULL;

	assert_non_null(operator);
	for (size_t i = 0; judged[row].kernel && i < operator->kernel_count; i++) {
		const struct kp_kernel_row *kernel = &report->kernels[operator->first_kernel + i];

		if (strstr(kernel->full, judged[row].kernel) &&
		    (!found || kernel->stability->count > found->count))
			found = kernel->stability;
	}
	return judged[row].kernel ? found : operator->stability;
}

static void test_shapes_of_real_runs(void **state)
{
	const struct kp_report_options options = {.threshold_pct = 30};

	(void)state;
	for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
		const struct kp_stability *stability;
		struct ranked ranked;
		char path[512];
		size_t bad;

		snprintf(path, sizeof path, "%s/%s.kprof", SOURCES, judged[i].trace);
		assert_int_equal(
			kp_reader_open((const char *const[]){path}, 1, &ranked.reader, &bad),
			KP_OK);
		assert_int_equal(kp_report_build(ranked.reader, &options, &ranked.report), KP_OK);
		check_sums(ranked.report);
		stability = find_judged(ranked.report, i);
		assert_non_null(stability);
		if (stability->verdict != judged[i].verdict || stability->grows != judged[i].grows)
			fail_msg("%s, %s %s: %s", judged[i].trace, judged[i].operator_name,
				 judged[i].kernel ? judged[i].kernel : "", stability->reason);
		ranked_end(&ranked);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes_of_generation),
		cmocka_unit_test(test_shapes_of_random_lengths),
		cmocka_unit_test(test_shapes_of_graphs),
		cmocka_unit_test(test_shapes_of_library_calls_in_reports),
		cmocka_unit_test(test_shapes_of_other_calls),
		cmocka_unit_test(test_shapes_and_what_they_moved),
		cmocka_unit_test(test_shapes_of_real_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
