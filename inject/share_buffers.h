/*
 * The buffers that the other client of CUPTI gives, and the copies that go into them.
 *
 * CUPTI asks for a buffer when the first record comes; clients (Kineto) take «no buffer was ever
 * asked for» as «there are no records», so one is asked for as soon as a kind is enabled. A buffer
 * goes back when it is full or when the client flushes, as CUPTI does it.
 *
 * Threading: any; a slot belongs to the thread that took it. The client's callbacks run without a
 * lock, on the thread that delivers.
 */
#ifndef KP_INJECT_SHARE_BUFFERS_H
#define KP_INJECT_SHARE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

/* The client's callbacks from now on; NULL both: it has none. Buffers that it gave before go back
 * by the callback that belonged to them. */
void kp_share_buffers_register(CUpti_BuffersCallbackRequestFunc request,
			       CUpti_BuffersCallbackCompleteFunc complete);
bool kp_share_buffers_registered(void);
CUpti_BuffersCallbackRequestFunc kp_share_buffers_request(void);
CUpti_BuffersCallbackCompleteFunc kp_share_buffers_complete(void);
/* Whether this thread is inside one of the client's callbacks. */
bool kp_share_buffers_inside(void);

/* One delivery: any number of records, on one thread. */
struct kp_share_delivery {
	struct lent *slot;
	size_t dropped; /* records for which the client gave no buffer */
};
/* Copies a record; returns where, NULL if it was dropped. */
uint8_t *kp_share_buffers_put(struct kp_share_delivery *delivery, const uint8_t *record,
			      size_t bytes);
void kp_share_buffers_end(struct kp_share_delivery *delivery);

/* Gives filled buffers back; with `all` empty ones, too. */
void kp_share_buffers_return(bool all);
/* Has the client give a buffer if it holds none ready: now, on this thread. */
void kp_share_buffers_prepare(void);
/* Whether there is a buffer of the client's; with `asked`, or one that it is being asked for. */
bool kp_share_buffers_have(bool asked);

/* In a forked child; see kp_share_forget. */
void kp_share_buffers_forget(void);

#endif
