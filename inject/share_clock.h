/*
 * The other client's clock: CUPTI takes times by one clock, kprof's; a client that registered its
 * own (or counts on CUPTI's default, CLOCK_REALTIME) gets its copies of the records converted.
 *
 * Both clocks are read together now and then; between two such pairs time is taken as linear. The
 * pair's uncertainty, half of the time that its reading took, is the error: tens of nanoseconds. A
 * clock that is not steady between two pairs (a step of CLOCK_REALTIME) is off by as much as it
 * moved, within that piece of at most a second.
 */
#ifndef KP_INJECT_SHARE_CLOCK_H
#define KP_INJECT_SHARE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

#define KP_CLOCK_PAIRS 128

/* What is needed to convert: a copy, to be used without a lock. */
struct kp_clock_map {
	unsigned count; /* 0: times stay as they are */
	struct kp_clock_point {
		uint64_t ours, theirs;
	} points[KP_CLOCK_PAIRS]; /* rising in `ours` */
};

/* Whether CUPTI took kprof's clock; otherwise it goes on with its own, CLOCK_REALTIME. */
void kp_share_clock_source(bool kprofs);
/* The client's clock from now on; NULL: CUPTI's default. */
void kp_share_clock_set(CUpti_TimestampCallbackFunc clock);
/* Reads the clock by which CUPTI goes: kprof's, as a rule. */
uint64_t kp_share_clock_ours(void);
/* What that one is ahead of kprof's: 0, as a rule; the same until CLOCK_REALTIME steps. Worker
 * only. */
int64_t kp_share_clock_ahead_ns(void);
/* Reads the client's clock, its own or CUPTI's default. */
uint64_t CUPTIAPI kp_share_clock_now(void);
/* Takes a pair. Calls the client's clock, so no lock may be held. */
void kp_share_clock_sample(void);
void kp_share_clock_map(struct kp_clock_map *out);

/* Adds a point: closer than KP_CLOCK_APART_NS to its predecessor it replaces the last one. */
#define KP_CLOCK_APART_NS 5000000U
void kp_clock_map_add(struct kp_clock_map *map, struct kp_clock_point point);
/* A time of ours as theirs. 0 (unknown) and what no clock can say stay as they are. */
uint64_t kp_clock_map_convert(const struct kp_clock_map *map, uint64_t ours);

/* In a forked child; see kp_share_forget. */
void kp_share_clock_forget(void);

#endif
