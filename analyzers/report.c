/* Building a report; see report.h for what it says and report_build.h for how. */
#include "analyzers/report.h"
#include "analyzers/report_passes.h"

#include <stdlib.h>

#include "analyzers/report_build.h"
#include "analyzers/report_calls.h"
#include "analyzers/report_counters.h"
#include "analyzers/report_fusion.h"
#include "analyzers/report_host_build.h"
#include "analyzers/report_ranges.h"
#include "analyzers/report_shapes.h"
#include "analyzers/report_timeline.h"

int kp_build_order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

double kp_build_part(const struct kp_builder *builder, uint32_t number)
{
	return number < builder->parts.count ? builder->parts.row_ns[number] : 0;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

struct kp_shares kp_build_shares(const struct kp_builder *builder, uint64_t total_ns,
				 double part_ns)
{
	const struct kp_report *report = builder->report;

	return (struct kp_shares){
		.kernel_pct = percent((double)total_ns, (double)report->kernel_ns),
		.busy_pct = percent(part_ns, (double)report->busy_ns),
		.span_pct = percent(part_ns, (double)report->span_ns),
	};
}

double kp_build_alone_pct(const struct kp_builder *builder, uint64_t alone_ns)
{
	return percent((double)alone_ns, (double)builder->report->span_ns);
}

static enum kp_status builder_init(struct kp_builder *builder, struct kp_reader *reader,
				   const struct kp_report_options *options)
{
	size_t processes = kp_reader_process_count(reader);

	*builder = (struct kp_builder){.reader = reader};
	builder->report = calloc(1, sizeof(*builder->report));
	builder->scratch = kp_arena_create();
	builder->processes = calloc(processes + 1, sizeof(*builder->processes));
	if (!builder->report || !builder->scratch || !builder->processes)
		return KP_NO_MEMORY;
	builder->report->options = *options;
	builder->passes = options->timeline && !options->no_iterations ? 2 : 1;
	builder->threads = options->threads ? options->threads : kp_relay_threads(reader);
	builder->report->arena = kp_arena_create();
	if (!builder->report->arena)
		return KP_NO_MEMORY;
	kp_build_boots(builder);
	kp_build_counters_begin(builder);
	builder->operators = options->operators;
	builder->report->options.operators = NULL; /* borrowed for the time of building */
	enum kp_status status = KP_OK;
	if (!builder->operators) {
		status = kp_operators_builtin(&builder->own_operators);
		builder->operators = builder->own_operators;
	}
	if (status == KP_OK)
		status = kp_build_labels(builder);
	if (status == KP_OK)
		status = kp_build_windows_begin(builder);
	if (status == KP_OK)
		status = kp_build_calls_begin(builder);
	if (status == KP_OK)
		status = kp_build_timeline_begin(builder);
	if (status == KP_OK)
		status = kp_build_fusion_begin(builder);
	if (status == KP_OK)
		status = kp_build_ranges_begin(builder);
	if (status == KP_OK)
		status = kp_build_ranks_begin(builder);
	return status == KP_OK ? kp_build_host_begin(builder) : status;
}

/* Frees all but the report. */
static void builder_fini(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);

	for (size_t i = 0; builder->processes && i < processes; i++)
		free(builder->processes[i].slots);
	for (size_t i = 0; i < builder->gpu_count; i++) {
		kp_sweep_destroy(builder->gpus[i].sweep);
		kp_build_counters_end(builder->gpus[i].counters);
	}
	kp_build_fusion_end(builder);
	kp_build_timeline_end(builder);
	kp_build_ranges_end(builder);
	kp_build_ranks_end(builder);
	kp_build_overview_end(builder);
	kp_build_uses_fini(builder);
	kp_build_windows_end(builder);
	kp_build_shapes_end(builder);
	kp_build_calls_end(builder);
	kp_build_host_end(builder);
	kp_build_clocks_fini(builder);
	kp_build_labels_fini(builder);
	kp_build_tally_end(builder);
	free(builder->processes);
	free(builder->gpus);
	free(builder->rows);
	free(builder->gpu_of_device);
	free(builder->traffic_operators);
	free(builder->traffic_classes);
	kp_intern_fini(&builder->devices);
	kp_intern_fini(&builder->gpu_keys);
	kp_sweep_parts_fini(&builder->parts);
	kp_operators_destroy(builder->own_operators);
	kp_arena_destroy(builder->scratch);
}

/* How far all passes are together. */
static enum kp_status tell_progress(void *context, struct kp_reader_place place)
{
	const struct kp_builder *builder = context;
	const struct kp_report_options *options = &builder->report->options;

	place.done += builder->pass * place.of;
	place.of *= builder->passes;
	return options->progress(options->progress_context, place);
}

enum kp_status kp_build_read(struct kp_builder *builder, struct kp_relay *relay)
{
	enum kp_status status;

	relay->reader = builder->reader;
	if (builder->report->options.progress)
		relay->progress = tell_progress;
	relay->progress_context = builder;
	status = kp_relay_run(relay, builder->threads);
	builder->pass++;
	return status;
}

static enum kp_status read_all(struct kp_builder *builder)
{
	struct kp_relay relay = {
		.context = builder,
		.takers = {kp_build_count, kp_build_follow, kp_build_tie},
		.taker_count = builder->host ? 2 : 3,
		.is_prepared = kp_build_is_prepared,
		.prepare = kp_build_prepare,
	};
	enum kp_status status = kp_build_read(builder, &relay);

	if (status != KP_OK)
		return status;
	kp_build_windows_finish(builder);
	status = kp_build_timeline_flush(builder);
	if (status == KP_OK)
		status = kp_build_calls_finish(builder);
	if (status != KP_OK)
		return status;
	status = kp_build_host_finish(builder);
	return status == KP_OK ? kp_build_ranges_finish(builder) : status;
}

enum kp_status kp_report_build(struct kp_reader *reader, const struct kp_report_options *options,
			       struct kp_report **out)
{
	struct kp_builder builder;
	enum kp_status status = builder_init(&builder, reader, options);

	if (status == KP_OK)
		status = read_all(&builder);
	if (status == KP_OK)
		status = kp_build_traffic_begin(&builder);
	if (status == KP_OK)
		status = kp_build_totals(&builder);
	if (status == KP_OK)
		status = kp_build_timeline_settle(&builder);
	if (status == KP_OK)
		status = kp_build_ranking(&builder);
	if (status == KP_OK)
		status = kp_build_fusion_put(&builder);
	if (status == KP_OK)
		status = kp_build_timeline_put(&builder);
	if (status == KP_OK)
		status = kp_build_ranges_put(&builder);
	if (status == KP_OK)
		status = kp_build_ranks_put(&builder);
	if (status == KP_OK)
		status = kp_build_overview_put(&builder);
	if (status == KP_OK)
		status = kp_build_findings(&builder);
	if (status == KP_OK) {
		builder.report->advice = kp_build_advice(builder.report);
		status = builder.report->advice ? KP_OK : KP_NO_MEMORY;
	}
	if (builder.report) { /* borrowed for the time of building */
		builder.report->options.ceilings = NULL;
		builder.report->options.progress = NULL;
		builder.report->options.progress_context = NULL;
	}
	builder_fini(&builder);
	if (status != KP_OK) {
		kp_report_destroy(builder.report);
		builder.report = NULL;
	}
	*out = builder.report;
	return status;
}

void kp_report_destroy(struct kp_report *report)
{
	if (!report)
		return;
	kp_arena_destroy(report->arena);
	free(report);
}
