/* attention_prefill for prefill.py: arrays of numbers instead of structures. */
#include "kernels/attention_prefill.h"

/* Called through ctypes alone. */
struct kp_kernels *prefill_open(void);
int prefill_attention(const struct kp_kernels *kernels, void *const pointers[6],
		      const uint32_t sizes[7], const int64_t strides[12], uint32_t type, int causal,
		      float scale, void *stream);

/* For the current context; NULL: the kernels cannot be loaded. */
struct kp_kernels *prefill_open(void)
{
	struct kp_kernels *kernels;
	int error;

	return kp_kernels_create(NULL, &kernels, &error) == KP_OK ? kernels : NULL;
}

/*
 * q, k, v, out, log-sum-exp or NULL, starts of sequences or NULL; batch, q_heads, kv_heads,
 * head_dim, queries, keys, rows in all; for q, k, v and out the strides of sequences, rows, heads.
 */
int prefill_attention(const struct kp_kernels *kernels, void *const pointers[6],
		      const uint32_t sizes[7], const int64_t strides[12], uint32_t type, int causal,
		      float scale, void *stream)
{
	const struct kp_attention_prefill_args args = {
		.q = pointers[0],
		.k = pointers[1],
		.v = pointers[2],
		.out = pointers[3],
		.lse = pointers[4],
		.q_starts = pointers[5],
		.k_starts = pointers[5],
		.batch = sizes[0],
		.q_heads = sizes[1],
		.kv_heads = sizes[2],
		.head_dim = sizes[3],
		.queries = sizes[4],
		.keys = sizes[5],
		.q_total = sizes[6],
		.k_total = sizes[6],
		.scale = scale,
		.q_batch = strides[0],
		.q_query = strides[1],
		.q_head = strides[2],
		.k_batch = strides[3],
		.k_key = strides[4],
		.k_head = strides[5],
		.v_batch = strides[6],
		.v_key = strides[7],
		.v_head = strides[8],
		.out_batch = strides[9],
		.out_query = strides[10],
		.out_head = strides[11],
		.dtype = (enum kp_dtype)type,
		.causal = causal != 0,
		.stream = stream,
	};

	return (int)kp_attention_prefill(kernels, &args);
}
