/* kprof merge: one trace of those of many ranks and hosts. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "profiler/assembly.h"
#include "profiler/commands.h"
#include "profiler/export_out.h"
#include "profiler/humanise.h"
#include "profiler/merge_clocks.h"
#include "profiler/merge_library.h"
#include "profiler/merge_losses.h"
#include "profiler/open.h"
#include "profiler/say.h"

#define DIGITS 3
#define NOT_YET UINT32_MAX

/* The numbers of a process's tables in the trace that is written. */
struct tables {
	uint32_t *strings, *configs; /* NOT_YET: not interned yet */
	uint32_t *calls;             /* of libraries */
	int64_t by_ns;
	struct kp_writer *writer;
};

struct merge {
	struct kp_reader *reader;
	struct kp_assembly *assembly;
	struct kp_merge_clocks clocks;
	struct tables *tables; /* by process */
	uint64_t events;
};

/* ---- clocks in words ---- */

static const char *host_of(const struct kp_process *process, char *out, size_t size)
{
	if (KP_HAS(&process->info, PROCESS, host))
		snprintf(out, size, "host %.*s", (int)process->info.host.length,
			 process->info.host.bytes);
	else
		snprintf(out, size, "a host without a name");
	return out;
}

/* What was done with a clock, in one sentence. */
static void describe_clock(const struct kp_merge_clock *clock, char *out, size_t size)
{
	char host[300], amount[64], within[64], off[64];

	host_of(clock->process, host, sizeof host);
	snprintf(amount, sizeof amount, "%s%s", clock->against_ns < 0 ? "-" : "",
		 kp_human_duration((double)llabs(clock->against_ns), DIGITS).text);
	snprintf(within, sizeof within, "%s",
		 kp_human_duration((double)clock->within_ns, DIGITS).text);
	snprintf(off, sizeof off, "%s",
		 kp_human_duration((double)llabs(clock->wall_off_ns), DIGITS).text);
	switch (clock->source) {
	case KP_CLOCK_REFERENCE:
		snprintf(out, size, "%s: its clock is the one that the others are brought to",
			 host);
		break;
	case KP_CLOCK_COLLECTIVES:
		snprintf(out, size,
			 "%s: moved by %s, by %" PRIu64 " collective operations: right within %s, "
			 "if the k-th of each name is the same on all ranks%s%s",
			 host, amount, clock->operations, within,
			 clock->wall_known ? "; wall clocks were off by " : "",
			 clock->wall_known ? off : "");
		break;
	case KP_CLOCK_WALL:
		snprintf(out, size,
			 "%s: moved by %s, by the wall clocks of both, which may be milliseconds "
			 "apart%s",
			 host, amount,
			 clock->contradicted ? "; collective operations contradict each other, and "
					       "are not used"
					     : "");
		break;
	case KP_CLOCK_UNKNOWN:
		snprintf(out, size,
			 "%s: not moved, for its wall clock is not known; times cannot be compared "
			 "with other hosts'",
			 host);
		break;
	}
}

static void say_clocks(const struct merge *merge)
{
	char words[1024];

	for (size_t i = 0; i < merge->clocks.count && merge->clocks.count > 1; i++) {
		describe_clock(&merge->clocks.clocks[i], words, sizeof words);
		kp_say("%s", words);
	}
}

/* ---- descriptions ---- */

#define MOVE(record, RECORD, field, by_ns)                                                         \
	if (KP_HAS(record, RECORD, field))                                                         \
		(record)->field = kp_assembly_moved((record)->field, by_ns);

static enum kp_status put_clock(struct kp_writer *writer, const struct kp_clock_info *from,
				int64_t by_ns)
{
	struct kp_clock_info clock = *from;

	MOVE(&clock, CLOCK, monotonic_ns, by_ns);
	return clock.has ? kp_writer_clock(writer, &clock) : KP_OK;
}

static enum kp_status put_notes(struct merge *merge, const struct kp_process *process)
{
	const struct kp_merge_clock *clock =
		&merge->clocks.clocks[merge->clocks.of_process[process->index]];
	struct kp_writer *writer = merge->tables[process->index].writer;
	enum kp_status status = KP_OK;
	char words[1024];

	for (size_t i = 0; status == KP_OK && i < process->note_count; i++)
		status = kp_writer_note(writer, (enum kp_note_level)process->notes[i].level,
					process->notes[i].text.bytes ? process->notes[i].text.bytes
								     : "");
	if (status != KP_OK || merge->clocks.count < 2 || clock->process != process)
		return status;
	describe_clock(clock, words, sizeof words);
	return kp_writer_note(writer, KP_NOTE_INFO, words);
}

static enum kp_status put_windows(const struct kp_process *process, struct kp_writer *writer,
				  int64_t by_ns)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < process->window_count; i++) {
		struct kp_window_info window = process->windows[i];

		MOVE(&window, WINDOW, begin_ns, by_ns);
		MOVE(&window, WINDOW, end_ns, by_ns);
		status = kp_writer_window(writer, &window);
	}
	for (size_t i = 0; status == KP_OK && i < process->counters_count; i++) {
		struct kp_counters_info session = process->counters[i];

		MOVE(&session, COUNTERS, begin_ns, by_ns);
		MOVE(&session, COUNTERS, end_ns, by_ns);
		status = kp_writer_counters(writer, &session);
	}
	return status;
}

static enum kp_status put_counts(const struct kp_process *process, struct kp_writer *writer,
				 int64_t by_ns)
{
	struct kp_counts counts = process->counts;

	MOVE(&counts, COUNTS, runs_begin_ns, by_ns);
	return counts.has ? kp_writer_counts(writer, &counts) : KP_OK;
}

static enum kp_status put_process(struct merge *merge, const struct kp_process *process)
{
	struct tables *tables = &merge->tables[process->index];
	struct kp_process_info info = process->info;
	int64_t by_ns = tables->by_ns;
	enum kp_status status = KP_OK;

	MOVE(&info, PROCESS, start_ns, by_ns);
	MOVE(&info, PROCESS, process_start_ns, by_ns);
	if (info.has) /* of one that could not be recorded there are notes alone */
		status = kp_writer_process(tables->writer, &info);
	for (size_t i = 0; status == KP_OK && i < process->device_count; i++)
		status = kp_writer_device(tables->writer, &process->devices[i]);
	if (status == KP_OK)
		status = put_clock(tables->writer, &process->first_clock, by_ns);
	if (status == KP_OK)
		status = put_notes(merge, process);
	if (status == KP_OK)
		status = put_windows(process, tables->writer, by_ns);
	if (status == KP_OK)
		status = kp_merge_library_tables(process, tables->writer, &tables->calls);
	return status == KP_OK ? put_counts(process, tables->writer, by_ns) : status;
}

/* The end comes last, for a trace that is cut off to show it. */
static enum kp_status put_ends(struct merge *merge)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < kp_reader_process_count(merge->reader); i++) {
		const struct kp_process *process = kp_reader_process(merge->reader, i);
		struct kp_end end = process->end;

		MOVE(&end, END, end_ns, merge->tables[i].by_ns);
		status = put_clock(merge->tables[i].writer, &process->last_clock,
				   merge->tables[i].by_ns);
		if (status == KP_OK)
			status = kp_merge_losses_put(merge->reader, process,
						     merge->tables[i].writer);
		if (status == KP_OK && end.has)
			status = kp_writer_end(merge->tables[i].writer, &end);
	}
	return status;
}

/* ---- records ---- */

static enum kp_status find_string(struct merge *merge, const struct kp_process *process,
				  uint32_t number, uint32_t *out)
{
	struct tables *tables = &merge->tables[process->index];
	bool known = number < process->string_count;
	struct kp_text text = kp_process_string(process, number);
	enum kp_status status = KP_OK;

	if (known && tables->strings[number] != NOT_YET) {
		*out = tables->strings[number];
		return KP_OK;
	}
	status = kp_writer_intern(tables->writer, text.bytes, text.length, out);
	if (status == KP_OK && known)
		tables->strings[number] = *out;
	return status;
}

static enum kp_status merge_launch(struct merge *merge, const struct kp_process *process,
				   const struct kp_launch *from)
{
	struct tables *tables = &merge->tables[process->index];
	struct kp_launch launch = *from;
	struct kp_launch_config config = process->configs[from->config];
	enum kp_status status = KP_OK;

	if (tables->configs[from->config] == NOT_YET) {
		status = find_string(merge, process, config.name, &config.name);
		if (status == KP_OK)
			status = kp_writer_config(tables->writer, &config,
						  &tables->configs[from->config]);
	}
	if (status != KP_OK)
		return status;
	launch.config = tables->configs[from->config];
	return kp_assembly_add(merge->assembly, KP_ASSEMBLY_LAUNCH, process->index, &launch);
}

static enum kp_status merge_range(struct merge *merge, const struct kp_process *process,
				  const struct kp_range *from)
{
	struct kp_range range = *from;
	enum kp_status status = find_string(merge, process, from->domain, &range.domain);

	if (status == KP_OK)
		status = find_string(merge, process, from->name, &range.name);
	if (range.depth == KP_ASSEMBLY_NESTED) /* no thread nests that deeply */
		range.depth = UINT32_MAX;
	return status == KP_OK
		       ? kp_assembly_add(merge->assembly, KP_ASSEMBLY_RANGE, process->index, &range)
		       : status;
}

/* Those that are in order already, within a session or thread. */
static enum kp_status merge_rest(struct merge *merge, const struct kp_event *event, size_t at)
{
	const struct tables *tables = &merge->tables[event->process->index];

	if (event->kind == KP_EVENT_CLOCKS) {
		struct kp_clocks clocks = event->clocks[at];

		clocks.start_ns = kp_assembly_moved(clocks.start_ns, tables->by_ns);
		clocks.end_ns = kp_assembly_moved(clocks.end_ns, tables->by_ns);
		return kp_writer_clocks(tables->writer, &clocks);
	}
	if (event->kind == KP_EVENT_LIBRARY)
		return kp_merge_library_launch(event->process, tables->writer, tables->calls,
					       tables->by_ns, &event->library[at]);
	struct kp_launch_run run = event->runs[at];
	run.start_ns = kp_assembly_moved(run.start_ns, tables->by_ns);
	run.end_ns = kp_assembly_moved(run.end_ns, tables->by_ns);
	return kp_writer_run(tables->writer, &run);
}

static enum kp_status merge_record(struct merge *merge, const struct kp_event *event, size_t at)
{
	const struct kp_process *process = event->process;

	switch (event->kind) {
	case KP_EVENT_LAUNCHES:
		return merge_launch(merge, process, &event->launches[at]);
	case KP_EVENT_RANGES:
		return merge_range(merge, process, &event->ranges[at]);
	case KP_EVENT_MEMOPS:
		return kp_assembly_add(merge->assembly, KP_ASSEMBLY_MEMOP, process->index,
				       &event->memops[at]);
	case KP_EVENT_HOST:
		return kp_assembly_add(merge->assembly, KP_ASSEMBLY_CALL, process->index,
				       &event->calls[at]);
	case KP_EVENT_SAMPLES: /* see merge_samples */
	case KP_EVENT_CLOCKS:
	case KP_EVENT_RUNS:
	case KP_EVENT_LIBRARY:
		break;
	}
	return merge_rest(merge, event, at);
}

/* A batch of samples stays one. */
static enum kp_status merge_samples(struct merge *merge, const struct kp_event *event)
{
	const struct tables *tables = &merge->tables[event->process->index];
	struct kp_counter_sample *samples = malloc((event->count + 1) * sizeof *samples);
	enum kp_status status = samples ? KP_OK : KP_NO_MEMORY;

	for (size_t i = 0; samples && i < event->count; i++) {
		samples[i] = event->samples[i];
		samples[i].begin_ns = kp_assembly_moved(samples[i].begin_ns, tables->by_ns);
		samples[i].end_ns = kp_assembly_moved(samples[i].end_ns, tables->by_ns);
	}
	if (status == KP_OK)
		status = kp_writer_samples(tables->writer, samples, event->count);
	free(samples);
	return status;
}

static enum kp_status merge_batch(struct merge *merge, const struct kp_event *event)
{
	enum kp_status status = KP_OK;

	if (event->kind == KP_EVENT_SAMPLES)
		return merge_samples(merge, event);
	for (size_t i = 0; status == KP_OK && i < event->count; i++)
		status = merge_record(merge, event, i);
	return status;
}

static enum kp_status merge_events(struct merge *merge)
{
	struct kp_event event;
	enum kp_status status;

	kp_reader_rewind(merge->reader);
	while ((status = kp_reader_next(merge->reader, &event)) == KP_OK) {
		status = merge_batch(merge, &event);
		if (status != KP_OK)
			return status;
		merge->events += event.count;
	}
	return status == KP_END ? KP_OK : status;
}

/* ---- the whole ---- */

/* The writers, and tables as large as those that are read. */
static enum kp_status begin(struct merge *merge)
{
	size_t count = kp_reader_process_count(merge->reader);
	enum kp_status status = KP_OK;

	merge->tables = calloc(count + 1, sizeof *merge->tables);
	if (!merge->tables)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < count; i++) {
		const struct kp_process *process = kp_reader_process(merge->reader, i);
		struct tables *tables = &merge->tables[i];
		const uint64_t identity[2] = {process->id, (uint64_t)merge->clocks.count};

		tables->by_ns = merge->clocks.clocks[merge->clocks.of_process[i]].by_ns;
		tables->strings = malloc((process->string_count + 1) * sizeof(uint32_t));
		tables->configs = malloc((process->config_count + 1) * sizeof(uint32_t));
		if (!tables->strings || !tables->configs)
			return KP_NO_MEMORY;
		memset(tables->strings, 0xff, process->string_count * sizeof(uint32_t));
		memset(tables->configs, 0xff, process->config_count * sizeof(uint32_t));
		/* Another one: its chunks are not those that have the old identity. */
		status = kp_assembly_process(
			merge->assembly, XXH3_64bits(identity, sizeof identity), &tables->writer);
		if (status == KP_OK)
			kp_assembly_move(merge->assembly, (uint32_t)i, tables->by_ns);
	}
	return status;
}

static enum kp_status merge_all(struct merge *merge)
{
	enum kp_status status = begin(merge);

	for (size_t i = 0; status == KP_OK && i < kp_reader_process_count(merge->reader); i++)
		status = put_process(merge, kp_reader_process(merge->reader, i));
	if (status == KP_OK)
		status = merge_events(merge);
	if (status == KP_OK)
		status = kp_assembly_finish(merge->assembly);
	return status == KP_OK ? put_ends(merge) : status;
}

static void fini(struct merge *merge)
{
	for (size_t i = 0; merge->tables && i < kp_reader_process_count(merge->reader); i++) {
		free(merge->tables[i].strings);
		free(merge->tables[i].configs);
		free(merge->tables[i].calls);
	}
	free(merge->tables);
	kp_merge_clocks_fini(&merge->clocks);
	kp_assembly_destroy(merge->assembly);
}

static void say_done(const struct merge *merge, const char *name)
{
	size_t processes = kp_reader_process_count(merge->reader);
	char words[256];

	kp_say("%s: %" PRIu64 " records of %zu process%s and %zu host%s", name, merge->events,
	       processes, processes == 1 ? "" : "es", merge->clocks.count,
	       merge->clocks.count == 1 ? "" : "s");
	say_clocks(merge);
	if (kp_merge_copies_describe(merge->reader, words, sizeof words))
		kp_say("%s", words);
	if (kp_merge_losses_describe(merge->reader, words, sizeof words))
		kp_say("%s", words);
}

static bool merge_to(struct kp_out *out, struct merge *merge)
{
	char *folder = kp_out_folder(out);
	enum kp_status status;

	errno = 0;
	status = folder ? kp_merge_clocks_find(merge->reader, &merge->clocks) : KP_NO_MEMORY;
	if (status == KP_OK)
		status = kp_assembly_create(out->fd, folder, &merge->assembly);
	if (status == KP_OK)
		status = merge_all(merge);
	int error = errno;
	free(folder);
	if (status == KP_OK) {
		const char *name = out->name;
		bool done = kp_out_commit(out);

		if (done)
			say_done(merge, name);
		return done;
	}
	kp_out_abandon(out);
	kp_fail("cannot merge the traces: %s",
		status == KP_UNSUPPORTED   ? "they have more than 1024 processes"
		: status == KP_IO && error ? strerror(error)
					   : kp_status_message(status));
	return false;
}

int kp_cmd_merge(const struct kp_settings *settings)
{
	struct merge merge = {0};
	struct kp_out out;
	bool done = false;

	if (!settings->output)
		return kp_fail("where to? name the trace with -o FILE.kprof");
	merge.reader =
		kp_open_different((const char *const *)settings->operands, settings->operand_count);
	if (!merge.reader)
		return KP_EXIT_FAILURE;
	if (kp_out_open_trace(&out, settings->output))
		done = merge_to(&out, &merge);
	fini(&merge);
	kp_reader_close(merge.reader);
	return done ? 0 : KP_EXIT_FAILURE;
}
