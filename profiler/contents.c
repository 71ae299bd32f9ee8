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
		break;
	}
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

/* Of all processes: what is known up to the watermark. */
static enum kp_status settle(struct kp_contents *contents, struct kp_ties **ties,
			     uint64_t watermark_ns, bool damaged)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < kp_reader_process_count(contents->reader); i++) {
		const struct kp_tie_visitor visitor = {&contents->tallies[i], count_tie};

		if (!ties[i])
			continue;
		if (damaged)
			kp_ties_distrust(ties[i]);
		status = kp_ties_settle(ties[i], watermark_ns, &visitor);
	}
	return status;
}

static enum kp_status create_ties(const struct kp_reader *reader, struct kp_ties **ties)
{
	for (size_t i = 0; i < kp_reader_process_count(reader); i++) {
		const struct kp_process *process = kp_reader_process(reader, i);

		if (process->promised_host_calls && !(ties[i] = kp_ties_create(process)))
			return KP_NO_MEMORY;
	}
	return KP_OK;
}

static enum kp_status read_all(struct kp_contents *contents, struct kp_reader *reader,
			       struct kp_ties **ties)
{
	uint64_t damaged = kp_reader_damage(reader).damaged_chunks;
	struct kp_event event;
	enum kp_status status;

	while ((status = kp_reader_next(reader, &event)) == KP_OK) {
		struct kp_ties *own = ties[event.process->index];

		count(&contents->tallies[event.process->index], &event);
		if (own)
			status = add_to_ties(own, &event);
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
	struct kp_ties **ties = calloc(processes + 1, sizeof(struct kp_ties *));
	enum kp_status status;

	*contents = (struct kp_contents){.reader = reader};
	contents->tallies = calloc(processes + 1, sizeof *contents->tallies);
	status = ties && contents->tallies ? create_ties(reader, ties) : KP_NO_MEMORY;
	if (status == KP_OK)
		status = read_all(contents, reader, ties);
	for (size_t i = 0; ties && i < processes; i++)
		kp_ties_destroy(ties[i]);
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
