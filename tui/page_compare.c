/* Two traces side by side, largest changes first; see pages.h and diff.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "profiler/humanise.h"
#include "tui/state.h"
#include "tui/table.h"

#define DIGITS 3

enum { GROUP_ROW, PART_ROW };

static const struct kp_diff_group *group_of(const struct kp_tui *tui, const struct kp_item *item)
{
	return item->kind == GROUP_ROW ? &tui->diff->groups[item->index] : NULL;
}

static const struct kp_diff_side *side_of(const struct kp_tui *tui, const struct kp_item *item,
					  int side)
{
	const struct kp_diff_group *group = group_of(tui, item);

	return group ? &group->sides[side] : &tui->diff->rows[item->index].sides[side];
}

static int64_t change_of(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_diff_group *group = group_of(tui, item);

	return group ? group->change_ps : tui->diff->rows[item->index].change_ps;
}

/* Picoseconds with a sign. */
static void print_change(int64_t change_ps, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s%s",
		 change_ps < 0   ? "-"
		 : change_ps > 0 ? "+"
				 : "",
		 kp_human_duration(fabs((double)change_ps) / 1000, DIGITS).text);
}

static void change_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	print_change(change_of(tui, item), out);
	if (item->kind == GROUP_ROW)
		out->role = change_of(tui, item) > 0   ? KP_ROLE_HOT
			    : change_of(tui, item) < 0 ? KP_ROLE_GOOD
						       : KP_ROLE_PLAIN;
}

static void percent_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	double base_ps = (double)side_of(tui, item, 0)->time_ps;
	double change_pct = 100 * (double)change_of(tui, item) / base_ps;

	if (base_ps > 0 && change_pct < 99999)
		snprintf(out->text, sizeof out->text, change_pct < 1000 ? "%+.1f%%" : "%+.0f%%",
			 change_pct);
	else if (base_ps > 0)
		snprintf(out->text, sizeof out->text, ">99999%%");
	else
		snprintf(out->text, sizeof out->text, "-");
}

#define SIDE(name, side)                                                                           \
	static void name##_text(const struct kp_tui *tui, const struct kp_item *item,              \
				struct kp_value *out)                                              \
	{                                                                                          \
		const struct kp_diff_side *of = side_of(tui, item, side);                          \
                                                                                                   \
		snprintf(out->text, sizeof out->text, "%s",                                        \
			 kp_human_duration((double)of->time_ps / 1000, DIGITS).text);              \
	}                                                                                          \
	static void name##_calls_text(const struct kp_tui *tui, const struct kp_item *item,        \
				      struct kp_value *out)                                        \
	{                                                                                          \
		snprintf(out->text, sizeof out->text, "%.6g", side_of(tui, item, side)->calls);    \
	}
SIDE(base, 0)
SIDE(fresh, 1)

static void match_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	const struct kp_diff_row *row = &tui->diff->rows[item->index];

	if (item->kind == PART_ROW && row->kind == KP_DIFF_KERNEL)
		snprintf(out->text, sizeof out->text, "%s", kp_diff_match_name(row->match));
}

// clang-format off
const struct kp_column kp_page_compare_columns[KP_COMPARE_COLUMNS] = {
	{"Change", NULL, "of the time of a unit", 8, false, false, 0, change_text, NULL, NULL},
	{"of it", NULL, "of the base side's time", 7, false, false, 4, percent_text, NULL, NULL},
	{"Base", NULL, "time of a unit on the base side", 7, false, false, 0,
	 base_text, NULL, NULL},
	{"New", NULL, "time of a unit on the new side", 7, false, false, 0,
	 fresh_text, NULL, NULL},
	{"Calls", NULL, "launches a unit on the base side", 6, false, false, 1,
	 base_calls_text, NULL, NULL},
	{"New", NULL, "launches a unit on the new side", 6, false, false, 2,
	 fresh_calls_text, NULL, NULL},
	{"Match", NULL, "how the kernel was found on the other side", 8, true, false, 3,
	 match_text, NULL, NULL},
};
// clang-format on

const char *kp_page_compare_name(const struct kp_tui *tui, const struct kp_item *item)
{
	static const char *const causes[KP_GAP_CAUSE_COUNT + 1] = {
#define WORDS(name, key, words) [KP_GAP_##name] = (words),
		KP_GAP_CAUSES(WORDS)
#undef WORDS
			[KP_GAP_CAUSE_COUNT] = "without a cause",
	};
	const struct kp_diff_group *group = group_of(tui, item);
	const struct kp_diff_row *row;

	if (group)
		return group->name;
	row = &tui->diff->rows[item->index];
	if (row->kind == KP_DIFF_IDLE)
		return causes[row->cause < KP_GAP_CAUSE_COUNT ? row->cause : KP_GAP_CAUSE_COUNT];
	if (row->kernels[1] || row->kernels[0])
		return (row->kernels[1] ? row->kernels[1] : row->kernels[0])->shortened;
	return tui->diff->groups[row->group].name;
}

enum kp_status kp_page_compare_fill(struct kp_tui *tui)
{
	const struct kp_diff *diff = tui->diff;
	const char *filter = kp_tui_list(tui)->filter;
	enum kp_status status = KP_OK;

	tui->item_count = 0;
	for (size_t i = 0; diff && i < diff->group_count && status == KP_OK; i++) {
		const struct kp_diff_group *group = &diff->groups[i];
		bool all = kp_tui_holds(group->name, filter);
		const struct kp_item head = {.index = i, .kind = GROUP_ROW, .role = KP_ROLE_STRONG};
		status = kp_tui_add(tui, head);
		for (size_t k = 0; k < group->row_count && status == KP_OK; k++) {
			const struct kp_item part = {
				.index = group->first_row + k, .kind = PART_ROW, .depth = 1};
			if (all || kp_tui_holds(kp_page_compare_name(tui, &part), filter))
				status = kp_tui_add(tui, part);
		}
		if (!all && tui->item_count && tui->items[tui->item_count - 1].kind == GROUP_ROW)
			tui->item_count--; /* nothing beneath it passes */
	}
	return status;
}

/* The verdict and what it rests on, above the rows. */
static void say_verdict(const struct kp_diff *diff, struct kp_sheet *sheet, size_t width)
{
	const struct kp_effect *effect = &diff->effect;
	struct kp_value change = {.text = ""};

	print_change(diff->change_ps, &change);
	kp_sheet_say(sheet, KP_ROLE_STRONG, width, "Verdict", "%s", kp_verdict_name(diff->verdict));
	kp_sheet_say(sheet, KP_ROLE_PLAIN, width, "A unit", "%s, then %s: %s%s",
		     kp_human_duration((double)diff->totals[0].length_ps / 1000, 4).text,
		     kp_human_duration((double)diff->totals[1].length_ps / 1000, 4).text,
		     change.text, diff->unit == KP_UNIT_STEP ? " an iteration" : " the whole run");
	if (effect->known)
		kp_sheet_say(sheet, KP_ROLE_PLAIN, width, "Typical",
			     "%+.2f %%, 95 %% interval %+.2f to %+.2f %%", effect->change_pct,
			     effect->low_pct, effect->high_pct);
	for (size_t i = 0; i < diff->obstacle_count; i++)
		kp_sheet_say(sheet, KP_ROLE_WARNING, width, i ? "" : "But", "%s: %s",
			     kp_diff_reason_words(diff->obstacles[i].reason),
			     diff->obstacles[i].detail);
}

void kp_page_compare_draw(struct kp_tui *tui, struct kp_area area)
{
	struct kp_sheet sheet = {0};
	size_t head;

	kp_sheet_clear(&sheet);
	if (tui->diff)
		say_verdict(tui->diff, &sheet, area.columns - 1);
	else
		kp_sheet_say(&sheet, KP_ROLE_DIM, area.columns - 1, NULL, "%s",
			     tui->source.base ? "Reading both traces ..."
					      : "There is no trace to compare with: kprof tui "
						"--against BASE FILE shows what changed.");
	head = sheet.count < area.rows / 2 ? sheet.count : area.rows / 2;
	kp_sheet_draw(&sheet, &tui->canvas, (struct kp_area){area.row, 1, head, area.columns - 1},
		      0);
	kp_sheet_fini(&sheet);
	tui->body = (struct kp_area){.row = area.row};
	if (!tui->diff || area.rows < head + 2)
		return;
	area.row += head;
	area.rows -= head;
	kp_table_draw(tui, area);
}

/* The kernel on the new side. */
void kp_page_compare_enter(struct kp_tui *tui)
{
	const struct kp_item *item = kp_tui_selected(tui);
	const struct kp_run_row *row =
		item && item->kind == PART_ROW ? tui->diff->rows[item->index].kernels[1] : NULL;

	for (size_t i = 0; row && i < tui->report->kernel_count; i++) {
		if (strcmp(tui->report->kernels[i].mangled, row->mangled) == 0) {
			kp_tui_open_kernel(tui, i);
			return;
		}
	}
	kp_tui_say(tui, "This row is no kernel of %s.", tui->source.paths[0]);
}
