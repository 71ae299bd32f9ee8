/* One kernel, or range, of a running program; see pages.h. */
#include <math.h>

#include "profiler/humanise.h"
#include "tui/live.h"

static const struct kp_top_row *find(const struct kp_tui *tui)
{
	enum kp_top_group group = tui->top->shown_group;

	for (size_t i = 0; i < tui->top->row_counts[group]; i++)
		if (tui->top->rows[group][i].key == tui->kernel)
			return &tui->top->rows[group][i];
	return NULL;
}

/* A sparkline of the last minute, and its highest. */
static void say_history(struct kp_tui *tui, const char *label, const double *numbers, bool calls)
{
	size_t columns = tui->canvas.columns > KP_SHEET_LABEL + 8
				 ? tui->canvas.columns - KP_SHEET_LABEL - 2
				 : 8;
	char line[4 * KP_TOP_HISTORY + 4];
	double most = 0;

	for (size_t i = 0; i < KP_TOP_HISTORY; i++)
		most = fmax(most, numbers[i]);
	if (columns > KP_TOP_HISTORY)
		columns = KP_TOP_HISTORY;
	kp_live_sparkline(numbers, KP_TOP_HISTORY, columns, most, line, sizeof line);
	kp_sheet_row(&tui->sheet, KP_ROLE_BAR, label, line);
	kp_sheet_say(&tui->sheet, KP_ROLE_DIM, tui->canvas.columns, "", "highest %s in a second",
		     calls ? kp_human_count((uint64_t)most).text : kp_human_duration(most, 3).text);
}

static void say_figures(struct kp_tui *tui, const struct kp_top_row *row)
{
	size_t columns = tui->canvas.columns;

	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, columns, "share", "%.1f %%", row->share_pct);
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, columns, "time", "%s a second, %s in all",
		     kp_human_duration(row->ns_per_s, 3).text,
		     kp_human_duration(row->total_ns, 3).text);
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, columns, "calls", "%s a second, %s in all",
		     kp_live_rate(row->calls_per_s).text, kp_human_count(row->calls).text);
	if (!isnan(row->mean_ns))
		kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, columns, "each",
			     "%s on average; since the start %s to %s",
			     kp_human_duration(row->mean_ns, 3).text,
			     kp_human_duration(row->least_ns, 3).text,
			     kp_human_duration(row->most_ns, 3).text);
	if (row->places > 1)
		kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, columns, "places",
			     "%zu processes and GPUs", row->places);
}

enum kp_status kp_page_live_kernel_fill(struct kp_tui *tui)
{
	const struct kp_top_row *row = find(tui);
	size_t columns = tui->canvas.columns;

	tui->item_count = 0;
	kp_sheet_clear(&tui->sheet);
	if (!row) {
		kp_sheet_line(&tui->sheet, KP_ROLE_DIM, "It has not run in what is shown.");
		return tui->sheet.status;
	}
	kp_sheet_head(&tui->sheet, row->name[0] ? row->name : "(no name)");
	say_figures(tui, row);
	kp_sheet_head(&tui->sheet, "The last minute");
	say_history(tui, "time", row->history, false);
	say_history(tui, "calls", row->calls_history, true);
	kp_sheet_head(&tui->sheet, "Name");
	if (tui->top->shown_group == KP_TOP_KERNELS && row->operator_index != KP_TOP_ALL)
		kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, columns, "operator", "%s: %s",
			     kp_operators_name(tui->top->source.operators, row->operator_index),
			     kp_operators_about(tui->top->source.operators, row->operator_index));
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, columns, "in full", "%s", row->full);
	return tui->sheet.status;
}
