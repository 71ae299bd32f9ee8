/*
 * Attention of whole sequences, forward: softmax(Q · Kᵀ · scale + mask) · V.
 *
 *   s[i, j] = scale · q[i] · k[j]                     (softcap: c · tanh(s / c))
 *   out[i] = Σ exp(s[i, j]) · v[j] / Σ exp(s[i, j])   lse[i] = log Σ exp(s[i, j])
 *
 * A sequence has `queries` rows of q and `keys` of k and v. Query i sees all keys, or, causal, keys
 * 0 … i + keys - queries + offset: with offset 0 the last query sees the last key, with offset
 * queries - keys the first query sees the first key. A window leaves the last `window` of those up
 * to that end (also where the end lies behind the last key). Where a query sees no key, or all its
 * scores are -infinity, the result is 0 and lse -infinity. Query heads h · G … h · G + G - 1 go
 * with key head h, G = q_heads / kv_heads.
 *
 * Sequences of various lengths lie behind each other, without a stride of their own: q_starts and
 * k_starts have batch + 1 numbers, the first rows and the end; `queries` and `keys` are the most
 * that a sequence has, q_total and k_total at least the last of those numbers. Keys may lie in
 * pages of page_tokens: key j of sequence b is in page pages[b, j / page_tokens], and k_batch and
 * v_batch are the strides of pages. With a position, as programs have it whose cache is filled step
 * by step, all sequences have *position + queries keys, `keys` at most: the rows of their caches.
 *
 * Two numbers: FLOPs 4 · batch · q_heads · queries · keys · head_dim (half of it causal), over the
 * measured rate of bf16 products (docs/ceilings.md); bytes of q, k, v and out, each moved once.
 * From 1000 keys on the first is larger by far: bound by the matrix units, and close behind them,
 * by the units of exp2: an exponential each 4 · head_dim FLOPs. docs/attention.md tells how the
 * versions deal with that.
 *
 * Versions: hopper_64, hopper_128, hopper_128_wide (attention_hopper.cuh: wgmma, copy engine,
 * warpgroups with roles) for head_dim 64 and 128 and compute capability 9.0; any_64 … any_256
 * (attention_general.cuh: mma) for all else. Sources: Dao et al. 2022, Dao 2023, Shah et al. 2024
 * (FlashAttention 1 to 3).
 *
 * A NaN or infinity among the values spoils queries near those that see it too (0 · NaN); among
 * keys it does not, and never does what belongs to another sequence.
 *
 * Tolerance, against float64 of the same stored inputs: half a unit in the last place, and
 * (2⁻⁸ for bf16, 2⁻¹¹ for fp16; P is rounded to the type) + 2⁻²⁰ · (1 + max |s|) times
 * Σ p · |v|. lse: 2⁻¹⁹ · (1 + Σ |q · k| · scale).
 */
#ifndef KP_KERNELS_ATTENTION_PREFILL_H
#define KP_KERNELS_ATTENTION_PREFILL_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KP_PREFILL_HEAD_MOST 256

struct kp_attention_prefill_args {
	const void *q, *k, *v;
	void *out;
	float *lse; /* batch × q_heads × queries, packed; with q_starts: q_heads × its last number;
		       NULL: not wanted */
	const int32_t *q_starts, *k_starts; /* both, or NULL: all sequences are as long */
	const int32_t *pages;               /* NULL: keys are contiguous */
	const int32_t *position; /* one number; NULL: there are `keys`; not with starts */
	uint32_t batch, q_heads, kv_heads, head_dim, queries, keys;
	uint32_t q_total, k_total; /* with starts */
	uint32_t page_tokens;      /* with pages */
	uint32_t window;           /* 0: none; needs causal */
	int32_t offset;            /* of causal */
	float scale;
	float softcap;                                            /* c; 0: none */
	int64_t q_batch, q_query, q_head, k_batch, k_key, k_head; /* strides */
	int64_t v_batch, v_key, v_head, out_batch, out_query, out_head, pages_batch;
	enum kp_dtype dtype;
	bool causal, dependent_launch;
	void *stream;
};

bool kp_attention_prefill_supports(const struct kp_attention_prefill_args *args,
				   const char **reason);
/* None is needed: 0. */
size_t kp_attention_prefill_workspace(const struct kp_attention_prefill_args *args);
/* Errors of both: KP_INVALID (see _supports); KP_IO (the driver refuses a map or the launch). */
enum kp_status kp_attention_prefill_plan(const struct kp_attention_prefill_args *args,
					 const struct kp_kernel_device *device,
					 struct kp_kernel_plan *out);
enum kp_status kp_attention_prefill(const struct kp_kernels *kernels,
				    const struct kp_attention_prefill_args *args);

/*
 * In float64 on the CPU, from host memory, packed: out (NaN without memory for it) is rows ×
 * q_heads × head_dim, not rounded, rows batch × queries or, with starts, all of them; magnitudes,
 * of the same size, Σ p · |v|; lse is rows × q_heads, like scores: the largest Σ |q · k| · scale of
 * a row. All but out may be NULL.
 */
void kp_attention_prefill_reference(const struct kp_attention_prefill_args *args, double *out,
				    double *magnitudes, double *lse, double *scores);

#ifdef __cplusplus
}
#endif

#endif
