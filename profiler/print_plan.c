/* A plan as text: a card for each hotspot, then what all of it assumes; see print_plan.h. */
#include "profiler/print_plan.h"

#include <math.h>
#include <string.h>

#include "profiler/plan_rows.h"
#include "profiler/style.h"
#include "profiler/text.h"

#define LABEL 11 /* of the facts, with the space behind it */
#define LEAST_NAME 12
#define FIGURE 38 /* of the figures, likewise */
#define COLUMN 13
#define SENTENCE_BYTES 2048

/* A sentence may hold a name that the user gave. */
static void print_sentence(FILE *file, const struct kp_plan_view *view, const char *bullet,
			   const char *sentence)
{
	char shown[SENTENCE_BYTES];
	size_t indent = strlen(bullet);

	kp_text_visible(shown, sizeof shown, sentence, strlen(sentence));
	fputs(bullet, file);
	kp_text_wrap(file, shown, indent, indent, view->view.width);
}

static void print_line(FILE *file, const struct kp_plan_view *view, const struct kp_plan_line *line)
{
	size_t taken = LABEL;

	fprintf(file, "%-*s", LABEL, line->label);
	if (line->name) {
		size_t others = LABEL + strlen(line->text) + strlen(", ");
		size_t room = view->view.width > others + LEAST_NAME ? view->view.width - others
								     : LEAST_NAME;
		taken += kp_text_fit(file, line->name, room) + 2;
		fputs(", ", file);
	}
	kp_text_wrap(file, line->text, taken, LABEL, view->view.width);
}

/* Rows of figures, those that any column has. */
static void print_figures(FILE *file, const struct kp_plan_view *view,
			  const struct kp_plan_column *columns, size_t count)
{
	fprintf(file, "\n%*s", FIGURE, "");
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%*s", COLUMN, columns[i].title);
	fputc('\n', file);
	for (const struct kp_figure *figure = kp_figures; figure->key; figure++) {
		bool money = figure->kind == KP_FIGURE_MONEY, any = false;
		char label[64];

		for (size_t i = 0; i < count; i++)
			any |= isfinite(kp_figure_of(figure, columns[i].outcome)) != 0;
		if (!any)
			continue;
		snprintf(label, sizeof label, "%s%s%s", figure->label,
			 money && view->currency ? ", " : "",
			 money && view->currency ? view->currency : "");
		fprintf(file, "%s%*s", label, FIGURE - (int)kp_text_columns(label), "");
		for (size_t i = 0; i < count; i++) {
			double value = kp_figure_of(figure, columns[i].outcome);
			fprintf(file, "%*s", COLUMN, kp_figure_print(figure->kind, value).text);
		}
		fputc('\n', file);
	}
}

static void print_card(FILE *file, const struct kp_plan_view *view, const struct kp_plan_card *card)
{
	struct kp_plan_line lines[KP_PLAN_LINES_MAX];
	struct kp_plan_column columns[KP_PLAN_LEVELS];
	size_t count = kp_plan_lines(view->report, card, view->currency, lines);

	fputc('\n', file);
	kp_style_begin(file, view->view.colors, KP_STYLE_HOT);
	kp_text_fit(file, card->row ? card->name : "the whole", view->view.width);
	kp_style_end(file, view->view.colors, KP_STYLE_HOT);
	fputc('\n', file);
	for (size_t i = 0; i < count; i++)
		print_line(file, view, &lines[i]);
	count = kp_plan_shown(card, columns);
	print_figures(file, view, columns, count);
	if (card->note_count > 0)
		fputc('\n', file);
	for (size_t i = 0; i < card->note_count; i++)
		print_sentence(file, view, "- ", card->notes[i]);
}

/* What a GPU delivers and costs today. */
static void print_now(FILE *file, const struct kp_plan_view *view)
{
	const struct kp_plan_now *now = &view->plan->now;

	for (int i = 0; i < KP_PLAN_UNIT_COUNT; i++) {
		const char *unit = kp_plan_unit_key((enum kp_plan_unit)i);

		if (!isfinite(now->units_per_s_per_gpu[i]))
			continue;
		fprintf(file, "%-*s%s %s a second and GPU", LABEL, "Now",
			kp_figure_print(KP_FIGURE_NUMBER, now->units_per_s_per_gpu[i]).text, unit);
		if (isfinite(now->cost_per_million[i]))
			fprintf(file, "; a million cost %s%s%s",
				kp_figure_print(KP_FIGURE_MONEY, now->cost_per_million[i]).text,
				view->currency ? " " : "", view->currency ? view->currency : "");
		fputc('\n', file);
	}
}

void kp_plan_print_text(FILE *file, const struct kp_plan_view *view)
{
	const struct kp_plan *plan = view->plan;
	struct kp_plan_column columns[KP_PLAN_LEVELS];
	size_t together = kp_plan_together(plan, columns);

	kp_print_header(file, view->report, &view->view);
	print_now(file, view);
	for (size_t i = 0; i < plan->card_count; i++)
		print_card(file, view, &plan->cards[i]);
	if (plan->card_count == 0) {
		char text[160];

		snprintf(text, sizeof text,
			 "No operator takes more than %g%% of kernel time; name one with "
			 "--target, or lower --threshold.",
			 view->report->options.threshold_pct);
		fputc('\n', file);
		print_sentence(file, view, "", text);
	}
	if (together > 0) {
		fprintf(file, "\nTogether, the %zu operators that have a goal\n",
			plan->together_count);
		print_figures(file, view, columns, together);
	}
	fputs("\nAssumptions\n", file);
	for (size_t i = 0; i < plan->assumption_count; i++)
		print_sentence(file, view, "- ", plan->assumptions[i]);
}
