/* The solution of one metric, as it is built and asked: private to attribution*.c. */
#ifndef KP_ANALYZERS_ATTRIBUTION_RESULT_H
#define KP_ANALYZERS_ATTRIBUTION_RESULT_H

#include "analyzers/attribution_parts.h"

/* One kept class. Weights are parts of launches; `scaled` ones as in struct kp_row_entry. */
struct kp_class_result {
	double weight, scaled_weight;             /* in all samples */
	double alone_weight, alone_scaled_weight; /* in those of one launch alone */
	double piece_weight[KP_PIECES], alone_piece_weight[KP_PIECES];
	double alone_value;       /* what these counted, less the background */
	double launches, mean_ns; /* of the run */
	double mean;              /* of a launch */
	double unlike;            /* see kp_pieces_unlike */
	double beside;            /* see struct kp_class_times */
	double inflation;         /* variance inflation; absurd: cannot be told apart */
	uint64_t samples;
};

struct kp_attribution_metric {
	const struct kp_attribution *attribution; /* borrowed */
	uint32_t kept;
	struct kp_class_result *classes;
	/* influence[i * kept + c]: the i-th independent contribution to the error of the mean of
	 * class c; the sum of their squares is its variance. */
	double *influence;
	size_t influences, blocks;
	double surprise; /* a sample: −2 log likelihood, but for a constant; see attribution_solve.c
			  */
	double rate_max; /* about the most that was seen, a nanosecond */
	struct kp_attribution_totals totals;
};

/* Solves for one way alone; see kp_attribution_solve. Errors: KP_NO_MEMORY. */
enum kp_status kp_attribution_solve_way(struct kp_attribution *attribution, const float *values,
					struct kp_attribution_metric **out);

#endif
