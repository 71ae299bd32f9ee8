/* Dimensions of shapes, from launches and library calls; see shapes.h. */
#include "analyzers/shape_stability.h"

const char *kp_shape_source_name(enum kp_shape_source source)
{
	static const char *const names[] = {
#define ROW(NAME, name) name,
		KP_SHAPE_SOURCES(ROW)
#undef ROW
	};

	return names[source];
}

const char *kp_shape_dim_name(enum kp_shape_dim dim)
{
	static const char *const names[] = {
#define ROW(NAME, source, name, ordered) name,
		KP_SHAPE_DIMS(ROW)
#undef ROW
	};

	return names[dim];
}

const char *kp_stability_dim_name(const struct kp_stability *stability, enum kp_shape_dim dim)
{
	const char *name = dim >= KP_SHAPE_SIZE_1 ? stability->sizes[dim - KP_SHAPE_SIZE_1] : NULL;

	return name ? name : kp_shape_dim_name(dim);
}

struct kp_text kp_shape_size_name(struct kp_text names, unsigned size)
{
	size_t begin = 0, end;

	if (!names.length)
		return (struct kp_text){"", 0};
	for (;; begin = end + 1, size--) {
		for (end = begin; end < names.length && names.bytes[end] != ','; end++)
			;
		if (size == 0)
			return (struct kp_text){names.bytes + begin, end - begin};
		if (end == names.length)
			return (struct kp_text){"", 0};
	}
}

const char *kp_shapes_verdict_name(enum kp_shapes_verdict verdict)
{
	static const char *const names[] = {
#define ROW(NAME, name) name,
		KP_SHAPES_VERDICTS(ROW)
#undef ROW
	};

	return names[verdict];
}

enum kp_shape_source kp_shape_source(const struct kp_shape_use *use)
{
	if (!use->call)
		return KP_SHAPE_FROM_LAUNCH;
	return use->call->from == KP_LIBRARY_FROM_PARAMETERS ? KP_SHAPE_FROM_PARAMETERS
							     : KP_SHAPE_FROM_CALL;
}

uint32_t kp_shape_dims_of(enum kp_shape_source source)
{
	static const uint32_t dims[] = {
#define IS_LAUNCH(NAME, of, name, ordered)                                                         \
	(KP_SHAPE_FROM_##of == KP_SHAPE_FROM_LAUNCH) << KP_SHAPE_##NAME |
#define IS_CALL(NAME, of, name, ordered)                                                           \
	(KP_SHAPE_FROM_##of == KP_SHAPE_FROM_CALL) << KP_SHAPE_##NAME |
		KP_SHAPE_DIMS(IS_LAUNCH) 0U, KP_SHAPE_DIMS(IS_CALL) 0U,
		KP_SHAPE_DIMS(IS_CALL) 0U, /* KP_SHAPE_FROM_PARAMETERS */
#undef IS_LAUNCH
#undef IS_CALL
	};

	return dims[source];
}

uint32_t kp_shape_dims_ordered(void)
{
#define ORDERED(NAME, source, name, ordered) (uint32_t)(ordered) << KP_SHAPE_##NAME |
	return KP_SHAPE_DIMS(ORDERED) 0U;
#undef ORDERED
}

static uint64_t launch_dim(const struct kp_launch_config *config, enum kp_shape_dim dim)
{
	switch (dim) {
	case KP_SHAPE_GRID_X:
	case KP_SHAPE_GRID_Y:
	case KP_SHAPE_GRID_Z:
		return config->grid[dim - KP_SHAPE_GRID_X];
	case KP_SHAPE_BLOCK_X:
	case KP_SHAPE_BLOCK_Y:
	case KP_SHAPE_BLOCK_Z:
		return config->block[dim - KP_SHAPE_BLOCK_X];
	case KP_SHAPE_STATIC_SHARED:
		return config->static_shared_bytes;
	case KP_SHAPE_DYNAMIC_SHARED:
		return config->dynamic_shared_bytes;
	default:
		return 0;
	}
}

/* Codes are small numbers; several in one. */
static uint64_t packed(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return a ^ b << 16 ^ c << 32 ^ d << 48;
}

static uint64_t call_dim(const struct kp_shape_use *use, enum kp_shape_dim dim)
{
	const struct kp_library_call *call = use->call;

	switch (dim) {
	case KP_SHAPE_M:
		return call->m;
	case KP_SHAPE_N:
		return call->n;
	case KP_SHAPE_K:
		return call->k;
	case KP_SHAPE_BATCH:
		return call->batch;
	case KP_SHAPE_INPUT_TYPES:
		return packed(call->a_type, call->b_type, 0, 0);
	case KP_SHAPE_OUTPUT_TYPES:
		return packed(call->c_type, call->d_type, call->compute_type, call->scale_type);
	case KP_SHAPE_LAYOUT:
		return packed(call->transpose_a, call->transpose_b, call->row_major, 0);
	case KP_SHAPE_EPILOGUE:
		return call->epilogue;
	case KP_SHAPE_OPERATION:
		return packed(call->kind ^ call->causal << 8, call->groups, 0, 0) ^
		       (uint64_t)use->detail << 32;
	default:
		return dim >= KP_SHAPE_SIZE_1 ? kp_library_sizes(call)[dim - KP_SHAPE_SIZE_1] : 0;
	}
}

uint64_t kp_shape_dim(const struct kp_shape_use *use, enum kp_shape_dim dim)
{
	return use->call ? call_dim(use, dim) : launch_dim(use->config, dim);
}
