/*
 * Rotary position embedding of queries and keys, with the append of keys and values to a cache.
 *
 *   a, b   two elements of a head that belong together, i = 0 … rotary/2 - 1:
 *          neox order: i and i + rotary/2        gptj order (interleaved): 2i and 2i + 1
 *   a' = a · cos(θ) - b · sin(θ)        b' = b · cos(θ) + a · sin(θ)
 *
 * θ belongs to the token's position and to i: its cosine and sine come from tables, or
 * θ = position · frequencies[i] is computed. Elements from `rotary` on stay as they are.
 * round_like_eager: cosine and sine, and each of the products, are rounded to the storage type
 * first, as frameworks do that run one operator at a time.
 *
 * The cache takes the rotated keys and the values of token t at slot slots[t]:
 *   page slots[t] / page_tokens, place slots[t] % page_tokens; a negative slot: nowhere
 * which serves paged caches, and contiguous ones with page_tokens = their length and
 * slot = sequence · length + position. No two tokens may have one slot.
 *
 * Bytes: 2 · tokens · head_dim · (2 · q_heads + kv_heads · (2 or 3 with k_out, + 2 with a cache)),
 * and 8 · rotary/2 a token for a table. FLOPs: 3 an element. Bound by memory; for a few tokens by
 * latency.
 *
 * How: a block for a token, or for a slice of its heads where tokens are few; cosines and sines
 * once a block in shared memory, while the first vectors of 16 bytes are on their way. θ is reduced
 * in float64 turns, so that it is as good at position 131072 as at 1. Source: Su et al. 2021.
 *
 * Tolerance, against float64 of the same stored inputs: half a unit in the last place of the
 * storage type for each rounding that the formula has, and 2⁻²¹ · (|a| + |b|).
 */
#ifndef KP_KERNELS_ROPE_H
#define KP_KERNELS_ROPE_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KP_ROPE_ROTARY_MOST 512

struct kp_rope_args {
	const void *q, *k, *v;       /* v: for the cache alone, else NULL; q or k may be NULL */
	void *q_out, *k_out;         /* may be q and k; k_out NULL: keys go to the cache alone */
	void *k_cache, *v_cache;     /* both or none */
	const int64_t *slots;        /* a token each; for the cache alone */
	const int64_t *positions;    /* a token each */
	const void *cosines, *sines; /* of table_dtype, rotary/2 a position; NULL: computed */
	const float *frequencies;    /* rotary/2, radians a position; for that alone */
	uint32_t tokens, q_heads, kv_heads, head_dim, rotary, page_tokens;
	int64_t q_token, q_head, k_token, k_head, v_token, v_head; /* strides */
	int64_t q_out_token, q_out_head, k_out_token, k_out_head;
	int64_t k_cache_page, k_cache_token, k_cache_head;
	int64_t v_cache_page, v_cache_token, v_cache_head;
	int64_t table_position;           /* stride of both tables */
	enum kp_dtype dtype, table_dtype; /* table_dtype: dtype or KP_DTYPE_FP32 */
	bool interleaved, round_like_eager, dependent_launch;
	void *stream;
};

bool kp_rope_supports(const struct kp_rope_args *args, const char **reason);
size_t kp_rope_workspace(const struct kp_rope_args *args);
/* Errors of the rest: KP_INVALID (see _supports), KP_IO (the launch fails). */
enum kp_status kp_rope_plan(const struct kp_rope_args *args, const struct kp_kernel_device *device,
			    struct kp_kernel_plan *out);
enum kp_status kp_rope(const struct kp_kernels *kernels, const struct kp_rope_args *args);

/* In float64 on the CPU, from host memory: rotated heads, not rounded, packed: q_out is tokens ×
 * q_heads × head_dim, k_out the same for kv_heads; either may be NULL. */
void kp_rope_reference(const struct kp_rope_args *args, double *q_out, double *k_out);

#ifdef __cplusplus
}
#endif

#endif
