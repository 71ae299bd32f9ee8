/*
 * Operators that are written out as chains of kernels count to that operator, launch by launch;
 * what only looks like it does not. A launch is a letter: see the kernels below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

static const struct {
	char letter;
	const char *name;
} kernels[] = {
	{'r', "inverse_rms_kernel"},
	{'m', "mul_kernel"},
	{'a', "add_kernel"},
	{'s', "silu_kernel"},
	{'L', "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"},
	{'T', "topk_kernel"},
};

#define KERNELS (sizeof(kernels) / sizeof(kernels[0]))
#define STEP_NS 100

static struct trace_file file;
static uint64_t now_ns;

static size_t number_of(char letter)
{
	size_t i = 0;

	while (i < KERNELS && kernels[i].letter != letter)
		i++;
	if (i == KERNELS)
		abort();
	return i;
}

/* Launches the letters so many times, each on the next of so many streams. */
static void play(const char *letters, int times, unsigned streams, uint64_t gap_ns)
{
	for (int k = 0; k < times; k++) {
		for (size_t i = 0; letters[i]; i++) {
			const char *name = kernels[number_of(letters[i])].name;
			uint32_t stream = 7 + (uint32_t)(i % streams);

			launch(&file, trace_file_config(&file, name, 0, stream), now_ns,
			       now_ns + STEP_NS);
			now_ns += STEP_NS + gap_ns;
		}
	}
}

static void begin(void)
{
	trace_file_begin(&file, 1);
	now_ns = 0;
}

/* How many calls of a kernel the report gives to an operator. */
static uint64_t calls_of(const struct kp_report *report, char letter, const char *operator)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *row = &report->kernels[i];

		if (strcmp(row->mangled, kernels[number_of(letter)].name) == 0 &&
		    strcmp(report->operators[row->operator_index].name, operator) == 0)
			calls += row->calls;
	}
	return calls;
}

static void check_sums(const struct kp_report *report)
{
	uint64_t total_ns = 0, calls = 0;
	double busy_pct = 0, kernel_pct = 0;

	for (size_t i = 0; i < report->operator_count; i++) {
		total_ns += report->operators[i].durations.total_ns;
		calls += report->operators[i].calls;
		busy_pct += report->operators[i].shares.busy_pct;
		kernel_pct += report->operators[i].shares.kernel_pct;
	}
	assert_int_equal(total_ns, report->kernel_ns);
	assert_int_equal(calls, report->counts.kernels);
	assert_true(busy_pct > 99.9999 && busy_pct < 100.0001);
	assert_true(kernel_pct > 99.9999 && kernel_pct < 100.0001);
}

/* One kernel with one grid is part of norms, of gates, and of neither. */
static void test_written_tells_launches_apart(void **state)
{
	struct ranked ranked;

	(void)state;
	begin();
	play("armLsmLmT", 20, 1, 0);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(calls_of(ranked.report, 'm', "norm"), 20);
	assert_int_equal(calls_of(ranked.report, 'm', "activation"), 20);
	assert_int_equal(calls_of(ranked.report, 'm', "elementwise"), 20);
	assert_int_equal(calls_of(ranked.report, 'a', "norm"), 20);
	assert_int_equal(calls_of(ranked.report, 'r', "norm"), 20);
	assert_int_equal(calls_of(ranked.report, 's', "activation"), 20);
	check_sums(ranked.report);
	for (size_t i = 0; i < ranked.report->kernel_count; i++) {
		const struct kp_kernel_row *row = &ranked.report->kernels[i];
		bool written = row->variant && strstr(row->variant, "written out");

		assert_int_equal(row->label_source == KP_LABEL_SEQUENCE, written);
		assert_int_equal(row->durations.total_ns, STEP_NS * row->calls);
		assert_int_equal(row->alone_ns, row->durations.total_ns);
	}
	ranked_end(&ranked);
}

/* Neither how long the GPU waits in a chain nor where a batch ends matters; the order does. */
static void test_written_goes_by_order(void **state)
{
	struct ranked ranked;

	(void)state;
	begin();
	play("arm", 10, 1, 1000000); /* far apart */
	play("ram", 10, 1, 0);
	play("aTrTm", 10, 1, 0);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(calls_of(ranked.report, 'm', "norm"), 10);
	assert_int_equal(calls_of(ranked.report, 'm', "elementwise"), 20);
	check_sums(ranked.report);
	ranked_end(&ranked);
}

/* Of a configuration that is nearly always part of a chain, the rest is, too. */
static void test_written_takes_the_whole(void **state)
{
	struct ranked ranked;

	(void)state;
	begin();
	play("armT", 95, 1, 0);
	play("Tm", 5, 1, 0);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(calls_of(ranked.report, 'm', "norm"), 100);
	check_sums(ranked.report);
	ranked_end(&ranked);
	begin();
	play("armT", 94, 1, 0);
	play("Tm", 6, 1, 0);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(calls_of(ranked.report, 'm', "norm"), 94);
	assert_int_equal(calls_of(ranked.report, 'm', "elementwise"), 6);
	ranked_end(&ranked);
}

static void test_written_follows_streams(void **state)
{
	struct ranked ranked;

	(void)state;
	begin();
	play("aarrmm", 10, 2, 0); /* side by side */
	ranked = rank_files(&file, 1, true);
	assert_int_equal(calls_of(ranked.report, 'm', "norm"), 20);
	ranked_end(&ranked);
	begin();
	play("arm", 10, 3, 0); /* each on a stream of its own */
	ranked = rank_files(&file, 1, true);
	assert_int_equal(calls_of(ranked.report, 'm', "norm"), 0);
	check_sums(ranked.report);
	ranked_end(&ranked);
}

/* What occurs a few times is no operator. */
static void test_written_recurs(void **state)
{
	struct ranked ranked;

	(void)state;
	for (int times = KP_FUSION_RUNS_LEAST - 1; times <= KP_FUSION_RUNS_LEAST; times++) {
		begin();
		play("armL", times, 1, 0);
		play("m", 50, 1, 0);
		ranked = rank_files(&file, 1, true);
		assert_int_equal(calls_of(ranked.report, 'm', "norm"),
				 times == KP_FUSION_RUNS_LEAST ? times : 0);
		check_sums(ranked.report);
		ranked_end(&ranked);
	}
}

/* Two processes: launches are counted for each, however they are read. */
static void test_written_of_processes(void **state)
{
	struct trace_file files[2];
	struct ranked ranked;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		trace_file_begin(&file, 1 + i);
		now_ns = 50 * i;
		play(i ? "Lrm" : "smTL", 30, 1, 0);
		files[i] = file;
	}
	ranked = rank_files(files, 2, true);
	assert_int_equal(calls_of(ranked.report, 'm', "norm"), 30);
	assert_int_equal(calls_of(ranked.report, 'm', "activation"), 30);
	assert_int_equal(calls_of(ranked.report, 'm', "elementwise"), 0);
	check_sums(ranked.report);
	ranked_end(&ranked);
}

/* Norms and gates, with rules on top. */
static struct ranked rank_with(const char *rules)
{
	struct kp_report_options options = {.threshold_pct = 30, .busy_shares = true};
	struct kp_operators *operators = NULL;
	struct ranked ranked;
	const char *paths[1];
	struct kp_rules_error error;
	size_t bad;

	begin();
	paths[0] = file.path;
	play("armLsmL", 20, 1, 0);
	assert_int_equal(kp_operators_builtin(&operators), KP_OK);
	assert_int_equal(kp_operators_add(operators, rules, strlen(rules), &error), KP_OK);
	options.operators = operators;
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	assert_int_equal(kp_reader_open(paths, 1, &ranked.reader, &bad), KP_OK);
	assert_int_equal(kp_report_build(ranked.reader, &options, &ranked.report), KP_OK);
	trace_file_end(&file);
	kp_operators_destroy(operators);
	check_sums(ranked.report);
	return ranked;
}

/* The user's own rule for a kernel stands, and where it says what the chain is, so does that. */
static void test_written_leaves_rules_of_ones_own(void **state)
{
	struct ranked ranked =
		rank_with("rules:\n  - {operator: norm, function: add_kernel, variant: ours}\n");

	(void)state;
	assert_int_equal(calls_of(ranked.report, 'a', "norm"), 20);
	assert_int_equal(calls_of(ranked.report, 'r', "norm"), 20);
	assert_int_equal(calls_of(ranked.report, 'm', "norm"), 20);
	for (size_t i = 0; i < ranked.report->kernel_count; i++) {
		const struct kp_kernel_row *row = &ranked.report->kernels[i];
		bool own = strcmp(row->mangled, "add_kernel") == 0;

		assert_int_equal(row->label_source == KP_LABEL_USER, own);
	}
	ranked_end(&ranked);
}

/* A rule that says another operator, or none, ends the chain: nothing is left of it. */
static void test_written_ends_at_other_rules(void **state)
{
	static const char *const rules[] = {
		"rules:\n  - {operator: copy, function: mul_kernel}\n",
		"rules:\n  - {operator: unknown, function: mul_kernel}\n",
		("operators:\n  - {name: mine, about: ours}\n"
		 "rules:\n  - {operator: mine, function: [mul_kernel, inverse_rms_kernel]}\n")};
	static const char *const says[] = {"copy", "unknown", "mine"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct ranked ranked = rank_with(rules[i]);

		assert_int_equal(calls_of(ranked.report, 'm', says[i]), 40);
		assert_int_equal(calls_of(ranked.report, 'a', "elementwise"), 20);
		for (size_t k = 0; k < ranked.report->kernel_count; k++)
			assert_int_not_equal(ranked.report->kernels[k].label_source,
					     KP_LABEL_SEQUENCE);
		ranked_end(&ranked);
	}
	/* A shorter chain that does without it is one all the same. */
	struct ranked ranked = rank_with("rules:\n  - {operator: copy, function: add_kernel}\n");
	assert_int_equal(calls_of(ranked.report, 'a', "copy"), 20);
	assert_int_equal(calls_of(ranked.report, 'm', "norm"), 20);
	assert_int_equal(calls_of(ranked.report, 'm', "activation"), 20);
	ranked_end(&ranked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_tells_launches_apart),
		cmocka_unit_test(test_written_goes_by_order),
		cmocka_unit_test(test_written_takes_the_whole),
		cmocka_unit_test(test_written_follows_streams),
		cmocka_unit_test(test_written_recurs),
		cmocka_unit_test(test_written_of_processes),
		cmocka_unit_test(test_written_leaves_rules_of_ones_own),
		cmocka_unit_test(test_written_ends_at_other_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
