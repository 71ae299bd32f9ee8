/* A plan as kprof.plan/v1; see print_plan.h. docs/plan.md explains every key. */
#include <math.h>

#include "analyzers/ids.h"
#include "profiler/document.h"
#include "profiler/fields.h"
#include "profiler/plan_rows.h"
#include "profiler/print_plan.h"

/* null where it was not given. */
static void emit_given(struct kp_emit *emit, const char *key, double value, int decimals)
{
	kp_emit_number(emit, key, value > 0 ? value : NAN, decimals);
}

static void emit_inputs(struct kp_emit *emit, const struct kp_plan_view *view)
{
	const struct kp_plan_fleet *fleet = &view->plan->fleet;

	kp_emit_map_begin(emit, "inputs");
	kp_emit_number(emit, "realistic_pct", view->inputs->realistic_pct, 2);
	emit_given(emit, "gpus", fleet->gpus, 0);
	emit_given(emit, "gpu_price", fleet->gpu_price, 2);
	emit_given(emit, "gpu_hour", fleet->gpu_hour, 6);
	kp_emit_number(emit, "hours_per_year", fleet->hours_per_year, 2);
	emit_given(emit, "gpu_watts", fleet->gpu_watts, 3);
	kp_emit_string(emit, "gpu_watts_source",
		       view->plan->watts_measured ? "measured"
		       : fleet->gpu_watts > 0     ? "given"
						  : NULL);
	emit_given(emit, "kwh_price", fleet->kwh_price, 6);
	emit_given(emit, "engineer_week_price", fleet->engineer_week, 2);
	emit_given(emit, "tokens_per_s", fleet->units_per_s[KP_PLAN_UNIT_TOKENS], 6);
	emit_given(emit, "requests_per_s", fleet->units_per_s[KP_PLAN_UNIT_REQUESTS], 6);
	kp_emit_string(emit, "unit_range", view->inputs->unit_range);
	kp_emit_string(emit, "unit",
		       view->inputs->unit_range ? kp_plan_unit_key(view->inputs->unit) : NULL);
	emit_given(emit, "units_per_range",
		   view->inputs->unit_range ? view->inputs->units_per_range : NAN, 6);
	kp_emit_map_end(emit);
}

static void emit_now(struct kp_emit *emit, const struct kp_plan_view *view)
{
	const struct kp_report *report = view->report;
	const struct kp_plan_now *now = &view->plan->now;

	kp_emit_map_begin(emit, "now");
	kp_emit_count(emit, "gpus_in_trace", report->gpu_count);
	kp_emit_count(emit, "wall_time_ns", report->span_ns);
	kp_emit_count(emit, "busy_time_ns", report->busy_ns);
	kp_emit_number(emit, "busy_pct", view->plan->busy_pct, 4);
	if (view->inputs->unit_range)
		kp_emit_count(emit, "unit_ranges", view->plan->units_counted);
	else
		kp_emit_null(emit, "unit_ranges");
	kp_emit_number(emit, "tokens_per_s_per_gpu", now->units_per_s_per_gpu[KP_PLAN_UNIT_TOKENS],
		       4);
	kp_emit_number(emit, "cost_per_million_tokens", now->cost_per_million[KP_PLAN_UNIT_TOKENS],
		       6);
	kp_emit_number(emit, "requests_per_s_per_gpu",
		       now->units_per_s_per_gpu[KP_PLAN_UNIT_REQUESTS], 4);
	kp_emit_number(emit, "cost_per_million_requests",
		       now->cost_per_million[KP_PLAN_UNIT_REQUESTS], 6);
	kp_emit_map_end(emit);
}

static void emit_outcomes(struct kp_emit *emit, const struct kp_plan_column *columns, size_t count)
{
	kp_emit_list_begin(emit, "outcomes");
	for (size_t i = 0; i < count; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "level", columns[i].key);
		for (const struct kp_figure *figure = kp_figures; figure->key; figure++)
			kp_emit_number(emit, figure->key, kp_figure_of(figure, columns[i].outcome),
				       figure->decimals);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_sentences(struct kp_emit *emit, const char *key, const char *const *sentences,
			   size_t count)
{
	kp_emit_list_begin(emit, key);
	for (size_t i = 0; i < count; i++)
		kp_emit_string(emit, NULL, sentences[i]);
	kp_emit_list_end(emit);
}

/* The kernel that takes most of the operator's time, and how it is launched. */
static void emit_kernel(struct kp_emit *emit, const struct kp_plan_card *card)
{
	const struct kp_kernel_row *kernel = card->kernel;

	if (!kernel) {
		kp_emit_null(emit, "kernel");
		return;
	}
	kp_emit_map_begin(emit, "kernel");
	kp_emit_string(emit, "id", kp_id_of_kernel(kernel).text);
	kp_emit_string(emit, "name", kernel->shortened);
	kp_emit_number(emit, "share_of_operator_pct", card->kernel_pct, 4);
	kp_fields_emit_triple(emit, "grid_blocks", kernel->grid);
	kp_fields_emit_triple(emit, "block_threads", kernel->block);
	kp_emit_count(emit, "launch_configurations", kernel->config_count);
	kp_emit_string(emit, "dtype", kernel->dtype);
	kp_emit_map_end(emit);
}

static void emit_time(struct kp_emit *emit, const struct kp_report *report,
		      const struct kp_plan_card *card)
{
	const struct kp_operator_row *row = card->row;
	static const char *const sources[] = {[KP_PLAN_SHARE_TRACE] = "trace",
					      [KP_PLAN_SHARE_GIVEN] = "given",
					      [KP_PLAN_SHARE_LEFT] = "left"};
	bool timed = row && row->durations.timed > 0;

	kp_emit_number(emit, "time_now_ns", timed ? (double)row->durations.total_ns : NAN, 0);
	kp_emit_number(emit, "time_now_ns_estimated",
		       timed && report->windows.scaled ? row->estimate.total_ns : NAN, 0);
	kp_emit_number(emit, "time_now_ns_ci95",
		       timed && report->windows.scaled ? row->estimate.total_ci95_ns : NAN, 0);
	kp_emit_number(emit, "exclusive_ns", row ? (double)row->alone_ns : NAN, 0);
	kp_emit_number(emit, "critical_path_ns", row ? (double)row->path_ns : NAN, 0);
	kp_emit_number(emit, "share_of_wall_time_pct", card->share_pct, 4);
	kp_emit_string(emit, "share_source", sources[card->share_source]);
}

static void emit_card(struct kp_emit *emit, const struct kp_plan_view *view,
		      const struct kp_plan_card *card)
{
	static const char *const goals[] = {[KP_PLAN_NO_GOAL] = NULL,
					    [KP_PLAN_GOAL_LIMIT] = "limit",
					    [KP_PLAN_GOAL_TARGET] = "target"};
	struct kp_plan_column columns[KP_PLAN_LEVELS];
	bool limited = isfinite(card->limit);

	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "operator", card->row ? card->name : NULL);
	kp_emit_string(emit, "id", card->row ? kp_id_of_operator(card->row) : KP_PLAN_WHOLE);
	emit_kernel(emit, card);
	emit_time(emit, view->report, card);
	kp_emit_number(emit, "limit_speed_up", card->limit, 4);
	kp_emit_number(emit, "speed_up_at_most", card->ceiling, 4);
	kp_emit_string(emit, "limit_source", kp_plan_limit_source(card));
	kp_emit_string(emit, "limited_by", limited ? kp_bound_name(card->limited_by) : NULL);
	kp_emit_string(emit, "at_most_by",
		       isfinite(card->ceiling) ? kp_bound_name(card->ceiling_by) : NULL);
	kp_emit_number(emit, "fewer_bytes", card->fewer_bytes, 4);
	kp_emit_number(emit, "fewer_launches", card->fewer_launches, 4);
	kp_emit_string(emit, "goal", goals[card->goal]);
	kp_emit_number(emit, "engineer_weeks", card->engineer_weeks, 2);
	kp_emit_number(emit, "effort_cost", card->effort_cost, 2);
	size_t count = kp_plan_columns(card, columns);
	emit_outcomes(emit, columns, count);
	emit_sentences(emit, "notes", card->notes, card->note_count);
	kp_emit_map_end(emit);
}

enum kp_status kp_plan_print_document(FILE *file, const struct kp_plan_view *view,
				      enum kp_format format)
{
	const struct kp_plan *plan = view->plan;
	struct kp_plan_column columns[KP_PLAN_LEVELS];
	struct kp_emit *emit;
	enum kp_status status = kp_document_begin(file, format, "kprof.plan/v1", &emit);

	if (status != KP_OK)
		return status;
	kp_emit_string(emit, "currency", view->currency);
	kp_emit_number(emit, "threshold_pct", view->report->options.threshold_pct, 1);
	emit_inputs(emit, view);
	emit_now(emit, view);
	kp_emit_list_begin(emit, "cards");
	for (size_t i = 0; i < plan->card_count; i++)
		emit_card(emit, view, &plan->cards[i]);
	kp_emit_list_end(emit);
	kp_emit_map_begin(emit, "together");
	kp_emit_count(emit, "operators", plan->together_count);
	size_t together = kp_plan_together(plan, columns);
	emit_outcomes(emit, columns, together);
	kp_emit_map_end(emit);
	emit_sentences(emit, "assumptions", plan->assumptions, plan->assumption_count);
	kp_emit_map_end(emit);
	return kp_emit_finish(emit);
}
