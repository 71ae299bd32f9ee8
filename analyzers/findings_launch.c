/*
 * Findings about how kernels are launched: too few blocks, too few at once, a last wave that is
 * nearly empty. Of each kernel the configuration with most time is looked at.
 */
#include "analyzers/findings_search.h"

#include <math.h>

#include "analyzers/findings_occupancy.h"

/* Shorter kernels end before the number of blocks matters. */
#define LONG_ENOUGH_NS 5000.0
/* The last wave is looked at where there are no more waves than this, and so much is lost. */
#define WAVES_MOST 10.0
#define TAIL_LOST_PCT 20.0
/* Less of the SMs, or of the warps that they hold, is low. */
#define SMS_LOW_PCT 50.0
#define RESIDENT_LOW_PCT 12.5
/* So many of the warps commonly hide the latency of memory. */
#define RESIDENT_ENOUGH_PCT 50.0
/* At most so many findings of a kind. */
#define KERNELS_MOST 3

/* A kernel worth looking at, with its occupancy. */
static bool look(const struct kp_search *search, const struct kp_kernel_row *kernel,
		 struct kp_occupancy *occupancy)
{
	const struct kp_launch_shape shape = {
		.blocks = (double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2],
		.threads = (double)kernel->block[0] * kernel->block[1] * kernel->block[2],
		.registers = kernel->registers,
		.shared_bytes =
			(uint64_t)kernel->static_shared_bytes + kernel->dynamic_shared_bytes,
	};

	return kernel->shares.kernel_pct >= KP_FINDING_LEAST_PCT &&
	       kernel->durations.mean_ns >= LONG_ENOUGH_NS &&
	       !kp_search_is(search, kernel, "communication") &&
	       !kp_search_is(search, kernel, "autotuning") &&
	       kp_occupancy_of(search->device, &shape, occupancy);
}

static double near_limit(const struct kp_search *search, const struct kp_kernel_row *kernel)
{
	const struct kp_row_traffic *traffic = &kernel->traffic;

	if (!search->report->traffic.any)
		return NAN;
	return fmax(traffic->peak_pct, traffic->tensor_pct); /* of one that is NaN the other */
}

static void show_launch(struct kp_finding *finding, const struct kp_kernel_row *kernel,
			const struct kp_occupancy *occupancy)
{
	kp_finding_evidence(finding, "grid_blocks",
			    (double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2],
			    "measured");
	kp_finding_evidence(finding, "registers_per_thread", kernel->registers, "measured");
	kp_finding_evidence(finding, "blocks_at_once", occupancy->capacity, "modelled");
	kp_finding_evidence(finding, "mean_ns", kernel->durations.mean_ns, "measured");
}

/* ---- the last wave ---- */

/* What whole waves would save of the time, percent, if all blocks take as long as each other. */
static double tail_lost_pct(const struct kp_occupancy *occupancy)
{
	if (occupancy->waves <= 1 || occupancy->waves > WAVES_MOST)
		return 0;
	return 100 * (1 - occupancy->waves / ceil(occupancy->waves));
}

void kp_find_tail_wave(struct kp_search *search)
{
	const struct kp_report *report = search->report;

	for (size_t i = 0, found = 0; i < report->kernel_count && found < KERNELS_MOST; i++) {
		size_t index = report->kernels_by_time[i];
		const struct kp_kernel_row *kernel = &report->kernels[index];
		struct kp_occupancy occupancy;
		struct kp_finding *finding;
		struct kp_rows rows = {0};

		if (!look(search, kernel, &occupancy) ||
		    tail_lost_pct(&occupancy) < TAIL_LOST_PCT ||
		    near_limit(search, kernel) >= KP_NEAR_LIMIT_PCT)
			continue;
		kp_rows_add_left(&rows, search, index);
		finding = kp_search_add(search, KP_FINDING_TAIL_WAVE, KP_CONFIDENCE_MEDIUM);
		kp_search_about_kernel(search, finding, index);
		kp_search_say(search, finding,
			      "%s runs in %.2f waves of blocks: the last one leaves %.0f %% of the "
			      "time on the GPU unused",
			      kp_search_name(search, kernel), occupancy.waves,
			      tail_lost_pct(&occupancy));
		kp_search_win(
			search, finding, &rows, tail_lost_pct(&occupancy) / 100,
			tail_lost_pct(&occupancy) / 200,
			"1 - waves / whole waves; likely: half of it, for blocks do not end at "
			"once");
		show_launch(finding, kernel, &occupancy);
		kp_finding_evidence(finding, "waves", occupancy.waves, "modelled");
		kp_search_claim(search, KP_FINDING_TAIL_WAVE, index,
				tail_lost_pct(&occupancy) / 100);
		found++;
	}
}

/* ---- too little in use ---- */

/* A library's attention holds what it needs in registers and shared memory, a block or two on an
 * SM, and has as many blocks as there are heads and tiles: its launch is not the user's to tune. */
static bool is_designed_so(const struct kp_search *search, const struct kp_kernel_row *kernel)
{
	return kernel->library && kp_search_is(search, kernel, "attention");
}

static bool is_low(const struct kp_search *search, const struct kp_kernel_row *kernel,
		   const struct kp_occupancy *occupancy)
{
	/* Products and attention keep tensor pipes busy with few warps. */
	bool dense =
		kp_search_is(search, kernel, "gemm") || kp_search_is(search, kernel, "attention") ||
		kp_search_is(search, kernel, "convolution") || kp_search_is(search, kernel, "moe");

	if (near_limit(search, kernel) >= KP_NEAR_LIMIT_PCT || is_designed_so(search, kernel))
		return false;
	return occupancy->sms_pct < SMS_LOW_PCT ||
	       (!dense && occupancy->resident_pct < RESIDENT_LOW_PCT);
}

/*
 * The part of a kernel's time that goes if more of the GPU is in use. Half of what is not in use
 * where nothing was counted, for few warps may do with many loads each; else the time goes with
 * the warps until there are enough or memory or tensor pipes give what they commonly do.
 */
static double likely_part(const struct kp_occupancy *occupancy, bool few, double near_pct)
{
	double used_pct = few ? occupancy->sms_pct : occupancy->resident_pct;
	double enough_pct = few ? KP_CEILING_REACHED_PCT : RESIDENT_ENOUGH_PCT;

	if (isnan(near_pct))
		return (1 - used_pct / 100) / 2;
	return 1 - fmax(used_pct / enough_pct, near_pct / KP_CEILING_REACHED_PCT);
}

void kp_find_low_occupancy(struct kp_search *search)
{
	const struct kp_report *report = search->report;

	for (size_t i = 0, found = 0; i < report->kernel_count && found < KERNELS_MOST; i++) {
		size_t index = report->kernels_by_time[i];
		const struct kp_kernel_row *kernel = &report->kernels[index];
		struct kp_occupancy occupancy;
		struct kp_finding *finding;
		struct kp_rows rows = {0};

		if (!look(search, kernel, &occupancy) || !is_low(search, kernel, &occupancy))
			continue;
		bool few = occupancy.sms_pct < SMS_LOW_PCT;
		double used = fmax((few ? occupancy.sms_pct : occupancy.resident_pct) / 100,
				   near_limit(search, kernel) / 100);
		kp_rows_add_left(&rows, search, index);
		finding = kp_search_add(search, KP_FINDING_LOW_OCCUPANCY, KP_CONFIDENCE_MEDIUM);
		kp_search_about_kernel(search, finding, index);
		kp_search_say(search, finding, "%s keeps only %.0f %% of the %s busy",
			      kp_search_name(search, kernel),
			      few ? occupancy.sms_pct : occupancy.resident_pct,
			      few ? "multiprocessors" : "warps that the GPU can hold");
		kp_search_win(
			search, finding, &rows, 1 - used,
			likely_part(&occupancy, few, near_limit(search, kernel)),
			"1 - the part in use; likely: half of it, or where counted until "
			"half of the warps (80 % of the SMs) or of a ceiling 80 % are in use");
		show_launch(finding, kernel, &occupancy);
		kp_finding_evidence(finding, "sms_with_blocks_pct", occupancy.sms_pct, "modelled");
		kp_finding_evidence(finding, "resident_warps_pct", occupancy.resident_pct,
				    "modelled");
		kp_finding_evidence(finding, "of_nearer_ceiling_pct", near_limit(search, kernel),
				    "estimated");
		found++;
	}
}
