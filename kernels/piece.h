/*
 * A piece of what a call of a built-in computes, small enough to be computed anew in float64 on the
 * CPU: a row, or some of its elements. For A/B, where inputs are copied to the host for that.
 *
 * Pure but for kp_piece_compare, which reads host memory. attention_prefill has no pieces: one of
 * its rows needs all keys.
 */
#ifndef KP_KERNELS_PIECE_H
#define KP_KERNELS_PIECE_H

#include "kernels/activation.h"
#include "kernels/linear_skinny.h"
#include "kernels/norm.h"
#include "kernels/softmax.h"
#include "trace/ab_plan.h"

#define KP_PIECE_RANGES 4
#define KP_PIECE_INPUTS 65536U  /* elements of all ranges */
#define KP_PIECE_RESULTS 16384U /* elements, at most */

/* Of an input: where it lies, and which member of the arguments points to it. */
struct kp_piece_range {
	uint64_t address, bytes;
	size_t member; /* offset */
};

union kp_piece_args {
	struct kp_linear_skinny_args linear_skinny;
	struct kp_norm_args norm;
	struct kp_activation_args activation;
	struct kp_softmax_args softmax;
};

struct kp_piece {
	uint32_t builtin; /* enum kp_ab_builtin */
	struct kp_piece_range ranges[KP_PIECE_RANGES];
	uint32_t range_count;
	uint64_t result;   /* where the first element is written; the others follow */
	uint32_t elements; /* of the result */
	enum kp_dtype dtype;
	union kp_piece_args args; /* of the piece alone; pointers are the device's */
};

/* `args`: those of the built-in. `draw` chooses which piece. False: none is small enough. */
bool kp_piece_find(uint32_t builtin, const void *args, uint64_t draw, struct kp_piece *out);

/* Sums of squares over the elements that are finite everywhere. */
struct kp_piece_errors {
	double original2, candidate2; /* off from float64 */
	double truth2;                /* of float64 itself */
	uint64_t elements;
};

/* Adds to *out. `inputs`: copies of the ranges; the results as they were stored. */
enum kp_status kp_piece_compare(const struct kp_piece *piece, const void *const *inputs,
				const void *original, const void *candidate,
				struct kp_piece_errors *out);

#endif
