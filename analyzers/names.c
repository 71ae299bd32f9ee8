/*
 * Rendering of short names; see names.h.
 *
 * A name is rendered into a buffer of twice its length. Every step drops text, or replaces it by at
 * most that much («<b>» by «<...>», «,» by «, »); the buffer refuses what would not fit.
 */
#include "analyzers/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/signature.h"

#define BRIEF_MAX 96
#define LONGER_MAX 240
#define NESTING_ALL 256
/* Plain arguments that are kept of a list that is cut. */
#define LEADING_MAX 4

struct rendering {
	char *text;
	size_t length, capacity;
	size_t limit;  /* argument lists stop here; SIZE_MAX: no limit */
	bool simplify; /* drop carriers, name lambdas by their functions */
	bool heads;    /* where arguments are cut, show the names of templates among them */
};

static void put_name(struct rendering *out, struct kp_span *rest, unsigned nesting, size_t start);

static bool is_one_of(struct kp_span word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(list[i]) == kp_span_length(word) &&
		    memcmp(list[i], word.begin, kp_span_length(word)) == 0)
			return true;
	}
	return false;
}

/* Template arguments that carry pointers and offsets: they follow from the others. */
static bool is_carrier(struct kp_span argument)
{
	static const char *const carriers[] = {
		"array",        "Array",           "TrivialOffsetCalculator", "OffsetCalculator",
		"LoadWithCast", "LoadWithoutCast", "StoreWithCast",           "StoreWithoutCast",
	};
	struct kp_component component = kp_signature_named(argument);

	return component.args.begin &&
	       is_one_of(component.name, carriers, sizeof(carriers) / sizeof(carriers[0]));
}

/* Functions that only wrap what their first template argument does. */
static bool is_wrapper(struct kp_span name)
{
	static const char *const wrappers[] = {"gpu_kernel_impl_nocast", "gpu_kernel_impl",
					       "gpu_kernel", "opmath_gpu_kernel_with_scalars",
					       "opmath_symmetric_gpu_kernel_with_scalars"};

	return is_one_of(name, wrappers, sizeof(wrappers) / sizeof(wrappers[0]));
}

/* Function names that say nothing without the class or namespace around them. */
static bool is_generic(struct kp_span name)
{
	static const char *const generic[] = {"kernel", "Kernel", "run",
					      "entry",  "launch", "apply"};

	return is_one_of(name, generic, sizeof(generic) / sizeof(generic[0]));
}

static void put(struct rendering *out, const char *bytes, size_t length)
{
	if (length > out->capacity - out->length)
		length = out->capacity - out->length;
	memcpy(out->text + out->length, bytes, length);
	out->length += length;
}

static bool has_brackets(struct kp_span text)
{
	for (; text.begin < text.end; text.begin++) {
		if (strchr("<({[", *text.begin))
			return true;
	}
	return false;
}

/* Any text: names in it are shortened, «> >» is closed up, the rest is kept. */
static void put_text(struct rendering *out, struct kp_span text, unsigned nesting)
{
	size_t start = out->length;

	while (text.begin < text.end) {
		if (kp_signature_starts_name(text)) {
			put_name(out, &text, nesting, start);
			continue;
		}
		if (!(*text.begin == ' ' && text.begin + 1 < text.end && text.begin[1] == '>' &&
		      out->length && out->text[out->length - 1] == '>'))
			put(out, text.begin, 1);
		text.begin++;
	}
}

/*
 * At the deepest level that is shown, only the first arguments, of templates only their names:
 * <float, MeanOps<...>, ...>
 */
static void put_leading(struct rendering *out, struct kp_span args)
{
	struct kp_span argument;
	unsigned count = 0;

	put(out, "<", 1);
	while (kp_signature_argument(&args, &argument)) {
		struct kp_component head = kp_signature_named(argument);
		bool plain = !has_brackets(argument);

		if (count++ == LEADING_MAX || !(plain || (out->heads && head.args.begin))) {
			put(out, "...", 3);
			break;
		}
		put_text(out, plain ? argument : head.name, 0);
		if (!plain)
			put(out, "<...>", 5);
		if (kp_span_length(args))
			put(out, ", ", 2);
	}
	put(out, ">", 1);
}

static void put_arguments(struct rendering *out, struct kp_span args, unsigned nesting,
			  bool outermost)
{
	size_t before = out->length, count = 0;
	struct kp_span argument;

	if (nesting == 0 && kp_span_length(args) > 3) {
		put_leading(out, args);
		return;
	}
	put(out, "<", 1);
	while (kp_signature_argument(&args, &argument)) {
		size_t mark = out->length;

		if (outermost && out->simplify && is_carrier(argument))
			continue;
		if (count++)
			put(out, ", ", 2);
		put_text(out, argument, nesting ? nesting - 1 : 0);
		if (outermost && out->length >= out->limit) {
			out->length = mark;
			put(out, count > 1 ? ", ..." : "...", count > 1 ? 5 : 3);
			break;
		}
	}
	if (count)
		put(out, ">", 1);
	else
		out->length = before;
}

static void put_component(struct rendering *out, const struct kp_component *component,
			  unsigned nesting, bool outermost)
{
	struct kp_span name = component->name;

	if (*name.begin == '{' && kp_span_length(name) > 2) {
		put(out, "{", 1);
		put_text(out, (struct kp_span){name.begin + 1, name.end - 1}, nesting);
		put(out, "}", 1);
	} else {
		put(out, name.begin, kp_span_length(name));
	}
	if (component->args.begin)
		put_arguments(out, component->args, nesting, outermost);
	if (component->params.begin) {
		put(out, "(", 1);
		put_text(out, component->params, nesting);
		put(out, ")", 1);
	}
}

/* The parameters of {lambda(int)#1}; begin = NULL: it is none, or it has none. */
static struct kp_span lambda_parameters(struct kp_span name)
{
	static const char prefix[] = "{lambda(";
	const size_t length = sizeof(prefix) - 1;
	struct kp_span inner = {name.begin + length, name.end};

	if (kp_span_length(name) <= length || memcmp(name.begin, prefix, length) != 0)
		return (struct kp_span){0};
	while (inner.end > inner.begin && *inner.end != ')')
		inner.end--;
	return inner.end > inner.begin ? inner : (struct kp_span){0};
}

/* A lambda is called by the function that holds it and its own parameters. */
static void put_lambda(struct rendering *out, const struct kp_component *holder,
		       struct kp_span parameters, unsigned nesting)
{
	struct kp_span args = holder->args, wrapped;

	if (args.begin && is_wrapper(holder->name) && kp_signature_argument(&args, &wrapped)) {
		put_text(out, wrapped, nesting);
		return;
	}
	put(out, holder->name.begin, kp_span_length(holder->name));
	if (holder->args.begin)
		put_arguments(out, holder->args, nesting, false);
	if (parameters.begin) {
		put(out, "(", 1);
		put_text(out, parameters, nesting);
		put(out, ")", 1);
	}
}

/* What a first pass over a qualified name finds. */
struct survey {
	size_t count;
	size_t first;               /* the first component that is shown: no plain namespace */
	struct kp_component holder; /* the outermost enclosing function; name.begin = NULL: none */
	struct kp_span parameters;  /* of the innermost lambda */
	struct kp_component previous, final;
	const char *end; /* behind the name */
	bool broken;
};

static struct survey survey_name(struct kp_span rest)
{
	struct survey survey = {.first = SIZE_MAX};
	struct kp_component component;
	bool last = false;

	for (; !last; survey.count++) {
		if (!kp_signature_component(&rest, &component, &last)) {
			survey.broken = true;
			return survey;
		}
		if (survey.first == SIZE_MAX &&
		    (last || component.args.begin || component.params.begin))
			survey.first = survey.count;
		if (component.params.begin && !survey.holder.name.begin)
			survey.holder = component;
		survey.parameters = lambda_parameters(component.name);
		survey.previous = survey.final;
		survey.final = component;
	}
	survey.end = rest.begin;
	return survey;
}

/* The components from `first` on; `rest` is then behind the name. */
static void put_components(struct rendering *out, struct kp_span *rest, size_t first,
			   unsigned nesting, bool function)
{
	struct kp_component component;
	bool last = false;

	for (size_t i = 0; !last && kp_signature_component(rest, &component, &last); i++) {
		if (i < first)
			continue;
		if (i > first)
			put(out, "::", 2);
		put_component(out, &component, nesting, function && last);
	}
}

/* The name that `rest` begins with, within an argument whose rendering began at `start`. */
static void put_name(struct rendering *out, struct kp_span *rest, unsigned nesting, size_t start)
{
	struct survey survey = survey_name(*rest);

	if (survey.broken) {
		put(out, rest->begin, kp_span_length(*rest));
		rest->begin = rest->end;
		return;
	}
	if (survey.holder.name.begin && start <= out->length)
		out->length = start; /* the return type of the function that holds it */
	if (survey.holder.name.begin && out->simplify && *survey.final.name.begin == '{') {
		put_lambda(out, &survey.holder, survey.parameters, nesting);
		rest->begin = survey.end;
		return;
	}
	put_components(out, rest, survey.first, nesting, false);
}

static void put_function(struct rendering *out, struct kp_span function, unsigned nesting)
{
	struct survey survey = survey_name(function);
	size_t first = survey.first;

	out->length = 0;
	if (survey.broken) {
		put(out, function.begin, kp_span_length(function));
		return;
	}
	if (first && first + 1 == survey.count && is_generic(survey.final.name) &&
	    !kp_signature_is_nameless(&survey.previous))
		first--;
	put_components(out, &function, first, nesting, true);
	/* Text that is no qualified name is kept to its end. */
	put(out, function.begin, kp_span_length(function));
}

/* What is tried in turn until the name is short enough. */
static const struct attempt {
	unsigned nesting; /* of template arguments that are shown */
	bool heads, cut;
} attempts[] = {
	{4, true, false}, {3, true, false},  {2, true, false}, {2, false, false},
	{1, true, false}, {1, false, false}, {1, false, true},
};

static void put_shortest(struct rendering *out, struct kp_span function, size_t limit)
{
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		out->heads = attempts[i].heads;
		out->limit = attempts[i].cut ? limit : SIZE_MAX;
		put_function(out, function, attempts[i].nesting);
		if (out->length <= limit)
			return;
	}
}

const char *kp_name_shorten(struct kp_arena *arena, const char *full, enum kp_name_detail detail)
{
	struct kp_span function = kp_signature_function(full, NULL);
	struct rendering out = {.capacity = 2 * strlen(full) + 16, .limit = SIZE_MAX};
	const char *name;

	if (detail == KP_NAME_FULL)
		return kp_arena_copy(arena, full, strlen(full));
	if (detail == KP_NAME_QUALIFIED)
		return kp_arena_copy(arena, function.begin, kp_span_length(function));
	out.text = malloc(out.capacity);
	if (!out.text)
		return NULL;
	out.simplify = detail == KP_NAME_BRIEF || detail == KP_NAME_LONGER;
	if (out.simplify)
		put_shortest(&out, function, detail == KP_NAME_BRIEF ? BRIEF_MAX : LONGER_MAX);
	else
		put_function(&out, function, NESTING_ALL);
	name = kp_arena_copy(arena, out.text, out.length);
	free(out.text);
	return name;
}
