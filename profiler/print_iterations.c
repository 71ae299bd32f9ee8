/* Iterations in detail: as tables of the text report, and as CSV; see print.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "analyzers/iterations.h"
#include "profiler/fields.h"
#include "profiler/humanise.h"
#include "profiler/print_timeline.h"
#include "profiler/style.h"
#include "profiler/text.h"

#define DIGITS 4
#define MAX_ROWS 16
#define INDENT 2
#define NAME_BYTES 400 /* of names in sentences; what is longer is cut */

static void print_spread(FILE *file, const struct kp_spread *spread, const char *what)
{
	kp_print_cell(file, kp_human_duration((double)spread->min, DIGITS), 8);
	kp_print_cell(file, kp_human_duration(spread->median, DIGITS), 8);
	kp_print_cell(file, kp_human_duration(spread->p90, DIGITS), 8);
	kp_print_cell(file, kp_human_duration(spread->p99, DIGITS), 8);
	kp_print_cell(file, kp_human_duration((double)spread->max, DIGITS), 8);
	kp_print_cell(file, kp_human_percent(100 * spread->cv), 6);
	fprintf(file, "%s\n", what);
}

static void print_spreads(FILE *file, const struct kp_iteration_row *row,
			  const struct kp_view *view)
{
	kp_style_begin(file, view->colors, KP_STYLE_TITLE);
	fputs("     Min   Median      90%      99%      Max     CV Of an iteration", file);
	kp_style_end(file, view->colors, KP_STYLE_TITLE);
	fputc('\n', file);
	print_spread(file, &row->wall, "whole");
	print_spread(file, &row->busy, "GPU busy");
	fprintf(file, "%8" PRIu64 " %8.0f %8.0f %8.0f %8" PRIu64 " ", row->kernels.min,
		row->kernels.median, row->kernels.p90, row->kernels.p99, row->kernels.max);
	kp_print_cell(file, kp_human_percent(100 * row->kernels.cv), 6);
	fputs("launches\n", file);
}

/* A sentence beneath the others, in lines of its own. */
struct line {
	char text[1024];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct line *line, const char *format, ...)
{
	size_t room = sizeof line->text - line->length;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(line->text + line->length, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		line->length += (size_t)length < room ? (size_t)length : room - 1;
}

static void say_kernel(struct line *line, const struct kp_iteration_outlier *outlier)
{
	char name[NAME_BYTES];

	kp_text_visible_cut(name, sizeof name, outlier->kernel, strlen(outlier->kernel));
	say(line, ", most in %s (%s more than on average)", name,
	    kp_human_duration((double)outlier->kernel_more_ns, 3).text);
}

static void print_outlier(FILE *file, const struct kp_iteration_row *row,
			  const struct kp_iteration_outlier *outlier, uint64_t from_ns,
			  const struct kp_view *view)
{
	double more_ns = (double)outlier->wall_ns - row->wall.median;
	double busy_ns = (double)outlier->busy_ns - row->busy.median;
	double begin_ns = outlier->begin_ns > from_ns ? (double)(outlier->begin_ns - from_ns) : 0;
	bool kernels = busy_ns > more_ns - busy_ns;
	struct line line = {.length = 0};

	say(&line, "no. %" PRIu64 " at %s: %s, %s more: %s", outlier->number,
	    kp_human_duration(begin_ns, DIGITS).text,
	    kp_human_duration((double)outlier->wall_ns, DIGITS).text,
	    kp_human_duration(more_ns, 3).text, kernels ? "kernels" : "idle time");
	if (outlier->kernel && kernels)
		say_kernel(&line, outlier);
	say(&line, "; longest gap %s (%s)",
	    kp_human_duration((double)outlier->longest_gap_ns, 3).text,
	    kp_gap_words[outlier->longest_gap_cause]);
	fprintf(file, "%*s", INDENT, "");
	kp_text_wrap(file, line.text, INDENT, 2 * INDENT, view->width);
}

/* Which took long, and what grew: kernels, or a gap. */
static void print_outliers(FILE *file, const struct kp_report *report,
			   const struct kp_iteration_row *row, const struct kp_view *view)
{
	uint64_t from_ns = report->gpus[row->gpu].first_ns;

	if (row->outlier_count == 0) {
		fprintf(file, "None took %.1f times the median or longer.\n", KP_OUTLIER_RATIO);
		return;
	}
	fprintf(file, "%s took %.1f times the median or longer, longest first:\n",
		kp_human_count(row->outlier_count).text, KP_OUTLIER_RATIO);
	for (size_t i = 0; i < row->outliers_shown; i++)
		print_outlier(file, row, &row->outliers[i], from_ns, view);
}

static void print_row(FILE *file, const struct kp_report *report,
		      const struct kp_iteration_row *row, const struct kp_view *view)
{
	char begins[NAME_BYTES] = "the launch of a CUDA graph";
	struct line line = {.length = 0};

	if (row->anchor)
		kp_text_visible_cut(begins, sizeof begins, row->anchor, strlen(row->anchor));
	say(&line, "GPU %zu: %s iterations", row->gpu, kp_human_count(row->count).text);
	if (row->by_range)
		say(&line, ", NVTX ranges «%s» (launches by the time they start)", begins);
	else
		say(&line, " by repetition, each begins with %s", begins);
	fputc('\n', file);
	kp_text_wrap(file, line.text, 0, INDENT, view->width);
	if (row->warmup > 0)
		fprintf(file,
			"%s before them left out as warm-up: longer than %.2f times the "
			"median\n",
			kp_human_count(row->warmup).text, KP_WARMUP_RATIO);
	if (row->irregular > 0)
		fprintf(file, "%s stretches with more or fewer launches are not counted\n",
			kp_human_count(row->irregular).text);
	if (row->count == 0)
		return;
	print_spreads(file, row, view);
	print_outliers(file, report, row, view);
}

void kp_print_iterations(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_timeline *timeline = report->timeline;

	if (timeline->iteration_count == 0 && timeline->ranges_found > 0)
		fprintf(file, "\nIterations: no kernel ran in the NVTX ranges of that name.\n");
	else if (timeline->iteration_count == 0)
		fprintf(file, "\nIterations: no repetition found.\n");
	if (timeline->ranges_left_out > 0)
		fprintf(file, "\n%s ranges overlap with another of the name, and are left out.\n",
			kp_human_count(timeline->ranges_left_out).text);
	for (size_t i = 0; i < timeline->iteration_count && i < MAX_ROWS; i++)
		print_row(file, report, &timeline->iterations[i], view);
	if (timeline->iteration_count > MAX_ROWS)
		fprintf(file, "\nand those of %zu more: --format yaml has all\n",
			timeline->iteration_count - MAX_ROWS);
}

static void csv_spread(FILE *file, const struct kp_spread *spread)
{
	fprintf(file, ",%" PRIu64 ",%.0f,%.0f,%.0f,%.0f,%.0f,%" PRIu64 ",%.4f", spread->min,
		spread->p5, spread->median, spread->p90, spread->p95, spread->p99, spread->max,
		spread->cv);
}

enum kp_status kp_print_iterations_csv(FILE *file, const struct kp_report *report)
{
	const struct kp_timeline *timeline = report->timeline;
	enum kp_status status = KP_OK;

	fputs("gpu,process,found_by,begins_with,count,warmup,irregular", file);
#define HEADER(of)                                                                                 \
	"," of "_min"                                                                              \
	"," of "_p5"                                                                               \
	"," of "_median"                                                                           \
	"," of "_p90"                                                                              \
	"," of "_p95"                                                                              \
	"," of "_p99"                                                                              \
	"," of "_max"                                                                              \
	"," of "_cv"
	fputs(HEADER("wall_ns") HEADER("busy_ns") HEADER("launches"), file);
#undef HEADER
	fputs(",outliers\r\n", file);
	for (size_t i = 0; timeline && status == KP_OK && i < timeline->iteration_count; i++) {
		const struct kp_iteration_row *row = &timeline->iterations[i];

		fprintf(file, "%zu,%" PRIu32 ",%s,", row->gpu, row->process->index,
			row->by_range ? "range" : "repetition");
		status = kp_fields_csv_text(file, row->anchor ? row->anchor : "");
		fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, row->count, row->warmup,
			row->irregular);
		csv_spread(file, &row->wall);
		csv_spread(file, &row->busy);
		csv_spread(file, &row->kernels);
		fprintf(file, ",%" PRIu64 "\r\n", row->outlier_count);
	}
	return status;
}
