/* A plan as Markdown, for a ticket; see print_plan.h. */
#include <math.h>

#include "profiler/markdown.h"
#include "profiler/plan_rows.h"
#include "profiler/print_plan.h"

#define NAME_COLUMNS 100

static void print_figures(FILE *file, const struct kp_plan_view *view,
			  const struct kp_plan_column *columns, size_t count)
{
	fputs("\n| |", file);
	for (size_t i = 0; i < count; i++)
		fprintf(file, " %s |", columns[i].title);
	fputs("\n|---|", file);
	for (size_t i = 0; i < count; i++)
		fputs("--:|", file);
	fputc('\n', file);
	for (const struct kp_figure *figure = kp_figures; figure->key; figure++) {
		bool any = false;

		for (size_t i = 0; i < count; i++)
			any |= isfinite(kp_figure_of(figure, columns[i].outcome)) != 0;
		if (!any)
			continue;
		fprintf(file, "| %s", figure->label);
		if (figure->kind == KP_FIGURE_MONEY && view->currency) {
			fputs(", ", file);
			kp_markdown_text(file, view->currency);
		}
		fputs(" |", file);
		for (size_t i = 0; i < count; i++) {
			double value = kp_figure_of(figure, columns[i].outcome);
			fprintf(file, " %s |", kp_figure_print(figure->kind, value).text);
		}
		fputc('\n', file);
	}
}

static void print_sentences(FILE *file, const char *const *sentences, size_t count)
{
	if (count > 0)
		fputc('\n', file);
	for (size_t i = 0; i < count; i++) {
		fputs("- ", file);
		kp_markdown_text(file, sentences[i]);
		fputc('\n', file);
	}
}

static enum kp_status print_card(FILE *file, const struct kp_plan_view *view,
				 const struct kp_plan_card *card)
{
	struct kp_plan_line lines[KP_PLAN_LINES_MAX];
	struct kp_plan_column columns[KP_PLAN_LEVELS];
	size_t count = kp_plan_lines(view->report, card, view->currency, lines);
	enum kp_status status = KP_OK;

	fputs("\n## ", file);
	if (card->row)
		status = kp_markdown_code(file, card->name, NAME_COLUMNS);
	else
		fputs("The whole", file);
	fputs("\n\n| | |\n|---|---|\n", file);
	for (size_t i = 0; i < count && status == KP_OK; i++) {
		fprintf(file, "| %s | ", lines[i].label);
		if (lines[i].name) {
			status = kp_markdown_code(file, lines[i].name, NAME_COLUMNS);
			fputs(", ", file);
		}
		kp_markdown_text(file, lines[i].text);
		fputs(" |\n", file);
	}
	count = kp_plan_shown(card, columns);
	print_figures(file, view, columns, count);
	print_sentences(file, card->notes, card->note_count);
	return status;
}

enum kp_status kp_plan_print_markdown(FILE *file, const struct kp_plan_view *view)
{
	const struct kp_plan *plan = view->plan;
	struct kp_plan_column columns[KP_PLAN_LEVELS];
	size_t together = kp_plan_together(plan, columns);
	enum kp_status status;

	fputs("# What it is worth\n\n", file);
	status = kp_print_markdown_header(file, view->report, &view->view);
	for (size_t i = 0; i < plan->card_count && status == KP_OK; i++)
		status = print_card(file, view, &plan->cards[i]);
	if (plan->card_count == 0)
		fprintf(file, "\nNo operator takes more than %g %% of kernel time.\n",
			view->report->options.threshold_pct);
	if (together > 0) {
		fprintf(file, "\n## Together: the %zu operators that have a goal\n",
			plan->together_count);
		print_figures(file, view, columns, together);
	}
	fputs("\n## Assumptions\n", file);
	print_sentences(file, plan->assumptions, plan->assumption_count);
	return status;
}
