/* Rules: what parses, where what does not is wrong, and what becomes of them on a small trace. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/gates.h"
#include "tests/unit/report_trace.h"

static struct kp_operators *operators;

static enum kp_status parse(const char *rule, enum kp_gate_scope scope, struct kp_gate_error *error)
{
	struct kp_gate *gate;
	enum kp_status status = kp_gate_create(rule, scope, operators, &gate, error);

	kp_gate_destroy(gate);
	return status;
}

static void test_gates_good_rules_parse(void **unused)
{
	static const char *const both[] = {"operator(attention).share > 30%",
					   "operator( attention ).share>=30 %",
					   "operator(\"kv-cache\").time < 1.5ms",
					   "kernel(add_kernel).calls > 3",
					   "kernel(/^nvjet_.*(TNT|NNT)$/).bandwidth < 2.5TB/s",
					   "kernel(void f<int>(char*)).average >= 3us",
					   "total.idle > 10%",
					   "  total.time  <=  2s ",
					   "kernel(\"a\\\"b\").time > 0ns",
					   "total.busy < 5µs",
					   "kernel(/a\\/b/).calls < 1",
					   "total.iteration > 3ms"};
	static const char *const diffs[] = {
		"slower > 2%",          "faster < 5%",        "slower",
		"inconclusive",         "total.length > 1 %", "operator(gemm).calls > 10%",
		"kernel(x).time > -3us"};
	struct kp_gate_error error;

	(void)unused;
	for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++) {
		assert_int_equal(parse(both[i], KP_GATE_REPORT, &error), KP_OK);
		assert_int_equal(parse(both[i], KP_GATE_DIFF, &error), KP_OK);
	}
	for (size_t i = 0; i < sizeof(diffs) / sizeof(*diffs); i++)
		assert_int_equal(parse(diffs[i], KP_GATE_DIFF, &error), KP_OK);
	assert_int_equal(parse("gpu.idle > 3%", KP_GATE_REPORT, &error), KP_OK);
	assert_int_equal(parse("gpu(7).busy < 3%", KP_GATE_REPORT, &error), KP_OK);
}

static void test_gates_bad_rules_say_where_and_what(void **unused)
{
	static const struct {
		const char *rule;
		enum kp_gate_scope scope;
		size_t column;
		const char *says;
	} bad[] = {
		{"attention > 3%", KP_GATE_REPORT, 1, "total, gpu, operator, kernel"},
		{"slower > 3%", KP_GATE_REPORT, 1, "total"},
		{"gpu.idle > 3%", KP_GATE_DIFF, 1, "slower"},
		{"operator.share > 3%", KP_GATE_REPORT, 9, "operator(NAME)"},
		{"operator(atention).share > 3%", KP_GATE_REPORT, 10, "attention"},
		{"operator(attention.share > 3%", KP_GATE_REPORT, 9, "never closed"},
		{"kernel(\"x).share > 3%", KP_GATE_REPORT, 8, "never closed"},
		{"kernel().share > 3%", KP_GATE_REPORT, 8, "missing"},
		{"kernel(/(/).share > 3%", KP_GATE_REPORT, 8, "regular expression"},
		{"gpu(x).idle > 3%", KP_GATE_REPORT, 5, "gpu(0)"},
		{"total(x).idle > 3%", KP_GATE_REPORT, 6, "no name"},
		{"operator(gemm) > 3%", KP_GATE_REPORT, 16, "share, time, calls"},
		{"operator(gemm).idle > 3%", KP_GATE_REPORT, 16, "share, time, calls"},
		{"total.length > 3%", KP_GATE_REPORT, 7, "idle"},
		{"operator(gemm).share 3%", KP_GATE_REPORT, 22, ">="},
		{"operator(gemm).share > %", KP_GATE_REPORT, 24, "number"},
		{"operator(gemm).share > nan%", KP_GATE_REPORT, 24, "number"},
		{"operator(gemm).share > 1e3%", KP_GATE_REPORT, 24, "number"},
		{"operator(gemm).share > 0x3%", KP_GATE_REPORT, 24, "number"},
		{"operator(gemm).share > 3us", KP_GATE_REPORT, 25, "%"},
		{"operator(gemm).time > 3", KP_GATE_REPORT, 24, "ns, us"},
		{"operator(gemm).time > 3%", KP_GATE_REPORT, 24, "ns, us"},
		{"operator(gemm).share > 3% or so", KP_GATE_REPORT, 27, "follows"},
		{"inconclusive > 3%", KP_GATE_DIFF, 14, "alone"},
		{"", KP_GATE_REPORT, 1, "begins"},
	};
	struct kp_gate_error error;

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(parse(bad[i].rule, bad[i].scope, &error), KP_INVALID);
		if (error.column != bad[i].column || !strstr(error.text, bad[i].says))
			print_error("%s: column %zu: %s\n", bad[i].rule, error.column, error.text);
		assert_int_equal(error.column, bad[i].column);
		assert_non_null(strstr(error.text, bad[i].says));
	}
}

/* Any bytes at all: a rule, or an error; never a crash. */
static void test_gates_any_bytes_are_no_trouble(void **unused)
{
	static const char pieces[][12] = {"operator", "kernel", "(", ")", "\"", "/",  "\\", ".",
					  "share",    "time",   ">", "=", "3",  "%",  "us", " ",
					  "\xff",     "slower", "[", "*", "-",  "gpu"};
	uint64_t state = 1;
	struct kp_gate_error error;

	(void)unused;
	for (unsigned i = 0; i < 20000; i++) {
		char rule[128] = "";

		for (unsigned k = 0; k < 9; k++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			strcat(rule, pieces[(state >> 33) % (sizeof(pieces) / sizeof(*pieces))]);
		}
		if (parse(rule, i % 2 ? KP_GATE_REPORT : KP_GATE_DIFF, &error) == KP_INVALID) {
			assert_true(error.column >= 1 && error.column <= strlen(rule) + 1);
			assert_true(strlen(error.text) > 0);
		}
	}
}

/* 60 % of kernel time attention, 40 % gemm; busy 500 of 1000 ns. */
static struct ranked make_report(void)
{
	struct trace_file file;

	trace_file_begin(&file, 1);
	describe_process(&file, "host");
	launch(&file, trace_file_config(&file, "flash_fwd_kernel", 0, 1), 0, 300);
	launch(&file, trace_file_config(&file, "cutlass_gemm_kernel", 0, 1), 500, 600);
	launch(&file, trace_file_config(&file, "cutlass_gemm_kernel", 0, 1), 900, 1000);
	return rank_files(&file, 1, true);
}

static void test_gates_figures_of_a_report(void **unused)
{
	static const struct {
		const char *rule;
		enum kp_gate_state state;
		double value;
	} rows[] = {
		{"operator(attention).share > 59.9%", KP_GATE_VIOLATED, 60},
		{"operator(attention).share > 60%", KP_GATE_PASSED, 60},
		{"operator(attention).share >= 60%", KP_GATE_VIOLATED, 60},
		{"operator(gemm).time > 199ns", KP_GATE_VIOLATED, 200},
		{"operator(gemm).calls < 3", KP_GATE_VIOLATED, 2},
		{"operator(gemm).average <= 100ns", KP_GATE_VIOLATED, 100},
		{"operator(moe).share > 0%", KP_GATE_PASSED, 0},
		{"operator(moe).share < 1%", KP_GATE_VIOLATED, 0},
		{"operator(moe).average > 1us", KP_GATE_UNKNOWN, NAN},
		{"operator(gemm).bandwidth < 1GB/s", KP_GATE_UNKNOWN, NAN},
		{"kernel(cutlass_gemm_kernel).share > 30%", KP_GATE_VIOLATED, 40},
		{"kernel(/gemm|flash/).share > 99%", KP_GATE_VIOLATED, 100},
		{"kernel(cutlass_gemm).share > 0%", KP_GATE_PASSED, 0},
		{"total.idle > 49%", KP_GATE_VIOLATED, 50},
		{"total.idle > 501ns", KP_GATE_PASSED, 500},
		{"total.busy < 51%", KP_GATE_VIOLATED, 50},
		{"total.span > 999ns", KP_GATE_VIOLATED, 1000},
		{"total.time > 499ns", KP_GATE_VIOLATED, 500},
		{"total.calls > 2", KP_GATE_VIOLATED, 3},
		{"total.iteration > 1us", KP_GATE_UNKNOWN, NAN},
		{"gpu.idle > 49%", KP_GATE_VIOLATED, 50},
		{"gpu(0).busy > 51%", KP_GATE_PASSED, 50},
		{"gpu(1).busy > 51%", KP_GATE_UNKNOWN, NAN},
	};
	struct ranked ranked = make_report();
	size_t failed = 0;

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct kp_gate_error error;
		struct kp_gate *gate;
		const struct kp_gate_outcome *outcome;

		assert_int_equal(
			kp_gate_create(rows[i].rule, KP_GATE_REPORT, operators, &gate, &error),
			KP_OK);
		assert_int_equal(kp_gates_judge_report((const struct kp_gate *const *)&gate, 1,
						       ranked.report),
				 KP_OK);
		outcome = ranked.report->gates;
		if (outcome->state != rows[i].state)
			print_error("%s: %s\n", rows[i].rule, outcome->text);
		assert_int_equal(outcome->state, rows[i].state);
		assert_string_equal(outcome->rule, rows[i].rule);
		if (isnan(rows[i].value))
			assert_true(isnan(outcome->value));
		else
			assert_true(fabs(outcome->value - rows[i].value) < 1e-9);
		failed = kp_gates_failed(outcome, 1);
		assert_int_equal(failed, rows[i].state != KP_GATE_PASSED);
		kp_gate_destroy(gate);
	}
	assert_int_equal(ranked.report->gate_count, 1);
	ranked_end(&ranked);
}

/* A report of a process that issued so many launches, of which 2000 are there. */
static struct ranked make_incomplete(uint64_t issued)
{
	struct kp_counts counts = {0};
	struct kp_end end = {0};
	struct trace_file file;
	uint32_t config;

	trace_file_begin(&file, 1);
	describe_process(&file, "host");
	config = trace_file_config(&file, "cutlass_gemm_kernel", 0, 1);
	for (uint64_t i = 0; i < 2000; i++)
		launch(&file, config, 100 * i, 100 * i + 50);
	KP_SET(&counts, COUNTS, kernels_issued, issued);
	KP_SET(&counts, COUNTS, records_dropped, 0);
	assert_int_equal(kp_writer_counts(file.writer, &counts), KP_OK);
	assert_int_equal(kp_writer_end(file.writer, &end), KP_OK);
	return rank_files(&file, 1, true);
}

/* Of an incomplete trace no figure is known, neither one that is too high nor one that is not. */
static void test_gates_of_an_incomplete_trace(void **unused)
{
	static const char *const rules[] = {"operator(gemm).time > 1s", "operator(gemm).time > 1ns",
					    "operator(moe).share > 1%", "total.idle > 99%",
					    "total.calls > 1"};

	(void)unused;
	for (uint64_t issued = 2002; issued <= 2003; issued++) {
		struct ranked ranked = make_incomplete(issued);

		for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
			struct kp_gate_error error;
			struct kp_gate *gate;
			bool unknown;

			assert_int_equal(
				kp_gate_create(rules[i], KP_GATE_REPORT, operators, &gate, &error),
				KP_OK);
			assert_int_equal(kp_gates_judge_report((const struct kp_gate *const *)&gate,
							       1, ranked.report),
					 KP_OK);
			unknown = ranked.report->gates->state == KP_GATE_UNKNOWN;
			assert_int_equal(unknown, issued == 2003); /* from 0.1 % on */
			assert_int_equal(isnan(ranked.report->gates->value), unknown);
			assert_int_equal(strstr(ranked.report->gates->text,
						"3 of 2003 launches are missing") != NULL,
					 unknown);
			kp_gate_destroy(gate);
		}
		ranked_end(&ranked);
	}
}

static int begin(void **unused)
{
	(void)unused;
	return kp_operators_builtin(&operators) == KP_OK ? 0 : -1;
}

static int end(void **unused)
{
	(void)unused;
	kp_operators_destroy(operators);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gates_good_rules_parse),
		cmocka_unit_test(test_gates_bad_rules_say_where_and_what),
		cmocka_unit_test(test_gates_any_bytes_are_no_trouble),
		cmocka_unit_test(test_gates_figures_of_a_report),
		cmocka_unit_test(test_gates_of_an_incomplete_trace),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
