/* The edges that are usual among classes of short launches; see attribution_parts.h. */
#include "analyzers/attribution_parts.h"
#include "analyzers/batches.h"

/* So many classes at least tell what is usual. */
#define USUAL_CLASSES_MIN 3

bool kp_edges_usual(const struct kp_class_times *times, const struct kp_window_edges *edges,
		    const int *group_of, size_t edged, struct kp_window_edges *out)
{
	double lags[KP_EDGED_MAX], leads[KP_EDGED_MAX];
	size_t count = 0;

	for (size_t i = 0; i < edged; i++) {
		if (group_of[i] < 0 || times[i].ends[0] > 0)
			continue;
		lags[count] = edges[i].lag_ns;
		leads[count++] = edges[i].lead_ns;
	}
	if (count < USUAL_CLASSES_MIN)
		return false;
	*out = (struct kp_window_edges){kp_batches_median(lags, count),
					kp_batches_median(leads, count)};
	return true;
}
