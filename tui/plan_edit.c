/* Editing a plan; see plan_edit.h. */
#include "tui/plan_edit.h"

#include <stdio.h>
#include <string.h>

#define REALISTIC_PCT 80
#define HOURS_PER_YEAR 8760

enum kp_status kp_plan_edit_init(struct kp_plan_edit *edit)
{
	*edit = (struct kp_plan_edit){0};
	edit->inputs.realistic_pct = REALISTIC_PCT;
	edit->inputs.fleet.hours_per_year = HOURS_PER_YEAR;
	edit->inputs.units_per_range = 1;
	return KP_OK;
}

void kp_plan_edit_reset(struct kp_plan_edit *edit)
{
	kp_plan_destroy(edit->plan);
	edit->plan = NULL;
	edit->made = false;
}

void kp_plan_edit_fini(struct kp_plan_edit *edit)
{
	kp_plan_edit_reset(edit);
}

enum kp_status kp_plan_edit_make(struct kp_plan_edit *edit, const struct kp_report *report)
{
	enum kp_status status;

	if (edit->made)
		return KP_OK;
	edit->made = true;
	edit->error[0] = '\0';
	edit->inputs.wishes = edit->wishes;
	status = kp_plan_build(report, &edit->inputs, &edit->plan, edit->error);
	if (status != KP_OK)
		edit->plan = NULL;
	return status == KP_INVALID ? KP_OK : status;
}

/* The number of an operator's wish; wish_count: it has none. */
static size_t wish_of(const struct kp_plan_edit *edit, const char *name)
{
	size_t i = 0;

	while (i < edit->inputs.wish_count && strcmp(edit->names[i], name) != 0)
		i++;
	return i;
}

bool kp_plan_edit_target(struct kp_plan_edit *edit, const char *name, double target)
{
	size_t at = wish_of(edit, name);
	bool known = at < edit->inputs.wish_count;

	kp_plan_edit_reset(edit);
	if (!known && (at == KP_PLAN_EDIT_WISHES || strlen(name) >= sizeof edit->names[0]))
		return false;
	if (target == 0 && known) { /* the last takes its place */
		size_t last = --edit->inputs.wish_count;
		memmove(edit->names[at], edit->names[last], sizeof edit->names[at]);
		edit->wishes[at] = edit->wishes[last];
		edit->wishes[at].name = edit->names[at];
	}
	if (target == 0)
		return true;
	if (!known) {
		edit->inputs.wish_count++;
		snprintf(edit->names[at], sizeof edit->names[at], "%s", name);
		edit->wishes[at] = (struct kp_plan_wish){.name = edit->names[at]};
	}
	edit->wishes[at].target = target;
	return true;
}

double kp_plan_edit_target_of(const struct kp_plan_edit *edit, const char *name)
{
	size_t at = wish_of(edit, name);

	return at < edit->inputs.wish_count ? edit->wishes[at].target : 0;
}
