/*
 * A/B in place: rules that put another kernel in the place of the program's; docs/rules.md.
 *
 * On where the launcher left a plan (trace/ab_plan.h) in KPROF_AB. The hooks on launches and the
 * doors of cuBLAS ask here, between the program and the driver:
 *
 *	if (kp_ab_launch_begins(&launch, &result))
 *		return result;                     the candidate has run in its place
 *	do
 *		result = …;                        the original
 *	while (kp_ab_again(…, result));            once more, to see its own noise
 *
 * Rules that hold for inject/ab*.c: in any doubt the original runs and nothing else happens.
 *Nothing waits for the GPU. Nothing is allocated or compared in a capture but in the driver's
 *relaxed mode, by which the capture is not broken. What a candidate has not shown in shadow the
 *program never sees. Memory is taken, never given back: a free could wait. One mutex guards what is
 *rare, and is only tried for, so that no launch waits for another.
 *
 * Files: ab.c (start, stop, the way of a launch), ab_match.c (which rules a kernel may fit),
 * ab_job.c (what a rule makes of a launch), ab_context.c (code and memory of a context),
 * ab_candidate.c (launching), ab_modules.c (where kernels are from), ab_trial.c (first exposure
 * elsewhere), ab_shadow.c, ab_extra.c, ab_truth.c and ab_judge.c (comparison), ab_turns.c (whose
 * turn it is), ab_times.c, ab_counts.c and ab_write.c (results), ab_watch.c (switches, and
 * who watches), ab_gemm.c (calls of cuBLAS), ab_attributes.c (of launches),
 * ab_alone.c (what nothing of the program's interrupts),
 * ab_sequence*.c (several launches, ab_sequence.h),
 * ab_graph*.c (graphs).
 */
#ifndef KP_INJECT_AB_H
#define KP_INJECT_AB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/cuda_api.h"

struct kp_board_image;
struct kp_library_call;

/* ab_turns.c: the name of the range by which phases count; NULL: by launches. One that begins. */
const char *kp_ab_unit_range(void);
void kp_ab_unit_begins(void);

/* Whether there are rules. */
extern _Atomic bool kp_ab_on;
/* Whether this thread is within kprof's own work for them, or in a call that is looked at. */
extern _Thread_local bool kp_ab_inside __attribute__((tls_model("initial-exec")));
/* What of this thread is under way and looked at. In a call, its own launches are not. */
enum kp_ab_open { KP_AB_OPEN_NOTHING, KP_AB_OPEN_LAUNCH, KP_AB_OPEN_CALL };
extern _Thread_local enum kp_ab_open kp_ab_open __attribute__((tls_model("initial-exec")));

static inline bool kp_ab_is_on(void)
{
	return __builtin_expect(atomic_load_explicit(&kp_ab_on, memory_order_relaxed), 0);
}

/* A launch, as the program makes it. */
struct kp_ab_launch {
	CUfunction function;
	uint32_t grid[3], block[3], shared_bytes;
	CUstream stream;
	bool per_thread;
	void **parameters, **extra;
	bool has_attributes;
};

/* Whether the launcher left a plan. No call of the C library: dlsym asks. */
bool kp_ab_asked(void);
/* The wrapper of a launch that asks rules, by enum kp_hook; NULL: there is none. */
void *kp_ab_wrapper(size_t hook);
/* The same of what loads code; hooks_modules.c. */
void *kp_ab_wrapper_of_modules(size_t hook);
/* Reads the plan and loads the candidates' library. In the driver's injection door. */
void kp_ab_start(void);
/* Takes what has come of comparisons, and writes it. Worker only. */
void kp_ab_work(bool ends);
/*
 * «kprof ctl PID ab on|off»: a rule, by the name that boards tell, or all («») replace from now on,
 * or do no more; nothing where `verb`, of enum kp_control_verb, is another. NULL, or why not.
 * Worker only.
 */
const char *kp_ab_switch(unsigned verb, const char *name);
/* Tells a watcher's board of the rules, and adds to their history. Worker only. */
void kp_ab_watch(struct kp_board_image *image, uint64_t now_ns);
/* In a forked child. */
void kp_ab_forget(void);
/* Around a call by which functions go, and others may come at their addresses, and within
 * KP_PASSAGE_LEAVING; `told`: what the first one said. The second may be left out by a jump. */
bool kp_ab_modules_leave(void);
void kp_ab_modules_left(bool told);
/* Before a context goes, with all that is in it. */
void kp_ab_context_goes(CUcontext context);
/* Before the primary context of a GPU goes, or is released, and so perhaps goes; and after either.
 */
void kp_ab_primary_goes(CUdevice device);
void kp_ab_primary_releases(CUdevice device);
void kp_ab_primary_released(CUdevice device);
/* Before a stream goes: its handle may come to be another's. `captured`: in the midst of that. */
void kp_ab_stream_goes(CUstream stream, bool captured);

/*
 * True: the candidate has run, *result is its, or the launch is held (ab_sequence.h); else the
 * original must run.
 */
bool kp_ab_launch_begins(const struct kp_ab_launch *launch, CUresult *result);
/* Before a launch that no rule is asked about. True: *result is to be returned at once. */
bool kp_ab_launch_interrupts(CUresult *result);

/* Whether a launch has no attribute but such as a plain launch in its place does no harm to. */
bool kp_ab_may_replace(const CUlaunchConfig *config);
/*
 * An original behind kprof's own kernels: without the attribute by which it could begin before they
 * have ended.
 */
typedef CUresult(CUDAAPI *kp_ab_launch_ex)(const CUlaunchConfig *, CUfunction, void **, void **);
CUresult kp_ab_launch_after(kp_ab_launch_ex launch, const CUlaunchConfig *config,
			    CUfunction function, void **parameters, void **extra);

/* A product of cuBLAS or cuBLASLt: its addresses, and how to ask for its stream. */
struct kp_ab_product {
	const struct kp_library_call *call;
	const void *alpha, *beta; /* fp32, in the host's memory; NULL: unknown */
	const void *a, *b, *c, *bias;
	void *d;
	CUstream stream;
	bool host_scalars;
};
/* The same for a call; the result is cuBLAS's: 0. */
bool kp_ab_product_begins(const struct kp_ab_product *product);

/* What is open was left by a jump: nothing comes of it any more. */
void kp_ab_drop(void);
/* One that is not within another. */
static inline void kp_ab_call_begins(void)
{
	if (kp_ab_open && !kp_ab_inside)
		kp_ab_drop();
}

/* After the original. True: it has to run again, at once, as before. */
bool kp_ab_original_ran(bool succeeded);
static inline bool kp_ab_again(enum kp_ab_open what, bool succeeded)
{
	return kp_ab_open == what && kp_ab_original_ran(succeeded);
}

#endif
