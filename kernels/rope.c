/* The rotary embedding: checks, choice of the version, launch. See rope.h. */
#include "kernels/rope.h"

#include "kernels/launch.h"

#define THREADS 256U
#define WARP 32U
#define BLOCKS_PER_SM 2U /* as many slices a token as it takes to reach that */

static const char *cache_trouble(const struct kp_rope_args *args)
{
	if (!args->k_cache != !args->v_cache)
		return "one of k_cache and v_cache is missing";
	if (!args->k_cache)
		return args->v ? "v has no cache to go to" : NULL;
	if (!args->k || !args->v || !args->slots)
		return "a cache needs k, v and slots";
	return args->page_tokens ? NULL : "page_tokens is 0";
}

static const char *angle_trouble(const struct kp_rope_args *args)
{
	if (!args->positions)
		return "positions are missing";
	if (args->rotary == 0)
		return NULL;
	if (!args->cosines != !args->sines)
		return "one of cosines and sines is missing";
	if (!args->cosines && !args->frequencies)
		return "there are neither cosines and sines nor frequencies";
	if (args->cosines && args->table_dtype != KP_DTYPE_FP32 && args->table_dtype != args->dtype)
		return "the type of the tables is neither fp32 nor that of q";
	return NULL;
}

static const char *trouble(const struct kp_rope_args *args)
{
	const char *found;

	if (!kp_is_storage(args->dtype))
		return "the storage type is not bf16 or fp16";
	if (args->rotary % 2 || args->rotary > args->head_dim || args->rotary > KP_ROPE_ROTARY_MOST)
		return "rotary is odd, above head_dim or above 512";
	if (args->interleaved && args->head_dim % 2)
		return "head_dim is odd";
	if (args->tokens > KP_GRID_X_MOST)
		return "there are more than 2147483647 tokens";
	if (((uint64_t)args->q_heads + 2ULL * args->kv_heads) * args->head_dim > KP_GRID_X_MOST)
		return "a token has more than 2147483647 elements";
	if (args->tokens == 0)
		return NULL;
	if (args->q_heads && (!args->q || !args->q_out))
		return "q or q_out is missing";
	if (args->kv_heads && !args->k)
		return "k is missing";
	found = cache_trouble(args);
	return found ? found : angle_trouble(args);
}

static bool is_vector(const void *pointer, int64_t a, int64_t b, int64_t c)
{
	const int64_t strides[] = {a, b, c};

	return kp_is_aligned(pointer, KP_VECTOR_BYTES, 2, strides, 3);
}

static bool is_aligned(const struct kp_rope_args *args)
{
	uint32_t side = args->interleaved ? args->rotary : args->rotary / 2;

	return args->head_dim % KP_VECTOR_ELEMENTS == 0 && side % KP_VECTOR_ELEMENTS == 0 &&
	       is_vector(args->q, args->q_token, args->q_head, 0) &&
	       is_vector(args->k, args->k_token, args->k_head, 0) &&
	       is_vector(args->v, args->v_token, args->v_head, 0) &&
	       is_vector(args->q_out, args->q_out_token, args->q_out_head, 0) &&
	       is_vector(args->k_out, args->k_out_token, args->k_out_head, 0) &&
	       is_vector(args->k_cache, args->k_cache_page, args->k_cache_token,
			 args->k_cache_head) &&
	       is_vector(args->v_cache, args->v_cache_page, args->v_cache_token,
			 args->v_cache_head);
}

bool kp_rope_supports(const struct kp_rope_args *args, const char **reason)
{
	return kp_supports_if(trouble(args), reason);
}

size_t kp_rope_workspace(const struct kp_rope_args *args)
{
	(void)args;
	return 0;
}

/* Units of work a token, as rope.cu counts them. */
static uint32_t units(const struct kp_rope_args *args, uint32_t step)
{
	uint32_t pairs = args->interleaved ? 0 : args->rotary / 2 / step;
	uint32_t whole = args->head_dim / step, copied = args->v ? args->kv_heads : 0;

	return (args->q_heads + args->kv_heads) * (whole - pairs) + copied * whole;
}

enum kp_status kp_rope_plan(const struct kp_rope_args *args, const struct kp_kernel_device *device,
			    struct kp_kernel_plan *out)
{
	bool aligned = is_aligned(args);
	uint32_t step = aligned ? KP_VECTOR_ELEMENTS : args->interleaved ? 2 : 1;
	uint32_t count, slices, wanted;

	if (trouble(args))
		return KP_INVALID;
	count = units(args, step);
	*out = (struct kp_kernel_plan){
		.kernel = aligned ? KP_KERNEL_rope_vector : KP_KERNEL_rope_any,
		.dtype = args->dtype,
		.grid_x = count ? args->tokens : 0,
		.vectors = aligned,
	};
	if (out->grid_x == 0)
		return KP_OK;
	slices = (count + THREADS - 1) / THREADS;
	wanted = BLOCKS_PER_SM * device->sm_count / args->tokens + 1;
	out->grid_y = slices < wanted ? slices : wanted;
	if (out->grid_y > KP_GRID_Y_MOST)
		out->grid_y = KP_GRID_Y_MOST;
	out->threads = count < THREADS ? (count + WARP - 1) / WARP * WARP : THREADS;
	return KP_OK;
}

enum kp_status kp_rope(const struct kp_kernels *kernels, const struct kp_rope_args *args)
{
	struct kp_kernel_plan plan;
	enum kp_status status = kp_rope_plan(args, kp_kernels_device(kernels), &plan);

	if (status != KP_OK)
		return status;
	return kp_kernels_launch(kernels, &plan, args, args->stream, args->dependent_launch);
}
