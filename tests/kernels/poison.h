/* What a plan holds before it is made: a field that a planner forgets stays so, and is seen. */
#ifndef KP_TESTS_KERNELS_POISON_H
#define KP_TESTS_KERNELS_POISON_H

#include "kernels/kernels.h"

#define KP_TEST_POISON                                                                             \
	{                                                                                          \
		.grid_x = UINT32_MAX, .grid_y = UINT32_MAX, .threads = UINT32_MAX,                 \
		.team = UINT32_MAX, .vectors = UINT32_MAX, .shared_bytes = UINT32_MAX,             \
	}
#define KP_TEST_SHARED_MOST (227U << 10) /* of a block, on any GPU */

#endif
