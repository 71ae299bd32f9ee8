/* The processes of a report as text and CSV; see print_processes.h. One table of columns for both.
 */
#include "profiler/print_processes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/fates.h"
#include "profiler/fields.h"
#include "profiler/humanise.h"
#include "profiler/style.h"
#include "profiler/text.h"

#define CELL_BYTES 512
#define DIGITS 3
#define MAX_CELL 28 /* columns */
#define LEAST_COMMAND 12

static void show_text(char out[CELL_BYTES], bool has, struct kp_text text)
{
	if (has)
		kp_text_visible(out, CELL_BYTES, text.bytes, text.length);
}

static void show_number(char out[CELL_BYTES], bool has, uint64_t number)
{
	if (has)
		snprintf(out, CELL_BYTES, "%" PRIu64, number);
}

/* A fact of the process record. */
#define TEXT_CELL(field)                                                                           \
	static void show_##field(const struct kp_process_row *row, char out[CELL_BYTES])           \
	{                                                                                          \
		const struct kp_process_info *info = &row->process->info;                          \
                                                                                                   \
		show_text(out, KP_HAS(info, PROCESS, field), info->field);                         \
	}
#define NUMBER_CELL(field)                                                                         \
	static void show_##field(const struct kp_process_row *row, char out[CELL_BYTES])           \
	{                                                                                          \
		const struct kp_process_info *info = &row->process->info;                          \
                                                                                                   \
		show_number(out, KP_HAS(info, PROCESS, field), info->field);                       \
	}
NUMBER_CELL(pid)
NUMBER_CELL(parent_pid)
NUMBER_CELL(untraced)
TEXT_CELL(host)
TEXT_CELL(rank)
TEXT_CELL(local_rank)
TEXT_CELL(command)

static bool is_traced(const struct kp_process_row *row)
{
	return row->fate != KP_FATE_UNTRACED && row->fate != KP_FATE_REFUSED;
}

static void show_gpus(const struct kp_process_row *row, char out[CELL_BYTES])
{
	size_t used = 0;

	for (size_t i = 0; i < row->gpu_count && used < CELL_BYTES - 12; i++)
		used += (size_t)snprintf(out + used, CELL_BYTES - used, "%s%" PRIu32, i ? "," : "",
					 row->gpus[i]);
}

static void show_kernels(const struct kp_process_row *row, char out[CELL_BYTES])
{
	show_number(out, is_traced(row), row->kernels);
}

static void show_kernel_time(const struct kp_process_row *row, char out[CELL_BYTES])
{
	if (is_traced(row))
		strcpy(out, kp_human_duration((double)row->kernel_ns, DIGITS).text);
}

static void show_kernel_ns(const struct kp_process_row *row, char out[CELL_BYTES])
{
	show_number(out, is_traced(row), row->kernel_ns);
}

static void show_busy(const struct kp_process_row *row, char out[CELL_BYTES])
{
	if (is_traced(row))
		strcpy(out, kp_human_duration((double)row->busy_ns, DIGITS).text);
}

static void show_busy_ns(const struct kp_process_row *row, char out[CELL_BYTES])
{
	show_number(out, is_traced(row), row->busy_ns);
}

/* None is not worth a cell for people. */
static void show_missing(const struct kp_process_row *row, char out[CELL_BYTES])
{
	uint64_t missing = row->process->end.has ? row->missing : row->absent;

	show_number(out, row->missing_known && missing, missing);
}

static void show_missing_exact(const struct kp_process_row *row, char out[CELL_BYTES])
{
	show_number(out, row->missing_known, row->missing);
}

static void show_fate(const struct kp_process_row *row, char out[CELL_BYTES])
{
	snprintf(out, CELL_BYTES, "%s", kp_fate_words(row->fate));
}

static void show_fate_key(const struct kp_process_row *row, char out[CELL_BYTES])
{
	snprintf(out, CELL_BYTES, "%s", kp_fate_key(row->fate));
}

static void show_reason(const struct kp_process_row *row, char out[CELL_BYTES])
{
	show_text(out, row->reason.length > 0, row->reason);
}

/* Columns, from the left; one that is empty in all rows is left out of the text. `dispensable`: the
 * lowest goes first where there is no room; 0: never. */
static const struct column {
	const char *title; /* in the text; NULL: not there */
	const char *key;   /* in CSV; NULL: not there */
	void (*show)(const struct kp_process_row *row, char out[CELL_BYTES]);
	bool left;
	unsigned dispensable;
} columns[] = {
	{"PID", "pid", show_pid, false, 0},
	{"Parent", "parent_pid", show_parent_pid, false, 2},
	{"Host", "host", show_host, true, 1},
	{"Rank", "rank", show_rank, false, 0},
	{"Local", "local_rank", show_local_rank, false, 3},
	{"GPU", "gpus", show_gpus, true, 0},
	{"Kernels", "kernels", show_kernels, false, 0},
	{"Time", NULL, show_kernel_time, false, 0},
	{NULL, "kernel_time_ns", show_kernel_ns, false, 0},
	{"Busy", NULL, show_busy, false, 4},
	{NULL, "busy_time_ns", show_busy_ns, false, 0},
	{"Missing", NULL, show_missing, false, 5},
	{NULL, "kernels_missing", show_missing_exact, false, 0},
	{"End", NULL, show_fate, true, 0},
	{NULL, "fate", show_fate_key, true, 0},
	{NULL, "reason", show_reason, true, 0},
	{NULL, "untraced", show_untraced, false, 0},
	{NULL, "command", show_command, true, 0},
};
#define COLUMN_COUNT (sizeof columns / sizeof *columns)

/* ---- text ---- */

struct layout {
	size_t width[COLUMN_COUNT]; /* 0: not shown */
	size_t command_width;
};

/* Rows in the order in which they are shown; the place in the trace breaks ties. */
static int compare_rows(const void *left, const void *right)
{
	const struct kp_process_row *a = *(const struct kp_process_row *const *)left;
	const struct kp_process_row *b = *(const struct kp_process_row *const *)right;

	if ((a->fate == KP_FATE_UNTRACED) != (b->fate == KP_FATE_UNTRACED))
		return a->fate == KP_FATE_UNTRACED ? 1 : -1;
	if (a->kernel_ns != b->kernel_ns)
		return a->kernel_ns < b->kernel_ns ? 1 : -1;
	return a->process->index < b->process->index ? -1 : 1;
}

/* One host is no news. */
static bool is_shown(const struct column *column, const struct kp_report *report)
{
	struct kp_text first;

	if (!column->title || column->show != show_host || report->process_count == 0)
		return column->title != NULL;
	first = report->processes[0].process->info.host;
	for (size_t i = 1; i < report->process_count; i++) {
		struct kp_text host = report->processes[i].process->info.host;

		if (host.length != first.length ||
		    (host.length && memcmp(host.bytes, first.bytes, host.length) != 0))
			return true;
	}
	return false;
}

static size_t cell_width(const struct column *column, const struct kp_process_row *row)
{
	char cell[CELL_BYTES] = "";
	size_t width;

	column->show(row, cell);
	width = kp_text_columns(cell);
	return width < MAX_CELL ? width : MAX_CELL;
}

/* Leaves columns out until the command has room. */
static void make_room(struct layout *layout, size_t width)
{
	for (unsigned least = 1;; least++) {
		size_t taken = 0, next = COLUMN_COUNT;

		for (size_t i = 0; i < COLUMN_COUNT; i++) {
			taken += layout->width[i] ? layout->width[i] + 2 : 0;
			if (layout->width[i] && columns[i].dispensable >= least &&
			    (next == COLUMN_COUNT ||
			     columns[i].dispensable < columns[next].dispensable))
				next = i;
		}
		layout->command_width = taken < width ? width - taken : 1;
		if (layout->command_width >= LEAST_COMMAND || next == COLUMN_COUNT)
			return;
		layout->width[next] = 0;
	}
}

static void lay_out(struct layout *layout, const struct kp_report *report,
		    const struct kp_process_row *const *rows, size_t count, size_t width)
{
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		size_t widest = 0;

		for (size_t k = 0; k < count && is_shown(&columns[i], report); k++) {
			size_t needed = cell_width(&columns[i], rows[k]);

			widest = needed > widest ? needed : widest;
		}
		layout->width[i] = widest;
		if (widest && kp_text_columns(columns[i].title) > widest)
			layout->width[i] = kp_text_columns(columns[i].title);
	}
	make_room(layout, width);
}

static void print_cell(FILE *file, const char *text, size_t width, bool left)
{
	size_t taken = kp_text_columns(text);
	int padding = taken < width ? (int)(width - taken) : 0;

	fprintf(file, "%*s", left ? 0 : padding, "");
	if (*text)
		kp_text_fit(file, text, width);
	fprintf(file, "%*s", (left ? padding : 0) + 2, "");
}

static void print_row(FILE *file, const struct layout *layout, const struct kp_process_row *row,
		      size_t width)
{
	char cell[CELL_BYTES];

	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		if (!layout->width[i])
			continue;
		cell[0] = '\0';
		columns[i].show(row, cell);
		print_cell(file, cell, layout->width[i], columns[i].left);
	}
	cell[0] = '\0';
	show_command(row, cell);
	kp_text_fit(file, *cell ? cell : "-", layout->command_width);
	fputc('\n', file);
	cell[0] = '\0';
	show_reason(row, cell);
	if (!*cell)
		return;
	fputs("    ", file);
	kp_text_wrap(file, cell, 4, 4, width);
}

static void print_titles(FILE *file, const struct layout *layout, bool colors)
{
	kp_style_begin(file, colors, KP_STYLE_TITLE);
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		if (layout->width[i])
			print_cell(file, columns[i].title, layout->width[i], columns[i].left);
	fputs("Process", file);
	kp_style_end(file, colors, KP_STYLE_TITLE);
	fputc('\n', file);
}

enum kp_status kp_print_processes(FILE *file, const struct kp_report *report,
				  const struct kp_view *view)
{
	size_t count = report->process_count;
	const struct kp_process_row **rows = calloc(count + 1, sizeof *rows);
	struct layout layout;

	if (!rows)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		rows[i] = &report->processes[i];
	qsort(rows, count, sizeof *rows, compare_rows);
	if (view->top && view->top < count)
		count = (size_t)view->top;
	lay_out(&layout, report, rows, count, view->width);
	print_titles(file, &layout, view->colors);
	for (size_t i = 0; i < count; i++)
		print_row(file, &layout, rows[i], view->width);
	if (count < report->process_count)
		fprintf(file, "(%zu more process%s)\n", report->process_count - count,
			report->process_count - count == 1 ? "" : "es");
	free(rows);
	return KP_OK;
}

/* ---- CSV ---- */

enum kp_status kp_print_processes_csv(FILE *file, const struct kp_report *report)
{
	enum kp_status status = KP_OK;
	const char *separator = "";

	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		if (!columns[i].key)
			continue;
		fprintf(file, "%s%s", separator, columns[i].key);
		separator = ",";
	}
	fputs("\r\n", file);
	for (size_t k = 0; k < report->process_count && status == KP_OK; k++) {
		separator = "";
		for (size_t i = 0; i < COLUMN_COUNT && status == KP_OK; i++) {
			char cell[CELL_BYTES] = "";

			if (!columns[i].key)
				continue;
			columns[i].show(&report->processes[k], cell);
			fputs(separator, file);
			status = kp_fields_csv_text(file, cell);
			separator = ",";
		}
		fputs("\r\n", file);
	}
	return status;
}
