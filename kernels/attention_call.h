/* What a launch of attention_prefill is given; set by attention_prefill.c alone. Not installed. */
#ifndef KP_KERNELS_ATTENTION_CALL_H
#define KP_KERNELS_ATTENTION_CALL_H

#include <stdint.h>

#ifdef __cplusplus
#define KP_ALIGNED(bytes) alignas(bytes)
#else
#define KP_ALIGNED(bytes) _Alignas(bytes)
#endif

/* CUtensorMap: what the copy engine knows of a tensor. */
struct kp_tensor_map {
	KP_ALIGNED(64) uint64_t words[16];
};

struct kp_attention_call {
	struct kp_tensor_map q_map, k_map, v_map; /* for Hopper's versions alone */
	const void *q, *k, *v;
	void *out;
	float *lse;
	const int32_t *q_starts, *k_starts, *pages;
	int64_t q_batch, q_query, q_head, k_batch, k_key, k_head, v_batch, v_key, v_head, out_batch,
		out_query, out_head, pages_batch;
	uint32_t batch, q_heads, kv_heads, head_dim, queries, keys, page_tokens, window;
	uint32_t blocks;  /* of query rows a head */
	uint32_t heads;   /* that are worked on at once: their keys and values fit in L2 */
	uint32_t causal;  /* 1: the row i of a sequence sees keys to i + keys - queries + offset */
	uint32_t vectors; /* 1: q, k, v and strides allow 16 bytes at a time, results too */
	int32_t offset;
	float scale; /* of scores, in powers of two; with a cap, twice that over the cap */
	float cap;   /* in powers of two; 0: none */
	const int32_t *position; /* for the versions for all alone */
};

#endif
