/*
 * Kernels with PyTorch's names, which read their parameters where PyTorch 2.11's kernels have them
 * (docs/torch-launches.md), and launches of them; for prog_torch.
 */
#ifndef KP_FAKE_GPU_TORCH_KERNELS_H
#define KP_FAKE_GPU_TORCH_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "tests/fake_gpu/common/image.h"

/* X(name, what it does) */
#define TORCH_KERNELS(X)                                                                           \
	X(WIDEN, "f32 of bf16, by run-time types")                                                 \
	X(SQUARE, "f32")                                                                           \
	X(MEAN, "f32, over the columns of rows")                                                   \
	X(ADD_EPS, "f32, with a scalar")                                                           \
	X(RSQRT, "f32")                                                                            \
	X(MUL_ROWS, "f32, times one number a row, by strides")                                     \
	X(NARROW, "bf16 of f32")                                                                   \
	X(MUL_COLUMNS, "bf16, times one number a column, by strides")                              \
	X(ADD, "bf16")                                                                             \
	X(SILU, "bf16")                                                                            \
	X(MUL, "bf16")                                                                             \
	X(SHIFT, "of no known name: bytes, from one address to another")

enum torch_kernel {
#define TORCH_ENUM(name, what) TORCH_##name,
	TORCH_KERNELS(TORCH_ENUM)
#undef TORCH_ENUM
		TORCH_KERNEL_COUNT
};

extern const struct kp_fake_kernel torch_kernels[TORCH_KERNEL_COUNT];

enum { TORCH_PARAMS = 8, TORCH_PARAM_BYTES = 1056, TORCH_ELEMENTS = 64, TORCH_OPERANDS = 3 };

/* Operands, the result first; rows and columns of the result. */
struct torch_work {
	enum torch_kernel kernel;
	uint32_t rows, columns;
	uint64_t operands[TORCH_OPERANDS];
	float scalar; /* eps */
};

/* The parameters of a launch, as cuLaunchKernel takes them. */
struct torch_call {
	unsigned char bytes[TORCH_PARAMS][TORCH_PARAM_BYTES];
	void *parameters[TORCH_PARAMS];
};
void torch_call_make(const struct torch_work *work, struct torch_call *out);

#endif
