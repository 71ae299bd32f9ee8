/*
 * The one sentence that closes a report: what to look at first, and what that can win at most.
 *
 * It says nothing that the report's numbers do not carry: shares, idle time and Amdahl's bound.
 * Remedies that need shapes, counters or data flow are findings, elsewhere.
 */
#include "analyzers/report_build.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Below this share of the span the GPU waits more than kernels can win. */
#define BUSY_ENOUGH_PCT 60
/* Names longer than this are left to the table. */
#define NAME_MAX_BYTES 120

struct sentence {
	char text[1024];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *sentence, const char *format,
						      ...)
{
	size_t room = sizeof(sentence->text) - sentence->length;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(sentence->text + sentence->length, room, format, args);
	va_end(args);
	if (length > 0)
		sentence->length += (size_t)length < room ? (size_t)length : room - 1;
}

static uint64_t missing_records(const struct kp_report_counts *counts)
{
	return counts->dropped + counts->unwritten + counts->lost;
}

static uint64_t memop_ns(const struct kp_report *report)
{
	uint64_t total_ns = 0;

	for (size_t i = 0; i < report->memop_count; i++)
		total_ns += report->memops[i].durations.total_ns;
	return total_ns;
}

/* Whether a process counted launches at the driver's door. */
static bool was_issued(const struct kp_report *report)
{
	for (size_t i = 0; i < report->process_count; i++)
		if (report->processes[i].process->counts.kernels_issued)
			return true;
	return false;
}

static void say_no_kernels(struct sentence *sentence, const struct kp_report *report)
{
	if (missing_records(&report->counts))
		say(sentence, "No kernel is in this trace, but records are missing from it");
	else if (report->counts.kernels)
		say(sentence,
		    "None of the %" PRIu64
		    " kernels has usable times, so that nothing can be ranked",
		    report->counts.kernels);
	else if (report->counts.processes_refused)
		say(sentence, "Nothing was recorded: the note above says why and what helps");
	else if (report->windows.any)
		say(sentence, "No kernel was recorded in the windows that were asked for: the line "
			      "«Windows» says how much was launched outside");
	else if (was_issued(report))
		say(sentence, "Kernels were launched, but CUPTI recorded none: «kprof doctor» may "
			      "say why");
	else if (report->memop_count)
		say(sentence, "No kernel ran, only memory operations: there is nothing to rank");
	else
		say(sentence, "No kernel ran on a GPU: if one should have, see «kprof doctor»");
}

/* The GPU waits: what for, as far as the trace shows. */
static void say_idle(struct sentence *sentence, const struct kp_report *report, double busy_pct)
{
	uint64_t idle_ns = report->span_ns - report->busy_ns;
	double copy_pct = 100 * (double)memop_ns(report) / (double)report->span_ns;
	bool graphs = report->counts.graph_kernels * 2 > report->counts.kernels;

	say(sentence,
	    "Kernels run only %.1f %% of the time, so that faster ones win less than that: ",
	    busy_pct);
	if (memop_ns(report) > idle_ns / 2)
		say(sentence,
		    "first keep data on the GPU or overlap the copies, %.1f %% of the time",
		    copy_pct);
	else if (graphs)
		say(sentence, "first see what the GPU waits for between graphs (host work, "
			      "synchronisation, input), and try larger batches");
	else
		say(sentence, "first let the GPU wait less for launches and the host (CUDA graphs, "
			      "larger batches, fewer synchronisations)");
}

/* Amdahl: what is left if a share of the span took no time. */
static void say_bound(struct sentence *sentence, double span_pct)
{
	if (span_pct < 90)
		say(sentence,
		    "even at no cost at all, the whole would be %.2f times as fast at most",
		    100 / (100 - span_pct));
	else
		say(sentence, "it is nearly all of the time");
}

/* The row's share of the span, also where only kernel time was divided. */
static double span_pct_of(const struct kp_report *report, const struct kp_shares *shares)
{
	if (report->options.busy_shares)
		return shares->span_pct;
	return shares->kernel_pct * (double)report->busy_ns / (double)report->span_ns;
}

static void say_top(struct sentence *sentence, const struct kp_report *report)
{
	const struct kp_operator_row *top = &report->operators[0];
	const struct kp_kernel_row *kernel = &report->kernels[top->first_kernel];
	bool known = strcmp(top->name, "unknown") != 0;
	bool named = strlen(kernel->shortened) <= NAME_MAX_BYTES;
	const struct kp_shares *shares = known ? &top->shares : &kernel->shares;

	if (!(shares->kernel_pct > report->options.threshold_pct)) {
		say(sentence,
		    "No operator takes more than %.4g %% of kernel time (%s takes most, %.1f %%): "
		    "fusing small kernels may win more than replacing one",
		    report->options.threshold_pct, known ? top->name : "a single kernel",
		    shares->kernel_pct);
		return;
	}
	if (known)
		say(sentence, "Start with %s, %.1f %% of kernel time", top->name,
		    shares->kernel_pct);
	else
		say(sentence, "Start with the kernel that takes %.1f %% of kernel time",
		    shares->kernel_pct);
	if (named && known && top->kernel_count > 1)
		say(sentence, ", led by %s", kernel->shortened);
	else if (named)
		say(sentence, ", %s", kernel->shortened);
	say(sentence, ": ");
	if (strcmp(top->name, "communication") == 0)
		say(sentence, "it includes waiting for other GPUs, so see balance and overlap; ");
	say_bound(sentence, span_pct_of(report, shares));
}

static void say_missing(struct sentence *sentence, const struct kp_report_counts *counts)
{
	if (counts->dropped)
		say(sentence, "; %" PRIu64 " records were dropped", counts->dropped);
	if (counts->unwritten)
		say(sentence, "; %" PRIu64 " could not be written", counts->unwritten);
	if (counts->lost)
		say(sentence, "; %" PRIu64 " are in damaged parts of the file", counts->lost);
	if (missing_records(counts))
		say(sentence, ": the ranking is incomplete");
}

const char *kp_build_advice(const struct kp_report *report)
{
	struct sentence sentence = {.length = 0};
	double busy_pct =
		report->span_ns ? 100 * (double)report->busy_ns / (double)report->span_ns : 0;

	if (!report->counts.kernels_timed || !report->span_ns || !report->kernel_ns)
		say_no_kernels(&sentence, report);
	else if (busy_pct < BUSY_ENOUGH_PCT)
		say_idle(&sentence, report, busy_pct);
	else
		say_top(&sentence, report);
	say_missing(&sentence, &report->counts);
	say(&sentence, ".");
	return kp_arena_copy(report->arena, sentence.text, sentence.length);
}
