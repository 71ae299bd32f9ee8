/*
 * kprof's own work in the program's threads: nothing of the program's comes in between, and all
 * that is its own stays as it was. A signal's handler may jump out where signals are not blocked,
 * and a thread that is cancelled does: locks and what is under way would stay as they are then.
 */
#ifndef KP_INJECT_AB_ALONE_H
#define KP_INJECT_AB_ALONE_H

#include <signal.h>
#include <stdbool.h>

#include "inject/floats.h"

/* What is the program's in a thread meanwhile. */
struct kp_ab_alone {
	sigset_t signals;
	struct kp_floats floats;
	int cancel, error;
	bool inside;
};

/* From here to there kp_ab_inside holds; one may be within another. */
void kp_ab_alone_begins(struct kp_ab_alone *out);
void kp_ab_alone_ends(const struct kp_ab_alone *alone);

#endif
