/*
 * Hooks on the CUDA driver: how kprof sees every launch at the one level that all libraries share.
 *
 * A program reaches the driver in three ways, and each is met where it resolves the address:
 * - dlsym (cudart, Triton, JAX): this library's dlsym answers with a hook, but only where the
 *   address that the real one found lies inside libcuda;
 * - cuGetProcAddress, itself hooked: a hook is put in the place of an address that is one of the
 *   table's;
 * - linking (-lcuda): once CUDA is in use, the address slots of the loaded modules are rewritten;
 *   modules that come later are looked at when something is looked up in them.
 *
 * No cu* symbol is exported, so that a weak reference or a probe for one in a program without CUDA
 * finds nothing. A hook does its one thing and calls the driver; it takes no lock on the launch
 * path and allocates nothing.
 */
#ifndef KP_INJECT_HOOKS_H
#define KP_INJECT_HOOKS_H

#include <stdbool.h>

#include <cuda.h>

#include "inject/hooks_list.h"
#include "inject/state.h"
#include "inject/windows.h"

enum kp_hook {
#define KP_HOOK_ENUM(name) KP_HOOK_##name,
	KP_DRIVER_HOOKS(KP_HOOK_ENUM)
#undef KP_HOOK_ENUM
		KP_HOOK_COUNT
};

/* The driver's own functions, by hook; NULL where this driver has none. */
extern _Atomic(void *) kp_hook_real[KP_HOOK_COUNT];

/* The wrapper of each function; KP_WRAPPER defines it where the function stands. */
#define KP_WRAPPER_DECLARATION(name) extern void *const kp_wrapper_##name;
KP_DRIVER_HOOKS(KP_WRAPPER_DECLARATION)
#undef KP_WRAPPER_DECLARATION
#define KP_WRAPPER(name) void *const kp_wrapper_##name = (void *)hook_##name

/* What was on when this thread last went to the driver. No call: the model needs none. */
extern _Thread_local unsigned kp_hooks_before __attribute__((tls_model("initial-exec")));

/* Calls the driver's own function of a hook with the prototype of `type`. */
#define KP_REAL(name, type)                                                                        \
	(kp_hooks_before = atomic_load_explicit(&kp_windows_recording, memory_order_relaxed),      \
	 (type)atomic_load_explicit(&kp_hook_real[KP_HOOK_##name], memory_order_relaxed))

/*
 * Begins to count: rewrites the slots of modules that link libcuda. The count is known from here on
 * if every lookup so far has passed through this library, that is, if it is preloaded.
 */
void kp_hooks_start(struct kp_inject *inject);

/* Any function of the driver, by its exported name; NULL where it has none. */
void *kp_hooks_driver_symbol(const char *name);

/* dlsym for kprof itself: never a hook. The handle must be a real one, not RTLD_NEXT. */
void *kp_hooks_lookup(void *handle, const char *name);

/*
 * Adds launches to the count of issued kernels, and says how many there were before; UINT64_MAX:
 * nothing is counted yet.
 */
uint64_t kp_hooks_issued(uint64_t kernels);
/* Whether a launch runs now, or is only captured. `per_thread`: the null stream is the thread's. */
bool kp_hooks_runs_now(CUstream stream, bool per_thread);
/* Counts the kernels of a graph that was launched. How many; UINT64_MAX: that cannot be known. */
uint64_t kp_hooks_graph_launched(CUgraphExec graph);
/* From now on the count cannot be exact (a device-side graph, say): it is unknown. */
void kp_hooks_lose_count(void);
/* In a forked child: nothing is counted, no graph is known. */
void kp_hooks_forget(void);
void kp_hooks_graph_forget(void);
/* Whether all launches, and graphs of every kind, pass through the hooks. */
bool kp_hooks_see_all(void);
/* Whether a graph was ever instantiated. */
bool kp_hooks_have_graphs(void);

#endif
