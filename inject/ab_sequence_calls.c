/* What ends the holding of launches beside other launches, and its start; see ab_sequence.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_sequence_state.h"

#include <stdlib.h>
#include <time.h>

#include "inject/ab_sequence_memory.h"
#include "inject/ab_state.h"

#define FINISH_TRIES 50

/* With the lock. */
static CUresult interrupt(enum kp_ab_reason reason)
{
	CUresult result = kp_ab_sequence.owed    ? kp_ab_sequence_pay()
			  : kp_ab_sequence.count ? kp_ab_sequence_break_off_for(reason)
						 : CUDA_SUCCESS;

	if (result == CUDA_SUCCESS)
		result = kp_ab_sequence.late;
	kp_ab_sequence.late = CUDA_SUCCESS;
	kp_ab_sequence_tell();
	return result;
}

CUresult kp_ab_sequence_interrupt(enum kp_ab_reason reason)
{
	struct kp_ab_alone guard;
	CUresult result;

	kp_ab_sequence_lock(&guard);
	result = interrupt(reason);
	kp_ab_sequence_unlock(&guard);
	return result;
}

/* With the lock. */
static void interrupt_silently(enum kp_ab_reason reason)
{
	kp_ab_sequence.late = interrupt(reason);
	kp_ab_sequence_tell();
}

void kp_ab_sequence_interrupt_silently(enum kp_ab_reason reason)
{
	struct kp_ab_alone guard;

	kp_ab_sequence_lock(&guard);
	interrupt_silently(reason);
	kp_ab_sequence_unlock(&guard);
}

uint64_t kp_ab_sequence_turn_number(uint32_t *hold_us)
{
	*hold_us = atomic_load(&kp_ab_sequence.hold_us);
	return atomic_load(&kp_ab_sequence.turn);
}

void kp_ab_sequence_due(uint64_t turn)
{
	struct kp_ab_alone guard;

	kp_ab_sequence_lock(&guard);
	if (kp_ab_sequence.count && atomic_load(&kp_ab_sequence.turn) == turn)
		interrupt_silently(KP_AB_REASON_TOO_LATE);
	kp_ab_sequence_unlock(&guard);
}

void kp_ab_sequence_end(void)
{
	atomic_store(&kp_ab_sequence.ended, true);
	if (kp_ab_sequence_is_pending() && !kp_ab_inside)
		kp_ab_sequence_interrupt_silently(KP_AB_REASON_HOLDING_OFF);
}

/*
 * A kernel that waits for one on another GPU may keep the driver from taking more launches; the
 * thread that is to launch the other must not wait for who holds the lock meanwhile.
 */
void kp_ab_sequence_device(int device)
{
	static _Atomic int first = -1;
	int none = -1;

	if (!atomic_compare_exchange_strong(&first, &none, device) && none != device)
		kp_ab_sequence_end();
}

/* The process ends, perhaps in the midst of anything: the lock is only tried for. */
void kp_ab_sequence_finish(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct kp_ab_alone guard;
	bool locked = false;

	atomic_store(&kp_ab_sequence.ended, true);
	for (int tries = 0; kp_ab_sequence_is_pending() && !locked && tries < FINISH_TRIES;
	     tries++) {
		if (tries)
			nanosleep(&pause, NULL);
		locked = kp_ab_sequence_trylock(&guard);
	}
	if (locked) {
		interrupt_silently(KP_AB_REASON_OTHER_CALL);
		kp_ab_sequence_unlock(&guard);
	}
}

void kp_ab_sequence_start(void)
{
	const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
	bool any = false;

	for (uint32_t i = 0; i < kp_ab.plan.header->rules.count; i++)
		any |= kp_ab.plan.rules[i].member_count > 0;
	if (!any)
		return;
	if ((blocking && *blocking && *blocking != '0') || !kp_ab_sequence_asked())
		atomic_store(&kp_ab_sequence.ended, true);
	kp_ab_sequence_find_frees();
	atomic_store(&kp_ab_sequence_on, true);
}

void kp_ab_sequence_forget(void)
{
	atomic_store(&kp_ab_sequence_on, false);
	atomic_store(&kp_ab_sequence_pending, 0);
	atomic_store(&kp_ab_sequence.ended, true);
	kp_ab_sequence.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	kp_ab_sequence.count = kp_ab_sequence.alive = 0;
	kp_ab_sequence.owed = kp_ab_sequence.freed_count = 0;
	kp_ab_sequence.late = CUDA_SUCCESS;
	kp_ab_sequence_memory_forget();
	kp_ab_sequence_timer_forget();
}
