/* Sums of an export's events: everything, whatever limit a timeline has. */
#ifndef KP_PROFILER_EXPORT_TOTALS_H
#define KP_PROFILER_EXPORT_TOTALS_H

#include "profiler/export_events.h"

/* Of the events of one template. */
struct kp_export_total {
	uint64_t events, bytes;
	uint64_t value;                       /* of a counter's readings */
	uint64_t total_ns, least_ns, most_ns; /* of the durations; 0 where they are not known */
};

struct kp_export_totals {
	struct kp_export_total *list; /* by number of the template */
	size_t count, capacity;
};

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_export_totals_add(struct kp_export_totals *totals,
				    const struct kp_export_event *list, size_t count);
/* Reads the whole trace. Errors: KP_NO_MEMORY, KP_IO. */
enum kp_status kp_export_totals_read(struct kp_export_events *events, struct kp_export_totals *out);
void kp_export_totals_fini(struct kp_export_totals *totals);

/*
 * The sums of the templates of kernels, copies and sets that agree in process, kind, device, name
 * and timing, in order of first appearance: *out is an array of *count, the caller's to free.
 * Errors: KP_NO_MEMORY.
 */
struct kp_export_group {
	const struct kp_export_template *template; /* the first of them */
	struct kp_export_total total;
};
enum kp_status kp_export_totals_group(const struct kp_export_totals *totals,
				      const struct kp_export_events *events,
				      struct kp_export_group **out, size_t *count);

#endif
