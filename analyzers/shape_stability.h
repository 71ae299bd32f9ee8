/* From the shapes of a kernel or an operator to how stable they are; shapes.h says what that is. */
#ifndef KP_ANALYZERS_SHAPE_STABILITY_H
#define KP_ANALYZERS_SHAPE_STABILITY_H

#include "analyzers/shapes.h"
#include "trace/arena.h"
#include "trace/status.h"

/* Growth is looked for among so many uses, the first that are given. */
#define KP_SHAPES_GROWTH_USES 65536

struct kp_shapes_input {
	const struct kp_shape_use *uses; /* of one kernel, or of all kernels of an operator */
	size_t count;
	/* By row: which dimensions of launches grow, as found for each kernel. NULL: one kernel. */
	const uint32_t *grows_of_row;
	double spread; /* of one kernel's durations: standard deviation ÷ mean; NaN: not known */
};

/*
 * Summarises. Shapes of launches are told apart by kernel too, those of library calls are not: the
 * kernels that a library chose for a call all serve its shape. The list and the reason are in the
 * arena; `kernel` of the shapes is left 0. Time: count · log(count); memory for as many uses again.
 * Errors: KP_NO_MEMORY.
 */
enum kp_status kp_shapes_summarise(const struct kp_shapes_input *input, struct kp_arena *arena,
				   struct kp_stability *out);

/* shape_keys.c: the value of a use; 0 for dimensions of the other source. */
uint64_t kp_shape_dim(const struct kp_shape_use *use, enum kp_shape_dim dim);
/* Dimensions of a source, and those that have an order, as bits. */
uint32_t kp_shape_dims_of(enum kp_shape_source source);
uint32_t kp_shape_dims_ordered(void);

/* shape_reason.c: one sentence on it, in the arena; NULL without memory. */
const char *kp_shapes_reason(const struct kp_stability *stability, uint64_t launches, double spread,
			     struct kp_arena *arena);

#endif
