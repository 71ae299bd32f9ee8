/* kprof report: ranks traces; and the way from a trace to a report, which kprof run takes too. */
#include "profiler/ranking.h"

#include "profiler/ceilings_cache.h"
#include "profiler/commands.h"
#include "profiler/gating.h"
#include "profiler/open.h"
#include "profiler/output.h"
#include "profiler/part_options.h"
#include "profiler/print.h"
#include "profiler/progress.h"
#include "profiler/rules.h"
#include "profiler/say.h"

bool kp_ranking_write(const struct kp_report *report, const struct kp_settings *settings,
		      enum kp_format format, const char *path)
{
	struct kp_output output;

	if (!kp_output_open(&output, path))
		return false;
	struct kp_view view = kp_view_of(settings, output.file);
	FILE *file = format == KP_FORMAT_TEXT ? kp_output_text(&output) : output.file;
	enum kp_status status = kp_print_report(file, report, format, &view);
	bool written = kp_output_close(&output);
	if (status != KP_OK)
		kp_fail("cannot write the report: %s", kp_status_message(status));
	return written && status == KP_OK;
}

struct kp_report *kp_ranking_build(struct kp_reader *reader, const struct kp_settings *settings,
				   enum kp_format format)
{
	struct kp_report_options options = kp_view_analysis(settings, format);
	struct kp_ceilings_cache cache = {0};
	const struct kp_ceilings_finder finder = {kp_ceilings_cache_answer, &cache};
	struct kp_operators *operators;
	struct kp_report *report = NULL;
	enum kp_status status;

	if (!kp_rules_open(settings, &operators))
		return NULL;
	options.operators = operators;

	/* Without a cache, or with a broken one, datasheets stand in for it. */
	if (kp_ceilings_load(NULL, &cache) == KP_OK)
		options.ceilings = &finder;
	struct kp_progress progress = kp_progress_begin();
	options.progress = kp_progress_at;
	options.progress_context = &progress;
	status = kp_report_build(reader, &options, &report);
	kp_progress_end(&progress);
	kp_ceilings_cache_fini(&cache);
	kp_operators_destroy(operators);
	if (status != KP_OK)
		kp_fail("cannot analyse the trace: %s", kp_status_message(status));
	return status == KP_OK ? report : NULL;
}

enum kp_format kp_ranking_format(const struct kp_settings *settings)
{
	int by_extension = settings->output ? kp_format_of_path(settings->output) : -1;

	if (settings->format >= 0)
		return (enum kp_format)settings->format;
	return by_extension >= 0 ? (enum kp_format)by_extension : KP_FORMAT_TEXT;
}

/* CSV is one table: options that ask for two are refused. */
static bool is_one_table(const struct kp_settings *settings)
{
	const struct {
		const char *option;
		bool wanted;
	} tables[] = {
		{"--iterations", settings->iterations != NULL},
		{"--fusion", settings->fusion},
		{"--shapes", settings->shapes},
		{"--gaps", settings->gaps},
		{"--by range", settings->by == KP_BY_RANGE},
		{"--by process", settings->by == KP_BY_PROCESS},
	};
	const char *first = NULL;

	if (kp_ranking_format(settings) != KP_FORMAT_CSV)
		return true;
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		if (tables[i].wanted && first) {
			kp_fail("CSV holds one table: either %s or %s", first, tables[i].option);
			return false;
		}
		if (tables[i].wanted)
			first = tables[i].option;
	}
	return true;
}

/* Iterations were asked for by a range that the trace has. */
static bool has_iterations(const struct kp_report *report, const struct kp_settings *settings)
{
	const struct kp_timeline *timeline = report->timeline;

	if (!timeline || !timeline->range || timeline->iteration_count || timeline->ranges_found)
		return true;
	kp_fail("--iterations %s: the trace has no such NVTX range; kprof report --by range lists "
		"them",
		settings->iterations);
	return false;
}

/* Builds, judges, writes; returns the exit status. */
static int report_on(struct kp_reader *reader, const struct kp_settings *settings,
		     const struct kp_gating *gating)
{
	enum kp_format format = kp_ranking_format(settings);
	struct kp_report *report = kp_ranking_build(reader, settings, format);
	int status = KP_EXIT_FAILURE;

	if (report && has_iterations(report, settings) && kp_gating_judge_report(gating, report) &&
	    kp_ranking_write(report, settings, format, settings->output)) {
		const struct kp_gate_suite suite = {settings->operands[0], report->gates,
						    report->gate_count};

		status = kp_gating_conclude(settings, "report", &suite, 1);
	}
	kp_report_destroy(report);
	return status;
}

int kp_cmd_report(const struct kp_settings *settings)
{
	struct kp_gating gating;
	struct kp_part part = {0};
	struct kp_reader *reader;
	int status = KP_EXIT_FAILURE;

	if (!is_one_table(settings) || !kp_gating_open(settings, KP_GATE_REPORT, &gating))
		return KP_EXIT_FAILURE;
	reader = kp_open_traces((const char *const *)settings->operands, settings->operand_count);
	if (reader && kp_part_select(reader, settings, &part))
		status = report_on(reader, settings, &gating);
	kp_reader_close(reader);
	kp_part_fini(&part);
	kp_gating_close(&gating);
	return status;
}
