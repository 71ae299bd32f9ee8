/* Rules of A/B in running programs; see top_rules.h. */
#include "tui/top_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/board_history.h"
#include "trace/vector.h"

/* What was before a switch, as long as it is the last one. */
struct kp_top_before {
	uint64_t process;
	uint32_t rule; /* as the process counts */
	uint64_t switched_ns;
	struct kp_top_stretch stretch;
};

/* Sums over all kernels of a process, and over the range that makes a unit, of each second. */
struct seconds {
	uint64_t kernels[KP_BOARD_SECONDS];
	double kernel_ns[KP_BOARD_SECONDS];
	uint64_t units[KP_BOARD_SECONDS];
};

/* Complete seconds from `first` to before `end`. */
struct window {
	uint64_t first, end;
};

double kp_top_change_pct(double before, double since)
{
	return before > 0 && since > 0 ? 100 * (since / before - 1) : NAN;
}

double kp_top_each_ns(const struct kp_top_stretch *stretch)
{
	bool known = stretch->fitted_per_s > 0 && stretch->kernel_ns_per_s > 0;

	return known ? stretch->kernel_ns_per_s / stretch->fitted_per_s : NAN;
}

/* ---- a process ---- */

static bool makes_units(const struct kp_top *top, const struct kp_board_image *image,
			const struct kp_board_row *row)
{
	const char *wanted = top->source.unit_range;

	return wanted && row->kind == KP_BOARD_RANGE && row->name_bytes == strlen(wanted) &&
	       memcmp(image->names + row->name, wanted, row->name_bytes) == 0;
}

/* Those before `end`, in their places of a history. */
static void sum_seconds(const struct kp_top *top, const struct kp_board_image *image, uint64_t end,
			struct seconds *out)
{
	memset(out, 0, sizeof *out);
	for (uint32_t r = 0; r < image->head.row_count; r++) {
		const struct kp_board_row *row = &image->rows[r];
		bool kernel = row->kind == KP_BOARD_KERNEL, unit = makes_units(top, image, row);

		for (uint64_t i = 1; (kernel || unit) && i <= KP_BOARD_SECONDS && i <= end; i++) {
			size_t at = (end - i) % KP_BOARD_SECONDS;

			if (!kp_board_knows(row->second, end - i))
				continue;
			out->kernels[at] += kernel ? row->seconds[at].calls : 0;
			out->kernel_ns[at] += kernel ? (double)row->seconds[at].total_ns : 0;
			out->units[at] += unit ? row->seconds[at].calls : 0;
		}
	}
}

static struct kp_top_stretch stretch_of(const struct kp_board_rule *rule,
					const struct seconds *seconds, struct window window,
					double units)
{
	struct kp_top_stretch out = {0};
	double count = window.end > window.first ? (double)(window.end - window.first) : 0;

	if (count == 0)
		return out;
	for (uint64_t second = window.first; second < window.end; second++) {
		size_t at = second % KP_BOARD_SECONDS;
		bool known = kp_board_knows(rule->second, second);

		out.fitted_per_s += known ? (double)rule->seconds[at].fitted / count : 0;
		out.replaced_per_s += known ? (double)rule->seconds[at].replaced / count : 0;
		out.kernels_per_s += (double)seconds->kernels[at] / count;
		out.kernel_ns_per_s += seconds->kernel_ns[at] / count;
		out.units_per_s += (double)seconds->units[at] * units / count;
	}
	out.seconds = count;
	return out;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The first of the last ten seconds before `end`. */
static uint64_t ten_before(uint64_t end)
{
	return end > KP_TOP_STRETCH_S ? end - KP_TOP_STRETCH_S : 0;
}

static uint64_t second_after(uint64_t ns)
{
	return ns ? ns / KP_BOARD_SECOND_NS + 1 : 0;
}

/* Since `switched_ns`, when a rule was switched in any process, or all the time. */
static struct window since(const struct kp_board_rule *rule, uint64_t switched_ns, uint64_t end)
{
	uint64_t first = later(second_after(switched_ns), second_after(rule->begun_ns));

	return (struct window){later(first, ten_before(end)), end};
}

/* Before that, and since any was switched before that. */
static struct window before(const struct kp_board_image *image, uint32_t number,
			    uint64_t switched_ns, uint64_t end)
{
	uint64_t until = switched_ns / KP_BOARD_SECOND_NS;
	uint64_t first = later(second_after(image->rules[number].begun_ns), ten_before(until));

	for (uint32_t i = 0; i < image->head.rule_count; i++)
		if (image->rules[i].switched_ns < switched_ns)
			first = later(first, second_after(image->rules[i].switched_ns));
	return (struct window){first, until < end ? until : end};
}

/* ---- what is kept ---- */

static struct kp_top_before *find_before(struct kp_top *top, uint64_t process, uint32_t rule)
{
	for (size_t i = 0; i < top->before_count; i++)
		if (top->befores[i].process == process && top->befores[i].rule == rule)
			return &top->befores[i];
	if (!kp_vector_grow((void **)&top->befores, top->before_count, &top->before_capacity,
			    sizeof *top->befores))
		return NULL;
	top->befores[top->before_count] = (struct kp_top_before){.process = process, .rule = rule};
	return &top->befores[top->before_count++];
}

/* Looked at as long as the history has all of it, then as it was seen last. */
static enum kp_status look_before(struct kp_top *top, const struct kp_board_image *image,
				  uint32_t number, const struct seconds *seconds,
				  uint64_t switched_ns, struct kp_top_stretch *out)
{
	struct window window = before(image, number, switched_ns, top->second);
	struct kp_top_before *kept = find_before(top, image->head.process, number);

	if (!kept)
		return KP_NO_MEMORY;
	if (window.first + KP_BOARD_SECONDS > top->second)
		kept->stretch =
			stretch_of(&image->rules[number], seconds, window, top->source.units);
	else if (kept->switched_ns != switched_ns)
		kept->stretch = (struct kp_top_stretch){0};
	kept->switched_ns = switched_ns;
	*out = kept->stretch;
	return KP_OK;
}

/* ---- rows ---- */

static struct kp_top_rule *find_rule(struct kp_top *top, const char *name)
{
	for (size_t i = 0; i < top->rule_count; i++)
		if (strcmp(top->rules[i].name, name) == 0)
			return &top->rules[i];
	if (!kp_vector_grow((void **)&top->rules, top->rule_count, &top->rule_capacity,
			    sizeof *top->rules))
		return NULL;
	top->rules[top->rule_count] = (struct kp_top_rule){0};
	memcpy(top->rules[top->rule_count].name, name, KP_BOARD_RULE_NAME_BYTES);
	return &top->rules[top->rule_count++];
}

static void add_stretch(struct kp_top_stretch *to, const struct kp_top_stretch *from)
{
	to->seconds = fmax(to->seconds, from->seconds);
	to->fitted_per_s += from->fitted_per_s;
	to->replaced_per_s += from->replaced_per_s;
	to->kernels_per_s += from->kernels_per_s;
	to->kernel_ns_per_s += from->kernel_ns_per_s;
	to->units_per_s += from->units_per_s;
}

static void add_counts(const struct kp_top *top, const struct kp_board_rule *rule,
		       struct kp_top_rule *row)
{
	row->processes++;
	row->off += rule->off != 0;
	row->wrong += rule->wrong != 0;
	row->shadow += rule->shadow != 0;
	row->seen += rule->seen;
	row->fitted += rule->fitted;
	row->replaced += rule->replaced;
	row->compared += rule->compared;
	row->switched_ns = later(row->switched_ns, rule->switched_ns);
	for (uint64_t i = 0; i < KP_TOP_HISTORY && i < top->second; i++) {
		uint64_t second = top->second - 1 - i;

		if (kp_board_knows(rule->second, second))
			row->history[KP_TOP_HISTORY - 1 - i] +=
				(double)rule->seconds[second % KP_BOARD_SECONDS].fitted;
	}
}

static enum kp_status count_rules(struct kp_top *top, const struct kp_board_image *image)
{
	for (uint32_t i = 0; i < image->head.rule_count; i++) {
		struct kp_top_rule *row = find_rule(top, image->rules[i].name);

		if (!row)
			return KP_NO_MEMORY;
		add_counts(top, &image->rules[i], row);
	}
	return KP_OK;
}

static enum kp_status add_stretches(struct kp_top *top, const struct kp_board_image *image,
				    struct seconds *seconds)
{
	enum kp_status status = KP_OK;

	sum_seconds(top, image, top->second, seconds);
	for (uint32_t i = 0; i < image->head.rule_count && status == KP_OK; i++) {
		struct kp_top_rule *row = find_rule(top, image->rules[i].name);
		struct kp_top_stretch earlier = {0}, now;

		if (!row)
			return KP_NO_MEMORY;
		now = stretch_of(&image->rules[i], seconds,
				 since(&image->rules[i], row->switched_ns, top->second),
				 top->source.units);
		if (row->switched_ns)
			status = look_before(top, image, i, seconds, row->switched_ns, &earlier);
		/* It came after the switch, or what was before it was not seen. */
		row->incomparable |= now.seconds > 0 && earlier.seconds == 0;
		add_stretch(&row->since, &now);
		add_stretch(&row->before, &earlier);
	}
	return status;
}

enum kp_status kp_top_find_rules(struct kp_top *top)
{
	struct seconds *seconds = NULL;
	enum kp_status status = KP_OK;

	top->rule_count = 0;
	for (size_t i = 0; i < top->view.process_count && status == KP_OK; i++)
		if (kp_top_takes(top, i))
			status = count_rules(top, top->view.processes[i].image);
	if (status == KP_OK && top->rule_count) {
		seconds = malloc(sizeof *seconds);
		status = seconds ? KP_OK : KP_NO_MEMORY;
	}
	for (size_t i = 0; seconds && i < top->view.process_count && status == KP_OK; i++)
		if (kp_top_takes(top, i) && top->view.processes[i].image->head.rule_count)
			status = add_stretches(top, top->view.processes[i].image, seconds);
	for (size_t i = 0; i < top->rule_count; i++)
		if (top->rules[i].incomparable)
			top->rules[i].before = (struct kp_top_stretch){0};
	free(seconds);
	return status;
}

void kp_top_rules_fini(struct kp_top *top)
{
	free(top->rules);
	free(top->befores);
}
