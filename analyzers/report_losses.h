/*
 * What is missing from a trace, and whether it weighs: one rule for reports, gates and comparisons.
 *
 * Of each process, where it counted what it issued:
 *
 *   issued = in the trace + filtered + out of window + dropped + unwritten + lost + missing
 *
 * Each launch is in one of these: lost are those that were written and cannot be read any more,
 * missing those of which nothing is known. All in launches. Pure.
 */
#ifndef KP_ANALYZERS_REPORT_LOSSES_H
#define KP_ANALYZERS_REPORT_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/report_process.h"

struct kp_report;

/* What a report lacks. */
struct kp_losses {
	uint64_t missing; /* known not to be in the trace, or to have no times */
	uint64_t present; /* with times */
	bool known;       /* false: there may be more */
	bool uncounted;   /* parts of the file are gone, and no count says how many were there */
};

/*
 * Launches of a process that are not readable any more, of whose kernels so many are: those that
 * headers promise, and, of a process that ended well, those that it wrote and that are not there.
 * Others may not have written them yet.
 */
uint64_t kp_losses_lost(const struct kp_process *process, uint64_t kernels);
/* By headers alone, and by what was lost when traces were merged: of a whole trace. */
uint64_t kp_losses_promised(const struct kp_reader *reader);
/* Fills in what a row lacks: its process and kernels are set. */
void kp_losses_count(struct kp_process_row *row);
struct kp_losses kp_losses_of(const struct kp_report *report);
/* Whether so many are missing that figures mean nothing. */
bool kp_losses_weigh(const struct kp_losses *losses);
/* What is missing, as in «16384 of 48238 launches are missing»; "" where that is nothing. */
void kp_losses_describe(const struct kp_losses *losses, char *out, size_t size);

#endif
