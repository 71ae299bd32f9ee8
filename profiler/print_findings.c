/* Findings as text; see findings.h. */
#include <math.h>
#include <string.h>

#include "profiler/findings.h"
#include "profiler/style.h"
#include "profiler/text.h"

/* So many are shown in short. */
#define SHOWN 3
#define NUMBER_WIDTH 3
#define DETAIL_INDENT 5
#define DETAIL_WIDTH 12
/* Less than this is nothing. */
#define WORTH_PCT 0.05
#define TEXT_BYTES 2048

static void append(char *text, const char *more)
{
	size_t length = strlen(text);

	snprintf(text + length, TEXT_BYTES - length, "%s", more);
}

void kp_finding_win_words(const struct kp_win *win, char *out, size_t size)
{
	*out = '\0';
	if (!(win->span_bound_pct >= WORTH_PCT))
		return;
	const char *once = win->once_launched ? " once launches keep up" : "";
	if (isnan(win->span_likely_pct))
		snprintf(out, size, "saves at most %.1f %% of the span%s", win->span_bound_pct,
			 once);
	else if (win->span_likely_pct < WORTH_PCT)
		snprintf(out, size, "saves at most %.1f %% of the span%s, likely nothing%s",
			 win->span_bound_pct, once, win->once_launched ? " before" : "");
	else
		snprintf(out, size, "saves at most %.1f %% of the span%s, likely %.1f %%",
			 win->span_bound_pct, once, win->span_likely_pct);
}

/* ---- in short ---- */

static void print_short(FILE *file, const struct kp_view *view, size_t number,
			const struct kp_finding *finding)
{
	bool leave = kp_finding_rung(finding->id) == KP_RUNG_LEAVE;
	char text[TEXT_BYTES], win[128];

	kp_finding_win_words(&finding->win, win, sizeof win);
	snprintf(text, sizeof text, "%s (%s, %s confidence%s%s)", finding->sentence,
		 kp_finding_key(finding->id), kp_confidence_key(finding->confidence),
		 *win && !leave ? "; " : "", leave ? "" : win);
	fprintf(file, "%*zu  ", NUMBER_WIDTH - 2, number);
	kp_text_wrap(file, text, NUMBER_WIDTH, NUMBER_WIDTH, view->width);
}

static void print_rest(FILE *file, const struct kp_view *view, const struct kp_findings *findings,
		       size_t shown)
{
	char text[128] = "", held[64] = "";

	if (findings->count > shown)
		snprintf(text, sizeof text, "%zu more", findings->count - shown);
	if (findings->held_count)
		snprintf(held, sizeof held, "%s%zu held back", *text ? ", " : "",
			 findings->held_count);
	if (!*text && !*held)
		return;
	append(text, held);
	strncat(text, ": see --findings", sizeof text - strlen(text) - 1);
	fprintf(file, "%*s", NUMBER_WIDTH, "");
	kp_text_wrap(file, text, NUMBER_WIDTH, NUMBER_WIDTH, view->width);
}

/* ---- with evidence ---- */

static void print_detail(FILE *file, const struct kp_view *view, const char *label,
			 const char *text)
{
	fprintf(file, "%*s%-*s", DETAIL_INDENT, "", DETAIL_WIDTH, label);
	kp_text_wrap(file, text, DETAIL_INDENT + DETAIL_WIDTH, DETAIL_INDENT + DETAIL_WIDTH,
		     view->width);
}

static void print_evidence(FILE *file, const struct kp_view *view, const struct kp_finding *finding)
{
	char text[TEXT_BYTES] = "", one[160];

	for (size_t i = 0; i < finding->evidence_count; i++) {
		const struct kp_evidence *evidence = &finding->evidence[i];

		bool whole = evidence->value == floor(evidence->value);

		snprintf(one, sizeof one, "%s%s %.*g (%s)", i ? ", " : "", evidence->what,
			 whole ? 15 : 4, evidence->value, evidence->source);
		append(text, one);
	}
	if (*text)
		print_detail(file, view, "Evidence", text);
}

static void print_win(FILE *file, const struct kp_view *view, const struct kp_win *win)
{
	char text[TEXT_BYTES], part[128];

	kp_finding_win_words(win, part, sizeof part);
	snprintf(text, sizeof text, "%s", *part ? part : "nothing of the span");
	if (win->kernel_bound_pct >= WORTH_PCT) {
		snprintf(part, sizeof part, "; of kernel time at most %.1f %%",
			 win->kernel_bound_pct);
		append(text, part);
	}
	if (win->kernel_likely_pct >= WORTH_PCT) {
		snprintf(part, sizeof part, ", likely %.1f %%", win->kernel_likely_pct);
		append(text, part);
	}
	if (*win->formula) {
		append(text, ". ");
		append(text, win->formula);
	}
	print_detail(file, view, "Win", text);
}

static void print_remedy(FILE *file, const struct kp_view *view, const struct kp_finding *finding)
{
	enum kp_finding_id id = finding->id;
	char text[TEXT_BYTES];

	print_detail(file, view, "Remedy", finding->remedy);
	snprintf(text, sizeof text, "%s: %s", kp_rung_words(kp_finding_rung(id)),
		 kp_finding_rung_reason(id));
	print_detail(file, view, "Rung", text);
}

static void print_long(FILE *file, const struct kp_view *view, size_t number,
		       const struct kp_finding *finding)
{
	char text[TEXT_BYTES];

	snprintf(text, sizeof text, "%s: %s.", kp_finding_key(finding->id), finding->sentence);
	fprintf(file, "%*zu  ", NUMBER_WIDTH, number);
	kp_text_wrap(file, text, DETAIL_INDENT, DETAIL_INDENT, view->width);
	print_win(file, view, &finding->win);
	print_detail(file, view, "Confidence", kp_confidence_key(finding->confidence));
	print_evidence(file, view, finding);
	print_remedy(file, view, finding);
}

static void held_words(const struct kp_finding_held *held, char *out, size_t size)
{
	switch (held->reason) {
	case KP_HELD_RULE:
		snprintf(out, size, "%s: %s", kp_finding_key(held->by), held->why);
		break;
	case KP_HELD_SMALL:
		snprintf(out, size, "it wins less than --min-gain");
		break;
	case KP_HELD_SILENCED:
		snprintf(out, size, "silenced");
		break;
	}
}

static void print_held(FILE *file, const struct kp_view *view, const struct kp_findings *findings)
{
	char text[TEXT_BYTES], why[256];

	if (!findings->held_count)
		return;
	fputs("Held back\n", file);
	for (size_t i = 0; i < findings->held_count; i++) {
		const struct kp_finding_held *held = &findings->held[i];

		held_words(held, why, sizeof why);
		snprintf(text, sizeof text, "%s: %s (%s)", kp_finding_key(held->finding.id),
			 held->finding.sentence, why);
		fprintf(file, "%*s", DETAIL_INDENT, "");
		kp_text_wrap(file, text, DETAIL_INDENT, DETAIL_INDENT, view->width);
	}
}

void kp_print_findings(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_findings *findings = &report->findings;
	size_t shown = view->findings || findings->count < SHOWN ? findings->count : SHOWN;
	char text[TEXT_BYTES];

	if (!findings->count && !findings->held_count)
		return;
	fputs("\nFindings\n", file);
	for (size_t i = 0; i < shown; i++) {
		if (view->findings)
			print_long(file, view, i + 1, &findings->items[i]);
		else
			print_short(file, view, i + 1, &findings->items[i]);
	}
	if (view->findings)
		print_held(file, view, findings);
	else
		print_rest(file, view, findings, shown);
	if (!view->findings && findings->count) {
		snprintf(text, sizeof text, "To do first: %s.", findings->items[0].remedy);
		fputc('\n', file);
		kp_text_wrap(file, text, 0, 0, view->width);
	}
}
