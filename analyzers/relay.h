/*
 * Batches of a trace on their way from the reader through one or several analyses, on as many
 * threads as it is worth.
 *
 * Each analysis takes all batches, in order, and never two at a time; so do the reader and the
 * preparation of a batch. Which thread does what is settled as it goes: whoever is free takes the
 * analysis that is furthest behind, or else reads on. An analysis that keeps to itself while it
 * takes needs no locks of its own, and finds the same whatever the number of threads.
 *
 * `prepare` is for what all analyses read and none of them changes. It is called when all batches
 * before are done, so that nobody reads what it changes; where `is_prepared` says that a batch
 * needs nothing, it is not called, and nobody waits.
 */
#ifndef KP_ANALYZERS_RELAY_H
#define KP_ANALYZERS_RELAY_H

#include <stdbool.h>

#include "trace/reader.h"

/* Analyses of one relay. */
#define KP_RELAY_TAKERS_MOST 5
/* Batches that are on their way at once: what is kept for a batch until all have taken it may be
 * kept in its number modulo this. Enough for the fastest stage to run ahead while the slowest has a
 * long batch. */
#define KP_RELAY_PLACES 4
/* Traces smaller than that are read before a second thread has begun. */
#define KP_RELAY_LEAST_BYTES (8U << 20)

typedef enum kp_status kp_relay_take(void *context, const struct kp_event *event);

struct kp_relay {
	struct kp_reader *reader; /* is started again */
	void *context;            /* of all that follow */
	kp_relay_take *takers[KP_RELAY_TAKERS_MOST];
	size_t taker_count;
	/* By taker: plus one, the taker that must have taken a batch before it does; 0: none. */
	size_t behind[KP_RELAY_TAKERS_MOST];
	/* Each batch as it comes from the reader, before anyone else sees it; NULL: stays as it is.
	 */
	void (*amend)(void *context, struct kp_event *event);
	size_t batches_most; /* so many from the first on; 0: all */
	bool (*is_prepared)(void *context, const struct kp_event *event);
	kp_relay_take *prepare; /* NULL: there is nothing to prepare */
	/* Called on the caller's thread alone, between batches; NULL: nobody asks. */
	enum kp_status (*progress)(void *context, struct kp_reader_place place);
	void *progress_context;
};

/*
 * How many threads are worth it for a trace: 1 for small ones and where there is one processor.
 */
unsigned kp_relay_threads(const struct kp_reader *reader);

/*
 * Reads all batches. `threads`: the caller's included; with 1, or where none can be had, it does
 * all by itself. Returns when all is done and the threads have ended. Errors: those of the reader,
 * of the callbacks.
 */
enum kp_status kp_relay_run(const struct kp_relay *relay, unsigned threads);

#endif
