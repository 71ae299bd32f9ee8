/* kprof plan: what it is worth to make an operator faster. */
#include "profiler/commands.h"
#include "profiler/open.h"
#include "profiler/open_ab.h"
#include "profiler/output.h"
#include "profiler/plan_options.h"
#include "profiler/print_plan.h"
#include "profiler/ranking.h"
#include "profiler/say.h"

static bool write_plan(struct kp_plan_view *view, const struct kp_settings *settings,
		       enum kp_format format)
{
	struct kp_output output;
	enum kp_status status = KP_OK;

	if (!kp_output_open(&output, settings->output))
		return false;
	view->view = kp_view_of(settings, output.file);
	if (format == KP_FORMAT_TEXT)
		kp_plan_print_text(kp_output_text(&output), view);
	else if (format == KP_FORMAT_MARKDOWN)
		status = kp_plan_print_markdown(output.file, view);
	else
		status = kp_plan_print_document(output.file, view, format);
	bool written = kp_output_close(&output);
	if (status != KP_OK)
		kp_fail("cannot write the plan: %s", kp_status_message(status));
	return written && status == KP_OK;
}

/* Plans by a report that stands. */
static bool plan(const struct kp_report *report, const struct kp_plan_inputs *inputs,
		 const struct kp_settings *settings, enum kp_format format)
{
	char error[KP_PLAN_ERROR_BYTES];
	struct kp_plan *made;
	enum kp_status status = kp_plan_build(report, inputs, &made, error);

	if (status != KP_OK) {
		kp_fail("%s", status == KP_INVALID ? error : kp_status_message(status));
		return false;
	}
	struct kp_plan_view view = {
		.report = report,
		.inputs = inputs,
		.plan = made,
		.currency = settings->plan.currency,
	};
	bool done = write_plan(&view, settings, format);
	kp_plan_destroy(made);
	return done;
}

/* The report that a plan needs: shares of the span, and ranges counted. */
static bool read_and_plan(const struct kp_plan_inputs *inputs, const struct kp_settings *settings,
			  enum kp_format format)
{
	struct kp_settings wanted = *settings;
	struct kp_reader *reader =
		kp_open_traces((const char *const *)settings->operands, settings->operand_count);

	if (!reader)
		return false;
	wanted.shares = true;
	wanted.iterations = inputs->unit_range;
	struct kp_report *report = kp_ranking_build(reader, &wanted, KP_FORMAT_TEXT);
	bool done = report && plan(report, inputs, settings, format);
	if (report)
		kp_report_destroy(report);
	kp_reader_close(reader);
	return done;
}

/* What a report of kprof ab allows to plan by; false after saying why it does not. */
static bool take_measured(const char *path, const struct kp_ab_saved *ab,
			  struct kp_plan_measured *out)
{
	const struct kp_ab_saved_time *end = &ab->end;

	for (size_t i = 0; i < ab->rule_count; i++)
		if (ab->rules[i].wrong) {
			kp_fail("--ab %s: results of %s were wrong: nothing to plan by", path,
				ab->rules[i].name);
			return false;
		}
	if (end->verdict != KP_AB_VERDICT_FASTER || !(end->high_pct < 0)) {
		kp_fail("--ab %s: end to end the verdict is «%s»: nothing to plan by", path,
			kp_ab_verdict_name(end->verdict));
		return false;
	}
	if (!(end->low_pct > -100 && end->low_pct <= end->change_pct &&
	      end->change_pct <= end->high_pct)) {
		kp_fail("--ab %s: its change of %g %% (%g to %g %%) cannot be", path,
			end->change_pct, end->low_pct, end->high_pct);
		return false;
	}
	*out = (struct kp_plan_measured){
		.speedup = kp_ab_speedup(end->change_pct),
		.least = kp_ab_speedup(end->high_pct),
		.most = kp_ab_speedup(end->low_pct),
		.pairs = end->pairs,
	};
	return true;
}

static bool read_measured(const char *path, struct kp_plan_inputs *inputs)
{
	struct kp_ab_saved ab;
	bool done = kp_open_ab(path, &ab) && take_measured(path, &ab, &inputs->measured);

	kp_ab_saved_fini(&ab);
	return done;
}

int kp_cmd_plan(const struct kp_settings *settings)
{
	enum kp_format format = kp_ranking_format(settings);
	struct kp_plan_inputs inputs;

	if (format > KP_FORMAT_MARKDOWN)
		return kp_fail("a plan is text, YAML, JSON or Markdown; choose one with --format");
	bool done = kp_plan_options(&settings->plan, &inputs) &&
		    (!settings->plan.ab || read_measured(settings->plan.ab, &inputs)) &&
		    read_and_plan(&inputs, settings, format);
	kp_plan_options_free(&inputs);
	return done ? 0 : KP_EXIT_FAILURE;
}
