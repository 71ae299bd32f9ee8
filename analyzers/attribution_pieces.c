/* Launches longer than a sample, in pieces; see struct kp_class_times. */
#include <math.h>

#include "analyzers/attribution_parts.h"

/* How firmly rates of neighbouring pieces are taken to be alike, of the evidence: it decides only
 * what samples cannot tell, such as where each launch begins at the same place in a sample. */
#define ALIKE 1e-5

/* Sizes of the pieces, as parts of the window. */
static void fill_sizes(const struct kp_class_times *times, double *sizes)
{
	double last = 0;

	for (size_t p = 0; p < KP_PIECES / 2; p++) {
		sizes[p] = sizes[KP_PIECES - 1 - p] = times->ends[p] - last;
		last = times->ends[p];
	}
	sizes[KP_PIECES / 2] = 1 - 2 * last;
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
	double tie = ALIKE * evidence;
	for (size_t p = 1, last = 0; p < KP_PIECES; p++) {
		if (!(sizes[p] > 0))
			continue;
		size_t a = column_of(class, more, last), b = column_of(class, more, p);
		matrix[a * n + a] += tie / (sizes[last] * sizes[last]);
		matrix[b * n + b] += tie / (sizes[p] * sizes[p]);
		matrix[b * n + a] -= tie / (sizes[last] * sizes[p]);
		last = p;
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
