/*
 * Draws a token from a row of logits: temperature, then top-k, then top-p, then min-p.
 *
 *   e[c] = exp((x[c] - max x) / temperature), in fp32
 *   w[c] = e[c] · 2³¹, rounded to an integer: the weight
 *   top-k  keeps x[c] ≥ the k-th largest of x; W = Σ w of those
 *   top-p  keeps of those c where Σ w of all with a larger x is less than p · W
 *   min-p  keeps of those e[c] ≥ min_p
 *   index  the lowest c with Σ w of kept columns 0 … c above ⌊u · Σ w of all kept⌋
 *
 * That is the order of Hugging Face's transformers; each rule is a least x, so that a row's kept
 * set is {x ≥ threshold}. Ties: what equals the last one kept is kept too (so do the masks of vLLM
 * and transformers for top-k; their top-p cuts within ties as their sort left them, this does not).
 * 0 equals -0. u is a number of [0, 1), one a row: the same numbers, the same tokens. Columns are
 * passed through in their order, not by size: nothing is sorted.
 *
 * top_k: 0, negative or ≥ columns is off. top_p: ≥ 1 or NaN is off; ≤ 0 keeps the largest (and its
 * equals). min_p: ≤ 0 or NaN is off; ≥ 1 keeps the largest. temperature: 0, negative or NaN takes
 * the lowest column of the largest, whatever the rest says; infinite makes all but -infinity equal.
 * u < 0 or NaN counts as 0, u ≥ 1 as 1 - 2⁻²⁴. Columns of +infinity share the row evenly. A row
 * with a NaN, or of nothing but -infinity, has no distribution: index -1, logprob NaN.
 *
 * Weights are integers so that sums are exact: the same in any order, on any split, from run to
 * run, with atomic additions too. They cost this: a token less likely than 2⁻³² of the likeliest is
 * never drawn, and probabilities are off by 2⁻³² of the largest at most, besides the 2⁻²² of fp32's
 * exp.
 *
 * Bytes: rows · columns · (2 or 4), once from memory; passes after the first find it in L2 while
 * all rows have less than that. FLOPs: some 20 an element and pass. Few rows: the latency of the
 * launches.
 *
 * How, without a sort: the threshold is found by radix selection on the bits of x, seen as an
 * unsigned number of the same order (bf16 16 bits, fp16 19, fp32 32). Three kinds of launches:
 *
 *   begin  the largest of each part of a row; sets the workspace to zero.
 *
 *   level  a histogram of what lies in the range [low, high] of bits, 2048 buckets, the largest
 *          x first, each block's in shared memory, then added to the row's: of ones (top-k: the
 *          bucket that holds the k-th) or of weights (top-p: the bucket where the sum passes p of
 *          the total). The last block of a row makes that bucket the next range. The first range
 *          is from what has no weight any more up to the largest, so that one or two levels do in
 *          16 bits, three in fp32; top-p has only what top-k left. Levels that a row does not need
 *          end at once.
 *
 *   draw   the sum of kept weights of each part; the last block of a row finds the part, then the
 *          thread's run within it, then the column.
 *
 * All in all 2 to 6 launches in 16 bits and 2 to 8 in fp32, each of which may begin while the one
 * in front runs. Where elements are mostly equal all threads add to one bucket, in turn: a thread
 * adds up neighbours of one bucket first.
 *
 * Tolerance: the token is the one of exact arithmetic unless u, p or min_p lies within 2⁻¹⁸ +
 * 2⁻³² · columns of where another would be; logprob 2⁻¹⁸ · (1 + |logprob|) + 2⁻³² · columns.
 */
#ifndef KP_KERNELS_TOPK_TOPP_SAMPLE_H
#define KP_KERNELS_TOPK_TOPP_SAMPLE_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KP_SAMPLE_LEVELS_MOST 6
#define KP_SAMPLE_LAUNCHES (KP_SAMPLE_LEVELS_MOST + 2)
#define KP_SAMPLE_BUCKETS_LOG2 11
#define KP_SAMPLE_BUCKETS (1U << KP_SAMPLE_BUCKETS_LOG2)
#define KP_SAMPLE_WEIGHT_LOG2 31 /* of the largest element's weight */

struct kp_topk_topp_sample_args {
	const void *x;
	/* One a row, or NULL: the number without an s is for all. */
	const float *temperatures, *top_ps, *min_ps;
	const int32_t *top_ks;
	/*
	 * One a row; NULL: the first 64 bits of Philox4x32-10 with `seed` as the key and {offset,
	 * row} as the counter, as curand_init(seed, row, 4 * offset) begins. philox: {seed, offset}
	 * in device memory instead, so that a graph need not repeat its numbers; may be NULL.
	 */
	const float *uniforms;
	const uint64_t *philox;
	uint64_t seed, offset;
	void *index;     /* a row an int32_t, or an int64_t where index_is_64 */
	float *logprob;  /* log of the probability among the kept; may be NULL */
	void *workspace; /* as kp_topk_topp_sample_workspace says, a multiple of 16 */
	size_t workspace_bytes;
	uint32_t rows, columns;
	int64_t x_row, x_column, index_row; /* strides */
	float temperature, top_p, min_p;
	int32_t top_k;
	enum kp_dtype dtype; /* bf16, fp16 or fp32 */
	bool index_is_64, dependent_launch;
	uint32_t chunk, splits, levels, level; /* set by the plan, not by the caller */
	void *stream;
};

bool kp_topk_topp_sample_supports(const struct kp_topk_topp_sample_args *args, const char **reason);
/* Bytes of workspace, enough on any GPU. What is in it does not matter. */
size_t kp_topk_topp_sample_workspace(const struct kp_topk_topp_sample_args *args);
/*
 * All launches: begin, levels (`team` is the number of each), draw; those that are not needed have
 * no blocks. `chunk`: columns a block; `levels`: how many. Errors of the rest: KP_INVALID (see
 * _supports, or the workspace is too small), KP_IO (a launch fails).
 */
enum kp_status kp_topk_topp_sample_plan(const struct kp_topk_topp_sample_args *args,
					const struct kp_kernel_device *device,
					struct kp_kernel_plan out[KP_SAMPLE_LAUNCHES],
					uint32_t *chunk, uint32_t *levels);
enum kp_status kp_topk_topp_sample(const struct kp_kernels *kernels,
				   const struct kp_topk_topp_sample_args *args);

/* What a row should come to. */
struct kp_sampled {
	int64_t index;
	double logprob;
	/*
	 * How near another token was: the least change of u, or of p or min_p as a part of them,
	 * that may lead to one. Infinite where none can.
	 */
	double margin;
	uint32_t kept; /* columns */
};

/* In float64 on the CPU, by sorting, from host memory. Errors: KP_NO_MEMORY. */
enum kp_status kp_topk_topp_sample_reference(const struct kp_topk_topp_sample_args *args,
					     struct kp_sampled *out);

/* Philox4x32-10, of Salmon et al. 2011; for the reference and its tests. */
void kp_philox_reference(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#ifdef __cplusplus
}
#endif

#endif
