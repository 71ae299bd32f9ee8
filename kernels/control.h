/*
 * Null controls of kprof ab: a program whose kernel rules replace, and the replacements, by
 * controls.def. All of it is libkprof_controls.so; kprof_controls is a program that calls
 * kp_control_work, and rules name the library and its entry.
 *
 * The original, kp_control_original: y = x · wᵀ with x of rows × depth, w of columns × depth and y
 * of rows × columns, packed, of one type (bf16, fp16 or fp32). Sums are fp32, in order of depth.
 * Behind that it does `rounds` multiply-adds that depend on each other, for its time. A thread an
 * element. Memory and FLOPs are beside the point. Reference: kprof itself, by what it finds.
 */
#ifndef KP_KERNELS_CONTROL_H
#define KP_KERNELS_CONTROL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kp_control {
#define CONTROL(NAME, key, kind, what) KP_CONTROL_##NAME,
#include "kernels/controls.def"
	KP_CONTROL_COUNT
};

#define KP_CONTROL_THREADS 128U
#define KP_CONTROL_TILE 8U         /* columns */
#define KP_CONTROL_TAIL 3U         /* columns that are wrong at the end */
#define KP_CONTROL_FREE UINT32_MAX /* a number that no rule has */

/* Types as in trace/library_call.h, by which rules have them. */
enum { KP_CONTROL_FP32 = 1, KP_CONTROL_FP16 = 3, KP_CONTROL_BF16 = 15 };

/* The kernels' one parameter. Rules read it at these offsets. */
struct kp_control_args {
	void *y;                       /* 0 */
	void *x;                       /* 8; only a fault writes to it */
	const void *w;                 /* 16 */
	uint32_t rows, columns, depth; /* 24, 28, 32 */
	uint32_t number;               /* 36: of the control, for its rule */
	uint32_t rounds;               /* 40 */
	uint32_t dtype;                /* 44 */
	uint32_t seed;                 /* 48: where a fault is */
	uint32_t call;                 /* 52: how often the replacement was called before */
	void *kept;                    /* 56: what it remembers: fp32, rows × columns */
	uint32_t control;              /* 64: enum kp_control; of replacements */
	uint32_t reserved;
};

/* Fills a tensor with numbers that the seed draws, of a mean of 0 and a variance of 1. */
struct kp_control_fill_args {
	void *data;
	uint64_t count, seed;
	uint32_t dtype, reserved;
};

/* The arguments of kp_control_candidate, in their order. */
enum kp_control_argument {
	KP_CONTROL_ARGUMENT_CONTROL,
	KP_CONTROL_ARGUMENT_NUMBER,
	KP_CONTROL_ARGUMENT_Y,
	KP_CONTROL_ARGUMENT_X,
	KP_CONTROL_ARGUMENT_W,
	KP_CONTROL_ARGUMENT_ROWS,
	KP_CONTROL_ARGUMENT_COLUMNS,
	KP_CONTROL_ARGUMENT_DEPTH,
	KP_CONTROL_ARGUMENT_ROUNDS,
	KP_CONTROL_ARGUMENT_DTYPE,
	KP_CONTROL_ARGUMENT_SEED,
	KP_CONTROL_ARGUMENT_COUNT
};

/* The entry of all rules (docs/rules.md, `library`). 0: its work was enqueued. */
int kp_control_candidate(const int64_t *arguments, uint32_t count, void *stream);
/*
 * The program: each word is KEY:SEED:LAUNCHES, a control by its key in controls.def; its number is
 * its place. Returns the exit status: 0; 2 (a wrong word); 3 (the driver, or no device code: said);
 * 4 (the program saw an output that was not the original's, of a fault: said).
 */
int kp_control_work(int count, char **words);

#ifdef __cplusplus
}
#endif

#endif
