/* Choosing a kernel, and writing a rule for it; see suggest.h. */
#include "profiler/suggest.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/ab_rules.h"
#include "profiler/open.h"
#include "profiler/output.h"
#include "profiler/ranking.h"
#include "profiler/say.h"

#define NAME_MOST 48

void kp_suggest_quoted(FILE *file, const char *text)
{
	fputc('\'', file);
	for (; *text; text++)
		fputs(*text == '\'' ? "''" : (const char[]){*text, '\0'}, file);
	fputc('\'', file);
}

/* Letters, digits and single dashes of the short name, up to its template arguments. */
void kp_suggest_name(FILE *file, const struct kp_kernel_row *kernel)
{
	const char *name = kernel->shortened;
	size_t length = strcspn(name, "<");
	bool dash = true;

	fputs("- name: suggested", file);
	for (size_t i = 0; i < length && i < NAME_MOST; i++) {
		bool good = isalnum((unsigned char)name[i]);

		if (good)
			fprintf(file, "%s%c", dash ? "-" : "", name[i]);
		dash = !good;
	}
	fputc('\n', file);
}

/* The kernel with most time whose name fits; NULL, said: there is none. */
static const struct kp_kernel_row *choose(const struct kp_report *report, const char *pattern)
{
	const struct kp_kernel_row *found = NULL;
	regex_t regex;

	if (pattern && regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
		kp_fail("--hotspot %s: this is no extended regular expression", pattern);
		return NULL;
	}
	for (size_t i = 0; !found && i < report->kernel_count; i++) {
		const struct kp_kernel_row *row = &report->kernels[report->kernels_by_time[i]];

		if (!pattern || regexec(&regex, row->mangled, 0, NULL, 0) == 0 ||
		    regexec(&regex, row->full, 0, NULL, 0) == 0)
			found = row;
	}
	if (pattern)
		regfree(&regex);
	if (!found && pattern)
		kp_fail("--hotspot %s: no kernel of the trace has such a name", pattern);
	else if (!found)
		kp_fail("the trace has no kernels");
	return found;
}

bool kp_suggest_is_printable(const struct kp_kernel_row *kernel)
{
	for (size_t i = 0; i < kernel->mangled_length; i++)
		if (kernel->mangled[i] < ' ' || kernel->mangled[i] > '~')
			return false;
	return kernel->mangled_length > 0;
}

static bool is_product(const struct kp_kernel_row *kernel)
{
	const struct kp_stability *stability = kernel->stability;

	return stability->shape_count && stability->shapes[0].use.call &&
	       stability->shapes[0].use.call->kind == KP_LIBRARY_GEMM;
}

static bool write_rule(FILE *file, const struct kp_report *report,
		       const struct kp_kernel_row *kernel, const char *chain)
{
	fprintf(file,
		"# A skeleton by kprof ab --suggest; docs/rules.md says what the keys mean.\n"
		"# «???» marks what a trace does not know. The condition 0 lets the rule fit no "
		"launch:\n# take it out when the rest is right.\nrules:\n");
	if (!kernel)
		return kp_suggest_chain(file, report, *chain ? chain : NULL);
	if (is_product(kernel))
		kp_suggest_call(file, kernel);
	else
		kp_suggest_launch(file, kernel);
	return true;
}

/* What kprof writes, kprof can read. */
static bool check(const char *text, size_t length)
{
	struct kp_rules_error error = {0};
	struct kp_ab_rules *rules;
	enum kp_status status = kp_ab_rules_create(&rules);

	if (status != KP_OK)
		return false;
	status = kp_ab_rules_add(rules, text, length, ".", &error);
	if (status == KP_INVALID)
		kp_fail("the suggested rule, line %zu: %s", error.line, error.text);
	kp_ab_rules_destroy(rules);
	return status == KP_OK;
}

/* `kernel` NULL: a chain. */
static bool write_text(const struct kp_report *report, const struct kp_kernel_row *kernel,
		       const struct kp_settings *settings)
{
	struct kp_output output;
	char *text = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&text, &length);
	bool good = memory != NULL;

	if (memory) {
		good = write_rule(memory, report, kernel, settings->ab_chain);
		good = fclose(memory) == 0 && good && check(text, length);
	}
	if (good && kp_output_open(&output, settings->ab_out)) {
		fwrite(text, 1, length, output.file);
		good = kp_output_close(&output);
	} else {
		good = false;
	}
	free(text);
	return good;
}

static bool suggest(const struct kp_report *report, const struct kp_settings *settings)
{
	const struct kp_kernel_row *kernel;

	if (settings->ab_chain)
		return write_text(report, NULL, settings);
	kernel = choose(report, settings->ab_hotspot);
	if (!kernel)
		return false;
	if (!kp_suggest_is_printable(kernel)) {
		kp_fail("the kernel %s: its name cannot stand in a rule", kernel->full);
		return false;
	}
	return write_text(report, kernel, settings);
}

int kp_suggest(const struct kp_settings *settings)
{
	struct kp_reader *reader = kp_open_traces(&settings->ab_suggest, 1);
	struct kp_report *report;
	bool done;

	if (!reader)
		return KP_EXIT_FAILURE;
	report = kp_ranking_build(reader, settings, KP_FORMAT_JSON);
	done = report && suggest(report, settings);
	if (report)
		kp_report_destroy(report);
	kp_reader_close(reader);
	return done ? 0 : KP_EXIT_FAILURE;
}
