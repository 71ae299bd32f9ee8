/*
 * What becomes of launches and records at windows: which are kept, and how the others are counted.
 *
 * Launches are counted by what was on when they were issued (windows.h). Records are on a little
 * longer than a window of --duty: from the attach until the window begins at a door, and from an
 * end that finds no door until CUPTI is detached. What starts there is discarded, and counted as
 * out of window. So is what was still in flight when CUPTI was detached, and has no record at all.
 */
#ifndef KP_INJECT_WINDOW_COUNTS_H
#define KP_INJECT_WINDOW_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/live.h"

#define KP_WINDOW_NEVER_NS UINT64_MAX
/*
 * So many threads may have launched without having counted it: each may have been stopped for good,
 * by a signal whose handler ends the program, between the driver's call and its count.
 */
#define KP_UNCOUNTED_THREADS 64

/* What starts at from_ns or later is kept, KP_WINDOW_NEVER_NS: nothing; then no more. Any thread.
 */
void kp_window_counts_begin(uint64_t from_ns);
void kp_window_counts_end(uint64_t until_ns);
/* Whether CUPTI goes by kprof's clock: on another one all records are kept. Any thread. */
void kp_window_counts_clock(bool own);
/* Whether a record is kept; one without a valid start always. Worker only. */
bool kp_window_counts_keeps(uint64_t start_ns, uint64_t end_ns);
/* One kernel's was not. Worker only. */
void kp_window_counts_discard(struct kp_live_slot *slot);
/* Whether what is out of window is between the windows of --duty. Any thread. */
void kp_window_counts_sample(bool sampling);
/*
 * CUPTI is detached, records are off, and all that it had are taken: `delivered` kernels. Launches
 * that were counted as inside and have none were cut off. Worker only.
 */
void kp_window_counts_cut(struct kp_live_slot *slot, uint64_t delivered);
/*
 * Whether more was delivered than the hooks have seen, of which `uncounted` is no sign of anything:
 * some launches pass them by. Worker only.
 */
bool kp_window_counts_surpass(const struct kp_live_slot *slot, uint64_t delivered,
			      uint64_t uncounted);
/* In a forked child. */
void kp_window_counts_forget(void);

#endif
