/* The tables of torch_kernels.def and torch_functors.def, for what classifies and what decodes. */
#ifndef KP_ANALYZERS_TORCH_KERNELS_H
#define KP_ANALYZERS_TORCH_KERNELS_H

#include "analyzers/torch_launch.h"

/* X(NAME): how parameters lie. */
#define KP_TORCH_LAYOUTS(X)                                                                        \
	X(VECTORIZED)                                                                              \
	X(UNROLLED)                                                                                \
	X(UNROLLED_CAST)                                                                           \
	X(STRIDED)                                                                                 \
	X(STRIDED_CAST)                                                                            \
	X(REDUCE_4)                                                                                \
	X(REDUCE_8)                                                                                \
	X(SOFTMAX_WARP)                                                                            \
	X(SOFTMAX_BLOCK)                                                                           \
	X(NORM)                                                                                    \
	X(CAT)                                                                                     \
	X(CAT_VECTOR)                                                                              \
	X(GATHER)

enum kp_torch_layout {
#define KP_TORCH_LAYOUT_ENUM(NAME) KP_TORCH_LAYOUT_##NAME,
	KP_TORCH_LAYOUTS(KP_TORCH_LAYOUT_ENUM)
#undef KP_TORCH_LAYOUT_ENUM
		KP_TORCH_LAYOUT_COUNT
};

#define KP_TORCH_PARAMS 9

/* Of a parameter, where it is not a number of bytes; see torch_kernels.def. */
enum { KP_TORCH_SIZE_F = -4, KP_TORCH_SIZE_P, KP_TORCH_SIZE_C, KP_TORCH_SIZE_L };

struct kp_torch_kernel {
	const char *name, *suffix;
	uint8_t layout, op, seen, seen_tensors, params;
	int16_t sizes[KP_TORCH_PARAMS];
};

enum { KP_TORCH_SCALAR_NONE, KP_TORCH_SCALAR_AT, KP_TORCH_SCALAR_OF, KP_TORCH_SCALAR_IS };

struct kp_torch_functor {
	uint8_t op;
	const char *pattern, *tensors;
	uint8_t bytes, align; /* bytes 0: those of the output's type */
	struct {
		uint8_t kind;
		int8_t value; /* an offset, or the scalar */
	} scalars[2];
	uint8_t seen;
};

/* Where things stand in the closure that a strided kernel takes. */
struct kp_torch_closure {
	uint32_t data, functor, types, bytes;
};

/* OffsetCalculator: dimensions that it has room for. */
#define KP_TORCH_CALCULATOR_DIMS 25U
/* Its dimensions, and for each what divides by its size: size, factor, shift. */
#define KP_TORCH_CALCULATOR_STRIDES (4U + 12U * KP_TORCH_CALCULATOR_DIMS)

static inline uint32_t kp_torch_align(uint32_t offset, uint32_t align)
{
	return (offset + align - 1) / align * align;
}

/* The calculator, the tensors' addresses, the function, casts' types, and a pointer of nvcc's. */
static inline struct kp_torch_closure kp_torch_closure_of(uint32_t tensors, uint32_t bytes,
							  uint32_t align, bool casts)
{
	struct kp_torch_closure closure;

	closure.data = kp_torch_align(
		KP_TORCH_CALCULATOR_STRIDES + 4U * KP_TORCH_CALCULATOR_DIMS * tensors, 8);
	closure.functor = kp_torch_align(closure.data + 8U * tensors, align);
	closure.types = closure.functor + bytes;
	closure.bytes = kp_torch_align(closure.types + (casts ? tensors : 0), 8) + 8;
	return closure;
}

/* Bytes of a function; of what casting loads know of `tensors` tensors, output included. */
uint32_t kp_torch_functor_bytes(const struct kp_torch_kind *kind);

#endif
