/* Softmax in float64; see kernels/softmax.h. */
#include <math.h>

#include "kernels/reference/number.h"
#include "kernels/softmax.h"

/* The values v of a row into y. */
static void load(const struct kp_softmax_args *args, int64_t outer, int64_t query, double *y)
{
	int64_t x = outer * args->x_outer + query * args->x_query;
	int64_t seen = args->causal ? query + 1 + args->columns - args->queries : args->columns;
	int64_t mask = 0;

	if (args->mask)
		mask = outer / args->mask_outer_group * args->mask_outer + query * args->mask_query;
	for (int64_t i = 0; i < args->columns; i++) {
		if (i >= seen) {
			y[i] = -INFINITY;
			continue;
		}
		y[i] = (double)args->scale * kp_number_load(args->x, args->dtype, x + i);
		if (args->mask)
			y[i] += kp_number_load(args->mask, args->dtype, mask + i);
	}
}

void kp_softmax_reference(const struct kp_softmax_args *args, double *y)
{
	for (uint64_t row = 0; args->columns && row < (uint64_t)args->outer * args->queries;
	     row++, y += args->columns) {
		double most = -INFINITY, total = 0;

		load(args, (int64_t)(row / args->queries), (int64_t)(row % args->queries), y);
		for (uint32_t i = 0; i < args->columns; i++)
			most = fmax(most, y[i]);
		for (uint32_t i = 0; i < args->columns; i++) {
			y[i] = exp(y[i] - most);
			total += y[i];
		}
		for (uint32_t i = 0; i < args->columns; i++)
			y[i] /= total;
	}
}
