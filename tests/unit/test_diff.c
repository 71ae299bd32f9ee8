/*
 * Comparisons: parts that add up to the difference whatever the traces are, kernels that were
 * replaced, verdicts, and what keeps two sides from being compared. Traces are made by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/diff.h"
#include "tests/unit/report_trace.h"

#define STEPS 40
#define KERNELS 6

/* A run of equal steps of kernels, one after the other. */
struct plan {
	const char *names[KERNELS]; /* NULL: left out */
	uint64_t duration_ns[KERNELS];
	uint64_t gap_ns;
	unsigned steps;
	unsigned twice; /* bit of each kernel that is launched twice a step */
	const char *command, *gpu;
	uint64_t process;
};

static const struct plan usual = {
	.names = {"embedding_kernel", "flash_fwd_kernel", "rms_norm_kernel", "silu_kernel",
		  "cutlass_gemm_kernel", "argmax_kernel"},
	.duration_ns = {1000, 5000, 1500, 1200, 9000, 800},
	.gap_ns = 700,
	.steps = STEPS,
	.command = "./infer",
	.gpu = "NVIDIA H200",
	.process = 1,
};

static uint64_t random_state;

static uint64_t dice(uint64_t below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % below;
}

static void describe(struct trace_file *file, const struct plan *plan)
{
	struct kp_process_info info = {0};
	struct kp_device_info device = {0};

	KP_SET(&info, PROCESS, pid, 42);
	KP_SET(&info, PROCESS, command, text(plan->command));
	KP_SET(&device, DEVICE, device, 0);
	KP_SET(&device, DEVICE, name, text(plan->gpu));
	KP_SET(&device, DEVICE, uuid, text("GPU-1"));
	if (kp_writer_process(file->writer, &info) != KP_OK ||
	    kp_writer_device(file->writer, &device) != KP_OK)
		abort();
}

static struct kp_run *run_of_files(struct trace_file *file, const char *iterations)
{
	const struct kp_report_options options = {.threshold_pct = 30,
						  .busy_shares = true,
						  .timeline = true,
						  .step_parts = true,
						  .iterations = iterations};
	const char *path = file->path;
	struct kp_reader *reader;
	struct kp_report *report;
	struct kp_run *run;
	size_t bad;

	if (kp_writer_flush(file->writer) != KP_OK ||
	    kp_reader_open(&path, 1, &reader, &bad) != KP_OK ||
	    kp_report_build(reader, &options, &report) != KP_OK ||
	    kp_run_create(report, "made.kprof", &run) != KP_OK)
		abort();
	kp_report_destroy(report);
	kp_reader_close(reader);
	trace_file_end(file);
	return run;
}

static struct kp_run *run_of(const struct plan *plan)
{
	struct trace_file file;
	uint64_t now = 0;

	trace_file_begin(&file, plan->process);
	describe(&file, plan);
	random_state = plan->process;
	for (unsigned step = 0; step < plan->steps; step++) {
		for (unsigned i = 0; i < KERNELS; i++) {
			for (unsigned k = 0; plan->names[i] && k <= (plan->twice >> i & 1); k++) {
				uint32_t config = trace_file_config(&file, plan->names[i], 0, 7);
				/* A little noise, so that intervals have a width. */
				uint64_t length_ns = plan->duration_ns[i] + dice(20);

				launch(&file, config, now, now + length_ns);
				now += length_ns + plan->gap_ns;
			}
		}
	}
	return run_of_files(&file, NULL);
}

static struct kp_diff *diff_runs(struct kp_run *a, struct kp_run *b, bool allow)
{
	const struct kp_diff_options options = {.margin_pct = 1, .allow_not_comparable = allow};
	struct kp_run **base = malloc(sizeof(*base)), **fresh = malloc(sizeof(*fresh));
	struct kp_diff *diff;

	*base = a;
	*fresh = b;
	if (kp_diff_build((const struct kp_run *const *)base, 1,
			  (const struct kp_run *const *)fresh, 1, &options, &diff) != KP_OK)
		abort();
	return diff;
}

static void end(struct kp_diff *diff)
{
	for (unsigned side = 0; side < 2; side++) {
		struct kp_run *const *runs = (struct kp_run *const *)diff->totals[side].runs;

		kp_run_destroy(runs[0]);
		free((void *)runs);
	}
	kp_diff_destroy(diff);
}

/* Everything that must add up, does. */
static void check_sums(const struct kp_diff *diff)
{
	int64_t change_ps = 0, sides_ps[2] = {0, 0};

	for (size_t i = 0; i < diff->group_count; i++) {
		const struct kp_diff_group *group = &diff->groups[i];
		int64_t rows_ps = 0;

		for (size_t k = 0; k < group->row_count; k++) {
			const struct kp_diff_row *row = &diff->rows[group->first_row + k];

			assert_int_equal(row->group, i);
			assert_int_equal(row->change_ps,
					 row->sides[1].time_ps - row->sides[0].time_ps);
			rows_ps += row->change_ps;
		}
		assert_int_equal(group->change_ps, rows_ps);
		change_ps += group->change_ps;
		for (unsigned side = 0; side < 2; side++)
			sides_ps[side] += group->sides[side].time_ps;
		if (i > 0)
			assert_true(llabs(group->change_ps) <=
				    llabs(diff->groups[i - 1].change_ps));
	}
	assert_int_equal(change_ps, diff->change_ps);
	for (unsigned side = 0; side < 2; side++)
		assert_int_equal(sides_ps[side], diff->totals[side].length_ps);
}

static const struct kp_diff_row *find_row(const struct kp_diff *diff, const char *name)
{
	for (size_t i = 0; i < diff->row_count; i++)
		for (unsigned side = 0; side < 2; side++)
			if (diff->rows[i].kernels[side] &&
			    strcmp(diff->rows[i].kernels[side]->mangled, name) == 0)
				return &diff->rows[i];
	return NULL;
}

static bool obstructed(const struct kp_diff *diff, enum kp_diff_reason reason)
{
	for (size_t i = 0; i < diff->obstacle_count; i++)
		if (diff->obstacles[i].reason == reason)
			return true;
	return false;
}

/* ---- verdicts ---- */

static void test_diff_of_a_trace_with_itself_is_no_difference(void **unused)
{
	struct kp_diff *diff = diff_runs(run_of(&usual), run_of(&usual), false);

	(void)unused;
	assert_int_equal(diff->unit, KP_UNIT_STEP);
	assert_int_equal(diff->verdict, KP_VERDICT_SAME);
	assert_true(diff->same_recording && diff->change_ps == 0);
	assert_int_equal(diff->obstacle_count, 0);
	check_sums(diff);
	end(diff);
}

static void test_diff_sees_one_kernel_that_takes_longer(void **unused)
{
	struct plan slower = usual;
	struct kp_diff *diff;
	const struct kp_diff_row *row;

	(void)unused;
	slower.duration_ns[4] = 9900;
	slower.process = 2;
	diff = diff_runs(run_of(&usual), run_of(&slower), false);
	assert_int_equal(diff->verdict, KP_VERDICT_SLOWER);
	assert_string_equal(diff->groups[0].name, "gemm");
	row = find_row(diff, "cutlass_gemm_kernel");
	assert_int_equal(row->match, KP_MATCH_SAME);
	assert_true(llabs(row->change_ps - 900000) < 10000); /* the noise is up to 20 ns a launch */
	/* A step takes 22.7 us; 900 ns of it are 4 %. */
	assert_true(fabs(diff->effect.change_pct - 3.96) < 0.1);
	check_sums(diff);
	end(diff);
	slower.duration_ns[4] = 8100;
	diff = diff_runs(run_of(&usual), run_of(&slower), false);
	assert_int_equal(diff->verdict, KP_VERDICT_FASTER);
	end(diff);
	slower.duration_ns[4] = 9020; /* 0.1 %: within the margin */
	diff = diff_runs(run_of(&usual), run_of(&slower), false);
	assert_int_equal(diff->verdict, KP_VERDICT_SAME);
	assert_false(diff->same_recording);
	end(diff);
}

/* Runs of unlike lengths compare step by step. */
static void test_diff_does_not_depend_on_the_number_of_steps(void **unused)
{
	struct plan longer = usual;
	struct kp_diff *diff;

	(void)unused;
	longer.steps = 3 * STEPS;
	longer.process = 3;
	diff = diff_runs(run_of(&usual), run_of(&longer), false);
	assert_int_equal(diff->verdict, KP_VERDICT_SAME);
	assert_true(fabs((double)diff->change_ps) < 0.001 * (double)diff->totals[0].length_ps);
	check_sums(diff);
	end(diff);
}

/* ---- kernels that were replaced ---- */

static void test_diff_matches_what_took_the_place_of_another(void **unused)
{
	struct plan fresh = usual;
	const struct kp_diff_row *row;
	struct kp_diff *diff;

	(void)unused;
	fresh.process = 4;
	fresh.names[4] = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"; /* another gemm */
	fresh.names[1] = "my_own_thing";                           /* no rule knows it */
	fresh.duration_ns[1] = 4000;
	diff = diff_runs(run_of(&usual), run_of(&fresh), false);
	row = find_row(diff, "cutlass_gemm_kernel");
	assert_int_equal(row->match, KP_MATCH_REPLACED);
	assert_string_equal(row->kernels[1]->mangled, fresh.names[4]);
	row = find_row(diff, "my_own_thing");
	assert_int_equal(row->match, KP_MATCH_REPLACED);
	assert_string_equal(row->kernels[0]->mangled, "flash_fwd_kernel");
	/* It counts where the base side has it, so that the operator got faster. */
	assert_string_equal(diff->groups[row->group].name, "attention");
	assert_true(row->change_ps < -900000);
	check_sums(diff);
	end(diff);
}

static void test_diff_does_not_match_what_does_other_work(void **unused)
{
	struct plan fresh = usual;
	struct kp_diff *diff;

	(void)unused;
	fresh.process = 5;
	fresh.names[4] = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT";
	fresh.twice = 1U << 4;                /* a gemm, but twice as often */
	fresh.names[1] = "layer_norm_kernel"; /* in the place of attention */
	diff = diff_runs(run_of(&usual), run_of(&fresh), false);
	assert_int_equal(find_row(diff, "cutlass_gemm_kernel")->match, KP_MATCH_GONE);
	assert_int_equal(find_row(diff, fresh.names[4])->match, KP_MATCH_NEW);
	assert_int_equal(find_row(diff, "flash_fwd_kernel")->match, KP_MATCH_GONE);
	assert_int_equal(find_row(diff, "layer_norm_kernel")->match, KP_MATCH_NEW);
	check_sums(diff);
	end(diff);
}

static void test_diff_of_a_kernel_that_is_gone(void **unused)
{
	struct plan fresh = usual;
	struct kp_diff *diff;

	(void)unused;
	fresh.process = 6;
	fresh.names[3] = NULL;
	diff = diff_runs(run_of(&usual), run_of(&fresh), false);
	assert_int_equal(diff->verdict, KP_VERDICT_FASTER);
	assert_int_equal(find_row(diff, "silu_kernel")->match, KP_MATCH_GONE);
	assert_null(find_row(diff, "silu_kernel")->kernels[1]);
	assert_int_equal(find_row(diff, "silu_kernel")->sides[1].time_ps, 0);
	check_sums(diff);
	end(diff);
}

/* ---- what cannot be compared ---- */

static void test_diff_says_why_sides_are_not_comparable(void **unused)
{
	struct plan other = usual;
	struct kp_diff *diff;

	(void)unused;
	other.process = 7;
	other.gpu = "NVIDIA L40S";
	other.command = "./infer --batch 8";
	diff = diff_runs(run_of(&usual), run_of(&other), false);
	assert_int_equal(diff->verdict, KP_VERDICT_NOT_COMPARABLE);
	assert_int_equal(diff->data_verdict, KP_VERDICT_SAME);
	assert_true(obstructed(diff, KP_DIFF_GPU) && obstructed(diff, KP_DIFF_COMMAND));
	end(diff);
	diff = diff_runs(run_of(&usual), run_of(&other), true);
	assert_int_equal(diff->verdict, KP_VERDICT_SAME);
	assert_true(obstructed(diff, KP_DIFF_GPU));
	end(diff);
}

static void test_diff_of_few_iterations_has_no_verdict(void **unused)
{
	struct plan few = usual;
	struct kp_diff *diff;

	(void)unused;
	few.process = 8;
	few.steps = 12;
	diff = diff_runs(run_of(&usual), run_of(&few), true);
	assert_int_equal(diff->verdict, KP_VERDICT_UNDECIDED);
	assert_true(obstructed(diff, KP_DIFF_FEW));
	check_sums(diff);
	end(diff);
}

/* One side's iteration is two steps of the other's. */
static void test_diff_of_unlike_units_is_not_comparable(void **unused)
{
	struct plan twice = usual;
	struct kp_diff *diff;

	(void)unused;
	twice.process = 9;
	twice.twice = 0x3e; /* all but the one that begins the step */
	diff = diff_runs(run_of(&usual), run_of(&twice), false);
	assert_true(obstructed(diff, KP_DIFF_UNIT));
	check_sums(diff);
	end(diff);
}

static void test_diff_of_nothing_is_not_comparable(void **unused)
{
	struct plan none = usual;
	struct kp_diff *diff;

	(void)unused;
	none.process = 10;
	none.steps = 0;
	diff = diff_runs(run_of(&usual), run_of(&none), false);
	assert_int_equal(diff->verdict, KP_VERDICT_NOT_COMPARABLE);
	assert_true(obstructed(diff, KP_DIFF_KERNELS));
	check_sums(diff);
	end(diff);
	none.process = 11;
	diff = diff_runs(run_of(&none), run_of(&none), false);
	check_sums(diff);
	end(diff);
}

/* ---- sums, whatever the trace is ---- */

static void put_range(struct trace_file *file, uint64_t begin_ns, uint64_t end_ns)
{
	struct kp_range range = {.start_ns = BASE_NS + begin_ns, .end_ns = BASE_NS + end_ns};

	if (kp_writer_intern(file->writer, "", 0, &range.domain) != KP_OK ||
	    kp_writer_intern(file->writer, "step", 4, &range.name) != KP_OK ||
	    kp_writer_range(file->writer, &range) != KP_OK)
		abort();
}

/* Kernels of any length on three streams of two GPUs, copies, and ranges at any place. */
static struct kp_run *random_run(uint64_t seed, const char *iterations)
{
	struct trace_file file;
	uint64_t now = 0, range_ns = dice(5000);

	random_state = seed;
	trace_file_begin(&file, seed);
	describe(&file, &usual);
	for (unsigned i = 0; i < 1500; i++) {
		uint32_t stream = (uint32_t)(5 + dice(3)), device = dice(40) == 0;
		uint32_t config =
			trace_file_config(&file, usual.names[i % KERNELS], device, stream);
		uint64_t length_ns = dice(4000);

		launch(&file, config, now, now + length_ns);
		if (dice(10) == 0) {
			struct kp_memop copy = {.start_ns = BASE_NS + now,
						.end_ns = BASE_NS + now + dice(3000),
						.bytes = 4096,
						.kind = KP_MEMOP_DEVICE_TO_HOST};

			if (kp_writer_memop(file.writer, &copy) != KP_OK)
				abort();
		}
		if (now > range_ns) {
			put_range(&file, range_ns, range_ns + 6000 + dice(9000));
			range_ns += 17000;
		}
		now += dice(3) ? dice(3000) : length_ns + dice(2000);
	}
	return run_of_files(&file, iterations);
}

static void test_diff_adds_up_whatever_the_traces_are(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		const char *iterations = seed % 3 ? "step" : NULL;
		struct kp_diff *diff = diff_runs(random_run(seed, iterations),
						 random_run(seed + 100, iterations), true);

		check_sums(diff);
		if (iterations)
			assert_int_equal(diff->unit, KP_UNIT_STEP);
		end(diff);
	}
}

/* Two kernels overlap: each instant is divided. [0,100] and [50,150] in a step of 200. */
static void test_diff_divides_instants_among_what_runs(void **unused)
{
	struct trace_file file;
	const struct kp_run_row *a = NULL, *b = NULL;
	struct kp_run *run;

	(void)unused;
	trace_file_begin(&file, 77);
	describe(&file, &usual);
	for (unsigned i = 0; i < 40; i++) {
		launch(&file, trace_file_config(&file, "one_kernel", 0, 1), i * 200, i * 200 + 100);
		launch(&file, trace_file_config(&file, "two_kernel", 0, 2), i * 200 + 50,
		       i * 200 + 150);
		put_range(&file, i * 200, i * 200 + 200);
	}
	run = run_of_files(&file, "step");
	assert_int_equal(run->row_count, 2);
	a = &run->rows[0];
	b = &run->rows[1];
	assert_string_equal(a->mangled, "one_kernel");
	/* The last range ends in the gap behind the last kernel, which no kernel settles. */
	assert_int_equal(run->lengths[KP_UNIT_STEP].count, 40);
	assert_int_equal(a->part_ns[KP_UNIT_STEP], 40 * 75);
	assert_int_equal(b->part_ns[KP_UNIT_STEP], 40 * 75);
	assert_int_equal(run->lengths[KP_UNIT_STEP].length_ns, 40 * 200);
	assert_int_equal(a->calls[KP_UNIT_STEP], 40);
	kp_run_destroy(run);
}

static void test_diff_picoseconds_add_up(void **unused)
{
	(void)unused;
	assert_int_equal(kp_diff_ps(10, 3), 3333);
	assert_int_equal(kp_diff_ps(0, 0), 0);
	for (int64_t i = 0; i < 100; i++)
		assert_true(kp_diff_ps(i + 1, 7) - kp_diff_ps(i, 7) >= 142);
	assert_true(kp_diff_ps(INT64_MAX, 1) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_of_a_trace_with_itself_is_no_difference),
		cmocka_unit_test(test_diff_sees_one_kernel_that_takes_longer),
		cmocka_unit_test(test_diff_does_not_depend_on_the_number_of_steps),
		cmocka_unit_test(test_diff_matches_what_took_the_place_of_another),
		cmocka_unit_test(test_diff_does_not_match_what_does_other_work),
		cmocka_unit_test(test_diff_of_a_kernel_that_is_gone),
		cmocka_unit_test(test_diff_says_why_sides_are_not_comparable),
		cmocka_unit_test(test_diff_of_few_iterations_has_no_verdict),
		cmocka_unit_test(test_diff_of_unlike_units_is_not_comparable),
		cmocka_unit_test(test_diff_of_nothing_is_not_comparable),
		cmocka_unit_test(test_diff_adds_up_whatever_the_traces_are),
		cmocka_unit_test(test_diff_divides_instants_among_what_runs),
		cmocka_unit_test(test_diff_picoseconds_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
