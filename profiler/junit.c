/*
 * JUnit's XML, as CI systems read it: a suite for each subject, a test case for each rule. Rules
 * and names of files may hold any bytes; what XML cannot hold is written as «\xHH».
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/gating.h"
#include "profiler/text.h"

/* XML 1.0 has no place for these, however they are written. */
static bool is_forbidden(uint32_t codepoint)
{
	return codepoint == KP_TEXT_BAD || codepoint < 0x20 ||
	       (codepoint >= 0x7F && codepoint < 0xA0) || codepoint == 0xFFFE ||
	       codepoint == 0xFFFF;
}

static void print_text(FILE *file, const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length;) {
		uint32_t codepoint;
		size_t step = kp_text_decode(text + i, length - i, &codepoint);

		if (is_forbidden(codepoint)) {
			for (size_t k = 0; k < step; k++)
				fprintf(file, "\\x%02x", (unsigned char)text[i + k]);
		} else {
			kp_text_markup(file, text + i, step);
		}
		i += step;
	}
}

static void print_attribute(FILE *file, const char *name, const char *value)
{
	fprintf(file, " %s=\"", name);
	print_text(file, value);
	fputc('"', file);
}

static size_t count_state(const struct kp_gate_suite *suite, enum kp_gate_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < suite->count; i++)
		count += suite->outcomes[i].state == state;
	return count;
}

static void print_counts(FILE *file, size_t tests, size_t failures, size_t errors)
{
	fprintf(file, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\" time=\"0\"",
		tests, failures, errors);
}

static void print_case(FILE *file, const char *kind, const struct kp_gate_outcome *outcome)
{
	bool violated = outcome->state == KP_GATE_VIOLATED;

	fputs("    <testcase", file);
	print_attribute(file, "name", outcome->rule);
	fprintf(file, " classname=\"kprof.%s\" time=\"0\"", kind);
	if (outcome->state == KP_GATE_PASSED) {
		fputs("/>\n", file);
		return;
	}
	fprintf(file, ">\n      <%s", violated ? "failure" : "error");
	print_attribute(file, "message", outcome->text);
	print_attribute(file, "type", kp_gate_state_name(outcome->state));
	fputc('>', file);
	print_text(file, outcome->rule);
	fputs(": ", file);
	print_text(file, outcome->text);
	fprintf(file, "</%s>\n    </testcase>\n", violated ? "failure" : "error");
}

void kp_junit_print(FILE *file, const char *kind, const struct kp_gate_suite *suites, size_t count)
{
	size_t tests = 0, failures = 0, errors = 0;

	for (size_t i = 0; i < count; i++) {
		tests += suites[i].count;
		failures += count_state(&suites[i], KP_GATE_VIOLATED);
		errors += count_state(&suites[i], KP_GATE_UNKNOWN);
	}
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kprof\"", file);
	print_counts(file, tests, failures, errors);
	fputs(">\n", file);
	for (size_t i = 0; i < count; i++) {
		fputs("  <testsuite", file);
		print_attribute(file, "name", suites[i].name);
		print_counts(file, suites[i].count, count_state(&suites[i], KP_GATE_VIOLATED),
			     count_state(&suites[i], KP_GATE_UNKNOWN));
		fputs(">\n", file);
		for (size_t k = 0; k < suites[i].count; k++)
			print_case(file, kind, &suites[i].outcomes[k]);
		fputs("  </testsuite>\n", file);
	}
	fputs("</testsuites>\n", file);
}
