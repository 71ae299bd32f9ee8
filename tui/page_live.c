/* Kernels, operators and ranges of a running program; see pages.h. */
#include <math.h>

#include "profiler/humanise.h"
#include "tui/live.h"
#include "tui/table.h"

#define SPARK_COLUMNS 12

static enum kp_top_group group_of(enum kp_page_id page)
{
	return page == KP_PAGE_LIVE_OPERATORS ? KP_TOP_OPERATORS
	       : page == KP_PAGE_LIVE_RANGES  ? KP_TOP_RANGES
					      : KP_TOP_KERNELS;
}

static const struct kp_top_row *row_of(const struct kp_tui *tui, const struct kp_item *item)
{
	return &tui->top->rows[group_of(tui->page)][item->index];
}

static void share_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%.1f %%", row_of(tui, item)->share_pct);
}

static void time_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s",
		 kp_human_duration(row_of(tui, item)->ns_per_s, 3).text);
}

static void calls_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s",
		 kp_live_rate(row_of(tui, item)->calls_per_s).text);
}

static void mean_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	double mean_ns = row_of(tui, item)->mean_ns;

	if (!isnan(mean_ns))
		snprintf(out->text, sizeof out->text, "%s", kp_human_duration(mean_ns, 3).text);
}

static void total_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s",
		 kp_human_duration(row_of(tui, item)->total_ns, 3).text);
}

static void count_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s", kp_human_count(row_of(tui, item)->calls).text);
}

static void places_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%zu", row_of(tui, item)->places);
}

/* Of its own highest, since rows differ by orders of magnitude. */
static void spark_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	const struct kp_top_row *row = row_of(tui, item);
	double sums[SPARK_COLUMNS] = {0}, most = 0;

	for (size_t i = 0; i < SPARK_COLUMNS; i++) {
		for (size_t k = 0; k < KP_TOP_HISTORY / SPARK_COLUMNS; k++)
			sums[i] += row->history[i * (KP_TOP_HISTORY / SPARK_COLUMNS) + k];
		most = fmax(most, sums[i]);
	}
	kp_live_sparkline(sums, SPARK_COLUMNS, SPARK_COLUMNS, most, out->text, sizeof out->text);
}

#define NUMBER(name, member)                                                                       \
	static double name(const struct kp_tui *tui, const struct kp_item *item)                   \
	{                                                                                          \
		return (double)row_of(tui, item)->member;                                          \
	}
NUMBER(share_number, share_pct)
NUMBER(time_number, ns_per_s)
NUMBER(calls_number, calls_per_s)
NUMBER(mean_number, mean_ns)
NUMBER(total_number, total_ns)
NUMBER(count_number, calls)
NUMBER(places_number, places)

// clang-format off
const struct kp_column kp_page_live_columns[KP_LIVE_COLUMNS] = {
	{"Share", NULL, "part of the time of all kernels, or ranges", 7, false, false, 0,
	 share_text, share_number, NULL},
	{"", NULL, "the same as a bar", 10, true, true, 2, NULL, share_number, NULL},
	{"Time/s", NULL, "how much of each second it takes, summed over streams and GPUs", 8, false,
	 false, 7, time_text, time_number, NULL},
	{"Calls/s", NULL, "how often it comes in a second", 8, false, false, 5,
	 calls_text, calls_number, NULL},
	{"Mean", NULL, "how long it takes on average", 8, false, false, 0,
	 mean_text, mean_number, NULL},
	{"Total", NULL, "how long it took in all", 8, false, false, 3,
	 total_text, total_number, NULL},
	{"Calls", NULL, "how often it came in all", 9, false, false, 4,
	 count_text, count_number, NULL},
	{"Places", NULL, "processes and GPUs that it is of", 6, false, false, 1,
	 places_text, places_number, NULL},
	{"Last minute", NULL, "time in each five seconds, of its own highest", SPARK_COLUMNS, true,
	 false, 6, spark_text, NULL, NULL},
};
// clang-format on

const char *kp_page_live_name(const struct kp_tui *tui, const struct kp_item *item)
{
	return row_of(tui, item)->name;
}

const char *kp_page_live_full(const struct kp_tui *tui, const struct kp_item *item)
{
	return row_of(tui, item)->full;
}

/* Kernels of one operator only, where one was gone into. */
static bool takes(const struct kp_tui *tui, enum kp_top_group group, size_t index)
{
	bool all = group != KP_TOP_KERNELS || tui->depth == 0 ||
		   tui->back[tui->depth - 1] != KP_PAGE_LIVE_OPERATORS;

	return all ||
	       tui->top->rows[group][index].operator_index == tui->top->choice.operator_index;
}

enum kp_status kp_page_live_fill(struct kp_tui *tui)
{
	enum kp_top_group group = group_of(tui->page);
	size_t kept = 0;
	enum kp_status status;

	tui->item_count = 0;
	status = kp_table_fill(tui, tui->top->row_counts[group], 0);
	for (size_t i = 0; i < tui->item_count; i++)
		if (takes(tui, group, tui->items[i].index))
			tui->items[kept++] = tui->items[i];
	tui->item_count = kept;
	return status;
}

void kp_page_live_draw(struct kp_tui *tui, struct kp_area area)
{
	kp_table_draw(tui, kp_live_draw_head(tui, area));
}

void kp_page_live_enter(struct kp_tui *tui)
{
	const struct kp_item *item = kp_tui_selected(tui);
	const struct kp_top_row *row = item ? row_of(tui, item) : NULL;

	if (!row)
		return;
	if (tui->page == KP_PAGE_LIVE_OPERATORS) {
		tui->top->choice.operator_index = row->operator_index;
		kp_tui_open(tui, KP_PAGE_LIVE_KERNELS);
		return;
	}
	tui->top->shown_group = group_of(tui->page);
	tui->kernel = row->key;
	kp_tui_open(tui, KP_PAGE_LIVE_KERNEL);
}
