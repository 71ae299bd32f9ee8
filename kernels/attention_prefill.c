/* attention_prefill: checks, choice of the version, maps of the copy engine, launch. See
 * attention_prefill.h. */
#include "kernels/attention_prefill.h"

#include <string.h>

#include "kernels/attention_prepare.h"
#include "kernels/launch.h"

#define LENGTH_MOST (1U << 29)
#define LOG2_E 1.4426950408889634F
#define HOPPER 90U              /* compute capability */
#define L2_BYTES (24U << 20)    /* of keys and values that are in use at once */
#define STRIDE_MOST (1LL << 38) /* elements; the copy engine has 40 bits for bytes */
#define COLUMN 64U              /* elements of a row that the copy engine swizzles */
#define SHARED_SLACK 1280U      /* alignment to 1024, and barriers */

/* A version: what it has room for, and the tile of a block. */
struct version {
	enum kp_kernel_id kernel;
	uint32_t head_dim, rows, keys, threads;
	/* Tiles of queries, and of keys and of values, in shared memory; 0: not with the copy
	 * engine. */
	uint32_t q_stages, stages;
	/* Of those with the copy engine: fewer keys are another's, and so is a mask. */
	uint32_t keys_least;
	bool unmasked;
};

/* Those with the copy engine first; the first that fits is taken.
 * docs/results/2026-11-30-attention-prefill.md has the times that say which is for what. */
// clang-format off
static const struct version versions[] = {
	{KP_KERNEL_prefill_hopper_64,        64, 192, 128, 512, 2, 2, 0,    false},
	{KP_KERNEL_prefill_hopper_128_wide, 128, 128, 176, 384, 1, 2, 4096, true},
	{KP_KERNEL_prefill_hopper_128,      128, 128, 128, 384, 2, 2, 0,    false},
	{KP_KERNEL_prefill_any_64,           64,  64,  64, 128, 0, 0, 0,    false},
	{KP_KERNEL_prefill_any_96,           96,  64,  64, 128, 0, 0, 0,    false},
	{KP_KERNEL_prefill_any_128,         128,  64,  64, 128, 0, 0, 0,    false},
	{KP_KERNEL_prefill_any_256,         256,  64,  16, 128, 0, 0, 0,    false},
};
#define VERSIONS (sizeof(versions) / sizeof(versions[0]))
// clang-format on

static const char *shape_trouble(const struct kp_attention_prefill_args *args)
{
	if (args->head_dim == 0 || args->head_dim > KP_PREFILL_HEAD_MOST)
		return "head_dim is 0 or above 256";
	if (args->kv_heads ? args->q_heads % args->kv_heads : args->q_heads)
		return "q_heads is no multiple of kv_heads";
	if (args->queries > LENGTH_MOST || args->keys > LENGTH_MOST)
		return "there are more than 2^29 queries or keys";
	if (args->offset > (int32_t)LENGTH_MOST || args->offset < -(int32_t)LENGTH_MOST)
		return "offset is not within 2^29";
	if (args->window > LENGTH_MOST)
		return "window is more than 2^29";
	if (args->window && !args->causal)
		return "a window needs causal";
	if (!args->q_starts != !args->k_starts)
		return "q_starts without k_starts, or the reverse";
	if (args->k_starts && args->pages)
		return "both starts and pages";
	if (args->q_starts && (args->q_total > INT32_MAX || args->k_total > INT32_MAX))
		return "there are more than 2147483647 rows";
	if (args->k_starts && args->position)
		return "both starts and a position";
	if (args->pages && args->page_tokens == 0)
		return "page_tokens is 0";
	return NULL;
}

static const char *trouble(const struct kp_attention_prefill_args *args)
{
	const char *found = shape_trouble(args);
	uint64_t heads = (uint64_t)args->batch * args->q_heads;

	if (found)
		return found;
	if (!kp_is_storage(args->dtype))
		return "the storage type is not bf16 or fp16";
	if (!(args->softcap >= 0 && args->softcap <= 3.0e38F))
		return "softcap is negative or not a number";
	if (heads > KP_GRID_X_MOST || heads * kp_divide_up(args->queries, 64) > KP_GRID_X_MOST)
		return "there are more than 2147483647 blocks";
	if (heads * args->queries == 0)
		return NULL;
	if (!args->q || !args->out)
		return "q or out is missing";
	if (args->keys && (!args->k || !args->v))
		return "k or v is missing";
	return NULL;
}

static bool is_vector(const void *pointer, int64_t a, int64_t b, int64_t c)
{
	const int64_t strides[] = {a, b, c};

	return kp_is_aligned(pointer, KP_VECTOR_BYTES, 2, strides, 3);
}

static bool is_aligned(const struct kp_attention_prefill_args *args)
{
	return args->head_dim % KP_VECTOR_ELEMENTS == 0 &&
	       is_vector(args->q, args->q_batch, args->q_query, args->q_head) &&
	       is_vector(args->k, args->k_batch, args->k_key, args->k_head) &&
	       is_vector(args->v, args->v_batch, args->v_key, args->v_head) &&
	       is_vector(args->out, args->out_batch, args->out_query, args->out_head);
}

/* Strides that the copy engine takes, as far as they are used. */
static bool is_mappable(int64_t batch, int64_t row, int64_t head)
{
	return row > 0 && row < STRIDE_MOST && batch >= 0 && batch < STRIDE_MOST && head >= 0 &&
	       head < STRIDE_MOST;
}

static bool is_for_hopper(const struct kp_attention_prefill_args *args,
			  const struct kp_kernel_device *device)
{
	if (device->compute_capability != HOPPER || (args->head_dim != 64 && args->head_dim != 128))
		return false;
	if (args->softcap != 0 || args->pages || args->position || args->keys == 0 ||
	    !(args->scale > 0 && args->scale <= 3.0e38F / LOG2_E))
		return false;
	if (args->q_starts && (args->q_total == 0 || args->k_total == 0))
		return false;
	return is_aligned(args) && is_mappable(args->q_batch, args->q_query, args->q_head) &&
	       is_mappable(args->k_batch, args->k_key, args->k_head) &&
	       is_mappable(args->v_batch, args->v_key, args->v_head);
}

static bool fits(const struct version *version, const struct kp_attention_prefill_args *args,
		 bool for_hopper)
{
	if (version->stages == 0)
		return version->head_dim >= args->head_dim;
	return for_hopper && version->head_dim == args->head_dim &&
	       args->keys >= version->keys_least && !(version->unmasked && args->causal);
}

static const struct version *version_of(const struct kp_attention_prefill_args *args,
					const struct kp_kernel_device *device)
{
	bool for_hopper = is_for_hopper(args, device);

	/* The last takes all that there is. */
	for (size_t i = 0; i + 1 < VERSIONS; i++)
		if (fits(&versions[i], args, for_hopper))
			return &versions[i];
	return &versions[VERSIONS - 1];
}

/* Heads whose blocks run at the same time: as many as have their keys and values in L2. */
static uint32_t heads_at_once(const struct kp_attention_prefill_args *args)
{
	uint64_t group = args->q_heads / args->kv_heads;
	uint64_t bytes = (uint64_t)args->keys * args->head_dim * 4;
	uint64_t heads = bytes ? L2_BYTES / bytes : UINT32_MAX;
	uint64_t all = (uint64_t)args->batch * args->q_heads;

	/* Without causal all blocks are as long: any order will do. */
	heads = !args->causal || heads == 0 ? group : heads * group;
	return (uint32_t)(heads < all ? heads : all);
}

static uint32_t shared_bytes(const struct version *version)
{
	uint32_t rows = version->q_stages * version->rows + 2 * version->stages * version->keys;

	return version->stages ? rows * version->head_dim * 2 + SHARED_SLACK : 0;
}

uint32_t kp_attention_prefill_shared_bytes(enum kp_kernel_id kernel)
{
	for (size_t i = 0; i < VERSIONS; i++)
		if (versions[i].kernel == kernel)
			return shared_bytes(&versions[i]);
	return 0;
}

static void choose(const struct kp_attention_prefill_args *args,
		   const struct kp_kernel_device *device, const struct version *version,
		   struct kp_kernel_plan *out)
{
	uint64_t pieces =
		(uint64_t)args->batch * args->q_heads * kp_divide_up(args->queries, version->rows);

	*out = (struct kp_kernel_plan){.kernel = version->kernel, .dtype = args->dtype};
	out->threads = version->threads;
	out->grid_y = 1;
	out->grid_x = (uint32_t)pieces;
	out->vectors = is_aligned(args);
	out->shared_bytes = shared_bytes(version);
	/* Blocks that stay, and take pieces in turn. */
	if (version->stages && pieces > device->sm_count)
		out->grid_x = device->sm_count;
}

static void fill(const struct kp_attention_prefill_args *args, const struct version *version,
		 struct kp_attention_call *out)
{
	memset(out, 0, sizeof(*out));
	out->q = args->q, out->k = args->k, out->v = args->v;
	out->out = args->out;
	out->lse = args->lse;
	out->q_starts = args->q_starts, out->k_starts = args->k_starts;
	out->pages = args->pages;
	out->position = args->position;
	out->q_batch = args->q_batch, out->q_query = args->q_query, out->q_head = args->q_head;
	out->k_batch = args->k_batch, out->k_key = args->k_key, out->k_head = args->k_head;
	out->v_batch = args->v_batch, out->v_key = args->v_key, out->v_head = args->v_head;
	out->out_batch = args->out_batch, out->out_query = args->out_query;
	out->out_head = args->out_head, out->pages_batch = args->pages_batch;
	out->batch = args->batch, out->q_heads = args->q_heads, out->kv_heads = args->kv_heads;
	out->head_dim = args->head_dim, out->queries = args->queries, out->keys = args->keys;
	out->page_tokens = args->page_tokens, out->window = args->window;
	out->blocks = (uint32_t)kp_divide_up(args->queries, version->rows);
	out->heads = args->kv_heads ? heads_at_once(args) : 0;
	out->causal = args->causal;
	out->vectors = is_aligned(args);
	out->offset = args->offset;
	out->cap = args->softcap * LOG2_E;
	out->scale = args->scale * LOG2_E;
	if (args->softcap != 0)
		out->scale = 2 * args->scale * LOG2_E / args->softcap;
}

/* A stride in bytes; that of a dimension of one element does not matter, but must be valid. */
static uint64_t stride_of(int64_t elements, uint64_t size)
{
	return size > 1 && elements > 0 ? (uint64_t)elements * 2 : KP_VECTOR_BYTES;
}

/* Boxes of `rows` rows by 64 elements; what lies outside of the tensor comes as 0. */
static int map_tensor(kp_encode_map encode, const struct kp_attention_prefill_args *args,
		      const void *data, const int64_t strides[3], const uint64_t sizes[4],
		      uint32_t rows, struct kp_tensor_map *out)
{
	enum { FP16 = 6, BF16 = 9, SWIZZLE_128 = 3, PROMOTE_128 = 2 };
	const uint64_t bytes[3] = {stride_of(strides[1], sizes[1]), stride_of(strides[2], sizes[2]),
				   stride_of(strides[0], sizes[3])};
	const uint32_t box[4] = {COLUMN, rows, 1, 1}, steps[4] = {1, 1, 1, 1};

	return encode(out, args->dtype == KP_DTYPE_BF16 ? BF16 : FP16, 4, (void *)(uintptr_t)data,
		      sizes, bytes, box, steps, 0, SWIZZLE_128, PROMOTE_128, 0);
}

static int map_all(kp_encode_map encode, const struct kp_attention_prefill_args *args,
		   const struct version *version, struct kp_attention_call *out)
{
	const int64_t q[] = {args->q_batch, args->q_query, args->q_head};
	const int64_t k[] = {args->k_batch, args->k_key, args->k_head};
	const int64_t v[] = {args->v_batch, args->v_key, args->v_head};
	const uint64_t one = args->q_starts ? 1 : args->batch, dim = args->head_dim;
	const uint64_t q_sizes[] = {dim, args->q_starts ? args->q_total : args->queries,
				    args->q_heads, one};
	const uint64_t k_sizes[] = {dim, args->k_starts ? args->k_total : args->keys,
				    args->kv_heads, one};
	int error = map_tensor(encode, args, args->q, q, q_sizes, version->rows, &out->q_map);

	if (!error)
		error = map_tensor(encode, args, args->k, k, k_sizes, version->keys, &out->k_map);
	if (!error)
		error = map_tensor(encode, args, args->v, v, k_sizes, version->keys, &out->v_map);
	return error;
}

bool kp_attention_prefill_supports(const struct kp_attention_prefill_args *args,
				   const char **reason)
{
	return kp_supports_if(trouble(args), reason);
}

size_t kp_attention_prefill_workspace(const struct kp_attention_prefill_args *args)
{
	(void)args;
	return 0;
}

enum kp_status kp_attention_prefill_plan(const struct kp_attention_prefill_args *args,
					 const struct kp_kernel_device *device,
					 struct kp_kernel_plan *out)
{
	if (trouble(args))
		return KP_INVALID;
	choose(args, device, version_of(args, device), out);
	return KP_OK;
}

enum kp_status kp_attention_prefill_prepare(const struct kp_attention_prefill_args *args,
					    const struct kp_kernel_device *device,
					    kp_encode_map encode, struct kp_kernel_plan *plan,
					    struct kp_attention_call *call)
{
	/* Without the copy engine as if the GPU had none. */
	const struct kp_kernel_device known = {device->sm_count,
					       encode ? device->compute_capability : 0};
	const struct version *version;

	if (trouble(args))
		return KP_INVALID;
	version = version_of(args, &known);
	choose(args, &known, version, plan);
	fill(args, version, call);
	if (plan->grid_x && version->stages && map_all(encode, args, version, call))
		return KP_IO;
	return KP_OK;
}

enum kp_status kp_attention_prefill(const struct kp_kernels *kernels,
				    const struct kp_attention_prefill_args *args)
{
	struct kp_kernel_plan plan;
	struct kp_attention_call call;
	enum kp_status status = kp_attention_prefill_prepare(
		args, kp_kernels_device(kernels), kp_kernels_encode_map(kernels), &plan, &call);

	if (status != KP_OK)
		return status;
	return kp_kernels_launch(kernels, &plan, &call, args->stream, args->dependent_launch);
}
