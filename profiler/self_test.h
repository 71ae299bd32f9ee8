/*
 * kprof ab --self-test: null controls, whose verdicts are known beforehand (kernels/controls.def),
 * through all of kprof ab; docs/ab.md says which, and what is asked of them.
 */
#ifndef KP_PROFILER_SELF_TEST_H
#define KP_PROFILER_SELF_TEST_H

#include <stdbool.h>
#include <stdio.h>

#include "kernels/control.h"
#include "profiler/format.h"
#include "profiler/settings.h"
#include "trace/status.h"

/* Seeds of each fault in a round, and runs of the original against itself. */
#define KP_SELF_TEST_SEEDS 2U
#define KP_SELF_TEST_SAME 4U

/* One kind of replacement, over all rounds. */
struct kp_self_fault {
	uint64_t runs;
	uint64_t caught; /* runs that were called wrong */
	uint64_t shown;  /* runs whose replacement the program saw at least once */
};

/* X(NAME, key, percent): delays; the last one is twice what was detectable before. */
#define KP_SELF_DELAYS(X)                                                                          \
	X(ONE, "1 %", 1.0)                                                                         \
	X(TWO, "2 %", 2.0)                                                                         \
	X(FIVE, "5 %", 5.0)                                                                        \
	X(TWICE, "twice what is detectable", 0.0)
enum kp_self_delay_id {
#define KP_SELF_DELAY_ENUM(NAME, key, percent) KP_SELF_DELAY_##NAME,
	KP_SELF_DELAYS(KP_SELF_DELAY_ENUM)
#undef KP_SELF_DELAY_ENUM
		KP_SELF_DELAY_COUNT
};

struct kp_self_delay {
	uint64_t runs;
	uint64_t due;  /* of these: at least twice what the run itself says is detectable, */
	uint64_t seen; /* and of those: all of the interval is a delay */
	double planted_pct, change_pct; /* sums over runs */
};

struct kp_self_test {
	uint64_t rounds;
	bool timed;  /* there are controls of times, too */
	bool hidden; /* the program sees originals only */
	struct kp_self_fault faults[KP_CONTROL_COUNT];
	uint64_t same, same_claims; /* A/A: runs, and those that claim a difference at 95 % */
	uint64_t unknown;           /* runs of times that say nothing */
	double detectable_pct;      /* the most of all A/A; NaN: none is known */
	double shortest_us;         /* the least of all originals' medians; NaN */
	struct kp_self_delay delays[KP_SELF_DELAY_COUNT];
	bool spoilt; /* the program has seen an output of a fault */
};

/* The exit status: 0, or what kprof ab has for a control that failed, or for other trouble. */
int kp_self_test(const struct kp_settings *settings);

/* self_test_judge.c. Claims of a difference that chance allows, in 99 of 100 such tests. */
uint64_t kp_self_test_claims_most(uint64_t runs);
const char *kp_self_control_key(enum kp_control control);
const char *kp_self_delay_key(enum kp_self_delay_id delay);
/* Percent; 0: what is detectable decides. */
double kp_self_delay_pct(enum kp_self_delay_id delay);
/* Whether a row of the results is as it must be. */
bool kp_self_fault_holds(const struct kp_self_test *test, enum kp_control control);
bool kp_self_same_holds(const struct kp_self_test *test);
bool kp_self_delay_holds(const struct kp_self_test *test, enum kp_self_delay_id delay);
bool kp_self_test_passed(const struct kp_self_test *test);

/* self_test_print.c: kprof.ab-self-test/v1. Errors of the document: KP_NO_MEMORY. */
void kp_self_test_print(FILE *file, const struct kp_self_test *test);
enum kp_status kp_self_test_document(FILE *file, const struct kp_self_test *test,
				     enum kp_format format);

#endif
