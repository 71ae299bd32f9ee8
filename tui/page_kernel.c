/* One kernel in detail; see pages.h. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/findings_occupancy.h"
#include "profiler/humanise.h"
#include "tui/state.h"

#define DIGITS 4
#define SHAPES 8
#define BAR 30
#define CALLERS 8

#define SAY(label, ...) kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width, label, __VA_ARGS__)

static void say_times(struct kp_tui *tui, const struct kp_kernel_row *kernel, size_t width)
{
	const struct kp_durations *d = &kernel->durations;
	const struct kp_shares *shares = &kernel->shares;

	kp_sheet_head(&tui->sheet, "Time");
	if (d->timed == 0) {
		SAY("total", "unknown: the trace has no times that can be for its launches (%s)",
		    kp_human_count(kernel->calls).text);
		return;
	}
	SAY("total", "%s in %s launch%s (%s of them by CUDA graphs)",
	    kp_human_duration((double)d->total_ns, DIGITS).text, kp_human_count(kernel->calls).text,
	    kernel->calls == 1 ? "" : "es", kp_human_count(kernel->graph_calls).text);
	if (d->timed < kernel->calls)
		SAY("", "%s of them have no times that can be: not counted here",
		    kp_human_count(kernel->calls - d->timed).text);
	SAY("share",
	    "%s of kernel time, %s of busy time, %s of the span, alone %s, on the critical path %s",
	    kp_human_percent(shares->kernel_pct).text, kp_human_percent(shares->busy_pct).text,
	    kp_human_percent(shares->span_pct).text, kp_human_percent(shares->alone_pct).text,
	    kp_human_percent(shares->path_pct).text);
	SAY("a launch", "mean %s, median %s, from %s to %s, deviation %s",
	    kp_human_duration(d->mean_ns, DIGITS).text,
	    kp_human_duration(d->median_ns, DIGITS).text,
	    kp_human_duration((double)d->min_ns, DIGITS).text,
	    kp_human_duration((double)d->max_ns, DIGITS).text,
	    kp_human_duration(d->stddev_ns, DIGITS).text);
}

/* Launches that start in a part of the run, and their mean duration. */
struct part {
	double mean_ns, count;
};

static struct part part_of(const struct kp_history *history, size_t number, size_t parts)
{
	struct part part = {0};
	double total_ns = 0;

	for (size_t k = number * KP_HISTORY_COLUMNS / parts;
	     k < (number + 1) * KP_HISTORY_COLUMNS / parts; k++) {
		total_ns += history->total_ns[k];
		part.count += (double)history->counts[k];
	}
	part.mean_ns = part.count > 0 ? total_ns / part.count : 0;
	return part;
}

/* The mean duration over the run, and how many launches there were, as lines of levels. */
static void say_history(struct kp_tui *tui, size_t width)
{
	const struct kp_history *history = tui->history;
	size_t columns = width > KP_SHEET_LABEL + 10 ? width - KP_SHEET_LABEL : 10;
	char durations[3 * KP_HISTORY_COLUMNS + 1], counts[3 * KP_HISTORY_COLUMNS + 1];
	size_t used = 0, counted = 0;
	struct part most = {0};

	if (columns > KP_HISTORY_COLUMNS)
		columns = KP_HISTORY_COLUMNS;
	for (size_t i = 0; i < columns; i++) {
		struct part part = part_of(history, i, columns);
		most.mean_ns = fmax(most.mean_ns, part.mean_ns);
		most.count = fmax(most.count, part.count);
	}
	for (size_t i = 0; i < columns; i++) {
		struct part part = part_of(history, i, columns);
		used += kp_canvas_put_level(durations + used,
					    most.mean_ns > 0 ? part.mean_ns / most.mean_ns : 0);
		counted += kp_canvas_put_level(counts + counted,
					       most.count > 0 ? part.count / most.count : 0);
	}
	durations[used] = counts[counted] = '\0';
	kp_sheet_head(&tui->sheet, "Over the run");
	kp_sheet_say(&tui->sheet, KP_ROLE_BAR, width, "mean duration", "%s", durations);
	kp_sheet_say(
		&tui->sheet, KP_ROLE_DIM, width, "", "highest: %s; the run takes %s",
		kp_human_duration(most.mean_ns, DIGITS).text,
		kp_human_duration((double)(history->last_ns - history->first_ns), DIGITS).text);
	kp_sheet_say(&tui->sheet, KP_ROLE_BAR, width, "launches", "%s", counts);
}

static void say_histogram(struct kp_tui *tui, size_t width)
{
	const struct kp_history *history = tui->history;
	uint64_t most = 1;

	kp_sheet_head(&tui->sheet, "Launches by duration");
	for (size_t i = 0; i < KP_HISTORY_BINS; i++)
		most = history->bins[i] > most ? history->bins[i] : most;
	for (size_t i = 0; i < KP_HISTORY_BINS; i++) {
		char bar[3 * BAR + 1];
		size_t full, used = 0;
		if (!history->bins[i])
			continue;
		full = (size_t)((double)history->bins[i] / (double)most * BAR + 0.999);
		for (size_t k = 0; k < full && k < BAR; k++)
			used += kp_canvas_put_level(bar + used, 1);
		bar[used] = '\0';
		SAY(kp_human_duration(kp_history_edge(history, i), 3).text, "%9s %s",
		    kp_human_count(history->bins[i]).text, bar);
	}
}

static void say_traffic(struct kp_tui *tui, const struct kp_row_traffic *traffic, size_t width)
{
	if (!tui->report->traffic.any)
		return;
	kp_sheet_head(&tui->sheet, "Memory and limits");
	if (traffic->source == KP_TRAFFIC_UNKNOWN) {
		SAY("bandwidth", "unknown: too little evidence");
		return;
	}
	SAY("bandwidth", "%.0f ±%.0f GB/s (%s), %s of what memory can do (%s)", traffic->gbps,
	    isfinite(traffic->gbps_ci95) ? traffic->gbps_ci95 : 0,
	    kp_traffic_source_name(traffic->source), kp_human_percent(traffic->peak_pct).text,
	    kp_ceiling_source_name(traffic->peak_source));
	SAY("a launch", "moves %s to and from memory (%s)",
	    kp_human_bytes((uint64_t)fmax(traffic->bytes, 0), DIGITS).text,
	    kp_traffic_source_name(traffic->source));
	if (isfinite(traffic->flop_per_byte))
		SAY("intensity", "%.2f FLOP a byte (modelled), tensor pipes work %s of the time",
		    traffic->flop_per_byte, kp_human_percent(traffic->tensor_pct).text);
	if (traffic->bound != KP_BOUND_UNKNOWN)
		SAY("limited by", "%s", kp_bound_name(traffic->bound));
	if (isfinite(traffic->headroom))
		SAY("room", "%.2fx as fast at the nearer limit (%s)", traffic->headroom,
		    kp_traffic_source_name(traffic->source));
}

/* The device of all GPUs, where they are alike; NULL: they are not, or nothing is known of them. */
static const struct kp_device_info *device_of(const struct kp_report *report)
{
	const struct kp_device_info *device = report->gpu_count ? report->gpus[0].info : NULL;

	for (size_t i = 1; device && i < report->gpu_count; i++) {
		const struct kp_device_info *other = report->gpus[i].info;
		if (!other || other->name.length != device->name.length ||
		    memcmp(other->name.bytes, device->name.bytes, device->name.length) != 0)
			return NULL;
	}
	return device;
}

/* How much of the GPU the launch with most time can fill, by its configuration. */
static void say_occupancy(struct kp_tui *tui, const struct kp_kernel_row *kernel, size_t width)
{
	const uint32_t *grid = kernel->grid, *block = kernel->block;
	const struct kp_launch_shape shape = {
		.blocks = (double)grid[0] * grid[1] * grid[2],
		.threads = (double)block[0] * block[1] * block[2],
		.registers = kernel->registers,
		.shared_bytes =
			(uint64_t)kernel->static_shared_bytes + kernel->dynamic_shared_bytes,
	};
	struct kp_occupancy occupancy;

	if (!kp_occupancy_of(device_of(tui->report), &shape, &occupancy))
		return;
	SAY("occupancy",
	    "%" PRIu64 " block%s an SM at most, %.0f %% of its warps; this grid is %.2f waves on "
	    "%.0f %% of the SMs",
	    occupancy.blocks_per_sm, occupancy.blocks_per_sm == 1 ? "" : "s", occupancy.warps_pct,
	    occupancy.waves, occupancy.sms_pct);
}

/* No launch has an empty grid. */
static bool grid_is_unknown(const struct kp_kernel_row *kernel)
{
	return kernel->grid[0] == 0 || kernel->block[0] == 0;
}

static void say_launch(struct kp_tui *tui, const struct kp_kernel_row *kernel, size_t width)
{
	kp_sheet_head(&tui->sheet, "Launch");
	if (grid_is_unknown(kernel))
		SAY("grid, block", "not in the trace");
	else
		SAY("grid, block",
		    "%" PRIu32 "x%" PRIu32 "x%" PRIu32 ", %" PRIu32 "x%" PRIu32 "x%" PRIu32
		    " (with most time of %" PRIu32 ")",
		    kernel->grid[0], kernel->grid[1], kernel->grid[2], kernel->block[0],
		    kernel->block[1], kernel->block[2], kernel->config_count);
	if (kernel->registers == 0) /* there is none without */
		SAY("a block", "registers and shared memory are not in the trace");
	else
		SAY("a block",
		    "%" PRIu32 " registers a thread, shared memory %s static, %s dynamic",
		    kernel->registers, kp_human_bytes(kernel->static_shared_bytes, 3).text,
		    kp_human_bytes(kernel->dynamic_shared_bytes, 3).text);
	say_occupancy(tui, kernel, width);
	for (size_t i = 0; i < kernel->shape_count && i < SHAPES; i++) {
		const struct kp_shape_row *shape = &kernel->shapes[i];
		SAY(i ? "" : "shapes",
		    "%s launches of %" PRIu32 "x%" PRIu32 "x%" PRIu32 " by %" PRIu32 "x%" PRIu32
		    "x%" PRIu32 ", %s",
		    kp_human_count(shape->calls).text, shape->grid[0], shape->grid[1],
		    shape->grid[2], shape->block[0], shape->block[1], shape->block[2],
		    kp_human_duration(shape->mean_ns, DIGITS).text);
	}
}

static void say_host(struct kp_tui *tui, const struct kp_host_times *host, size_t width)
{
	if (!tui->report->host.any || !host->call.timed)
		return;
	kp_sheet_head(&tui->sheet, "On the CPU");
	SAY("call", "median %s", kp_human_duration(host->call.median_ns, DIGITS).text);
	SAY("queue", "median %s from there to the start",
	    kp_human_duration(host->queue.median_ns, DIGITS).text);
}

/* The names of a range and of those that enclose it, outermost first. */
static void put_path(const struct kp_report_ranges *ranges, size_t number, char *out, size_t size)
{
	size_t path[KP_TUI_DEPTH] = {0}, depth = 0, used = 0;
	const char *domain = ranges->rows[number].domain;

	for (; number != KP_RANGE_NO_PARENT && depth < KP_TUI_DEPTH;
	     number = ranges->rows[number].parent)
		path[depth++] = number;
	if (domain[0])
		used = (size_t)snprintf(out, size, "%s: ", domain);
	for (bool first = true; depth-- > 0 && used < size; first = false)
		used += (size_t)snprintf(out + used, size - used, "%s%s", first ? "" : " > ",
					 ranges->rows[path[depth]].name);
}

/* In which NVTX ranges it was launched, those with most of its time first. */
static void say_callers(struct kp_tui *tui, const struct kp_kernel_row *kernel, size_t width)
{
	const struct kp_report_ranges *ranges = tui->report->ranges;
	size_t said = 0, more = 0;
	uint64_t calls = 0;

	if (!ranges || ranges->row_count == 0)
		return;
	kp_sheet_head(&tui->sheet, ranges->by == KP_OWNED_BY_TIME
					   ? "Launched in (innermost NVTX ranges, by time)"
					   : "Launched in (innermost NVTX ranges)");
	for (size_t i = 0; i < ranges->caller_count; i++) {
		const struct kp_range_caller *caller = &ranges->callers[i];
		char path[512] = "";
		if (caller->kernel != tui->kernel)
			continue;
		calls += caller->calls;
		more += said == CALLERS;
		if (said == CALLERS)
			continue;
		said++;
		put_path(ranges, caller->range, path, sizeof path);
		SAY(kp_human_duration((double)caller->total_ns, 3).text, "%9s launches in %s",
		    kp_human_count(caller->calls).text, path);
	}
	if (more)
		SAY("", "and in %zu more", more);
	/* Ranges of several domains may each have a launch. */
	if (calls < kernel->calls)
		SAY("", "%9s in no range, or not known%s",
		    kp_human_count(kernel->calls - calls).text,
		    ranges->unattributed ? ": see kprof report --by range" : "");
}

/* Has the history of the kernel read, where that was not done. */
static void want_history(struct kp_tui *tui, const struct kp_kernel_row *kernel)
{
	const struct kp_scan scan = {
		.kind = KP_SCAN_HISTORY,
		.mangled = kernel->mangled,
		.min_ns = kernel->durations.min_ns,
		.max_ns = kernel->durations.max_ns,
	};
	bool here = tui->history_of == kernel->mangled;

	if (here && (tui->history_whole || tui->scanning == KP_SCAN_HISTORY))
		return;
	if (!here) {
		free(tui->history);
		tui->history = NULL;
	}
	tui->history_of = kernel->mangled;
	tui->history_whole = false;
	kp_tui_scan(tui, &scan);
}

enum kp_status kp_page_kernel_fill(struct kp_tui *tui)
{
	const struct kp_kernel_row *kernel = &tui->report->kernels[tui->kernel];
	size_t width = tui->canvas.columns - 1;

	want_history(tui, kernel);
	tui->item_count = 0;
	kp_sheet_clear(&tui->sheet);
	kp_sheet_say(&tui->sheet, KP_ROLE_STRONG, width, NULL, "%s",
		     kernel->shortened[0] ? kernel->shortened : "(no name)");
	SAY("operator", "%s%s%s", tui->report->operators[kernel->operator_index].name,
	    kernel->variant ? ", " : "", kernel->variant ? kernel->variant : "");
	if (kernel->library || kernel->dtype)
		SAY("library", "%s%s%s", kernel->library ? kernel->library : "unknown",
		    kernel->dtype ? ", " : "", kernel->dtype ? kernel->dtype : "");
	say_times(tui, kernel, width);
	say_traffic(tui, &kernel->traffic, width);
	say_launch(tui, kernel, width);
	say_host(tui, &kernel->host, width);
	say_callers(tui, kernel, width);
	if (tui->history && tui->history->calls > 0) {
		say_history(tui, width);
		say_histogram(tui, width);
	}
	kp_sheet_head(&tui->sheet, "Name");
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width, NULL, "%s", kernel->full);
	return tui->sheet.status;
}
