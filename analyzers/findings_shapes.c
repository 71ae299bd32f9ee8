/* Findings about shapes; what shapes are, and when there are too many, is in shapes.h. */
#include "analyzers/findings_search.h"

void kp_find_many_shapes(struct kp_search *search)
{
	const struct kp_report *report = search->report;

	for (size_t i = 0; i < report->operator_count; i++) {
		const struct kp_operator_row *row = &report->operators[i];
		const struct kp_stability *stability = row->stability;
		struct kp_rows rows = kp_rows_of_operator(search, row);
		struct kp_finding *finding;

		/* Only of what would be worth specialising. */
		if (!row->above_threshold || stability->verdict != KP_SHAPES_NOT_WORTH)
			continue;
		finding = kp_search_add(search, KP_FINDING_MANY_SHAPES, KP_CONFIDENCE_MEDIUM);
		kp_search_about_operator(search, finding, i, &rows);
		kp_search_say(search, finding,
			      "%s comes in %llu shapes, of which it would take %llu to hold %.0f "
			      "%% of %s time: no few versions would serve",
			      row->name, (unsigned long long)stability->count,
			      (unsigned long long)stability->versions_each, KP_SHAPES_HELD_PCT,
			      stability->versions_each < stability->versions ? "one kernel's"
									     : "its");
		finding->win.formula = "none by itself: it says what cannot be specialised";
		kp_search_shapes(finding, stability);
	}
}

void kp_search_shapes(struct kp_finding *finding, const struct kp_stability *stability)
{
	kp_finding_evidence(finding, "distinct_shapes", (double)stability->count, "measured");
	kp_finding_evidence(finding, "versions_for_90_pct", (double)stability->versions,
			    "measured");
	kp_finding_evidence(finding, "top_shape_pct", stability->top_pct, "measured");
}
