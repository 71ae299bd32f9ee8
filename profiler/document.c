/* The document kprof.report/v1; see document.h. Pure: walks a report, writes through an emitter. */
#include "profiler/document.h"

#include <inttypes.h>
#include <math.h>

#include "analyzers/ids.h"
#include "profiler/clocks.h"
#include "profiler/fates.h"
#include "profiler/fields.h"
#include "profiler/findings.h"
#include "profiler/gating.h"
#include "profiler/print_fusion.h"
#include "profiler/print_ranges.h"
#include "profiler/print_ranks.h"
#include "profiler/shapes.h"
#include "profiler/traffic.h"

#define EMIT_FIELD(emit, record, RECORD, type, name)                                               \
	do {                                                                                       \
		if (KP_HAS(record, RECORD, name))                                                  \
			EMIT_##type(emit, #name, (record)->name);                                  \
		else                                                                               \
			kp_emit_null(emit, #name);                                                 \
	} while (0);
#define EMIT_U64(emit, key, value) kp_emit_count(emit, key, value)
#define EMIT_TEXT(emit, key, value) kp_emit_text(emit, key, value)

void kp_document_process(struct kp_emit *emit, const struct kp_process *process)
{
	const struct kp_process_info *info = &process->info;
	char id[24];

	snprintf(id, sizeof id, "%016" PRIx64, process->id);
	kp_emit_string(emit, "id", id);
#define FIELD(key, type, name) EMIT_FIELD(emit, info, PROCESS, type, name)
	KP_PROCESS_FIELDS(FIELD)
#undef FIELD
	kp_emit_bool(emit, "ended", process->end.has != 0);
}

void kp_document_device(struct kp_emit *emit, const struct kp_device_info *device)
{
#define FIELD(key, type, name) EMIT_FIELD(emit, device, DEVICE, type, name)
	KP_DEVICE_FIELDS(FIELD)
#undef FIELD
}

void kp_document_window(struct kp_emit *emit, const struct kp_window_info *window)
{
#define FIELD(key, type, name) EMIT_FIELD(emit, window, WINDOW, type, name)
	KP_WINDOW_FIELDS(FIELD)
#undef FIELD
}

void kp_document_counts(struct kp_emit *emit, const struct kp_counts *counts)
{
	kp_emit_map_begin(emit, "counts");
#define FIELD(key, type, name) EMIT_FIELD(emit, counts, COUNTS, type, name)
	KP_COUNTS_FIELDS(FIELD)
#undef FIELD
	kp_emit_map_end(emit);
}

static void emit_metrics(struct kp_emit *emit, const struct kp_counters_info *counters)
{
	struct kp_metric_line lines[KP_SAMPLE_VALUES];
	size_t count = 0;

	if (KP_HAS(counters, COUNTERS, metrics))
		count = kp_metrics_parse(&counters->metrics, lines);
	kp_emit_list_begin(emit, "metrics");
	for (size_t i = 0; i < count; i++) {
		const struct kp_metric_line *line = &lines[i];

		kp_emit_map_begin(emit, NULL);
		kp_emit_text(emit, "key", (struct kp_text){line->key, line->key_length});
		kp_emit_text(emit, "source", (struct kp_text){line->source, line->source_length});
		kp_emit_text(emit, "unit", (struct kp_text){line->unit, line->unit_length});
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

/* Every field but the metrics, which are a list. */
void kp_document_counters(struct kp_emit *emit, const struct kp_counters_info *counters)
{
#define FIELD(key, type, name)                                                                     \
	if (KP_COUNTERS_##name == KP_COUNTERS_metrics)                                             \
		emit_metrics(emit, counters);                                                      \
	else                                                                                       \
		EMIT_FIELD(emit, counters, COUNTERS, type, name)
	KP_COUNTERS_FIELDS(FIELD)
#undef FIELD
}

void kp_document_damage(struct kp_emit *emit, const struct kp_damage *damage)
{
	kp_emit_map_begin(emit, "damage");
	kp_emit_bool(emit, "truncated", damage->torn_tail);
	kp_emit_count(emit, "damaged_chunks", damage->damaged_chunks);
	kp_emit_count(emit, "damaged_bytes", damage->damaged_bytes);
	kp_emit_count(emit, "missing_chunks", damage->missing_chunks);
	kp_emit_count(emit, "repeated_chunks", damage->repeated_chunks);
	kp_emit_count(emit, "unknown_chunks", damage->unknown_chunks);
	kp_emit_count(emit, "lost_launches", damage->lost_launches);
	kp_emit_map_end(emit);
}

enum kp_status kp_document_begin(FILE *file, enum kp_format format, const char *schema,
				 struct kp_emit **out)
{
	enum kp_status status = format == KP_FORMAT_JSON ? kp_emit_json_create(file, out)
							 : kp_emit_yaml_create(file, out);

	if (status != KP_OK)
		return status;
	kp_emit_map_begin(*out, NULL);
	kp_emit_string(*out, "schema", schema);
	kp_emit_string(*out, "kprof_version", KPROF_VERSION);
	return KP_OK;
}

static void emit_counts(struct kp_emit *emit, const struct kp_report *report)
{
	const struct kp_report_counts *counts = &report->counts;

	kp_emit_map_begin(emit, "counts");
	kp_emit_count(emit, "kernels", counts->kernels);
	kp_emit_count(emit, "kernels_timed", counts->kernels_timed);
	kp_emit_count(emit, "kernels_untimed", counts->kernels_untimed);
	kp_emit_count(emit, "kernels_invalid", counts->kernels_invalid);
	kp_emit_count(emit, "kernels_in_graphs", counts->graph_kernels);
	kp_emit_count(emit, "kernels_unwritten", counts->unwritten);
	kp_emit_count(emit, "kernels_lost", counts->lost);
	kp_emit_count(emit, "kernels_displaced", counts->displaced);
	if (counts->dropped_known)
		kp_emit_count(emit, "records_dropped", counts->dropped);
	else
		kp_emit_null(emit, "records_dropped");
	kp_emit_count(emit, "records_dropped_at_least", counts->dropped);
	kp_emit_count(emit, "records_unknown", counts->unknown_records);
	kp_emit_count(emit, "kernels_filtered", counts->filtered);
	kp_emit_count(emit, "kernels_out_of_window", counts->out_of_window);
	kp_emit_count(emit, "nvtx_ranges", report->range_count);
	kp_emit_count(emit, "processes_refused", counts->processes_refused);
	kp_emit_count(emit, "processes_untraced", counts->processes_untraced);
	kp_emit_count(emit, "processes_unfinished", counts->processes_unfinished);
	kp_emit_map_end(emit);
	kp_document_damage(emit, &counts->damage);
}

/* Null where everything was recorded from start to end. */
static void emit_windows(struct kp_emit *emit, const struct kp_report *report)
{
	const struct kp_report_windows *windows = &report->windows;
	const struct kp_estimate *time = &windows->kernel_time;

	if (!windows->any) {
		kp_emit_null(emit, "windows");
		return;
	}
	kp_emit_map_begin(emit, "windows");
	kp_emit_count(emit, "count", windows->count);
	kp_emit_number(emit, "inside_ns", windows->inside_ns, 0);
	kp_emit_number(emit, "whole_ns", windows->whole_ns, 0);
	kp_emit_bool(emit, "sampled", windows->sampled);
	kp_emit_bool(emit, "scaled", windows->scaled);
	kp_emit_number(emit, "kernel_time_ns_estimated", windows->scaled ? time->total_ns : NAN, 0);
	kp_emit_number(emit, "kernel_time_ns_ci95", windows->scaled ? time->total_ci95_ns : NAN, 0);
	kp_emit_number(emit, "kernel_time_ns_estimated_by_time",
		       windows->scaled ? time->total_by_time_ns : NAN, 0);
	kp_emit_map_end(emit);
}

/* Null where it was not asked for. */
static void emit_host(struct kp_emit *emit, const struct kp_report *report)
{
	const struct kp_report_host *host = &report->host;

	if (!host->any) {
		kp_emit_null(emit, "host");
		return;
	}
	kp_emit_map_begin(emit, "host");
	kp_emit_count(emit, "launch_calls", host->calls);
	kp_emit_count(emit, "graph_launch_calls", host->graph_calls);
	kp_emit_count(emit, "launch_calls_tied", host->calls_tied);
	kp_emit_count(emit, "launch_calls_lost", host->calls_lost);
	kp_emit_count(emit, "launch_calls_unwritten", host->calls_unwritten);
	kp_emit_count(emit, "kernels_tied", host->kernels_tied);
	kp_emit_count(emit, "kernels_untied", host->kernels_untied);
	kp_emit_count(emit, "launch_call_total_ns", host->call.total_ns);
	kp_emit_number(emit, "launch_call_median_ns", host->call.timed ? host->call.median_ns : NAN,
		       3);
	kp_emit_number(emit, "launch_call_p99_ns", host->call.timed ? host->call_p99_ns : NAN, 3);
	kp_emit_list_begin(emit, "threads");
	for (size_t i = 0; i < host->thread_count; i++) {
		const struct kp_host_thread *thread = &host->threads[i];
		kp_emit_map_begin(emit, NULL);
		kp_emit_count(emit, "process", thread->process->index);
		kp_emit_count(emit, "thread", thread->thread);
		kp_emit_count(emit, "launch_calls", thread->calls);
		kp_emit_count(emit, "launch_call_total_ns", thread->total_ns);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
	kp_emit_map_end(emit);
}

static void emit_gpus(struct kp_emit *emit, const struct kp_report *report)
{
	static const struct kp_device_info undescribed;

	kp_emit_list_begin(emit, "gpus");
	for (size_t i = 0; i < report->gpu_count; i++) {
		const struct kp_gpu_row *gpu = &report->gpus[i];
		struct kp_device_info device = gpu->info ? *gpu->info : undescribed;
		KP_SET(&device, DEVICE, device, gpu->device);
		kp_emit_map_begin(emit, NULL);
		kp_document_device(emit, &device);
		kp_emit_count(emit, "kernels", gpu->kernels);
		kp_emit_count(emit, "kernel_time_ns", gpu->kernel_ns);
		kp_emit_count(emit, "busy_time_ns", gpu->busy_ns);
		kp_emit_count(emit, "span_ns", gpu->span_ns);
		kp_clocks_emit(emit, &gpu->clocks);
		kp_traffic_emit_gpu(emit, gpu);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_processes(struct kp_emit *emit, const struct kp_report *report)
{
	kp_emit_list_begin(emit, "processes");
	for (size_t i = 0; i < report->process_count; i++) {
		const struct kp_process_row *row = &report->processes[i];
		kp_emit_map_begin(emit, NULL);
		kp_document_process(emit, row->process);
		kp_emit_count(emit, "kernels", row->kernels);
		kp_emit_count(emit, "kernel_time_ns", row->kernel_ns);
		kp_emit_count(emit, "busy_time_ns", row->busy_ns);
		kp_emit_count(emit, "others_time_ns", row->others_ns);
		if (row->missing_known)
			kp_emit_count(emit, "kernels_missing", row->missing);
		else
			kp_emit_null(emit, "kernels_missing");
		kp_emit_string(emit, "fate", kp_fate_key(row->fate));
		if (row->reason.length)
			kp_emit_text(emit, "reason", row->reason);
		else
			kp_emit_null(emit, "reason");
		kp_emit_list_begin(emit, "gpus");
		for (size_t k = 0; k < row->gpu_count; k++)
			kp_emit_count(emit, NULL, row->gpus[k]);
		kp_emit_list_end(emit);
		kp_document_counts(emit, &row->process->counts);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_variants(struct kp_emit *emit, const struct kp_report *report,
			  const struct kp_operator_row *operator)
{
	kp_emit_list_begin(emit, "variants");
	for (size_t i = 0; i < operator->variant_count; i++) {
		const struct kp_variant_row *row = &report->variants[operator->first_variant + i];

		kp_emit_map_begin(emit, NULL);
		kp_fields_emit(emit, &kp_variant_fields, row);
		if (report->windows.scaled)
			kp_fields_emit(emit, &kp_variant_estimate_fields, row);
		kp_emit_count(emit, "distinct_kernels", row->kernel_count);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_ranking(struct kp_emit *emit, const struct kp_report *report)
{
	kp_emit_list_begin(emit, "operators");
	for (size_t i = 0; i < report->operator_count; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "id", kp_id_of_operator(&report->operators[i]));
		kp_fields_emit(emit, &kp_operator_fields, &report->operators[i]);
		if (report->windows.scaled)
			kp_fields_emit(emit, &kp_operator_estimate_fields, &report->operators[i]);
		if (report->host.any) {
			kp_fields_emit(emit, &kp_operator_call_fields, &report->operators[i]);
			kp_fields_emit(emit, &kp_operator_queue_fields, &report->operators[i]);
		}
		if (report->traffic.any)
			kp_traffic_emit(emit, &report->operators[i].traffic);
		kp_emit_count(emit, "distinct_kernels", report->operators[i].kernel_count);
		kp_shapes_emit(emit, report, report->operators[i].stability);
		emit_variants(emit, report, &report->operators[i]);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
	kp_emit_list_begin(emit, "kernels");
	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *kernel = &report->kernels[report->kernels_by_time[i]];
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "operator", report->operators[kernel->operator_index].name);
		kp_emit_string(emit, "id", kp_id_of_kernel(kernel).text);
		kp_fields_emit(emit, &kp_kernel_fields, kernel);
		if (report->windows.scaled)
			kp_fields_emit(emit, &kp_kernel_estimate_fields, kernel);
		if (report->host.any) {
			kp_fields_emit(emit, &kp_kernel_call_fields, kernel);
			kp_fields_emit(emit, &kp_kernel_queue_fields, kernel);
		}
		if (report->traffic.any) {
			kp_traffic_emit(emit, &kernel->traffic);
			kp_traffic_emit_shapes(emit, kernel);
		}
		kp_shapes_emit(emit, NULL, kernel->stability);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
	kp_emit_list_begin(emit, "memory_operations");
	for (size_t i = 0; i < report->memop_count; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_fields_emit(emit, &kp_memop_fields, &report->memops[i]);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

enum kp_status kp_document_report(FILE *file, const struct kp_report *report, enum kp_format format)
{
	struct kp_emit *emit;
	enum kp_status status = kp_document_begin(file, format, "kprof.report/v1", &emit);

	if (status != KP_OK)
		return status;
	kp_emit_number(emit, "threshold_pct", report->options.threshold_pct, 1);
	kp_emit_number(emit, "min_gain_pct", report->options.findings.min_gain_pct, 1);
	kp_emit_map_begin(emit, "totals");
	kp_emit_count(emit, "kernel_time_ns", report->kernel_ns);
	kp_emit_count(emit, "busy_time_ns", report->busy_ns);
	kp_emit_count(emit, "span_ns", report->span_ns);
	kp_emit_map_end(emit);
	emit_counts(emit, report);
	emit_windows(emit, report);
	emit_host(emit, report);
	kp_shapes_emit_calls(emit, report);
	emit_gpus(emit, report);
	emit_processes(emit, report);
	kp_document_ranks(emit, report);
	kp_document_timeline(emit, report);
	kp_document_fusion(emit, report);
	kp_document_ranges(emit, report);
	emit_ranking(emit, report);
	kp_document_findings(emit, report);
	if (report->traffic.absent.length)
		kp_emit_text(emit, "traffic_absent", report->traffic.absent);
	else
		kp_emit_null(emit, "traffic_absent");
	kp_emit_string(emit, "advice", report->advice);
	kp_gating_emit(emit, report->gates, report->gate_count);
	kp_emit_map_end(emit);
	return kp_emit_finish(emit);
}
