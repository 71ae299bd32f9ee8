/* The view of operators and the kernels beneath; see pages.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/humanise.h"
#include "trace/vector.h"
#include "tui/actions.h"
#include "tui/keys.h"
#include "tui/state.h"
#include "tui/table.h"

#define DIGITS 3
#define SHARE_COLUMN 0

static const struct kp_ranked_row *row_of(const struct kp_tui *tui, const struct kp_item *item)
{
	return &tui->rank.rows[item->index];
}

/* A number of the row, and how it is written. */
#define NUMBER(name, expression)                                                                   \
	static double name##_number(const struct kp_tui *tui, const struct kp_item *item)          \
	{                                                                                          \
		const struct kp_ranked_row *row = row_of(tui, item);                               \
                                                                                                   \
		return (expression);                                                               \
	}
#define TEXT(name, formatted)                                                                      \
	static void name##_text(const struct kp_tui *tui, const struct kp_item *item,              \
				struct kp_value *out)                                              \
	{                                                                                          \
		double value = name##_number(tui, item);                                           \
                                                                                                   \
		snprintf(out->text, sizeof out->text, "%s", isnan(value) ? "-" : (formatted));     \
	}
#define PERCENT(name, expression) NUMBER(name, expression) TEXT(name, kp_human_percent(value).text)
#define TIME(name, expression)                                                                     \
	NUMBER(name, row->durations.timed ? (expression) : NAN)                                    \
	TEXT(name, kp_human_duration(value, DIGITS).text)

PERCENT(busy, row->durations.timed ? row->shares.busy_pct : NAN)
PERCENT(span, row->durations.timed ? row->shares.span_pct : NAN)
PERCENT(alone, row->durations.timed ? row->shares.alone_pct : NAN)
TIME(average, row->durations.mean_ns)
TIME(median, row->durations.median_ns)
TIME(minimum, (double)row->durations.min_ns)
TIME(maximum, (double)row->durations.max_ns)
TIME(deviation, row->durations.stddev_ns)
PERCENT(peak, row->traffic ? row->traffic->peak_pct : NAN)
TIME(total, tui->rank.estimated ? row->estimate.total_ns : (double)row->durations.total_ns)
TIME(interval, row->estimate.total_ci95_ns)
NUMBER(calls, tui->rank.estimated ? row->estimate.calls : (double)row->calls)
NUMBER(rate, row->traffic ? row->traffic->gbps : NAN)
NUMBER(intensity, row->traffic ? row->traffic->flop_per_byte : NAN)
NUMBER(room, row->traffic ? row->traffic->headroom : NAN)
TEXT(calls, kp_human_count((uint64_t)(value + 0.5)).text)

#define DECIMALS(name, format)                                                                     \
	static void name##_text(const struct kp_tui *tui, const struct kp_item *item,              \
				struct kp_value *out)                                              \
	{                                                                                          \
		double value = name##_number(tui, item);                                           \
                                                                                                   \
		snprintf(out->text, sizeof out->text, isfinite(value) ? format : "-", value);      \
	}
DECIMALS(intensity, "%.1f")
DECIMALS(room, "%.2fx")

static void rate_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	double value = rate_number(tui, item);

	if (isfinite(value))
		snprintf(out->text, sizeof out->text, "%.0f %c", value,
			 kp_traffic_source_letter(row_of(tui, item)->traffic->source));
	else
		snprintf(out->text, sizeof out->text, "-");
}

static void mark_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s", row_of(tui, item)->marked ? "*" : "");
}

static void bound_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	const struct kp_row_traffic *traffic = row_of(tui, item)->traffic;
	bool known = traffic && traffic->bound != KP_BOUND_UNKNOWN;

	snprintf(out->text, sizeof out->text, "%s", known ? kp_bound_name(traffic->bound) : "-");
}

/* What shares and bars are of, in turn; and how the two columns are called side by side. */
static const struct {
	const char *share, *bar, *words;
} gauges[KP_GAUGES] = {
	[KP_GAUGE_KERNELS] = {"Share", "of kernels", "of the sum of all kernel times"},
	[KP_GAUGE_SPAN] = {"Time", "of span", "of the whole span"},
	[KP_GAUGE_CALLS] = {"Calls", "of all", "of all launches"},
};

static double share_number(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_ranked_row *row = row_of(tui, item);

	if (tui->gauge == KP_GAUGE_CALLS)
		return tui->rank.calls > 0 ? 100 * calls_number(tui, item) / tui->rank.calls : NAN;
	if (row->durations.timed == 0)
		return NAN;
	return tui->gauge == KP_GAUGE_SPAN ? row->shares.span_pct : row->shares.kernel_pct;
}
TEXT(share, kp_human_percent(value).text)

static double gauge_number(const struct kp_tui *tui, const struct kp_item *item)
{
	double share = share_number(tui, item);

	return isnan(share) ? 0 : share;
}

static const char *share_title(const struct kp_tui *tui)
{
	return gauges[tui->gauge].share;
}

static const char *gauge_title(const struct kp_tui *tui)
{
	return gauges[tui->gauge].bar;
}

static bool has_shares(const struct kp_tui *tui)
{
	return tui->rank.shares;
}

static bool has_traffic(const struct kp_tui *tui)
{
	return tui->rank.traffic;
}

static bool has_estimates(const struct kp_tui *tui)
{
	return tui->rank.estimated;
}

// clang-format off
const struct kp_column kp_page_operators_columns[KP_OPERATORS_COLUMNS] = {
	{"Share", share_title, "of the sum of all kernel times; t: of the span, of calls", 6,
	 false, false, 0, share_text, share_number, NULL},
	{"Bar", gauge_title, "the same as a bar", 10, true, true, 7,
	 NULL, gauge_number, NULL},
	{"", NULL, "* is above the threshold", 1, true, false, 0, mark_text, NULL, NULL},
	{"Busy", NULL, "part of the time in which any kernel ran", 6, false, false, 8,
	 busy_text, busy_number, has_shares},
	{"Span", NULL, "part of the whole span", 6, false, false, 6,
	 span_text, span_number, has_shares},
	{"Alone", NULL, "part of the span in which nothing else ran", 6, false, false, 4,
	 alone_text, alone_number, has_shares},
	{"Total", NULL, "time of all launches; estimated where the run was sampled", 7, false,
	 false, 0, total_text, total_number, NULL},
	{"±95%", NULL, "half the width of the interval of that", 7, false, false, 9,
	 interval_text, interval_number, has_estimates},
	{"Calls", NULL, "launches", 9, false, false, 14, calls_text, calls_number, NULL},
	{"Avg", NULL, "mean duration", 7, false, false, 13, average_text, average_number, NULL},
	{"Med", NULL, "median duration", 7, false, false, 5, median_text, median_number, NULL},
	{"Min", NULL, "shortest", 7, false, false, 2, minimum_text, minimum_number, NULL},
	{"Max", NULL, "longest", 7, false, false, 3, maximum_text, maximum_number, NULL},
	{"StdDev", NULL, "standard deviation of durations", 7, false, false, 1,
	 deviation_text, deviation_number, NULL},
	{"GB/s", NULL, "device memory, read and written: " KP_TRAFFIC_LETTERS, 6, false, false, 11,
	 rate_text, rate_number, has_traffic},
	{"Peak", NULL, "of what memory can do", 6, false, false, 10,
	 peak_text, peak_number, has_traffic},
	{"FLOP/B", NULL, "operations for each byte, modelled", 6, false, false, 4,
	 intensity_text, intensity_number, has_traffic},
	{"Bound", NULL, "what limits it", 7, true, false, 12, bound_text, NULL, has_traffic},
	{"Room", NULL, "time now ÷ time at the nearer limit", 6, false, false, 9,
	 room_text, room_number, has_traffic},
};
// clang-format on

const char *kp_page_operators_name(const struct kp_tui *tui, const struct kp_item *item)
{
	return row_of(tui, item)->shown;
}

const char *kp_page_operators_full(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_ranked_row *row = row_of(tui, item);

	return row->full ? row->full : row->shown;
}

/* Whether an operator's kernels are shown: as it was set by hand, else those of hot ones; where it
 * is there for its kernels' sake, always. */
static bool is_open(const struct kp_tui *tui, const struct kp_ranked_row *row)
{
	uint32_t number;

	if (!kp_tui_holds(row->shown, tui->lists[KP_PAGE_OPERATORS].filter))
		return true;

	if (kp_intern_find(&tui->operator_names, row->name, strlen(row->name), &number) &&
	    number < tui->operator_capacity)
		return tui->operator_open[number];
	return row->marked;
}

static void set_open(struct kp_tui *tui, const struct kp_ranked_row *row, bool open)
{
	uint32_t number;

	if (kp_intern_put(&tui->operator_names, row->name, strlen(row->name), &number, NULL) !=
		    KP_OK ||
	    !kp_vector_reserve((void **)&tui->operator_open, (size_t)number + 1,
			       &tui->operator_capacity, sizeof *tui->operator_open))
		return;
	tui->operator_open[number] = open;
	tui->stale = true;
}

/* Whether a row itself passes: the filter looks at names as the trace has them, too. */
static bool passes(const struct kp_tui *tui, const struct kp_ranked_row *row)
{
	const char *filter = tui->lists[KP_PAGE_OPERATORS].filter;

	if (row->shares.kernel_pct < tui->least_pct)
		return false;
	return kp_tui_holds(row->shown, filter) || (row->full && kp_tui_holds(row->full, filter));
}

static struct kp_item item_of(const struct kp_tui *tui, size_t number, bool open)
{
	const struct kp_ranked_row *row = &tui->rank.rows[number];
	bool is_operator = row->operator_row == KP_RANK_NONE;

	return (struct kp_item){
		.index = number,
		.depth = !is_operator,
		.role = (uint8_t)(row->marked   ? KP_ROLE_HOT
				  : is_operator ? KP_ROLE_STRONG
						: KP_ROLE_PLAIN),
		.opens = is_operator && row->children > 0,
		.open = open,
	};
}

/* Operators that pass, or of which a kernel does, sorted. */
static enum kp_status add_operators(struct kp_tui *tui)
{
	const struct kp_rank *rank = &tui->rank;
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < rank->count && status == KP_OK;) {
		size_t end = i + 1 + rank->rows[i].children;
		bool shown = passes(tui, &rank->rows[i]);
		for (size_t k = i + 1; k < end; k++)
			shown |= passes(tui, &rank->rows[k]);
		if (shown)
			status = kp_tui_add(tui, item_of(tui, i, is_open(tui, &rank->rows[i])));
		i = end;
	}
	return status == KP_OK ? kp_table_sort(tui, 0, tui->item_count) : status;
}

/* The kernels of one operator that pass, sorted; all of them where the operator itself does. */
static enum kp_status add_kernels(struct kp_tui *tui, size_t number)
{
	const struct kp_ranked_row *row = &tui->rank.rows[number];
	const char *filter = tui->lists[KP_PAGE_OPERATORS].filter;
	bool all = filter[0] == '\0' || kp_tui_holds(row->shown, filter);
	size_t first = tui->item_count;
	enum kp_status status = KP_OK;

	for (size_t k = number + 1; k <= number + row->children && status == KP_OK; k++) {
		const struct kp_ranked_row *kernel = &tui->rank.rows[k];
		if (all ? kernel->shares.kernel_pct >= tui->least_pct : passes(tui, kernel))
			status = kp_tui_add(tui, item_of(tui, k, false));
	}
	return status == KP_OK ? kp_table_sort(tui, first, tui->item_count - first) : status;
}

enum kp_status kp_page_operators_fill(struct kp_tui *tui)
{
	struct kp_item *operators;
	enum kp_status status;
	size_t count;

	tui->item_count = 0;
	status = add_operators(tui);
	count = tui->item_count;
	if (status != KP_OK || count == 0)
		return status;
	operators = calloc(count, sizeof *operators);
	if (!operators)
		return KP_NO_MEMORY;
	memcpy(operators, tui->items, count * sizeof *operators);
	tui->item_count = 0;
	for (size_t i = 0; i < count && status == KP_OK; i++) {
		status = kp_tui_add(tui, operators[i]);
		if (status == KP_OK && operators[i].open)
			status = add_kernels(tui, operators[i].index);
	}
	free(operators);
	return status;
}

/* The advice below the rows, where there is room to spare. */
void kp_page_operators_draw(struct kp_tui *tui, struct kp_area area)
{
	const struct kp_report *report = tui->report;
	const char *advice =
		report && tui->part.complete && tui->item_count ? report->advice : NULL;
	size_t row;

	kp_table_draw(tui, area);
	row = tui->body.row + tui->item_count + 1;
	if (!advice || row + 3 > area.row + area.rows)
		return;
	struct kp_sheet sheet = {0};
	kp_sheet_clear(&sheet);
	kp_sheet_say(&sheet, KP_ROLE_DIM, area.columns - 2, NULL, "%s", advice);
	if (sheet.count <= area.row + area.rows - row)
		kp_sheet_draw(&sheet, &tui->canvas,
			      (struct kp_area){row, 1, sheet.count, area.columns - 1}, 0);
	kp_sheet_fini(&sheet);
}

void kp_page_operators_enter(struct kp_tui *tui)
{
	const struct kp_item *item = kp_tui_selected(tui);

	if (!item)
		return;
	if (item->opens)
		set_open(tui, row_of(tui, item), !item->open);
	else if (!tui->part.complete)
		kp_tui_say(tui, "Kernels can be opened once the whole trace is read.");
	else
		kp_tui_open_kernel(tui, row_of(tui, item)->kernel);
}

/* Opens or closes the operator of the selected row, and selects it. */
static void fold(struct kp_tui *tui, bool open)
{
	struct kp_list *list = kp_tui_list(tui);
	size_t at = list->selected;

	if (at >= tui->item_count)
		return;
	while (at > 0 && tui->items[at].depth > 0)
		at--;
	set_open(tui, row_of(tui, &tui->items[at]), open);
	if (!open)
		list->selected = at;
}

static void fold_all(struct kp_tui *tui, bool open)
{
	for (size_t i = 0; i < tui->rank.count; i += 1 + tui->rank.rows[i].children)
		set_open(tui, &tui->rank.rows[i], open);
	if (!open)
		kp_tui_list(tui)->selected = 0;
}

void kp_page_operators_select(struct kp_tui *tui, const char *name, size_t kernel)
{
	struct kp_list *list = &tui->lists[KP_PAGE_OPERATORS];

	list->filter[0] = '\0';
	tui->least_pct = 0;
	for (size_t i = 0; i < tui->rank.count; i++) {
		if (tui->rank.rows[i].operator_row == KP_RANK_NONE &&
		    strcmp(tui->rank.rows[i].name, name) == 0)
			set_open(tui, &tui->rank.rows[i], true);
	}
	if (kp_page_operators_fill(tui) != KP_OK)
		return;
	for (size_t i = 0; i < tui->item_count; i++) {
		const struct kp_ranked_row *row = row_of(tui, &tui->items[i]);
		bool is_operator = row->operator_row == KP_RANK_NONE;
		if (kernel < tui->report->kernel_count
			    ? row->kernel == kernel
			    : is_operator && strcmp(row->name, name) == 0)
			list->selected = i;
	}
}

void kp_do_expand(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	fold(tui, true);
}

void kp_do_collapse(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	fold(tui, false);
}

void kp_do_expand_all(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	fold_all(tui, true);
}

void kp_do_collapse_all(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	fold_all(tui, false);
}

void kp_do_gauge(struct kp_tui *tui, uint32_t code)
{
	struct kp_list *list = kp_tui_list(tui);

	(void)code;
	tui->gauge = (enum kp_gauge)((tui->gauge + 1) % KP_GAUGES);
	if (list->sort == SIZE_MAX) /* the order of the page is that of the first */
		list->sort = SHARE_COLUMN;
	tui->stale = true;
	kp_tui_say(tui, "Shares and bars are %s.", gauges[tui->gauge].words);
}

static void set_least(struct kp_tui *tui, const char *text)
{
	char *end;
	double least = strtod(text, &end);

	if (*end || !(least >= 0 && least <= 100)) {
		kp_tui_say(tui, "«%s» is no percentage.", text);
		return;
	}
	tui->least_pct = least;
	tui->stale = true;
}

void kp_do_least(struct kp_tui *tui, uint32_t code)
{
	char text[32] = "";

	(void)code;
	if (tui->least_pct > 0)
		snprintf(text, sizeof text, "%g", tui->least_pct);
	kp_prompt_open(tui, "Hide rows below percent of kernel time: ", text, set_least);
}
