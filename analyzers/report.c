/* Building a report; see report.h for what it says and report_build.h for how. */
#include "analyzers/report.h"
#include "analyzers/report_passes.h"

#include <stdlib.h>

#include "analyzers/along.h"
#include "analyzers/report_build.h"
#include "analyzers/report_calls.h"
#include "analyzers/report_clocks.h"
#include "analyzers/report_counters.h"
#include "analyzers/report_fusion.h"
#include "analyzers/report_host_build.h"
#include "analyzers/report_ranges.h"
#include "analyzers/report_shapes.h"
#include "analyzers/report_timeline.h"
#include "analyzers/report_trials.h"
#include "analyzers/report_written.h"

int kp_build_order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

double kp_build_part(const struct kp_builder *builder, uint32_t number)
{
	return number < builder->parts.count ? builder->parts.row_ns[number] : 0;
}

const struct kp_process *kp_build_process_at(const struct kp_builder *builder, size_t index)
{
	const struct kp_process *copy = builder->processes[index].copy;

	return copy ? copy : kp_reader_process(builder->reader, index);
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

static enum kp_status builder_init(struct kp_builder *builder,
				   const struct kp_report_options *options)
{
	struct kp_reader *reader = builder->reader;
	size_t processes = kp_reader_process_count(reader);

	builder->report = calloc(1, sizeof(*builder->report));
	builder->scratch = kp_arena_create();
	builder->processes = calloc(processes + 1, sizeof(*builder->processes));
	if (!builder->report || !builder->scratch || !builder->processes)
		return KP_NO_MEMORY;
	builder->report->options = *options;
	builder->passes =
		options->timeline && !options->no_iterations && !builder->guess->made ? 2 : 1;
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
		status = kp_build_trials_begin(builder);
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
	kp_build_trials_end(builder);
	kp_build_sequences_end(builder);
	kp_build_labels_fini(builder);
	kp_build_written_end(builder);
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
	relay->batches_most = builder->batches_most;
	kp_build_written_begin_reading(builder, relay);
	status = kp_relay_run(relay, builder->threads);
	builder->pass++;
	return status;
}

static enum kp_status read_all(struct kp_builder *builder)
{
	struct kp_relay relay = {
		.context = builder,
		.takers = {kp_build_count, kp_build_follow},
		.taker_count = 2,
		.is_prepared = kp_build_is_prepared,
		.prepare = kp_build_prepare,
	};
	enum kp_status status;

	if (!builder->host)
		relay.takers[relay.taker_count++] = kp_build_tie;
	if (builder->finder)
		relay.takers[relay.taker_count++] = kp_build_sequences_take;
	if (builder->timeline) {
		relay.behind[relay.taker_count] = 2; /* kp_build_follow */
		relay.takers[relay.taker_count++] = kp_along_take;
	}
	status = kp_build_read(builder, &relay);
	if (status != KP_OK)
		return status;
	kp_build_count_finish(builder);
	kp_build_windows_finish(builder);
	status = kp_build_timeline_flush(builder);
	if (status == KP_OK)
		status = kp_build_calls_finish(builder);
	if (status != KP_OK)
		return status;
	status = kp_build_host_finish(builder);
	return status == KP_OK ? kp_build_ranges_finish(builder) : status;
}

/* All that follows from what was read. */
static enum kp_status put_all(struct kp_builder *builder)
{
	static enum kp_status (*const steps[])(struct kp_builder * builder) = {
		kp_build_traffic_begin, kp_build_totals,     kp_build_timeline_settle,
		kp_build_ranking,       kp_build_wholes,     kp_build_fusion_put,
		kp_build_timeline_put,  kp_build_ranges_put, kp_build_ranks_put,
		kp_build_overview_put,  kp_build_findings,
	};
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
		status = steps[i](builder);
	if (status != KP_OK)
		return status;
	builder->report->advice = kp_build_advice(builder->report);
	return builder->report->advice ? KP_OK : KP_NO_MEMORY;
}

/* One report with what is guessed. *wrong: labels were others, which the guess now says; then there
 * is none. */
static enum kp_status build(struct kp_reader *reader, const struct kp_report_options *options,
			    struct kp_guess *guess, bool *wrong, struct kp_report **out)
{
	struct kp_builder builder = {.reader = reader, .guess = guess};
	enum kp_status status = builder_init(&builder, options);

	*wrong = false;
	if (status == KP_OK)
		status = read_all(&builder);
	if (status == KP_OK && guess->made && !guess->is_known)
		status = kp_build_sequences_check(&builder, guess, wrong);
	if (status == KP_OK && !*wrong)
		status = put_all(&builder);
	if (builder.report) { /* borrowed for the time of building */
		builder.report->options.ceilings = NULL;
		builder.report->options.progress = NULL;
		builder.report->options.progress_context = NULL;
	}
	builder_fini(&builder);
	if (status != KP_OK || *wrong) {
		kp_report_destroy(builder.report);
		builder.report = NULL;
	}
	*out = builder.report;
	return status;
}

/* Looks at the beginning of a large trace. */
static enum kp_status make_guess(struct kp_reader *reader, const struct kp_report_options *options,
				 struct kp_guess *guess)
{
	const struct kp_guess none = {0};
	const struct kp_report_options few = {
		.timeline = options->timeline && !options->no_iterations && !options->iterations,
		.no_fusion = true,
		.operators = options->operators,
		.threads = options->threads,
	};
	struct kp_builder sample = {.reader = reader, .guess = &none};
	enum kp_status status;

	sample.batches_most = kp_guess_batches(reader);
	if (!sample.batches_most)
		return KP_OK;
	status = builder_init(&sample, &few);
	if (status == KP_OK && few.timeline)
		status = kp_build_timeline_guess(&sample);
	if (status == KP_OK)
		status = kp_guess_take(guess, &sample);
	builder_fini(&sample);
	kp_report_destroy(sample.report);
	return status;
}

enum kp_status kp_report_build(struct kp_reader *reader, const struct kp_report_options *options,
			       struct kp_report **out)
{
	struct kp_guess guess = {0};
	enum kp_status status = make_guess(reader, options, &guess);
	bool wrong = status == KP_OK;

	*out = NULL;
	for (unsigned i = 0; status == KP_OK && wrong && i < 2; i++)
		status = build(reader, options, &guess, &wrong, out);
	kp_guess_fini(&guess);
	return status;
}

void kp_report_destroy(struct kp_report *report)
{
	if (!report)
		return;
	kp_arena_destroy(report->arena);
	free(report);
}
