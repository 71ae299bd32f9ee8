/*
 * Whose bytes these are: divides what hardware counters counted for a whole GPU, sample by sample,
 * among the launches that ran meanwhile.
 *
 * A sample of one metric is modelled as
 *
 *   value = background + Σ over launches  x(class) · (part of the launch's window in the sample)
 *
 * A class is what is expected to count alike each time (a kernel and its shape); x is what one
 * launch of it counts, and is found by non-negative least squares over all samples at once, which
 * also divides samples that several short launches share, and launches that run side by side. Where
 * durations within a class differ much, x has a part that grows with the duration. A window is the
 * time in which a launch counts: it begins `lag` after the start and ends `lead` before the end as
 * the GPU's clock has them, since launching, filling pipelines and draining take time, and the
 * clock of samples is off by about a microsecond. Both are found in each run from what the residual
 * says: first common ones, then those of each class that counts much. Without them, kernels of
 * 5-9 µs read 5 % too high from samples of 10 µs.
 *
 * Where launches of a class last longer than a sample, x is seven: one for each piece of the
 * window, since rates there differ, and samples of a launch's middle say nothing of its edges.
 *
 * Launches that run side by side slow each other down. The model is solved for several assumptions
 * of how much: as if they did not, or as if each lost a third or half of its pace by one other, or
 * as if one that begins before another ends had nothing until half of that time is over. The one
 * that leaves least over is told, and what the others make of it is an error.
 *
 * Samples that lie wholly inside one launch with nothing beside it are that launch's, whatever the
 * model says: launches longer than a few samples are measured, not estimated.
 *
 * Errors are the root of two sums of squares: the scatter of the solution's scores between blocks
 * of time (cluster-robust, so that neither autocorrelation nor uneven noise matters), and what the
 * solution moves by when each window's edges are off by as much as explains the whole residual.
 * What no sample can tell apart, or what comes out too vague, is `unknown`.
 *
 * Pure, single-threaded, deterministic. Memory: some megabytes besides the input, and
 * where launches run side by side, four times the input.
 */
#ifndef KP_ANALYZERS_ATTRIBUTION_H
#define KP_ANALYZERS_ATTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

struct kp_attribution_launch {
	uint64_t start_ns, end_ns; /* start <= end <= KP_TIME_MAX_NS */
	uint32_t class;            /* below class_count */
};

/* Borrowed, for as long as the attribution lives. */
struct kp_attribution_input {
	const struct kp_attribution_launch *launches; /* in order of start_ns */
	size_t launch_count;
	uint32_t class_count;
	const uint64_t *begin_ns;  /* of samples, ascending; none overlaps another */
	const uint32_t *length_ns; /* more than 0 */
	size_t sample_count;
};

/* What is known of what one launch counts, on average. */
enum kp_traffic_source {
	KP_TRAFFIC_UNKNOWN,   /* too little evidence: all else means nothing */
	KP_TRAFFIC_ESTIMATED, /* pooled over launches */
	KP_TRAFFIC_MEASURED   /* three quarters at least are from samples inside launches */
};

struct kp_traffic {
	enum kp_traffic_source source;
	double mean;      /* of a launch, in the metric's unit */
	double ci95;      /* half the width of the 95 % confidence interval of it */
	double launches;  /* that were sampled: parts of launches add up */
	uint64_t samples; /* that overlap such a launch */
};

struct kp_attribution_totals {
	double sampled;         /* sum of all samples */
	double attributed;      /* of it: to classes; may exceed it by a little */
	double background;      /* of it: what runs when nothing of ours does */
	double unattributed;    /* the rest; sampled = attributed + background + unattributed */
	double residual;        /* root mean square, of a sample */
	double lag_ns, lead_ns; /* common ones; see above */
	uint64_t samples_used;  /* in the solution */
	uint64_t displaced;     /* launches left out: more ran at once than a GPU can run */
};

struct kp_attribution;
struct kp_attribution_metric;

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_attribution_create(const struct kp_attribution_input *input,
				     struct kp_attribution **out);
void kp_attribution_destroy(struct kp_attribution *attribution);

/*
 * Solves one metric; values[i] belongs to sample i, finite and not negative. The result does not
 * outlive `attribution`. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_attribution_solve(struct kp_attribution *attribution, const float *values,
				    struct kp_attribution_metric **out);
void kp_attribution_metric_destroy(struct kp_attribution_metric *metric);

struct kp_attribution_totals kp_attribution_totals(const struct kp_attribution_metric *metric);
/*
 * What an average launch of these classes counts, every launch of the run weighing the same; errors
 * that cancel (of classes that are hard to tell apart) do so.
 */
struct kp_traffic kp_attribution_of(const struct kp_attribution_metric *metric,
				    const uint32_t *classes, size_t count);

#endif
