/* linear_skinny: checks, choice of the version and of the split, launch. See linear_skinny.h. */
#include "kernels/linear_skinny.h"

#include "kernels/launch.h"
#include "kernels/linear_ring.h"

#define WARP 32U
#define SPLITS_MOST 64U
#define FINISH_THREADS 128U
#define RINGS_ON 90U /* compute capability: 227 KB of shared memory a block */
#define TILE_ROWS 16U

/* A version: what a team of warps has at a time. */
struct version {
	enum kp_kernel_id of_weight[3]; /* 16 bits, e4m3, int8 */
	uint32_t tokens_most;
	uint32_t rows[2];      /* of W a team, in 16 and in 8 bits */
	uint32_t warps;        /* a block, and a team at most */
	uint32_t vectors;      /* of a row that a warp takes in one turn */
	uint32_t warps_per_sm; /* what fills a multiprocessor's share of the memory's time */
};

#define OF_WEIGHT(name)                                                                            \
	{                                                                                          \
		KP_KERNEL_##name##_w16, KP_KERNEL_##name##_e4m3, KP_KERNEL_##name##_int8           \
	}

/* The first that takes so many tokens. */
static const struct version versions[] = {
	{OF_WEIGHT(linear_row), 1, {2, 4}, 4, 32, 20},
	{OF_WEIGHT(linear_tile_8), 8, {16, 16}, 8, 8, 16},
	{OF_WEIGHT(linear_tile_16), 16, {32, 32}, 8, 8, 16},
};
static const struct version any_version = {
	{KP_KERNEL_linear_any, KP_KERNEL_linear_any, KP_KERNEL_linear_any}, 16, {1, 1}, 4, 4, 16,
};

/* A version whose blocks stay, one on each multiprocessor. */
struct ring {
	enum kp_kernel_id of_weight[3];
	uint32_t tokens_most, inputs_most;
	uint32_t rows;            /* that are the least share of a block */
	uint32_t warps, vectors;  /* of a row that a warp takes in one turn */
	uint32_t shared_bytes[2]; /* weights of 16 and of 8 bits */
};

#define INPUTS_MOST(kept, warps, vectors)                                                          \
	((kept) ? (kept) * (warps) * (vectors)*KP_VECTOR_ELEMENTS : UINT32_MAX)
#define ROWS(name, rows, kept, stages, warps)                                                      \
	{OF_WEIGHT(name),                                                                          \
	 1,                                                                                        \
	 INPUTS_MOST(kept, warps, LINEAR_RING_ROW_VECTORS),                                        \
	 1,                                                                                        \
	 warps,                                                                                    \
	 LINEAR_RING_ROW_VECTORS,                                                                  \
	 {LINEAR_RING_ROWS_BYTES(rows, stages, warps),                                             \
	  LINEAR_RING_ROWS_BYTES(rows, stages, warps)}},
#define TILES(name, tiles, sides, kept, stages, warps)                                             \
	{OF_WEIGHT(name),                                                                          \
	 (sides)*8,                                                                                \
	 INPUTS_MOST(kept, warps, LINEAR_RING_LINE_VECTORS),                                       \
	 TILE_ROWS,                                                                                \
	 warps,                                                                                    \
	 LINEAR_RING_LINE_VECTORS,                                                                 \
	 {LINEAR_RING_TILES_BYTES(tiles, sides, kept, 1, stages, warps),                           \
	  LINEAR_RING_TILES_BYTES(tiles, sides, kept, 2, stages, warps)}},

/* The first that suits. */
static const struct ring rings[] = {LINEAR_RINGS(ROWS, TILES)};
#undef TILES
#undef ROWS

#define RINGS (sizeof(rings) / sizeof(rings[0]))

static const char *trouble(const struct kp_linear_skinny_args *args)
{
	if (!kp_is_storage(args->dtype))
		return "the storage type is not bf16 or fp16";
	if (args->weight_dtype != args->dtype && args->weight_dtype != KP_DTYPE_E4M3 &&
	    args->weight_dtype != KP_DTYPE_INT8)
		return "the type of the weight is neither that of x nor e4m3 nor int8";
	if (args->tokens > KP_LINEAR_SKINNY_TOKENS_MOST)
		return "there are more than 16 tokens";
	if (args->outputs > KP_GRID_X_MOST || args->inputs > KP_GRID_X_MOST)
		return "there are more than 2147483647 outputs or inputs";
	if ((unsigned)args->activation >= KP_LINEAR_ACTIVATION_COUNT)
		return "there is no such activation";
	if (args->tokens == 0 || args->outputs == 0)
		return NULL;
	if (!args->y)
		return "y is missing";
	if (args->inputs && (!args->x || !args->weight))
		return "x or weight is missing";
	return NULL;
}

static uint32_t elements_of_vector(const struct kp_linear_skinny_args *args)
{
	return KP_VECTOR_BYTES / (uint32_t)kp_dtype_bytes(args->weight_dtype);
}

static const struct version *version_of(const struct kp_linear_skinny_args *args)
{
	const struct version *version = versions;
	int64_t x_token = args->tokens > 1 ? args->x_token : 0;

	if (args->inputs % elements_of_vector(args) ||
	    !kp_is_aligned(args->x, KP_VECTOR_BYTES, 2, &x_token, 1) ||
	    !kp_is_aligned(args->weight, KP_VECTOR_BYTES, kp_dtype_bytes(args->weight_dtype),
			   &args->weight_row, 1))
		return &any_version;
	while (version->tokens_most < args->tokens)
		version++;
	return version;
}

/* The weight as the tables count it: 0 is 16 bits. */
static uint32_t weight_number(const struct kp_linear_skinny_args *args)
{
	return args->weight_dtype == KP_DTYPE_E4M3   ? 1
	       : args->weight_dtype == KP_DTYPE_INT8 ? 2
						     : 0;
}

/* Turns that a warp has when `warps` share K: less than one is no use. */
static bool has_turns(const struct version *version, uint64_t vectors, uint64_t warps)
{
	return vectors >= warps * version->vectors;
}

/*
 * More warps a team while there are too few to keep the memory busy, so that every multiprocessor
 * gets an equal share of a small weight; then blocks that split K, while some have none.
 */
static void share(const struct version *version, const struct kp_linear_skinny_args *args,
		  const struct kp_kernel_device *device, struct kp_kernel_plan *plan)
{
	uint64_t teams = kp_divide_up(args->outputs, version->rows[weight_number(args) != 0]);
	uint64_t vectors = args->inputs / elements_of_vector(args), warps = 1, splits;
	uint64_t wanted = (uint64_t)version->warps_per_sm * device->sm_count;

	/* The version for any alignment has no place to add up a team. */
	while (version != &any_version && warps < version->warps && teams * warps < wanted &&
	       has_turns(version, vectors, 2 * warps))
		warps *= 2;
	plan->team = (uint32_t)warps * WARP;
	plan->threads = version->warps * WARP;
	plan->grid_x = (uint32_t)kp_divide_up(teams * warps, version->warps);
	splits = device->sm_count / plan->grid_x;
	if (splits > SPLITS_MOST)
		splits = SPLITS_MOST;
	while (splits > 1 && !has_turns(version, vectors, 2 * warps * splits))
		splits--;
	plan->grid_y = splits ? (uint32_t)splits : 1;
}

/* Whether all multiprocessors get about as much of `units`: at most a third more than the mean. */
static bool is_even(uint64_t units, uint32_t sms)
{
	return kp_divide_up(units, sms) * sms * 3 <= units * 4;
}

/* Blocks get shares that differ little, and all of their warps vectors. */
static bool suits(const struct ring *ring, const struct kp_linear_skinny_args *args,
		  const struct kp_kernel_device *device)
{
	return args->tokens <= ring->tokens_most && args->inputs <= ring->inputs_most &&
	       is_even(kp_divide_up(args->outputs, ring->rows), device->sm_count) &&
	       args->inputs / elements_of_vector(args) >= ring->warps * ring->vectors;
}

/* NULL: none. */
static const struct ring *ring_of(const struct kp_linear_skinny_args *args,
				  const struct kp_kernel_device *device)
{
	for (size_t i = 0; device->compute_capability == RINGS_ON && i < RINGS; i++)
		if (suits(&rings[i], args, device))
			return &rings[i];
	return NULL;
}

static void choose_ring(const struct kp_linear_skinny_args *args,
			const struct kp_kernel_device *device, const struct ring *ring,
			struct kp_kernel_plan *out)
{
	uint32_t weight = weight_number(args);

	out->kernel = ring->of_weight[weight];
	out->grid_x = device->sm_count;
	out->grid_y = 1;
	out->team = out->threads = ring->warps * WARP;
	out->shared_bytes = ring->shared_bytes[weight != 0];
}

static void choose(const struct kp_linear_skinny_args *args, const struct kp_kernel_device *device,
		   struct kp_kernel_plan out[2])
{
	const struct version *version = version_of(args);
	const struct ring *ring = version == &any_version ? NULL : ring_of(args, device);

	out[0] = (struct kp_kernel_plan){.kernel = version->of_weight[weight_number(args)],
					 .dtype = args->dtype,
					 .vectors = version != &any_version};
	out[1] = (struct kp_kernel_plan){.kernel = KP_KERNEL_linear_finish, .dtype = args->dtype};
	if (args->tokens == 0 || args->outputs == 0)
		return;
	if (ring)
		choose_ring(args, device, ring, &out[0]);
	else
		share(version, args, device, &out[0]);
	if (out[0].grid_y == 1)
		return;
	out[1].grid_x = (uint32_t)kp_divide_up(args->outputs, FINISH_THREADS);
	out[1].grid_y = args->tokens;
	out[1].threads = FINISH_THREADS;
	out[1].team = out[0].grid_y;
}

static size_t workspace(const struct kp_linear_skinny_args *args, const struct kp_kernel_plan *plan)
{
	if (plan->grid_y <= 1)
		return 0;
	return (size_t)plan->grid_y * args->tokens * args->outputs * sizeof(float);
}

uint32_t kp_linear_skinny_shared_bytes(enum kp_kernel_id kernel)
{
	for (size_t i = 0; i < RINGS * 3; i++)
		if (rings[i / 3].of_weight[i % 3] == kernel)
			return rings[i / 3].shared_bytes[i % 3 != 0];
	return 0;
}

bool kp_linear_skinny_supports(const struct kp_linear_skinny_args *args, const char **reason)
{
	return kp_supports_if(trouble(args), reason);
}

size_t kp_linear_skinny_workspace(const struct kp_linear_skinny_args *args,
				  const struct kp_kernel_device *device)
{
	struct kp_kernel_plan plans[2];

	if (trouble(args))
		return 0;
	choose(args, device, plans);
	return workspace(args, &plans[0]);
}

enum kp_status kp_linear_skinny_plan(const struct kp_linear_skinny_args *args,
				     const struct kp_kernel_device *device,
				     struct kp_kernel_plan out[2])
{
	size_t needed;

	if (trouble(args))
		return KP_INVALID;
	choose(args, device, out);
	needed = workspace(args, &out[0]);
	return kp_is_workspace(args->workspace, args->workspace_bytes, needed) ? KP_OK : KP_INVALID;
}

enum kp_status kp_linear_skinny(const struct kp_kernels *kernels,
				const struct kp_linear_skinny_args *args)
{
	struct kp_linear_skinny_args passed = *args;
	struct kp_kernel_plan plans[2];
	enum kp_status status = kp_linear_skinny_plan(args, kp_kernels_device(kernels), plans);

	for (int i = 0; status == KP_OK && i < 2; i++) {
		passed.team = plans[i].team;
		/* The second may always begin early: it waits for the first. */
		status = kp_kernels_launch(kernels, &plans[i], &passed, args->stream,
					   i > 0 || args->dependent_launch);
	}
	return status;
}
