/*
 * A thread that launches what is held where the program does nothing for so long; see
 * ab_sequence.h. It is made when something is held for the first time. While things are held, it
 * looks every so often, so that nobody has to wake it; where nothing was for a while, it sleeps.
 */
#include "inject/ab_sequence.h"

#include <time.h>

#include "inject/futex.h"
#include "inject/state.h"
#include "inject/thread.h"

#define TICK_NS 25000
#define IDLE_TICKS 80
#define LONG_NS 3600000000000ULL

enum { NONE, AWAKE, ASLEEP, IMPOSSIBLE };
static _Atomic uint32_t state, bell;

/* Until something is held: who holds sees that nobody is awake, or this sees what is held. */
static void sleep_long(void)
{
	uint32_t heard = atomic_load(&bell), asleep = ASLEEP;

	atomic_store(&state, ASLEEP);
	while (atomic_load(&kp_ab_sequence_pending) == 0 && atomic_load(&state) == ASLEEP)
		kp_futex_wait(&bell, heard, kp_clock_now() + LONG_NS);
	atomic_compare_exchange_strong(&state, &asleep, AWAKE);
}

/* The launch that was held last, and since when that has been so. */
struct seen {
	uint64_t turn, since_ns;
};

static void look(struct seen *seen)
{
	uint32_t hold_us;
	uint64_t turn = kp_ab_sequence_turn_number(&hold_us), now = kp_clock_now();

	if (turn != seen->turn)
		*seen = (struct seen){turn, now};
	else if (now - seen->since_ns >= (uint64_t)hold_us * 1000)
		kp_ab_sequence_due(turn);
}

static void *watch(void *nothing)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};
	struct seen seen = {0, 0};

	(void)nothing;
	for (unsigned idle = 0;;) {
		idle = kp_ab_sequence_is_pending() ? 0 : idle + 1;
		if (idle == 0)
			look(&seen);
		if (idle < IDLE_TICKS) {
			nanosleep(&tick, NULL);
			continue;
		}
		sleep_long();
		idle = 0;
	}
	return NULL;
}

/* With the lock of sequences, and behind the store that something is held. */
bool kp_ab_sequence_timer_wake(void)
{
	uint32_t now = atomic_load(&state);

	if (now == NONE) {
		atomic_store(&state, AWAKE);
		if (!kp_thread_start("kprof-held", watch, NULL))
			atomic_store(&state, IMPOSSIBLE);
	} else if (now == ASLEEP) {
		atomic_store(&state, AWAKE);
		kp_futex_step(&bell);
	}
	return atomic_load(&state) != IMPOSSIBLE;
}

void kp_ab_sequence_timer_forget(void)
{
	atomic_store(&state, NONE);
}
