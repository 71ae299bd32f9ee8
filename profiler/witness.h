/*
 * Tells a signal that was sent to kprof alone from one that was sent to its whole process group.
 *
 * The program under kprof is in kprof's process group, so a signal for the group (a
 * shell's «kill %1», that of timeout(1)) reaches it without help, and passing it on would deliver
 * it twice. The system does not say how a signal was addressed. The witness does: a small process
 * in the same group that reports each signal it gets. One use a process; not thread-safe.
 */
#ifndef KP_PROFILER_WITNESS_H
#define KP_PROFILER_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct kp_witness {
	pid_t pid;     /* -1: there is none, and every signal counts as sent to kprof alone */
	int reports;   /* a pipe of signal numbers, one byte each */
	uint64_t seen; /* bit n: a report of signal n that no call has asked for yet */
};

/* Starts it for these signals, which the caller has blocked. Cannot fail in a way that matters. */
void kp_witness_start(struct kp_witness *witness, const sigset_t *signals);
/* Whether the group got `signal` too, which the caller has just taken; waits a moment for the
 * answer. */
bool kp_witness_saw(struct kp_witness *witness, int signal);
/* Ends it. */
void kp_witness_stop(struct kp_witness *witness);

#endif
