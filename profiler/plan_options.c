/* The options of kprof plan; see plan_options.h. What they mean together analyzers/plan.h says. */
#include "profiler/plan_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/number.h"
#include "profiler/say.h"
#include "profiler/text.h"

#define REALISTIC_PCT 80
#define HOURS_PER_YEAR 8760
#define WISHES_MAX 64
#define CURRENCY_COLUMNS 8
#define VALUE_MAX 1e15

const char *const kp_plan_unit_names[KP_PLAN_UNIT_COUNT + 1] = {
#define X(NAME, key) key,
	KP_PLAN_UNITS(X)
#undef X
};

/* An option whose value is a list: where its numbers go, and what may follow them. */
struct list {
	const char *option;
	const char *text;
	size_t offset; /* in struct kp_plan_wish */
	char suffix;   /* 0: none */
	const char *example;
};

static bool read_number(const char *text, size_t length, char suffix, double *out)
{
	return kp_number_parse(text, length, suffix, out) && *out > 0 && *out <= VALUE_MAX;
}

/* The wish of a name, new or known; NULL: there are too many, or no memory. The last place of the
 * array is of the names themselves. */
static struct kp_plan_wish *wish_of(struct kp_plan_inputs *inputs, const char *name, size_t length)
{
	struct kp_plan_wish *wishes = (struct kp_plan_wish *)inputs->wishes;

	for (size_t i = 0; i < inputs->wish_count; i++) {
		if (strlen(wishes[i].name) == length && memcmp(wishes[i].name, name, length) == 0)
			return &wishes[i];
	}
	if (inputs->wish_count == WISHES_MAX)
		return NULL;
	char *copy = strndup(name, length);
	if (!copy)
		return NULL;
	wishes[inputs->wish_count] = (struct kp_plan_wish){.name = copy};
	return &wishes[inputs->wish_count++];
}

static bool read_item(const struct list *list, const char *item, size_t length,
		      struct kp_plan_inputs *inputs)
{
	const char *equals = memrchr(item, '=', length);
	size_t name_length = equals ? (size_t)(equals - item) : 0;
	double value;

	if (name_length == 0 ||
	    !read_number(equals + 1, length - name_length - 1, list->suffix, &value)) {
		kp_fail("--%s %.*s: it is an operator and a number above 0, as in %s", list->option,
			(int)length, item, list->example);
		return false;
	}
	struct kp_plan_wish *wish = wish_of(inputs, item, name_length);
	if (!wish) {
		kp_fail("--%s: no room for more than %d operators", list->option, WISHES_MAX);
		return false;
	}
	double *member = (double *)(void *)((char *)wish + list->offset);
	if (*member != 0) {
		kp_fail("--%s: %.*s is there twice", list->option, (int)name_length, item);
		return false;
	}
	*member = value;
	return true;
}

static bool read_list(const struct list *list, struct kp_plan_inputs *inputs)
{
	for (const char *at = list->text; at;) {
		size_t length = strcspn(at, ",");

		if (!read_item(list, at, length, inputs))
			return false;
		at = at[length] ? at + length + 1 : NULL;
	}
	return true;
}

/* A number for all, or a list. */
static bool read_weeks(const char *text, struct kp_plan_inputs *inputs)
{
	const struct list list = {"engineer-weeks", text,
				  offsetof(struct kp_plan_wish, engineer_weeks), 0,
				  "attention=6, or 6 for each"};

	if (text && read_number(text, strlen(text), 0, &inputs->fleet.engineer_weeks))
		return true;
	return read_list(&list, inputs);
}

/* A word such as EUR or €: it is printed behind amounts. */
static bool check_currency(const char *currency)
{
	char shown[64];

	if (!currency)
		return true;
	size_t length = strlen(currency);
	kp_text_visible(shown, sizeof shown, currency, length);
	if (strcmp(shown, currency) == 0 && kp_text_columns(shown) <= CURRENCY_COLUMNS &&
	    !strpbrk(currency, " \t0123456789"))
		return true;
	kp_fail("--currency %s: it is a short word, such as EUR", currency);
	return false;
}

static bool read_lists(const struct kp_plan_settings *settings, struct kp_plan_inputs *inputs)
{
	const struct list lists[] = {
		{"target", settings->targets, offsetof(struct kp_plan_wish, target), 'x',
		 "attention=3x"},
		{"end-to-end", settings->whole_targets, offsetof(struct kp_plan_wish, whole_target),
		 'x', "attention=1.3x"},
		{"share", settings->shares, offsetof(struct kp_plan_wish, share_pct), '%',
		 "attention=45%"},
		{"fewer-bytes", settings->fewer_bytes, offsetof(struct kp_plan_wish, fewer_bytes),
		 'x', "attention=2.3x"},
		{"fewer-launches", settings->fewer_launches,
		 offsetof(struct kp_plan_wish, fewer_launches), 'x', "attention=3x"},
	};

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		if (!read_list(&lists[i], inputs))
			return false;
	}
	return read_weeks(settings->engineer_weeks, inputs);
}

bool kp_plan_options(const struct kp_plan_settings *settings, struct kp_plan_inputs *inputs)
{
	*inputs = (struct kp_plan_inputs){
		.wishes = calloc(WISHES_MAX, sizeof(struct kp_plan_wish)),
		.realistic_pct =
			settings->realistic_pct > 0 ? settings->realistic_pct : REALISTIC_PCT,
		.fleet = {.gpus = settings->gpus,
			  .gpu_price = settings->gpu_price,
			  .gpu_hour = settings->gpu_hour,
			  .hours_per_year = settings->hours_per_year > 0 ? settings->hours_per_year
									 : HOURS_PER_YEAR,
			  .gpu_watts = settings->gpu_watts,
			  .kwh_price = settings->kwh_price,
			  .engineer_week = settings->engineer_week},
		.unit_range = settings->unit_range,
		.unit = (enum kp_plan_unit)settings->unit,
		.units_per_range = settings->units_per_range > 0 ? settings->units_per_range : 1,
	};
	inputs->fleet.units_per_s[KP_PLAN_UNIT_TOKENS] = settings->tokens_per_s;
	inputs->fleet.units_per_s[KP_PLAN_UNIT_REQUESTS] = settings->requests_per_s;
	if (!inputs->wishes) {
		kp_fail("out of memory");
		return false;
	}
	if (!settings->unit_range && (settings->units_per_range > 0 || settings->unit != 0)) {
		kp_fail("--unit and --units-per-range say what the ranges of --unit-range are");
		return false;
	}
	return check_currency(settings->currency) && read_lists(settings, inputs);
}

void kp_plan_options_free(struct kp_plan_inputs *inputs)
{
	for (size_t i = 0; i < inputs->wish_count; i++)
		free((char *)inputs->wishes[i].name);
	free((struct kp_plan_wish *)inputs->wishes);
	*inputs = (struct kp_plan_inputs){0};
}
