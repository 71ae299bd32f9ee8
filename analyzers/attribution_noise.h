/*
 * What samples are off by, and rows of the linear model that allow for it. Private to
 * attribution*.c.
 *
 * Hardware counts every byte; what is uncertain is when. A launch that counts a little early or
 * late moves bytes from one sample into its neighbour: both are off by the same, the other way
 * round, by so much as counts at their common edge in that time. An edge at which nothing counts
 * divides what was counted exactly. With `late` as the usual time, the noise of samples has the
 * covariance
 *
 *   white + s²(i) + s²(i + 1)  of sample i,   −s²(i + 1)  of it and the next,   s = late · rate
 *
 * Where launches run side by side, which of them counts is uncertain for longer, and adds to
 * `late`.
 *
 * A chain multiplies rows with the inverse of the root of that matrix, row by row, so that least
 * squares weigh all of them as they deserve: samples are added up until an edge that is certain.
 * Any other weights would give the same on average, only less exactly; therefore a chain may begin
 * anew at any row, and does where it would have too many columns.
 */
#ifndef KP_ANALYZERS_ATTRIBUTION_NOISE_H
#define KP_ANALYZERS_ATTRIBUTION_NOISE_H

#include <stdbool.h>

#include "analyzers/attribution_rows.h"
#include "analyzers/least_squares.h"

/* More columns than that in a row of a chain, and it begins anew. */
#define KP_CHAIN_COLUMNS_MAX 64

struct kp_noise {
	double late_squared, white; /* variances: of times, and of what a sample counts */
	bool is_learnt;             /* false: all samples are as good */
	double *counts; /* of each kept class, what a launch counts; last the rest's, a nanosecond
			 */
};

/* Counts are zero, and all samples as good. Errors: KP_NO_MEMORY. */
enum kp_status kp_noise_init(struct kp_noise *noise, size_t kept);
void kp_noise_fini(struct kp_noise *noise);

struct kp_chain {
	const struct kp_noise *noise; /* borrowed */
	size_t n;                     /* columns */
	double *carry;                /* of each column, what the last row has */
	bool *is_carried;
	struct kp_least_term *terms; /* the row, */
	size_t count;
	double value, weight; /* and its weight */
	double divisor;       /* 1 / weight of the last row */
	double edge;          /* s² of the edge at the end of the last row */
	size_t next_sample;   /* behind the last row; 0: none */
	double effort;        /* squares of `count`, added up */
};

/* Errors: KP_NO_MEMORY; to be released in any case. */
enum kp_status kp_chain_init(struct kp_chain *chain, const struct kp_noise *noise, size_t n);
void kp_chain_fini(struct kp_chain *chain);
/* Forgets the last row. */
void kp_chain_begin(struct kp_chain *chain);
/* Goes on with a row, whose terms have columns that differ; the result is in the chain. */
void kp_chain_add(struct kp_chain *chain, const struct kp_row *row,
		  const struct kp_least_term *terms, size_t count, double value);

/* Finds the variances from residuals of rows as they are, in order; those between whose edges
 * launches run side by side say less, and are left to themselves. */
struct kp_noise_sums {
	double products, edges_squared; /* Σ −r(i) r(i + 1) s²(i + 1), Σ s⁴, at late = 1 */
	double squares, edges, rows;    /* Σ r², Σ s²(i) + s²(i + 1), rows */
};
struct kp_noise_learning {
	struct kp_noise_sums alone, beside;
	size_t last_sample;
	double last_residual, last_edge, last_weight, last_beside_ns;
};

/* Rows with less than full weight say nothing. */
void kp_noise_learn(struct kp_noise_learning *learning, const struct kp_noise *noise,
		    const struct kp_row *row, double residual);
/* Keeps the variances as they are where there were too few rows. */
void kp_noise_learnt(const struct kp_noise_learning *learning, struct kp_noise *noise);

#endif
