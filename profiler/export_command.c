/* kprof export in the table of commands: its options, words and examples; see commands.h. */
#include <stddef.h>
#include <stdint.h>

#include "profiler/commands.h"
#include "profiler/export.h"

#define AT(member) offsetof(struct kp_settings, member)
/* «; chrome: .json; …», from the table. */
#define EXPORT_HELP(name, extensions, shape, largest, opens) "; " #name ": " extensions
/* « chrome: Perfetto UI; …», from the table. */
#define EXPORT_OPENS(name, extensions, shape, largest, opens) " " #name ": " opens ";"

// clang-format off
static const struct kp_option export_options[] = {
	{.name = "format", .letter = 'f', .type = KP_OPTION_CHOICE, .offset = AT(format),
	 .argument = "FORMAT", .choices = kp_export_names,
	 .help = "The format. Without this option it follows the ending of the output file"
		 KP_EXPORT_FORMATS(EXPORT_HELP) "."},
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE, .offset = AT(output),
	 .argument = "FILE",
	 .help = "Write to FILE instead of the standard output, which - stands for too. FILE is "
		 "there once it is whole. sqlite needs it."},
	{.name = "limit", .type = KP_OPTION_COUNT, .offset = AT(limit), .argument = "N",
	 .help = "Draw at most N slices in a timeline (chrome, perfetto, speedscope; no other "
		 "format has one) and say how many are left out; 0 draws all. "
		 "speedscope draws 500000 by default, the others all. Sums always cover "
		 "everything."},
	{.name = "operators", .type = KP_OPTION_FILE, .offset = AT(operators), .argument = "FILE",
	 .once = true,
	 .help = "Label kernels by the rules in FILE first; see docs/operators.md."},
	{.name = "help", .letter = 'h', .type = KP_OPTION_FLAG, .offset = AT(help),
	 .help = "Print this help and exit."},
	{0},
};

static const struct kp_option_group export_group = {"Output", export_options};

static const struct kp_example export_statuses[] = {
	{"0", "The output is complete."},
	{"125", "A file could not be read or written, or kprof was called wrongly."},
	{0},
};
static const char *const export_description[] = {
	"Writes what the trace FILE holds in a format that other tools open. Several files are "
	"written as one trace. In memory it takes what is distinct in a trace, not what is long.",
	"What opens each:" KP_EXPORT_FORMATS(EXPORT_OPENS) " docs/exports.md says what each "
	"holds and what it loses.",
	NULL,
};
static const struct kp_example export_examples[] = {
	{"kprof export -o decode.json decode.kprof", "A timeline for Perfetto UI."},
	{"kprof export -o decode.sqlite decode.kprof", "Tables for queries written for nsys."},
	{"kprof export -f collapsed decode.kprof | flamegraph.pl >decode.svg", "A flame graph."},
	{"kprof export -o decode.parquet rank*.kprof", "One table of all ranks, for DuckDB."},
	{0},
};
const struct kp_command kp_export_command = {
	.name = "export", .page = "kprof-export", .operands = "FILE...",
	.summary = "write a trace in a format of other tools",
	.description = export_description, .examples = export_examples, .statuses = export_statuses,
	.least = 1, .most = SIZE_MAX,
	.groups = (const struct kp_option_group *const[]){&export_group, NULL},
	.run = kp_cmd_export,
};
// clang-format on
