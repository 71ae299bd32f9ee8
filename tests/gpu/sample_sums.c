/*
 * Adds up the samples of hardware counters of a trace: sample_sums TRACE
 *
 * One line a session and metric: «session 0 device 0 dram_read_bytes 123456»; one a session with
 * the number of samples, the time that they span, and the time that is missing between them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/reader.h"

#define SESSIONS 64

struct sums {
	const struct kp_counters_info *info;
	uint64_t samples, values[KP_SAMPLE_VALUES];
	uint64_t first_ns, last_ns, missing_ns;
};

static struct sums sessions[SESSIONS];
static size_t session_count;

static struct sums *sums_of(const struct kp_counters_info *info)
{
	for (size_t i = 0; i < session_count; i++)
		if (sessions[i].info == info)
			return &sessions[i];
	if (session_count == SESSIONS)
		exit(3);
	sessions[session_count].info = info;
	return &sessions[session_count++];
}

static void add(const struct kp_event *event)
{
	for (size_t i = 0; i < event->count; i++) {
		const struct kp_counter_sample *sample = &event->samples[i];
		struct sums *sums = sums_of(kp_process_counters(event->process, sample->session));

		for (size_t k = 0; k < KP_SAMPLE_VALUES; k++)
			sums->values[k] += sample->values[k];
		if (!sums->samples++)
			sums->first_ns = sample->begin_ns;
		else
			sums->missing_ns += sample->begin_ns - sums->last_ns;
		sums->last_ns = sample->end_ns;
	}
}

static void print(const struct sums *sums)
{
	struct kp_metric_line lines[KP_SAMPLE_VALUES];
	size_t count = kp_metrics_parse(&sums->info->metrics, lines);

	printf("session %" PRIu64 " device %" PRIu64 " samples %" PRIu64 " span_ns %" PRIu64
	       " missing_ns %" PRIu64 "\n",
	       sums->info->number, sums->info->device, sums->samples,
	       sums->last_ns - sums->first_ns, sums->missing_ns);
	for (size_t i = 0; i < count; i++)
		printf("session %" PRIu64 " device %" PRIu64 " %.*s %" PRIu64 "\n",
		       sums->info->number, sums->info->device, (int)lines[i].key_length,
		       lines[i].key, sums->values[i]);
}

int main(int argc, char **argv)
{
	const char *path = argc == 2 ? argv[1] : "";
	struct kp_reader *reader;
	struct kp_event event;
	size_t bad;

	if (kp_reader_open(&path, 1, &reader, &bad) != KP_OK) {
		fprintf(stderr, "sample_sums: cannot read %s\n", path);
		return 1;
	}
	while (kp_reader_next(reader, &event) == KP_OK)
		if (event.kind == KP_EVENT_SAMPLES)
			add(&event);
	for (size_t i = 0; i < session_count; i++)
		print(&sessions[i]);
	kp_reader_close(reader);
	return 0;
}
