/* What came of the null controls, as text and as kprof.ab-self-test/v1; see self_test.h. */
#include <inttypes.h>
#include <math.h>

#include "profiler/document.h"
#include "profiler/self_test.h"

static const char *mark(bool good)
{
	return good ? "" : "  FAILED";
}

static void print_faults(FILE *file, const struct kp_self_test *test)
{
	fprintf(file, "%-18s %10s %8s\n", "results", "called wrong", "shown");
	for (int i = 0; i < KP_CONTROL_TIMED; i++) {
		const struct kp_self_fault *fault = &test->faults[i];

		fprintf(file, "  %-16s %4" PRIu64 " of %-4" PRIu64 " %8" PRIu64 "%s\n",
			kp_self_control_key((enum kp_control)i), fault->caught, fault->runs,
			fault->shown, mark(kp_self_fault_holds(test, (enum kp_control)i)));
	}
}

static double mean(double sum, uint64_t count)
{
	return count ? sum / (double)count : NAN;
}

static void print_times(FILE *file, const struct kp_self_test *test)
{
	fprintf(file,
		"times, of kernels of %.0f µs and more\n"
		"  the original against itself: %" PRIu64 " of %" PRIu64
		" claim a difference (at most %" PRIu64 "); %.2f %% is detectable%s\n",
		test->shortest_us, test->same_claims, test->same,
		kp_self_test_claims_most(test->same), test->detectable_pct,
		mark(kp_self_same_holds(test)));
	if (test->unknown)
		fprintf(file, "  %" PRIu64 " runs say nothing\n", test->unknown);
	for (int i = 0; i < KP_SELF_DELAY_COUNT; i++) {
		const struct kp_self_delay *delay = &test->delays[i];

		if (delay->runs)
			fprintf(file,
				"  a delay of %s (%.2f %%): seen in %" PRIu64 " of %" PRIu64
				" where it is detectable (of %" PRIu64 " in all), as %+.2f %%%s\n",
				kp_self_delay_key((enum kp_self_delay_id)i),
				mean(delay->planted_pct, delay->runs), delay->seen, delay->due,
				delay->runs, mean(delay->change_pct, delay->runs),
				mark(kp_self_delay_holds(test, (enum kp_self_delay_id)i)));
	}
}

void kp_self_test_print(FILE *file, const struct kp_self_test *test)
{
	fprintf(file, "null controls of kprof ab, %" PRIu64 " round%s\n", test->rounds,
		test->rounds == 1 ? "" : "s");
	print_faults(file, test);
	if (test->timed)
		print_times(file, test);
	if (test->spoilt)
		fputs("the program saw an output of a planted fault\n", file);
	fprintf(file, "%s\n", kp_self_test_passed(test) ? "passed" : "FAILED");
}

static void emit_faults(struct kp_emit *emit, const struct kp_self_test *test)
{
	kp_emit_list_begin(emit, "results");
	for (int i = 0; i < KP_CONTROL_TIMED; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "control", kp_self_control_key((enum kp_control)i));
		kp_emit_count(emit, "runs", test->faults[i].runs);
		kp_emit_count(emit, "called_wrong", test->faults[i].caught);
		kp_emit_count(emit, "shown", test->faults[i].shown);
		kp_emit_bool(emit, "holds", kp_self_fault_holds(test, (enum kp_control)i));
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_times(struct kp_emit *emit, const struct kp_self_test *test)
{
	kp_emit_map_begin(emit, "same");
	kp_emit_count(emit, "runs", test->same);
	kp_emit_count(emit, "claims", test->same_claims);
	kp_emit_count(emit, "claims_most", kp_self_test_claims_most(test->same));
	kp_emit_count(emit, "runs_unknown", test->unknown);
	kp_emit_number(emit, "detectable_pct", test->detectable_pct, 4);
	kp_emit_number(emit, "shortest_us", test->shortest_us, 3);
	kp_emit_bool(emit, "holds", kp_self_same_holds(test));
	kp_emit_map_end(emit);
	kp_emit_list_begin(emit, "delays");
	for (int i = 0; test->timed && i < KP_SELF_DELAY_COUNT; i++) {
		const struct kp_self_delay *delay = &test->delays[i];

		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "delay", kp_self_delay_key((enum kp_self_delay_id)i));
		kp_emit_number(emit, "planted_pct", mean(delay->planted_pct, delay->runs), 4);
		kp_emit_number(emit, "change_pct", mean(delay->change_pct, delay->runs), 4);
		kp_emit_count(emit, "runs", delay->runs);
		kp_emit_count(emit, "runs_due", delay->due);
		kp_emit_count(emit, "seen", delay->seen);
		kp_emit_bool(emit, "holds", kp_self_delay_holds(test, (enum kp_self_delay_id)i));
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

enum kp_status kp_self_test_document(FILE *file, const struct kp_self_test *test,
				     enum kp_format format)
{
	struct kp_emit *emit;
	enum kp_status status = kp_document_begin(file, format, "kprof.ab-self-test/v1", &emit);

	if (status != KP_OK)
		return status;
	kp_emit_count(emit, "rounds", test->rounds);
	kp_emit_bool(emit, "timed", test->timed);
	emit_faults(emit, test);
	emit_times(emit, test);
	kp_emit_bool(emit, "fault_seen", test->spoilt);
	kp_emit_bool(emit, "passed", kp_self_test_passed(test));
	kp_emit_map_end(emit);
	return kp_emit_finish(emit);
}
