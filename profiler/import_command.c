/* kprof import and kprof merge in the table of commands: their options, words and examples. */
#include <stddef.h>
#include <stdint.h>

#include "profiler/commands.h"

#define AT(member) offsetof(struct kp_settings, member)

// clang-format off
static const struct kp_option trace_options[] = {
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE, .offset = AT(output),
	 .argument = "FILE",
	 .help = "Write the trace to FILE, or to the standard output where it is -. FILE is there "
		 "once it is whole. A trace that is there is replaced; any other file is refused."},
	{.name = "help", .letter = 'h', .type = KP_OPTION_FLAG, .offset = AT(help),
	 .help = "Print this help and exit."},
	{0},
};
static const struct kp_option_group trace_group = {"Output", trace_options};

static const struct kp_example trace_statuses[] = {
	{"0", "The trace is complete."},
	{"125", "A file could not be read or written, or kprof was called wrongly."},
	{0},
};
static const struct kp_example trace_environment[] = {
	{"TMPDIR", "Where what does not fit in memory is put while it is sorted, if the trace goes "
		   "to the standard output; else it is beside the trace."},
	{0},
};

static const char *const import_description[] = {
	"Makes a trace of what another tool has recorded, so that kprof report, diff, plan and "
	"export serve it. The kind of FILE is told by its content: an SQLite export of Nsight "
	"Systems (nsys export --type sqlite), or a Chrome trace (JSON, perhaps compressed by gzip) "
	"of PyTorch's profiler, of Proton with data=\"trace\", or of kprof export.",
	"What FILE does not have is not measured, never 0; lines on the standard error say what is "
	"missing, and so do notes in the trace (kprof info). A profile of Proton that holds totals "
	"alone has no launches, and is refused. Memory is bounded, however long FILE is. "
	"docs/import.md says what is taken from each.",
	NULL,
};
static const struct kp_example import_examples[] = {
	{"kprof import -o decode.kprof decode.sqlite", "From nsys export --type sqlite."},
	{"kprof import -o rank0.kprof rank0.pt.trace.json.gz", "From torch.profiler."},
	{0},
};
const struct kp_command kp_import_command = {
	.name = "import", .page = "kprof-import", .operands = "FILE",
	.summary = "make a trace of what another tool has recorded",
	.description = import_description, .examples = import_examples,
	.statuses = trace_statuses, .environment = trace_environment, .least = 1, .most = 1,
	.groups = (const struct kp_option_group *const[]){&trace_group, NULL},
	.run = kp_cmd_import,
};

static const char *const merge_description[] = {
	"Makes one trace of those of many ranks and hosts. cat does that, too; merge also brings "
	"the clocks of different hosts together, puts records in order, leaves out what is there "
	"twice, and writes few large chunks, so that reading takes less memory.",
	"Processes of one host share its clock, and stay as they are to each other. Other hosts "
	"are moved by what their wall clocks say. Where ranks of both ran the same collective "
	"operations of NCCL, these tell more: none ends before every rank has begun with it, so "
	"that each bounds the difference of the clocks from both sides; the middle of what all "
	"leave is taken, and half its width is the uncertainty. One line a host says what was "
	"done, and so does a note in the trace.",
	NULL,
};
static const struct kp_example merge_examples[] = {
	{"kprof merge -o job.kprof rank*.kprof", "One trace of all ranks."},
	{"kprof report job.kprof", "Which rank waits, and for whom: see Ranks."},
	{0},
};
const struct kp_command kp_merge_command = {
	.name = "merge", .page = "kprof-merge", .operands = "FILE...",
	.summary = "make one trace of those of many ranks and hosts",
	.description = merge_description, .examples = merge_examples, .statuses = trace_statuses,
	.environment = trace_environment, .least = 1, .most = SIZE_MAX,
	.groups = (const struct kp_option_group *const[]){&trace_group, NULL},
	.run = kp_cmd_merge,
};
// clang-format on
