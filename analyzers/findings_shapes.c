/*
 * Findings about shapes. All that is known here of a shape is the launch's: grid, block and shared
 * memory. A kernel's time in the configuration with most of it says how stable it is.
 */
#include "analyzers/findings_search.h"

#include <math.h>

/* So much of the time in the top shapes is stable; less, over so many shapes, is not. */
#define STABLE_PCT 60.0
#define UNSTABLE_PCT 30.0
#define MANY 16

struct kp_spread_of_shapes kp_search_shapes(const struct kp_search *search,
					    const struct kp_operator_row *operator_row)
{
	const struct kp_report *report = search->report;
	struct kp_spread_of_shapes spread = {0};
	double top_ns = 0;

	for (size_t i = 0; i < operator_row->kernel_count; i++) {
		const struct kp_kernel_row *kernel =
			&report->kernels[operator_row->first_kernel + i];

		spread.shapes += kernel->config_count;
		top_ns += (double)kernel->config_ns;
	}
	if (operator_row->durations.total_ns)
		spread.top_pct = 100 * top_ns / (double)operator_row->durations.total_ns;
	spread.stable = spread.top_pct >= STABLE_PCT;
	return spread;
}

void kp_find_many_shapes(struct kp_search *search)
{
	const struct kp_report *report = search->report;

	for (size_t i = 0; i < report->operator_count; i++) {
		const struct kp_operator_row *row = &report->operators[i];
		struct kp_spread_of_shapes spread = kp_search_shapes(search, row);
		struct kp_rows rows = kp_rows_of_operator(search, row);
		struct kp_finding *finding;

		/* Only of what would be worth specialising. */
		if (!row->above_threshold || spread.shapes < MANY || spread.top_pct >= UNSTABLE_PCT)
			continue;
		finding = kp_search_add(search, KP_FINDING_MANY_SHAPES, KP_CONFIDENCE_MEDIUM);
		kp_search_about_operator(search, finding, i, &rows);
		kp_search_say(search, finding,
			      "%s comes in %llu launch shapes, and those with most time hold only "
			      "%.0f %% of it: no few versions would serve",
			      row->name, (unsigned long long)spread.shapes, spread.top_pct);
		finding->win.formula = "none by itself: it says what cannot be specialised";
		kp_finding_evidence(finding, "launch_shapes", (double)spread.shapes, "measured");
		kp_finding_evidence(finding, "top_shapes_pct", spread.top_pct, "measured");
	}
}
