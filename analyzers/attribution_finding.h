/*
 * Normal equations of all that is found at once for one metric, over the stretches: what the
 * launches of each class count, and how that changes with the edges of windows. Private to
 * attribution*.c.
 */
#ifndef KP_ANALYZERS_ATTRIBUTION_FINDING_H
#define KP_ANALYZERS_ATTRIBUTION_FINDING_H

#include "analyzers/attribution_parts.h"

struct kp_finding {
	struct kp_attribution *attribution;
	const float *values;
	double background;
	/*
	 * Columns: classes 0 … edged - 1; all else, by time; the parts that grow with durations,
	 * and pieces behind the first; up to here `first`. Then lags, then leads of the same
	 * classes: n.
	 */
	size_t edged, first, n;
	size_t more_columns[KP_EDGED_MAX]; /* where those of a class begin; 0: none */
	struct kp_window_edges *edges;     /* of each kept class and the rest */
	struct kp_noise *noise;            /* borrowed */
	struct kp_chain chain;
	double *matrix, *right; /* of the last pass */
	double squares, rows;   /* Σ value², rows */
	double *x;              /* first */
	double *joint, *joint_right;
	bool edges_too; /* equations of edges are wanted, too */
};

/* Fills all from the first three, `edges` and `noise`; to be released in any case. Errors:
 * KP_NO_MEMORY. */
enum kp_status kp_finding_init(struct kp_finding *finding);
void kp_finding_fini(struct kp_finding *finding);
/* A class's columns, added up: of any vector, and of x, which is what a launch counts. */
double kp_finding_whole_of(const struct kp_finding *finding, size_t class, const double *vector);
double kp_finding_whole(const struct kp_finding *finding, size_t class);
/* Equations with the present edges and noise, and x. `residual`: the weighted squares that are left
 * over. Errors: KP_NO_MEMORY. */
enum kp_status kp_finding_pass(struct kp_finding *finding, double *residual);
/* Finds the noise again from what the last pass left over. */
void kp_finding_learn(struct kp_finding *finding);

#endif
