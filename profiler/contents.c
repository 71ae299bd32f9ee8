/* What a trace holds, counted; see contents.h. Streams: memory does not grow with the trace. */
#include "profiler/contents.h"

#include <math.h>
#include <stdlib.h>

#include "analyzers/host_ties.h"

static void see_time(struct kp_tally *tally, uint64_t start_ns, uint64_t end_ns)
{
	if (kp_time_quality(start_ns, end_ns) != KP_TIME_VALID)
		return;
	if (tally->first_ns == 0 || start_ns < tally->first_ns)
		tally->first_ns = start_ns;
	if (end_ns > tally->last_ns)
		tally->last_ns = end_ns;
}

static void count(struct kp_tally *tally, const struct kp_event *event)
{
	switch (event->kind) {
	case KP_EVENT_LAUNCHES:
		tally->launches += event->count;
		for (size_t i = 0; i < event->count; i++)
			see_time(tally, event->launches[i].start_ns, event->launches[i].end_ns);
		break;
	case KP_EVENT_MEMOPS:
		tally->memops += event->count;
		for (size_t i = 0; i < event->count; i++)
			see_time(tally, event->memops[i].start_ns, event->memops[i].end_ns);
		break;
	case KP_EVENT_RANGES:
		tally->ranges += event->count;
		break;
	case KP_EVENT_SAMPLES:
		tally->samples += event->count;
		break;
	case KP_EVENT_CLOCKS:
		tally->clocks += event->count;
		break;
	case KP_EVENT_HOST:
		tally->calls += event->count;
		break;
	case KP_EVENT_RUNS:
	case KP_EVENT_LIBRARY:
		break;
	}
}

static void add_library(struct kp_tally *total, const struct kp_tally *from)
{
	total->has_library |= from->has_library;
	total->library.calls += from->library.calls;
	total->library.launches += from->library.launches;
	total->library.launches_tied += from->library.launches_tied;
	total->library.launches_lost += from->library.launches_lost;
	total->library.graph_nodes += from->library.graph_nodes;
	total->library.graph_launches += from->library.graph_launches;
	total->library.kernels_untied += from->library.kernels_untied;
}

static void add_up(struct kp_contents *contents)
{
	for (size_t i = 0; i < kp_reader_process_count(contents->reader); i++) {
		const struct kp_tally *from = &contents->tallies[i];

		contents->total.launches += from->launches;
		contents->total.memops += from->memops;
		contents->total.ranges += from->ranges;
		contents->total.calls += from->calls;
		contents->total.tied += from->tied;
		contents->total.untied += from->untied;
		contents->total.samples += from->samples;
		contents->total.clocks += from->clocks;
		add_library(&contents->total, from);
	}
}

/* ---- which launches have a call ---- */

static enum kp_status count_tie(void *context, const struct kp_tie_record *record,
				const struct kp_host_call *call, bool first)
{
	struct kp_tally *tally = context;

	(void)record;
	(void)first;
	tally->tied += call != NULL;
	tally->untied += call == NULL;
	return KP_OK;
}

static enum kp_status add_to_ties(struct kp_ties *ties, const struct kp_event *event)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; event->kind == KP_EVENT_HOST && status == KP_OK && i < event->count; i++)
		status = kp_ties_add_call(ties, &event->calls[i]);
	for (size_t i = 0; event->kind == KP_EVENT_LAUNCHES && status == KP_OK && i < event->count;
	     i++)
		status = kp_ties_add_launch(ties, &event->launches[i], 0);
	return status;
}

/* The ties of one process; NULL: it has no such calls. */
struct process_ties {
	struct kp_ties *host;
	struct kp_library_ties *library;
};

static enum kp_status add_to_library(struct kp_library_ties *ties, const struct kp_event *event)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < event->count; i++) {
		if (event->kind == KP_EVENT_LAUNCHES)
			status = kp_library_ties_add_launch(ties, &event->launches[i], 0);
		else if (event->kind == KP_EVENT_LIBRARY)
			status = kp_library_ties_add_library(ties, &event->library[i]);
	}
	return status;
}

static enum kp_status count_library(void *context, const struct kp_library_tie *tie)
{
	(void)context;
	(void)tie;
	return KP_OK; /* the account is what is asked for */
}

static enum kp_status settle_library(struct kp_tally *tally, struct kp_library_ties *ties, bool all,
				     bool damaged)
{
	const struct kp_library_visitor visitor = {NULL, count_library};
	enum kp_status status;

	if (damaged)
		kp_library_ties_distrust(ties);
	status = kp_library_ties_settle(ties, all, &visitor);
	tally->has_library = true;
	tally->library = kp_library_ties_account(ties);
	return status;
}

/* Of all processes: what is known up to the watermark. */
static enum kp_status settle(struct kp_contents *contents, struct process_ties *ties,
			     uint64_t watermark_ns, bool damaged)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < kp_reader_process_count(contents->reader); i++) {
		const struct kp_tie_visitor visitor = {&contents->tallies[i], count_tie};

		if (ties[i].library)
			status = settle_library(&contents->tallies[i], ties[i].library,
						watermark_ns == UINT64_MAX, damaged);
		if (!ties[i].host || status != KP_OK)
			continue;
		if (damaged)
			kp_ties_distrust(ties[i].host);
		status = kp_ties_settle(ties[i].host, watermark_ns, &visitor);
	}
	return status;
}

static enum kp_status create_ties(const struct kp_reader *reader, struct process_ties *ties)
{
	for (size_t i = 0; i < kp_reader_process_count(reader); i++) {
		const struct kp_process *process = kp_reader_process(reader, i);

		if (process->promised_host_calls && !(ties[i].host = kp_ties_create(process)))
			return KP_NO_MEMORY;
		if (kp_library_ties_any(process) &&
		    !(ties[i].library = kp_library_ties_create(process)))
			return KP_NO_MEMORY;
	}
	return KP_OK;
}

static enum kp_status add_event(struct process_ties *own, const struct kp_event *event)
{
	enum kp_status status = own->host ? add_to_ties(own->host, event) : KP_OK;

	if (own->library && status == KP_OK)
		status = add_to_library(own->library, event);
	return status;
}

static enum kp_status read_all(struct kp_contents *contents, struct kp_reader *reader,
			       struct process_ties *ties)
{
	uint64_t damaged = kp_reader_damage(reader).damaged_chunks;
	struct kp_event event;
	enum kp_status status;

	while ((status = kp_reader_next(reader, &event)) == KP_OK) {
		count(&contents->tallies[event.process->index], &event);
		status = add_event(&ties[event.process->index], &event);
		if (status == KP_OK && event.watermark_ns != UINT64_MAX)
			status = settle(contents, ties, event.watermark_ns,
					kp_reader_damage(reader).damaged_chunks > damaged);
		if (status != KP_OK)
			return status;
	}
	if (status != KP_END)
		return status;
	return settle(contents, ties, UINT64_MAX,
		      kp_reader_damage(reader).damaged_chunks > damaged);
}

enum kp_status kp_contents_init(struct kp_contents *contents, struct kp_reader *reader)
{
	size_t processes = kp_reader_process_count(reader);
	struct process_ties *ties = calloc(processes + 1, sizeof(*ties));
	enum kp_status status;

	*contents = (struct kp_contents){.reader = reader};
	contents->tallies = calloc(processes + 1, sizeof *contents->tallies);
	status = ties && contents->tallies ? create_ties(reader, ties) : KP_NO_MEMORY;
	if (status == KP_OK)
		status = read_all(contents, reader, ties);
	for (size_t i = 0; ties && i < processes; i++) {
		kp_ties_destroy(ties[i].host);
		kp_library_ties_destroy(ties[i].library);
	}
	free(ties);
	if (status != KP_OK)
		return status;
	add_up(contents);
	contents->damage = kp_reader_damage(reader);
	return KP_OK;
}

void kp_contents_fini(struct kp_contents *contents)
{
	free(contents->tallies);
	contents->tallies = NULL;
}

double kp_contents_bytes_per_launch(const struct kp_contents *contents)
{
	if (contents->total.launches == 0)
		return NAN;
	return (double)kp_reader_bytes(contents->reader) / (double)contents->total.launches;
}
