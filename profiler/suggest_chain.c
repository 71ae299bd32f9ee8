/*
 * A rule for a chain of kernels; see suggest.h. What launches of PyTorch's kernels do is known from
 * their names: such a chain is recognised. Of others a trace knows the order alone: their data is
 * left to be filled in.
 */
#include <ctype.h>
#include <inttypes.h>
#include <regex.h>
#include <string.h>

#include "analyzers/fusion.h"
#include "analyzers/torch_sequence.h"
#include "profiler/say.h"
#include "profiler/suggest.h"
#include "trace/ab_plan.h"

#define MODULE "    module: my_kernel.cubin # ??? nvcc -cubin; or library: my.so, entry: FUNCTION\n"
#define KERNEL "    kernel: my_kernel # ??? its mangled name: cuobjdump -symbols my_kernel.cubin\n"

/* Each hands one buffer on, beside what the first reads and the last writes. */
#define MEMBERS_MOST (KP_AB_BUFFERS_MOST - 1)

static const struct kp_fusion_row *choose(const struct kp_report *report, const char *pattern)
{
	const struct kp_fusion_row *found = NULL;
	regex_t regex;

	if (pattern && regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
		kp_fail("--chain %s: this is no extended regular expression", pattern);
		return NULL;
	}
	for (size_t i = 0; !found && i < report->fusion.count; i++) {
		const struct kp_fusion_row *row = &report->fusion.rows[i];

		if (!pattern || strcmp(row->id, pattern) == 0 ||
		    regexec(&regex, row->name, 0, NULL, 0) == 0)
			found = row;
	}
	if (pattern)
		regfree(&regex);
	if (!found)
		kp_fail("the trace has no chain of kernels%s%s; kprof report --fusion lists them",
			pattern ? " that fits " : "", pattern ? pattern : "");
	return found;
}

/* Letters in lower case, digits, and single dashes between. */
static void write_name(FILE *file, const char *name)
{
	bool dash = true;

	fputs("- name: suggested", file);
	for (; *name; name++) {
		bool good = isalnum((unsigned char)*name);

		if (good)
			fprintf(file, "%s%c", dash ? "-" : "", *name | 0x20);
		dash = !good;
	}
}

static void write_head(FILE *file, const struct kp_report *report, const struct kp_fusion_row *row)
{
	write_name(file, row->name);
	fprintf(file,
		"\n  # %s: %zu kernels, %" PRIu64 " times, %.1f to %.1f %% of the span to win\n",
		row->id, row->member_count, row->runs, row->gain_low_pct, row->gain_high_pct);
	for (size_t i = 0; i < row->member_count; i++)
		fprintf(file, "  # %s: %.150s\n", row->members[i].step,
			report->kernels[row->members[i].kernel].full);
	if (row->absorbed)
		fputs("  # The product before it could do all of it.\n", file);
}

/* ---- what is recognised ---- */

static uint8_t find_kind(const struct kp_report *report, const struct kp_fusion_row *row)
{
	uint8_t ops[KP_TORCH_SEQUENCE_MOST];

	if (row->member_count > KP_TORCH_SEQUENCE_MOST)
		return KP_TORCH_SEQUENCE_NONE;
	for (size_t i = 0; i < row->member_count; i++)
		ops[i] = kp_torch_name_op(report->kernels[row->members[i].kernel].mangled);
	return kp_torch_sequence_of(ops, row->member_count);
}

/* Each name of «a,b,c», printed where the format has it, up to twice. */
static void write_each(FILE *file, const char *names, const char *before, const char *between,
		       const char *after)
{
	while (*names) {
		int length = (int)strcspn(names, ",");

		fprintf(file, "%s%.*s%s%.*s%s", before, length, names, between, length, names,
			after);
		names += length + (names[length] == ',');
	}
}

static void write_data(FILE *file, const char *names)
{
	while (*names) {
		int length = (int)strcspn(names, ",");
		bool weight = strncmp(names, "weight", (size_t)length) == 0;
		bool mask = strncmp(names, "mask", (size_t)length) == 0;

		fprintf(file,
			"  - {name: %.*s, address: %.*s, dtype: dtype, rows: %s, columns: columns",
			length, names, length, names, weight ? "1" : "rows");
		if (!weight)
			fprintf(file, ", row_stride: %.*s_row", length, names);
		fprintf(file, "}%s\n", mask ? " # ??? its own dimensions" : "");
		names += length + (names[length] == ',');
	}
}

static void write_recognised(FILE *file, uint8_t kind)
{
	const struct kp_torch_sequence_words *words = &kp_torch_sequence_kinds[kind];

	fprintf(file,
		"  # %s\n"
		"  # kprof ab --list has a rule with a kernel of kprof's own, if there is one.\n"
		"  recognise: '%s'\n",
		words->what, words->key);
	if (words->seen != KP_TORCH_SEEN_GPU)
		fputs("  unseen: true # such sequences were never replaced on a GPU\n", file);
	fputs("  when:\n"
	      "  - dtype == bf16 || dtype == fp16 # ??? as your kernel has it\n"
	      "  - 0 # ??? take this out at the end\n"
	      "  replace:\n" MODULE KERNEL "    grid: rows # ???\n"
	      "    block: 256 # ???\n"
	      "    arguments:\n",
	      file);
	write_each(file, words->inputs, "    - ptr: ", "\n    - i64: ", "_row\n");
	write_each(file, words->outputs, "    - ptr: ", "\n    - i64: ", "_row\n");
	fputs("    - i64: rows\n    - i64: columns\n    - f64: eps # norms; 0 otherwise\n"
	      "    - f64: scale # of softmax\n    - i32: dtype\n  inputs:\n",
	      file);
	write_data(file, words->inputs);
	fputs("  outputs:\n", file);
	write_data(file, words->outputs);
	fputs("  repeatable: true\n", file);
}

/* ---- what is not ---- */

static void write_member(FILE *file, const struct kp_kernel_row *kernel, size_t number,
			 size_t count)
{
	fprintf(file, "  - name: m%zu\n    kernel: ", number);
	kp_suggest_quoted(file, kernel->mangled);
	fputs("\n    ", file);
	kp_suggest_sizes(file, kernel);
	fprintf(file,
		"    # ??? all that it reads and writes: its address as ptr(PARAMETER) or "
		"ptr(PARAMETER, BYTE)\n"
		"    reads: [{buffer: %s%zu, address: ptr(0), bytes: 1}]\n"
		"    writes: [{buffer: %s%zu, address: ptr(0), bytes: 1}]\n",
		number == 1 ? "x" : "t", number - 1, number == count ? "y" : "t", number);
}

static void write_sequence(FILE *file, const struct kp_report *report,
			   const struct kp_fusion_row *row)
{
	fputs("  sequence:\n", file);
	for (size_t i = 0; i < row->member_count; i++)
		write_member(file, &report->kernels[row->members[i].kernel], i + 1,
			     row->member_count);
	fputs("  elide: [", file);
	for (size_t i = 1; i < row->member_count; i++)
		fprintf(file, "%st%zu", i > 1 ? ", " : "", i);
	fprintf(file,
		"] # ??? what your kernel does not write; with keep it does, and outputs have it\n"
		"  when: 0 # ??? take this out at the end\n"
		"  replace:\n" MODULE KERNEL "    grid: 1 # ???\n"
		"    block: 256 # ???\n"
		"    arguments:\n"
		"    - ptr: m1.ptr(0) # ??? as your kernel takes them\n"
		"  inputs: # ??? what it reads, of what the launches read\n"
		"  - {name: x, address: m1.ptr(0), dtype: bf16, rows: 1, columns: 1}\n"
		"  outputs: # ??? all that the launches leave written\n"
		"  - {name: y, address: m%zu.ptr(0), dtype: bf16, rows: 1, columns: 1}\n"
		"  repeatable: false # ??? true: running them twice is as running them once\n",
		row->member_count);
}

bool kp_suggest_chain(FILE *file, const struct kp_report *report, const char *pattern)
{
	const struct kp_fusion_row *row = choose(report, pattern);
	uint8_t kind;

	if (!row)
		return false;
	if (row->member_count > MEMBERS_MOST) {
		kp_fail("%s has %zu kernels: a rule is suggested for %u at most", row->id,
			row->member_count, MEMBERS_MOST);
		return false;
	}
	for (size_t i = 0; i < row->member_count; i++)
		if (!kp_suggest_is_printable(&report->kernels[row->members[i].kernel])) {
			kp_fail("%s: the name of one of its kernels cannot stand in a rule",
				row->id);
			return false;
		}
	write_head(file, report, row);
	kind = find_kind(report, row);
	if (kind != KP_TORCH_SEQUENCE_NONE)
		write_recognised(file, kind);
	else
		write_sequence(file, report, row);
	return true;
}
