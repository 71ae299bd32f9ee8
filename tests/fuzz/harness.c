/*
 * The oracle of the fuzzer: what trace/reader.h promises of any input, and (in promise_report.c)
 * what analyzers/report.h does.
 *
 * The sanitizers find memory errors; this finds broken promises, and aborts at the first. One
 * anonymous file is kept and overwritten from input to input. Single-threaded.
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyzers/library_ties.h"
#include "promise.h"
#include "trace/reader.h"

/* What one walk through a trace delivered. Two walks must deliver the same. */
struct walk {
	uint64_t launches, memops, ranges, calls, library, samples, clocks, batches, checksum;
};

static void mix(struct walk *walk, uint64_t value)
{
	walk->checksum = (walk->checksum ^ value) * 0x100000001b3ULL;
}

static void check_launches(const struct kp_event *event, uint64_t floor_ns, struct walk *walk)
{
	const struct kp_launch *launches = event->launches;

	for (size_t i = 0; i < event->count; i++) {
		REQUIRE(launches[i].config < event->process->config_count);
		REQUIRE(i == 0 || launches[i - 1].start_ns <= launches[i].start_ns);
		if (kp_time_quality(launches[i].start_ns, launches[i].end_ns) == KP_TIME_VALID)
			REQUIRE(launches[i].start_ns >= floor_ns);
		mix(walk, launches[i].start_ns);
		mix(walk, launches[i].end_ns ^ launches[i].config);
	}
	walk->launches += event->count;
}

static void check_memops(const struct kp_event *event, uint64_t floor_ns, struct walk *walk)
{
	const struct kp_memop *memops = event->memops;

	for (size_t i = 0; i < event->count; i++) {
		REQUIRE(i == 0 || memops[i - 1].start_ns <= memops[i].start_ns);
		if (kp_time_quality(memops[i].start_ns, memops[i].end_ns) == KP_TIME_VALID)
			REQUIRE(memops[i].start_ns >= floor_ns);
		mix(walk, memops[i].start_ns ^ memops[i].bytes ^ memops[i].kind);
	}
	walk->memops += event->count;
}

static void check_ranges(const struct kp_event *event, struct walk *walk)
{
	for (size_t i = 0; i < event->count; i++) {
		REQUIRE(event->ranges[i].domain < event->process->string_count);
		REQUIRE(event->ranges[i].name < event->process->string_count);
		mix(walk, event->ranges[i].start_ns ^ event->ranges[i].end_ns);
	}
	walk->ranges += event->count;
}

static void check_samples(const struct kp_event *event, uint64_t floor_ns, struct walk *walk)
{
	const struct kp_counter_sample *samples = event->samples;

	for (size_t i = 0; i < event->count; i++) {
		REQUIRE(samples[i].session == samples[0].session);
		REQUIRE(i == 0 || samples[i - 1].begin_ns <= samples[i].begin_ns);
		if (kp_time_quality(samples[i].begin_ns, samples[i].end_ns) == KP_TIME_VALID)
			REQUIRE(samples[i].begin_ns >= floor_ns);
		mix(walk, samples[i].begin_ns ^ samples[i].values[KP_SAMPLE_VALUES - 1]);
	}
	REQUIRE(event->count == 0 || kp_process_counters(event->process, samples[0].session));
	walk->samples += event->count;
}

static void check_clocks(const struct kp_event *event, struct walk *walk)
{
	for (size_t i = 0; i < event->count; i++) {
		REQUIRE(i == 0 || event->clocks[i - 1].start_ns <= event->clocks[i].start_ns);
		mix(walk, event->clocks[i].throttle_reasons ^ event->clocks[i].has);
	}
	walk->clocks += event->count;
}

static void check_calls(const struct kp_event *event, uint64_t floor_ns, struct walk *walk)
{
	const struct kp_host_call *calls = event->calls;

	for (size_t i = 0; i < event->count; i++) {
		REQUIRE(i == 0 || calls[i - 1].start_ns <= calls[i].start_ns);
		if (kp_time_quality(calls[i].start_ns, calls[i].end_ns) == KP_TIME_VALID)
			REQUIRE(calls[i].start_ns >= floor_ns);
		mix(walk, calls[i].start_ns ^ calls[i].end_ns ^ calls[i].thread);
	}
	walk->calls += event->count;
}

static void check_runs(const struct kp_event *event, uint64_t floor_ns, struct walk *walk)
{
	for (size_t i = 0; i < event->count; i++) {
		const struct kp_launch_run *runs = event->runs;

		REQUIRE(i == 0 || runs[i - 1].start_ns <= runs[i].start_ns);
		if (kp_time_quality(runs[i].start_ns, runs[i].end_ns) == KP_TIME_VALID)
			REQUIRE(runs[i].start_ns >= floor_ns);
		mix(walk, runs[i].start_ns ^ runs[i].shapes ^ runs[i].launches);
	}
}

static void check_library(const struct kp_event *event, uint64_t floor_ns, struct walk *walk)
{
	const struct kp_library_launch *launches = event->library;

	for (size_t i = 0; i < event->count; i++) {
		REQUIRE(i == 0 || launches[i - 1].start_ns <= launches[i].start_ns);
		REQUIRE(launches[i].graph || launches[i].call < event->process->library_call_count);
		if (kp_time_quality(launches[i].start_ns, launches[i].end_ns) == KP_TIME_VALID)
			REQUIRE(launches[i].start_ns >= floor_ns);
		mix(walk, launches[i].ordinal ^ launches[i].call);
	}
	walk->library += event->count;
}

static void check_event(const struct kp_event *event, uint64_t *floor_ns, struct walk *walk)
{
	REQUIRE(event->process != NULL);
	switch (event->kind) {
	case KP_EVENT_LAUNCHES:
		check_launches(event, *floor_ns, walk);
		break;
	case KP_EVENT_MEMOPS:
		check_memops(event, *floor_ns, walk);
		break;
	case KP_EVENT_RANGES:
		check_ranges(event, walk);
		break;
	case KP_EVENT_SAMPLES:
		check_samples(event, *floor_ns, walk);
		break;
	case KP_EVENT_CLOCKS:
		check_clocks(event, walk);
		break;
	case KP_EVENT_HOST:
		check_calls(event, *floor_ns, walk);
		break;
	case KP_EVENT_RUNS:
		check_runs(event, *floor_ns, walk);
		break;
	case KP_EVENT_LIBRARY:
		check_library(event, *floor_ns, walk);
		break;
	}
	if (event->watermark_ns > *floor_ns)
		*floor_ns = event->watermark_ns;
	walk->batches++;
}

static struct walk walk_events(struct kp_reader *reader)
{
	struct walk walk = {0};
	struct kp_event event;
	uint64_t floor_ns = 0;
	enum kp_status status;

	while ((status = kp_reader_next(reader, &event)) == KP_OK)
		check_event(&event, &floor_ns, &walk);
	REQUIRE(status == KP_END);
	REQUIRE(kp_reader_next(reader, &event) == KP_END);
	return walk;
}

/* ---- ties of library calls ---- */

/* How often a record was visited, and with which process's calls. */
struct visits {
	const struct kp_process *process;
	uint64_t count;
};

static enum kp_status visit(void *context, const struct kp_library_tie *tie)
{
	struct visits *visits = context;

	REQUIRE(tie->config < visits->process->config_count);
	REQUIRE(tie->call == KP_LIBRARY_NO_CALL || tie->call < visits->process->library_call_count);
	visits->count++;
	return KP_OK;
}

static void add_to_ties(struct kp_library_ties *ties, const struct kp_event *event)
{
	for (size_t i = 0; i < event->count; i++) {
		if (event->kind == KP_EVENT_LIBRARY)
			REQUIRE(kp_library_ties_add_library(ties, &event->library[i]) == KP_OK);
		else if (event->kind == KP_EVENT_LAUNCHES)
			REQUIRE(kp_library_ties_add_launch(ties, &event->launches[i], 0) == KP_OK);
	}
}

/* Every record of a process is visited once. */
static void check_ties(struct kp_reader *reader, const struct kp_process *process)
{
	struct kp_library_ties *ties = kp_library_ties_create(process);
	struct visits visits = {process, 0};
	const struct kp_library_visitor visitor = {&visits, visit};
	struct kp_event event;
	uint64_t launches = 0;

	REQUIRE(ties);
	while (kp_reader_next(reader, &event) == KP_OK) {
		if (event.process != process)
			continue;
		launches += event.kind == KP_EVENT_LAUNCHES ? event.count : 0;
		add_to_ties(ties, &event);
	}
	REQUIRE(kp_library_ties_settle(ties, true, &visitor) == KP_OK);
	REQUIRE(visits.count == launches);
	kp_library_ties_destroy(ties);
	kp_reader_rewind(reader);
}

static void check_text(struct kp_text text)
{
	REQUIRE(text.bytes != NULL);
	REQUIRE(text.bytes[text.length] == '\0');
}

static void check_process(const struct kp_process *process, size_t index)
{
	REQUIRE(process->index == index);
	REQUIRE(process->index < UINT32_MAX);
	for (size_t i = 0; i < process->string_count; i++)
		check_text(kp_process_string(process, (uint32_t)i));
	check_text(kp_process_string(process, UINT32_MAX));
	for (size_t i = 0; i < process->config_count; i++)
		check_text(kp_process_string(process, process->configs[i].name));
	for (size_t i = 0; i < process->note_count; i++)
		if (KP_HAS(&process->notes[i], NOTE, text))
			check_text(process->notes[i].text);
	for (size_t i = 0; i < process->counters_count; i++) {
		const struct kp_counters_info *counters = &process->counters[i];
		struct kp_metric_line lines[KP_SAMPLE_VALUES];

		REQUIRE(kp_process_counters(process, counters->number) == counters);
		if (KP_HAS(counters, COUNTERS, metrics))
			REQUIRE(kp_metrics_parse(&counters->metrics, lines) <= KP_SAMPLE_VALUES);
	}
	if (KP_HAS(&process->info, PROCESS, command))
		check_text(process->info.command);
}

static void check_trace(struct kp_reader *reader)
{
	struct walk first, second;

	for (size_t i = 0; i < kp_reader_process_count(reader); i++)
		check_process(kp_reader_process(reader, i), i);
	first = walk_events(reader);
	kp_reader_rewind(reader);
	second = walk_events(reader);
	REQUIRE(memcmp(&first, &second, sizeof(first)) == 0);
	kp_reader_rewind(reader);
	for (size_t i = 0; i < kp_reader_process_count(reader); i++)
		if (kp_library_ties_any(kp_reader_process(reader, i)))
			check_ties(reader, kp_reader_process(reader, i));
	fuzz_check_report(reader, first.launches);
}

/* The path of an unnamed file that holds the input. */
static const char *place(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("kprof-fuzz", 0);
		REQUIRE(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	REQUIRE(ftruncate(fd, 0) == 0);
	REQUIRE(pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = place(data, size);
	const char *const twice[] = {path, path};
	size_t files = 1 + size % 2, bad;
	struct kp_reader *reader;
	enum kp_status status = kp_reader_open(twice, files, &reader, &bad);

	REQUIRE(status != KP_NO_MEMORY && status != KP_IO && status != KP_END);
	REQUIRE((status == KP_OK) == (reader != NULL));
	if (status != KP_OK) {
		REQUIRE(bad < files);
		return 0;
	}
	REQUIRE(kp_reader_bytes(reader) == files * size);
	check_trace(reader);
	kp_reader_close(reader);
	return 0;
}
