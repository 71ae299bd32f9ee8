/*
 * What a trace says that was recorded in windows: how long was looked at, and, under --duty, totals
 * of the whole run; see report.h and estimate.h.
 *
 * A launch belongs to the last window that began before it started. Launches of a process come in
 * order of time, but for a little disorder between streams: one that is late counts to the window
 * that is being read, which changes no total and hardly a variance. So each window is settled once,
 * when the next one begins, and memory holds one set of sums for each row, not for each window.
 */
#include "analyzers/report_build.h"

#include <stdlib.h>

#include "analyzers/estimate.h"

/* A row within one process, nanoseconds and calls: sums over windows by both sizes of a window. */
struct series {
	double ns, calls;                         /* in the window that is being read */
	struct kp_sample_row by_size[2], by_time; /* of ns and of calls; of ns */
	bool touched;
};

struct reading {
	const struct kp_process *process;
	bool windowed;  /* not recorded from start to end */
	bool sampled;   /* under --duty: to be scaled up */
	bool by_issued; /* windows are measured by launches; else by time */
	bool part;      /* they are the part of the trace that is looked at: nothing is scaled up */
	struct kp_sample size, time;
	size_t at;             /* window that is being read */
	uint64_t recorded;     /* in it */
	struct series *series; /* 0: all kernels; then operators, variants, rows */
	size_t series_count;
	uint32_t *touched; /* series in the window that is being read */
	size_t touched_count;
	struct {
		uint64_t first_ns, last_ns; /* of what was recorded in it; last_ns = 0: nothing */
	} * seen;
};

struct kp_build_windows {
	struct reading *readings;   /* one a process */
	size_t operators, variants; /* of the rules */
	bool sampled;               /* a process is to be scaled up */
};

/* Numbers of series. */
static size_t operator_series(size_t operator)
{
	return 1 + operator;
}

static size_t variant_series(const struct kp_build_windows *windows, size_t variant)
{
	return 1 + windows->operators + variant;
}

static size_t row_series(const struct kp_build_windows *windows, size_t row)
{
	return 1 + windows->operators + windows->variants + row;
}

/* ---- while reading ---- */

/* Also where there was no window at all in which anything could be recorded. */
static bool is_windowed(const struct kp_process *process)
{
	return process->window_count || process->counts.kernels_out_of_window ||
	       KP_HAS(&process->counts, COUNTS, unsampled_ns);
}

static bool is_part(const struct kp_process *process)
{
	return process->window_count && process->windows[0].begin_reason == KP_WINDOW_BY_PART;
}

struct interval {
	uint64_t begin_ns, end_ns;
};

/* What counts of a window. Of a part of a trace that is no more than the time in which GPUs worked
 * for the process, which is all that counts where no part is asked for. */
static struct interval counted(const struct kp_process *process, size_t i)
{
	const struct kp_window_info *window = &process->windows[i];
	struct interval interval = {window->begin_ns, window->end_ns};

	if (!is_part(process))
		return interval;
	if (interval.begin_ns < process->gpu_first_ns)
		interval.begin_ns = process->gpu_first_ns;
	if (interval.end_ns > process->gpu_last_ns)
		interval.end_ns = process->gpu_last_ns;
	if (interval.end_ns < interval.begin_ns)
		interval.end_ns = interval.begin_ns;
	return interval;
}

/* Sets how a process's windows are measured. */
static void begin_process(struct reading *reading, const struct kp_process *process)
{
	const struct kp_counts *counts = &process->counts;
	double inside_ns = 0, outside_ns = 0;
	uint64_t last_ns = 0;

	reading->process = process;
	for (size_t i = 0; i < process->window_count; i++) {
		const struct kp_window_info *window = &process->windows[i];
		const struct interval interval = counted(process, i);
		double length_ns = (double)(interval.end_ns - interval.begin_ns);

		reading->sampled |= window->begin_reason == KP_WINDOW_BY_DUTY;
		reading->time.xx += length_ns * length_ns;
		inside_ns += length_ns;
		last_ns = window->end_ns;
	}
	reading->sampled |= KP_HAS(counts, COUNTS, unsampled_ns);
	reading->windowed = is_windowed(process);
	reading->part = is_part(process);
	if (KP_HAS(counts, COUNTS, unsampled_ns))
		outside_ns = (double)counts->unsampled_ns;
	else if (KP_HAS(&process->info, PROCESS, start_ns) && last_ns > process->info.start_ns)
		outside_ns = (double)(last_ns - process->info.start_ns) - inside_ns;
	reading->size.n = reading->time.n = process->window_count;
	reading->time.x = inside_ns;
	reading->time.whole_x = inside_ns + (outside_ns > 0 ? outside_ns : 0);
	reading->by_issued =
		KP_HAS(counts, COUNTS, kernels_issued) && KP_HAS(counts, COUNTS, kernels_unsampled);
	if (!reading->by_issued)
		reading->size = reading->time;
	else if (counts->kernels_issued > counts->kernels_out_of_window)
		reading->size.whole_x =
			(double)(counts->kernels_issued - counts->kernels_out_of_window) +
			(double)counts->kernels_unsampled;
	else
		reading->size.whole_x = (double)counts->kernels_unsampled;
}

enum kp_status kp_build_windows_begin(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);
	struct kp_build_windows *windows;
	bool any = false;

	for (size_t i = 0; i < processes && !any; i++)
		any = is_windowed(kp_build_process_at(builder, i));
	if (!any)
		return KP_OK;
	windows = calloc(1, sizeof(*windows));
	builder->windows = windows;
	if (!windows)
		return KP_NO_MEMORY;
	windows->operators = kp_operators_count(builder->operators);
	windows->variants = kp_operators_variant_count(builder->operators);
	windows->readings = calloc(processes, sizeof(*windows->readings));
	if (!windows->readings)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < processes; i++) {
		struct reading *reading = &windows->readings[i];

		begin_process(reading, kp_build_process_at(builder, i));
		reading->seen = calloc(reading->process->window_count + 1, sizeof(*reading->seen));
		if (!reading->seen)
			return KP_NO_MEMORY;
		windows->sampled |= reading->sampled;
	}
	return KP_OK;
}

void kp_build_windows_end(struct kp_builder *builder)
{
	struct kp_build_windows *windows = builder->windows;
	size_t processes = kp_reader_process_count(builder->reader);

	for (size_t i = 0; windows && windows->readings && i < processes; i++) {
		free(windows->readings[i].series);
		free(windows->readings[i].touched);
		free(windows->readings[i].seen);
	}
	if (windows)
		free(windows->readings);
	free(windows);
}

/* What the window that has been read adds to the sums. */
static void settle_window(struct reading *reading)
{
	const struct kp_window_info *window = &reading->process->windows[reading->at];
	double length_ns, size;

	if (!reading->process->window_count)
		return;
	size = length_ns = (double)(window->end_ns - window->begin_ns);
	if (reading->by_issued) {
		/* Patterns left records out, so that these do not measure the window. */
		size = reading->process->counts.kernels_filtered ? (double)window->kernels_issued
								 : (double)reading->recorded;
		reading->size.x += size;
		reading->size.xx += size * size;
	}
	for (size_t i = 0; i < reading->touched_count; i++) {
		struct series *series = &reading->series[reading->touched[i]];
		const double values[2] = {series->ns, series->calls};

		for (int k = 0; k < 2; k++) {
			series->by_size[k].y += values[k];
			series->by_size[k].yy += values[k] * values[k];
			series->by_size[k].xy += values[k] * size;
		}
		series->by_time.y += series->ns;
		series->by_time.yy += series->ns * series->ns;
		series->by_time.xy += series->ns * length_ns;
		series->ns = series->calls = 0;
		series->touched = false;
	}
	reading->touched_count = 0;
	reading->recorded = 0;
}

/* Moves on to the window of a time. */
static void move_to(struct reading *reading, uint64_t start_ns)
{
	const struct kp_process *process = reading->process;

	/* These were not flushed one by one: what is late belongs to its own. */
	while (reading->part && reading->at && process->windows[reading->at].begin_ns > start_ns)
		reading->at--;
	while (reading->at + 1 < process->window_count &&
	       process->windows[reading->at + 1].begin_ns <= start_ns) {
		settle_window(reading);
		reading->at++;
	}
}

void kp_build_windows_see(struct kp_builder *builder, const struct kp_process *process,
			  uint64_t start_ns, uint64_t end_ns)
{
	struct reading *reading;

	if (!builder->windows || !process->window_count)
		return;
	reading = &builder->windows->readings[process->index];
	move_to(reading, start_ns);
	if (!reading->seen[reading->at].last_ns || start_ns < reading->seen[reading->at].first_ns)
		reading->seen[reading->at].first_ns = start_ns;
	if (end_ns > reading->seen[reading->at].last_ns)
		reading->seen[reading->at].last_ns = end_ns;
}

/* Adds to one row of a process. */
static enum kp_status add_to(struct reading *reading, size_t number, double ns)
{
	struct series *series;

	if (number >= reading->series_count) {
		size_t count = number < 64 ? 128 : number * 2;
		struct series *grown = realloc(reading->series, count * sizeof(*grown));
		uint32_t *touched = realloc(reading->touched, count * sizeof(*touched));

		if (grown)
			reading->series = grown;
		if (touched)
			reading->touched = touched;
		if (!grown || !touched)
			return KP_NO_MEMORY;
		for (size_t i = reading->series_count; i < count; i++)
			grown[i] = (struct series){0};
		reading->series_count = count;
	}
	series = &reading->series[number];
	series->ns += ns;
	series->calls++;
	if (!series->touched)
		reading->touched[reading->touched_count++] = (uint32_t)number;
	series->touched = true;
	return KP_OK;
}

enum kp_status kp_build_windows_launch(struct kp_builder *builder, const struct kp_process *process,
				       uint32_t row, const struct kp_launch *launch)
{
	bool timed = kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID;
	double ns = timed ? (double)(launch->end_ns - launch->start_ns) : 0;
	struct reading *reading;
	enum kp_status status;
	size_t variant;

	if (!builder->windows)
		return KP_OK;
	if (timed)
		kp_build_windows_see(builder, process, launch->start_ns, launch->end_ns);
	if (!builder->windows->sampled)
		return KP_OK;
	reading = &builder->windows->readings[process->index];
	/* What ran when its window ended has no end: it is one of the launches that were not seen.
	 */
	if (reading->sampled && !timed)
		return KP_OK;
	reading->recorded++;
	variant = builder->rows[row].label.variant;
	status = add_to(reading, 0, ns);
	if (status == KP_OK)
		status = add_to(
			reading,
			operator_series(
				kp_operators_variant(builder->operators, variant).operator_index),
			ns);
	if (status == KP_OK)
		status = add_to(reading, variant_series(builder->windows, variant), ns);
	if (status == KP_OK)
		status = add_to(reading, row_series(builder->windows, row), ns);
	return status;
}

/* ---- results ---- */

/* Adds a process's part of a row to an estimate. */
static void add_part(const struct reading *reading, size_t number, struct kp_estimation *ns,
		     struct kp_estimation *calls, struct kp_estimation *by_time)
{
	const struct series *series;

	if (number >= reading->series_count)
		return;
	series = &reading->series[number];
	if (reading->sampled) {
		kp_estimation_add(ns, &reading->size, &series->by_size[0]);
		kp_estimation_add(calls, &reading->size, &series->by_size[1]);
		kp_estimation_add(by_time, &reading->time, &series->by_time);
		return;
	}
	/* All of it was recorded, or what the user wanted of it. */
	kp_estimation_add_exact(ns, series->by_size[0].y + series->ns);
	kp_estimation_add_exact(calls, series->by_size[1].y + series->calls);
	kp_estimation_add_exact(by_time, series->by_time.y + series->ns);
}

static struct kp_estimate estimate(const struct kp_builder *builder, size_t number)
{
	struct kp_estimation ns = {0}, calls = {0}, by_time = {0};
	size_t processes = kp_reader_process_count(builder->reader);

	if (!builder->report->windows.scaled)
		return (struct kp_estimate){0};
	for (size_t i = 0; i < processes; i++)
		add_part(&builder->windows->readings[i], number, &ns, &calls, &by_time);
	return (struct kp_estimate){
		.total_ns = ns.total,
		.total_ci95_ns = kp_estimation_ci95(&ns),
		.total_by_time_ns = by_time.total,
		.calls = calls.total,
		.calls_ci95 = kp_estimation_ci95(&calls),
	};
}

struct kp_estimate kp_build_windows_row(const struct kp_builder *builder, uint32_t row)
{
	return builder->windows ? estimate(builder, row_series(builder->windows, row))
				: (struct kp_estimate){0};
}

struct kp_estimate kp_build_windows_operator(const struct kp_builder *builder, size_t operator)
{
	return builder->windows ? estimate(builder, operator_series(operator))
				: (struct kp_estimate){0};
}

struct kp_estimate kp_build_windows_variant(const struct kp_builder *builder, size_t variant)
{
	return builder->windows ? estimate(builder, variant_series(builder->windows, variant))
				: (struct kp_estimate){0};
}

/* How long the whole was of which a process's windows are a part, nanoseconds. */
static double whole_of(const struct reading *reading)
{
	const struct kp_process *process = reading->process;

	if (reading->sampled)
		return reading->time.whole_x;
	if (reading->part && process->gpu_first_ns)
		return (double)(process->gpu_last_ns - process->gpu_first_ns);
	if (process->end.has && KP_HAS(&process->info, PROCESS, start_ns) &&
	    process->end.end_ns > process->info.start_ns)
		return (double)(process->end.end_ns - process->info.start_ns);
	return reading->time.x;
}

/* Settles the last windows, and says what windows there were. */
void kp_build_windows_finish(struct kp_builder *builder)
{
	struct kp_report_windows *out = &builder->report->windows;
	size_t processes = kp_reader_process_count(builder->reader);

	if (!builder->windows)
		return;
	out->any = true;
	out->scaled = out->sampled = builder->windows->sampled;
	for (size_t i = 0; i < processes; i++) {
		struct reading *reading = &builder->windows->readings[i];
		const struct kp_process *process = reading->process;

		if (process->window_count)
			settle_window(reading);
		out->count += process->window_count;
		out->inside_ns += reading->time.x;
		out->whole_ns += reading->windowed ? whole_of(reading) : 0;
		for (size_t k = 0; k < process->window_count; k++)
			out->reasons |= process->windows[k].begin_reason < 64
						? 1ULL << process->windows[k].begin_reason
						: 0;
		if (reading->sampled && reading->size.whole_x > 0 && process->window_count < 2)
			out->scaled = false;
	}
	if (out->scaled)
		out->kernel_time = estimate(builder, 0);
}

static int compare_intervals(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;
	int order = kp_build_order(a->begin_ns, b->begin_ns);

	return order ? order : kp_build_order(a->end_ns, b->end_ns);
}

/* Length of the union; sorts. */
static uint64_t union_ns(struct interval *intervals, size_t count)
{
	uint64_t length_ns = 0, end_ns = 0;

	qsort(intervals, count, sizeof(*intervals), compare_intervals);
	for (size_t i = 0; i < count; i++) {
		uint64_t begin_ns = intervals[i].begin_ns > end_ns ? intervals[i].begin_ns : end_ns;

		if (intervals[i].end_ns <= begin_ns)
			continue;
		length_ns += intervals[i].end_ns - begin_ns;
		end_ns = intervals[i].end_ns;
	}
	return length_ns;
}

/*
 * What was looked at in a window: its length, or, where what was launched in it ran longer, that.
 * Kernels run later than they are launched, so that the two do not begin together; it is the length
 * that counts.
 */
static struct interval looked_at(const struct reading *reading, size_t i)
{
	const struct interval window = counted(reading->process, i);
	uint64_t length_ns = window.end_ns - window.begin_ns;
	uint64_t seen_ns = reading->seen[i].last_ns - reading->seen[i].first_ns;

	length_ns = seen_ns > length_ns ? seen_ns : length_ns;
	return (struct interval){window.begin_ns, window.begin_ns + length_ns};
}

/* Whether a process used a GPU. */
static bool uses(const struct kp_builder *builder, size_t process, size_t gpu)
{
	for (size_t i = 0; i < builder->devices.count; i++) {
		size_t length;
		const uint8_t *bytes = kp_intern_bytes(&builder->devices, (uint32_t)i, &length);
		uint32_t key[2];

		memcpy(key, bytes, sizeof(key));
		if (key[0] == process && builder->gpu_of_device[i] == gpu)
			return true;
	}
	return false;
}

enum kp_status kp_build_windows_span(const struct kp_builder *builder, size_t gpu,
				     struct kp_gpu_row *row)
{
	size_t processes = kp_reader_process_count(builder->reader), most = 0, count = 0;
	struct interval *intervals;

	if (!builder->windows)
		return KP_OK;
	for (size_t i = 0; i < processes; i++) {
		const struct kp_process *process = builder->windows->readings[i].process;

		if (uses(builder, i, gpu) && !builder->windows->readings[i].windowed)
			return KP_OK; /* recorded from start to end: all of it was seen */
		most += process->window_count;
	}
	intervals = malloc((most + 1) * sizeof(*intervals));
	if (!intervals)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < processes; i++) {
		const struct reading *reading = &builder->windows->readings[i];

		for (size_t k = 0; uses(builder, i, gpu) && k < reading->process->window_count; k++)
			intervals[count++] = looked_at(reading, k);
	}
	row->span_ns = union_ns(intervals, count);
	if (row->span_ns < row->busy_ns)
		row->span_ns = row->busy_ns;
	free(intervals);
	return KP_OK;
}
