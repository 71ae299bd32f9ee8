/* Launches longer than a sample, in pieces; see struct kp_class_times. */
#include <math.h>

#include "analyzers/attribution_parts.h"

/* How firmly rates of neighbouring pieces are taken to be alike, of the evidence: it decides only
 * what samples cannot tell, such as where each launch begins at the same place in a sample. */
#define ALIKE 1e-5

/* Sizes of the pieces, as parts of the window. */
static void fill_sizes(const struct kp_class_times *times, double *sizes)
{
	double next = times->near_part - times->edge_part;

	sizes[0] = sizes[4] = times->edge_part;
	sizes[1] = sizes[3] = next;
	sizes[2] = fmax(1 - 2 * times->near_part, 0);
}

static size_t column_of(size_t class, size_t more, size_t piece)
{
	return piece ? more + piece - 1 : class;
}

void kp_pieces_tie(const struct kp_class_times *times, size_t class, size_t more, double *matrix,
		   size_t n)
{
	double sizes[KP_PIECES], evidence = 0;

	fill_sizes(times, sizes);
	for (size_t p = 0; p < KP_PIECES; p++) {
		size_t column = column_of(class, more, p);

		evidence += sizes[p] * sizes[p] * matrix[column * n + column];
	}
	for (size_t p = 0; p + 1 < KP_PIECES; p++) {
		size_t q = p == 1 && !(sizes[2] > 0) ? 3 : p + 1;
		double tie = ALIKE * evidence;

		if (!(sizes[p] > 0))
			continue;
		size_t a = column_of(class, more, p), b = column_of(class, more, q);
		matrix[a * n + a] += tie / (sizes[p] * sizes[p]);
		matrix[b * n + b] += tie / (sizes[q] * sizes[q]);
		matrix[b * n + a] -= tie / (sizes[p] * sizes[q]);
	}
}

double kp_pieces_unlike(const struct kp_class_times *times, size_t class, size_t more,
			const double *x)
{
	double sizes[KP_PIECES], last = 0, sum = 0;

	fill_sizes(times, sizes);
	for (size_t p = 0; p < KP_PIECES; p++) {
		if (!(sizes[p] > 0))
			continue;
		double rate = x[column_of(class, more, p)] / sizes[p];

		sum += p ? fabs(rate - last) : 0;
		last = rate;
	}
	return sum;
}
