/*
 * How long a kernel's launches took, over the run and by length; read from the trace when asked
 * for. Not thread-safe.
 */
#ifndef KP_TUI_HISTORY_H
#define KP_TUI_HISTORY_H

#include "trace/reader.h"

#define KP_HISTORY_COLUMNS 120
#define KP_HISTORY_BINS 16

struct kp_history {
	uint64_t first_ns, last_ns;
	uint64_t calls;
	uint64_t counts[KP_HISTORY_COLUMNS]; /* launches that start in each part of the run */
	double total_ns[KP_HISTORY_COLUMNS];
	double low_ns, high_ns;         /* edges of the bins, which are even on a log scale */
	uint64_t bins[KP_HISTORY_BINS]; /* launches by length */
	bool **matches;                 /* by process, then configuration */
	size_t process_count;
};

/* Empties it for a kernel, of its shortest and longest launch. Errors: KP_NO_MEMORY. */
enum kp_status kp_history_begin(struct kp_history *history, const struct kp_reader *reader,
				const char *mangled, uint64_t min_ns, uint64_t max_ns);
void kp_history_take(struct kp_history *history, const struct kp_event *event);
/* The figures of it, which take no more; to be freed. NULL without memory. */
struct kp_history *kp_history_copy(const struct kp_history *history);
void kp_history_fini(struct kp_history *history);
/* The length at which a bin begins. */
double kp_history_edge(const struct kp_history *history, size_t bin);

#endif
