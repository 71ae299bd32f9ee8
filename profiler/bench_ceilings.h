/*
 * Measures the ceilings of a GPU with the kernels of kernels/ceilings.def: each is first checked
 * against a reference, then timed. The best kernel of a ceiling makes it.
 */
#ifndef KP_PROFILER_BENCH_CEILINGS_H
#define KP_PROFILER_BENCH_CEILINGS_H

#include "analyzers/ceilings.h"
#include "profiler/bench_timing.h"
#include "profiler/ceilings_cache.h"
#include "profiler/settings.h"

#define KP_TRIES_MOST 64

/* Each kernel that was measured, in order. */
struct kp_measured {
	struct kp_try {
		enum kp_ceiling_kind kind;
		struct kp_ceiling ceiling;
		const char *how;
		uint32_t sm_mhz; /* meanwhile; 0: unknown */
	} tries[KP_TRIES_MOST];
	size_t count;
};

/* The best of a kind; NULL: none was measured. */
const struct kp_try *kp_measured_best(const struct kp_measured *measured,
				      enum kp_ceiling_kind kind);

/* Measures all that the GPU can do; says what goes wrong and returns false. */
bool kp_bench_ceilings(const struct kp_gpu *gpu, struct kp_measured *out);

/* Its two halves: they add to what is there. */
bool kp_bench_memory(struct kp_timer *timer, struct kp_measured *out);
bool kp_bench_rates(struct kp_timer *timer, struct kp_measured *out);
/* Of the first, reading alone. */
bool kp_bench_reading(struct kp_timer *timer, struct kp_measured *out);

/*
 * kprof bench ceilings: measures the GPU that --device names, else the first of each model, prints
 * and keeps the results. Returns the exit status.
 */
int kp_bench_run_ceilings(const struct kp_settings *settings);

/* As text, for people: a table of the ceilings of `gpu`, or of all that was tried. */
void kp_print_ceilings(FILE *file, const struct kp_gpu *gpu, const struct kp_measured *measured,
		       bool all);

/* Adds a timing of so much (bytes or operations) a launch, in units of `unit`. */
void kp_measured_take(struct kp_measured *measured, enum kp_ceiling_kind kind, const char *how,
		      double amount, double unit, const struct kp_timing *timing);

#endif
