/* attention_decode: checks, choice of the version and of the splits, launch. See
 * attention_decode.h. */
#include "kernels/attention_decode.h"

#include "kernels/launch.h"

#define WARP 32U
#define THREADS 128U
#define FINISH_THREADS 256U
#define TILE 16U   /* keys that a warp takes at a time */
#define STRIDE 64U /* keys that a block takes at a time */
#define SPLITS_MOST 1024U
#define BLOCKS_MOST 32U /* of a multiprocessor, where there are splits */
/* Seen on an H200 (docs/results): see cost(). */
#define BLOCK_BYTES (20U << 10)
#define FINISH_BYTES (100U << 10)
#define LENGTH_MOST (1U << 30)

/* Versions by head_dim and query rows a block; `blocks` of them stay on a multiprocessor. */
struct version {
	uint32_t head_dim, rows, blocks;
	enum kp_kernel_id of_cache[2]; /* 16 bits, e4m3 */
};

#define VERSION(head_dim, rows, blocks)                                                            \
	{                                                                                          \
		head_dim, rows, blocks,                                                            \
		{                                                                                  \
			KP_KERNEL_attention_##head_dim##_##rows##_w16,                             \
				KP_KERNEL_attention_##head_dim##_##rows##_e4m3                     \
		}                                                                                  \
	}

/* Of a head_dim the one that takes most rows comes last: it is for those that others cannot. */
static const struct version versions[] = {
	VERSION(64, 8, 4),  VERSION(64, 16, 3),  VERSION(96, 8, 3),
	VERSION(128, 8, 4), VERSION(128, 16, 2), VERSION(256, 8, 2),
};
#define VERSIONS (sizeof(versions) / sizeof(versions[0]))

/* What is to be split. */
struct load {
	uint64_t units, keys, key_bytes; /* blocks of a split; K and V of a key head */
	uint64_t blocks, sms;            /* that stay on a multiprocessor */
};

static const char *shape_trouble(const struct kp_attention_decode_args *args)
{
	if (args->queries > KP_ATTENTION_QUERIES_MOST)
		return "there are more than 8 queries a sequence";
	if (args->head_dim == 0 || args->head_dim > KP_ATTENTION_HEAD_MOST)
		return "head_dim is 0 or above 256";
	if (args->kv_heads ? args->q_heads % args->kv_heads : args->q_heads)
		return "q_heads is no multiple of kv_heads";
	if (args->length_most > LENGTH_MOST)
		return "there are more than 2^30 keys";
	if ((uint64_t)args->batch * args->q_heads > KP_GRID_X_MOST / KP_ATTENTION_QUERIES_MOST)
		return "there are more than 2147483647 rows";
	if (args->page_tokens == 0)
		return "page_tokens is 0";
	if (!args->pages && args->length_most > args->page_tokens)
		return "length_most is more than a contiguous cache holds";
	return NULL;
}

static const char *trouble(const struct kp_attention_decode_args *args)
{
	const char *found = shape_trouble(args);

	if (found)
		return found;
	if (!kp_is_storage(args->dtype))
		return "the storage type is not bf16 or fp16";
	if (args->cache_dtype != args->dtype && args->cache_dtype != KP_DTYPE_E4M3)
		return "the type of the cache is neither that of q nor e4m3";
	if (!(args->softcap >= 0 && args->softcap <= 3.0e38F))
		return "softcap is negative or not a number";
	if ((uint64_t)args->batch * args->queries * args->q_heads == 0)
		return NULL;
	if (!args->q || !args->out || !args->lengths)
		return "q, out or lengths is missing";
	if (args->length_most && (!args->k || !args->v))
		return "k or v is missing";
	return NULL;
}

static bool is_vector(const void *pointer, size_t bytes, int64_t a, int64_t b, int64_t c)
{
	const int64_t strides[] = {a, b, c};

	return kp_is_aligned(pointer, KP_VECTOR_BYTES, bytes, strides, 3);
}

/* Results are written by single elements. */
static bool is_aligned(const struct kp_attention_decode_args *args)
{
	size_t bytes = kp_dtype_bytes(args->cache_dtype);

	return is_vector(args->q, 2, args->q_batch, args->q_query, args->q_head) &&
	       is_vector(args->k, bytes, args->k_page, args->k_token, args->k_head) &&
	       is_vector(args->v, bytes, args->v_page, args->v_token, args->v_head);
}

/* Query rows that go with a key head. */
static uint32_t rows_of(const struct kp_attention_decode_args *args)
{
	return args->q_heads / args->kv_heads * args->queries;
}

/* NULL: the one for any alignment. A tile must lie in one page. */
static const struct version *version_of(const struct kp_attention_decode_args *args)
{
	const struct version *found = NULL;

	if (!is_aligned(args) || (args->pages && args->page_tokens % TILE))
		return NULL;
	for (size_t i = 0; i < VERSIONS; i++)
		if (versions[i].head_dim == args->head_dim &&
		    (!found || found->rows < rows_of(args)))
			found = &versions[i];
	return found;
}

/* Keys that a sequence can have within reach, from the beginning of a tile on. */
static uint64_t keys_most(const struct kp_attention_decode_args *args)
{
	uint64_t reach = (uint64_t)args->window + args->queries - 1 + TILE - 1;

	return args->window && reach < args->length_most ? reach : args->length_most;
}

/*
 * What `units` sequences cost in chunks: the time of a multiprocessor, in bytes that it reads in
 * it as its share of the memory's speed. All blocks that are there share that, and one reads at
 * most as much. What is besides: beginning and end of each block, and the second launch with its
 * workspace.
 */
static uint64_t cost(const struct load *load, uint64_t chunk)
{
	uint64_t splits = kp_divide_up(load->keys, chunk), blocks = load->units * splits;
	uint64_t places = load->blocks * load->sms, rest = blocks % places;
	uint64_t bytes = chunk * load->key_bytes, last = rest * bytes / load->sms;

	return blocks / places * load->blocks * bytes + (rest && last < bytes ? bytes : last) +
	       kp_divide_up(blocks, load->sms) * BLOCK_BYTES + (splits > 1 ? FINISH_BYTES : 0);
}

/*
 * The cheapest of: no split; and as many splits as give every multiprocessor so many blocks. What
 * counts is length_most, as lengths are not known here.
 */
static uint32_t chunk_of(const struct load *load)
{
	uint64_t best = kp_divide_up(load->keys, STRIDE) * STRIDE,
		 least = kp_divide_up(load->keys, SPLITS_MOST);

	for (uint64_t each = 1; each <= BLOCKS_MOST; each++) {
		uint64_t splits = each * load->sms / load->units;
		uint64_t chunk = kp_divide_up(load->keys, splits ? splits : 1);

		chunk = kp_divide_up(chunk < least ? least : chunk, STRIDE) * STRIDE;
		if (splits > 1 && cost(load, chunk) < cost(load, best))
			best = chunk;
	}
	return (uint32_t)best;
}

static uint64_t all_rows(const struct kp_attention_decode_args *args)
{
	return (uint64_t)args->batch * args->queries * args->q_heads;
}

static void choose(const struct kp_attention_decode_args *args,
		   const struct kp_kernel_device *device, struct kp_kernel_plan out[2],
		   uint32_t *chunk)
{
	const struct version *version;
	uint64_t keys = keys_most(args);
	struct load load;

	*chunk = 0;
	out[0] = (struct kp_kernel_plan){.kernel = KP_KERNEL_attention_any, .dtype = args->dtype};
	out[1] =
		(struct kp_kernel_plan){.kernel = KP_KERNEL_attention_finish, .dtype = args->dtype};
	if (all_rows(args) == 0)
		return;
	version = version_of(args);
	out[0].threads = THREADS;
	out[0].grid_x = (uint32_t)all_rows(args);
	out[0].grid_y = 1;
	if (!version)
		return;
	load = (struct load){
		.units = (uint64_t)args->batch * args->kv_heads *
			 kp_divide_up(rows_of(args), version->rows),
		.keys = keys ? keys : 1,
		.key_bytes = 2 * args->head_dim * kp_dtype_bytes(args->cache_dtype),
		.blocks = version->blocks,
		.sms = device->sm_count,
	};
	*chunk = chunk_of(&load);
	out[0].kernel = version->of_cache[args->cache_dtype == KP_DTYPE_E4M3];
	out[0].vectors = 1;
	out[0].grid_x = (uint32_t)load.units;
	out[0].grid_y = keys ? (uint32_t)kp_divide_up(keys, *chunk) : 1;
	if (out[0].grid_y == 1)
		return;
	out[1].grid_x = (uint32_t)all_rows(args);
	out[1].grid_y = 1;
	out[1].threads = FINISH_THREADS;
}

/* A result and a logarithm, for each row and split. */
static size_t workspace(const struct kp_attention_decode_args *args,
			const struct kp_kernel_plan *plan)
{
	if (plan->grid_y <= 1)
		return 0;
	return (size_t)all_rows(args) * plan->grid_y * (args->head_dim + 1) * sizeof(float);
}

bool kp_attention_decode_supports(const struct kp_attention_decode_args *args, const char **reason)
{
	return kp_supports_if(trouble(args), reason);
}

size_t kp_attention_decode_workspace(const struct kp_attention_decode_args *args,
				     const struct kp_kernel_device *device)
{
	struct kp_kernel_plan plans[2];
	uint32_t chunk;

	if (trouble(args))
		return 0;
	choose(args, device, plans, &chunk);
	return workspace(args, &plans[0]);
}

enum kp_status kp_attention_decode_plan(const struct kp_attention_decode_args *args,
					const struct kp_kernel_device *device,
					struct kp_kernel_plan out[2], uint32_t *chunk)
{
	size_t needed;

	if (trouble(args))
		return KP_INVALID;
	choose(args, device, out, chunk);
	needed = workspace(args, &out[0]);
	return kp_is_workspace(args->workspace, args->workspace_bytes, needed) ? KP_OK : KP_INVALID;
}

enum kp_status kp_attention_decode(const struct kp_kernels *kernels,
				   const struct kp_attention_decode_args *args)
{
	struct kp_attention_decode_args passed = *args;
	struct kp_kernel_plan plans[2];
	enum kp_status status =
		kp_attention_decode_plan(args, kp_kernels_device(kernels), plans, &passed.chunk);

	if (status != KP_OK)
		return status;
	passed.splits = plans[0].grid_y;
	return kp_kernels_launch_both(kernels, plans, &passed, args->stream,
				      args->dependent_launch);
}
