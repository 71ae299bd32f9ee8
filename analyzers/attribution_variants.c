/*
 * What is told where launches run side by side: one solution for each way in which they may slow
 * each other down. The likeliest is told, and by how much the others differ is an error of it: all
 * of it where they explain samples as well, less where the variance of what they leave over, for a
 * sample and against what its noise lets expect, is greater.
 */
#include "analyzers/attribution_result.h"

#include <math.h>

static void add_difference(struct kp_attribution_metric *metric,
			   const struct kp_attribution_metric *other, size_t number)
{
	const uint32_t *kept_of = metric->attribution->kept_of_class;
	const uint32_t *other_kept_of = other->attribution->kept_of_class;
	double *influence = &metric->influence[(metric->influences - number) * metric->kept];
	double likely =
		other->surprise > metric->surprise ? exp(metric->surprise - other->surprise) : 1;

	for (size_t i = 0; i < metric->attribution->input.class_count; i++) {
		uint32_t kept = kept_of[i], other_kept = other_kept_of[i];

		if (kept < metric->kept && other_kept < other->kept)
			influence[kept] = likely * (other->classes[other_kept].mean -
						    metric->classes[kept].mean);
	}
}

enum kp_status kp_attribution_solve(struct kp_attribution *attribution, const float *values,
				    struct kp_attribution_metric **out)
{
	struct kp_attribution_metric *ways[KP_WAYS] = {NULL};
	enum kp_status status = KP_OK;
	size_t best = 0, number = 0;

	*out = NULL;
	for (size_t i = 0; i < attribution->way_count && status == KP_OK; i++) {
		struct kp_attribution *way = i ? attribution->ways[i - 1] : attribution;

		status = kp_attribution_solve_way(way, values, &ways[i]);
		if (status == KP_OK && ways[i]->surprise < ways[best]->surprise)
			best = i;
	}
	for (size_t i = 0; i < attribution->way_count; i++) {
		if (status == KP_OK && i != best)
			add_difference(ways[best], ways[i], ++number);
	}
	for (size_t i = 0; i < attribution->way_count; i++) {
		if (status == KP_OK && i == best)
			*out = ways[i];
		else
			kp_attribution_metric_destroy(ways[i]);
	}
	return status;
}
