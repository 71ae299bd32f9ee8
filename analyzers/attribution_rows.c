/* The rows of the linear model; see attribution_rows.h. */
#include "analyzers/attribution_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_INNER 0.01
/* What a window of a short launch keeps of its duration at least: its edges move in for that. */
#define WINDOW_MIN 0.3

enum kp_status kp_rows_init(struct kp_rows *rows, const struct kp_attribution_input *input,
			    const uint32_t *length_ns, const uint32_t *kept_of_class,
			    uint32_t kept_count, const struct kp_class_times *times)
{
	*rows = (struct kp_rows){.input = input,
				 .length_ns = length_ns,
				 .kept_of_class = kept_of_class,
				 .kept_count = kept_count,
				 .times = times};
	rows->slot = calloc(kept_count + 1U, sizeof(*rows->slot));
	rows->at.running = malloc(KP_ROWS_RUNNING_MAX * sizeof(*rows->at.running));
	return rows->slot && rows->at.running ? KP_OK : KP_NO_MEMORY;
}

void kp_rows_fini(struct kp_rows *rows)
{
	free(rows->slot);
	free(rows->at.running);
	rows->slot = NULL;
	rows->at.running = NULL;
}

void kp_rows_begin(struct kp_rows *rows, const struct kp_window_edges *edges,
		   const struct kp_rows_position *from)
{
	uint64_t *running = rows->at.running;

	rows->edges = edges;
	rows->displaced = 0;
	rows->at = (struct kp_rows_position){.running = running};
	if (!from)
		return;
	rows->at.sample = from->sample;
	rows->at.next_launch = from->next_launch;
	rows->at.running_count = from->running_count;
	memcpy(running, from->running, from->running_count * sizeof(*running));
}

enum kp_status kp_rows_keep(const struct kp_rows *rows, struct kp_rows_position *out)
{
	size_t bytes = rows->at.running_count * sizeof(*rows->at.running);

	*out = rows->at;
	out->running = malloc(bytes + 1);
	if (!out->running)
		return KP_NO_MEMORY;
	memcpy(out->running, rows->at.running, bytes);
	return KP_OK;
}

/* The entry of a class in the row; a full row takes all that is new for the rest. */
static struct kp_row_entry *entry_of(struct kp_rows *rows, uint32_t *class)
{
	struct kp_row *row = &rows->row;

	if (!rows->slot[*class] && row->count >= KP_ROW_ENTRIES_MAX)
		*class = rows->kept_count;
	if (!rows->slot[*class]) {
		row->entries[row->count] = (struct kp_row_entry){.class = *class};
		rows->slot[*class] = (uint32_t)++row->count;
	}
	return &row->entries[rows->slot[*class] - 1];
}

/* How much a window's edges have to move in for a launch of this duration: 1, or less. */
static double shrink(const struct kp_window_edges *edges, double duration_ns)
{
	double both = edges->lag_ns + edges->lead_ns;

	return both > (1 - WINDOW_MIN) * duration_ns ? (1 - WINDOW_MIN) * duration_ns / both : 1;
}

/* A place in a window: which part of it lies before, and what that part changes by with the edges;
 * a place at an edge stays there. */
struct place {
	double part, d_from, d_to;
};

static struct place place_of(double offset, double width, bool at_edge)
{
	double part = offset / width;

	return (struct place){part, at_edge ? 0 : (part - 1) / width, at_edge ? 0 : -part / width};
}

/* Adds how much of each piece of a window lies between two places. */
static void add_pieces(struct kp_row_entry *entry, const struct kp_class_times *times,
		       struct place from, struct place to, double factor)
{
	const double *first = times->ends;
	const double ends[KP_PIECES + 1] = {
		0, first[0], first[1], first[2], 1 - first[2], 1 - first[1], 1 - first[0], 1};

	for (int i = 0; i < KP_PIECES; i++) {
		double size = ends[i + 1] - ends[i];
		double overlap = fmin(to.part, ends[i + 1]) - fmax(from.part, ends[i]);

		if (!(overlap > 0))
			continue;
		entry->pieces[i] += overlap / size;
		if (to.part <= ends[i + 1]) {
			entry->d_lag_pieces[i] += to.d_from / size * factor;
			entry->d_lead_pieces[i] -= to.d_to / size * factor;
		}
		if (from.part >= ends[i]) {
			entry->d_lag_pieces[i] -= from.d_from / size * factor;
			entry->d_lead_pieces[i] += from.d_to / size * factor;
		}
	}
}

/* How much of what a launch counts is counted a nanosecond about the end of the row. */
static void add_end(struct kp_rows *rows, uint32_t class, double from, double to, double duration)
{
	struct kp_row *row = &rows->row;
	double low = row->width_ns - KP_EDGE_NEAR_NS, high = row->width_ns + KP_EDGE_NEAR_NS;

	if (to <= low || from >= high || row->end_count >= KP_ROW_ENDS_MAX)
		return;
	double overlap = (to < high ? to : high) - (from > low ? from : low);
	double size = 1 / (to - from);
	if (class == rows->kept_count)
		size = 1;
	else if (rows->times[class].scaled)
		size *= duration / rows->times[class].mean_ns;
	row->ends[row->end_count++] =
		(struct kp_row_end){class, overlap / (2 * KP_EDGE_NEAR_NS) * size};
}

/* A launch against the row [0, length): times relative to the row's begin. Whether they meet. */
static bool add_launch(struct kp_rows *rows, uint32_t class, double start, double end, bool *covers)
{
	double length = rows->row.width_ns, duration = end - start, scale;
	const struct kp_window_edges *edges = &rows->edges[class];
	double factor = shrink(edges, duration);
	double from = start + edges->lag_ns * factor, to = end - edges->lead_ns * factor;
	double width = to - from > 1 ? to - from : 1;
	bool begins = from > 0, ends = from + width < length;
	double overlap = (ends ? from + width : length) - (begins ? from : 0);
	struct kp_row_entry *entry;
	uint32_t at = class;

	*covers = !begins && !ends;
	add_end(rows, class, from, from + width, duration);
	if (!(overlap > 0))
		return false;
	entry = entry_of(rows, &at);
	if (at == rows->kept_count) {
		entry->share += overlap;
		entry->scaled += overlap;
		return true;
	}
	double share = overlap / width;
	double d_from = (share - (begins ? 1 : 0)) / width * factor;
	double d_to = (share - (ends ? 1 : 0)) / width * factor;
	const struct kp_class_times *times = &rows->times[class];
	scale = times->scaled ? (duration - times->least_ns) / (times->mean_ns - times->least_ns)
			      : 0;
	entry->share += share;
	entry->scaled += share * scale;
	entry->d_lag += d_from;
	entry->d_lead += d_to;
	entry->d_lag_scaled += d_from * scale;
	entry->d_lead_scaled += d_to * scale;
	if (times->ends[0] > 0)
		add_pieces(entry, times, place_of(begins ? 0 : -from, width, begins),
			   place_of(ends ? width : length - from, width, ends), factor);
	return true;
}

/* Times as differences, exact up to 2^53. */
static double difference(uint64_t a, uint64_t b)
{
	return a >= b ? (double)(a - b) : -(double)(b - a);
}

struct seen {
	bool any, covers;
	size_t meet;
};

/* One launch in the row; whether it goes on behind it. */
static bool see(struct kp_rows *rows, uint64_t number, uint64_t begin_ns, struct seen *seen)
{
	const struct kp_attribution_launch *launch = &rows->input->launches[number];
	double start = difference(launch->start_ns, begin_ns);
	double end = difference(launch->end_ns, begin_ns);
	bool covers;

	if (end + KP_WINDOW_MAX_NS <= 0)
		return false;
	seen->any = true;
	if (add_launch(rows, rows->kept_of_class[launch->class], start, end, &covers)) {
		seen->meet++;
		seen->covers = covers;
	}
	return end + KP_WINDOW_MAX_NS > rows->row.width_ns;
}

/* Takes up a launch; where too many run, the one that ends first goes. */
static void take_up(struct kp_rows *rows, uint64_t number)
{
	struct kp_rows_position *at = &rows->at;
	const struct kp_attribution_launch *launches = rows->input->launches;
	size_t first = 0;

	if (at->running_count < KP_ROWS_RUNNING_MAX) {
		at->running[at->running_count++] = number;
		return;
	}
	rows->displaced++;
	for (size_t i = 1; i < at->running_count; i++) {
		if (launches[at->running[i]].end_ns < launches[at->running[first]].end_ns)
			first = i;
	}
	if (launches[at->running[first]].end_ns < launches[number].end_ns)
		at->running[first] = number;
}

const struct kp_row *kp_rows_next(struct kp_rows *rows)
{
	const struct kp_attribution_input *input = rows->input;
	struct kp_rows_position *at = &rows->at;
	struct kp_row *row = &rows->row;
	struct seen seen = {0};
	size_t left = 0;

	if (at->sample >= input->sample_count)
		return NULL;
	uint64_t begin_ns = input->begin_ns[at->sample];
	for (size_t i = 0; i < row->count; i++)
		rows->slot[row->entries[i].class] = 0;
	row->count = row->end_count = 0;
	row->sample = at->sample;
	row->length_ns = rows->length_ns[at->sample];
	row->width_ns = input->length_ns[at->sample];
	row->beside_ns = rows->beside_ns ? (double)rows->beside_ns[at->sample] : 0;
	for (size_t i = 0; i < at->running_count; i++) {
		if (see(rows, at->running[i], begin_ns, &seen))
			at->running[left++] = at->running[i];
	}
	at->running_count = left;
	while (at->next_launch < input->launch_count &&
	       difference(input->launches[at->next_launch].start_ns, begin_ns) - KP_WINDOW_MAX_NS <
		       row->width_ns) {
		if (see(rows, at->next_launch, begin_ns, &seen))
			take_up(rows, at->next_launch);
		at->next_launch++;
	}
	row->idle = !seen.any;
	row->alone = seen.meet == 1 && seen.covers && row->count == 1;
	row->weight = row->alone && row->entries[0].pieces[KP_PIECES / 2] > 0 ? WEIGHT_INNER : 1;
	at->sample++;
	return row;
}
