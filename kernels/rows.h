/* How operators that reduce rows choose a version: a table of them, tried from the top. Not
 * installed. */
#ifndef KP_KERNELS_ROWS_H
#define KP_KERNELS_ROWS_H

#include "kernels/kernels.h"

enum kp_row_kind {
	KP_ROW_TEAM,  /* a team of 1 to 32 lanes a row, several a block */
	KP_ROW_BLOCK, /* a block a row, as many threads as hold it */
	KP_ROW_LOOP,  /* a block of all `threads` a row, whatever its length */
};

struct kp_row_version {
	enum kp_kernel_id kernel;
	enum kp_row_kind kind;
	uint32_t vectors;     /* of 16 bytes a thread; 0: single elements, any alignment */
	uint32_t threads;     /* of a block, at most */
	uint32_t rows_per_sm; /* taken for so many rows a multiprocessor at most; 0: for any number
			       */
};

/* Whether a version can take rows of so many columns. */
bool kp_row_version_takes(const struct kp_row_version *version, uint32_t columns, bool aligned);

/*
 * The first version of the table that takes them; the last must take all. `aligned`: all pointers
 * and strides allow vectors. No rows or no columns: a grid of none.
 */
void kp_rows_plan(const struct kp_row_version *table, size_t count, uint64_t rows, uint32_t columns,
		  bool aligned, const struct kp_kernel_device *device, struct kp_kernel_plan *out);

#endif
