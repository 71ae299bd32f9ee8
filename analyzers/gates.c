/* What a rule's figure means, and what becomes of the rule; see gates.h. Pure. */
#include "analyzers/gates.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzers/gates_rule.h"

#define TEXT_BYTES 512

const char *kp_gate_state_name(enum kp_gate_state state)
{
	static const char *const names[] = {"passed", "violated", "unknown"};

	return names[state];
}

bool kp_gate_fits(const struct kp_gate *gate, const char *mangled, const char *full,
		  const char *shortened)
{
	const char *const names[] = {shortened, full, mangled};

	for (unsigned i = 0; i < 3; i++) {
		if (!names[i])
			continue;
		if (gate->has_regex ? regexec(&gate->regex, names[i], 0, NULL, 0) == 0
				    : strcmp(names[i], gate->name) == 0)
			return true;
	}
	return false;
}

static bool violates(const struct kp_gate *gate, double value)
{
	switch (gate->order) {
	case KP_GATE_ABOVE:
		return value > gate->value;
	case KP_GATE_FROM:
		return value >= gate->value;
	case KP_GATE_BELOW:
		return value < gate->value;
	case KP_GATE_UPTO:
		return value <= gate->value;
	}
	return true;
}

static const char *unit_of(enum kp_gate_kind kind)
{
	switch (kind) {
	case KP_GATE_PCT:
		return "%";
	case KP_GATE_TIME:
		return "ns";
	case KP_GATE_RATE:
		return "GB/s";
	case KP_GATE_COUNT:
		break;
	}
	return "";
}

/* A figure for people, in a unit that they read easily. */
static void describe(enum kp_gate_kind kind, double value, char *out, size_t size)
{
	static const struct {
		double from;
		const char *unit;
	} scales[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};

	for (unsigned i = 0; kind == KP_GATE_TIME && i < 3; i++) {
		if (fabs(value) < scales[i].from)
			continue;
		snprintf(out, size, "%.3f %s", value / scales[i].from, scales[i].unit);
		return;
	}
	if (kind == KP_GATE_COUNT)
		snprintf(out, size, "%.12g", value);
	else
		snprintf(out, size, "%.*f %s", kind == KP_GATE_RATE ? 1 : 2, value, unit_of(kind));
}

enum kp_status kp_gate_settle(const struct kp_gate *gate, const struct kp_gate_figure *figure,
			      struct kp_arena *arena, struct kp_gate_outcome *out)
{
	char text[TEXT_BYTES], value[64];
	const char *comment = figure->comment;

	out->rule = kp_arena_copy(arena, gate->rule, strlen(gate->rule));
	out->unit = gate->compares ? unit_of(gate->kind) : "";
	out->value = isfinite(figure->value) && gate->compares ? figure->value : NAN;
	if (isnan(figure->value) || *figure->lacks)
		out->state = KP_GATE_UNKNOWN;
	else if (gate->compares ? violates(gate, figure->value) : figure->value > 0)
		out->state = KP_GATE_VIOLATED;
	else
		out->state = KP_GATE_PASSED;
	if (isnan(out->value)) {
		snprintf(text, sizeof(text), "%s", *comment ? comment : "there is no figure");
	} else {
		describe(gate->kind, out->value, value, sizeof(value));
		snprintf(text, sizeof(text), "%s%sit is %s%s%s%s", figure->lacks,
			 *figure->lacks ? "; without them " : "", value, *comment ? " (" : "",
			 comment, *comment ? ")" : "");
	}
	if (*figure->lacks)
		out->value = NAN;
	out->text = kp_arena_copy(arena, text, strlen(text));
	return out->rule && out->text ? KP_OK : KP_NO_MEMORY;
}

size_t kp_gates_failed(const struct kp_gate_outcome *outcomes, size_t count)
{
	size_t failed = 0;

	for (size_t i = 0; i < count; i++)
		failed += outcomes[i].state != KP_GATE_PASSED;
	return failed;
}
