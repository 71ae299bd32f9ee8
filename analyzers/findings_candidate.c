/* Findings about the largest operators: replace one, leave it alone, or neither. */
#include "analyzers/findings_search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Operators of which a specialised kernel is never the answer. */
static const char *const never[] = {"communication", "copy", "memory", "autotuning"};

static bool is_never(const char *name)
{
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (strcmp(name, never[i]) == 0)
			return true;
	return false;
}

static bool is_unknown(const struct kp_operator_row *row)
{
	return strcmp(row->name, "unknown") == 0;
}

/* ---- near the limit ---- */

static double nearness(const struct kp_row_traffic *traffic)
{
	return fmax(traffic->peak_pct, traffic->tensor_pct); /* of one that is NaN the other */
}

static void say_near_limit(struct kp_search *search, size_t index, const struct kp_rows *rows,
			   const struct kp_rows *left, double near_pct, bool measured)
{
	const struct kp_operator_row *row = &search->report->operators[index];
	struct kp_finding *finding =
		kp_search_add(search, KP_FINDING_NEAR_LIMIT,
			      measured ? KP_CONFIDENCE_HIGH : KP_CONFIDENCE_MEDIUM);

	kp_search_about_operator(search, finding, index, rows);
	kp_search_say(
		search, finding,
		"Leave %s alone: %.1f %% of kernel time, but already at %.0f %% of what the GPU "
		"can do",
		is_unknown(row) ? "unknown kernels" : row->name, finding->kernel_pct, near_pct);
	kp_search_win(search, finding, left, 1 - near_pct / 100, 0,
		      "up to the ceiling at most; likely: nothing");
	kp_finding_evidence(finding, "of_nearer_ceiling_pct", near_pct,
			    measured ? "measured" : "estimated");
}

void kp_find_near_limit(struct kp_search *search)
{
	const struct kp_report *report = search->report;

	for (size_t i = 0; report->traffic.any && i < report->operator_count; i++) {
		const struct kp_operator_row *row = &report->operators[i];
		struct kp_rows rows = {0}, left = {0};
		double near_ns = 0;
		bool measured = true;

		for (size_t k = 0; k < row->kernel_count; k++) {
			const struct kp_kernel_row *kernel =
				&report->kernels[row->first_kernel + k];

			if (!(nearness(&kernel->traffic) >= KP_NEAR_LIMIT_PCT))
				continue;
			kp_rows_add_kernel(&rows, search, kernel);
			kp_rows_add_left(&left, search, row->first_kernel + k);
			near_ns += nearness(&kernel->traffic) / 100 *
				   (double)kernel->durations.total_ns;
			measured &= kernel->traffic.source == KP_TRAFFIC_MEASURED;
		}
		if (kp_rows_pct(search, &rows) >= KP_FINDING_LEAST_PCT)
			say_near_limit(search, i, &rows, &left, 100 * near_ns / rows.total_ns,
				       measured);
	}
}

/* ---- candidates ---- */

/* Amdahl: what is left if a part of the span took no time. */
static void bound_words(const struct kp_search *search, double alone_ns, char *out, size_t size)
{
	double pct = 100 * alone_ns / (double)search->report->span_ns;

	if (pct < 90)
		snprintf(out, size,
			 "even at no cost at all, the whole would be %.2f times as fast at most",
			 100 / (100 - pct));
	else
		snprintf(out, size, "it is nearly all of the time");
}

static void win_candidate(struct kp_search *search, struct kp_finding *finding,
			  const struct kp_rows *rows, const struct kp_row_traffic *traffic)
{
	double headroom = search->report->traffic.any ? traffic->headroom : NAN;
	double reached = 100 / KP_CEILING_REACHED_PCT;

	if (!isfinite(headroom)) {
		kp_search_win(
			search, finding, rows, 1, NAN,
			"at most all of it; likely: not known, for its limit was not measured "
			"(--counters on --counter-set all)");
		return;
	}
	if (traffic->source != KP_TRAFFIC_UNKNOWN)
		finding->confidence = traffic->source == KP_TRAFFIC_MEASURED ? KP_CONFIDENCE_HIGH
									     : KP_CONFIDENCE_MEDIUM;
	kp_search_win(search, finding, rows, 1 - 1 / headroom, 1 - reached / headroom,
		      "down to the nearer ceiling; likely: to 80 % of it");
	kp_finding_evidence(finding, "headroom", headroom, kp_traffic_source_name(traffic->source));
	kp_finding_evidence(finding, "memory_peak_pct", traffic->peak_pct,
			    kp_traffic_source_name(traffic->source));
}

static void find_operator(struct kp_search *search, size_t index)
{
	const struct kp_operator_row *row = &search->report->operators[index];
	const struct kp_kernel_row *kernel = &search->report->kernels[row->first_kernel];
	struct kp_rows rows = kp_rows_of_operator(search, row);
	struct kp_rows left = kp_rows_left_of_operator(search, row);
	struct kp_finding *finding = kp_search_add(search, KP_FINDING_CANDIDATE, KP_CONFIDENCE_LOW);
	const char *name = kp_search_name(search, kernel);
	bool led = row->kernel_count > 1, named = strcmp(name, row->name) != 0;
	char bound[128];

	bound_words(search, rows.alone_ns, bound, sizeof(bound));
	kp_search_about_operator(search, finding, index, &rows);
	kp_search_say(search, finding, "Start with %s, %.1f %% of kernel time%s%s: %s", row->name,
		      row->shares.kernel_pct,
		      !named ? ""
		      : led  ? ", led by "
			     : ", ",
		      named ? name : "", bound);
	win_candidate(search, finding, &left, &row->traffic);
	kp_finding_elsewhere(finding, &rows, &left);
	kp_search_shapes(finding, row->stability);
}

static void find_kernel(struct kp_search *search, size_t index)
{
	const struct kp_kernel_row *kernel = &search->report->kernels[index];
	struct kp_finding *finding = kp_search_add(search, KP_FINDING_CANDIDATE, KP_CONFIDENCE_LOW);
	struct kp_rows rows = {0}, left = {0};
	char bound[128];

	kp_rows_add_kernel(&rows, search, kernel);
	kp_rows_add_left(&left, search, index);
	bound_words(search, rows.alone_ns, bound, sizeof(bound));
	kp_search_about_kernel(search, finding, index);
	kp_search_say(search, finding,
		      "Start with the kernel that takes %.1f %% of kernel time, %s: %s",
		      kernel->shares.kernel_pct, kp_search_name(search, kernel), bound);
	win_candidate(search, finding, &left, &kernel->traffic);
	kp_finding_elsewhere(finding, &rows, &left);
	kp_search_shapes(finding, kernel->stability);
}

/* Calls `found` for each; returns how many there are. */
static size_t each_hotspot(struct kp_search *search, bool add)
{
	const struct kp_report *report = search->report;
	size_t count = 0;

	for (size_t i = 0; i < report->operator_count; i++) {
		const struct kp_operator_row *row = &report->operators[i];

		if (!is_unknown(row) && row->above_threshold) {
			count++;
			if (add && !is_never(row->name))
				find_operator(search, i);
		}
		for (size_t k = 0; is_unknown(row) && k < row->kernel_count; k++) {
			if (!report->kernels[row->first_kernel + k].above_threshold)
				continue;
			count++;
			if (add)
				find_kernel(search, row->first_kernel + k);
		}
	}
	return count;
}

void kp_find_candidates(struct kp_search *search)
{
	each_hotspot(search, true);
}

void kp_find_no_hotspot(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	const struct kp_operator_row *top = &report->operators[0];
	const struct kp_kernel_row *kernel = &report->kernels[top->first_kernel];
	bool known = !is_unknown(top);
	double pct = known ? top->shares.kernel_pct : kernel->shares.kernel_pct;
	struct kp_finding *finding;

	if (each_hotspot(search, false))
		return;
	finding = kp_search_add(search, KP_FINDING_NO_HOTSPOT, KP_CONFIDENCE_HIGH);
	kp_search_say(
		search, finding,
		"No operator takes more than %.4g %% of kernel time (%s takes most, %.1f %%): "
		"fusing small kernels may win more than replacing one",
		report->options.threshold_pct, known ? top->name : "a single kernel", pct);
	kp_finding_evidence(finding, "largest_share_of_kernel_time_pct", pct, "measured");
}

void kp_find_communication(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	size_t index = kp_search_operator(search, "communication");
	struct kp_finding *finding;
	struct kp_rows rows;

	if (index == report->operator_count || !report->operators[index].above_threshold)
		return;
	rows = kp_rows_of_operator(search, &report->operators[index]);
	finding = kp_search_add(search, KP_FINDING_COMMUNICATION, KP_CONFIDENCE_HIGH);
	kp_search_about_operator(search, finding, index, &rows);
	kp_search_say(search, finding,
		      "Start with communication, %.1f %% of kernel time: it includes waiting for "
		      "other GPUs, so see balance and overlap",
		      finding->kernel_pct);
	kp_search_win(search, finding, &rows, 1, NAN,
		      "at most all of it; likely: not known, for transfer and waiting are one");
}
