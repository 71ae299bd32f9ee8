/*
 * The lines above the ranking; see print.h: one fact a line, a label before it. What is missing
 * from the trace is never silent: each kind of loss has its line, and none where there is none.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/clocks.h"
#include "profiler/humanise.h"
#include "profiler/print.h"
#include "profiler/style.h"
#include "profiler/text.h"
#include "profiler/traffic.h"

#define DIGITS 4
#define MAX_GPUS 16 /* lines; more are counted */
#define MAX_NOTES 3 /* lines; kprof info has all */

/* Text of a trace, for people; cut where it is very long. */
struct shown {
	char text[512];
};

static struct shown show(struct kp_text text)
{
	struct shown out = {""};

	kp_text_visible(out.text, sizeof out.text, text.bytes, text.length);
	return out;
}

/* Those that used CUDA. */
static size_t traced_processes(const struct kp_report *report)
{
	return report->process_count - report->counts.processes_untraced;
}

static void print_command(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	for (size_t i = 0; i < report->process_count; i++) {
		const struct kp_process_info *info = &report->processes[i].process->info;
		if (!KP_HAS(info, PROCESS, command) || KP_HAS(info, PROCESS, untraced))
			continue;
		fprintf(file, "%-*s", KP_PRINT_LABEL, "Command");
		kp_text_fit(file, show(info->command).text, view->width - KP_PRINT_LABEL);
		fputc('\n', file);
		break;
	}
	if (traced_processes(report) > 1)
		kp_print_line(file, view, KP_STYLE_PLAIN, "Processes", "%zu",
			      traced_processes(report));
}

static void print_gpu(FILE *file, const struct kp_report *report, const struct kp_gpu_row *gpu,
		      const struct kp_view *view)
{
	char label[16] = "GPU", text[700];
	size_t length = 0;

	if (report->gpu_count > 1)
		snprintf(label, sizeof label, "GPU %zu", (size_t)(gpu - report->gpus));
	if (!gpu->info || !KP_HAS(gpu->info, DEVICE, name))
		length += (size_t)snprintf(text, sizeof text, "device %" PRIu32 ", not described",
					   gpu->device);
	else
		length += (size_t)snprintf(text, sizeof text, "%s", show(gpu->info->name).text);
	if (gpu->info && KP_HAS(gpu->info, DEVICE, sm_count))
		length += (size_t)snprintf(text + length, sizeof text - length, ", %" PRIu64 " SMs",
					   gpu->info->sm_count);
	if (gpu->info && KP_HAS(gpu->info, DEVICE, memory_bytes))
		length += (size_t)snprintf(text + length, sizeof text - length, ", %s",
					   kp_human_bytes(gpu->info->memory_bytes, DIGITS).text);
	if (gpu->info && KP_HAS(gpu->info, DEVICE, mig) && gpu->info->mig)
		length += (size_t)snprintf(text + length, sizeof text - length, ", MIG slice");
	if (report->gpu_count > 1 && gpu->span_ns > 0)
		snprintf(text + length, sizeof text - length, ": busy %s of %s",
			 kp_human_duration((double)gpu->busy_ns, DIGITS).text,
			 kp_human_duration((double)gpu->span_ns, DIGITS).text);
	kp_print_line(file, view, KP_STYLE_PLAIN, label, "%s", text);
}

/* What NVML said of it meanwhile; nothing where it said nothing. */
static void print_clocks(FILE *file, const struct kp_gpu_row *gpu, const struct kp_view *view)
{
	char text[512];

	kp_clocks_text(&gpu->clocks, text, sizeof text);
	if (text[0])
		kp_print_line(file, view, KP_STYLE_PLAIN, "Clocks", "%s", text);
	kp_clocks_throttle_text(&gpu->clocks, text, sizeof text);
	if (text[0])
		kp_print_line(file, view, KP_STYLE_WARNING, "Throttled", "%s", text);
}

static void print_driver(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	if (report->process_count == 0)
		return;
	const struct kp_process_info *info = &report->processes[0].process->info;
	char text[700] = "";
	size_t length = 0;

	if (KP_HAS(info, PROCESS, driver_name))
		length += (size_t)snprintf(text, sizeof text, "%s, ", show(info->driver_name).text);
	if (KP_HAS(info, PROCESS, driver_version))
		length += (size_t)snprintf(
			text + length, sizeof text - length, "CUDA %" PRIu64 ".%" PRIu64 ", ",
			info->driver_version / 1000, info->driver_version % 1000 / 10);
	if (KP_HAS(info, PROCESS, cupti_version))
		length += (size_t)snprintf(text + length, sizeof text - length,
					   "CUPTI API %" PRIu64 ", ", info->cupti_version);
	if (report->counts.kernels == 0 && KP_HAS(info, PROCESS, cupti_path))
		length += (size_t)snprintf(text + length, sizeof text - length, "%.400s, ",
					   show(info->cupti_path).text);
	if (length > 2) {
		text[length - 2] = '\0';
		kp_print_line(file, view, KP_STYLE_PLAIN, "Driver", "%s", text);
	}
}

static void print_totals(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_report_counts *counts = &report->counts;
	double busy_pct =
		report->span_ns ? 100.0 * (double)report->busy_ns / (double)report->span_ns : 0;

	if (report->span_ns > 0)
		kp_print_line(file, view, KP_STYLE_PLAIN, "Span",
			      "%s%s%s; GPU busy %s (%s), kernel time %s",
			      kp_human_duration((double)report->span_ns, DIGITS).text,
			      report->windows.any ? " in windows" : "",
			      report->gpu_count > 1 ? " over all GPUs" : "",
			      kp_human_duration((double)report->busy_ns, DIGITS).text,
			      kp_human_percent(busy_pct).text,
			      kp_human_duration((double)report->kernel_ns, DIGITS).text);
	if (report->windows.scaled)
		kp_print_line(
			file, view, KP_STYLE_PLAIN, "Estimated",
			"kernel time %s ± %s in the whole run (95%% confidence); by the length of "
			"windows %s",
			kp_human_duration(report->windows.kernel_time.total_ns, DIGITS).text,
			kp_human_duration(report->windows.kernel_time.total_ci95_ns, 3).text,
			kp_human_duration(report->windows.kernel_time.total_by_time_ns, DIGITS)
				.text);
	char graphs[64] = "";
	if (counts->graph_kernels > 0)
		snprintf(graphs, sizeof graphs, ", %s of them by CUDA graphs",
			 kp_human_count(counts->graph_kernels).text);
	if (counts->kernels == 0)
		kp_print_line(file, view, KP_STYLE_PLAIN, "Kernels", "none recorded");
	else
		kp_print_line(file, view, KP_STYLE_PLAIN, "Kernels",
			      "%s launch%s of %zu kernel%s%s", kp_human_count(counts->kernels).text,
			      counts->kernels == 1 ? "" : "es", report->distinct_kernels,
			      report->distinct_kernels == 1 ? "" : "s", graphs);
}

/* What counters were sampled. */
static void print_traffic(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	char text[400];

	for (size_t i = 0; i < report->gpu_count && i < MAX_GPUS; i++) {
		if (!report->gpus[i].traffic)
			continue;
		kp_traffic_describe(text, sizeof text, report->gpus[i].traffic);
		kp_print_line(file, view, KP_STYLE_PLAIN, "Memory", "%s", text);
	}
}

/* By what windows began, in the words of the command line. */
static const char *reason_of(const struct kp_report_windows *windows)
{
	static const char *const words[] = {
#define WORD(name, number, why) [KP_WINDOW_BY_##name] = (why),
		KP_WINDOW_REASONS(WORD)
#undef WORD
	};

	for (size_t i = 1; i < sizeof words / sizeof *words; i++) {
		if (windows->reasons >> i & 1)
			return words[i];
	}
	return words[0];
}

/* What was looked at, where that is not everything. */
static void print_windows(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_report_windows *windows = &report->windows;
	char lengths[128] = "none", outside[64] = "", what[160];
	double share = windows->whole_ns > 0 ? 100 * windows->inside_ns / windows->whole_ns : 0;

	if (report->counts.filtered > 0)
		kp_print_line(file, view, KP_STYLE_PLAIN, "Filtered",
			      "%s launches were left out by --kernels or --skip-kernels",
			      kp_human_count(report->counts.filtered).text);
	if (!windows->any)
		return;
	if (windows->count > 0)
		snprintf(lengths, sizeof lengths, "%s of %s", kp_human_count(windows->count).text,
			 kp_human_duration(windows->inside_ns / (double)windows->count, 3).text);
	if (report->counts.out_of_window > 0)
		snprintf(outside, sizeof outside, "; %s launches were outside",
			 kp_human_count(report->counts.out_of_window).text);
	if (windows->scaled)
		snprintf(what, sizeof what, "totals are scaled up");
	else if (windows->sampled)
		snprintf(what, sizeof what,
			 "too few to scale totals up, which are those of the windows: run longer, "
			 "or with a larger --duty");
	else
		snprintf(what, sizeof what, "begun by %s; nothing is said of the rest",
			 reason_of(windows));
	kp_print_line(file, view, KP_STYLE_PLAIN, "Windows", "%s, %s of %s; %s%s", lengths,
		      kp_human_percent(share).text,
		      kp_human_duration(windows->whole_ns, DIGITS).text, what, outside);
}

/* What the program's threads did to launch all that. */
static void print_host(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_report_host *host = &report->host;
	char graphs[64] = "";

	if (!host->any)
		return;
	if (host->graph_calls > 0)
		snprintf(graphs, sizeof graphs, ", %s of CUDA graphs",
			 kp_human_count(host->graph_calls).text);
	if (host->call.timed > 0)
		kp_print_line(
			file, view, KP_STYLE_PLAIN, "CPU",
			"CPU time in launch calls %s: %s call%s%s, median %s, 99 %% within %s, by "
			"%zu thread%s",
			kp_human_duration((double)host->call.total_ns, DIGITS).text,
			kp_human_count(host->calls).text, host->calls == 1 ? "" : "s", graphs,
			kp_human_duration(host->call.median_ns, 3).text,
			kp_human_duration(host->call_p99_ns, 3).text, host->thread_count,
			host->thread_count == 1 ? "" : "s");
	if (host->kernels_untied > 0)
		kp_print_line(
			file, view, KP_STYLE_WARNING, "Untied",
			"%s of %s launches could not be tied to a call: where records or calls are "
			"missing, order alone does not tell which",
			kp_human_count(host->kernels_untied).text,
			kp_human_count(host->kernels_untied + host->kernels_tied).text);
	if (host->calls_lost + host->calls_unwritten > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Calls lost",
			      "%s calls that launched kernels are not in the trace",
			      kp_human_count(host->calls_lost + host->calls_unwritten).text);
}

/* Losses between the driver and the file. */
static void print_losses(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_report_counts *counts = &report->counts;

	if (!counts->dropped_known)
		kp_print_line(file, view, KP_STYLE_WARNING, "Dropped",
			      "unknown: not every process could tell; %s records at least",
			      kp_human_count(counts->dropped).text);
	else if (counts->dropped > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Dropped",
			      "%s records by CUPTI: the numbers below lack them",
			      kp_human_count(counts->dropped).text);
	if (counts->unwritten > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Unwritten",
			      "%s launches were recorded, but did not reach the trace",
			      kp_human_count(counts->unwritten).text);
	if (counts->unknown_records > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Unknown",
			      "%s records of a kind that kprof cannot read",
			      kp_human_count(counts->unknown_records).text);
	if (counts->kernels_untimed > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Untimed",
			      "%s launch%s counted, but ha%s no times",
			      kp_human_count(counts->kernels_untimed).text,
			      counts->kernels_untimed == 1 ? " is" : "es are",
			      counts->kernels_untimed == 1 ? "s" : "ve");
	if (counts->kernels_invalid > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Invalid",
			      "%s launch%s counted, but the times are impossible",
			      kp_human_count(counts->kernels_invalid).text,
			      counts->kernels_invalid == 1 ? " is" : "es are");
}

/* Processes in which nothing could be collected, and the first reason. */
static void print_refused(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_note *reason = NULL;

	for (size_t i = 0; i < report->process_count && !reason; i++) {
		const struct kp_process *process = report->processes[i].process;
		if (report->processes[i].fate == KP_FATE_REFUSED && process->note_count > 0)
			reason = &process->notes[0];
	}
	if (report->counts.processes_refused > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Untraced",
			      "%" PRIu32 " of %zu processes could not be traced: %s",
			      report->counts.processes_refused, traced_processes(report),
			      reason && KP_HAS(reason, NOTE, text) ? show(reason->text).text
								   : "kprof info says why");
}

/*
 * How much of what processes issued is not in the trace, where they counted it: of killed ones all
 * of it; of the others that of which nothing is known.
 */
static uint64_t missing_launches(const struct kp_report *report, bool unfinished)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < report->process_count; i++) {
		const struct kp_process_row *row = &report->processes[i];

		if ((row->process->end.has == 0) == unfinished)
			missing += unfinished ? row->absent : row->missing;
	}
	return missing;
}

/* Why counters that were asked for are not there, the same words once. Another process's are. */
static void print_absent_counters(FILE *file, const struct kp_report *report,
				  const struct kp_view *view)
{
	struct kp_text last = {NULL, 0};

	for (size_t i = 0, shown = 0; i < report->process_count; i++) {
		const struct kp_process *process = report->processes[i].process;

		for (size_t k = 0; k < process->counters_count && shown < MAX_NOTES; k++) {
			const struct kp_counters_info *counters = &process->counters[k];
			const struct kp_text why = counters->absent;

			if (!KP_HAS(counters, COUNTERS, absent) ||
			    KP_HAS(counters, COUNTERS, owner_pid) ||
			    (last.bytes && why.length == last.length &&
			     memcmp(why.bytes, last.bytes, why.length) == 0))
				continue;
			kp_print_line(file, view, KP_STYLE_WARNING, "Counters", "not sampled: %s",
				      show(why).text);
			last = why;
			shown++;
		}
	}
}

/* Messages of collectors that did start; those of the others are in «Untraced». */
static void print_notes(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	for (size_t i = 0, shown = 0; i < report->process_count && shown < MAX_NOTES; i++) {
		const struct kp_process *process = report->processes[i].process;
		if (!KP_HAS(&process->info, PROCESS, cupti_version) || process->note_count == 0 ||
		    !KP_HAS(&process->notes[0], NOTE, text))
			continue;
		kp_print_line(file, view, KP_STYLE_WARNING, "Note", "%s",
			      show(process->notes[0].text).text);
		shown++;
	}
}

/*
 * Whether more launches were issued than are here cannot be said where nothing could count them; of
 * a part of a trace nobody asks.
 */
static void print_uncounted(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	bool part = report->windows.reasons & 1ULL << KP_WINDOW_BY_PART;
	size_t uncounted = 0;

	for (size_t i = 0; i < report->process_count; i++) {
		const struct kp_process_row *row = &report->processes[i];

		uncounted += row->kernels > 0 &&
			     KP_HAS(&row->process->counts, COUNTS, kernels_recorded) &&
			     !row->missing_known && !KP_HAS(&row->process->info, PROCESS, source);
	}
	if (uncounted > 0 && !part)
		kp_print_line(file, view, KP_STYLE_WARNING, "Missing",
			      "unknown: the launches of %zu process%s could not be counted on "
			      "their way to the driver (graphs with conditional nodes or nodes "
			      "that are off, launches by the GPU, or past kprof's hooks)",
			      uncounted, uncounted == 1 ? "" : "es");
}

/* Damage of the file, and processes that did not end well. */
static void print_damage(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_report_counts *counts = &report->counts;
	const struct kp_damage *damage = &counts->damage;
	uint64_t missing = missing_launches(report, true);
	uint64_t absent = missing_launches(report, false);

	if (counts->processes_unfinished > 0 && missing > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Unfinished",
			      "%" PRIu32
			      " of %zu processes killed or still running; %s launches that they "
			      "issued are not in the trace",
			      counts->processes_unfinished, traced_processes(report),
			      kp_human_count(missing).text);
	else if (counts->processes_unfinished > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Unfinished",
			      "%" PRIu32
			      " of %zu processes killed or still running; their last second "
			      "may be missing",
			      counts->processes_unfinished, traced_processes(report));
	if (absent > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Missing",
			      "%s launches were issued, but CUPTI delivered no record of them",
			      kp_human_count(absent).text);
	if (damage->torn_tail)
		kp_print_line(file, view, KP_STYLE_WARNING, "Truncated",
			      "the trace ends in the middle of a chunk; what was whole is shown");
	if (damage->damaged_chunks > 0 || damage->missing_chunks > 0 || counts->lost > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Damaged",
			      "unreadable chunks: %s, missing: %s; bytes skipped: %s; launches "
			      "known to be "
			      "lost: %s",
			      kp_human_count(damage->damaged_chunks).text,
			      kp_human_count(damage->missing_chunks).text,
			      kp_human_count(damage->damaged_bytes).text,
			      kp_human_count(counts->lost).text);
	if (damage->repeated_chunks > 0)
		kp_print_line(
			file, view, KP_STYLE_WARNING, "Repeated",
			"%s chunks are there more than once (the same trace given twice?) and were "
			"counted once",
			kp_human_count(damage->repeated_chunks).text);
	if (damage->unknown_chunks > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Newer",
			      "%s chunks were written by a newer kprof and are left out",
			      kp_human_count(damage->unknown_chunks).text);
	if (counts->displaced > 0)
		kp_print_line(
			file, view, KP_STYLE_WARNING, "Disordered",
			"%s launches are out of order in the trace: busy times are approximate",
			kp_human_count(counts->displaced).text);
}

/* What kprof import made the trace of. */
static void print_sources(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_process_info *first = NULL;
	size_t count = 0;
	char others[64] = "";

	for (size_t i = 0; i < report->process_count; i++) {
		const struct kp_process_info *info = &report->processes[i].process->info;

		if (!KP_HAS(info, PROCESS, source))
			continue;
		count++;
		first = first ? first : info;
	}
	if (count > 1)
		snprintf(others, sizeof others, ", and that of %zu more process%s", count - 1,
			 count == 2 ? "" : "es");
	if (first)
		kp_print_line(file, view, KP_STYLE_PLAIN, "Source", "%s%s",
			      show(first->source).text, others);
}

void kp_print_header(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	print_command(file, report, view);
	print_sources(file, report, view);
	for (size_t i = 0; i < report->gpu_count && i < MAX_GPUS; i++) {
		print_gpu(file, report, &report->gpus[i], view);
		print_clocks(file, &report->gpus[i], view);
	}
	if (report->gpu_count > MAX_GPUS)
		kp_print_line(file, view, KP_STYLE_PLAIN, "", "and %zu more GPUs",
			      report->gpu_count - MAX_GPUS);
	print_driver(file, report, view);
	print_totals(file, report, view);
	print_traffic(file, report, view);
	print_windows(file, report, view);
	print_host(file, report, view);
	print_losses(file, report, view);
	print_refused(file, report, view);
	print_absent_counters(file, report, view);
	print_notes(file, report, view);
	print_uncounted(file, report, view);
	print_damage(file, report, view);
}
