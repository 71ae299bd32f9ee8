/* Gates of a command; see gating.h. */
#include "profiler/gating.h"

#include <string.h>

#include "profiler/output.h"
#include "profiler/rules.h"
#include "profiler/say.h"

// clang-format off
static const struct kp_option gate_options[] = {
	{.name = "fail-on", .type = KP_OPTION_WORDS,
	 .offset = offsetof(struct kp_settings, fail_on), .argument = "RULE",
	 .help = "End with exit status 1 where RULE holds, and say so in one line; may be given "
		 "several times. RULE is SUBJECT.FIELD, one of > >= < <=, and a number with its "
		 "unit, as in 'operator(attention).share > 30%'. docs/ci.md lists subjects, fields "
		 "and units. A figure that is not known fails, too."},
	{.name = "junit", .type = KP_OPTION_FILE, .offset = offsetof(struct kp_settings, junit),
	 .argument = "FILE",
	 .help = "Write what became of each RULE to FILE, as JUnit's XML, which CI systems show."},
	{0},
};
// clang-format on
const struct kp_option_group kp_gate_group = {"Gates", gate_options};

static bool open_rules(const struct kp_settings *settings, enum kp_gate_scope scope,
		       const struct kp_operators *operators, struct kp_gating *out)
{
	for (size_t i = 0; i < settings->fail_on.count; i++) {
		const char *rule = settings->fail_on.items[i];
		struct kp_gate_error error;
		enum kp_status status =
			kp_gate_create(rule, scope, operators, &out->gates[out->count], &error);

		if (status == KP_INVALID)
			kp_fail("--fail-on '%s': column %zu: %s", rule, error.column, error.text);
		else if (status != KP_OK)
			kp_fail("--fail-on: %s", kp_status_message(status));
		if (status != KP_OK)
			return false;
		out->count++;
	}
	return true;
}

bool kp_gating_open(const struct kp_settings *settings, enum kp_gate_scope scope,
		    struct kp_gating *out)
{
	struct kp_operators *operators = NULL;
	bool good = true;

	*out = (struct kp_gating){0};
	if (!settings->fail_on.count && settings->junit) {
		kp_fail("--junit: there is nothing to write without --fail-on");
		return false;
	}
	if (!settings->fail_on.count)
		return true;
	if (settings->junit && settings->output && strcmp(settings->junit, settings->output) == 0) {
		kp_fail("--junit and --output name the same file: %s", settings->junit);
		return false;
	}
	if (settings->junit && !kp_output_check(settings->junit))
		return false;
	if (!kp_rules_open(settings, &operators))
		return false;
	if (!operators && kp_operators_builtin(&operators) != KP_OK)
		good = kp_fail("out of memory") == 0;
	good = good && open_rules(settings, scope, operators, out);
	kp_operators_destroy(operators);
	if (!good)
		kp_gating_close(out);
	return good;
}

void kp_gating_close(struct kp_gating *gating)
{
	for (size_t i = 0; i < gating->count; i++)
		kp_gate_destroy(gating->gates[i]);
	gating->count = 0;
}

static bool judged(enum kp_status status)
{
	if (status != KP_OK)
		kp_fail("--fail-on: %s", kp_status_message(status));
	return status == KP_OK;
}

bool kp_gating_judge_report(const struct kp_gating *gating, struct kp_report *report)
{
	return !gating->count ||
	       judged(kp_gates_judge_report((const struct kp_gate *const *)gating->gates,
					    gating->count, report));
}

bool kp_gating_judge_diff(const struct kp_gating *gating, struct kp_diff *diff)
{
	return !gating->count ||
	       judged(kp_gates_judge_diff((const struct kp_gate *const *)gating->gates,
					  gating->count, diff));
}

static bool write_junit(const struct kp_settings *settings, const char *kind,
			const struct kp_gate_suite *suites, size_t count)
{
	struct kp_output output;

	if (!settings->junit)
		return true;
	if (!kp_output_open(&output, settings->junit))
		return false;
	kp_junit_print(output.file, kind, suites, count);
	return kp_output_close(&output);
}

int kp_gating_conclude(const struct kp_settings *settings, const char *kind,
		       const struct kp_gate_suite *suites, size_t count)
{
	size_t failed = 0;

	for (size_t i = 0; i < count; i++) {
		failed += kp_gates_failed(suites[i].outcomes, suites[i].count);
		for (size_t k = 0; k < suites[i].count; k++) {
			const struct kp_gate_outcome *outcome = &suites[i].outcomes[k];

			if (outcome->state == KP_GATE_PASSED)
				continue;
			kp_say("%s%s%s: %s: %s", count > 1 ? suites[i].name : "",
			       count > 1 ? ": " : "", kp_gate_state_name(outcome->state),
			       outcome->rule, outcome->text);
		}
	}
	if (!write_junit(settings, kind, suites, count))
		return KP_EXIT_FAILURE;
	return failed ? KP_EXIT_VIOLATED : 0;
}

void kp_gating_emit(struct kp_emit *emit, const struct kp_gate_outcome *outcomes, size_t count)
{
	if (!outcomes)
		return;
	kp_emit_list_begin(emit, "gates");
	for (size_t i = 0; i < count; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "rule", outcomes[i].rule);
		kp_emit_string(emit, "state", kp_gate_state_name(outcomes[i].state));
		kp_emit_number(emit, "value", outcomes[i].value, 3);
		kp_emit_string(emit, "unit", outcomes[i].unit);
		kp_emit_string(emit, "text", outcomes[i].text);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}
