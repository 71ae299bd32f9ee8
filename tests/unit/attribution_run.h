/* Runs for tests of the attribution whose truth is known, because they are made up. */
#ifndef KP_TESTS_ATTRIBUTION_RUN_H
#define KP_TESTS_ATTRIBUTION_RUN_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/attribution.h"

#define LAUNCHES_MAX 40000
#define SAMPLES_MAX 60000
#define CLASSES_MAX 256
/* A window's edges in these runs: unlike what is expected before looking. */
#define LAG_NS 400.0
#define LEAD_NS 1500.0
#define BASE_NS 5000000000ULL

struct run {
	struct kp_attribution_launch launches[LAUNCHES_MAX];
	double counts[LAUNCHES_MAX];
	uint64_t begin_ns[SAMPLES_MAX];
	uint32_t length_ns[SAMPLES_MAX];
	float values[SAMPLES_MAX];
	size_t launch_count, sample_count;
	uint32_t class_count;
	uint64_t now_ns; /* where the next launch may begin */
	uint64_t random;
	struct kp_attribution *attribution;
	struct kp_attribution_metric *metric;
};

/* Which part of what a launch of the class counts is counted in so much of its window: 0 to 1. */
typedef double flow_of(uint32_t class, double part);

/* An empty run; end it. The seed makes its numbers. */
struct run *run_begin(uint64_t seed);
void run_end(struct run *run);
/* From 0 to 1, in the run's own order. */
double uniform(struct run *run);
/* A launch that counts so much, at a time of its own. */
void launch_at(struct run *run, uint32_t class, uint64_t start_ns, uint64_t length_ns,
	       double counts);
/* A launch behind the one before, with jitter as real ones have. */
void launch(struct run *run, uint32_t class, uint64_t length_ns, double counts, uint64_t gap_ns);
/*
 * Samples of all of it, evenly or as `flow` says; noise is a standard deviation for each launch's
 * count, as a part of it.
 */
void sample(struct run *run, uint32_t interval_ns, double noise);
void sample_flow(struct run *run, uint32_t interval_ns, double noise, flow_of *flow);
/* Attributes it, and requires that totals add up. */
void solve(struct run *run);
struct kp_traffic of(const struct run *run, uint32_t class);
/* Known, within a part of the truth, and not telling less of itself than is true. */
void assert_near(const struct run *run, uint32_t class, double truth, double part);

#endif
