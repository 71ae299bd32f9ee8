/* Rules of A/B in running programs, and one of them in full; see pages.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/humanise.h"
#include "tui/actions.h"
#include "tui/live.h"
#include "tui/table.h"
#include "tui/top_rules.h"

#define SPARK_COLUMNS 12
#define CELL 8 /* columns of a figure on the page of one rule */

static const struct kp_top_rule *rule_of(const struct kp_tui *tui, const struct kp_item *item)
{
	return &tui->top->rules[item->index];
}

/* ---- cells ---- */

/* A word, and what it means. */
struct state {
	const char *word, *about;
	enum kp_role role;
};

static struct state state_of(const struct kp_top_rule *rule)
{
	if (rule->wrong)
		return (struct state){"wrong", "a result was wrong: it is taken back for good",
				      KP_ROLE_HOT};
	if (rule->off == rule->processes)
		return (struct state){"off", "the originals run", KP_ROLE_WARNING};
	if (rule->off)
		return (struct state){"partly", "in some of the processes the originals run",
				      KP_ROLE_WARNING};
	if (!rule->seen)
		return (struct state){"unseen", "no launch was of a kernel that it names",
				      KP_ROLE_DIM};
	if (!rule->fitted)
		return (struct state){"unfit", "no launch was as it wants it", KP_ROLE_DIM};
	if (rule->shadow)
		return (struct state){"comparing", "results are compared only", KP_ROLE_PLAIN};
	if (!rule->replaced)
		return (struct state){"comparing", "nothing has been replaced so far",
				      KP_ROLE_PLAIN};
	return (struct state){"on", "launches that it fits are replaced", KP_ROLE_GOOD};
}

static void state_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	struct state state = state_of(rule_of(tui, item));

	snprintf(out->text, sizeof out->text, "%s", state.word);
	out->role = state.role;
}

static struct kp_human change_of(double change_pct)
{
	struct kp_human text = {"-"};

	if (!isnan(change_pct))
		snprintf(text.text, sizeof text.text,
			 fabs(change_pct) < 1000 ? "%+.1f%%" : "%+.0f%%", fmin(change_pct, 99999));
	return text;
}

static struct kp_human time_of(double ns)
{
	const struct kp_human none = {"-"};

	return isnan(ns) ? none : kp_human_duration(ns, 3);
}

static struct kp_human rate_of(const struct kp_top_stretch *stretch, double per_s)
{
	const struct kp_human none = {"-"};

	return stretch->seconds > 0 ? kp_live_rate(per_s) : none;
}

#define NUMBER(name, value)                                                                        \
	static double name##_number(const struct kp_tui *tui, const struct kp_item *item)          \
	{                                                                                          \
		const struct kp_top_rule *rule = rule_of(tui, item);                               \
                                                                                                   \
		return (double)(value);                                                            \
	}
NUMBER(fits, rule->since.fitted_per_s)
NUMBER(fitted_before, rule->before.fitted_per_s)
NUMBER(change, kp_top_change_pct(rule->before.fitted_per_s, rule->since.fitted_per_s))
NUMBER(each, kp_top_each_ns(&rule->since))
NUMBER(each_before, kp_top_each_ns(&rule->before))
NUMBER(replaced, rule->replaced)
NUMBER(seen, rule->seen)

#define TEXT(name, value)                                                                          \
	static void name##_text(const struct kp_tui *tui, const struct kp_item *item,              \
				struct kp_value *out)                                              \
	{                                                                                          \
		const struct kp_top_rule *rule = rule_of(tui, item);                               \
                                                                                                   \
		snprintf(out->text, sizeof out->text, "%s", (value).text);                         \
	}
TEXT(fits, rate_of(&rule->since, rule->since.fitted_per_s))
TEXT(fitted_before, rate_of(&rule->before, rule->before.fitted_per_s))
TEXT(change, change_of(kp_top_change_pct(rule->before.fitted_per_s, rule->since.fitted_per_s)))
TEXT(each, time_of(kp_top_each_ns(&rule->since)))
TEXT(each_before, time_of(kp_top_each_ns(&rule->before)))
TEXT(replaced, kp_human_count(rule->replaced))
TEXT(seen, kp_human_count(rule->seen))

static void spark_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	const struct kp_top_rule *rule = rule_of(tui, item);
	double most = 0;

	for (size_t i = 0; i < KP_TOP_HISTORY; i++)
		most = fmax(most, rule->history[i]);
	kp_live_sparkline(rule->history, KP_TOP_HISTORY, SPARK_COLUMNS, most, out->text,
			  sizeof out->text);
}

// clang-format off
const struct kp_column kp_page_live_rules_columns[KP_LIVE_RULES_COLUMNS] = {
	{"State", NULL, "whether it replaces what it fits; x switches it", 9, true, false, 0,
	 state_text, NULL, NULL},
	{"Was/s", NULL, "launches a second that it fits, before it was last switched", 7, false,
	 false, 5, fitted_before_text, fitted_before_number, NULL},
	{"Fits/s", NULL, "the same since then: launches that it fits come whether or not they are "
	 "replaced", 7, false, false, 7, fits_text, fits_number, NULL},
	{"Change", NULL, "of that; more is faster", 7, false, false, 0,
	 change_text, change_number, NULL},
	{"Was each", NULL, "time of all kernels for each launch that it fits, before it was last "
	 "switched", 8, false, false, 3, each_before_text, each_before_number, NULL},
	{"Each", NULL, "the same since then; less is faster", 7, false, false, 4,
	 each_text, each_number, NULL},
	{"Replaced", NULL, "launches that the program saw replaced", 9, false, false, 2,
	 replaced_text, replaced_number, NULL},
	{"Seen", NULL, "launches that the rule was asked about", 9, false, false, 1,
	 seen_text, seen_number, NULL},
	{"Last minute", NULL, "launches that it fits, of its own most", SPARK_COLUMNS, true, false,
	 1, spark_text, NULL, NULL},
};
// clang-format on

const char *kp_page_live_rules_name(const struct kp_tui *tui, const struct kp_item *item)
{
	return rule_of(tui, item)->name;
}

enum kp_status kp_page_live_rules_fill(struct kp_tui *tui)
{
	tui->item_count = 0;
	return kp_table_fill(tui, tui->top->rule_count, 0);
}

void kp_page_live_rules_enter(struct kp_tui *tui)
{
	const struct kp_item *item = kp_tui_selected(tui);

	if (!item)
		return;
	memcpy(tui->top->rule, rule_of(tui, item)->name, sizeof tui->top->rule);
	kp_tui_open(tui, KP_PAGE_LIVE_RULE);
}

/* ---- one of them ---- */

static const struct kp_top_rule *find(const struct kp_top *top)
{
	for (size_t i = 0; i < top->rule_count; i++)
		if (strcmp(top->rules[i].name, top->rule) == 0)
			return &top->rules[i];
	return NULL;
}

/* Three cells to the right of their columns. */
static void say_cells(struct kp_tui *tui, enum kp_role role, const char *label,
		      const char *const cells[3])
{
	char line[192] = "";
	size_t used = 0;

	for (size_t i = 0; i < 3 && used < sizeof line; i++) {
		size_t columns = kp_canvas_width(cells[i]);

		used += (size_t)snprintf(line + used, sizeof line - used, "%*s%s",
					 columns < CELL ? (int)(CELL - columns) : 0, "", cells[i]);
	}
	kp_sheet_row(&tui->sheet, role, label, line);
}

static void say_line(struct kp_tui *tui, const char *label, struct kp_human earlier,
		     struct kp_human since, double change_pct)
{
	const struct kp_human change = change_of(change_pct);

	say_cells(tui, KP_ROLE_PLAIN, label,
		  (const char *const[]){earlier.text, since.text, change.text});
}

#define RATE(tui, label, rule, member)                                                             \
	say_line(tui, label, rate_of(&(rule)->before, (rule)->before.member),                      \
		 rate_of(&(rule)->since, (rule)->since.member),                                    \
		 kp_top_change_pct((rule)->before.member, (rule)->since.member))

static void say_effect(struct kp_tui *tui, const struct kp_top_rule *rule)
{
	const struct kp_top_stretch *earlier = &rule->before, *since = &rule->since;
	double each_before = kp_top_each_ns(earlier), each = kp_top_each_ns(since);

	kp_sheet_head(&tui->sheet,
		      rule->switched_ns ? "Before it was last switched, and since" : "Now");
	say_cells(tui, KP_ROLE_HEAD, "a second",
		  (const char *const[]){"before", "since", "change"});
	RATE(tui, "fits", rule, fitted_per_s);
	RATE(tui, "replaced", rule, replaced_per_s);
	RATE(tui, "kernels", rule, kernels_per_s);
	if (tui->top->source.unit_range)
		RATE(tui, "units", rule, units_per_s);
	say_line(tui, "kernel time", time_of(each_before), time_of(each),
		 kp_top_change_pct(each_before, each));
	if (earlier->seconds > 0 && since->seconds > 0)
		kp_sheet_say(&tui->sheet, KP_ROLE_DIM, tui->canvas.columns, "",
			     "by %.0f s before and %.0f s since; kernel time is that of all "
			     "kernels for each launch that the rule fits",
			     earlier->seconds, since->seconds);
	else if (rule->switched_ns)
		kp_sheet_say(&tui->sheet, KP_ROLE_DIM, tui->canvas.columns, "",
			     "the first full second after the switch is not over");
}

static void say_history(struct kp_tui *tui, const struct kp_top_rule *rule)
{
	size_t columns = tui->canvas.columns > KP_SHEET_LABEL + 8
				 ? tui->canvas.columns - KP_SHEET_LABEL - 2
				 : 8;
	char line[4 * KP_TOP_HISTORY + 4];
	double most = 0;

	for (size_t i = 0; i < KP_TOP_HISTORY; i++)
		most = fmax(most, rule->history[i]);
	kp_live_sparkline(rule->history, KP_TOP_HISTORY,
			  columns < KP_TOP_HISTORY ? columns : KP_TOP_HISTORY, most, line,
			  sizeof line);
	kp_sheet_head(&tui->sheet, "The last minute");
	kp_sheet_row(&tui->sheet, KP_ROLE_BAR, "fits", line);
	kp_sheet_say(&tui->sheet, KP_ROLE_DIM, tui->canvas.columns, "", "most %s in a second",
		     kp_human_count((uint64_t)most).text);
}

static void say_counts(struct kp_tui *tui, const struct kp_top_rule *rule)
{
	size_t columns = tui->canvas.columns;

	kp_sheet_head(&tui->sheet, "Launches since the program began");
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, columns, "seen", "%s",
		     kp_human_count(rule->seen).text);
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, columns, "fitted", "%s",
		     kp_human_count(rule->fitted).text);
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, columns, "replaced", "%s, %s compared",
		     kp_human_count(rule->replaced).text, kp_human_count(rule->compared).text);
	if (rule->processes > 1)
		kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, columns, "processes",
			     "%u, off in %u, wrong in %u", rule->processes, rule->off, rule->wrong);
}

enum kp_status kp_page_live_rule_fill(struct kp_tui *tui)
{
	const struct kp_top_rule *rule = find(tui->top);
	struct state state;

	tui->item_count = 0;
	kp_sheet_clear(&tui->sheet);
	if (!rule) {
		kp_sheet_line(&tui->sheet, KP_ROLE_DIM, "No process that is shown has it.");
		return tui->sheet.status;
	}
	state = state_of(rule);
	kp_sheet_head(&tui->sheet, rule->name);
	kp_sheet_say(&tui->sheet, state.role, tui->canvas.columns, "state", "%s: %s", state.word,
		     state.about);
	say_effect(tui, rule);
	say_history(tui, rule);
	say_counts(tui, rule);
	return tui->sheet.status;
}

/* ---- the key ---- */

void kp_do_switch_rule(struct kp_tui *tui, uint32_t code)
{
	const struct kp_top_source *source = &tui->top->source;
	const struct kp_item *item = kp_tui_selected(tui);
	const struct kp_top_rule *rule = tui->page == KP_PAGE_LIVE_RULE ? find(tui->top)
					 : item                         ? rule_of(tui, item)
									: NULL;
	char words[sizeof tui->message] = "There is no rule to be switched here.";

	(void)code;
	if (rule && rule->wrong == rule->processes)
		snprintf(words, sizeof words,
			 "A result of %s was wrong: it is taken back for good.", rule->name);
	else if (rule && source->switch_rule)
		source->switch_rule(source->context, rule->name, rule->off != 0, words,
				    sizeof words);
	kp_tui_say(tui, "%s", words);
}
