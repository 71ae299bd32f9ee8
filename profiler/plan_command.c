/* kprof plan in the table of commands: its options, words and examples; see commands.h. */
#include <stddef.h>

#include "profiler/commands.h"

#define AT(member) offsetof(struct kp_settings, member)
#define LEAST 1e-6 /* of what a price or a rate may be: 0 is not one */
#define MOST 1e12

static const char *const formats[] = {"text", "yaml", "json", "markdown", NULL};

// clang-format off
static const struct kp_option plan_options[] = {
	{.name = "target", .type = KP_OPTION_TEXT, .offset = AT(plan.targets),
	 .argument = "OPERATOR=Nx,...",
	 .help = "Plan to make OPERATOR N times as fast. all=Nx is the whole, idle time included. "
		 "A target beyond the operator's limit is refused, where that is known."},
	{.name = "end-to-end", .type = KP_OPTION_TEXT, .offset = AT(plan.whole_targets),
	 .argument = "OPERATOR=Nx,...",
	 .help = "Plan to make the whole N times as fast by OPERATOR alone: kprof says how fast "
		 "that must become. What its share does not allow is refused."},
	{.name = "ab", .type = KP_OPTION_FILE, .offset = AT(plan.ab), .argument = "REPORT",
	 .help = "Plan by what replaced kernels brought end to end, as kprof ab --out REPORT "
		 "(.yaml or .json) measured it. What is not faster, or had wrong results, is "
		 "refused."},
	{.name = "realistic", .type = KP_OPTION_NUMBER, .offset = AT(plan.realistic_pct),
	 .argument = "PCT", .minimum = 1, .maximum = 100, .suffix = '%',
	 .help = "What a kernel reaches in practice: PCT percent of what a target gains, or of the "
		 "rate at the limit; 80 by default. It is the lower end of the range."},
	{.name = "share", .type = KP_OPTION_TEXT, .offset = AT(plan.shares),
	 .argument = "OPERATOR=PCT,...",
	 .help = "The operator's share of wall time in production, where the trace's does not "
		 "stand for it. What is left is divided among the others and idle time as in the "
		 "trace."},
	{.name = "fewer-bytes", .type = KP_OPTION_TEXT, .offset = AT(plan.fewer_bytes),
	 .argument = "OPERATOR=Nx,...",
	 .help = "A replacement moves N times fewer bytes (it fuses, or uses smaller types): its "
		 "limit is that much further, as far as arithmetic allows."},
	{.name = "fewer-launches", .type = KP_OPTION_TEXT, .offset = AT(plan.fewer_launches),
	 .argument = "OPERATOR=Nx,...",
	 .help = "A replacement launches N times fewer kernels (it fuses): what launches allow at "
		 "most, none being shorter than an empty kernel, is that much further."},
	{.name = "threshold", .letter = 't', .type = KP_OPTION_NUMBER, .offset = AT(threshold_pct),
	 .argument = "PCT", .minimum = 0, .maximum = 100, .suffix = '%',
	 .help = "Cards for operators with more than PCT percent of kernel time, and for those "
		 "that another option names; 30 by default."},
	{.name = "operators", .type = KP_OPTION_FILE, .offset = AT(operators), .argument = "FILE",
	 .once = true,
	 .help = "Label kernels by the rules in FILE first; see docs/operators.md."},
	{0},
};
static const struct kp_option fleet_options[] = {
	{.name = "gpus", .type = KP_OPTION_NUMBER, .offset = AT(plan.gpus), .argument = "N",
	 .minimum = 1, .maximum = 1e9,
	 .help = "GPUs that do this work in production: how many are saved follows."},
	{.name = "gpu-price", .type = KP_OPTION_NUMBER, .offset = AT(plan.gpu_price),
	 .argument = "AMOUNT", .minimum = LEAST, .maximum = MOST,
	 .help = "What a GPU costs to buy: what need not be bought follows."},
	{.name = "gpu-hour", .type = KP_OPTION_NUMBER, .offset = AT(plan.gpu_hour),
	 .argument = "AMOUNT", .minimum = LEAST, .maximum = MOST,
	 .help = "What a GPU costs an hour: what is saved a year follows."},
	{.name = "hours-per-year", .type = KP_OPTION_NUMBER, .offset = AT(plan.hours_per_year),
	 .argument = "N", .minimum = 1, .maximum = 8784,
	 .help = "Hours a year that a GPU is paid for; 8760 by default."},
	{.name = "kwh-price", .type = KP_OPTION_NUMBER, .offset = AT(plan.kwh_price),
	 .argument = "AMOUNT", .minimum = LEAST, .maximum = MOST,
	 .help = "What a kilowatt-hour costs, cooling included, where power is paid besides."},
	{.name = "gpu-watts", .type = KP_OPTION_NUMBER, .offset = AT(plan.gpu_watts),
	 .argument = "W", .minimum = LEAST, .maximum = 1e6,
	 .help = "Power of a GPU; by default what the trace says that it drew."},
	{.name = "engineer-weeks", .type = KP_OPTION_TEXT, .offset = AT(plan.engineer_weeks),
	 .argument = "N|OPERATOR=N,...",
	 .help = "Weeks that the work takes, for each operator or by operator."},
	{.name = "engineer-week", .type = KP_OPTION_NUMBER, .offset = AT(plan.engineer_week),
	 .argument = "AMOUNT", .minimum = LEAST, .maximum = MOST,
	 .help = "What such a week costs: break-even follows."},
	{.name = "currency", .type = KP_OPTION_TEXT, .offset = AT(plan.currency),
	 .argument = "WORD",
	 .help = "What amounts are in, such as EUR. All are in the same; kprof converts nothing."},
	{0},
};
static const struct kp_option unit_options[] = {
	{.name = "tokens-per-s", .type = KP_OPTION_NUMBER, .offset = AT(plan.tokens_per_s),
	 .argument = "N", .minimum = LEAST, .maximum = 1e15,
	 .help = "Tokens a second of all GPUs together."},
	{.name = "requests-per-s", .type = KP_OPTION_NUMBER, .offset = AT(plan.requests_per_s),
	 .argument = "N", .minimum = LEAST, .maximum = 1e15,
	 .help = "Requests a second of all GPUs together."},
	{.name = "unit-range", .type = KP_OPTION_TEXT, .offset = AT(plan.unit_range),
	 .argument = "NAME",
	 .help = "Count the NVTX ranges called NAME in the trace instead: each is a unit."},
	{.name = "unit", .type = KP_OPTION_CHOICE, .offset = AT(plan.unit),
	 .choices = kp_plan_unit_names,
	 .help = "What such a range is: tokens (the default) or requests."},
	{.name = "units-per-range", .type = KP_OPTION_NUMBER, .offset = AT(plan.units_per_range),
	 .argument = "N", .minimum = LEAST, .maximum = 1e9,
	 .help = "How many of them it holds (the batch, say); 1 by default."},
	{0},
};
static const struct kp_option output_options[] = {
	{.name = "format", .letter = 'f', .type = KP_OPTION_CHOICE, .offset = AT(format),
	 .choices = formats,
	 .help = "The format. Without this option it follows the extension of the output file, "
		 "else it is text."},
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE, .offset = AT(output),
	 .argument = "FILE",
	 .help = "Write to FILE instead of the standard output, which - stands for."},
	{.name = "help", .letter = 'h', .type = KP_OPTION_FLAG, .offset = AT(help),
	 .help = "Print this help and exit."},
	{0},
};

static const struct kp_option_group plan_group = {"What is made faster", plan_options};
static const struct kp_option_group fleet_group = {"The fleet and its costs", fleet_options};
static const struct kp_option_group unit_group = {"What the service delivers", unit_options};
static const struct kp_option_group output_group = {"Output", output_options};

static const char *const plan_description[] = {
	"Says what it is worth to make an operator faster. Each hotspot of the trace FILE has a "
	"card: time now, share of wall time, limit, goal, what the whole gains, GPUs and money "
	"saved, and when the work has paid for itself. Several files are read as one trace.",
	"The gain of the whole is Amdahl's, on wall time: of an operator only the time counts in "
	"which nothing else ran on its GPU, and idle time stays. It is a range: from a realistic "
	"part of the goal to the goal. The limit comes from hardware counters, where the trace has "
	"them (kprof --counters on); else it is unknown, and a target is yours to give. At no cost "
	"at all is the bound that nothing can pass.",
	"What cannot be is refused: a target beyond the limit or beyond what the share allows, "
	"shares of more than all. All assumptions are printed. docs/plan.md explains the sums and "
	"has a worked example.",
	NULL,
};
static const struct kp_example plan_examples[] = {
	{"kprof plan decode.kprof", "The hotspots, their limits and bounds."},
	{"kprof plan --target attention=3x --gpus 10000 --gpu-hour 2.5 a.kprof",
	 "What a threefold attention saves in a fleet."},
	{"kprof plan --end-to-end gemm=1.2x --unit-range token a.kprof",
	 "How fast gemm must be for a fifth more tokens a second."},
	{"kprof plan -o plan.md --gpus 64 a.kprof", "The cards as Markdown, for a ticket."},
	{0},
};
static const struct kp_example plan_statuses[] = {
	{"0", "The output is complete."},
	{"125", "A file could not be read or written, what was given cannot be, or kprof was "
		"called wrongly."},
	{0},
};
static const struct kp_example plan_environment[] = {
	{"COLUMNS", "Width of the text where the output is no terminal; 80 without it."},
	{0},
};
const struct kp_command kp_plan_command = {
	.name = "plan", .page = "kprof-plan", .operands = "FILE...",
	.summary = "say what it is worth to make an operator faster",
	.description = plan_description, .examples = plan_examples, .statuses = plan_statuses,
	.environment = plan_environment, .least = 1, .most = SIZE_MAX,
	.groups = (const struct kp_option_group *const[]){&plan_group, &fleet_group, &unit_group,
							  &output_group, NULL},
	.run = kp_cmd_plan,
};
// clang-format on
