/*
 * What closes a report: the first finding, its remedy, and what that wins; or why there is none.
 *
 * It says nothing that the findings do not say, so that the two never disagree.
 */
#include "analyzers/report_build.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct sentence {
	char text[2048];
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

/* What can be won of the span, where that is known and worth a word. */
static void say_win(struct sentence *sentence, const struct kp_win *win)
{
	if (!(win->span_bound_pct >= 0.05))
		return;
	say(sentence, ". That saves at most %.1f %% of the span", win->span_bound_pct);
	if (isnan(win->span_likely_pct))
		return;
	if (win->span_likely_pct >= 0.05)
		say(sentence, ", likely %.1f %%", win->span_likely_pct);
	else
		say(sentence, ", and likely nothing as long as the GPU waits");
}

static void say_first(struct sentence *sentence, const struct kp_findings *findings)
{
	const struct kp_finding *first = findings->items;

	if (!findings->count && !findings->held_count) {
		say(sentence, "Too little ran to say what to do");
		return;
	}
	if (!findings->count) {
		say(sentence, "No finding is left of %zu: see --findings, --silence and --min-gain",
		    findings->held_count);
		return;
	}
	say(sentence, "%s. %s", first->sentence, first->remedy);
	if (kp_finding_rung(first->id) != KP_RUNG_LEAVE)
		say_win(sentence, &first->win);
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

	if (!report->counts.kernels_timed || !report->span_ns || !report->kernel_ns)
		say_no_kernels(&sentence, report);
	else
		say_first(&sentence, &report->findings);
	say_missing(&sentence, &report->counts);
	say(&sentence, ".");
	return kp_arena_copy(report->arena, sentence.text, sentence.length);
}
