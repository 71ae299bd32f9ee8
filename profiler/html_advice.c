/* What follows from an HTML report: findings, fusion, plan; see html.h. */
#include <math.h>

#include "analyzers/plan.h"
#include "profiler/findings.h"
#include "profiler/html.h"
#include "profiler/humanise.h"
#include "profiler/plan_options.h"

#define DIGITS 3
#define PLAN_CARDS_MOST 12

/* ---- findings ---- */

static void put_evidence(FILE *file, const struct kp_finding *finding)
{
	if (finding->evidence_count == 0)
		return;
	fputs("<details><summary>Evidence</summary><ul>", file);
	for (size_t i = 0; i < finding->evidence_count; i++) {
		const struct kp_evidence *one = &finding->evidence[i];

		fputs("<li><code>", file);
		kp_html_text(file, one->what);
		fputs("</code> ", file);
		kp_html_print(file, "%.6g, %s", one->value, one->source);
		fputs("</li>", file);
	}
	fputs("</ul></details>", file);
}

static void put_finding(FILE *file, const struct kp_finding *finding)
{
	char win[160];

	kp_finding_win_words(&finding->win, win, sizeof win);
	fputs("<li><strong>", file);
	kp_html_text(file, finding->sentence);
	fputs(".</strong> ", file);
	kp_html_text(file, finding->remedy);
	fputs("<br><span class=\"tag\">", file);
	kp_html_text(file, kp_finding_key(finding->id));
	fputs("</span><span class=\"tag\">", file);
	kp_html_print(file, "%s confidence", kp_confidence_key(finding->confidence));
	fputs("</span>", file);
	if (win[0]) {
		fputs("<span class=\"tag\">", file);
		kp_html_text(file, win);
		fputs("</span>", file);
	}
	put_evidence(file, finding);
	fputs("</li>\n", file);
}

void kp_html_findings(FILE *file, const struct kp_report *report)
{
	if (report->findings.count == 0 && !report->advice)
		return;
	fputs("<section id=\"findings\"><h2>Findings</h2>\n", file);
	if (report->findings.count == 0) {
		fputs("<p>", file);
		kp_html_text(file, report->advice);
		fputs("</p></section>\n", file);
		return;
	}
	fputs("<ol class=\"findings\">\n", file);
	for (size_t i = 0; i < report->findings.count; i++)
		put_finding(file, &report->findings.items[i]);
	fputs("</ol></section>\n", file);
}

/* ---- fusion ---- */

static void put_chain(FILE *file, const struct kp_report *report, const struct kp_fusion_row *row)
{
	fputs("<tr><th scope=\"row\" class=\"name\">", file);
	kp_html_text(file, row->name);
	fputs("<details><summary>", file);
	kp_html_print(file, "%zu kernels", row->member_count);
	fputs("</summary><ul>", file);
	for (size_t i = 0; i < row->member_count; i++) {
		fputs("<li><code>", file);
		kp_html_text(file, report->kernels[row->members[i].kernel].shortened);
		fputs("</code></li>", file);
	}
	fputs("</ul>", file);
	if (row->about) {
		fputs("<p class=\"dim\">", file);
		kp_html_text(file, row->about);
		fputs("</p>", file);
	}
	fputs("</details></th>", file);
	kp_html_cell(file, kp_human_count(row->runs).text, (double)row->runs, false);
	char gain[48];
	snprintf(gain, sizeof gain, "%.1f to %.1f%%", row->gain_low_pct, row->gain_high_pct);
	kp_html_cell(file, gain, row->gain_high_pct, false);
	kp_html_cell(file, kp_human_duration((double)row->kernel_ns, DIGITS).text,
		     (double)row->kernel_ns, true);
	fputs("<td class=\"wide\">", file);
	kp_html_text(file, kp_fusion_confidence_name(row->confidence));
	fputs("</td></tr>\n", file);
}

void kp_html_fusion(FILE *file, const struct kp_report *report)
{
	const struct kp_report_fusion *fusion = &report->fusion;

	if (fusion->count == 0)
		return;
	kp_html_table(file, "fusion", "Fusion",
		      "Chains of kernels that one kernel could do; to win: of the span, modelled");
	fputs("<th scope=\"col\" class=\"name\">Chain</th><th scope=\"col\">Runs</th>"
	      "<th scope=\"col\">To win</th><th scope=\"col\" class=\"wide\">Kernel time</th>"
	      "<th scope=\"col\" class=\"wide\">Confidence</th></tr></thead>\n<tbody>\n",
	      file);
	for (size_t i = 0; i < fusion->count; i++)
		put_chain(file, report, &fusion->rows[i]);
	fputs("</tbody></table></div>\n", file);
	if (fusion->more)
		fprintf(file, "<p class=\"dim\">%zu more candidate%s not shown.</p>\n",
			fusion->more, fusion->more == 1 ? " is" : "s are");
	fputs("</section>\n", file);
}

/* ---- plan ---- */

/* Times as fast, between words of which either may be empty. */
static void times_cell(FILE *file, const char *before, double value, const char *behind, bool wide)
{
	char text[80];

	snprintf(text, sizeof text, value < 1e6 ? "%s%.2fx%s" : "%s%.3gx%s", before, value, behind);
	kp_html_cell(file, isfinite(value) ? text : "-", value, wide);
}

static double speedup_at(const struct kp_plan_card *card, enum kp_plan_level level)
{
	return card->has[level] ? card->outcomes[level].speedup : NAN;
}

/* The limit; where only a bound of it is known, that. */
static void limit_cell(FILE *file, const struct kp_plan_card *card)
{
	if (isfinite(card->limit))
		times_cell(file, "", card->limit, "", false);
	else
		times_cell(file, "at most ", card->ceiling, "", false);
}

/* What the whole becomes at most: with what it moves and launches, or, where no bound of that is
 * known, without the operator. */
static void most_cell(FILE *file, const struct kp_plan_card *card)
{
	if (card->has[KP_PLAN_CEILING])
		times_cell(file, "", speedup_at(card, KP_PLAN_CEILING), "", false);
	else
		times_cell(file, "", speedup_at(card, KP_PLAN_BOUND), " at no cost", false);
}

static void put_card(FILE *file, const struct kp_plan_card *card)
{
	fputs("<tr><th scope=\"row\" class=\"name\">", file);
	kp_html_text(file, card->name);
	fputs("</th>", file);
	kp_html_share(file, card->share_pct, false);
	limit_cell(file, card);
	times_cell(file, "", speedup_at(card, KP_PLAN_REALISTIC), "", true);
	times_cell(file, "", speedup_at(card, KP_PLAN_LIMIT), "", true);
	most_cell(file, card);
	fputs("</tr>\n", file);
}

static void put_plan(FILE *file, const struct kp_plan *plan)
{
	size_t shown = 0, rows = 0;

	for (size_t i = 0; i < plan->card_count; i++)
		rows += plan->cards[i].row != NULL;
	if (!rows)
		return;
	kp_html_table(file, "plan", "Plan",
		      "What a faster operator is worth end to end; its limit is that of memory, "
		      "tensor pipes or launches, with the bytes and launches of now");
	fputs("<th scope=\"col\" class=\"name\">Operator</th>"
	      "<th scope=\"col\">Of wall time</th><th scope=\"col\">Limit</th>"
	      "<th scope=\"col\" class=\"wide\">Whole, realistic</th>"
	      "<th scope=\"col\" class=\"wide\">Whole, at the limit</th>"
	      "<th scope=\"col\">Whole, at most</th></tr></thead>\n<tbody>\n",
	      file);
	for (size_t i = 0; i < plan->card_count && shown < PLAN_CARDS_MOST; i++)
		if (plan->cards[i].row) {
			put_card(file, &plan->cards[i]);
			shown++;
		}
	fputs("</tbody></table></div>\n<p class=\"dim\">Targets, GPUs and money: kprof plan.</p>"
	      "</section>\n",
	      file);
}

void kp_html_plan(FILE *file, const struct kp_report *report)
{
	struct kp_plan_settings settings = {0};
	struct kp_plan_inputs inputs;
	struct kp_plan *plan;
	char error[KP_PLAN_ERROR_BYTES];

	if (!kp_plan_options(&settings, &inputs))
		return;
	if (kp_plan_build(report, &inputs, &plan, error) == KP_OK) {
		put_plan(file, plan);
		kp_plan_destroy(plan);
	}
	kp_plan_options_free(&inputs);
}
