/*
 * Copies a trace, with some kernels made slower: stretch_trace IN PCT TEXT IDENTITY >OUT
 *
 * Each launch whose mangled name holds TEXT takes PCT percent longer (or shorter, below 0), and all
 * that comes later moves by as much. IDENTITY is added to the processes', so that the copy is
 * another recording. Traces of one stream only; what is no launch, copy or range is left out, but
 * for what describes the processes.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/vector.h"
#include "trace/writer.h"

/* A launch that is stretched, and by how much all before it and it itself move what follows. */
struct stretch {
	uint64_t start_ns, end_ns;
	double extra_ns, sum_ns;
};

static struct stretch *stretches;
static size_t count, capacity;

static void check(bool good, const char *what)
{
	if (!good) {
		fprintf(stderr, "stretch_trace: %s\n", what);
		exit(1);
	}
}

static int compare(const void *left, const void *right)
{
	const struct stretch *a = left, *b = right;

	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static bool fits(const struct kp_process *process, uint32_t config, const char *wanted)
{
	return strstr(kp_process_string(process, process->configs[config].name).bytes, wanted);
}

static void find(struct kp_reader *reader, double pct, const char *wanted)
{
	struct kp_event event;
	double sum_ns = 0;

	while (kp_reader_next(reader, &event) == KP_OK) {
		for (size_t i = 0; event.kind == KP_EVENT_LAUNCHES && i < event.count; i++) {
			const struct kp_launch *from = &event.launches[i];

			if (!fits(event.process, from->config, wanted))
				continue;
			check(kp_vector_grow((void **)&stretches, count, &capacity,
					     sizeof(*stretches)),
			      "out of memory");
			stretches[count++] = (struct stretch){
				.start_ns = from->start_ns,
				.end_ns = from->end_ns,
				.extra_ns = pct / 100 * (double)(from->end_ns - from->start_ns)};
		}
	}
	qsort(stretches, count, sizeof(*stretches), compare);
	for (size_t i = 0; i < count; i++)
		stretches[i].sum_ns = sum_ns += stretches[i].extra_ns;
}

/* Where an instant goes: those within a launch that is stretched keep their place in it. */
static uint64_t moved(uint64_t at_ns)
{
	size_t low = 0, high = count;
	double extra_ns = 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (stretches[middle].start_ns < at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0) {
		const struct stretch *last = &stretches[low - 1];
		double inside_ns = (double)(last->end_ns - last->start_ns);

		extra_ns = last->sum_ns;
		if (at_ns < last->end_ns)
			extra_ns -= last->extra_ns * (double)(last->end_ns - at_ns) / inside_ns;
	}
	return (uint64_t)((double)at_ns + extra_ns + 0.5);
}

/* The numbers that strings and configurations have in the copy. */
struct copy {
	struct kp_writer *writer;
	uint32_t *strings, *configs;
};

static void describe(const struct kp_process *process, uint64_t identity, struct copy *copy)
{
	copy->strings = malloc((process->string_count + 1) * sizeof(uint32_t));
	copy->configs = malloc((process->config_count + 1) * sizeof(uint32_t));
	check(copy->strings && copy->configs, "out of memory");
	check(kp_writer_create(STDOUT_FILENO, process->id + identity, &copy->writer) == KP_OK &&
		      kp_writer_process(copy->writer, &process->info) == KP_OK,
	      "cannot write");
	for (size_t i = 0; i < process->device_count; i++)
		check(kp_writer_device(copy->writer, &process->devices[i]) == KP_OK,
		      "cannot write");
	for (size_t i = 0; i < process->string_count; i++)
		check(kp_writer_intern(copy->writer, process->strings[i].bytes,
				       process->strings[i].length, &copy->strings[i]) == KP_OK,
		      "cannot write");
	for (size_t i = 0; i < process->config_count; i++) {
		struct kp_launch_config config = process->configs[i];

		config.name = copy->strings[config.name];
		check(kp_writer_config(copy->writer, &config, &copy->configs[i]) == KP_OK,
		      "cannot write");
	}
}

static void copy_event(const struct kp_event *event, const struct copy *copy)
{
	if (!copy->configs || !copy->strings)
		return;
	for (size_t i = 0; event->kind == KP_EVENT_LAUNCHES && i < event->count; i++) {
		struct kp_launch one = event->launches[i];

		one.start_ns = moved(one.start_ns);
		one.end_ns = moved(one.end_ns);
		one.config = copy->configs[one.config];
		check(kp_writer_launch(copy->writer, &one) == KP_OK, "cannot write");
	}
	for (size_t i = 0; event->kind == KP_EVENT_MEMOPS && i < event->count; i++) {
		struct kp_memop one = event->memops[i];

		one.start_ns = moved(one.start_ns);
		one.end_ns = moved(one.end_ns);
		check(kp_writer_memop(copy->writer, &one) == KP_OK, "cannot write");
	}
	for (size_t i = 0; event->kind == KP_EVENT_RANGES && i < event->count; i++) {
		struct kp_range one = event->ranges[i];

		one.start_ns = moved(one.start_ns);
		one.end_ns = moved(one.end_ns);
		one.domain = copy->strings[one.domain];
		one.name = copy->strings[one.name];
		check(kp_writer_range(copy->writer, &one) == KP_OK, "cannot write");
	}
}

static void finish(const struct kp_process *process, struct copy *copy)
{
	struct kp_end end = process->end;

	end.end_ns = moved(end.end_ns);
	check(kp_writer_flush(copy->writer) == KP_OK &&
		      kp_writer_counts(copy->writer, &process->counts) == KP_OK &&
		      (!end.has || kp_writer_end(copy->writer, &end) == KP_OK),
	      "cannot write");
	kp_writer_destroy(copy->writer);
	free(copy->strings);
	free(copy->configs);
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "";
	struct kp_reader *reader;
	struct kp_event event;
	struct copy *copies;
	size_t bad, processes;

	check(argc == 5, "stretch_trace IN PCT TEXT IDENTITY >OUT");
	check(kp_reader_open(&path, 1, &reader, &bad) == KP_OK, "cannot read the trace");
	find(reader, strtod(argv[2], NULL), argv[3]);
	processes = kp_reader_process_count(reader);
	copies = calloc(processes + 1, sizeof(*copies));
	check(copies != NULL, "out of memory");
	for (size_t i = 0; i < processes; i++)
		describe(kp_reader_process(reader, i), strtoull(argv[4], NULL, 10), &copies[i]);
	kp_reader_rewind(reader);
	while (kp_reader_next(reader, &event) == KP_OK)
		copy_event(&event, &copies[event.process->index]);
	for (size_t i = 0; i < processes; i++)
		finish(kp_reader_process(reader, i), &copies[i]);
	free(copies);
	free(stretches);
	kp_reader_close(reader);
	return 0;
}
