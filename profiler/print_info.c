/*
 * The contents of a trace as text; see print_info.h. The fields of processes, devices and counts
 * come from the lists of trace/fields.h, under the names that YAML has for them; absent ones are
 * left out.
 */
#include "profiler/print_info.h"

#include <inttypes.h>
#include <math.h>

#include "profiler/humanise.h"
#include "profiler/text.h"

#define LABEL 22
#define DIGITS 4

static const char *const levels[] = {"info", "warning", "error"};

static void print_u64(FILE *file, int indent, const char *name, uint64_t value)
{
	fprintf(file, "%*s%-*s %" PRIu64 "\n", indent, "", LABEL, name, value);
}

static void print_value(FILE *file, int indent, const char *name, const char *value)
{
	fprintf(file, "%*s%-*s %s\n", indent, "", LABEL, name, value);
}

static void print_bytes(FILE *file, int indent, const char *name, struct kp_text value)
{
	char text[4096];

	kp_text_visible(text, sizeof text, value.bytes, value.length);
	print_value(file, indent, name, text);
}

#define PRINT_U64(file, indent, name, value) print_u64(file, indent, name, value)
#define PRINT_TEXT(file, indent, name, value) print_bytes(file, indent, name, value)
#define PRINT_FIELD(file, indent, record, RECORD, type, name)                                      \
	do {                                                                                       \
		if (KP_HAS(record, RECORD, name))                                                  \
			PRINT_##type(file, indent, #name, (record)->name);                         \
	} while (0);

static void print_device(FILE *file, const struct kp_device_info *device)
{
	fputs("  Device\n", file);
#define FIELD(key, type, name) PRINT_FIELD(file, 4, device, DEVICE, type, name)
	KP_DEVICE_FIELDS(FIELD)
#undef FIELD
}

static void print_counts(FILE *file, const struct kp_counts *counts)
{
	fprintf(file, "  Counts%s\n", counts->has ? "" : ": none, so losses are unknown");
#define FIELD(key, type, name) PRINT_FIELD(file, 4, counts, COUNTS, type, name)
	KP_COUNTS_FIELDS(FIELD)
#undef FIELD
	if (counts->has && !KP_HAS(counts, COUNTS, kernels_issued))
		print_value(file, 4, "kernels_issued", "unknown");
	if (counts->has && !KP_HAS(counts, COUNTS, records_dropped))
		print_value(file, 4, "records_dropped", "unknown");
}

/* How far the clock that can be set ran away from the one that cannot, over the recording. */
static void print_clocks(FILE *file, const struct kp_process *process)
{
	const struct kp_clock_info *first = &process->first_clock, *last = &process->last_clock;

	if (!KP_HAS(first, CLOCK, monotonic_ns) || !KP_HAS(first, CLOCK, realtime_ns) ||
	    !KP_HAS(last, CLOCK, monotonic_ns) || !KP_HAS(last, CLOCK, realtime_ns))
		return;
	fprintf(file, "  Clock\n");
	print_u64(file, 4, "monotonic_ns", first->monotonic_ns);
	print_u64(file, 4, "realtime_ns", first->realtime_ns);
	/* Unsigned differences wrap to the right signed value. */
	int64_t drift_ns = (int64_t)((last->realtime_ns - first->realtime_ns) -
				     (last->monotonic_ns - first->monotonic_ns));
	fprintf(file, "    %-*s %" PRId64 "\n", LABEL, "realtime_drift_ns", drift_ns);
}

/* How many there were; YAML and JSON have each. */
static void print_windows(FILE *file, const struct kp_process *process)
{
	double inside_ns = 0;

	for (size_t i = 0; i < process->window_count; i++)
		inside_ns += (double)(process->windows[i].end_ns - process->windows[i].begin_ns);
	if (process->window_count == 0)
		return;
	print_u64(file, 2, "windows", process->window_count);
	print_value(file, 2, "in_windows", kp_human_duration(inside_ns, DIGITS).text);
}

/* What was sampled; each metric on a line of its own, as CUPTI calls it. */
static void print_metrics(FILE *file, const struct kp_counters_info *counters)
{
	struct kp_metric_line lines[KP_SAMPLE_VALUES];
	size_t count = kp_metrics_parse(&counters->metrics, lines);

	for (size_t i = 0; i < count; i++)
		print_bytes(file, 4, "metric",
			    (struct kp_text){lines[i].key, (size_t)(lines[i].unit - lines[i].key) +
								   lines[i].unit_length});
}

static void print_counters(FILE *file, const struct kp_counters_info *counters)
{
	struct kp_counters_info plain = *counters;

	plain.has &= ~(1ULL << KP_COUNTERS_metrics);
	fputs("  Counters\n", file);
#define FIELD(key, type, name) PRINT_FIELD(file, 4, &plain, COUNTERS, type, name)
	KP_COUNTERS_FIELDS(FIELD)
#undef FIELD
	if (KP_HAS(counters, COUNTERS, metrics))
		print_metrics(file, counters);
}

static void print_notes(FILE *file, const struct kp_process *process)
{
	for (size_t i = 0; i < process->note_count; i++) {
		const struct kp_note *note = &process->notes[i];
		char text[4096] = "";
		if (KP_HAS(note, NOTE, text))
			kp_text_visible(text, sizeof text, note->text.bytes, note->text.length);
		bool known =
			KP_HAS(note, NOTE, level) && note->level < sizeof levels / sizeof *levels;
		fprintf(file, "  Note (%s): %s\n", known ? levels[note->level] : "unknown", text);
	}
}

static const char *ending(const struct kp_process *process)
{
	const struct kp_end *end = &process->end;

	if (KP_HAS(&process->info, PROCESS, untraced))
		return "unknown: it was not traced";
	if (end->has == 0)
		return "not in an orderly way: killed, or still running";
	if (KP_HAS(end, END, forced) && end->forced)
		return "orderly, but with kernels still running";
	if (KP_HAS(end, END, way) && end->way == KP_END_EXEC)
		return "it became another program";
	return "orderly";
}

static void print_tally(FILE *file, int indent, const struct kp_tally *tally)
{
	print_u64(file, indent, "kernels", tally->launches);
	print_u64(file, indent, "memory_operations", tally->memops);
	print_u64(file, indent, "nvtx_ranges", tally->ranges);
	if (tally->samples)
		print_u64(file, indent, "counter_samples", tally->samples);
	if (tally->clocks)
		print_u64(file, indent, "clock_readings", tally->clocks);
	if (tally->has_library) {
		print_u64(file, indent, "library_calls", tally->library.calls);
		print_u64(file, indent, "launches_in_calls", tally->library.launches);
		print_u64(file, indent, "launches_in_calls_tied", tally->library.launches_tied);
		print_u64(file, indent, "graph_kernels_tied", tally->library.graph_launches);
	}
	if (!tally->calls)
		return;
	print_u64(file, indent, "launch_calls", tally->calls);
	print_u64(file, indent, "kernels_tied", tally->tied);
	print_u64(file, indent, "kernels_untied", tally->untied);
}

static void print_process(FILE *file, const struct kp_process *process,
			  const struct kp_tally *tally)
{
	const struct kp_process_info *info = &process->info;

	fprintf(file, "\nProcess %" PRIu32 "\n", process->index);
#define FIELD(key, type, name) PRINT_FIELD(file, 2, info, PROCESS, type, name)
	KP_PROCESS_FIELDS(FIELD)
#undef FIELD
	print_value(file, 2, "ended", ending(process));
	if (KP_HAS(info, PROCESS, untraced)) {
		print_notes(file, process);
		return;
	}
	print_tally(file, 2, tally);
	if (tally->last_ns)
		print_value(
			file, 2, "span",
			kp_human_duration((double)(tally->last_ns - tally->first_ns), DIGITS).text);
	print_windows(file, process);
	print_counts(file, &process->counts);
	print_clocks(file, process);
	for (size_t i = 0; i < process->device_count; i++)
		print_device(file, &process->devices[i]);
	for (size_t i = 0; i < process->counters_count; i++)
		print_counters(file, &process->counters[i]);
	print_notes(file, process);
}

static void print_damage(FILE *file, const struct kp_damage *damage)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"damaged_chunks", damage->damaged_chunks},
		{"damaged_bytes", damage->damaged_bytes},
		{"missing_chunks", damage->missing_chunks},
		{"repeated_chunks", damage->repeated_chunks},
		{"unknown_chunks", damage->unknown_chunks},
		{"lost_launches", damage->lost_launches},
	};
	bool any = damage->torn_tail;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		any |= rows[i].value > 0;
	print_value(file, 0, "damage", any ? "yes" : "none");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (rows[i].value > 0)
			print_u64(file, 2, rows[i].name, rows[i].value);
	}
	if (damage->torn_tail)
		print_value(file, 2, "truncated", "the trace ends in the middle of a chunk");
}

void kp_print_info(FILE *file, const struct kp_contents *contents)
{
	size_t processes = kp_reader_process_count(contents->reader);
	double bytes_per_kernel = kp_contents_bytes_per_launch(contents);

	print_u64(file, 0, "bytes", kp_reader_bytes(contents->reader));
	print_u64(file, 0, "processes", processes);
	print_tally(file, 0, &contents->total);
	if (isfinite(bytes_per_kernel))
		fprintf(file, "%-*s %.3f\n", LABEL, "bytes_per_kernel", bytes_per_kernel);
	print_damage(file, &contents->damage);
	for (size_t i = 0; i < processes; i++)
		print_process(file, kp_reader_process(contents->reader, i), &contents->tallies[i]);
}
