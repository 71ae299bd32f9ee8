/*
 * When the GPUs ran and waited, in a few lines: what the time that is not kernels went to, how long
 * an iteration takes, and what a CUDA graph would save; see print.h. Nothing is said where there is
 * nothing to say.
 */
#include "profiler/print_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/humanise.h"
#include "profiler/style.h"
#include "profiler/text.h"

#define DIGITS 4
#define IDLE_WORTH_PCT 5    /* of the span: else idle time is not worth a line */
#define CAUSE_WORTH_PCT 1   /* of idle time */
#define SHARED_WORTH_PCT 5  /* of the span */
#define OVERLAP_WORTH_PCT 1 /* of kernel time */
#define MAX_PHASES 8        /* lines */

const char *const kp_gap_keys[KP_GAP_CAUSE_COUNT] = {
#define KEY(name, key, words) [KP_GAP_##name] = (key),
	KP_GAP_CAUSES(KEY)
#undef KEY
};

const char *const kp_gap_words[KP_GAP_CAUSE_COUNT] = {
#define WORDS(name, key, words) [KP_GAP_##name] = (words),
	KP_GAP_CAUSES(WORDS)
#undef WORDS
};

/* The idle time of all GPUs. */
static struct kp_idle_row add_up(const struct kp_report *report)
{
	struct kp_idle_row sum = {0};

	for (size_t i = 0; i < report->gpu_count; i++) {
		const struct kp_idle_row *row = &report->timeline->idle[i];

		sum.idle_ns += row->idle_ns;
		sum.faults.overlapping += row->faults.overlapping;
		sum.faults.overlap_ns += row->faults.overlap_ns;
		sum.faults.out_of_order += row->faults.out_of_order;
		if (row->faults.step_ns > sum.faults.step_ns)
			sum.faults.step_ns = row->faults.step_ns;
		for (unsigned k = 0; k < KP_GAP_CAUSE_COUNT; k++) {
			sum.parts[k].total_ns += row->parts[k].total_ns;
			sum.parts[k].inferred_ns += row->parts[k].inferred_ns;
		}
	}
	return sum;
}

/* The causes that are worth it, largest first. */
static void print_idle(FILE *file, const struct kp_report *report, const struct kp_view *view,
		       const struct kp_idle_row *sum)
{
	double idle_ns = (double)sum->idle_ns, span_ns = (double)report->span_ns;
	bool told[KP_GAP_CAUSE_COUNT] = {false};
	char text[800];
	size_t length;

	if (!(idle_ns * 100 >= IDLE_WORTH_PCT * span_ns) || !report->counts.kernels_timed)
		return;
	length = (size_t)snprintf(text, sizeof text,
				  "%s (%s of the span):", kp_human_duration(idle_ns, DIGITS).text,
				  kp_human_percent(100 * idle_ns / span_ns).text);
	for (unsigned round = 0; round < KP_GAP_CAUSE_COUNT; round++) {
		unsigned most = KP_GAP_CAUSE_COUNT;

		for (unsigned k = 0; k < KP_GAP_CAUSE_COUNT; k++)
			if (!told[k] && (most == KP_GAP_CAUSE_COUNT ||
					 sum->parts[k].total_ns > sum->parts[most].total_ns))
				most = k;
		double part_pct = 100 * (double)sum->parts[most].total_ns / idle_ns;
		if (!(part_pct >= CAUSE_WORTH_PCT))
			break;
		told[most] = true;
		length += (size_t)snprintf(
			text + length, sizeof text - length, "%s %s %s%s", round ? ";" : "",
			kp_human_percent(part_pct).text, kp_gap_words[most],
			most == KP_GAP_UNKNOWN && !report->host.any ? " (record with --host)"
			: sum->parts[most].inferred_ns              ? " (inferred)"
								    : "");
	}
	kp_print_line(file, view, KP_STYLE_PLAIN, "Idle", "%s", text);
}

/* Processes that share GPUs hold each other up, while the GPU is busy. */
static void print_shared(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	uint64_t others_ns = 0;

	for (size_t i = 0; i < report->process_count; i++)
		others_ns += report->processes[i].others_ns;
	if ((double)others_ns * 100 < SHARED_WORTH_PCT * (double)report->span_ns)
		return;
	kp_print_line(file, view, KP_STYLE_PLAIN, "Shared",
		      "between the kernels of one process, those of others ran on its GPU for "
		      "%s, over all "
		      "processes",
		      kp_human_duration((double)others_ns, DIGITS).text);
}

/* What the records say that cannot be. */
static void print_doubts(FILE *file, const struct kp_report *report, const struct kp_view *view,
			 const struct kp_idle_row *sum)
{
	if (sum->faults.out_of_order > 0)
		kp_print_line(file, view, KP_STYLE_WARNING, "Clock",
			      "times went back by up to %s: %s launches are out of the order "
			      "in which they "
			      "were made, and times between them mean nothing",
			      kp_human_duration((double)sum->faults.step_ns, DIGITS).text,
			      kp_human_count(sum->faults.out_of_order).text);
	if ((double)sum->faults.overlap_ns * 100 > OVERLAP_WORTH_PCT * (double)report->kernel_ns)
		kp_print_line(
			file, view, KP_STYLE_WARNING, "Overlap",
			"%s kernels run on when the next of their stream has begun (programmatic "
			"dependent launches, or wrong times): kernel time would be %s without that",
			kp_human_count(sum->faults.overlapping).text,
			kp_human_duration((double)(report->kernel_ns - sum->faults.overlap_ns),
					  DIGITS)
				.text);
}

/* The row whose iterations took most. */
static const struct kp_iteration_row *most_time(const struct kp_timeline *timeline)
{
	const struct kp_iteration_row *most = NULL;

	for (size_t i = 0; i < timeline->iteration_count; i++) {
		const struct kp_iteration_row *row = &timeline->iterations[i];

		if (row->count && (!most || row->wall_total_ns > most->wall_total_ns))
			most = row;
	}
	return most;
}

static void print_steps(FILE *file, const struct kp_view *view, const struct kp_iteration_row *row)
{
	char warmup[96] = "", outliers[96] = "";

	if (row->warmup > 0)
		snprintf(warmup, sizeof warmup, "; %s more at the start left out as warm-up",
			 kp_human_count(row->warmup).text);
	if (row->outlier_count > 0)
		snprintf(outliers, sizeof outliers, "; %s took %.1f times as long or longer",
			 kp_human_count(row->outlier_count).text, KP_OUTLIER_RATIO);
	kp_print_line(
		file, view, KP_STYLE_PLAIN, "Iterations",
		"%s %s of %.0f launches: median %s, 90%% of them %s to %s, GPU busy %s of it%s%s",
		kp_human_count(row->count).text, row->by_range ? "NVTX ranges" : "repetitions",
		row->kernels.median, kp_human_duration(row->wall.median, DIGITS).text,
		kp_human_duration(row->wall.p5, DIGITS).text,
		kp_human_duration(row->wall.p95, DIGITS).text,
		kp_human_percent(row->wall.mean > 0 ? 100 * row->busy.mean / row->wall.mean : 0)
			.text,
		warmup, outliers);
}

/* Whether launches hold the iterations up, and what a graph would save. */
static void print_launch_bound(FILE *file, const struct kp_view *view,
			       const struct kp_iteration_row *row)
{
	const struct kp_graph_gain *gain = &row->gain;
	double wall_ns = row->wall.mean;

	if (!row->launch_bound || gain->high_ns >= wall_ns)
		return;
	kp_print_line(file, view, KP_STYLE_STRONG, "Launches",
		      "launch-bound: the GPU waits for launches %s of an iteration (%s); a CUDA "
		      "graph would "
		      "save %s to %s of %s, %.2f to %.2f times as fast (modelled)",
		      kp_human_percent(100 * row->launch_ns / wall_ns).text,
		      row->launch_inferred ? "inferred; --host would measure it" : "measured",
		      kp_human_duration(gain->low_ns, 3).text,
		      kp_human_duration(gain->high_ns, 3).text, kp_human_duration(wall_ns, 3).text,
		      wall_ns / (wall_ns - gain->low_ns), wall_ns / (wall_ns - gain->high_ns));
}

static void print_phase(FILE *file, const struct kp_phase_row *row, const char *gpu,
			const struct kp_view *view, const char *label)
{
	const struct kp_human wall = kp_human_duration((double)row->wall_ns, DIGITS);
	const struct kp_human kernels = kp_human_count(row->kernels);
	double busy_pct = row->wall_ns ? 100 * (double)row->busy_ns / (double)row->wall_ns : 0;

	if (row->by_launch)
		kp_print_line(file, view, KP_STYLE_PLAIN, label,
			      "%s%s %s (NVTX): %s launches in it kept the GPU busy for %s",
			      row->name, gpu, wall.text, kernels.text,
			      kp_human_duration((double)row->busy_ns, DIGITS).text);
	else
		kp_print_line(file, view, KP_STYLE_PLAIN, label,
			      "%s%s %s (%s): GPU busy %s of it, %s launches", row->name, gpu,
			      wall.text, row->by_pattern ? "by its attention kernels" : "NVTX",
			      kp_human_percent(busy_pct).text, kernels.text);
}

static void print_phases(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_timeline *timeline = report->timeline;

	for (size_t i = 0; i < timeline->phase_count && i < MAX_PHASES; i++) {
		const struct kp_phase_row *row = &timeline->phases[i];
		char gpu[32] = "";

		if (report->gpu_count > 1)
			snprintf(gpu, sizeof gpu, " on GPU %zu", row->gpu);
		print_phase(file, row, gpu, view, i == 0 ? "Phases" : "");
	}
}

static void print_all(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_iteration_row *row = most_time(report->timeline);
	struct kp_idle_row sum = add_up(report);

	print_doubts(file, report, view, &sum);
	print_idle(file, report, view, &sum);
	print_shared(file, report, view);
	print_phases(file, report, view);
	if (row) {
		print_steps(file, view, row);
		print_launch_bound(file, view, row);
	}
	if (view->gaps)
		kp_print_gaps(file, report, view);
	if (view->iterations)
		kp_print_iterations(file, report, view);
}

void kp_print_timeline(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	char *text = NULL;
	size_t length = 0;
	FILE *memory;

	if (!report->timeline || report->span_ns == 0)
		return;
	memory = open_memstream(&text, &length);
	if (memory) {
		print_all(memory, report, view);
		fclose(memory);
	}
	if (!memory || !text) {
		fputc('\n', file);
		print_all(file, report, view);
	} else if (length) { /* there may be nothing to tell */
		fputc('\n', file);
		fwrite(text, 1, length, file);
	}
	free(text);
}
