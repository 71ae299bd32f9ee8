/* Tables of the text report; see columns.h. */
#include "profiler/columns.h"

#include <math.h>
#include <string.h>

#include "analyzers/telling.h"
#include "profiler/humanise.h"
#include "profiler/style.h"
#include "profiler/text.h"

#define MIN_NAME 20 /* columns that a name gets before other columns go */
#define WIDE 110    /* from this width on numbers have a digit more */
#define MAX_OPERATOR 16

typedef struct kp_human (*value_function)(const struct kp_table_row *row, int digits);

static struct kp_human duration(const struct kp_table_row *row, double ns, int digits)
{
	if (row->durations.timed == 0)
		return (struct kp_human){"-"};
	return kp_human_duration(ns, digits);
}

static struct kp_human share(const struct kp_table_row *row, double percent)
{
	return row->durations.timed ? kp_human_percent(percent) : (struct kp_human){"-"};
}

static struct kp_human kernel_share(const struct kp_table_row *row, int digits)
{
	(void)digits;
	return share(row, row->shares.kernel_pct);
}

static struct kp_human busy_share(const struct kp_table_row *row, int digits)
{
	(void)digits;
	return share(row, row->shares.busy_pct);
}

static struct kp_human span_share(const struct kp_table_row *row, int digits)
{
	(void)digits;
	return share(row, row->shares.span_pct);
}

static struct kp_human alone_share(const struct kp_table_row *row, int digits)
{
	(void)digits;
	return share(row, row->shares.alone_pct);
}

static struct kp_human mark(const struct kp_table_row *row, int digits)
{
	(void)digits;
	return (struct kp_human){{row->marked ? '*' : '\0'}};
}

static struct kp_human total(const struct kp_table_row *row, int digits)
{
	return duration(row, (double)row->durations.total_ns, digits);
}

static struct kp_human calls(const struct kp_table_row *row, int digits)
{
	struct kp_human out;

	(void)digits;
	snprintf(out.text, sizeof out.text, "%llu", (unsigned long long)row->calls);
	return out;
}

static struct kp_human bytes(const struct kp_table_row *row, int digits)
{
	return kp_human_bytes(row->bytes, digits);
}

static struct kp_human average(const struct kp_table_row *row, int digits)
{
	return duration(row, row->durations.mean_ns, digits);
}

static struct kp_human median(const struct kp_table_row *row, int digits)
{
	return duration(row, row->durations.median_ns, digits);
}

static struct kp_human minimum(const struct kp_table_row *row, int digits)
{
	return duration(row, (double)row->durations.min_ns, digits);
}

static struct kp_human maximum(const struct kp_table_row *row, int digits)
{
	return duration(row, (double)row->durations.max_ns, digits);
}

static struct kp_human deviation(const struct kp_table_row *row, int digits)
{
	return duration(row, row->durations.stddev_ns, digits);
}

static struct kp_human operator_name(const struct kp_table_row *row, int digits)
{
	struct kp_human out;

	(void)digits;
	snprintf(out.text, sizeof out.text, "%.*s", MAX_OPERATOR,
		 row->operator_name ? row->operator_name : "");
	return out;
}

static struct kp_human estimated_total(const struct kp_table_row *row, int digits)
{
	return duration(row, row->estimate.total_ns, digits);
}

static struct kp_human interval(const struct kp_table_row *row, int digits)
{
	(void)digits;
	return duration(row, row->estimate.total_ci95_ns, 2);
}

static struct kp_human estimated_calls(const struct kp_table_row *row, int digits)
{
	struct kp_human out;

	(void)digits;
	snprintf(out.text, sizeof out.text, "%.0f", row->estimate.calls);
	return out;
}

/* Of a row's launch times, or of its queue times. */
static struct kp_human host_time(const struct kp_durations *durations, double ns, int digits)
{
	return durations->timed ? kp_human_duration(ns, digits) : (struct kp_human){"-"};
}

static struct kp_human cpu_total(const struct kp_table_row *row, int digits)
{
	return host_time(&row->host.call, (double)row->host.call.total_ns, digits);
}

static struct kp_human tied(const struct kp_table_row *row, int digits)
{
	struct kp_human out;

	(void)digits;
	snprintf(out.text, sizeof out.text, "%llu", (unsigned long long)row->host.tied);
	return out;
}

static struct kp_human call_median(const struct kp_table_row *row, int digits)
{
	return host_time(&row->host.call, row->host.call.median_ns, digits);
}

static struct kp_human call_p99(const struct kp_table_row *row, int digits)
{
	return host_time(&row->host.call, row->host.call_p99_ns, digits);
}

static struct kp_human queue_median(const struct kp_table_row *row, int digits)
{
	return host_time(&row->host.queue, row->host.queue.median_ns, digits);
}

static struct kp_human queue_p99(const struct kp_table_row *row, int digits)
{
	return host_time(&row->host.queue, row->host.queue_p99_ns, digits);
}

static struct kp_human threads(const struct kp_table_row *row, int digits)
{
	struct kp_human out;

	(void)digits;
	snprintf(out.text, sizeof out.text, "%lu", (unsigned long)row->host.threads);
	return out;
}

/* A number of the row's traffic, NaN where there is none. */
#define OF_TRAFFIC(row, member) ((row)->traffic ? (row)->traffic->member : NAN)

static struct kp_human bandwidth(const struct kp_table_row *row, int digits)
{
	double gbps = OF_TRAFFIC(row, gbps), ci95 = OF_TRAFFIC(row, gbps_ci95);
	struct kp_human out = {"-"};

	(void)digits;
	if (!isfinite(gbps))
		return out;
	char letter = kp_traffic_source_letter(row->traffic->source);
	if (row->traffic->source == KP_TRAFFIC_MEASURED)
		snprintf(out.text, sizeof out.text, "%.0f %c", gbps, letter);
	else
		snprintf(out.text, sizeof out.text, "%.0f±%.0f %c", gbps, fmax(ci95, 1), letter);
	return out;
}

static struct kp_human of_peak(const struct kp_table_row *row, int digits)
{
	double percent = OF_TRAFFIC(row, peak_pct);
	struct kp_human out = {"-"};

	(void)digits;
	if (isfinite(percent))
		snprintf(out.text, sizeof out.text, "%.0f%%", percent);
	return out;
}

static struct kp_human traffic_bytes(const struct kp_table_row *row, int digits)
{
	double value = OF_TRAFFIC(row, bytes);

	if (!(value >= 0 && value < 1e19))
		return (struct kp_human){"-"};
	return kp_human_bytes((uint64_t)value, digits);
}

static struct kp_human intensity(const struct kp_table_row *row, int digits)
{
	double value = OF_TRAFFIC(row, flop_per_byte);
	struct kp_human out = {"-"};

	(void)digits;
	if (isfinite(value))
		snprintf(out.text, sizeof out.text, "%.*f", value < 10 ? 1 : 0, value);
	return out;
}

static struct kp_human bound(const struct kp_table_row *row, int digits)
{
	struct kp_human out = {"-"};

	(void)digits;
	if (row->traffic && row->traffic->bound != KP_BOUND_UNKNOWN)
		snprintf(out.text, sizeof out.text, "%s", kp_bound_name(row->traffic->bound));
	return out;
}

static struct kp_human room(const struct kp_table_row *row, int digits)
{
	double value = OF_TRAFFIC(row, headroom);
	struct kp_human out = {"-"};

	(void)digits;
	if (isfinite(value) && value < 100)
		snprintf(out.text, sizeof out.text, "%.*fx", value < 10 ? 1 : 0, value);
	return out;
}

enum condition { ALWAYS, WITH_SHARES, WITHOUT_SHARES, BY_KERNEL, EXACT, ESTIMATED, TRAFFIC };

struct column {
	const char *title;
	value_function value;
	unsigned kinds; /* bit of each enum kp_table_kind that has the column */
	enum condition condition;
	unsigned leaves; /* order in which it goes when there is no room; 0: it stays */
	bool in_rest;    /* has a value in a row that stands for others */
	bool left;       /* aligned */
};

#define RANKING (1U << KP_TABLE_RANKING)
#define MEMOPS (1U << KP_TABLE_MEMOPS)
#define HOST (1U << KP_TABLE_HOST)

// clang-format off
static const struct column columns[] = {
	{"Share", kernel_share, RANKING, WITHOUT_SHARES, 0, true, false},
	{"Kernel", kernel_share, RANKING, WITH_SHARES, 0, true, false},
	{"", mark, RANKING, ALWAYS, 0, false, false},
	{"Busy", busy_share, RANKING, WITH_SHARES, 0, true, false},
	{"Span", span_share, RANKING, WITH_SHARES, 0, true, false},
	{"Alone", alone_share, RANKING, WITH_SHARES, 0, false, false},
	{"~Total", estimated_total, RANKING, ESTIMATED, 0, true, false},
	{"±95%", interval, RANKING, ESTIMATED, 0, false, false},
	{"~Calls", estimated_calls, RANKING, ESTIMATED, 0, true, false},
	{"Total", total, RANKING | MEMOPS, EXACT, 0, true, false},
	{"Calls", calls, RANKING | MEMOPS, EXACT, 0, true, false},
	{"Bytes", bytes, MEMOPS, ALWAYS, 0, false, false},
	{"Avg", average, RANKING | MEMOPS, ALWAYS, 0, false, false},
	{"GB/s", bandwidth, RANKING, TRAFFIC, 11, false, false},
	{"Peak", of_peak, RANKING, TRAFFIC, 10, false, false},
	{"Bytes", traffic_bytes, RANKING, TRAFFIC, 7, false, false},
	{"FLOP/B", intensity, RANKING, TRAFFIC, 6, false, false},
	{"Bound", bound, RANKING, TRAFFIC, 9, false, true},
	{"Room", room, RANKING, TRAFFIC, 8, false, false},
	{"Med", median, RANKING | MEMOPS, ALWAYS, 4, false, false},
	{"Min", minimum, RANKING | MEMOPS, ALWAYS, 2, false, false},
	{"Max", maximum, RANKING | MEMOPS, ALWAYS, 3, false, false},
	{"StdDev", deviation, RANKING, ALWAYS, 1, false, false},
	{"CPU time", cpu_total, HOST, ALWAYS, 0, true, false},
	{"Tied", tied, HOST, ALWAYS, 0, true, false},
	{"Call", call_median, HOST, ALWAYS, 0, false, false},
	{"p99", call_p99, HOST, ALWAYS, 3, false, false},
	{"Queue", queue_median, HOST, ALWAYS, 0, false, false},
	{"p99", queue_p99, HOST, ALWAYS, 2, false, false},
	{"Threads", threads, HOST, ALWAYS, 1, false, false},
	{"Operator", operator_name, RANKING, BY_KERNEL, 5, false, true},
};
// clang-format on

#define COLUMN_COUNT (sizeof columns / sizeof *columns)
#define LAST_LEAVER 11

struct layout {
	bool shown[COLUMN_COUNT];
	size_t width[COLUMN_COUNT];
	size_t name_width;
	size_t least_name_width; /* before columns are left out */
	int digits;
};

static bool is_wanted(const struct column *column, const struct kp_table *table,
		      const struct kp_view *view)
{
	if (!(column->kinds & 1U << table->kind))
		return false;
	switch (column->condition) {
	case WITH_SHARES:
		return view->shares;
	case WITHOUT_SHARES:
		return !view->shares;
	case BY_KERNEL:
		return view->by == KP_BY_KERNEL;
	case EXACT:
		return !table->estimates;
	case TRAFFIC:
		return table->traffic;
	case ESTIMATED:
		return table->estimates;
	case ALWAYS:
		break;
	}
	return true;
}

static struct kp_human value_of(const struct column *column, const struct kp_table_row *row,
				int digits)
{
	if (row->rest > 0 && !column->in_rest)
		return (struct kp_human){""};
	return column->value(row, digits);
}

/* What the columns take that are shown, each with the space behind it. */
static size_t taken(const struct layout *layout)
{
	size_t sum = 0;

	for (size_t i = 0; i < COLUMN_COUNT; i++)
		sum += layout->shown[i] ? layout->width[i] + 1 : 0;
	return sum;
}

/* What the names need; MIN_NAME if that is more, but never less than their title. */
static size_t least_name_width(const struct kp_table *table)
{
	size_t title = strlen(table->name_title), least = title;

	for (size_t k = 0; k < table->row_count && least < MIN_NAME; k++) {
		const struct kp_table_row *row = &table->rows[k];
		size_t needed = row->name ? kp_text_columns(row->name) + 2 * row->depth : MIN_NAME;
		least = needed > least ? needed : least;
	}
	if (least > MIN_NAME)
		least = MIN_NAME;
	return least > title ? least : title;
}

static void leave_out(struct layout *layout, size_t width, char *left_out, size_t size)
{
	for (unsigned order = 1; order <= LAST_LEAVER; order++) {
		for (size_t i = 0; i < COLUMN_COUNT; i++) {
			if (!layout->shown[i] || columns[i].leaves != order ||
			    taken(layout) + layout->least_name_width <= width)
				continue;
			size_t length = strlen(left_out);
			snprintf(left_out + length, size - length, "%s%s", length ? ", " : "",
				 columns[i].title);
			layout->shown[i] = false;
		}
	}
}

/* Whether any row has a value in the column. */
static bool says(const struct column *column, const struct kp_table *table)
{
	for (size_t k = 0; k < table->row_count; k++) {
		struct kp_human value = value_of(column, &table->rows[k], 3);
		if (value.text[0] && strcmp(value.text, "-") != 0)
			return true;
	}
	return false;
}

static void lay_out(struct layout *layout, const struct kp_table *table, const struct kp_view *view,
		    char *left_out, size_t size)
{
	memset(layout, 0, sizeof *layout);
	layout->digits = view->width >= WIDE ? 4 : 3;
	layout->least_name_width = least_name_width(table);
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		layout->shown[i] = is_wanted(&columns[i], table, view);
		layout->width[i] = kp_text_columns(columns[i].title);
		for (size_t k = 0; k < table->row_count && layout->shown[i]; k++) {
			struct kp_human value =
				value_of(&columns[i], &table->rows[k], layout->digits);
			size_t needed = kp_text_columns(value.text);
			if (needed > layout->width[i])
				layout->width[i] = needed;
		}
		layout->shown[i] = layout->shown[i] && layout->width[i] > 0 &&
				   (columns[i].condition != TRAFFIC || says(&columns[i], table));
	}
	leave_out(layout, view->width, left_out, size);
	size_t others = taken(layout);
	layout->name_width = view->width > others + 1 ? view->width - others : 1;
}

static void print_cell(FILE *file, const char *text, size_t width, bool left)
{
	size_t columns_taken = kp_text_columns(text);
	int padding = columns_taken < width ? (int)(width - columns_taken) : 0;

	fprintf(file, "%*s%s%*s", left ? 0 : padding, "", text, (left ? padding : 0) + 1, "");
}

static void print_titles(FILE *file, const struct layout *layout, const struct kp_table *table,
			 bool colors)
{
	kp_style_begin(file, colors, KP_STYLE_TITLE);
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		if (layout->shown[i])
			print_cell(file, columns[i].title, layout->width[i], columns[i].left);
	}
	kp_text_fit(file, table->name_title, layout->name_width);
	kp_style_end(file, colors, KP_STYLE_TITLE);
	fputc('\n', file);
}

static void print_name(FILE *file, const struct kp_table_row *row, size_t width)
{
	char rest[64];
	size_t indent = row->depth * 2;

	if (width <= indent + 1)
		indent = 0;
	fprintf(file, "%*s", (int)indent, "");
	snprintf(rest, sizeof rest, "(%zu more %s%s)", row->rest, row->rest_of ? row->rest_of : "",
		 row->rest == 1 ? "" : "s");
	if (row->rest) {
		kp_text_fit(file, rest, width - indent);
	} else {
		struct kp_word word = kp_name_telling(row->name);
		kp_text_fit_around(file, row->name, width - indent, word.bytes, word.length);
	}
}

void kp_table_print(FILE *file, const struct kp_table *table, const struct kp_view *view,
		    char *left_out, size_t size)
{
	struct layout layout;

	left_out[0] = '\0';
	lay_out(&layout, table, view, left_out, size);
	print_titles(file, &layout, table, view->colors);
	for (size_t k = 0; k < table->row_count; k++) {
		const struct kp_table_row *row = &table->rows[k];
		bool heads = view->by != KP_BY_KERNEL && row->depth == 0 &&
			     table->kind != KP_TABLE_MEMOPS;
		bool hot = row->marked && table->kind == KP_TABLE_RANKING;
		enum kp_style style = hot ? KP_STYLE_HOT : heads ? KP_STYLE_STRONG : KP_STYLE_PLAIN;
		kp_style_begin(file, view->colors, style);
		for (size_t i = 0; i < COLUMN_COUNT; i++) {
			struct kp_human value = value_of(&columns[i], row, layout.digits);
			if (layout.shown[i])
				print_cell(file, value.text, layout.width[i], columns[i].left);
		}
		print_name(file, row, layout.name_width);
		kp_style_end(file, view->colors, style);
		fputc('\n', file);
	}
}
