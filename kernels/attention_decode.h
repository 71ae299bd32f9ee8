/*
 * Attention of the newest tokens of many sequences to all that their caches hold.
 *
 *   s[i, j] = scale · q[i] · k[j]                     (softcap: c · tanh(s / c))
 *   out[i] = Σ exp(s[i, j]) · v[j] / Σ exp(s[i, j])   lse[i] = log Σ exp(s[i, j])
 *
 * A sequence b has lengths[b] keys, the last `queries` (1 … 8) of which belong to its queries:
 * query i sees keys 0 … lengths[b] - queries + i, and with a window the last `window` of those.
 * Where it sees none, or all scores are -infinity, the result is 0 and lse -infinity. A length
 * above length_most or below 0 counts as that limit. Query heads h · G … h · G + G - 1 go with key
 * head h, G = q_heads / kv_heads (multi-head: G = 1, multi-query: kv_heads = 1).
 *
 * Caches are pages of page_tokens tokens (kp_rope fills them): that of key j is pages[b, j /
 * page_tokens], or b where there is no table, which makes a contiguous cache one page a sequence.
 * They are of the type of q, or e4m3 with a factor each for all keys and all values.
 *
 * Two numbers: bytes 2 · Σ lengths · kv_heads · head_dim · (2 or 1), each read once; FLOPs
 * 4 · Σ lengths · queries · q_heads · head_dim. On an H200 at 4.7 TB/s: batch 32, 32 heads on 8,
 * 4096 keys, 128: 537 MB, 114 µs; batch 1, 32768 keys: 134 MB, 29 µs. FLOPs over bytes are
 * queries · G, or with the padding to 8 columns 8; the tensor cores' ridge is at 184. Bound by the
 * memory. So multi-head attention has no version of its own: 7 of its 8 columns are idle, and free.
 *
 * How: S = K · Qᵀ with 16 keys as rows and 8 query rows (heads of a group by queries) as columns,
 * then Oᵀ += Vᵀ · Pᵀ with 16 elements of the head as rows. Each warp has a ring of 12 KB in shared
 * memory: whole rows of 16 keys, then of their values, come by asynchronous copies and are read as
 * left operands by ldmatrix, values turned over (attention_ring.cuh). P is turned over in registers
 * (movmatrix). Columns of S and of Oᵀ are the same lane's, so that the running maxima need no
 * exchange but their own. e4m3 is widened to fp16, one instruction for two values, with q and P in
 * fp16 too: q times the power of two that brings its largest to 2^8.
 *
 * Bytes in flight: what the rings hold, 48 KB a block, of which two to four stay: 96 to 192 KB a
 * multiprocessor, against 28 KB that latency times bandwidth asks for.
 *
 * A sequence is split in chunks where blocks are few or their last wave would be lonely
 * (attention_decode.c has what that costs); results, in fp32 with the log of their sum, are put
 * together by a second launch, in order. `any`: a warp a key by single elements, any head_dim to
 * 256, any page, any alignment; no splits. Sources: Dao et al. 2022 and 2023 (FlashAttention,
 * Flash-Decoding).
 *
 * A NaN or infinity among the values spoils the queries of the same block that do not see it too,
 * where others do (0 · NaN); among keys it does not.
 *
 * Tolerance, against float64 of the same stored inputs: half a unit in the last place, and
 * (2⁻⁸ for bf16, 2⁻¹¹ for fp16; P is rounded to the type) + 2⁻²⁰ · (1 + max |s|) times
 * Σ p · |v|. lse: 2⁻²⁰ · (1 + Σ |q · k| · scale).
 */
#ifndef KP_KERNELS_ATTENTION_DECODE_H
#define KP_KERNELS_ATTENTION_DECODE_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KP_ATTENTION_QUERIES_MOST 8
#define KP_ATTENTION_HEAD_MOST 256

struct kp_attention_decode_args {
	const void *q, *k, *v; /* k, v: the caches */
	void *out;
	float *lse;             /* batch × queries × q_heads, packed; NULL: not wanted */
	const int32_t *lengths; /* a sequence each */
	const int32_t *pages;   /* NULL: the cache is contiguous */
	void *workspace; /* as kp_attention_decode_workspace says, a multiple of 16; NULL if 0 */
	size_t workspace_bytes;
	uint32_t batch, queries, q_heads, kv_heads, head_dim, page_tokens, length_most;
	uint32_t window; /* keys that a query sees at most, its own among them; 0: all */
	float scale;
	float softcap;          /* c; 0: none */
	float k_scale, v_scale; /* of e4m3 caches; else not used */
	int64_t q_batch, q_query, q_head, out_batch, out_query, out_head; /* strides */
	int64_t k_page, k_token, k_head, v_page, v_token, v_head, pages_batch;
	enum kp_dtype dtype, cache_dtype; /* cache_dtype: dtype or KP_DTYPE_E4M3 */
	bool dependent_launch;
	uint32_t chunk, splits; /* keys of a split, splits at most; set by the plan alone */
	void *stream;
};

bool kp_attention_decode_supports(const struct kp_attention_decode_args *args, const char **reason);
/* Bytes of workspace; it depends on the GPU how many splits there are. */
size_t kp_attention_decode_workspace(const struct kp_attention_decode_args *args,
				     const struct kp_kernel_device *device);
/*
 * Both launches; the second has no blocks where there is no split. `chunk`: keys of a split. Errors
 * of the rest: KP_INVALID (see _supports, or the workspace is too small), KP_IO (a launch fails).
 */
enum kp_status kp_attention_decode_plan(const struct kp_attention_decode_args *args,
					const struct kp_kernel_device *device,
					struct kp_kernel_plan out[2], uint32_t *chunk);
enum kp_status kp_attention_decode(const struct kp_kernels *kernels,
				   const struct kp_attention_decode_args *args);

/*
 * In float64 on the CPU, from host memory, all packed: out (NaN without memory for it) is batch ×
 * queries × q_heads × head_dim, not rounded; magnitudes, of the same size, Σ p · |v|; lse is batch
 * × queries × q_heads, like scores: the largest Σ |q · k| · scale of a row. All but out may be
 * NULL.
 */
void kp_attention_decode_reference(const struct kp_attention_decode_args *args, double *out,
				   double *magnitudes, double *lse, double *scores);

#ifdef __cplusplus
}
#endif

#endif
