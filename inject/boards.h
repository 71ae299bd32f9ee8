/*
 * The boards of those who watch this process («kprof top»); see trace/board.h.
 *
 * While nobody watches there are no sums, and a record costs one comparison. Each watcher brings
 * its own room: one by the environment (KPROF_BOARD, a path), others over the control socket. A
 * room is taken only where it cannot shrink, since the program must not be hit by a signal for it.
 *
 * The worker's alone, but for kp_boards_start, which comes before it.
 */
#ifndef KP_INJECT_BOARDS_H
#define KP_INJECT_BOARDS_H

#include "inject/state.h"

#define KP_BOARDS_AT_ONCE 4

struct kp_tally;
extern struct kp_tally *kp_boards_tally; /* NULL: nobody watches */

/* Takes a board of the room that the environment names, if it does. */
void kp_boards_start(void);
/* Whether somebody watches. */
bool kp_boards_watched(void);
/* Takes a board of the room behind `fd`, which is borrowed; NULL, or why not. */
const char *kp_boards_attach(int fd);

/* For kp_boards_tally that is not NULL: a kernel has run. */
void kp_boards_kernel_on(const char *name, uint32_t device, uint64_t start_ns, uint64_t end_ns);
/* An NVTX range has ended; nothing where nobody watches. */
void kp_boards_range(const char *name, size_t bytes, uint64_t start_ns, uint64_t end_ns);
/* What ended before has been counted, as far as CUPTI gives it. */
void kp_boards_settled(uint64_t settled_ns);
/* Publishes what is due, and lets go of watchers that are gone. True: that was the last of them. */
bool kp_boards_tick(bool recording);
/* Publishes the last sums; `ended`: no more will come. */
void kp_boards_end(bool ended);
/* In a forked child: nobody watches it. */
void kp_boards_forget(void);

static inline void kp_boards_kernel(const char *name, uint32_t device, uint64_t start_ns,
				    uint64_t end_ns)
{
	if (__builtin_expect(kp_boards_tally != NULL, 0))
		kp_boards_kernel_on(name, device, start_ns, end_ns);
}

#endif
