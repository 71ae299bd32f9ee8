/*
 * A comparison as text: what was compared, the verdict, and what moved; see print_diff.h. Rows add
 * up to the one above them, and those of the first level to the first.
 */
#include "profiler/print_diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/demangle.h"
#include "profiler/humanise.h"
#include "profiler/print_timeline.h"
#include "profiler/text.h"

#define DIGITS 4
#define TIME_WIDTH 9
#define POINTS_WIDTH 7
#define CALLS_WIDTH 11
#define RATE_WIDTH 11

struct printing {
	FILE *file;
	const struct kp_diff *diff;
	const struct kp_view *view;
	struct kp_arena *names; /* escaped */
	bool rates;             /* bandwidths are known */
};

/* ---- the header ---- */

static const char *unit_word(const struct kp_diff *diff)
{
	return diff->unit == KP_UNIT_STEP ? "iteration" : "run";
}

static void print_side(const struct printing *printing, unsigned side)
{
	const struct kp_diff_total *total = &printing->diff->totals[side];
	const struct kp_run *first = total->runs[0];
	char name[256], command[512] = "", more[32] = "";

	kp_text_visible(name, sizeof name, first->name, strlen(first->name));
	if (first->command)
		kp_text_visible(command, sizeof command, first->command, strlen(first->command));
	if (total->run_count > 1)
		snprintf(more, sizeof more, " and %zu more", total->run_count - 1);
	kp_print_line(printing->file, printing->view, KP_STYLE_PLAIN, side ? "New" : "Base",
		      "%s%s%s%s", name, more, *command ? ": " : "", command);
}

static const char *verdict_words(const struct kp_effect *effect, char *out, size_t size)
{
	if (!effect->known)
		snprintf(out, size, "%+.2f %%, with no interval", effect->change_pct);
	else
		snprintf(out, size, "%+.2f %% (95 %% interval %+.2f to %+.2f %%)",
			 effect->change_pct, effect->low_pct, effect->high_pct);
	return out;
}

static enum kp_style style_of(enum kp_verdict verdict)
{
	switch (verdict) {
	case KP_VERDICT_SLOWER:
		return KP_STYLE_HOT;
	case KP_VERDICT_NOT_COMPARABLE:
	case KP_VERDICT_UNDECIDED:
		return KP_STYLE_WARNING;
	default:
		return KP_STYLE_STRONG;
	}
}

static void print_verdict(const struct printing *printing)
{
	const struct kp_diff *diff = printing->diff;
	const struct kp_effect *effect = &diff->effect;
	char change[128];

	verdict_words(effect, change, sizeof change);
	if (diff->verdict == KP_VERDICT_NOT_COMPARABLE)
		kp_print_line(printing->file, printing->view, style_of(diff->verdict), "Verdict",
			      "not comparable; by the data alone: %s, the typical %s %s",
			      kp_verdict_name(diff->data_verdict), unit_word(diff), change);
	else
		kp_print_line(printing->file, printing->view, style_of(diff->verdict), "Verdict",
			      "%s: the typical %s %s", kp_verdict_name(diff->verdict),
			      unit_word(diff), change);
	for (size_t i = 0; i < diff->obstacle_count; i++) {
		char detail[512];

		kp_text_visible(detail, sizeof detail, diff->obstacles[i].detail,
				strlen(diff->obstacles[i].detail));
		kp_print_line(printing->file, printing->view, KP_STYLE_WARNING,
			      i ? "" : "Obstacles", "%s: %s",
			      kp_diff_reason_words(diff->obstacles[i].reason), detail);
	}
}

/* Launches in a unit: whole in runs, and mostly in iterations. */
static struct kp_human launches(double value)
{
	struct kp_human out;

	if (value >= 1000)
		return kp_human_count((uint64_t)llround(value));
	snprintf(out.text, sizeof out.text, "%.4g", value);
	return out;
}

static void print_units(const struct printing *printing)
{
	const struct kp_diff_total *base = &printing->diff->totals[0];
	const struct kp_diff_total *fresh = &printing->diff->totals[1];
	bool steps = printing->diff->unit == KP_UNIT_STEP;

	kp_print_line(printing->file, printing->view, KP_STYLE_PLAIN, steps ? "Iterations" : "Runs",
		      "%" PRIu64 " and %" PRIu64
		      "; typically %s and %s; launches in each %s and %s",
		      base->units, fresh->units,
		      kp_human_duration(printing->diff->effect.typical_ns[0], DIGITS).text,
		      kp_human_duration(printing->diff->effect.typical_ns[1], DIGITS).text,
		      launches(base->calls).text, launches(fresh->calls).text);
	for (size_t i = 0; i < printing->diff->note_count; i++) {
		char text[512];

		kp_text_visible(text, sizeof text, printing->diff->notes[i],
				strlen(printing->diff->notes[i]));
		kp_print_line(printing->file, printing->view, KP_STYLE_PLAIN, i ? "" : "Notes",
			      "%s", text);
	}
}

/* ---- the table ---- */

static struct kp_human signed_time(int64_t ps)
{
	struct kp_human size = kp_human_duration(fabs((double)ps) / 1000, DIGITS), out;

	snprintf(out.text, sizeof out.text, "%s%.30s", ps > 0 ? "+" : ps < 0 ? "-" : "", size.text);
	return out;
}

static struct kp_human points(int64_t ps, int64_t whole_ps)
{
	struct kp_human out = {"-"};

	if (whole_ps > 0) {
		double pct = 100 * (double)ps / (double)whole_ps, size = fabs(pct);
		char text[400]; /* of any double */

		snprintf(text, sizeof text, "%+.*f%%",
			 size < 99.995   ? 2
			 : size < 999.95 ? 1
					 : 0,
			 pct);
		snprintf(out.text, sizeof out.text, "%.30s", text);
	}
	return out;
}

static struct kp_human time_of(const struct kp_diff_side *side)
{
	return kp_human_duration((double)(side->time_ps > 0 ? side->time_ps : 0) / 1000, DIGITS);
}

/* "96", "95.5", "66177" or "209k": short; "-": not known. */
static struct kp_human number(double value)
{
	static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
	struct kp_human out = {"-"};
	size_t unit = 0;

	if (isnan(value))
		return out;
	if (value < 99999.5) {
		snprintf(out.text, sizeof out.text, value < 1000 ? "%.4g" : "%.0f", value);
		return out;
	}
	for (; value >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
		value /= 1000;
	snprintf(out.text, sizeof out.text, "%.3g%s", value, units[unit]);
	return out;
}

/* "96", or "96→80". */
static struct kp_human pair(double base, double fresh)
{
	struct kp_human out = number(base), right = number(fresh), left = out;

	if (strcmp(left.text, right.text) != 0)
		snprintf(out.text, sizeof out.text, "%.14s→%.14s", left.text, right.text);
	return out;
}

static void print_numbers(const struct printing *printing, const struct kp_diff_side sides[2],
			  int64_t change_ps, bool kernels)
{
	FILE *file = printing->file;
	struct kp_human none = {""};

	kp_print_cell(file, signed_time(change_ps), TIME_WIDTH);
	kp_print_cell(file, points(change_ps, printing->diff->totals[0].length_ps), POINTS_WIDTH);
	kp_print_cell(file, time_of(&sides[0]), TIME_WIDTH);
	kp_print_cell(file, time_of(&sides[1]), TIME_WIDTH);
	kp_print_cell(file, kernels ? pair(sides[0].calls, sides[1].calls) : none, CALLS_WIDTH);
	if (printing->rates)
		kp_print_cell(file,
			      kernels ? pair(round(sides[0].gbps), round(sides[1].gbps)) : none,
			      RATE_WIDTH);
}

static size_t room_of(const struct printing *printing)
{
	size_t taken = 3 * (TIME_WIDTH + 1) + POINTS_WIDTH + 1 + CALLS_WIDTH + 1;

	taken += printing->rates ? RATE_WIDTH + 1 : 0;
	return printing->view->width > taken + 20 ? printing->view->width - taken : 20;
}

static const char *name_of(const struct printing *printing, const struct kp_run_row *row)
{
	const char *name = row->shortened;

	if (printing->view->names == KP_NAMES_FULL)
		name = row->full;
	if (printing->view->names == KP_NAMES_MANGLED)
		name = kp_demangle_escape(printing->names,
					  (struct kp_text){row->mangled, strlen(row->mangled)});
	return name ? name : "?";
}

static void print_kernel_name(const struct printing *printing, const struct kp_diff_row *row)
{
	static const char *const marks[KP_DIFF_MATCH_COUNT] = {
		[KP_MATCH_SAME] = "  ",
		[KP_MATCH_REPLACED] = "~ ",
		[KP_MATCH_GONE] = "- ",
		[KP_MATCH_NEW] = "+ ",
	};
	size_t room = room_of(printing) - 3;
	const struct kp_run_row *fresh = row->kernels[1], *base = row->kernels[0];

	fputs(marks[row->match], printing->file);
	if (row->match == KP_MATCH_REPLACED) {
		size_t taken = kp_text_fit(printing->file, name_of(printing, base), room / 2 - 1);

		fputs("→", printing->file);
		room = room > taken + 2 ? room - taken - 1 : 2;
	}
	kp_text_fit(printing->file, name_of(printing, fresh ? fresh : base), room);
	fputc('\n', printing->file);
}

/* The words of the report, in which what comes first tells most. */
static void print_cause(const struct printing *printing, unsigned cause)
{
	const char *words =
		cause < KP_GAP_CAUSE_COUNT ? kp_gap_words[cause] : "at the borders of iterations";
	size_t room = room_of(printing) - 3;

	if (strlen(words) > room)
		fprintf(printing->file, "  %.*s…\n", (int)room - 1, words);
	else
		fprintf(printing->file, "  %s\n", words);
}

static void print_row(const struct printing *printing, const struct kp_diff_row *row)
{
	print_numbers(printing, row->sides, row->change_ps, row->kind == KP_DIFF_KERNEL);
	if (row->kind == KP_DIFF_KERNEL)
		print_kernel_name(printing, row);
	else
		print_cause(printing, row->cause);
}

/* What is not shown, as one row. */
static void print_rest(const struct printing *printing, const struct kp_diff_side sides[2],
		       int64_t change_ps, size_t count, const char *what)
{
	if (!count)
		return;
	print_numbers(printing, sides, change_ps, false);
	fprintf(printing->file, "%s(%zu more)\n", what, count);
}

static size_t limit(const struct printing *printing, size_t count)
{
	return printing->view->top && printing->view->top < count ? (size_t)printing->view->top
								  : count;
}

static void add_side(struct kp_diff_side sum[2], const struct kp_diff_side sides[2])
{
	sum[0].time_ps += sides[0].time_ps;
	sum[1].time_ps += sides[1].time_ps;
}

static void print_group(const struct printing *printing, const struct kp_diff_group *group)
{
	const struct kp_diff_row *rows = &printing->diff->rows[group->first_row];
	size_t shown = limit(printing, group->row_count);
	struct kp_diff_side rest[2] = {{0}, {0}};
	int64_t rest_ps = 0;

	print_numbers(printing, group->sides, group->change_ps, group->kind == KP_DIFF_KERNEL);
	kp_text_fit(printing->file, group->name, room_of(printing) - 1);
	fputc('\n', printing->file);
	for (size_t i = 0; group->kind != KP_DIFF_OTHERS && i < shown; i++)
		print_row(printing, &rows[i]);
	for (size_t i = shown; i < group->row_count; i++) {
		add_side(rest, rows[i].sides);
		rest_ps += rows[i].change_ps;
	}
	print_rest(printing, rest, rest_ps, group->row_count - shown, "  ");
}

static void print_title(const struct printing *printing)
{
	kp_style_begin(printing->file, printing->view->colors, KP_STYLE_TITLE);
	fprintf(printing->file, "%*s %*s %*s %*s %*s ", TIME_WIDTH, "Change", POINTS_WIDTH, "%",
		TIME_WIDTH, "Base", TIME_WIDTH, "New", CALLS_WIDTH, "Calls");
	if (printing->rates)
		fprintf(printing->file, "%*s ", RATE_WIDTH, "GB/s");
	fputs("Operator/Kernel", printing->file);
	kp_style_end(printing->file, printing->view->colors, KP_STYLE_TITLE);
	fputc('\n', printing->file);
}

static void print_total(const struct printing *printing)
{
	const struct kp_diff *diff = printing->diff;
	const struct kp_diff_side sides[2] = {
		{.time_ps = diff->totals[0].length_ps, .calls = diff->totals[0].calls, .gbps = NAN},
		{.time_ps = diff->totals[1].length_ps, .calls = diff->totals[1].calls, .gbps = NAN},
	};

	kp_style_begin(printing->file, printing->view->colors, KP_STYLE_STRONG);
	print_numbers(printing, sides, diff->change_ps, false);
	fprintf(printing->file, "%s %s, mean", diff->unit == KP_UNIT_STEP ? "an" : "a",
		unit_word(diff));
	kp_style_end(printing->file, printing->view->colors, KP_STYLE_STRONG);
	fputc('\n', printing->file);
}

static void print_table(const struct printing *printing)
{
	const struct kp_diff *diff = printing->diff;
	size_t shown = limit(printing, diff->group_count);
	struct kp_diff_side rest[2] = {{0}, {0}};
	int64_t rest_ps = 0;

	fputc('\n', printing->file);
	print_title(printing);
	print_total(printing);
	for (size_t i = 0; i < shown; i++)
		print_group(printing, &diff->groups[i]);
	for (size_t i = shown; i < diff->group_count; i++) {
		add_side(rest, diff->groups[i].sides);
		rest_ps += diff->groups[i].change_ps;
	}
	print_rest(printing, rest, rest_ps, diff->group_count - shown, "");
}

static bool has_match(const struct kp_diff *diff, enum kp_diff_match match)
{
	for (size_t i = 0; i < diff->row_count; i++)
		if (diff->rows[i].kind == KP_DIFF_KERNEL && diff->rows[i].match == match)
			return true;
	return false;
}

static void print_marks(const struct printing *printing)
{
	char text[256];

	snprintf(text, sizeof text, "%s%s%s",
		 has_match(printing->diff, KP_MATCH_REPLACED)
			 ? "~ another kernel in the same place. "
			 : "",
		 has_match(printing->diff, KP_MATCH_GONE) ? "- on the base side only. " : "",
		 has_match(printing->diff, KP_MATCH_NEW) ? "+ on the new side only." : "");
	if (!*text)
		return;
	fputc('\n', printing->file);
	kp_text_wrap(printing->file, text, 0, 0, printing->view->width);
}

enum kp_status kp_print_diff(FILE *file, const struct kp_diff *diff, const struct kp_view *view)
{
	struct printing printing = {file, diff, view, kp_arena_create(), false};

	if (!printing.names)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < diff->row_count; i++)
		printing.rates |=
			!isnan(diff->rows[i].sides[0].gbps) || !isnan(diff->rows[i].sides[1].gbps);
	print_side(&printing, 0);
	print_side(&printing, 1);
	print_verdict(&printing);
	print_units(&printing);
	if (diff->row_count)
		print_table(&printing);
	print_marks(&printing);
	kp_arena_destroy(printing.names);
	return KP_OK;
}
