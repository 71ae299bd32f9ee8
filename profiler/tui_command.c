/* kprof tui in the table of commands: its options, words and keys; see commands.h. */
#include <stddef.h>
#include <stdint.h>

#include "profiler/commands.h"
#include "profiler/tui_screen.h"

#define AT(member) offsetof(struct kp_settings, member)

static const char *const colors[] = {"auto", "always", "never", NULL};

// clang-format off
static const struct kp_option script_options[] = {
	{.name = "keys", .type = KP_OPTION_TEXT, .offset = AT(tui.keys), .argument = "KEYS",
	 .empty = true,
	 .help = "Press KEYS and print screens to the standard output, without a terminal: names "
		 "of keys separated by commas, as they are listed below, and text while a line is "
		 "being typed. P prints the screen there; without any P the last one is printed. "
		 "A word like 132x40 changes the size of the screen."},
	{.name = "size", .type = KP_OPTION_TEXT, .offset = AT(tui.size), .argument = "WIDTHxHEIGHT",
	 .help = "The size of the screen of --keys; 80x24 by default."},
	{.name = "color", .type = KP_OPTION_CHOICE, .offset = AT(color), .choices = colors,
	 .help = "With --keys: always prints colours, too, as escape sequences."},
	{0},
};
static const struct kp_option analysis_options[] = {
	{.name = "against", .type = KP_OPTION_FILE, .offset = AT(tui.against), .argument = "BASE",
	 .help = "Compare FILE with the trace BASE: what changed stands in the view Compare."},
	{.name = "ab", .type = KP_OPTION_FILE, .offset = AT(tui.ab), .argument = "REPORT",
	 .help = "Show what kprof ab --out REPORT has found (.yaml or .json), in the view A/B."},
	{.name = "threshold", .letter = 't', .type = KP_OPTION_NUMBER, .offset = AT(threshold_pct),
	 .argument = "PCT", .minimum = 0, .maximum = 100, .suffix = '%',
	 .help = "Mark what takes more than PCT percent of kernel time; 30 by default."},
	{.name = "operators", .type = KP_OPTION_FILE, .offset = AT(operators), .argument = "FILE",
	 .once = true,
	 .help = "Label kernels by the rules in FILE first; see docs/operators.md."},
	{.name = "help", .letter = 'h', .type = KP_OPTION_FLAG, .offset = AT(help),
	 .help = "Print this help and exit."},
	{0},
};
static const struct kp_option_group script_group = {"Without a terminal", script_options};
static const struct kp_option_group analysis_group = {"Analysis", analysis_options};

static const char *const description[] = {
	"Explores the trace FILE on the terminal: operators and kernels as a tree, a kernel in "
	"detail, the timeline from the whole run down to single launches, the roofline, findings "
	"with their evidence, what changed against another trace, the plan with assumptions to "
	"edit, processes and GPUs. Several files are read as one trace.",
	"A long trace is ranked from a part of it at once, and from more as it is read; the top "
	"line says from how much. ? lists the keys.",
	NULL,
};
static const struct kp_example examples[] = {
	{"kprof tui decode.kprof", "Explore a trace."},
	{"kprof tui --keys 'Enter,/,gemm,Enter,P' --size 80x24 decode.kprof",
	 "Print the screen that these keys lead to."},
	{0},
};
static const struct kp_example statuses[] = {
	{"0", "The explorer was quit, or the screens are printed."},
	{"125", "A file could not be read, there is no terminal to draw on, or kprof was called "
		"wrongly."},
	{0},
};
static const struct kp_example environment[] = {
	{"TERM", "The kind of terminal."},
	{"NO_COLOR", "Not empty: no colours."},
	{0},
};
static const struct kp_example keys[] = {
#define ALL 1U
#define OF_TRACE 1U
#define EVIDENCE 1U
#define TREE 1U
#define TIME 1U
#define SORTED 1U
#define TABLES 1U
#define LIVE 0U
#define RULES 0U
#define KEY(names, pages, function, bar, help) {(pages) ? (names) : NULL, help},
#include "tui/keys.def"
#undef KEY
	{0},
};
const struct kp_command kp_tui_command = {
	.name = "tui", .page = "kprof-tui", .operands = "FILE...",
	.summary = "explore a trace on the terminal",
	.description = description, .examples = examples, .statuses = statuses,
	.environment = environment, .keys = keys, .least = 1, .most = SIZE_MAX,
	.groups = (const struct kp_option_group *const[]){&kp_tui_screen_group, &script_group,
							  &analysis_group, NULL},
	.run = kp_cmd_tui,
};
// clang-format on
