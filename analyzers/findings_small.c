/*
 * Findings about many small kernels: chains that one kernel could do (fusion.h finds them, and says
 * what they win), copies, and sheer numbers.
 */
#include "analyzers/findings_search.h"

#include <math.h>
#include <string.h>

/* Kernels are tiny below this; a finding if so many launches, with so much of the time, are. */
#define TINY_NS 5000.0
#define TINY_LAUNCHES_LEAST 1000
#define TINY_OF_LAUNCHES_PCT 50.0
#define TINY_OF_TIME_PCT 20.0
/* So many chains are named. */
#define LARGEST 3

/* ---- chains ---- */

/* All chains that a rule knows, and that a kernel of their own could do. */
struct chains {
	struct kp_rows rows,
		left; /* calls: launches of their kernels; left: not promised elsewhere */
	double runs, kernel_low_ns, kernel_high_ns, low_ns, high_ns;
	double graph_gaps; /* between kernels in graphs, so many */
	const struct kp_fusion_row *largest[LARGEST];
	double operator_ns; /* of the operator with most of their time */
	size_t operator_index;
};

static void add_operator_times(struct chains *chains, const struct kp_report *report,
			       size_t operator_index)
{
	double sum_ns = 0;

	for (size_t i = 0; i < report->fusion.count; i++) {
		const struct kp_fusion_row *row = &report->fusion.rows[i];

		for (size_t k = 0; row->known && !row->absorbed && k < row->member_count; k++)
			if (report->kernels[row->members[k].kernel].operator_index ==
			    operator_index)
				sum_ns += (double)row->members[k].total_ns;
	}
	if (sum_ns <= chains->operator_ns)
		return;
	chains->operator_ns = sum_ns;
	chains->operator_index = operator_index;
}

/* Chains of one name may have several rows (they differ in their kernels): that is named once. */
static void keep_largest(struct chains *chains, const struct kp_fusion_row *row)
{
	const struct kp_fusion_row **largest = chains->largest;
	size_t at = 0;

	while (at < LARGEST && largest[at] && strcmp(largest[at]->name, row->name) != 0)
		at++;
	at = at < LARGEST ? at : LARGEST - 1;
	if (largest[at] && largest[at]->kernel_ns >= row->kernel_ns)
		return;
	for (; at > 0 && largest[at - 1]->kernel_ns < row->kernel_ns; at--)
		largest[at] = largest[at - 1];
	largest[at] = row;
}

/* The part of a chain's time that no other finding promises. */
static double part_left(const struct kp_search *search, const struct kp_fusion_row *row)
{
	double left_ns = 0, total_ns = 0;

	for (size_t i = 0; i < row->member_count; i++) {
		double ns = (double)row->members[i].total_ns;

		total_ns += ns;
		left_ns += ns * kp_search_left(search, row->members[i].kernel);
	}
	return total_ns > 0 ? left_ns / total_ns : 1;
}

/* The gaps of a chain that one kernel closes at most. Waits for launches are promised by the
 * finding about these, where there is one: then what the GPU needs itself between kernels, and in
 * graphs. */
static double gap_high_ns(const struct kp_search *search, const struct kp_fusion_row *row)
{
	if (!kp_search_found(search, KP_FINDING_LAUNCH_BOUND))
		return row->gap_gain.high;
	return fmin(fmax((double)row->graph_gap_ns, row->gap_gain.low), row->gap_gain.high);
}

static void add_chain(struct chains *chains, const struct kp_search *search,
		      const struct kp_fusion_row *row)
{
	double left = part_left(search, row), kernel_ns = (double)row->kernel_ns;

	chains->rows.total_ns += kernel_ns;
	chains->rows.alone_ns += kernel_ns * row->alone_pct / 100;
	chains->rows.calls += row->runs * row->member_count;
	chains->left.total_ns += left * kernel_ns;
	chains->runs += (double)row->runs;
	chains->graph_gaps += (double)row->graph_runs * (double)(row->member_count - 1);
	chains->kernel_low_ns += left * row->kernel_gain.low;
	chains->kernel_high_ns += left * row->kernel_gain.high;
	chains->low_ns += left * row->gain.low;
	chains->high_ns += left * (row->kernel_gain.high + gap_high_ns(search, row));
	keep_largest(chains, row);
}

static bool is_known_chain(const struct kp_fusion_row *row)
{
	return row->known && !row->absorbed;
}

static struct chains known_chains(const struct kp_search *search)
{
	const struct kp_report *report = search->report;
	struct chains chains = {.operator_index = 0};

	for (size_t i = 0; i < report->fusion.count; i++)
		if (is_known_chain(&report->fusion.rows[i]))
			add_chain(&chains, search, &report->fusion.rows[i]);
	for (size_t i = 0; i < report->operator_count; i++)
		add_operator_times(&chains, report, i);
	return chains;
}

/* What chains promise, of their kernels in equal parts. */
static void claim_chains(struct kp_search *search)
{
	const struct kp_report_fusion *fusion = &search->report->fusion;

	for (size_t i = 0; i < fusion->count; i++) {
		const struct kp_fusion_row *row = &fusion->rows[i];
		double part = row->kernel_ns ? row->kernel_gain.high / (double)row->kernel_ns : 0;

		if (!is_known_chain(row))
			continue;
		part *= part_left(search, row);
		for (size_t k = 0; k < row->member_count; k++)
			kp_search_claim_ns(search, KP_FINDING_UNFUSED_CHAIN, row->members[k].kernel,
					   part * (double)row->members[k].total_ns);
	}
}

void kp_find_unfused_chain(struct kp_search *search)
{
	struct chains chains = known_chains(search);
	const struct kp_fusion_row *const *names = chains.largest;
	double per_run = (double)chains.rows.calls / chains.runs;
	struct kp_finding *finding;

	if (!names[0] || kp_rows_pct(search, &chains.rows) < KP_FINDING_LEAST_PCT)
		return;
	finding = kp_search_add(search, KP_FINDING_UNFUSED_CHAIN,
				names[0]->confidence == KP_FUSION_HIGH ? KP_CONFIDENCE_MEDIUM
								       : KP_CONFIDENCE_LOW);
	kp_search_about_operator(search, finding, chains.operator_index, &chains.rows);
	finding->subject = names[0]->name;
	kp_search_say(search, finding,
		      "Chains of small kernels (%s%s%s%s%s) take %.1f %% of kernel time, %.1f "
		      "launches where one would do",
		      names[0]->name, names[1] ? ", " : "", names[1] ? names[1]->name : "",
		      names[2] ? ", " : "", names[2] ? names[2]->name : "", finding->kernel_pct,
		      per_run);
	kp_search_win_set(
		search, finding,
		(const double[]){chains.kernel_high_ns,
				 (chains.kernel_low_ns + chains.kernel_high_ns) / 2, chains.high_ns,
				 fmax(chains.low_ns, (chains.low_ns + chains.high_ns) / 2 *
							     kp_search_pace(search))},
		kp_search_found(search, KP_FINDING_LAUNCH_BOUND)
			? "as under Fusion: the high end of all these chains, without the waits "
			  "that launch-bound promises; likely: halfway from the low end to it, "
			  "less what waits for launches swallow, but the low end at least"
			: "as under Fusion: the high end of all these chains, gaps included; "
			  "likely: halfway from the low end to it, less what waits for launches "
			  "swallow, but the low end at least");
	kp_finding_evidence(finding, "chains", chains.runs, "inferred");
	kp_finding_evidence(finding, "launches_per_chain", per_run, "inferred");
	kp_finding_elsewhere(finding, &chains.rows, &chains.left);
	claim_chains(search);
}

/* ---- copies ---- */

void kp_find_copies(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	size_t index = kp_search_operator(search, "copy");
	struct kp_finding *finding;
	struct kp_rows rows, left;

	if (index == report->operator_count)
		return;
	rows = kp_rows_of_operator(search, &report->operators[index]);
	left = kp_rows_left_of_operator(search, &report->operators[index]);
	if (kp_rows_pct(search, &rows) < KP_FINDING_LEAST_PCT)
		return;
	finding = kp_search_add(search, KP_FINDING_COPIES_AND_CASTS, KP_CONFIDENCE_HIGH);
	kp_search_about_operator(search, finding, index, &rows);
	kp_search_say(search, finding,
		      "Copies, casts, transposes and concatenations take %.1f %% of kernel time",
		      finding->kernel_pct);
	kp_search_win(
		search, finding, &left, 1, 0.5,
		"at most all of it that no finding above promises; likely: half of the copies "
		"can be avoided");
	kp_finding_evidence(finding, "launches", (double)rows.calls, "measured");
	kp_finding_elsewhere(finding, &rows, &left);
	for (size_t i = 0; i < report->operators[index].variant_count; i++) {
		const struct kp_variant_row *variant =
			&report->variants[report->operators[index].first_variant + i];

		if (variant->name && strcmp(variant->name, "concatenation") == 0)
			kp_finding_evidence(finding, "concatenation_of_kernel_time_pct",
					    variant->shares.kernel_pct, "measured");
	}
	for (size_t i = 0; i < report->operators[index].kernel_count; i++)
		kp_search_claim(search, KP_FINDING_COPIES_AND_CASTS,
				report->operators[index].first_kernel + i, 1);
}

/* ---- sheer numbers ---- */

/* Between the kernels of a graph, on average. */
static double node_gap_ns(const struct kp_report *report)
{
	double sum = 0, gaps = 0;

	for (size_t i = 0; report->timeline && i < report->gpu_count; i++) {
		const struct kp_idle_row *row = &report->timeline->idle[i];

		sum += row->node_gap_median_ns * (double)row->node_gaps;
		gaps += (double)row->node_gaps;
	}
	return gaps > 0 ? sum / gaps : 0;
}

static bool is_tiny(const struct kp_kernel_row *kernel)
{
	return kernel->durations.timed && kernel->durations.mean_ns < TINY_NS;
}

/* The time of tiny kernels within chains that a rule knows. */
static double tiny_in_chains_ns(const struct kp_report *report)
{
	double sum_ns = 0;

	for (size_t i = 0; i < report->fusion.count; i++) {
		const struct kp_fusion_row *row = &report->fusion.rows[i];

		for (size_t k = 0; is_known_chain(row) && k < row->member_count; k++)
			if (is_tiny(&report->kernels[row->members[k].kernel]))
				sum_ns += (double)row->members[k].total_ns;
	}
	return sum_ns;
}

static void win_tiny(struct kp_search *search, struct kp_finding *finding,
		     const struct kp_rows *rows, struct kp_rows left, double in_graphs)
{
	double gap_ns = node_gap_ns(search->report), gaps = in_graphs;

	if (kp_search_found(search, KP_FINDING_UNFUSED_CHAIN))
		gaps -= known_chains(search).graph_gaps;
	kp_finding_evidence(finding, "graph_node_gap_ns", gap_ns > 0 ? gap_ns : NAN, "measured");
	kp_finding_evidence(finding, "in_known_chains_of_it_pct", 100 * search->chained_part,
			    "inferred");
	kp_finding_elsewhere(finding, rows, &left);
	left.alone_ns += fmax(gaps, 0) * gap_ns;
	kp_search_win(
		search, finding, &left, 1, 0.5,
		"their time, as far as no finding above promises it, and the gaps between those in "
		"graphs; likely: every second one is fused away");
}

void kp_find_tiny_kernels(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	double launches = (double)report->counts.kernels_timed, in_graphs = 0;
	struct kp_rows rows = {0}, left = {0};
	struct kp_finding *finding;

	for (size_t i = 0; i < report->kernel_count; i++) {
		if (!is_tiny(&report->kernels[i]))
			continue;
		kp_rows_add_kernel(&rows, search, &report->kernels[i]);
		kp_rows_add_left(&left, search, i);
		in_graphs += (double)report->kernels[i].graph_calls;
	}
	double of_launches_pct = 100 * (double)rows.calls / launches;
	if (rows.calls < TINY_LAUNCHES_LEAST || of_launches_pct < TINY_OF_LAUNCHES_PCT ||
	    kp_rows_pct(search, &rows) < TINY_OF_TIME_PCT)
		return;
	search->chained_part = tiny_in_chains_ns(report) / rows.total_ns;
	finding = kp_search_add(search, KP_FINDING_TINY_KERNELS, KP_CONFIDENCE_HIGH);
	finding->kernel_ns = rows.total_ns;
	finding->alone_ns = rows.alone_ns;
	finding->kernel_pct = kp_rows_pct(search, &rows);
	kp_search_say(
		search, finding,
		"%.0f %% of the launches are kernels of less than 5 µs on average, with %.1f %% "
		"of kernel time",
		of_launches_pct, finding->kernel_pct);
	kp_finding_evidence(finding, "share_of_kernel_time_pct", finding->kernel_pct, "measured");
	kp_finding_evidence(finding, "share_of_launches_pct", of_launches_pct, "measured");
	kp_finding_evidence(finding, "mean_ns", rows.total_ns / (double)rows.calls, "measured");
	win_tiny(search, finding, &rows, left, in_graphs);
}
