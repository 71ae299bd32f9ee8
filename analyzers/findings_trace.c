/* Findings about the trace itself: what cannot be, and what is missing. */
#include "analyzers/findings_search.h"

#include <inttypes.h>
#include <math.h>

/* So many impossible bandwidths are told one by one. */
#define CLAIMS_MOST 10
/* Overlaps of less kernel time are left to the idle table: newer launches may begin early. */
#define OVERLAP_PCT 1.0

void kp_find_above_physics(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	size_t found = 0;

	for (size_t i = 0; report->traffic.any && i < report->kernel_count && found < CLAIMS_MOST;
	     i++) {
		size_t index = report->kernels_by_time[i];
		const struct kp_kernel_row *kernel = &report->kernels[index];
		const struct kp_row_traffic *traffic = &kernel->traffic;
		struct kp_finding *finding;

		if (!isfinite(traffic->claimed_pct))
			continue;
		finding = kp_search_add(search, KP_FINDING_ABOVE_PHYSICS, KP_CONFIDENCE_HIGH);
		kp_search_about_kernel(search, finding, index);
		kp_search_say(
			search, finding,
			"%.200s claims %.0f %% of the memory's peak (%.0f GB/s, %s): nothing is "
			"told of its traffic",
			kernel->shortened, traffic->claimed_pct, traffic->peak_gbps,
			kp_ceiling_source_name(traffic->peak_source));
		kp_finding_evidence(finding, "claimed_of_peak_pct", traffic->claimed_pct,
				    "estimated");
		kp_finding_evidence(finding, "peak_gbps", traffic->peak_gbps,
				    kp_ceiling_source_name(traffic->peak_source));
		found++;
	}
}

static struct kp_stream_faults all_faults(const struct kp_report *report)
{
	struct kp_stream_faults sum = {0};

	for (size_t i = 0; report->timeline && i < report->gpu_count; i++) {
		const struct kp_stream_faults *faults = &report->timeline->idle[i].faults;

		sum.overlapping += faults->overlapping;
		sum.overlap_ns += faults->overlap_ns;
		sum.out_of_order += faults->out_of_order;
		sum.step_ns = faults->step_ns > sum.step_ns ? faults->step_ns : sum.step_ns;
	}
	return sum;
}

void kp_find_broken_times(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	struct kp_stream_faults faults = all_faults(report);
	double overlap_pct = 100 * (double)faults.overlap_ns / (double)report->kernel_ns;
	struct kp_finding *finding;

	if (!faults.out_of_order && overlap_pct < OVERLAP_PCT && !report->counts.kernels_invalid)
		return;
	finding = kp_search_add(search, KP_FINDING_BROKEN_TIMES, KP_CONFIDENCE_HIGH);
	if (faults.out_of_order)
		kp_search_say(
			search, finding,
			"The clock went back by up to %.3f ms: idle time is not to be trusted",
			(double)faults.step_ns / 1e6);
	else if (overlap_pct >= OVERLAP_PCT)
		kp_search_say(search, finding,
			      "%" PRIu64
			      " kernels run past the next one of their stream, %.1f %% of "
			      "kernel time (clipped, it is %.3f ms of %.3f ms)",
			      faults.overlapping, overlap_pct,
			      (double)(report->kernel_ns - faults.overlap_ns) / 1e6,
			      (double)report->kernel_ns / 1e6);
	else
		kp_search_say(search, finding, "%" PRIu64 " kernels have impossible times",
			      report->counts.kernels_invalid);
	kp_finding_evidence(finding, "launches_out_of_order", (double)faults.out_of_order,
			    "measured");
	kp_finding_evidence(finding, "clock_step_ns", (double)faults.step_ns, "measured");
	kp_finding_evidence(finding, "kernels_overlapping_next", (double)faults.overlapping,
			    "measured");
	kp_finding_evidence(finding, "overlap_ns", (double)faults.overlap_ns, "measured");
	kp_finding_evidence(finding, "kernels_invalid", (double)report->counts.kernels_invalid,
			    "measured");
}

double kp_search_missing_pct(const struct kp_search *search)
{
	const struct kp_report_counts *counts = &search->report->counts;
	double missing = (double)counts->dropped + (double)counts->unwritten + (double)counts->lost;

	for (size_t i = 0; i < search->report->process_count; i++)
		if (search->report->processes[i].missing_known)
			missing += (double)search->report->processes[i].missing;
	return 100 * missing / (missing + (double)counts->kernels);
}

bool kp_search_clock_stepped(const struct kp_search *search)
{
	return all_faults(search->report).out_of_order > 0;
}

void kp_find_incomplete(struct kp_search *search)
{
	double pct = kp_search_missing_pct(search);
	struct kp_finding *finding;

	if (!(pct > 0))
		return;
	finding = kp_search_add(search, KP_FINDING_INCOMPLETE, KP_CONFIDENCE_HIGH);
	kp_search_say(
		search, finding,
		"%.1f %% of the launches are missing from the trace: what they did is neither "
		"in the ranking nor idle time",
		pct);
	kp_finding_evidence(finding, "launches_missing_pct", pct, "measured");
}
