/* Reading a part of a trace: what headers say is not there is not read; see reader.h. */
#include <stdlib.h>
#include <string.h>

#include "trace/reader_state.h"

static const struct kp_chunk_header *header_of(const struct kp_reader *reader, size_t batch)
{
	return &reader->index.entries[reader->batches[batch]].header;
}

/* The first window that ends behind a time; the count: none does. */
static size_t window_behind(const struct kp_reader_part *part, uint64_t at_ns)
{
	size_t from = 0, to = part->window_count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (part->windows[middle].end_ns <= at_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Whether some window overlaps [first_ns, last_ns]. */
static bool in_windows(const struct kp_reader_part *part, uint64_t first_ns, uint64_t last_ns)
{
	size_t window = window_behind(part, first_ns);

	return window < part->window_count && part->windows[window].begin_ns <= last_ns;
}

/* Whether a chunk is of a process that is asked for. */
static bool is_of_process(const struct kp_reader *reader, const struct kp_chunk_header *header)
{
	uint32_t index = 0;

	return !reader->part.processes ||
	       (kp_intern_find(&reader->tables.identities, &header->process,
			       sizeof(header->process), &index) &&
		reader->part.processes[index]);
}

/* Calls and runs are tied to launches by their order: a part of them says nothing. */
static bool is_of_kind(const struct kp_reader_part *part, uint8_t kind)
{
	if (part->ranges_alone)
		return kind == KP_CHUNK_RANGES;
	return !part->windows || (kind != KP_CHUNK_HOST && kind != KP_CHUNK_RUNS &&
				  kind != KP_CHUNK_LIBRARY_LAUNCHES);
}

bool kp_reader_reach(struct kp_reader *reader)
{
	const struct kp_reader_part *part = &reader->part;

	for (; reader->next_batch < reader->batch_count; reader->next_batch++) {
		const struct kp_chunk_header *header = header_of(reader, reader->next_batch);

		if (part->stride > 1 && reader->next_batch % part->stride != part->stride / 2)
			continue;
		if (!is_of_kind(part, header->kind) || !is_of_process(reader, header))
			continue;
		if (part->windows &&
		    !(header->first_ns && in_windows(part, header->first_ns, header->last_ns)))
			continue;
		if (!part->to_ns)
			return true;
		if (header->first_ns > part->to_ns) /* and so are all behind it */
			reader->next_batch = reader->batch_count - 1;
		else if (header->first_ns && header->last_ns >= part->from_ns)
			return true;
	}
	return false;
}

static const size_t strides[] = {
	[KP_EVENT_LAUNCHES] = sizeof(struct kp_launch),
	[KP_EVENT_MEMOPS] = sizeof(struct kp_memop),
	[KP_EVENT_RANGES] = sizeof(struct kp_range),
	[KP_EVENT_SAMPLES] = sizeof(struct kp_counter_sample),
	[KP_EVENT_CLOCKS] = sizeof(struct kp_clocks),
	[KP_EVENT_HOST] = sizeof(struct kp_host_call),
	[KP_EVENT_RUNS] = sizeof(struct kp_launch_run),
	[KP_EVENT_LIBRARY] = sizeof(struct kp_library_launch),
};

/* Whether a record is asked for: it begins in a window. A range may have begun before. */
static bool is_wanted(const struct kp_reader_part *part, const struct kp_event *event,
		      const uint64_t times[2])
{
	uint64_t last_ns = event->kind == KP_EVENT_RANGES ? times[1] : times[0];

	return last_ns >= times[0] && in_windows(part, times[0], last_ns);
}

bool kp_reader_keep(const struct kp_reader *reader, void *records, struct kp_event *event)
{
	const struct kp_reader_part *part = &reader->part;
	size_t stride = strides[event->kind], kept = 0;
	char *bytes = records;

	if (!part->windows)
		return true;
	for (size_t i = 0; i < event->count; i++) {
		char *record = bytes + i * stride;

		if (!is_wanted(part, event, (const uint64_t *)(const void *)record))
			continue;
		if (kept < i)
			memcpy(bytes + kept * stride, record, stride);
		kept++;
	}
	event->count = kept;
	return kept > 0;
}

/* ---- what processes say of themselves ---- */

/* What is true of a part as well: that something is lost. */
static void show_counts(struct kp_process *view, const struct kp_counts *whole)
{
	view->counts = (struct kp_counts){0};
#define SHOW(field)                                                                                \
	if (KP_HAS(whole, COUNTS, field))                                                          \
	KP_SET(&view->counts, COUNTS, field, whole->field)
	SHOW(records_dropped);
	SHOW(records_unknown);
	SHOW(kernels_unwritten);
	SHOW(kernels_filtered);
#undef SHOW
}

static void show_window(struct kp_window_info *window, uint64_t begin_ns, uint64_t end_ns)
{
	*window = (struct kp_window_info){0};
	KP_SET(window, WINDOW, begin_ns, begin_ns);
	KP_SET(window, WINDOW, end_ns, end_ns);
	KP_SET(window, WINDOW, begin_reason, KP_WINDOW_BY_PART);
}

/* The windows that are asked for as far as the process was recorded in them; returns how many. */
static size_t cut_windows(const struct kp_reader_part *part, const struct kp_process *whole,
			  struct kp_window_info *out)
{
	size_t count = 0;

	for (size_t i = 0, k = 0; i < part->window_count; i++) {
		const struct kp_reader_window *asked = &part->windows[i];

		if (!whole->window_count)
			show_window(&out[count++], asked->begin_ns, asked->end_ns);
		while (k < whole->window_count && whole->windows[k].end_ns <= asked->begin_ns)
			k++;
		for (size_t j = k;
		     j < whole->window_count && whole->windows[j].begin_ns < asked->end_ns; j++) {
			const struct kp_window_info *own = &whole->windows[j];

			show_window(&out[count++],
				    own->begin_ns > asked->begin_ns ? own->begin_ns
								    : asked->begin_ns,
				    own->end_ns < asked->end_ns ? own->end_ns : asked->end_ns);
		}
	}
	return count;
}

/* Overlaps of two lists, each in order and disjoint, are fewer than both have together. */
static enum kp_status reserve_windows(struct kp_reader *reader)
{
	size_t most = 1;

	for (size_t i = 0; i < reader->tables.count; i++)
		most += reader->part.window_count + reader->tables.processes[i]->view.window_count;
	free(reader->windows);
	reader->windows = calloc(most, sizeof(*reader->windows));
	return reader->windows ? KP_OK : KP_NO_MEMORY;
}

static void show_whole(struct kp_reader *reader)
{
	for (size_t i = 0; i < reader->tables.count; i++) {
		struct kp_process_tables *process = reader->tables.processes[i];

		if (process->cut)
			process->view = process->whole;
		process->cut = false;
	}
}

enum kp_status kp_reader_select(struct kp_reader *reader, const struct kp_reader_part *part)
{
	size_t used = 0;

	show_whole(reader);
	reader->part = *part;
	kp_reader_rewind(reader);
	if (reserve_windows(reader) != KP_OK) {
		reader->part = (struct kp_reader_part){0};
		return KP_NO_MEMORY;
	}
	for (size_t i = 0; i < reader->tables.count; i++) {
		struct kp_process_tables *process = reader->tables.processes[i];
		struct kp_process *view = &process->view;
		bool left_out = part->processes && !part->processes[i];

		if (!part->windows && !left_out)
			continue;
		process->whole = *view;
		process->cut = true;
		view->left_out = left_out;
		show_counts(view, &process->whole.counts);
		view->promised_host_calls = view->promised_runs = 0;
		view->promised_library_launches = 0;
		view->windows = &reader->windows[used];
		view->window_count =
			part->windows ? cut_windows(part, &process->whole, &reader->windows[used])
				      : 0;
		used += view->window_count;
	}
	return KP_OK;
}

struct kp_reader_place kp_reader_place(const struct kp_reader *reader)
{
	return (struct kp_reader_place){reader->next_batch, reader->batch_count};
}

static bool is_reading(uint8_t kind)
{
	return kind == KP_CHUNK_SAMPLES || kind == KP_CHUNK_CLOCKS;
}

static struct kp_reader_span span_of(const struct kp_reader *reader, bool readings)
{
	struct kp_reader_span span = {0};

	for (size_t i = 0; i < reader->batch_count; i++) {
		const struct kp_chunk_header *header = header_of(reader, i);

		if (!header->first_ns || is_reading(header->kind) != readings)
			continue;
		if (!span.first_ns) /* they are in its order */
			span.first_ns = header->first_ns;
		if (header->last_ns > span.last_ns)
			span.last_ns = header->last_ns;
	}
	return span;
}

struct kp_reader_span kp_reader_span(const struct kp_reader *reader)
{
	struct kp_reader_span span = span_of(reader, false);

	return span.first_ns ? span : span_of(reader, true);
}
