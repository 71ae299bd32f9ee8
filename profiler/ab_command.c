/* kprof ab in the table of commands: its options, words and examples; see commands.h. */
#include <stddef.h>
#include <stdint.h>

#include "profiler/commands.h"
#include "profiler/print_ab.h"
#include "trace/ab_plan.h"

#define AT(member) offsetof(struct kp_settings, member)

// clang-format off
static const struct kp_option rule_options[] = {
	{.name = "rules", .type = KP_OPTION_WORDS, .offset = AT(ab_files), .argument = "FILE",
	 .help = "Take the rules of FILE (docs/rules.md) instead of those that kprof has. May be "
		 "given several times: the first rule that fits a launch is its rule."},
	{.name = "rule", .type = KP_OPTION_WORDS, .offset = AT(ab_rules), .argument = "NAME",
	 .help = "Take the rule NAME alone. May be given several times."},
	{.name = "list", .type = KP_OPTION_FLAG, .offset = AT(ab_list),
	 .help = "Print the rules and exit."},
	{.name = "suggest", .type = KP_OPTION_FILE, .offset = AT(ab_suggest), .argument = "TRACE",
	 .help = "Write the skeleton of a rule for the kernel of TRACE that takes the most time, "
		 "to --out or the standard output, and exit. Its name, parameters, grid and shapes "
		 "are the trace's; what a trace does not know is marked, with how to find out."},
	{.name = "hotspot", .type = KP_OPTION_TEXT, .offset = AT(ab_hotspot), .argument = "PATTERN",
	 .help = "With --suggest: of the kernels in whose name PATTERN, an extended regular "
		 "expression, is found."},
	{.name = "chain", .type = KP_OPTION_TEXT, .offset = AT(ab_chain), .argument = "PATTERN",
	 .help = "With --suggest: a rule for a sequence instead, of the chain of kernels with most "
		 "to win (Fusion in a report) whose id is PATTERN, or in whose name this "
		 "extended regular expression is found; «.» is in all of them."},
	{.name = "self-test", .type = KP_OPTION_FLAG, .offset = AT(ab_self_test),
	 .help = "Try kprof ab itself first, on this GPU, with replacements whose verdict is known "
		 "(docs/ab.md): planted faults must be found, a kernel against itself must show no "
		 "difference, planted delays must be seen. CMD runs if all of them hold; without "
		 "CMD that is all."},
	{.name = "rounds", .type = KP_OPTION_COUNT, .offset = AT(ab_rounds), .argument = "N",
	 .help = "Rounds of --self-test: two seeds of each fault, four runs of a kernel against "
		 "itself and one of each delay; 5 by default."},
	{0},
};
static const struct kp_option way_options[] = {
	{.name = "mode", .type = KP_OPTION_CHOICE, .offset = AT(ab_mode),
	 .choices = kp_ab_mode_names,
	 .help = "What happens to launches that a rule fits. shadow: the program sees the original "
		 "always, and the replacement's results are compared with its. swap: the program "
		 "sees the replacement once its results were right. measure (the default): the "
		 "same, with originals between, so that both are timed under the same conditions."},
	{.name = "again", .type = KP_OPTION_COUNT, .offset = AT(ab_again), .argument = "N",
	 .help = "Compare again at every N-th launch; 64 by default. A result that is wrong takes "
		 "the rule back at once."},
	{.name = "phase", .type = KP_OPTION_COUNT, .offset = AT(ab_phase), .argument = "N",
	 .help = "With measure: launches that rules fit come in phases of N, with replacements and "
		 "without, for times end to end; 2000 by default, 0 is no phases."},
	{.name = "unit-range", .type = KP_OPTION_TEXT, .offset = AT(ab_unit), .argument = "NAME",
	 .help = "Phases count NVTX ranges of that name, of any thread and domain, and --phase "
		 "says how many each has (20 by default): one range a token or an iteration, and "
		 "the report has these per second, with replacements and without. Nothing is "
		 "replaced in phases before the first one."},
	{.name = "try", .type = KP_OPTION_FLAG, .offset = AT(ab_try),
	 .help = "Try replacements of the user's (modules and libraries) in a process of their own "
		 "first, on copies of a launch's data: a fault there ends that process, here it "
		 "would end the program's CUDA context. The program does not wait; until the "
		 "answer has come its launches are left alone. The default; built-ins need none."},
	{.name = "no-try", .type = KP_OPTION_FLAG, .offset = AT(ab_no_try),
	 .help = "Let them run in the program at once, in shadow."},
	{.name = "try-limit", .type = KP_OPTION_NUMBER, .offset = AT(ab_try_limit_s),
	 .argument = "SECONDS", .minimum = 0.1, .maximum = 3600, .suffix = 's',
	 .help = "How long a replacement may take in its trial, which is two launches; 60 by "
		 "default. After that it counts as one that hangs."},
	{.name = "other-inputs", .type = KP_OPTION_FLAG, .offset = AT(ab_other_inputs),
	 .help = "Where a rule says that the original may run twice, compare with other inputs, "
		 "too: the program's, negated, halved, or with their rows in reverse. The "
		 "original is launched once more for it, on copies."},
	{.name = "unseen", .type = KP_OPTION_FLAG, .offset = AT(ab_unseen),
	 .help = "Replace recognised sequences also where these, or layouts of their launches, "
		 "were never seen on a GPU. Without it kprof's own rules about them are off "
		 "unless --rule names them: --list says which."},
	{0},
};
static const struct kp_option check_options[] = {
	{.name = "check-output", .type = KP_OPTION_TEXT, .offset = AT(ab_check),
	 .argument = "COMMAND",
	 .help = "Run CMD once more before, without kprof, and compare what it prints by COMMAND, "
		 "which the shell runs with two files behind it: the output with the program's own "
		 "kernels, and that with others. 0 says that they agree, 1 that they do not. CMD "
		 "must not read its standard input; what it prints comes at its end."},
	{0},
};
static const struct kp_option output_options[] = {
	{.name = "out", .type = KP_OPTION_FILE, .offset = AT(ab_out), .argument = "FILE",
	 .help = "Write the report to FILE as well: .txt, .yaml or .json."},
	{.name = "raw", .type = KP_OPTION_FILE, .offset = AT(ab_raw), .argument = "FILE",
	 .help = "Keep what the report is made of in FILE: each comparison and each time, lines of "
		 "JSON. They are appended as they come, and survive the program's end in any way."},
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE, .offset = AT(output),
	 .argument = "FILE",
	 .help = "Keep the trace in FILE. It has no kernels: nothing is recorded while times are "
		 "taken."},
	{.name = "help", .letter = 'h', .type = KP_OPTION_FLAG, .offset = AT(help),
	 .help = "Print this help and exit."},
	{0},
};

static const struct kp_option_group rule_group = {"What is replaced", rule_options};
static const struct kp_option_group way_group = {"How", way_options};
static const struct kp_option_group check_group = {"Whether it is right end to end",
						   check_options};
static const struct kp_option_group output_group = {"Output", output_options};

static const char *const description[] = {
	"Runs CMD, unmodified, and puts other kernels in the place of some of its own, by rules: "
	"those that kprof has, or yours. A replacement first runs in shadow: both run, the program "
	"sees the original's output, and every element of every output is compared on the GPU. "
	"Only what was right twice, with scratch memory poisoned in two ways, is shown to the "
	"program; each N-th launch is compared again, and one wrong result takes the rule back.",
	"The report goes to stderr when CMD has ended: for each rule how many launches it was "
	"asked about, fitted and replaced, why others were not, how exact it was, and the times of "
	"originals and replacements, interleaved in random order.",
	"CUDA graphs stay as the program has made them. Beside one there is a second, in which all "
	"is replaced that was right outside of captures, with the same shape; each launch gets one "
	"of the two. Cooperative kernels, and launches with attributes that others depend on, are "
	"left alone. In any doubt the original runs.",
	"Replacements of the user's are tried in a process of their own first, on copies of the "
	"data of a live launch (--no-try: not).",
	NULL,
};
static const struct kp_example examples[] = {
	{"kprof ab -- ./my_inference", "All rules that kprof has."},
	{"kprof ab --mode shadow --out ab.yaml -- python3 serve.py",
	 "Compare results only; the program never sees a replacement."},
	{"kprof ab --rules mine.yaml --rule my-softmax -- ./my_inference",
	 "One rule of one's own."},
	{"kprof ab --mode swap --check-output cmp -- ./my_inference",
	 "Whether its output is the same to the last byte."},
	{"kprof ab --unit-range token --phase 50 -- ./my_inference",
	 "Tokens per second, where the program marks each with a range."},
	{"kprof ab --list", "The rules that kprof has."},
	{"kprof ab --suggest run.kprof --out mine.yaml", "Begin a rule of one's own."},
	{"kprof ab --self-test", "Whether kprof ab can be believed on this machine."},
	{0},
};
static const struct kp_example statuses[] = {
	{"0", "CMD succeeded, and the report has verdicts."},
	{"122", "CMD succeeded, but nothing was replaced (with shadow: compared)."},
	{"123", "CMD succeeded, but a replacement's results were wrong, or it did harm in its "
		"trial; or the self-test failed."},
	{"125", "kprof failed, or was called wrongly."},
	{"126", "CMD was found, but cannot be run."},
	{"127", "CMD was not found."},
	{"other", "That of CMD, which failed; 128 + n where signal n ended it."},
	{0},
};
static const struct kp_example environment[] = {
	{"KPROF_CANDIDATES_LIB", "libkprof_candidates.so, where it does not lie beside "
				 "libkprof_inject.so."},
	{"KPROF_CONTROLS", "kprof_controls, the program of --self-test, where it does not lie "
			   "beside kprof; libkprof_controls.so lies beside it."},
	{0},
};
const struct kp_command kp_ab_command = {
	.name = "ab", .page = "kprof-ab", .operands = "-- CMD [ARG...]",
	.summary = "replace kernels in a program, and see whether that is right and pays",
	.description = description, .examples = examples, .statuses = statuses,
	.environment = environment, .takes_command = true, .least = 0, .most = SIZE_MAX,
	.groups = (const struct kp_option_group *const[]){&rule_group, &way_group, &check_group,
							  &output_group, NULL},
	.run = kp_cmd_ab,
};
// clang-format on
