/*
 * Shapes from the parameters of kernels that are launched in no call of a library: rules say of
 * which kernels they are known, and where in the parameters a size stands
 * (parameter_rules.def).
 *
 * Whether a function fits a rule is found out when it is launched first: by its name, and by the
 * number and bytes of its parameters, which the driver tells from CUDA 12.4 on (older ones: no
 * kernel fits). It is kept by address until code is unloaded. A launch of a kernel without a rule
 * costs a look at one place of a table. One of a kernel with a rule is a call of its own, whose
 * sizes are copied where they are new; library.h says what becomes of it.
 */
#ifndef KP_INJECT_PARAMETERS_H
#define KP_INJECT_PARAMETERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

struct kp_library_pending;

/* Functions that are remembered, a power of two; of two that share a home the last is. */
#define KP_PARAMETERS_PLACES 8192U

/* Functions without a rule, at home; NULL: nobody wants to know. */
extern __attribute__((visibility("hidden"))) _Atomic(_Atomic(CUfunction) *) kp_parameters_idle;

void kp_parameters_start(void);
void kp_parameters_stop(void);
/* In a forked child. */
void kp_parameters_forget(void);
/* Before a call by which functions go, in KP_PASSAGE_LEAVING: what was one may be another. */
void kp_parameters_modules_leave(void);

static inline uint32_t kp_parameters_home(CUfunction function)
{
	/* Handles are addresses of things of some hundred bytes. */
	return (uint32_t)((uintptr_t)function / 64) % KP_PARAMETERS_PLACES;
}

/* Whether a launch of a function may have known parameters. In line: on the launch path. */
static inline __attribute__((always_inline)) bool kp_parameters_care(CUfunction function)
{
	_Atomic(CUfunction) *idle = atomic_load_explicit(&kp_parameters_idle, memory_order_relaxed);

	return __builtin_expect(idle != NULL, 1) &&
	       __builtin_expect(atomic_load_explicit(&idle[kp_parameters_home(function)],
						     memory_order_relaxed) != function,
				0);
}

/* One launch, before the driver's function is called; of cuLaunchKernel's arguments. */
void kp_parameters_launch_begins(CUfunction function, void *const *parameters, void *const *extra,
				 const struct kp_library_pending *pending);

/* Whose kernels a rule is of, and what they do. Any number. */
const char *kp_parameters_from(uint64_t rule);
const char *kp_parameters_detail(uint64_t rule);

#endif
