/*
 * A linear layer for few tokens, as in decoding: the weight is read once, and that is the time.
 *
 *   y[m, n] = activation(scale[n] · Σ x[m, k] · W[n, k] + bias[n]) + residual[m, n]
 *
 * x is M = 1 … 16 tokens × K inputs, W is N outputs × K inputs, rows side by side in memory (the
 * layout of torch.nn.Linear). W is of the type of x, or e4m3 or int8 with a factor for each row.
 * Sums are fp32; the result is rounded once. Residual may be y.
 *
 * Two numbers: bytes N · K · (2 or 1), besides 2 · M · (K + N); FLOPs 2 · M · N · K. On an H200 the
 * first over 4.7 TB/s is 7.1 µs for 4096 × 4096 and 224 µs for 128256 × 4096 in 16 bits; the second
 * for M = 16 over 866 TFLOP/s is 0.6 µs and 19 µs. Bound by the memory, for all M here.
 *
 * What has to be in flight: 4.7 TB/s for some 0.8 µs of latency is 3.8 MB, 28 KB a multiprocessor,
 * twice that to ride out unevenness.
 *
 * Versions (linear_skinny.c chooses, linear_skinny.cu has them):
 *   ring  Compute capability 9.0. A block a multiprocessor stays, and has an equal share of the
 *         rows of W. Its 8 or 16 warps share the inputs; each fills a ring of its own in shared
 *         memory with asynchronous copies (ring.cuh), 8 to 24 KB of the turns to come, so that some
 *         100 KB a multiprocessor are on their way, across the end of rows and while a block adds
 *         up; W passes no register on its way.
 *         row       M = 1, K ≤ 16384: 512 bytes of 4 rows in a turn. x lies in registers for good.
 *                   fp32 multiply-adds.
 *         8, 16     up to so many tokens. 128 bytes, whole lines, of 16 rows (32 for M > 8) in a
 *                   turn, as left operands of tensor cores (matrix.cuh); x comes through the ring.
 *         8_kept, 16_kept   the same with what a warp meets of x in its registers for good: for
 *                   K ≤ 8192 and K ≤ 4096. So x is read once a block, not once a tile.
 *   row   M = 1. A warp, or a team of warps that take turns along K, has 2 rows of W (4 of 8 bits):
 *         8 vectors of 16 bytes a lane in flight, 4 KB a warp; 80 registers let 24 warps stay (16
 *         to 20 of 8 bits): 64 to 96 KB. x comes through L1, unpacked once for the rows. fp32
 *         multiply-adds.
 *   tile  M ≤ 8 and M ≤ 16. Tensor cores, W as the left operand, so that tokens are the short side
 *         of 8. A warp has 16 rows (32 for M > 8: x would else be read from L2 as often as W from
 *         memory), a lane 8 vectors in flight, straight into the registers of the fragments: 4 KB a
 *         warp, 16 warps: 64 KB. The warps of a team share K and add up in shared memory.
 *   any   any alignment, any K: a warp an output, single elements.
 * The ring is taken where blocks get about the same and all warps something. Where the others have
 * fewer blocks than multiprocessors the inputs are split over blocks too; their sums go to the
 * workspace and `finish` adds them in order.
 * W is loaded before the launch in front has ended where that is allowed (dependent_launch).
 *
 * Tolerance, against float64 of the same stored inputs: half a unit in the last place, and
 * 2⁻²³ · (12 + log2 K) · Σ |x · W| · |scale| times the activation's slope; tensor cores truncate
 * where they align: 2⁻²² · (K / 16 / team) of the same at most, √ of that as a rule.
 */
#ifndef KP_KERNELS_LINEAR_SKINNY_H
#define KP_KERNELS_LINEAR_SKINNY_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KP_LINEAR_SKINNY_TOKENS_MOST 16

enum kp_linear_activation {
	KP_LINEAR_IDENTITY,
	KP_LINEAR_RELU,
	KP_LINEAR_SILU,
	KP_LINEAR_GELU_TANH,
	KP_LINEAR_GELU_ERF,
	KP_LINEAR_ACTIVATION_COUNT
};

struct kp_linear_skinny_args {
	const void *x, *weight;
	const float *weight_scale; /* of `outputs`; NULL: 1 */
	const void *bias;          /* of `outputs`, may be NULL */
	const void *residual;      /* may be NULL, may be y */
	void *y;
	void *workspace; /* as kp_linear_skinny_workspace says, a multiple of 16; NULL if 0 */
	size_t workspace_bytes;
	uint32_t tokens, outputs, inputs;
	int64_t x_token, weight_row, residual_token, y_token; /* strides */
	enum kp_linear_activation activation;
	enum kp_dtype dtype, weight_dtype; /* weight_dtype: dtype, KP_DTYPE_E4M3 or KP_DTYPE_INT8 */
	bool dependent_launch;
	uint32_t team; /* set by the plan, not by the caller */
	void *stream;
};

bool kp_linear_skinny_supports(const struct kp_linear_skinny_args *args, const char **reason);
/* Bytes of workspace; it depends on the GPU how many splits there are. */
size_t kp_linear_skinny_workspace(const struct kp_linear_skinny_args *args,
				  const struct kp_kernel_device *device);
/*
 * Both launches; the second has no blocks where there is no split. Errors of the rest: KP_INVALID
 * (see _supports, or the workspace is too small), KP_IO (a launch fails).
 */
enum kp_status kp_linear_skinny_plan(const struct kp_linear_skinny_args *args,
				     const struct kp_kernel_device *device,
				     struct kp_kernel_plan out[2]);
enum kp_status kp_linear_skinny(const struct kp_kernels *kernels,
				const struct kp_linear_skinny_args *args);

/* Dynamic shared memory of a version; 0 for those of other operators too. */
uint32_t kp_linear_skinny_shared_bytes(enum kp_kernel_id kernel);

/*
 * In float64 on the CPU, from host memory; y is of doubles, tokens × outputs, not rounded.
 * `magnitudes`, of the same size: Σ |x · W| · |scale|, what an error is measured by; may be NULL.
 */
void kp_linear_skinny_reference(const struct kp_linear_skinny_args *args, double *y,
				double *magnitudes);

#ifdef __cplusplus
}
#endif

#endif
