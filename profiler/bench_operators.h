/*
 * The operators of libkprof_kernels as kprof bench runs them: buffers, launch, reference.
 *
 * A shape is rows × columns (for rope: tokens × query heads). Every buffer but the shared ones has
 * so many elements a row, and rows are independent, so that the reference can take some of them
 * alone.
 */
#ifndef KP_PROFILER_BENCH_OPERATORS_H
#define KP_PROFILER_BENCH_OPERATORS_H

#include "kernels/kernels.h"

#define KP_BENCH_BUFFERS_MOST 12
#define KP_BENCH_SHAPES_MOST 12
#define KP_BENCH_OPERATORS_MOST 32
#define KP_BENCH_TABLE_POSITIONS 4096U

enum kp_bench_role {
	KP_BENCH_INPUT,     /* random numbers of the storage type */
	KP_BENCH_WEIGHT,    /* the same, shared by all rows */
	KP_BENCH_TABLE,     /* random fp32, shared by all rows */
	KP_BENCH_POSITIONS, /* of 8 bytes, below KP_BENCH_TABLE_POSITIONS */
	KP_BENCH_SLOTS,     /* of 8 bytes, the number of the row */
	KP_BENCH_OUTPUT,
	KP_BENCH_CHECKED, /* the output that the reference gives */
};

struct kp_bench_shape {
	uint32_t rows, columns;
};

struct kp_bench_layout {
	struct kp_bench_buffer {
		enum kp_bench_role role;
		uint64_t elements; /* a row; shared: all */
		uint32_t element_bytes;
	} buffers[KP_BENCH_BUFFERS_MOST];
	size_t count;
};

/* A launch: pointers in the order of the layout. */
struct kp_bench_call {
	struct kp_bench_shape shape;
	enum kp_dtype dtype;
	void *const *buffers;
	bool dependent;
	void *stream;
};

struct kp_bench_operator {
	const char *name, *what;
	void (*layout)(const struct kp_bench_shape *shape, struct kp_bench_layout *out);
	enum kp_status (*plan)(const struct kp_bench_call *call,
			       const struct kp_kernel_device *device, struct kp_kernel_plan *out);
	enum kp_status (*enqueue)(const struct kp_kernels *kernels,
				  const struct kp_bench_call *call);
	/* On host memory: what the checked output must hold. */
	void (*reference)(const struct kp_bench_call *call, double *expected);
	struct kp_bench_shape shapes[KP_BENCH_SHAPES_MOST]; /* ended by 0 × 0 */
};

extern const struct kp_bench_operator kp_bench_operators[];
extern const size_t kp_bench_operator_count;

#endif
