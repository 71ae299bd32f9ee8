/* Findings: the list, one with its evidence, and the rows that it is about; see pages.h. */
#include <math.h>
#include <string.h>

#include "profiler/humanise.h"
#include "tui/state.h"
#include "tui/table.h"

#define DIGITS 4

static const struct kp_finding *finding_of(const struct kp_tui *tui, const struct kp_item *item)
{
	return &tui->report->findings.items[item->index];
}

static double likely_number(const struct kp_tui *tui, const struct kp_item *item)
{
	return finding_of(tui, item)->win.span_likely_pct;
}

static double bound_number(const struct kp_tui *tui, const struct kp_item *item)
{
	return finding_of(tui, item)->win.span_bound_pct;
}

static double share_number(const struct kp_tui *tui, const struct kp_item *item)
{
	double share = finding_of(tui, item)->kernel_pct;

	return share > 0 ? share : NAN;
}

#define PERCENT(name)                                                                              \
	static void name##_text(const struct kp_tui *tui, const struct kp_item *item,              \
				struct kp_value *out)                                              \
	{                                                                                          \
		snprintf(out->text, sizeof out->text, "%s",                                        \
			 kp_human_percent(name##_number(tui, item)).text);                         \
	}
PERCENT(likely)
PERCENT(bound)
PERCENT(share)

static void confidence_text(const struct kp_tui *tui, const struct kp_item *item,
			    struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s",
		 kp_confidence_key(finding_of(tui, item)->confidence));
}

static void rung_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s",
		 kp_rung_key(kp_finding_rung(finding_of(tui, item)->id)));
}

// clang-format off
const struct kp_column kp_page_findings_columns[KP_FINDINGS_COLUMNS] = {
	{"Likely", NULL, "of the span, what is likely won", 6, false, false, 0,
	 likely_text, likely_number, NULL},
	{"Most", NULL, "of the span, what can be won at most", 6, false, false, 4,
	 bound_text, bound_number, NULL},
	{"Share", NULL, "of kernel time, of what it is about", 6, false, false, 1,
	 share_text, share_number, NULL},
	{"Sure", NULL, "how sure it is", 6, true, false, 3, confidence_text, NULL, NULL},
	{"Remedy", NULL, "what to try", 7, true, false, 2, rung_text, NULL, NULL},
};
// clang-format on

const char *kp_page_findings_name(const struct kp_tui *tui, const struct kp_item *item)
{
	return finding_of(tui, item)->sentence;
}

enum kp_status kp_page_findings_fill(struct kp_tui *tui)
{
	tui->item_count = 0;
	return tui->report && tui->part.complete
		       ? kp_table_fill(tui, tui->report->findings.count, 0)
		       : KP_OK;
}

/* The selected finding in full, below the list. */
void kp_page_findings_draw(struct kp_tui *tui, struct kp_area area)
{
	const struct kp_item *item;
	struct kp_area table = area;
	struct kp_sheet sheet = {0};

	if (table.rows > tui->item_count + 1)
		table.rows = tui->item_count ? tui->item_count + 1 : 2;
	kp_table_draw(tui, table);
	item = kp_tui_selected(tui);
	if (!item || table.rows + 3 > area.rows)
		return;
	area.row += table.rows + 1;
	area.rows -= table.rows + 1;
	kp_canvas_fill(&tui->canvas, area.row - 1, 0, area.columns, 0x2500, KP_ROLE_AXIS);
	kp_sheet_clear(&sheet);
	kp_sheet_say(&sheet, KP_ROLE_PLAIN, area.columns - 1, NULL, "%s.",
		     finding_of(tui, item)->sentence);
	kp_sheet_say(&sheet, KP_ROLE_DIM, area.columns - 1, NULL, "%s",
		     finding_of(tui, item)->remedy);
	area.column = 1;
	area.columns--;
	kp_sheet_draw(&sheet, &tui->canvas, area, 0);
	kp_sheet_fini(&sheet);
}

void kp_page_findings_enter(struct kp_tui *tui)
{
	const struct kp_item *item = kp_tui_selected(tui);

	if (!item)
		return;
	tui->finding = item->index;
	kp_tui_open(tui, KP_PAGE_EVIDENCE);
}

static void say_win(struct kp_tui *tui, const struct kp_win *win, size_t width)
{
	if (isnan(win->span_bound_pct) && isnan(win->kernel_bound_pct))
		return;
	kp_sheet_head(&tui->sheet, "To win");
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width, "of the span", "likely %s, at most %s",
		     kp_human_percent(win->span_likely_pct).text,
		     kp_human_percent(win->span_bound_pct).text);
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width, "of kernels", "likely %s, at most %s",
		     kp_human_percent(win->kernel_likely_pct).text,
		     kp_human_percent(win->kernel_bound_pct).text);
	if (win->formula)
		kp_sheet_say(&tui->sheet, KP_ROLE_DIM, width, "computed as", "%s", win->formula);
}

/* A figure of evidence: its name is a key, the end of which is the unit. */
static void say_evidence(struct kp_tui *tui, const struct kp_evidence *evidence, size_t width)
{
	static const char *const units[] = {"_pct", "_ns", "_bytes", "_gbps"};
	double number = evidence->value;
	bool whole = number == floor(number) && fabs(number) < 1e15;
	struct kp_human value = {""};
	char words[96];
	size_t unit = 0;

	snprintf(words, sizeof words, "%s", evidence->what);
	size_t length = strlen(words);
	for (; unit < sizeof units / sizeof *units; unit++) {
		size_t end = strlen(units[unit]);
		if (length <= end || strcmp(words + length - end, units[unit]) != 0)
			continue;
		words[length - end] = '\0';
		break;
	}
	for (char *c = words; *c; c++)
		*c = (char)(*c == '_' ? ' ' : *c);
	if (unit == 0)
		snprintf(value.text, sizeof value.text, "%.4g %%", number);
	else if (unit == 1)
		value = kp_human_duration(number, DIGITS);
	else if (unit == 2 && number >= 0 && whole)
		value = kp_human_bytes((uint64_t)number, DIGITS);
	else if (whole && number >= 0)
		value = kp_human_count((uint64_t)number);
	else
		snprintf(value.text, sizeof value.text, "%.4g", number);
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width, value.text, "%s%s (%s)",
		     unit == 3 ? "GB/s: " : "", words, evidence->source);
}

enum kp_status kp_page_evidence_fill(struct kp_tui *tui)
{
	const struct kp_finding *finding = &tui->report->findings.items[tui->finding];
	size_t width = tui->canvas.columns - 1;

	tui->item_count = 0;
	kp_sheet_clear(&tui->sheet);
	kp_sheet_say(&tui->sheet, KP_ROLE_STRONG, width, NULL, "%s", kp_finding_title(finding->id));
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width, NULL, "%s.", finding->sentence);
	kp_sheet_say(&tui->sheet, KP_ROLE_DIM, width, NULL, "%s, %s confidence%s%s",
		     kp_finding_key(finding->id), kp_confidence_key(finding->confidence),
		     finding->subject[0] ? "; about " : "", finding->subject);
	kp_sheet_head(&tui->sheet, "Remedy");
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width, NULL, "%s", finding->remedy);
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width, "try first", "%s: %s",
		     kp_rung_words(kp_finding_rung(finding->id)),
		     kp_finding_rung_reason(finding->id));
	say_win(tui, &finding->win, width);
	kp_sheet_head(&tui->sheet, "Evidence");
	for (size_t i = 0; i < finding->evidence_count; i++)
		say_evidence(tui, &finding->evidence[i], width);
	return tui->sheet.status;
}

/* Shows the row of operators or kernels that the finding is about. */
void kp_page_evidence_enter(struct kp_tui *tui)
{
	const struct kp_finding *finding = &tui->report->findings.items[tui->finding];
	size_t kernel = finding->kernel_index, number = finding->operator_index;

	if (number >= tui->report->operator_count) {
		kp_tui_say(tui, "This finding is about no operator.");
		return;
	}
	kp_tui_open(tui, KP_PAGE_OPERATORS);
	kp_page_operators_select(tui, tui->report->operators[number].name, kernel);
}
