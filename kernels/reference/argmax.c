/* Argmax on the CPU; see kernels/argmax.h. */
#include "kernels/argmax.h"

#include <math.h>

#include "kernels/reference/number.h"

void kp_argmax_reference(const struct kp_argmax_args *args, int64_t *index, double *value)
{
	for (int64_t row = 0; row < args->rows; row++) {
		double most = kp_number_load(args->x, args->dtype, row * args->x_row);

		index[row] = 0;
		for (int64_t i = 1; i < args->columns && !isnan(most); i++) {
			double one = kp_number_load(args->x, args->dtype,
						    row * args->x_row + i * args->x_column);

			if (!isnan(one) && one <= most)
				continue;
			most = one;
			index[row] = i;
		}
		if (value)
			value[row] = most;
	}
}
