/* Findings about GPUs that wait: launches, copies, the host, each other. */
#include "analyzers/findings_search.h"

#include <math.h>

/* One GPU with so many times the mean of the others' work keeps them waiting. */
#define IMBALANCE 1.15
/* Of the time of a copy, what is commonly got rid of where the rest is not measured. */
#define HALF 0.5
/* What a graph leaves between kernels, at most; as iterations.h has it where it was not measured.
 */
#define NODE_GAP_NS 1000.0

static const char *const gap_words[] = {
#define WORDS(name, key, words) words,
	KP_GAP_CAUSES(WORDS)
#undef WORDS
};

static double span_pct(const struct kp_search *search, double ns)
{
	return 100 * ns / (double)search->report->span_ns;
}

static double idle_ns(const struct kp_search *search)
{
	double span = (double)search->report->span_ns, busy = (double)search->report->busy_ns;

	return span > busy ? span - busy : 0;
}

static double inferred_ns(const struct kp_search *search, enum kp_gap_cause cause)
{
	double sum = 0;

	for (size_t i = 0; search->report->timeline && i < search->report->gpu_count; i++)
		sum += (double)search->report->timeline->idle[i].parts[cause].inferred_ns;
	return sum;
}

static double gap_count(const struct kp_search *search, enum kp_gap_cause cause)
{
	double sum = 0;

	for (size_t i = 0; search->report->timeline && i < search->report->gpu_count; i++)
		sum += (double)search->report->timeline->idle[i].parts[cause].gaps;
	return sum;
}

static const char *source_of(const struct kp_search *search, enum kp_gap_cause cause)
{
	return inferred_ns(search, cause) * 2 > search->gap_ns[cause] ? "inferred" : "measured";
}

static enum kp_confidence sure_of(const struct kp_search *search, enum kp_gap_cause cause)
{
	return inferred_ns(search, cause) * 2 > search->gap_ns[cause] ? KP_CONFIDENCE_MEDIUM
								      : KP_CONFIDENCE_HIGH;
}

/* ---- launches ---- */

/* Of all iterations that are launch-bound. */
struct bound_iterations {
	double count, wall_ns, launch_ns, low_ns, high_ns, kernels;
	bool inferred;
};

static struct bound_iterations bound_iterations(const struct kp_timeline *timeline)
{
	struct bound_iterations sum = {0};

	for (size_t i = 0; timeline && i < timeline->iteration_count; i++) {
		const struct kp_iteration_row *row = &timeline->iterations[i];
		double count = (double)row->count;

		if (!row->launch_bound)
			continue;
		sum.count += count;
		sum.wall_ns += (double)row->wall_total_ns;
		sum.launch_ns += row->launch_ns * count;
		sum.low_ns += row->gain.low_ns * count;
		sum.high_ns += row->gain.high_ns * count;
		sum.kernels += row->kernels.mean * count;
		sum.inferred |= row->launch_inferred;
	}
	return sum;
}

/* `most_ns`: all waits for launches, less what graphs leave of them; iterations may be a part, but
 * a graph closes all of their gaps. */
static void say_bound_iterations(struct kp_search *search, const struct bound_iterations *sum,
				 double most_ns)
{
	const char *source = sum->inferred ? "inferred" : "measured";
	double pct = 100 * sum->launch_ns / sum->wall_ns;
	struct kp_finding *finding =
		kp_search_add(search, KP_FINDING_LAUNCH_BOUND,
			      sum->inferred ? KP_CONFIDENCE_MEDIUM : KP_CONFIDENCE_HIGH);

	kp_search_say(search, finding,
		      "The GPU waits for launches %.1f %% of an iteration, so that faster kernels "
		      "win little",
		      pct);
	kp_search_win_wait(
		search, finding, fmax(sum->high_ns, most_ns), sum->low_ns,
		sum->high_ns > most_ns
			? "all gaps between launches in the iterations that were found, the GPU's "
			  "own and those of no known cause included, less what a CUDA graph leaves "
			  "between kernels; likely: waits for launches alone"
			: "all waits for launches, less what a CUDA graph leaves between kernels; "
			  "likely: of the iterations that were found");
	kp_finding_evidence(finding, "launch_wait_of_iteration_pct", pct, source);
	kp_finding_evidence(finding, "iterations", sum->count, "measured");
	kp_finding_evidence(finding, "launches_per_iteration", sum->kernels / sum->count,
			    "measured");
	kp_finding_evidence(finding, "graph_gain_low_of_iteration_pct",
			    100 * sum->low_ns / sum->wall_ns, "modelled");
	kp_finding_evidence(finding, "graph_gain_high_of_iteration_pct",
			    100 * sum->high_ns / sum->wall_ns, "modelled");
}

void kp_find_launch_bound(struct kp_search *search)
{
	double wait_ns = search->gap_ns[KP_GAP_LAUNCH];
	double left_ns = gap_count(search, KP_GAP_LAUNCH) * NODE_GAP_NS;
	struct bound_iterations sum = bound_iterations(search->report->timeline);
	struct kp_finding *finding;

	if (sum.wall_ns > 0) {
		say_bound_iterations(search, &sum, wait_ns - left_ns);
		return;
	}
	if (span_pct(search, wait_ns) < KP_LAUNCH_BOUND_PCT)
		return;
	finding = kp_search_add(search, KP_FINDING_LAUNCH_BOUND, sure_of(search, KP_GAP_LAUNCH));
	kp_search_say(search, finding,
		      "The GPU waits for launches %.1f %% of the time, so that faster kernels win "
		      "little",
		      span_pct(search, wait_ns));
	kp_search_win_wait(search, finding, wait_ns, wait_ns - left_ns,
			   "waits for launches; likely: less 1 µs that a CUDA graph leaves between "
			   "kernels");
	kp_finding_evidence(finding, "launch_wait_of_span_pct", span_pct(search, wait_ns),
			    source_of(search, KP_GAP_LAUNCH));
	kp_finding_evidence(finding, "waits", gap_count(search, KP_GAP_LAUNCH), "measured");
}

/* ---- copies ---- */

/* Of copies that their calls waited for, while no kernel ran. */
static double synchronous_ns(const struct kp_search *search)
{
	double sum = 0;

	for (size_t i = 0; search->report->timeline && i < search->report->gpu_count; i++)
		sum += (double)search->report->timeline->idle[i].synchronous_ns;
	return sum;
}

void kp_find_sync_copies(struct kp_search *search)
{
	double behind_ns = search->gap_ns[KP_GAP_SYNC], copying_ns = synchronous_ns(search);
	double wait_ns = behind_ns + copying_ns;
	struct kp_finding *finding;

	if (span_pct(search, wait_ns) < KP_FINDING_LEAST_PCT)
		return;
	finding = kp_search_add(search, KP_FINDING_SYNC_COPIES, sure_of(search, KP_GAP_SYNC));
	kp_search_say(search, finding,
		      "The GPU runs no kernel %.1f %% of the time while the program waits for "
		      "copies",
		      span_pct(search, wait_ns));
	kp_search_win_wait(search, finding, wait_ns,
			   fmin(behind_ns, (double)search->report->busy_ns),
			   "copies that were waited for, and idle time behind them; likely: that "
			   "idle time, as far as there are kernels that can run meanwhile, for the "
			   "copies stay");
	kp_finding_evidence(finding, "synchronisation_of_span_pct", span_pct(search, behind_ns),
			    source_of(search, KP_GAP_SYNC));
	kp_finding_evidence(finding, "synchronous_copies_of_span_pct", span_pct(search, copying_ns),
			    "measured");
	kp_finding_evidence(finding, "waits", gap_count(search, KP_GAP_SYNC), "measured");
}

void kp_find_memory_copies(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	double copy_ns = search->gap_ns[KP_GAP_MEMORY] - synchronous_ns(search);
	struct kp_finding *finding;
	double bytes = 0, calls = 0;

	if (span_pct(search, copy_ns) < KP_FINDING_LEAST_PCT)
		return;
	for (size_t i = 0; i < report->memop_count; i++) {
		bytes += (double)report->memops[i].bytes;
		calls += (double)report->memops[i].calls;
	}
	finding = kp_search_add(search, KP_FINDING_MEMORY_COPIES, KP_CONFIDENCE_HIGH);
	kp_search_say(search, finding, "%s take %.1f %% of the time, in which no kernel runs",
		      copy_ns < search->gap_ns[KP_GAP_MEMORY]
			      ? "Asynchronous memory copies and sets"
			      : "Memory copies and sets",
		      span_pct(search, copy_ns));
	kp_search_win_wait(search, finding, copy_ns, HALF * copy_ns,
			   "time in which memory operations ran and no kernel; likely: half of it "
			   "is avoided or overlapped");
	kp_finding_evidence(finding, "memory_operation_of_span_pct", span_pct(search, copy_ns),
			    "measured");
	kp_finding_evidence(finding, "memory_operations", calls, "measured");
	kp_finding_evidence(finding, "memory_operation_bytes", bytes, "measured");
}

/* ---- whatever else ---- */

static enum kp_gap_cause largest_gap(const struct kp_search *search)
{
	enum kp_gap_cause largest = KP_GAP_UNKNOWN;

	for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++)
		if (search->gap_ns[i] > search->gap_ns[largest])
			largest = (enum kp_gap_cause)i;
	return largest;
}

/* What the findings about copies promise of a wait. */
static double copies_ns(const struct kp_search *search)
{
	const struct kp_finding *waited = kp_search_found(search, KP_FINDING_SYNC_COPIES);
	const struct kp_finding *copied = kp_search_found(search, KP_FINDING_MEMORY_COPIES);

	return (waited ? waited->win.span_bound_ns : 0) + (copied ? copied->win.span_bound_ns : 0);
}

void kp_find_gpu_idle(struct kp_search *search)
{
	enum kp_gap_cause cause = largest_gap(search);
	double all_ns = idle_ns(search);
	struct kp_finding *finding;

	if (!search->mostly_idle)
		return;
	finding = kp_search_add(search, KP_FINDING_GPU_IDLE, KP_CONFIDENCE_HIGH);
	kp_search_say(
		search, finding,
		"Kernels run only %.1f %% of %s, so that faster ones win less than that%s%s%s",
		search->busy_pct, search->steady ? "an iteration" : "the time",
		search->report->timeline ? " (of the waiting, most: " : "",
		search->report->timeline ? gap_words[cause] : "",
		search->report->timeline ? ")" : "");
	kp_search_win_wait(
		search, finding, fmax(all_ns - copies_ns(search), 0), NAN,
		"all idle time that no other finding promises; what of it can be avoided "
		"is not known");
	kp_finding_evidence(finding, "busy_pct", search->busy_pct, "measured");
	kp_finding_evidence(finding, "idle_of_span_pct", span_pct(search, all_ns), "measured");
	if (search->report->timeline)
		kp_finding_evidence(finding, "largest_cause_of_span_pct",
				    span_pct(search, search->gap_ns[cause]),
				    source_of(search, cause));
}

/* The work of a GPU: what waits for others is none. */
static double work_ns(const struct kp_gpu_row *gpu)
{
	return (double)(gpu->kernel_ns - gpu->communication_ns);
}

/* What collectives take on the GPU that waits least in them. */
static double least_communication_ns(const struct kp_report *report)
{
	double least_ns = INFINITY;

	for (size_t i = 0; i < report->gpu_count; i++)
		least_ns = fmin(least_ns, (double)report->gpus[i].communication_ns);
	return least_ns;
}

void kp_find_imbalance(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	double sum_ns = 0, most_ns = 0, least_ns = INFINITY, communication_ns = 0, wait_ns = 0;
	size_t most = 0;
	struct kp_finding *finding;

	for (size_t i = 0; i < report->gpu_count; i++) {
		double ns = work_ns(&report->gpus[i]);

		communication_ns += (double)report->gpus[i].communication_ns;
		sum_ns += ns;
		least_ns = fmin(least_ns, ns);
		most = ns > most_ns ? i : most;
		most_ns = fmax(most_ns, ns);
	}
	for (size_t i = 0; i < report->gpu_count; i++)
		wait_ns +=
			(double)report->gpus[i].communication_ns - least_communication_ns(report);
	double mean_ns = sum_ns / (double)report->gpu_count;
	double uneven_ns = (most_ns - mean_ns) * (double)report->gpu_count;
	if (report->gpu_count < 2 || !(most_ns > IMBALANCE * mean_ns))
		return;
	finding = kp_search_add(search, KP_FINDING_GPU_IMBALANCE,
				communication_ns > 0 ? KP_CONFIDENCE_MEDIUM : KP_CONFIDENCE_LOW);
	finding->gpu_index = most;
	kp_search_say(search, finding, "GPU %zu of %zu has %.2f times the mean work%s", most,
		      report->gpu_count, most_ns / mean_ns,
		      communication_ns > 0 ? ""
					   : ", if they work on one job (no collective was seen)");
	kp_search_win_wait(search, finding, uneven_ns,
			   communication_ns > 0 ? fmin(uneven_ns, wait_ns) : NAN,
			   "(most - mean) work, on each GPU; likely: as much of it as collectives "
			   "take longer than on the GPU that waits least");
	kp_finding_evidence(finding, "gpus", (double)report->gpu_count, "measured");
	kp_finding_evidence(finding, "most_over_mean", most_ns / mean_ns, "measured");
	kp_finding_evidence(finding, "least_over_mean", least_ns / mean_ns, "measured");
	kp_finding_evidence(finding, "communication_of_kernel_time_pct",
			    100 * communication_ns / (double)report->kernel_ns, "measured");
}
