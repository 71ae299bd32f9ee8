/*
 * Activity buffers: kprof owns them, lends them to CUPTI empty, and gets them back filled.
 *
 * A buffer is lent until CUPTI returns it; it is never reused before, and never freed. CUPTI asks
 * and returns from any thread, its own and the program's; the worker takes filled ones. The lock
 * guards two lists and is never held across a call out of this file; the worker waits for a bell
 * that is rung without it.
 */
#ifndef KP_INJECT_BUFFERS_H
#define KP_INJECT_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

/* Bytes of records a buffer holds: about 4,800 kernel records. */
#define KP_BUFFER_BYTES (1U << 20)
/* Beyond this many, a request is declined and CUPTI counts the records as dropped: 256 MiB. */
#define KP_BUFFER_LIMIT 256
/* So many keep their memory when they are free; that of the others goes back to the system. */
#define KP_BUFFER_KEEP 24

struct kp_filled {
	struct kp_filled *next;
	size_t valid_bytes;
	uint8_t *bytes;
	unsigned attachment; /* in which CUPTI has asked for it */
	bool stale;          /* it came back in another one: anything may be written in it */
};

/* CUPTI's callbacks. */
void CUPTIAPI kp_buffers_request(uint8_t **buffer, size_t *size, size_t *max_records);
void CUPTIAPI kp_buffers_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				  size_t valid_bytes);

/*
 * All filled buffers in the order in which they came back; NULL if there are none within timeout_ms
 * or kp_buffers_wake was called. Give each back with kp_buffers_recycle.
 */
struct kp_filled *kp_buffers_take(unsigned timeout_ms);
void kp_buffers_recycle(struct kp_filled *filled);
/* Makes a waiting kp_buffers_take, or the next one, return at once. Async-signal-safe. */
void kp_buffers_wake(void);
/* How many CUPTI holds now. */
unsigned kp_buffers_lent(void);
/* Whether this is one of the pool's buffers. */
bool kp_buffers_own(const uint8_t *bytes);
/* Nobody takes filled buffers any more: from now on they are free again at once. */
void kp_buffers_close(void);
/* In a forked child: an empty pool; takes no lock. */
void kp_buffers_forget(void);
/* CUPTI was finalized: what it still holds may never come back. How many those are. */
unsigned kp_buffers_abandon(void);

#endif
