/* kprof top in the table of commands: its options, words and keys; see commands.h. */
#include <stddef.h>
#include <stdint.h>

#include "profiler/commands.h"
#include "profiler/tui_screen.h"

#define AT(member) offsetof(struct kp_settings, member)

static const char *const colors[] = {"auto", "always", "never", NULL};
static const char *const switches[] = {"on", "off", NULL};

// clang-format off
static const struct kp_option program_options[] = {
	{.name = "log", .letter = 'l', .type = KP_OPTION_FILE, .offset = AT(live.log),
	 .argument = "FILE",
	 .help = "Write CMD's output and error output to FILE, which is replaced. Without this "
		 "option what would go to the terminal waits in a temporary file, and the last MiB "
		 "of it is shown when the screen is left."},
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE, .offset = AT(output),
	 .argument = "FILE",
	 .help = "The trace that w records into: as for kprof record. Where nothing is recorded, "
		 "none is left."},
	{.name = "redact", .type = KP_OPTION_CHOICE, .offset = AT(redact), .choices = switches,
	 .help = "Leave values that look like secrets out of the command lines in the trace. On "
		 "unless switched off."},
	{.name = "clocks", .type = KP_OPTION_CHOICE, .offset = AT(clocks), .choices = switches,
	 .help = "Record the GPU's clocks while records are kept, where NVML tells them. On unless "
		 "switched off."},
	{0},
};
static const struct kp_option rule_options[] = {
	{.name = "rules", .type = KP_OPTION_WORDS, .offset = AT(ab_files), .argument = "FILE",
	 .help = "Replace kernels of CMD by the rules of FILE, as kprof ab does in its swap mode: "
		 "once results were right, the program sees the replacement. The view A/B shows "
		 "each rule, x switches one off and on, and what comes of it stands beside it. May "
		 "be given several times."},
	{.name = "rule", .type = KP_OPTION_WORDS, .offset = AT(ab_rules), .argument = "NAME",
	 .help = "The same with the rule NAME alone, of FILE or of those that kprof has. May be "
		 "given several times."},
	{.name = "all-rules", .type = KP_OPTION_FLAG, .offset = AT(live.rules),
	 .help = "The same with all rules that kprof has."},
	{.name = "no-try", .type = KP_OPTION_FLAG, .offset = AT(ab_no_try),
	 .help = "Let replacements of your own run in the program at once; without this they are "
		 "first tried in another process, as kprof ab does."},
	{0},
};
static const struct kp_option unit_options[] = {
	{.name = "unit-range", .type = KP_OPTION_TEXT, .offset = AT(live.unit_range),
	 .argument = "NAME",
	 .help = "Count NVTX ranges called NAME a second, such as one a token or a request. "
		 "Without this option it is iterations, where the latest launches repeat."},
	{.name = "units", .type = KP_OPTION_NUMBER, .offset = AT(live.units), .argument = "N",
	 .minimum = 0.001, .maximum = 1e9,
	 .help = "How many units each range or iteration makes, such as tokens of a batch; 1 by "
		 "default."},
	{.name = "operators", .type = KP_OPTION_FILE, .offset = AT(operators), .argument = "FILE",
	 .once = true,
	 .help = "Label kernels by the rules in FILE first; see docs/operators.md."},
	{0},
};
static const struct kp_option script_options[] = {
	{.name = "frames", .type = KP_OPTION_COUNT, .offset = AT(live.frames), .argument = "N",
	 .help = "Print N screens to the standard output, one a second, without a terminal; 0: "
		 "one, when the program has ended."},
	{.name = "keys", .type = KP_OPTION_TEXT, .offset = AT(tui.keys), .argument = "KEYS",
	 .help = "Press KEYS first, as for kprof tui: P prints the screen, Wait waits until there "
		 "is something new, or nothing more to come. Without --frames and any P, the last "
		 "screen is printed."},
	{.name = "size", .type = KP_OPTION_TEXT, .offset = AT(tui.size), .argument = "WIDTHxHEIGHT",
	 .help = "The size of the screens; 80x24 by default."},
	{.name = "color", .type = KP_OPTION_CHOICE, .offset = AT(color), .choices = colors,
	 .help = "With --frames or --keys: always prints colours, too, as escape sequences."},
	{.name = "help", .letter = 'h', .type = KP_OPTION_FLAG, .offset = AT(help),
	 .help = "Print this help and exit."},
	{0},
};
static const struct kp_option_group program_group = {"The program", program_options};
static const struct kp_option_group rule_group = {"Replacing kernels", rule_options};
static const struct kp_option_group unit_group = {"What is counted", unit_options};
static const struct kp_option_group script_group = {"Without a terminal", script_options};

static const char *const description[] = {
	"Shows what runs on the GPU now: kernels, operators and NVTX ranges with their shares, "
	"calls and time a second and the last minute, how busy each GPU is and by which process, "
	"and how many iterations, or ranges of a name, come in a second.",
	"With CMD, runs it and watches it and all processes that it starts. No record is kept "
	"unless w asks for it. CMD reads nothing from the terminal, and its output waits until the "
	"screen is left (see --log). When the screen is left by q, CMD goes on to its end in the "
	"foreground, and a second Ctrl-C reaches it; when CMD ends first, the screen stays until "
	"it is left.",
	"With PID, watches a process that was started under kprof, until it or the screen ends. A "
	"collector that nobody watches makes no sums; one that is watched takes some 2 MiB and "
	"publishes ten times a second. It lets go of a watcher that was stopped for ten seconds, "
	"and counts anew when that comes back.",
	"With FILE, shows what P saved to a file whose name ends in .top.",
	"Figures come as records do, up to a second late, and are of complete seconds. At most "
	"1024 kernels and ranges have rows of their own in a process, and the others a common one.",
	NULL,
};
static const struct kp_example examples[] = {
	{"kprof top -- ./my_inference", "Run a program and watch it."},
	{"kprof top --unit-range decode --units 8 -- ./my_inference",
	 "Show tokens a second, where each range called decode makes eight."},
	{"kprof top --rules mine.yaml -- ./my_inference",
	 "Switch replacements of kernels off and on while it runs."},
	{"kprof top 1234", "Watch a process that kprof record has started."},
	{"kprof top --frames 1 1234", "Print what it does, once."},
	{0},
};
static const struct kp_example statuses[] = {
	{"0", "The screen was left, or the screens are printed."},
	{"N", "With CMD: its exit status; 128+N where signal N ended it."},
	{"125", "There is no terminal, or no such process, or kprof was called wrongly."},
	{"126", "CMD was found, but cannot be run."},
	{"127", "CMD was not found."},
	{0},
};
static const struct kp_example environment[] = {
	{"TERM", "The kind of terminal."},
	{"TMPDIR", "Where CMD's output waits; /tmp without it."},
	{"NO_COLOR", "Not empty: no colours."},
	{0},
};
static const struct kp_example keys[] = {
#define ALL 1U
#define LIVE 1U
#define RULES 1U
#define SORTED 1U
#define TABLES 1U
#define OF_TRACE 0U
#define EVIDENCE 0U
#define TREE 0U
#define TIME 0U
#define KEY(names, pages, function, bar, help) {(pages) ? (names) : NULL, help},
#include "tui/keys.def"
#undef KEY
	{0},
};
const struct kp_command kp_top_command = {
	.name = "top", .page = "kprof-top", .operands = "PID|CMD|FILE [ARG...]",
	.summary = "watch a running program on the terminal",
	.description = description, .examples = examples, .statuses = statuses,
	.environment = environment, .keys = keys, .takes_command = true, .least = 1,
	.most = SIZE_MAX,
	.groups = (const struct kp_option_group *const[]){&program_group, &rule_group, &unit_group,
							  &kp_tui_screen_group, &script_group,
							  NULL},
	.run = kp_cmd_top,
};
// clang-format on
