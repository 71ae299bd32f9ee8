/*
 * The times during which another client had a kind of record enabled that kprof always has: which
 * of the records are the client's.
 *
 * CUPTI decides when the work is launched. What says so best is the correlation id, for ids rise:
 * where the client also records API calls, their ids bound those of its window. Otherwise the
 * record's own start decides, with some room on both sides, for the GPU's times are fitted onto the
 * host's clock: rather a record too many than one too few.
 */
#ifndef KP_INJECT_SHARE_WINDOW_H
#define KP_INJECT_SHARE_WINDOW_H

#include <stdbool.h>

#include "inject/share_record.h"

#define KP_WINDOWS 4 /* the newest are kept: older records were delivered long ago */
#define KP_WINDOW_SLACK_NS 50000U

struct kp_windows {
	struct kp_window {
		uint64_t begin_ns, end_ns; /* end 0: open */
		bool traced;               /* first and last are known */
		uint32_t first, last;      /* correlation ids of API calls that began in it */
	} ring[KP_WINDOWS];
	unsigned opened; /* ever; the newest is ring[(opened - 1) % KP_WINDOWS] */
};

/* The caller serialises all of these. Opening an open one, or closing a closed one, does nothing.
 */
void kp_windows_open(struct kp_windows *windows, uint64_t now_ns);
void kp_windows_close(struct kp_windows *windows, uint64_t now_ns);
/* An API call's record. */
void kp_windows_trace(struct kp_windows *windows, struct kp_share_key call);
/* Whether a record of work on the GPU belongs to the client. */
bool kp_windows_hold(const struct kp_windows *windows, struct kp_share_key work);

#endif
