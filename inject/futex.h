/*
 * Waiting for a number to change, and waking those who wait: without a lock, and from a signal
 * handler too. errno stays as it was.
 */
#ifndef KP_INJECT_FUTEX_H
#define KP_INJECT_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns when *word is not `seen`, when it is woken, at `until_ns` (CLOCK_MONOTONIC), or early. */
static inline void kp_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000U),
				       .tv_nsec = (long)(until_ns % 1000000000U)};
	int error = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, &until, NULL,
		FUTEX_BITSET_MATCH_ANY);
	errno = error;
}

/* Changes the number and wakes all who wait for that. */
static inline void kp_futex_step(_Atomic uint32_t *word)
{
	int error = errno;

	atomic_fetch_add(word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
	errno = error;
}

#endif
