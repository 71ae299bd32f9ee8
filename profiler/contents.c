/* What a trace holds, counted; see contents.h. Streams: memory does not grow with the trace. */
#include "profiler/contents.h"

#include <math.h>
#include <stdlib.h>

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
	}
}

static void add_up(struct kp_contents *contents)
{
	for (size_t i = 0; i < kp_reader_process_count(contents->reader); i++) {
		contents->total.launches += contents->tallies[i].launches;
		contents->total.memops += contents->tallies[i].memops;
		contents->total.ranges += contents->tallies[i].ranges;
	}
}

enum kp_status kp_contents_init(struct kp_contents *contents, struct kp_reader *reader)
{
	size_t processes = kp_reader_process_count(reader);
	enum kp_status status;
	struct kp_event event;

	*contents = (struct kp_contents){.reader = reader};
	contents->tallies = calloc(processes + 1, sizeof *contents->tallies);
	if (!contents->tallies)
		return KP_NO_MEMORY;
	while ((status = kp_reader_next(reader, &event)) == KP_OK)
		count(&contents->tallies[event.process->index], &event);
	if (status != KP_END)
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
