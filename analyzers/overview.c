/* Kernel time in equal stretches; see overview.h. Pure. */
#include "analyzers/overview.h"

#include <stdlib.h>
#include <string.h>

/* The first stretches: they double from there. */
#define LEAST_NS 1024

static enum kp_status begin(struct kp_overview_line *line, size_t operators, uint64_t start_ns)
{
	line->time_ns = calloc(operators * KP_OVERVIEW_BINS, sizeof *line->time_ns);
	if (!line->time_ns)
		return KP_NO_MEMORY;
	line->operators = operators;
	line->origin_ns = start_ns;
	line->bin_ns = LEAST_NS;
	return KP_OK;
}

/* Each two stretches become one. */
static void widen(struct kp_overview_line *line)
{
	for (size_t i = 0; i < line->operators; i++) {
		double *bins = line->time_ns + i * KP_OVERVIEW_BINS;

		for (size_t bin = 0; bin < KP_OVERVIEW_BINS / 2; bin++)
			bins[bin] = bins[2 * bin] + bins[2 * bin + 1];
		memset(bins + KP_OVERVIEW_BINS / 2, 0, KP_OVERVIEW_BINS / 2 * sizeof *bins);
	}
	line->bins = (line->bins + 1) / 2;
	line->bin_ns *= 2;
}

enum kp_status kp_overview_add(struct kp_overview_line *line, size_t operators, size_t index,
			       uint64_t start_ns, uint64_t end_ns)
{
	if (line->bin_ns == 0) {
		enum kp_status status = begin(line, operators, start_ns);

		if (status != KP_OK)
			return status;
	}
	/* Batches come in order of their starts: what is earlier is of a damaged trace. */
	uint64_t from = start_ns > line->origin_ns ? start_ns - line->origin_ns : 0;
	uint64_t to = end_ns > line->origin_ns ? end_ns - line->origin_ns : 0;
	while (to > line->bin_ns * KP_OVERVIEW_BINS)
		widen(line);
	if (index >= line->operators)
		return KP_OK;
	double *bins = line->time_ns + index * KP_OVERVIEW_BINS;
	while (from < to) {
		size_t bin = (size_t)(from / line->bin_ns);
		uint64_t edge = ((uint64_t)bin + 1) * line->bin_ns;
		uint64_t until = edge < to ? edge : to;

		bins[bin] += (double)(until - from);
		line->bins = bin + 1 > line->bins ? bin + 1 : line->bins;
		from = until;
	}
	return KP_OK;
}

void kp_overview_line_fini(struct kp_overview_line *line)
{
	free(line->time_ns);
	*line = (struct kp_overview_line){0};
}
