/* The plan: assumptions that are edited, and what follows from them; see pages.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/humanise.h"
#include "profiler/plan_rows.h"
#include "tui/keys.h"
#include "tui/state.h"
#include "tui/table.h"

#define FIGURE_COLUMNS 13

enum { FIELD_ROW, TARGET_ROW };

/* What can be assumed of the fleet; 0: nothing is. */
static const struct field {
	const char *name;
	size_t offset; /* of the number in struct kp_plan_inputs */
	double least, most;
} fields[] = {
	{"GPUs that do this work", offsetof(struct kp_plan_inputs, fleet.gpus), 1, 1e9},
	{"price of a GPU", offsetof(struct kp_plan_inputs, fleet.gpu_price), 1e-6, 1e12},
	{"price of an hour of a GPU", offsetof(struct kp_plan_inputs, fleet.gpu_hour), 1e-6, 1e12},
	{"hours a year", offsetof(struct kp_plan_inputs, fleet.hours_per_year), 1, 8784},
	{"price of a kilowatt-hour", offsetof(struct kp_plan_inputs, fleet.kwh_price), 1e-6, 1e12},
	{"watts of a GPU", offsetof(struct kp_plan_inputs, fleet.gpu_watts), 1e-6, 1e6},
	{"tokens a second, of all GPUs",
	 offsetof(struct kp_plan_inputs, fleet.units_per_s[KP_PLAN_UNIT_TOKENS]), 1e-6, 1e15},
	{"requests a second, of all GPUs",
	 offsetof(struct kp_plan_inputs, fleet.units_per_s[KP_PLAN_UNIT_REQUESTS]), 1e-6, 1e15},
	{"weeks of work for an operator", offsetof(struct kp_plan_inputs, fleet.engineer_weeks),
	 1e-6, 1e6},
	{"price of such a week", offsetof(struct kp_plan_inputs, fleet.engineer_week), 1e-6, 1e12},
	{"percent of a goal that is realistic", offsetof(struct kp_plan_inputs, realistic_pct), 1,
	 100},
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)

static double *number_of(struct kp_plan_inputs *inputs, const struct field *field)
{
	return (double *)(void *)((char *)inputs + field->offset);
}

static const char *target_name(const struct kp_tui *tui, const struct kp_item *item)
{
	return item->index == 0 ? KP_PLAN_WHOLE : tui->report->operators[item->index - 1].name;
}

static double value_number(const struct kp_tui *tui, const struct kp_item *item)
{
	struct kp_plan_inputs inputs = tui->plan.inputs;

	return item->kind == FIELD_ROW ? *number_of(&inputs, &fields[item->index])
				       : kp_plan_edit_target_of(&tui->plan, target_name(tui, item));
}

static void value_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	double value = value_number(tui, item);

	if (value == 0)
		snprintf(out->text, sizeof out->text, "-");
	else
		snprintf(out->text, sizeof out->text, item->kind == TARGET_ROW ? "%.10gx" : "%.10g",
			 value);
}

// clang-format off
const struct kp_column kp_page_plan_columns[KP_PLAN_COLUMNS] = {
	{"Value", NULL, "what is assumed", 12, false, false, 0, value_text, value_number, NULL},
};
// clang-format on

const char *kp_page_plan_name(const struct kp_tui *tui, const struct kp_item *item)
{
	static char name[128]; /* overwritten by the next call, which all callers allow for */

	if (item->kind == FIELD_ROW)
		return fields[item->index].name;
	snprintf(name, sizeof name, "target of %s", target_name(tui, item));
	return name;
}

enum kp_status kp_page_plan_fill(struct kp_tui *tui)
{
	enum kp_status status;

	tui->item_count = 0;
	if (!tui->report || !tui->part.complete)
		return KP_OK;
	status = kp_table_fill(tui, tui->report->operator_count + 1, TARGET_ROW);
	if (status == KP_OK)
		status = kp_table_fill(tui, FIELD_COUNT, FIELD_ROW);
	if (status == KP_OK)
		status = kp_plan_edit_make(&tui->plan, tui->report);
	return status;
}

static void set_value(struct kp_tui *tui, const char *text)
{
	const struct kp_item *item = kp_tui_selected(tui);
	char *end;
	double value = strtod(text, &end);

	if (!item)
		return;
	if (item->kind == TARGET_ROW && *end == 'x')
		end++;
	bool target = item->kind == TARGET_ROW;
	double least = target ? 1 : fields[item->index].least;
	double most = target ? 1e6 : fields[item->index].most;
	if (*end || (value != 0 && !(value >= least && value <= most))) {
		kp_tui_say(tui, "«%s» cannot be: a number from %g to %g, or 0 for none.", text,
			   least, most);
		return;
	}
	if (target && !kp_plan_edit_target(&tui->plan, target_name(tui, item), value)) {
		kp_tui_say(tui, "There are too many targets.");
		return;
	}
	if (!target) {
		*number_of(&tui->plan.inputs, &fields[item->index]) = value;
		kp_plan_edit_reset(&tui->plan);
	}
	tui->stale = true;
}

void kp_page_plan_enter(struct kp_tui *tui)
{
	const struct kp_item *item = kp_tui_selected(tui);
	char text[48] = "";

	if (!item)
		return;
	double value = value_number(tui, item);
	if (value != 0)
		snprintf(text, sizeof text, "%.10g", value);
	kp_prompt_open(tui,
		       item->kind == TARGET_ROW ? "Times as fast (0: no target): "
						: "Value (0: none): ",
		       text, set_value);
}

/* The card of the selected target; else of the whole. */
static const struct kp_plan_card *card_of(const struct kp_tui *tui)
{
	const struct kp_plan *plan = tui->plan.plan;
	const struct kp_item *item = kp_tui_selected(tui);
	const char *name = item && item->kind == TARGET_ROW ? target_name(tui, item) : NULL;

	for (size_t i = 0; name && i < plan->card_count; i++) {
		if (strcmp(plan->cards[i].name, name) == 0)
			return &plan->cards[i];
	}
	return name ? NULL : &plan->cards[0];
}

static bool has_figure(const struct kp_figure *figure, const struct kp_plan_column *columns,
		       size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any |= !isnan(kp_figure_of(figure, columns[i].outcome));
	return any;
}

static void say_figures(struct kp_sheet *sheet, const struct kp_plan_column *columns, size_t count)
{
	char line[256];
	size_t used = (size_t)snprintf(line, sizeof line, "%-31s", "");

	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(line + used, sizeof line - used, "%*s", FIGURE_COLUMNS,
					 columns[i].title);
	kp_sheet_line(sheet, KP_ROLE_HEAD, line);
	for (const struct kp_figure *figure = kp_figures; figure->key; figure++) {
		if (!has_figure(figure, columns, count))
			continue;
		used = (size_t)snprintf(line, sizeof line, "%-31s", figure->label);
		for (size_t i = 0; i < count; i++)
			used += (size_t)snprintf(
				line + used, sizeof line - used, "%*s", FIGURE_COLUMNS,
				kp_figure_print(figure->kind,
						kp_figure_of(figure, columns[i].outcome))
					.text);
		kp_sheet_line(sheet, KP_ROLE_PLAIN, line);
	}
}

static void say_card(const struct kp_tui *tui, struct kp_sheet *sheet, size_t width)
{
	const struct kp_plan_card *card = card_of(tui);
	struct kp_plan_column columns[KP_PLAN_LEVELS];
	struct kp_plan_line lines[KP_PLAN_LINES_MAX];
	size_t count;

	if (!card) {
		kp_sheet_say(sheet, KP_ROLE_DIM, width, NULL,
			     "This operator has no card: it is below the threshold, and has no "
			     "target. Enter gives it one.");
		return;
	}
	say_figures(sheet, columns, kp_plan_shown(card, columns));
	count = kp_plan_together(tui->plan.plan, columns);
	if (count > 0) {
		kp_sheet_head(sheet, "All targets together");
		say_figures(sheet, columns, count);
	}
	kp_sheet_line(sheet, KP_ROLE_PLAIN, "");
	count = kp_plan_lines(tui->report, card, NULL, lines);
	for (size_t i = 0; i < count; i++)
		kp_sheet_say(sheet, KP_ROLE_PLAIN, width, lines[i].label, "%s%s%s",
			     lines[i].name ? lines[i].name : "", lines[i].name ? " " : "",
			     lines[i].text);
	for (size_t i = 0; i < card->note_count; i++)
		kp_sheet_say(sheet, KP_ROLE_DIM, width, i ? "" : "Note", "%s", card->notes[i]);
}

void kp_page_plan_draw(struct kp_tui *tui, struct kp_area area)
{
	struct kp_area table = area, card = area;
	struct kp_sheet sheet = {0};

	table.rows = area.rows > 8 ? area.rows * 2 / 5 : area.rows;
	if (tui->item_count > 0 && table.rows > tui->item_count + 1)
		table.rows = tui->item_count + 1;
	kp_table_draw(tui, table);
	if (tui->item_count == 0 || table.rows + 2 > area.rows)
		return;
	card.row += table.rows + 1;
	card.rows -= table.rows + 1;
	kp_canvas_fill(&tui->canvas, card.row - 1, 0, area.columns, 0x2500, KP_ROLE_AXIS);
	kp_sheet_clear(&sheet);
	if (tui->plan.plan)
		say_card(tui, &sheet, area.columns - 1);
	else
		kp_sheet_say(&sheet, KP_ROLE_WARNING, area.columns - 1, NULL, "%s",
			     tui->plan.error);
	card.column = 1;
	card.columns = area.columns - 1;
	kp_sheet_draw(&sheet, &tui->canvas, card, 0);
	kp_sheet_fini(&sheet);
}
