/* What replaced kernels brought, by a report of kprof ab: its rules, and one in full; see pages.h.
 */
#include <inttypes.h>
#include <math.h>

#include "profiler/humanise.h"
#include "tui/ab_pages.h"
#include "tui/state.h"
#include "tui/table.h"

static const struct kp_ab_saved_rule *rule_of(const struct kp_tui *tui, const struct kp_item *item)
{
	return &tui->source.ab->rules[item->index];
}

/* What is told of a rule: of launches, else of whole graphs. */
static const struct kp_ab_saved_time *time_of(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_ab_saved_rule *rule = rule_of(tui, item);

	return rule->time.verdict == KP_AB_VERDICT_INCONCLUSIVE && !isnan(rule->replaced_each)
		       ? &rule->graphs
		       : &rule->time;
}

static enum kp_role role_of(enum kp_ab_verdict_id verdict)
{
	switch (verdict) {
	case KP_AB_VERDICT_FASTER:
		return KP_ROLE_GOOD;
	case KP_AB_VERDICT_WRONG:
	case KP_AB_VERDICT_SLOWER:
		return KP_ROLE_HOT;
	default:
		return KP_ROLE_PLAIN;
	}
}

static void verdict_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	const struct kp_ab_saved_rule *rule = rule_of(tui, item);
	bool none = rule->wrong == 0 && kp_ab_saved_replaced(rule) == 0;
	enum kp_ab_verdict_id verdict = time_of(tui, item)->verdict;

	snprintf(out->text, sizeof out->text, "%s",
		 rule->counts[KP_AB_COUNT_SEEN] == 0 ? "never seen"
		 : none                              ? "not replaced"
						     : kp_ab_verdict_name(verdict));
	out->role = none ? KP_ROLE_DIM : role_of(verdict);
}

static double change_number(const struct kp_tui *tui, const struct kp_item *item)
{
	return time_of(tui, item)->change_pct;
}

static void change_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	double change_pct = change_number(tui, item);

	if (isnan(change_pct))
		snprintf(out->text, sizeof out->text, "-");
	else
		snprintf(out->text, sizeof out->text, "%+.1f%%", change_pct);
}

static void interval_text(const struct kp_tui *tui, const struct kp_item *item,
			  struct kp_value *out)
{
	const struct kp_ab_saved_time *time = time_of(tui, item);

	if (!isnan(time->low_pct) && !isnan(time->high_pct))
		snprintf(out->text, sizeof out->text, "%+.1f to %+.1f", time->low_pct,
			 time->high_pct);
}

static void of_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	const struct kp_ab_saved_time *time = time_of(tui, item);

	if (!isnan(time->change_pct))
		snprintf(out->text, sizeof out->text, "%s",
			 time == &rule_of(tui, item)->graphs ? "graph" : "launch");
}

#define NUMBER(name, value)                                                                        \
	static double name##_number(const struct kp_tui *tui, const struct kp_item *item)          \
	{                                                                                          \
		return (double)(value);                                                            \
	}
NUMBER(original, time_of(tui, item)->original_us)
NUMBER(candidate, time_of(tui, item)->candidate_us)
NUMBER(replaced, kp_ab_saved_replaced(rule_of(tui, item)))
NUMBER(seen, rule_of(tui, item)->counts[KP_AB_COUNT_SEEN])
NUMBER(wrong, rule_of(tui, item)->wrong)

#define TIME(name)                                                                                 \
	static void name##_text(const struct kp_tui *tui, const struct kp_item *item,              \
				struct kp_value *out)                                              \
	{                                                                                          \
		double us = name##_number(tui, item);                                              \
                                                                                                   \
		snprintf(out->text, sizeof out->text, "%s",                                        \
			 isnan(us) ? "-" : kp_human_duration(us * 1e3, 3).text);                   \
	}
TIME(original)
TIME(candidate)

#define COUNT(name)                                                                                \
	static void name##_text(const struct kp_tui *tui, const struct kp_item *item,              \
				struct kp_value *out)                                              \
	{                                                                                          \
		snprintf(out->text, sizeof out->text, "%s",                                        \
			 kp_human_count((uint64_t)name##_number(tui, item)).text);                 \
	}
COUNT(replaced)
COUNT(seen)
COUNT(wrong)

// clang-format off
const struct kp_column kp_page_ab_columns[KP_AB_COLUMNS] = {
	{"Verdict", NULL, "what the times and the comparisons say", 13, true, false, 0,
	 verdict_text, NULL, NULL},
	{"Of", NULL, "whose time that is: a launch's, or a whole graph's", 6, true, false, 7,
	 of_text, NULL, NULL},
	{"Change", NULL, "of the time; less is faster", 7, false, false, 0,
	 change_text, change_number, NULL},
	{"95 % within", NULL, "the interval of the change", 14, false, false, 2,
	 interval_text, NULL, NULL},
	{"Before", NULL, "median time of the original", 7, false, false, 4,
	 original_text, original_number, NULL},
	{"After", NULL, "median time of the replacement", 7, false, false, 5,
	 candidate_text, candidate_number, NULL},
	{"Replaced", NULL, "launches that the program saw replaced", 9, false, false, 6,
	 replaced_text, replaced_number, NULL},
	{"Seen", NULL, "launches that the rule was asked about", 9, false, false, 1,
	 seen_text, seen_number, NULL},
	{"Wrong", NULL, "comparisons that failed", 5, false, false, 3,
	 wrong_text, wrong_number, NULL},
};
// clang-format on

const char *kp_page_ab_name(const struct kp_tui *tui, const struct kp_item *item)
{
	return rule_of(tui, item)->name;
}

enum kp_status kp_page_ab_fill(struct kp_tui *tui)
{
	tui->item_count = 0;
	return kp_table_fill(tui, tui->source.ab->rule_count, 0);
}

/* A change with its interval, where it is known. */
static void say_change(struct kp_sheet *sheet, size_t width, const struct kp_ab_saved_time *time)
{
	if (isnan(time->change_pct))
		return;
	kp_sheet_say(sheet, KP_ROLE_PLAIN, width, "change",
		     "%+.2f %%, 95 %% interval %+.2f to %+.2f %%, by %" PRIu64
		     " pairs; %.2f %% is detectable",
		     time->change_pct, time->low_pct, time->high_pct, time->pairs,
		     time->detectable_pct);
}

static void say_verdict(struct kp_sheet *sheet, size_t width, const struct kp_ab_saved_time *time)
{
	bool doubt = time->verdict == KP_AB_VERDICT_INCONCLUSIVE;

	kp_sheet_say(sheet, role_of(time->verdict), width, "verdict", "%s%s%s",
		     kp_ab_verdict_name(time->verdict), doubt ? ": " : "",
		     doubt ? kp_ab_doubt_words(time->doubt) : "");
}

/* End to end, above the rules. */
static void say_end(const struct kp_ab_saved *ab, struct kp_sheet *sheet, size_t width)
{
	const struct kp_ab_saved_time *end = &ab->end;

	if (ab->phases == 0 || isnan(end->original_us)) {
		kp_sheet_say(sheet, KP_ROLE_DIM, width, NULL,
			     "End to end was not measured (mode %s).", ab->mode ? ab->mode : "?");
		return;
	}
	kp_sheet_say(sheet, KP_ROLE_STRONG, width, "end to end",
		     "phases of %s, replaced %s: %.3f times as fast",
		     kp_human_duration(end->original_us * 1e3, 4).text,
		     kp_human_duration(end->candidate_us * 1e3, 4).text,
		     kp_ab_speedup(end->change_pct));
	say_verdict(sheet, width, end);
	say_change(sheet, width, end);
	if (!isnan(ab->predicted_pct) && ab->agreement < KP_AB_AGREEMENT_COUNT)
		kp_sheet_say(sheet,
			     ab->agreement == KP_AB_AGREEMENT_DISAGREES ? KP_ROLE_WARNING
									: KP_ROLE_PLAIN,
			     width, "predicted", "%+.2f %%: %s", ab->predicted_pct,
			     kp_ab_agreement_words(ab->agreement));
}

void kp_page_ab_draw(struct kp_tui *tui, struct kp_area area)
{
	struct kp_sheet sheet = {0};
	size_t head;

	kp_sheet_clear(&sheet);
	say_end(tui->source.ab, &sheet, area.columns - 1);
	head = sheet.count < area.rows / 2 ? sheet.count : area.rows / 2;
	kp_sheet_draw(&sheet, &tui->canvas, (struct kp_area){area.row, 1, head, area.columns - 1},
		      0);
	kp_sheet_fini(&sheet);
	tui->body = (struct kp_area){.row = area.row};
	if (area.rows < head + 2)
		return;
	area.row += head;
	area.rows -= head;
	kp_table_draw(tui, area);
}

void kp_page_ab_enter(struct kp_tui *tui)
{
	const struct kp_item *item = kp_tui_selected(tui);

	if (!item)
		return;
	tui->ab_rule = item->index;
	kp_tui_open(tui, KP_PAGE_AB_RULE);
}

static void say_medians(struct kp_sheet *sheet, size_t width, const struct kp_ab_saved_time *time)
{
	if (!isnan(time->original_us))
		kp_sheet_say(sheet, KP_ROLE_PLAIN, width, "medians", "%s, replaced %s",
			     kp_human_duration(time->original_us * 1e3, 4).text,
			     kp_human_duration(time->candidate_us * 1e3, 4).text);
}

static void say_graphs(struct kp_sheet *sheet, size_t width, const struct kp_ab_saved_rule *rule)
{
	kp_sheet_head(sheet, "Whole graphs");
	say_verdict(sheet, width, &rule->graphs);
	kp_sheet_say(sheet, KP_ROLE_PLAIN, width, "replaced", "%g kernels in each",
		     rule->replaced_each);
	say_medians(sheet, width, &rule->graphs);
	say_change(sheet, width, &rule->graphs);
}

static void say_accuracy(struct kp_sheet *sheet, size_t width, const struct kp_ab_saved_rule *rule)
{
	kp_sheet_head(sheet, "Results");
	kp_sheet_say(sheet, rule->wrong ? KP_ROLE_HOT : KP_ROLE_PLAIN, width, "compared",
		     "%" PRIu64 " times, %" PRIu64 " of them wrong%s%s", rule->comparisons,
		     rule->wrong, rule->fault ? ": " : "", rule->fault ? rule->fault : "");
	for (size_t i = 0; i < rule->accuracy_count; i++) {
		const struct kp_ab_saved_accuracy *data = &rule->accuracy[i];

		kp_sheet_say(sheet, data->mismatches ? KP_ROLE_HOT : KP_ROLE_PLAIN, width,
			     data->data ? data->data : "",
			     "%" PRIu64 " elements, %" PRIu64 " wrong, %" PRIu64
			     " written outside; %.3g off at most, rms %.3g of %.3g, cosine %.9f",
			     data->elements, data->mismatches, data->outside, data->max_abs,
			     data->rms, data->rms_original, data->cosine);
	}
}

static void say_launches(struct kp_sheet *sheet, size_t width, const struct kp_ab_saved_rule *rule)
{
	static const char *const reasons[] = {
#define WHAT(NAME, name, what) what,
		KP_AB_REASONS(WHAT)
#undef WHAT
	};

	kp_sheet_head(sheet, "Launches");
	for (int i = 0; i < KP_AB_COUNT_COUNT; i++)
		if (i < KP_AB_COUNT_ELIDED || rule->counts[i]) /* else it is of sequences */
			kp_sheet_say(sheet, KP_ROLE_PLAIN, width,
				     kp_human_count(rule->counts[i]).text, "%s%s",
				     kp_ab_count_names[i],
				     i == KP_AB_COUNT_REPLACED_CAPTURED ? ": nodes of graphs" : "");
	kp_sheet_head(sheet, "Where the original ran");
	for (int i = 0; i < KP_AB_REASON_COUNT; i++)
		if (rule->reasons[i])
			kp_sheet_say(sheet, KP_ROLE_PLAIN, width,
				     kp_human_count(rule->reasons[i]).text, "%s", reasons[i]);
}

enum kp_status kp_page_ab_rule_fill(struct kp_tui *tui)
{
	const struct kp_ab_saved_rule *rule = &tui->source.ab->rules[tui->ab_rule];
	const struct kp_ab_saved_time *time = &rule->time;
	size_t width = tui->canvas.columns - 1;

	tui->item_count = 0;
	kp_sheet_clear(&tui->sheet);
	kp_sheet_say(&tui->sheet, KP_ROLE_STRONG, width, NULL, "%s", rule->name);
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width, NULL, "replaced by %s", rule->by);
	kp_sheet_head(&tui->sheet, "Time");
	say_verdict(&tui->sheet, width, time);
	say_medians(&tui->sheet, width, time);
	say_change(&tui->sheet, width, time);
	if (!isnan(rule->replaced_each))
		say_graphs(&tui->sheet, width, rule);
	say_accuracy(&tui->sheet, width, rule);
	say_launches(&tui->sheet, width, rule);
	return tui->sheet.status;
}
