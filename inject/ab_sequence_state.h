/*
 * What is held, and what may be done with it: what ab_sequence.c, ab_sequence_owed.c and
 * ab_sequence_calls.c share. Everything here is with the lock, but for what is atomic.
 */
#ifndef KP_INJECT_AB_SEQUENCE_STATE_H
#define KP_INJECT_AB_SEQUENCE_STATE_H

#include <pthread.h>

#include "inject/ab_alone.h"
#include "inject/ab_sequence.h"
#include "inject/ab_sequence_hold.h"

/* Memory that the program gave back, and whose giving back is held. */
#define KP_AB_FREED_MOST 32U
struct kp_ab_freed {
	uint64_t at, bytes;
};

struct kp_ab_sequence_state {
	pthread_mutex_t lock;
	struct kp_ab_held held[KP_AB_MEMBERS_MOST];
	uint32_t count;
	/* Of what is held, if anything is. */
	CUcontext context;
	CUstream stream;
	pthread_t thread;
	uint32_t alive; /* rules of which it may be the beginning, as bits */
	struct kp_ab_under_way states[KP_AB_RULES_MOST];
	CUresult late; /* an error that the program has not been told */
	/* Behind a replacement that left these unwritten, as bits of its buffers; else 0. */
	uint32_t owed, owing; /* of this rule */
	/* What the program gave back since the first launch that is held, in order. */
	struct kp_ab_freed freed[KP_AB_FREED_MOST];
	uint32_t freed_count;
	/* By rule: how often in a row what was left unwritten was written after all; and sequences
	 * that were left alone for it since. */
	uint32_t reissued[KP_AB_RULES_MOST], left[KP_AB_RULES_MOST];
	_Atomic uint64_t turn; /* changes with each launch that is held */
	_Atomic uint32_t hold_us;
	_Atomic bool ended; /* nothing is held any more */
};
extern __attribute__((visibility("hidden"))) struct kp_ab_sequence_state kp_ab_sequence;

/* ---- ab_sequence_owed.c ---- */

/* What holds the lock is alone in its thread. */
void kp_ab_sequence_lock(struct kp_ab_alone *guard);
void kp_ab_sequence_unlock(const struct kp_ab_alone *guard);
/* The same without waiting; false: another thread has it. */
bool kp_ab_sequence_trylock(struct kp_ab_alone *guard);

void kp_ab_sequence_count(uint32_t rule, enum kp_ab_count which);
/* A sequence of this rule has ended, for this reason; of these rules, as bits. */
void kp_ab_sequence_conclude(uint32_t rule, enum kp_ab_reason reason);
void kp_ab_sequence_conclude_all(uint32_t rules, enum kp_ab_reason reason);
/* Sets what is pending. */
void kp_ab_sequence_tell(void);
/* The launches that are held, in their order. */
CUresult kp_ab_sequence_launch(void);
/* Nothing is held any more, what the program gave back neither. Of errors the first. */
CUresult kp_ab_sequence_let_go(CUresult result);
/* What a replacement left unwritten is written by the launches in whose place it ran. */
CUresult kp_ab_sequence_pay(void);
/* What is held is launched, for each rule for its reason; for one. */
CUresult kp_ab_sequence_break_off(const enum kp_ab_reason *reasons);
CUresult kp_ab_sequence_break_off_for(enum kp_ab_reason reason);
/* The replacement of this rule has run, and left these buffers unwritten. */
CUresult kp_ab_sequence_owe(uint32_t rule, uint32_t owed);
/* Whether what it leaves unwritten was never given back of late: then it is left alone. */
bool kp_ab_sequence_is_vain(uint32_t rule);
/* Whether the driver can give memory back in the order of a stream. */
bool kp_ab_sequence_can_free(void);
void kp_ab_sequence_find_frees(void);

#endif
