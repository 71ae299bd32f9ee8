/* What is missing from a trace; see report_losses.h. */
#include "analyzers/report_losses.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyzers/durations.h"
#include "analyzers/report.h"

/* From so many percent on, nothing is told from figures of what is left. */
#define WEIGHS_PCT 0.1

/* Takes from what is unexplained; returns what of `amount` there was to take. */
static uint64_t explain(uint64_t *left, uint64_t amount)
{
	uint64_t taken = amount < *left ? amount : *left;

	*left -= taken;
	return taken;
}

uint64_t kp_losses_lost(const struct kp_process *process, uint64_t kernels)
{
	const struct kp_counts *counts = &process->counts;
	uint64_t lost = kp_add_saturating(process->lost_launches, counts->kernels_lost);
	uint64_t written = counts->kernels_recorded;

	explain(&written, counts->kernels_unwritten);
	explain(&written, kernels);
	if (process->end.has && KP_HAS(counts, COUNTS, kernels_recorded) && written > lost)
		return written;
	return lost;
}

uint64_t kp_losses_promised(const struct kp_reader *reader)
{
	uint64_t lost = kp_reader_damage(reader).lost_launches;

	for (size_t i = 0; i < kp_reader_process_count(reader); i++)
		lost = kp_add_saturating(lost, kp_reader_process(reader, i)->counts.kernels_lost);
	return lost;
}

void kp_losses_count(struct kp_process_row *row)
{
	const struct kp_counts *counts = &row->process->counts;
	uint64_t left = counts->kernels_issued;

	row->lost = kp_losses_lost(row->process, row->kernels);
	row->missing_known = KP_HAS(counts, COUNTS, kernels_issued);
	if (!row->missing_known)
		return;
	explain(&left, row->kernels);
	explain(&left, counts->kernels_filtered);
	explain(&left, counts->kernels_out_of_window);
	row->absent = left;
	explain(&left, row->lost);
	explain(&left, counts->kernels_unwritten);
	explain(&left, counts->records_dropped);
	row->missing = left;
}

/* Whether chunks are gone, of which only counts could say what was in them. */
static bool has_holes(const struct kp_damage *damage)
{
	return damage->torn_tail || damage->missing_chunks > 0;
}

struct kp_losses kp_losses_of(const struct kp_report *report)
{
	const struct kp_report_counts *counts = &report->counts;
	struct kp_losses losses = {.present = counts->kernels_timed,
				   .known = counts->dropped_known};

	losses.missing = counts->dropped + counts->unwritten + counts->lost +
			 counts->kernels_untimed + counts->kernels_invalid;
	for (size_t i = 0; i < report->process_count; i++) {
		const struct kp_process_row *row = &report->processes[i];

		losses.missing = kp_add_saturating(losses.missing, row->missing);
		losses.known &= row->missing_known || !row->kernels;
		losses.uncounted |= has_holes(&counts->damage) && (row->kernels || row->lost) &&
				    !KP_HAS(&row->process->counts, COUNTS, kernels_recorded);
	}
	return losses;
}

bool kp_losses_weigh(const struct kp_losses *losses)
{
	double missing = (double)losses->missing, all = missing + (double)losses->present;

	return losses->uncounted || 100 * missing > WEIGHS_PCT * all;
}

void kp_losses_describe(const struct kp_losses *losses, char *out, size_t size)
{
	const char *least = losses->uncounted ? " at least" : "";

	out[0] = '\0';
	if (losses->missing > 0)
		snprintf(out, size, "%" PRIu64 " of %" PRIu64 " launches are missing%s",
			 losses->missing, kp_add_saturating(losses->missing, losses->present),
			 least);
	else if (losses->uncounted)
		snprintf(out, size,
			 "parts of the trace are gone, and nothing says how many "
			 "launches were in them");
}
