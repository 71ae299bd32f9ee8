/*
 * The program's own small kernels, one for each step of a transformer layer and none fused: what a
 * profiler should find worth fusing. All run on the launcher's stream, on row-major bf16 arrays in
 * device memory that the caller owns; arithmetic is in float. `tokens` counts rows: batch * seq.
 * Where a kernel needs to know how far a sequence has come it reads *position in device memory, so
 * that a captured graph stays right when replayed.
 */
#ifndef LLM_DECODE_KERNELS_H
#define LLM_DECODE_KERNELS_H

#include "launch.h"

#include <cuda_bf16.h>

typedef __nv_bfloat16 bf16;

/* How an activation [batch][seq][heads][head_dim] and its cache are laid out. */
struct layout {
	int batch;
	int seq; /* tokens of each sequence in this pass */
	int heads;
	int head_dim;
	int capacity; /* positions that the cache [batch][heads][capacity][head_dim] holds */
};

/* out[count] = uniform in [centre - spread, centre + spread), the same for the same seed. */
void kernels_fill(struct launcher *launcher, bf16 *out, size_t count, uint64_t seed, float centre,
		  float spread);

/* out[tokens][width] = table[ids[token]][width] */
void kernels_embedding(struct launcher *launcher, bf16 *out, const bf16 *table, const int *ids,
		       int tokens, int width);

/* out[tokens] = 1 / sqrt(mean(x[token]^2) + 1e-5), the first half of RMSNorm */
void kernels_inverse_rms(struct launcher *launcher, float *out, const bf16 *x, int tokens,
			 int width);

/* out[tokens][width] = x * inverse_rms[token] * weight[width], its second half */
void kernels_scale(struct launcher *launcher, bf16 *out, const bf16 *x, const float *inverse_rms,
		   const bf16 *weight, int tokens, int width);

/* x[count] += y[count] */
void kernels_add(struct launcher *launcher, bf16 *x, const bf16 *y, size_t count);

/* x[count] = x * sigmoid(x) */
void kernels_silu(struct launcher *launcher, bf16 *x, size_t count);

/* x[count] *= y[count] */
void kernels_mul(struct launcher *launcher, bf16 *x, const bf16 *y, size_t count);

/* Turns x[batch][seq][heads][head_dim] in place by angles from *position + index in seq. */
void kernels_rope(struct launcher *launcher, bf16 *x, const int *position,
		  const struct layout *layout);

/* cache[batch][heads][*position + index in seq][head_dim] = x[batch][seq][heads][head_dim] */
void kernels_cache_append(struct launcher *launcher, bf16 *cache, const bf16 *x,
			  const int *position, const struct layout *layout);

/* out[batch][heads][seq][head_dim] = x[batch][seq][heads][head_dim] */
void kernels_split_heads(struct launcher *launcher, bf16 *out, const bf16 *x,
			 const struct layout *layout);

/* out[batch][seq][heads][head_dim] = x[batch][heads][seq][head_dim] */
void kernels_merge_heads(struct launcher *launcher, bf16 *out, const bf16 *x,
			 const struct layout *layout);

/* out[batch][width] = x[batch][seq - 1][width] */
void kernels_last_rows(struct launcher *launcher, bf16 *out, const bf16 *x, int batch, int seq,
		       int width);

/* ids[batch] = index of the largest of logits[batch][vocab], the lowest index of equals */
void kernels_argmax(struct launcher *launcher, int *ids, const bf16 *logits, int batch, int vocab);

/* *position += count */
void kernels_advance(struct launcher *launcher, int *position, int count);

#endif
