/*
 * Fibers that take turns: the threads of one block when a kernel runs on the CPU (cpu.cuh).
 *
 * Each runs until it waits for others, so that all that happens between two waits happens in one of
 * several orders; code that depends on the order has a race. One thread; one group at a time.
 */
#ifndef KP_TESTS_KERNELS_FIBERS_H
#define KP_TESTS_KERNELS_FIBERS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KP_FIBERS_MOST 1024U

/* How the next one is chosen. Those that wait for nobody run faster alone, one after the other. */
enum kp_fiber_order {
	KP_FIBERS_UP,
	KP_FIBERS_DOWN,
	KP_FIBERS_SHUFFLED,
	KP_FIBER_ORDERS,
	KP_FIBERS_ALONE
};

typedef void (*kp_fiber_body)(void *context);

/* Runs `count` fibers to their ends. Aborts, saying so, where all that live wait in vain. */
void kp_fibers_run(unsigned count, enum kp_fiber_order order, kp_fiber_body body, void *context);

/* For the running fiber: its number, and its turn given to others until `is_ready`. */
unsigned kp_fiber_number(void);
void kp_fiber_wait(bool (*is_ready)(const void *context), const void *context);
/* How many have not ended. */
unsigned kp_fibers_alive(void);

#ifdef __cplusplus
}
#endif

#endif
