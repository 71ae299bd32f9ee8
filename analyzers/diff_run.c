/* What a comparison keeps of a report; see diff_run.h. Pure. */
#include "analyzers/diff_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Processes on GPUs that have fewer iterations than that part of the most are left out of the
 * iterations: they are helpers. */
#define MAIN_PART 2

struct taking {
	const struct kp_report *report;
	struct kp_run *run;
	uint32_t *row_of; /* of each kernel of the report */
};

static const char *copy(struct kp_arena *arena, const char *text)
{
	return kp_arena_copy(arena, text, strlen(text));
}

/* NULL stays NULL. */
static bool copy_maybe(struct kp_arena *arena, const char *text, const char **out)
{
	*out = text ? copy(arena, text) : NULL;
	return !text || *out;
}

/* ---- kernels ---- */

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* What makes two rows of reports the same kernel, in the same work. */
static int compare_kernels(const struct kp_report *report, const struct kp_kernel_row *a,
			   const struct kp_kernel_row *b)
{
	int order = strcmp(a->mangled, b->mangled);

	if (!order)
		order = strcmp(report->operators[a->operator_index].name,
			       report->operators[b->operator_index].name);
	return order ? order : compare_texts(a->variant, b->variant);
}

struct sorting {
	const struct kp_report *report;
	const struct kp_kernel_row *kernel;
};

static int compare_sorting(const void *left, const void *right)
{
	const struct sorting *a = left, *b = right;
	int order = compare_kernels(a->report, a->kernel, b->kernel);

	/* What has more time, hence the better median, first. */
	if (!order)
		order = (a->kernel->durations.total_ns < b->kernel->durations.total_ns) -
			(a->kernel->durations.total_ns > b->kernel->durations.total_ns);
	return order ? order : (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

static bool name_row(const struct taking *taking, const struct kp_kernel_row *from,
		     struct kp_run_row *row)
{
	struct kp_arena *arena = taking->run->arena;

	row->mangled = copy(arena, from->mangled);
	row->full = copy(arena, from->full);
	row->shortened = copy(arena, from->shortened);
	row->operator_name = copy(arena, taking->report->operators[from->operator_index].name);
	row->before = row->behind = KP_RUN_NONE;
	row->median_ns = row->bytes = NAN;
	return row->mangled && row->full && row->shortened && row->operator_name &&
	       copy_maybe(arena, from->variant, &row->variant) &&
	       copy_maybe(arena, from->dtype, &row->dtype);
}

static void add_kernel(const struct taking *taking, const struct kp_kernel_row *from,
		       struct kp_run_row *row)
{
	double bytes = taking->report->traffic.any && from->traffic.source != KP_TRAFFIC_UNKNOWN
			       ? from->traffic.bytes * (double)from->calls
			       : NAN;

	row->calls[KP_UNIT_RUN] += from->calls;
	row->total_ns += from->durations.total_ns;
	if (isnan(row->median_ns) && from->durations.timed)
		row->median_ns = from->durations.median_ns;
	if (!isnan(bytes) && from->durations.total_ns)
		row->bytes = isnan(row->bytes) ? bytes : row->bytes + bytes;
}

static enum kp_status take_kernels(struct taking *taking)
{
	const struct kp_report *report = taking->report;
	struct kp_run *run = taking->run;
	struct sorting *sorted = malloc((report->kernel_count + 1) * sizeof(*sorted));
	enum kp_status status = KP_OK;

	run->rows = kp_arena_alloc(run->arena, (report->kernel_count + 1) * sizeof(*run->rows));
	if (!sorted || !run->rows) {
		free(sorted);
		return KP_NO_MEMORY;
	}
	for (size_t i = 0; i < report->kernel_count; i++)
		sorted[i] = (struct sorting){report, &report->kernels[i]};
	qsort(sorted, report->kernel_count, sizeof(*sorted), compare_sorting);
	for (size_t i = 0; status == KP_OK && i < report->kernel_count; i++) {
		const struct kp_kernel_row *kernel = sorted[i].kernel;

		if ((i == 0 || compare_kernels(report, sorted[i - 1].kernel, kernel) != 0) &&
		    !name_row(taking, kernel, &run->rows[run->row_count++]))
			status = KP_NO_MEMORY;
		add_kernel(taking, kernel, &run->rows[run->row_count - 1]);
		taking->row_of[kernel - report->kernels] = (uint32_t)(run->row_count - 1);
	}
	free(sorted);
	return status;
}

/* ---- the whole run ---- */

/* Parts of kernels are whole nanoseconds that add up to the busy time. */
static void take_busy(struct taking *taking)
{
	const struct kp_report *report = taking->report;
	double sum_pct = 0;
	uint64_t told_ns = 0;

	for (size_t i = 0; i < report->kernel_count; i++) {
		bool last = i + 1 == report->kernel_count;
		double until_ns;

		sum_pct += report->kernels[i].shares.busy_pct;
		until_ns = sum_pct / 100 * (double)report->busy_ns + 0.5;
		uint64_t whole_ns = last || until_ns > (double)report->busy_ns ? report->busy_ns
									       : (uint64_t)until_ns;
		taking->run->rows[taking->row_of[i]].part_ns[KP_UNIT_RUN] += whole_ns - told_ns;
		told_ns = whole_ns;
	}
}

static void take_run(struct taking *taking)
{
	const struct kp_report *report = taking->report;
	struct kp_run *run = taking->run;
	struct kp_run_length *length = &run->lengths[KP_UNIT_RUN];
	uint64_t idle_ns = 0;

	run->kernel_ns = report->kernel_ns;
	run->busy_ns = report->busy_ns;
	run->span_ns = report->span_ns;
	run->launches = report->counts.kernels;
	take_busy(taking);
	length->count = 1;
	length->length_ns = report->span_ns;
	for (size_t i = 0; i < report->gpu_count; i++)
		for (unsigned k = 0; k < KP_GAP_CAUSE_COUNT; k++)
			length->cause_ns[k] += report->timeline->idle[i].parts[k].total_ns;
	for (unsigned k = 0; k < KP_GAP_CAUSE_COUNT; k++)
		idle_ns += length->cause_ns[k];
	/* Of kernels that no span holds there is nothing to say but that. */
	length->rest_ns =
		(int64_t)(report->span_ns - (report->kernel_count ? report->busy_ns : 0) - idle_ns);
}

/* ---- iterations ---- */

static void take_row(struct taking *taking, const struct kp_step_row *from, bool counts)
{
	struct kp_run_row *row = &taking->run->rows[taking->row_of[from->kernel]];

	if (row->before == KP_RUN_NONE && from->before != KP_STEP_NONE)
		row->before = taking->row_of[from->before];
	if (row->behind == KP_RUN_NONE && from->behind != KP_STEP_NONE)
		row->behind = taking->row_of[from->behind];
	if (!counts)
		return;
	row->calls[KP_UNIT_STEP] += from->calls;
	row->part_ns[KP_UNIT_STEP] += from->part_ns;
}

static void take_length(struct kp_run_length *length, const struct kp_step_parts *parts)
{
	length->count += parts->count;
	length->length_ns += parts->wall_ns;
	length->others_ns += parts->others_ns;
	length->rest_ns += parts->rest_ns;
	for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++)
		length->cause_ns[i] += parts->cause_ns[i];
}

/* The mean over processes and GPUs, as far as all have iterations. */
static enum kp_status take_walls(struct taking *taking, uint64_t least)
{
	const struct kp_timeline *timeline = taking->report->timeline;
	struct kp_run *run = taking->run;
	size_t shortest = SIZE_MAX, uses = 0;

	for (size_t i = 0; i < timeline->part_count; i++) {
		if (timeline->parts[i].count < least)
			continue;
		uses++;
		if (timeline->parts[i].wall_count < shortest)
			shortest = timeline->parts[i].wall_count;
	}
	run->wall_count = uses ? shortest : 0;
	run->walls_ns = kp_arena_alloc(run->arena, (run->wall_count + 1) * sizeof(*run->walls_ns));
	if (!run->walls_ns)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < timeline->part_count; i++) {
		const struct kp_step_parts *parts = &timeline->parts[i];

		for (size_t k = 0; parts->count >= least && k < run->wall_count; k++)
			run->walls_ns[k] += (double)parts->walls_ns[k] / (double)uses;
	}
	return KP_OK;
}

static enum kp_status take_steps(struct taking *taking)
{
	const struct kp_timeline *timeline = taking->report->timeline;
	struct kp_run *run = taking->run;
	uint64_t most = 0, least;

	for (size_t i = 0; i < timeline->part_count; i++)
		most = timeline->parts[i].count > most ? timeline->parts[i].count : most;
	least = most ? (most + MAIN_PART - 1) / MAIN_PART : 1;
	for (size_t i = 0; i < timeline->part_count; i++) {
		const struct kp_step_parts *parts = &timeline->parts[i];
		bool counts = parts->count >= least;

		for (size_t k = 0; k < parts->row_count; k++)
			take_row(taking, &parts->rows[k], counts);
		if (!counts)
			continue;
		take_length(&run->lengths[KP_UNIT_STEP], parts);
		run->by_range = timeline->iterations[parts->iteration].by_range;
		if (!run->anchor &&
		    !copy_maybe(run->arena, timeline->iterations[parts->iteration].anchor,
				&run->anchor))
			return KP_NO_MEMORY;
	}
	return take_walls(taking, least);
}

/* ---- where and how it ran ---- */

static int compare_pointed(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* "NVIDIA H200", "2 x NVIDIA H200, NVIDIA L40S". */
static enum kp_status take_gpus(struct taking *taking)
{
	const struct kp_report *report = taking->report;
	const char **names = malloc((report->gpu_count + 1) * sizeof(*names));
	char text[256] = "";
	size_t count = 0, end;

	if (!names)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < report->gpu_count; i++) {
		const struct kp_device_info *info = report->gpus[i].info;

		if (info && KP_HAS(info, DEVICE, name))
			names[count++] = info->name.bytes;
	}
	qsort(names, count, sizeof(*names), compare_pointed);
	for (size_t i = 0; i < count; i = end) {
		size_t length = strlen(text);

		for (end = i + 1; end < count && strcmp(names[i], names[end]) == 0;)
			end++;
		if (end - i > 1)
			snprintf(text + length, sizeof(text) - length, "%s%zu x %s",
				 length ? ", " : "", end - i, names[i]);
		else
			snprintf(text + length, sizeof(text) - length, "%s%s", length ? ", " : "",
				 names[i]);
	}
	free(names);
	taking->run->gpus = copy(taking->run->arena, text);
	return taking->run->gpus ? KP_OK : KP_NO_MEMORY;
}

static void take_clocks(struct taking *taking)
{
	const struct kp_report *report = taking->report;
	double mhz = 0, throttled = 0, known = 0, throttle_known = 0;

	for (size_t i = 0; i < report->gpu_count; i++) {
		const struct kp_clocks_summary *clocks = &report->gpus[i].clocks;

		if (clocks->readings && clocks->sm_mhz.known && clocks->sm_mhz.median) {
			mhz += clocks->sm_mhz.median;
			known++;
		}
		if (clocks->readings && clocks->throttle_known) {
			throttled += clocks->throttled_pct;
			throttle_known++;
		}
	}
	taking->run->sm_mhz = known > 0 ? mhz / known : NAN;
	taking->run->throttled_pct = throttle_known > 0 ? throttled / throttle_known : NAN;
}

static int compare_numbers(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static bool copy_text(struct kp_arena *arena, struct kp_text text, const char **out)
{
	*out = kp_arena_copy(arena, text.bytes, text.length);
	return *out != NULL;
}

static enum kp_status take_processes(struct taking *taking)
{
	const struct kp_report *report = taking->report;
	struct kp_run *run = taking->run;

	run->identities =
		kp_arena_alloc(run->arena, (report->process_count + 1) * sizeof(*run->identities));
	if (!run->identities)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < report->process_count; i++) {
		const struct kp_process_row *row = &report->processes[i];
		const struct kp_process_info *info = &row->process->info;

		run->identities[run->identity_count++] = row->process->id;
		if (row->kernels && !run->command && KP_HAS(info, PROCESS, command) &&
		    !copy_text(run->arena, info->command, &run->command))
			return KP_NO_MEMORY;
		if (row->kernels && !run->driver && KP_HAS(info, PROCESS, driver_name) &&
		    !copy_text(run->arena, info->driver_name, &run->driver))
			return KP_NO_MEMORY;
	}
	qsort(run->identities, run->identity_count, sizeof(*run->identities), compare_numbers);
	return KP_OK;
}

static void take_counts(struct taking *taking)
{
	const struct kp_report_counts *counts = &taking->report->counts;
	struct kp_run *run = taking->run;

	run->losses = kp_losses_of(taking->report);
	run->filtered = counts->filtered;
	run->unfinished = counts->processes_unfinished;
	run->windows = taking->report->windows.any;
	run->sampled = taking->report->windows.sampled;
	run->host = taking->report->host.any;
	run->counted = taking->report->traffic.any;
}

enum kp_status kp_run_create(const struct kp_report *report, const char *name, struct kp_run **out)
{
	struct kp_run *run = calloc(1, sizeof(*run));
	struct taking taking = {report, run, malloc((report->kernel_count + 1) * sizeof(uint32_t))};
	enum kp_status status = KP_NO_MEMORY;

	if (run)
		run->arena = kp_arena_create();
	if (!run || !run->arena || !taking.row_of)
		goto out;
	run->name = copy(run->arena, name);
	take_counts(&taking);
	status = run->name ? take_kernels(&taking) : KP_NO_MEMORY;
	if (status != KP_OK)
		goto out;
	take_run(&taking);
	take_clocks(&taking);
	status = take_steps(&taking);
	if (status == KP_OK)
		status = take_gpus(&taking);
	if (status == KP_OK)
		status = take_processes(&taking);
out:
	free(taking.row_of);
	if (status != KP_OK) {
		kp_run_destroy(run);
		run = NULL;
	}
	*out = run;
	return status;
}

void kp_run_destroy(struct kp_run *run)
{
	if (!run)
		return;
	kp_arena_destroy(run->arena);
	free(run);
}
