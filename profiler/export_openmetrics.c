/*
 * OpenMetrics text: sums of kernels, copies, sets and counters, and the counts that say how
 * complete they are. One table holds the families. Ends with "# EOF", so that a torn file shows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzers/report_losses.h"
#include "profiler/export.h"
#include "profiler/export_totals.h"

enum value { EVENTS, BYTES, TIME };

/* Families of sums over groups of events. */
static const struct family {
	const char *name, *unit, *help; /* unit NULL: none */
	bool kernels;                   /* else copies and sets */
	bool valid; /* of events with times that can be used, or of the others */
	enum value value;
} families[] = {
	{"kprof_kernel_launches", NULL, "Launches of kernels whose times are known.", true, true,
	 EVENTS},
	{"kprof_kernel_untimed_launches", NULL, "Launches of kernels whose times are not known.",
	 true, false, EVENTS},
	{"kprof_kernel_time_seconds", "seconds", "Summed durations of kernels.", true, true, TIME},
	{"kprof_memory_operations", NULL, "Copies and sets of memory whose times are known.", false,
	 true, EVENTS},
	{"kprof_memory_moved_bytes", "bytes", "Bytes that were copied or set.", false, true, BYTES},
	{"kprof_memory_time_seconds", "seconds", "Summed durations of copies and sets.", false,
	 true, TIME},
};

/* Counts of a process: F(field of kp_counts, what it is). */
#define COUNTS(F)                                                                                  \
	F(kernels_issued, "Launches that the program asked for.")                                  \
	F(kernels_recorded, "Launches that CUPTI delivered records of.")                           \
	F(records_dropped, "Records that CUPTI says it dropped.")                                  \
	F(kernels_unwritten, "Launches that could not be written to the trace.")                   \
	F(kernels_out_of_window, "Launches while nothing was recorded.")

static void put_label(struct kp_out *out, const char *name, const char *value)
{
	kp_out_print(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			kp_out_text(out, "\\n");
		else if (*value == '"' || *value == '\\')
			kp_out_put(out, (char[]){'\\', *value}, 2);
		else
			kp_out_put(out, value, 1);
	}
	kp_out_text(out, "\"");
}

static void put_process_labels(struct kp_export *job, const struct kp_process *process,
			       const char *host, const char *rank)
{
	kp_out_print(&job->out, "process=\"%u\"", process->index);
	if (KP_HAS(&process->info, PROCESS, pid))
		kp_out_print(&job->out, ",pid=\"%" PRIu64 "\"", process->info.pid);
	if (host) {
		kp_out_text(&job->out, ",");
		put_label(&job->out, "host", host);
	}
	if (rank) {
		kp_out_text(&job->out, ",");
		put_label(&job->out, "rank", rank);
	}
}

static void put_labels(struct kp_export *job, const struct kp_export_template *template)
{
	const char *operator_name =
		kp_export_text_of(job->events, template, KP_EXPORT_COLUMN_OPERATOR);

	kp_out_text(&job->out, "{");
	put_label(&job->out, template->kind == KP_EXPORT_KERNEL ? "kernel" : "name",
		  kp_export_text_of(job->events, template, KP_EXPORT_COLUMN_NAME));
	kp_out_text(&job->out, ",");
	if (operator_name) {
		put_label(&job->out, "operator", operator_name);
		kp_out_text(&job->out, ",");
	}
	if (template->written_out)
		kp_out_text(&job->out, "written_out=\"true\",");
	if (!template->valid) {
		put_label(&job->out, "timing",
			  kp_export_text_of(job->events, template, KP_EXPORT_COLUMN_TIMING));
		kp_out_text(&job->out, ",");
	}
	if (template->has >> KP_EXPORT_COLUMN_DEVICE & 1U)
		kp_out_print(&job->out, "gpu=\"%" PRIu64 "\",",
			     template->cells[KP_EXPORT_COLUMN_DEVICE]);
	put_process_labels(job, template->process,
			   kp_export_text_of(job->events, template, KP_EXPORT_COLUMN_HOST),
			   kp_export_text_of(job->events, template, KP_EXPORT_COLUMN_RANK));
	kp_out_text(&job->out, "} ");
}

static void put_head(struct kp_out *out, const char *name, const char *unit, const char *help)
{
	kp_out_print(out, "# TYPE %s counter\n", name);
	if (unit)
		kp_out_print(out, "# UNIT %s %s\n", name, unit);
	kp_out_print(out, "# HELP %s %s\n", name, help);
}

static void put_family(struct kp_export *job, const struct family *family,
		       const struct kp_export_group *groups, size_t count)
{
	put_head(&job->out, family->name, family->unit, family->help);
	for (size_t i = 0; i < count; i++) {
		const struct kp_export_template *template = groups[i].template;
		const struct kp_export_total *total = &groups[i].total;

		if ((template->kind == KP_EXPORT_KERNEL) != family->kernels ||
		    template->valid != family->valid)
			continue;
		kp_out_print(&job->out, "%s_total", family->name);
		put_labels(job, template);
		if (family->value == TIME)
			kp_out_print(&job->out, "%" PRIu64 ".%09" PRIu64 "\n",
				     total->total_ns / 1000000000, total->total_ns % 1000000000);
		else
			kp_out_print(&job->out, "%" PRIu64 "\n",
				     family->value == BYTES ? total->bytes : total->events);
	}
}

/* What hardware counters counted. */
static void put_counters(struct kp_export *job, const struct kp_export_totals *totals)
{
	put_head(&job->out, "kprof_hardware_counter", NULL,
		 "Sums of the samples of hardware counters.");
	for (uint32_t i = 0; i < totals->count; i++) {
		const struct kp_export_template *template =
			kp_export_events_template(job->events, i);

		if (template->kind != KP_EXPORT_COUNTER || !template->valid)
			continue;
		kp_out_text(&job->out, "kprof_hardware_counter_total");
		put_labels(job, template);
		kp_out_print(&job->out, "%" PRIu64 "\n", totals->list[i].value);
	}
}

static void put_count(struct kp_export *job, const struct kp_process *process, const char *name,
		      uint64_t value)
{
	kp_out_print(&job->out, "kprof_%s_total{", name);
	put_process_labels(job, process, NULL, NULL);
	kp_out_print(&job->out, "} %" PRIu64 "\n", value);
}

/* Launches that damage took: no count of the process's has them. */
static void put_lost(struct kp_export *job, const struct kp_export_totals *totals)
{
	struct kp_reader *reader = kp_export_events_reader(job->events);

	put_head(&job->out, "kprof_kernels_lost", NULL,
		 "Launches in parts of the trace that cannot be read, as far as that is known.");
	for (size_t i = 0; i < kp_reader_process_count(reader); i++) {
		const struct kp_process *process = kp_reader_process(reader, i);
		uint64_t kernels = 0;

		for (uint32_t k = 0; k < totals->count; k++) {
			const struct kp_export_template *template =
				kp_export_events_template(job->events, k);

			if (template->kind == KP_EXPORT_KERNEL && template->process == process)
				kernels += totals->list[k].events;
		}
		put_count(job, process, "kernels_lost", kp_losses_lost(process, kernels));
	}
}

/* How complete the trace is: what is not known has no line. */
static void put_counts(struct kp_export *job, const struct kp_export_totals *totals)
{
	struct kp_reader *reader = kp_export_events_reader(job->events);
	size_t count = kp_reader_process_count(reader);

#define FAMILY(field, help)                                                                        \
	put_head(&job->out, "kprof_" #field, NULL, help);                                          \
	for (size_t i = 0; i < count; i++) {                                                       \
		const struct kp_process *process = kp_reader_process(reader, i);                   \
                                                                                                   \
		if (KP_HAS(&process->counts, COUNTS, field))                                       \
			put_count(job, process, #field, process->counts.field);                    \
	}
	COUNTS(FAMILY)
#undef FAMILY
	put_lost(job, totals);
}

enum kp_status kp_export_openmetrics(struct kp_export *job)
{
	struct kp_export_totals totals;
	struct kp_export_group *groups = NULL;
	size_t count = 0;
	enum kp_status status = kp_export_totals_read(job->events, &totals);

	if (status == KP_OK)
		status = kp_export_totals_group(&totals, job->events, &groups, &count);
	for (size_t i = 0; status == KP_OK && i < sizeof families / sizeof *families; i++)
		put_family(job, &families[i], groups, count);
	if (status == KP_OK) {
		put_counters(job, &totals);
		put_counts(job, &totals);
		kp_out_text(&job->out, "# EOF\n");
	}
	free(groups);
	kp_export_totals_fini(&totals);
	return status;
}
