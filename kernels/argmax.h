/*
 * Argmax of rows: greedy decoding.
 *
 *   index[r] = the lowest column c with x[r, c] = max over x[r]      value[r] = x[r, index[r]]
 *
 * As torch.argmax and torch.max have it: a NaN is larger than all else, of equals (0 and -0 too)
 * the first counts; a row of -infinity gives 0. Logits are bf16, fp16 or fp32, of any strides.
 *
 * Bytes: rows · columns · (2 or 4), each read once; FLOPs: none, some 5 instructions an element.
 * Bound by memory, or for few rows by the latency of two launches: 1 × 128256 in bf16 is 257 kB.
 *
 * How: a row is split over blocks so that all multiprocessors read, whatever the number of rows; a
 * thread has 4 vectors of 16 bytes in flight. Partial results (value and index) go to the
 * workspace; a second launch, a warp a row, merges them: it may begin while the first runs
 * (programmatic dependent launch), and there is no counter that somebody would have to set to zero
 * before. Merging compares values, then indices: no order of blocks gives another result. Where
 * rows alone fill the GPU there is no split and one launch.
 *
 * Exact: value has the bits of the element (of a NaN: some NaN).
 */
#ifndef KP_KERNELS_ARGMAX_H
#define KP_KERNELS_ARGMAX_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kp_argmax_args {
	const void *x;
	void *index;     /* a row an int32_t, or an int64_t where index_is_64 */
	void *value;     /* of dtype; may be NULL */
	void *workspace; /* as kp_argmax_workspace says, a multiple of 16; NULL if 0 */
	size_t workspace_bytes;
	uint32_t rows, columns;
	int64_t x_row, x_column, index_row, value_row; /* strides */
	enum kp_dtype dtype;                           /* bf16, fp16 or fp32 */
	bool index_is_64, dependent_launch;
	uint32_t chunk, splits; /* set by the plan, not by the caller */
	void *stream;
};

bool kp_argmax_supports(const struct kp_argmax_args *args, const char **reason);
/* Bytes of workspace, enough on any GPU. */
size_t kp_argmax_workspace(const struct kp_argmax_args *args);
/*
 * Both launches; the second has no blocks where there is no split. `chunk`: columns a block. Errors
 * of the rest: KP_INVALID (see _supports, or the workspace is too small), KP_IO (a launch fails).
 */
enum kp_status kp_argmax_plan(const struct kp_argmax_args *args,
			      const struct kp_kernel_device *device, struct kp_kernel_plan out[2],
			      uint32_t *chunk);
enum kp_status kp_argmax(const struct kp_kernels *kernels, const struct kp_argmax_args *args);

/* On the CPU, from host memory: a column and a value a row; value may be NULL. */
void kp_argmax_reference(const struct kp_argmax_args *args, int64_t *index, double *value);

#ifdef __cplusplus
}
#endif

#endif
