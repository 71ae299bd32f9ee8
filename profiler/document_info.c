/* The document kprof.info/v1; see document.h. Pure. */
#include "profiler/document.h"

static const char *const levels[] = {"info", "warning", "error"};

static void emit_clock(struct kp_emit *emit, const char *key, const struct kp_clock_info *clock)
{
	kp_emit_map_begin(emit, key);
	if (KP_HAS(clock, CLOCK, monotonic_ns))
		kp_emit_count(emit, "monotonic_ns", clock->monotonic_ns);
	else
		kp_emit_null(emit, "monotonic_ns");
	if (KP_HAS(clock, CLOCK, realtime_ns))
		kp_emit_count(emit, "realtime_ns", clock->realtime_ns);
	else
		kp_emit_null(emit, "realtime_ns");
	kp_emit_map_end(emit);
}

static void emit_notes(struct kp_emit *emit, const struct kp_process *process)
{
	kp_emit_list_begin(emit, "notes");
	for (size_t i = 0; i < process->note_count; i++) {
		const struct kp_note *note = &process->notes[i];
		bool known =
			KP_HAS(note, NOTE, level) && note->level < sizeof levels / sizeof *levels;
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "level", known ? levels[note->level] : NULL);
		if (KP_HAS(note, NOTE, text))
			kp_emit_text(emit, "text", note->text);
		else
			kp_emit_null(emit, "text");
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_windows(struct kp_emit *emit, const struct kp_process *process)
{
	kp_emit_list_begin(emit, "windows");
	for (size_t i = 0; i < process->window_count; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_document_window(emit, &process->windows[i]);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_library(struct kp_emit *emit, const struct kp_library_account *library)
{
	kp_emit_map_begin(emit, "library_calls");
	kp_emit_count(emit, "calls", library->calls);
	kp_emit_count(emit, "launches", library->launches);
	kp_emit_count(emit, "launches_tied", library->launches_tied);
	kp_emit_count(emit, "launches_lost", library->launches_lost);
	kp_emit_count(emit, "graph_nodes", library->graph_nodes);
	kp_emit_count(emit, "graph_kernels_tied", library->graph_launches);
	kp_emit_map_end(emit);
}

static void emit_tally(struct kp_emit *emit, const struct kp_tally *tally)
{
	kp_emit_count(emit, "kernels", tally->launches);
	kp_emit_count(emit, "memory_operations", tally->memops);
	kp_emit_count(emit, "nvtx_ranges", tally->ranges);
	kp_emit_count(emit, "counter_samples", tally->samples);
	kp_emit_count(emit, "clock_readings", tally->clocks);
	kp_emit_count(emit, "launch_calls", tally->calls);
	if (tally->calls) {
		kp_emit_count(emit, "kernels_tied", tally->tied);
		kp_emit_count(emit, "kernels_untied", tally->untied);
	} else {
		kp_emit_null(emit, "kernels_tied");
		kp_emit_null(emit, "kernels_untied");
	}
	if (tally->has_library)
		emit_library(emit, &tally->library);
}

static void emit_process(struct kp_emit *emit, const struct kp_process *process,
			 const struct kp_tally *tally)
{
	kp_emit_map_begin(emit, NULL);
	kp_document_process(emit, process);
	emit_tally(emit, tally);
	if (tally->last_ns) {
		kp_emit_count(emit, "first_ns", tally->first_ns);
		kp_emit_count(emit, "last_ns", tally->last_ns);
	} else {
		kp_emit_null(emit, "first_ns");
		kp_emit_null(emit, "last_ns");
	}
	kp_document_counts(emit, &process->counts);
	emit_clock(emit, "first_clock", &process->first_clock);
	emit_clock(emit, "last_clock", &process->last_clock);
	kp_emit_list_begin(emit, "devices");
	for (size_t i = 0; i < process->device_count; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_document_device(emit, &process->devices[i]);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
	emit_windows(emit, process);
	kp_emit_list_begin(emit, "counters");
	for (size_t i = 0; i < process->counters_count; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_document_counters(emit, &process->counters[i]);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
	emit_notes(emit, process);
	kp_emit_map_end(emit);
}

enum kp_status kp_document_info(FILE *file, const struct kp_contents *contents,
				enum kp_format format)
{
	struct kp_emit *emit;
	enum kp_status status = kp_document_begin(file, format, "kprof.info/v1", &emit);

	if (status != KP_OK)
		return status;
	kp_emit_count(emit, "bytes", kp_reader_bytes(contents->reader));
	emit_tally(emit, &contents->total);
	kp_emit_number(emit, "bytes_per_kernel", kp_contents_bytes_per_launch(contents), 3);
	kp_document_damage(emit, &contents->damage);
	kp_emit_list_begin(emit, "processes");
	for (size_t i = 0; i < kp_reader_process_count(contents->reader); i++)
		emit_process(emit, kp_reader_process(contents->reader, i), &contents->tallies[i]);
	kp_emit_list_end(emit);
	kp_emit_map_end(emit);
	return kp_emit_finish(emit);
}
