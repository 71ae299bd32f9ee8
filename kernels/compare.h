/*
 * Comparing two matrices where they lie, and what goes with it: copying, checksums, guard zones.
 *
 * For A/B: the original's output against the candidate's. Every element is looked at. A matrix is
 * rows × columns of bf16, fp16 or fp32 with strides in elements; sums are float64, and the same
 * arguments give the same bits each time: no atomics, a part of the result for each block, added up
 * by the host in order.
 *
 * Bytes: each element of both matrices once a pass; two passes for a comparison, the second of
 * which knows the rms of the first. Bound by memory.
 *
 * Tolerance, for kp_compare itself: none but the rounding of sums in float64.
 */
#ifndef KP_KERNELS_COMPARE_H
#define KP_KERNELS_COMPARE_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KP_COMPARE_BLOCKS 128U /* parts of a result, at most */
#define KP_COMPARE_THREADS 128U
#define KP_COMPARE_ELEMENTS 1024U /* of a block, where there are few */

/* Blocks, and parts of a result, for so many elements. */
static inline uint32_t kp_compare_blocks(uint64_t elements)
{
	uint64_t blocks = (elements + KP_COMPARE_ELEMENTS - 1) / KP_COMPARE_ELEMENTS;

	return blocks < 1 ? 1 : blocks > KP_COMPARE_BLOCKS ? KP_COMPARE_BLOCKS : (uint32_t)blocks;
}

struct kp_matrix {
	void *data;
	uint64_t rows, columns;
	int64_t row_stride, column_stride;
	enum kp_dtype dtype; /* KP_DTYPE_BF16, KP_DTYPE_FP16 or KP_DTYPE_FP32 */
};

/* The element of each part that is furthest off. */
struct kp_compare_worst {
	uint64_t row, column;
	double original, candidate; /* as they are, NaN and infinity too */
	double difference; /* INFINITY where one of them is none of numbers; -1: no element */
};

/* What one block has seen. */
struct kp_compare_part {
	double difference2, original2, candidate2, product; /* sums, of finite pairs */
	double largest;                                     /* difference of a finite pair */
	uint64_t elements, finite;
	uint64_t mismatches;     /* beyond the tolerance, or of another mask; second pass */
	uint64_t mask_different; /* one is NaN or infinite, the other is not the same */
	uint64_t gaps;           /* of the candidate, between rows: not poison; second pass */
	uint64_t ulps;           /* the most, of a finite pair */
	struct kp_compare_worst worst;
};

struct kp_compare_args {
	struct kp_matrix original, candidate; /* of one size and type */
	double relative, scaled;              /* an element may be off by relative · |original|
						 + scaled · rms of the originals, */
	uint64_t free_ulps;                   /* and is never wrong at so many or fewer */
	uint32_t poison;                      /* what gaps of the candidate hold */
	uint32_t pass;                        /* 0, 1 */
	struct kp_compare_part *parts;        /* 2 · KP_COMPARE_BLOCKS in device memory, by pass */
};

/* What becomes of elements that are copied: of NaN, infinity and subnormal numbers no half. */
enum kp_copy_change { KP_COPY_PLAIN, KP_COPY_NEGATED, KP_COPY_HALVED };

struct kp_copy_args {
	struct kp_matrix from, to; /* of one size and type */
	uint32_t change;           /* enum kp_copy_change */
};

/* A sum over elements and places that any change of an element changes, a part for each block. */
struct kp_checksum_args {
	struct kp_matrix matrix;
	uint64_t *parts;
};

/* Words that are not `poison` in two ranges, which are short; one part. */
struct kp_guard_args {
	const uint32_t *range[2];
	uint64_t words[2];
	uint32_t poison;
	uint64_t *part;
};

struct kp_compare; /* code that is loaded for the context that was current */

/* As kp_kernels_create, with the same errors; `driver` may not be NULL. */
enum kp_status kp_compare_create(const struct kp_kernels_driver *driver, struct kp_compare **out,
				 int *driver_error);
void kp_compare_destroy(struct kp_compare *compare);

/* Each enqueues one launch. Errors: KP_INVALID (a type that is not one of the three), KP_IO. */
enum kp_status kp_compare_pass(const struct kp_compare *compare, const struct kp_compare_args *args,
			       void *stream);
enum kp_status kp_compare_copy(const struct kp_compare *compare, const struct kp_copy_args *args,
			       void *stream);
enum kp_status kp_compare_checksum(const struct kp_compare *compare,
				   const struct kp_checksum_args *args, void *stream);
enum kp_status kp_compare_guard(const struct kp_compare *compare, const struct kp_guard_args *args,
				void *stream);

#ifdef __cplusplus
}
#endif

#endif
