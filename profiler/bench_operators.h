/*
 * The operators of libkprof_kernels as kprof bench runs them: buffers, launch, reference.
 *
 * A shape has sizes by name (bench_shapes.h: rows × columns; for rope tokens × query heads). One of
 * them counts units that are independent (rows, outputs, sequences), so that the reference can take
 * some of them alone. A buffer that is not shared has `planes` of so many elements a unit: element
 * (plane, unit, i) is at (plane · units + unit) · elements + i.
 */
#ifndef KP_PROFILER_BENCH_OPERATORS_H
#define KP_PROFILER_BENCH_OPERATORS_H

#include "kernels/kernels.h"
#include "profiler/bench_shapes.h"

#define KP_BENCH_BUFFERS_MOST 12
#define KP_BENCH_OPERATORS_MOST 32
#define KP_BENCH_TABLE_POSITIONS 4096U

enum kp_bench_role {
	KP_BENCH_INPUT,     /* random numbers of the storage type */
	KP_BENCH_WEIGHT,    /* the same, shared by all units */
	KP_BENCH_NARROW,    /* random numbers of the type that the shape names */
	KP_BENCH_TABLE,     /* random fp32, shared by all units */
	KP_BENCH_SCALES,    /* fp32 above 0, 1/64 at most */
	KP_BENCH_POSITIONS, /* of 8 bytes, below KP_BENCH_TABLE_POSITIONS */
	KP_BENCH_SLOTS,     /* of 8 bytes, the number of the unit */
	KP_BENCH_UNIFORMS,  /* fp32 of [0, 1) */
	KP_BENCH_LENGTHS,   /* of 4 bytes, keys of a sequence */
	KP_BENCH_PAGES,     /* of 4 bytes, the pages of a sequence: scattered, no two the same */
	KP_BENCH_WORKSPACE, /* as many bytes as the operator asks for, shared */
	KP_BENCH_OUTPUT,
	KP_BENCH_CHECKED, /* the output that the reference gives, of the storage type, or */
	KP_BENCH_INDICES, /* the same, of 4 bytes: whole numbers that must be the same */
};

struct kp_bench_layout {
	struct kp_bench_buffer {
		enum kp_bench_role role;
		uint64_t elements; /* a unit and plane; shared: all */
		uint32_t element_bytes;
		uint32_t planes;
		bool by_length; /* of it a launch reads what the lengths say */
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
	const char *shapes; /* by default, as --shape has them, apart by blanks */
	/* What follows is NULL for operators on rows. */
	const struct kp_bench_form *form;
	/* Instead of `reference`: also what a result may be off besides half a unit in the last
	 * place; INFINITY: it is not known. Else that is a share of the largest result of the row.
	 */
	void (*bounded)(const struct kp_bench_call *call, double *expected, double *slack);
	/* Why it cannot run, NULL if it can; and bytes of workspace. */
	const char *(*trouble)(const struct kp_bench_call *call);
	size_t (*workspace)(const struct kp_bench_call *call,
			    const struct kp_kernel_device *device);
	/* NULL: bytes alone count. */
	double (*flops)(const struct kp_bench_shape *shape);
};

extern const struct kp_bench_operator kp_bench_operators[];
extern const size_t kp_bench_operator_count;

/* NULL: there is none of that name. */
const struct kp_bench_operator *kp_bench_find(const char *name);

/* What its shapes consist of. */
const struct kp_bench_form *kp_bench_form_of(const struct kp_bench_operator *operator);

#endif
