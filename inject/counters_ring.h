/*
 * Samples on their way from the thread that decodes them to the one that writes them: one producer,
 * one consumer, no lock. What finds no room is counted by the producer and lost.
 */
#ifndef KP_INJECT_COUNTERS_RING_H
#define KP_INJECT_COUNTERS_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "trace/records.h"

/* At the fastest sampling, more than half a second. A power of two. */
#define KP_RING_SAMPLES 65536U

struct kp_ring {
	struct kp_counter_sample *samples; /* NULL: not created */
	_Atomic uint32_t head, tail;       /* written, read; they run on and wrap */
};

static inline bool kp_ring_init(struct kp_ring *ring)
{
	/* Memory that is never written to is never there. */
	ring->samples = calloc(KP_RING_SAMPLES, sizeof(*ring->samples));
	return ring->samples != NULL;
}

/* Producer. False: there is no room. */
static inline bool kp_ring_put(struct kp_ring *ring, const struct kp_counter_sample *sample)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&ring->tail, memory_order_acquire) == KP_RING_SAMPLES)
		return false;
	ring->samples[head % KP_RING_SAMPLES] = *sample;
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
	return true;
}

/* Consumer. How many there are; *out is the longest run of them that lies in one piece. */
static inline uint32_t kp_ring_peek(struct kp_ring *ring, const struct kp_counter_sample **out,
				    uint32_t *run)
{
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint32_t count = atomic_load_explicit(&ring->head, memory_order_acquire) - tail;
	uint32_t to_end = KP_RING_SAMPLES - tail % KP_RING_SAMPLES;

	*out = ring->samples ? ring->samples + tail % KP_RING_SAMPLES : NULL;
	*run = count < to_end ? count : to_end;
	return count;
}

/* Consumer. Gives `count` of them up. */
static inline void kp_ring_take(struct kp_ring *ring, uint32_t count)
{
	atomic_fetch_add_explicit(&ring->tail, count, memory_order_release);
}

#endif
