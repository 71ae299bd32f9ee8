/* linear_skinny and attention_decode for decode.py: arrays of numbers instead of structures. */
#include "kernels/attention_decode.h"
#include "kernels/linear_skinny.h"

/* Called through ctypes alone. */
struct kp_kernels *decode_open(void);
uint64_t decode_linear_workspace(const struct kp_kernels *kernels, void *const pointers[5],
				 const uint32_t sizes[3], const uint32_t types[2]);
int decode_linear(const struct kp_kernels *kernels, void *const pointers[5],
		  const uint32_t sizes[3], const uint32_t types[2], int dependent, void *stream);
uint64_t decode_attention_workspace(const struct kp_kernels *kernels, void *const pointers[7],
				    const uint32_t sizes[8], const uint32_t types[2]);
int decode_attention(const struct kp_kernels *kernels, void *const pointers[7],
		     const uint32_t sizes[8], const uint32_t types[2], float scale, int dependent,
		     void *stream);

/* For the current context; NULL: the kernels cannot be loaded. */
struct kp_kernels *decode_open(void)
{
	struct kp_kernels *kernels;
	int error;

	return kp_kernels_create(NULL, &kernels, &error) == KP_OK ? kernels : NULL;
}

/* x, weight, weight_scale, y, workspace; tokens, outputs, inputs; type, that of the weight. */
static struct kp_linear_skinny_args linear_args(void *const pointers[5], const uint32_t sizes[3],
						const uint32_t types[2])
{
	return (struct kp_linear_skinny_args){
		.x = pointers[0],
		.weight = pointers[1],
		.weight_scale = pointers[2],
		.y = pointers[3],
		.workspace = pointers[4],
		.workspace_bytes = SIZE_MAX,
		.tokens = sizes[0],
		.outputs = sizes[1],
		.inputs = sizes[2],
		.x_token = sizes[2],
		.weight_row = sizes[2],
		.y_token = sizes[1],
		.dtype = (enum kp_dtype)types[0],
		.weight_dtype = (enum kp_dtype)types[1],
	};
}

uint64_t decode_linear_workspace(const struct kp_kernels *kernels, void *const pointers[5],
				 const uint32_t sizes[3], const uint32_t types[2])
{
	struct kp_linear_skinny_args args = linear_args(pointers, sizes, types);

	return kp_linear_skinny_workspace(&args, kp_kernels_device(kernels));
}

int decode_linear(const struct kp_kernels *kernels, void *const pointers[5],
		  const uint32_t sizes[3], const uint32_t types[2], int dependent, void *stream)
{
	struct kp_linear_skinny_args args = linear_args(pointers, sizes, types);

	args.dependent_launch = dependent != 0;
	args.stream = stream;
	return (int)kp_linear_skinny(kernels, &args);
}

/*
 * q, k, v, out, lengths, pages or NULL, workspace, all packed; batch, queries, q_heads, kv_heads,
 * head_dim, page_tokens, length_most, pages a sequence; type, that of the cache.
 */
static struct kp_attention_decode_args attention_args(void *const pointers[7],
						      const uint32_t sizes[8],
						      const uint32_t types[2])
{
	int64_t head = sizes[4], query = sizes[2] * head, token = sizes[3] * head;

	return (struct kp_attention_decode_args){
		.q = pointers[0],
		.k = pointers[1],
		.v = pointers[2],
		.out = pointers[3],
		.lengths = pointers[4],
		.pages = pointers[5],
		.workspace = pointers[6],
		.workspace_bytes = SIZE_MAX,
		.batch = sizes[0],
		.queries = sizes[1],
		.q_heads = sizes[2],
		.kv_heads = sizes[3],
		.head_dim = sizes[4],
		.page_tokens = sizes[5],
		.length_most = sizes[6],
		.pages_batch = sizes[7],
		.scale = 1,
		.k_scale = 1,
		.v_scale = 1,
		.q_batch = sizes[1] * query,
		.q_query = query,
		.q_head = head,
		.out_batch = sizes[1] * query,
		.out_query = query,
		.out_head = head,
		.k_page = sizes[5] * token,
		.k_token = token,
		.k_head = head,
		.v_page = sizes[5] * token,
		.v_token = token,
		.v_head = head,
		.dtype = (enum kp_dtype)types[0],
		.cache_dtype = (enum kp_dtype)types[1],
	};
}

uint64_t decode_attention_workspace(const struct kp_kernels *kernels, void *const pointers[7],
				    const uint32_t sizes[8], const uint32_t types[2])
{
	struct kp_attention_decode_args args = attention_args(pointers, sizes, types);

	return kp_attention_decode_workspace(&args, kp_kernels_device(kernels));
}

int decode_attention(const struct kp_kernels *kernels, void *const pointers[7],
		     const uint32_t sizes[8], const uint32_t types[2], float scale, int dependent,
		     void *stream)
{
	struct kp_attention_decode_args args = attention_args(pointers, sizes, types);

	args.scale = scale;
	args.dependent_launch = dependent != 0;
	args.stream = stream;
	return (int)kp_attention_decode(kernels, &args);
}
