/*
 * The table of kprof's commands: names, options, descriptions, examples, exit statuses. All that
 * the parser, --help, the manual and the shell completion know stands here. Data only, but for the
 * lookups at the end.
 */
#include "profiler/commands.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analyzers/findings.h"
#include "profiler/counter_options.h"
#include "profiler/format.h"
#include "profiler/gating.h"
#include "profiler/help.h"
#include "profiler/part_options.h"
#include "profiler/say.h"
#include "profiler/style.h"
#include "trace/ab_plan.h"
#include "trace/control.h"

#define AT(member) offsetof(struct kp_settings, member)
#define MANY SIZE_MAX
#define COMMAND_COUNT 17

static const char *const by_names[] = {"operator", "kernel", "process", "variant", "range", NULL};
static const char *const name_names[] = {"short", "full", "mangled", NULL};
static const char *const color_names[] = {"auto", "always", "never", NULL};
static const char *const switch_names[] = {"on", "off", NULL};
static const char *const capture_names[] = {"none", "cudaProfilerApi", NULL};
static const char *const counter_names[] = {"auto", "on", "off", NULL};
static const char *const info_formats[] = {"text", "yaml", "json", NULL};

/* « 100 with memory, 1000 with all», from the table. */
#define COUNTER_INTERVAL(NAME, name, metrics, default_us, least_us, drain_ms)                      \
	" " #default_us " with " #name ","
#define COUNTER_INTERVALS KP_COUNTER_SETS(COUNTER_INTERVAL) " each the best that it can bear"

// clang-format off
static const struct kp_option help_options[] = {
	{.name = "help", .letter = 'h', .type = KP_OPTION_FLAG, .offset = AT(help),
	 .help = "Print this help and exit."},
	{0},
};
static const struct kp_option version_options[] = {
	{.name = "version", .letter = 'V', .type = KP_OPTION_FLAG, .offset = AT(version),
	 .help = "Print the version and exit."},
	{0},
};
static const struct kp_option recording_options[] = {
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE, .offset = AT(output),
	 .argument = "FILE",
	 .help = "Write the trace to FILE. A trace that is there is replaced; any other file is "
		 "refused. Without this option the trace is NAME.kprof in the current directory, "
		 "where NAME is that of CMD, or NAME.2.kprof and so on: no file is replaced."},
	{.name = "redact", .type = KP_OPTION_CHOICE, .offset = AT(redact), .choices = switch_names,
	 .help = "Leave values that look like secrets out of the command lines in the trace. On "
		 "unless switched off."},
	{.name = "clocks", .type = KP_OPTION_CHOICE, .offset = AT(clocks), .choices = switch_names,
	 .help = "Record the GPU's clocks, power, temperature and why clocks are low, four times a "
		 "second, where NVML tells them. On unless switched off."},
	{.name = "quiet", .letter = 'q', .type = KP_OPTION_FLAG, .offset = AT(quiet),
	 .help = "Print warnings and errors only: no ranking, no closing line."},
	{0},
};
static const struct kp_option window_options[] = {
	{.name = "delay", .type = KP_OPTION_NUMBER, .offset = AT(delay_s), .argument = "SECONDS",
	 .minimum = 0, .maximum = 1e9,
	 .help = "Record nothing for the first SECONDS after a process's first use of CUDA."},
	{.name = "duration", .type = KP_OPTION_NUMBER, .offset = AT(duration_s),
	 .argument = "SECONDS", .minimum = 0, .maximum = 1e9,
	 .help = "Record for SECONDS, counted from where recording may first begin, and no more "
		 "after that; 0 is no limit. CUPTI is detached then, as under --duty."},
	{.name = "range", .type = KP_OPTION_TEXT, .offset = AT(range), .argument = "NAME[:N-M]",
	 .help = "Record while an NVTX range called NAME is open (push and pop, or start and end, "
		 "in any domain): all of them, or the N-th to the M-th of each process. NAME:N is "
		 "the N-th alone, NAME:N- all from the N-th on."},
	{.name = "capture-range", .type = KP_OPTION_CHOICE, .offset = AT(capture_range),
	 .choices = capture_names,
	 .help = "Record between the program's calls of cudaProfilerStart and cudaProfilerStop."},
	{.name = "kernels", .type = KP_OPTION_TEXT, .offset = AT(kernels), .argument = "PATTERN",
	 .help = "Keep only records of kernels whose name fits PATTERN: a glob with *, ? and "
		 "[...], or several separated by commas. It must fit the whole of the mangled "
		 "name, of the function's name with its namespaces (as far as its template "
		 "arguments), or of the function's name alone. What is left out is counted."},
	{.name = "skip-kernels", .type = KP_OPTION_TEXT, .offset = AT(skip_kernels),
	 .argument = "PATTERN",
	 .help = "Leave out records of kernels whose name fits PATTERN, likewise."},
	{.name = "host", .type = KP_OPTION_FLAG, .offset = AT(host),
	 .help = "Also time the calls that launch kernels and graphs, in the threads that make "
		 "them: the report then says for each kernel how long its launch took on the CPU "
		 "and how long it waited from there to its start. Costs two readings of a clock a "
		 "launch."},
	{.name = "calls", .type = KP_OPTION_CHOICE, .offset = AT(calls), .choices = switch_names,
	 .help = "Note what the program asks of cuBLAS and cuBLASLt (sizes, types, transposes, "
		 "epilogue), and which kernels and graph nodes each call launched. Costs "
		 "hundreds of instructions a call, and ten to other launches. On by default."},
	{.name = "duty", .type = KP_OPTION_NUMBER, .offset = AT(duty_pct), .argument = "PCT",
	 .minimum = 0.01, .maximum = 50, .suffix = '%',
	 .help = "Record PCT percent of the time, in short windows at random places, and let the "
		 "report scale totals up, with confidence intervals: small traces of long runs. "
		 "Windows begin and end where the program waits for the GPU. Between them CUPTI "
		 "is detached, so that launches cost there what they cost without kprof; where "
		 "that cannot be done safely, the report says why."},
	{0},
};
static const struct kp_option counter_options[] = {
	{.name = "counters", .type = KP_OPTION_CHOICE, .offset = AT(counters),
	 .choices = counter_names,
	 .help = "Sample the GPU's hardware counters beside the records of kernels, for memory "
		 "throughput: auto samples where that is possible and says in the trace where it "
		 "is not; on refuses to start where it is not; " KP_COUNTERS_DEFAULT_NAME " is the "
		 "default. The first context on a GPU waits some 250 ms for the start. What other "
		 "programs do on the GPU is counted, too."},
	{.name = "counter-set", .type = KP_OPTION_CHOICE, .offset = AT(counter_set),
	 .choices = kp_counter_set_names,
	 .help = "What is sampled: memory is bytes read from and written to the GPU's memory "
		 "(the default); all adds sectors through L2 and activity of tensor pipes and "
		 "SMs, which costs far more: a third of a CPU core a GPU."},
	{.name = "counter-interval", .type = KP_OPTION_NUMBER, .offset = AT(counter_interval_us),
	 .argument = "US", .minimum = 0, .maximum = 1e6,
	 .help = "Time between samples in microseconds. 0, the default, is" COUNTER_INTERVALS
		 ". With memory at the default a tenth of a CPU core decodes the samples of a "
		 "GPU."},
	{0},
};
static const struct kp_option ctl_options[] = {
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE, .offset = AT(output),
	 .argument = "FILE",
	 .help = "With snapshot: copy the trace as it is then to FILE."},
	{0},
};
static const struct kp_option run_options[] = {
	{.name = "report", .type = KP_OPTION_FILE, .offset = AT(report), .argument = "FILE",
	 .help = "Write the report to FILE as well, in the format of its extension: .txt, .yaml, "
		 ".yml, .json, .md, .csv, .svg or .html."},
	{0},
};
static const struct kp_option view_options[] = {
	{.name = "by", .type = KP_OPTION_CHOICE, .offset = AT(by), .choices = by_names,
	 .help = "Rank operators with their kernels beneath (the default), or with their variants "
		 "between (the kind of attention or norm, the number type of a matrix product), or "
		 "kernels alone (one row a mangled name; JSON, YAML and CSV have one for each "
		 "of its operators); or put a table of the processes before the ranking: GPUs, "
		 "kernels, times, and how each ended, or why nothing was recorded of it; or of "
		 "NVTX ranges and what was launched in them. CSV then holds either table."},
	{.name = "operators", .type = KP_OPTION_FILE, .offset = AT(operators), .argument = "FILE",
	 .once = true, .help = "Label kernels by the rules in FILE first, and by the built-in ones "
		 "where none of these fits. The format is described in docs/operators.md."},
	{.name = "names", .type = KP_OPTION_CHOICE, .offset = AT(names), .choices = name_names,
	 .help = "Kernel names: short (function and the template arguments that tell variants "
		 "apart; the default), full (demangled) or mangled (as the driver has them)."},
	{.name = "shares", .type = KP_OPTION_FLAG, .offset = AT(shares),
	 .help = "Show all three shares: of kernel time, of the time in which any kernel ran, and "
		 "of the whole span."},
	{.name = "roofline", .type = KP_OPTION_FLAG, .offset = AT(roofline),
	 .help = "Draw the roofline of each GPU below the ranking, where hardware counters were "
		 "sampled: how near each kernel is to what memory and tensor pipes can do."},
	{.name = "shapes", .type = KP_OPTION_FLAG, .offset = AT(shapes),
	 .help = "Show the shapes of operators, or of kernels with --by kernel: how many, how much "
		 "time those with most of it hold, which dimension varies, whether it grows with "
		 "position, and whether they are fixed enough to specialise. CSV then holds the "
		 "shapes."},
	{.name = "gaps", .type = KP_OPTION_FLAG, .offset = AT(gaps),
	 .help = "Show what each GPU waited for: idle time by cause, the critical path, gaps by "
		 "length, and the longest. CSV then holds the causes."},
	{.name = "fusion", .type = KP_OPTION_FLAG, .offset = AT(fusion),
	 .help = "List chains of kernels, one behind the other on a stream, that one kernel could "
		 "do: which, how often, what that would win at least and at most, and what does "
		 "it. CSV then holds the chains."},
	{.name = "iterations", .type = KP_OPTION_TEXT, .offset = AT(iterations),
	 .argument = "auto|RANGE",
	 .help = "Show iterations in detail: how long they take, how long the GPU is busy in them, "
		 "and which took much longer than others. With auto they are found by what repeats "
		 "in the sequence of kernels; else each NVTX range called RANGE is one. CSV then "
		 "holds the iterations."},
	{.name = "threshold", .letter = 't', .type = KP_OPTION_NUMBER, .offset = AT(threshold_pct),
	 .argument = "PCT", .minimum = 0, .maximum = 100, .suffix = '%',
	 .help = "Mark rows with more than PCT percent of kernel time, and look for candidates for "
		 "specialised kernels among them; 30 by default."},
	{.name = "findings", .type = KP_OPTION_FLAG, .offset = AT(findings),
	 .help = "Show all findings with their evidence, what they win and how that is computed, "
		 "and remedies; and those that were held back, and why. docs/findings.md describes "
		 "each."},
	{.name = "min-gain", .type = KP_OPTION_NUMBER, .offset = AT(min_gain_pct),
	 .argument = "PCT", .minimum = 0, .maximum = 100, .suffix = '%',
	 .help = "Hold back findings that would save less than PCT percent of the span at most."},
	{.name = "silence", .type = KP_OPTION_SET, .offset = AT(silenced), .argument = "ID",
	 .choices = kp_finding_keys,
	 .help = "Hold back the finding ID. May be given several times."},
	{.name = "top", .letter = 'n', .type = KP_OPTION_COUNT, .offset = AT(top), .argument = "N",
	 .help = "Show at most N operators and at most N kernels of each, and say how many more "
		 "there are; 0 shows all; 10 by default. YAML, JSON and CSV always hold all."},
	{.name = "color", .type = KP_OPTION_CHOICE, .offset = AT(color), .choices = color_names,
	 .help = "Colour the text: auto colours on a terminal unless NO_COLOR is set."},
	{0},
};
static const struct kp_option report_options[] = {
	{.name = "format", .letter = 'f', .type = KP_OPTION_CHOICE, .offset = AT(format),
	 .choices = kp_format_names,
	 .help = "The format of the report. Without this option it follows the extension of the "
		 "output file, else it is text. markdown is for a ticket; svg "
		 "is a picture of the roofline; html is one file for a browser that needs no other "
		 "(docs/html.md)."},
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE, .offset = AT(output),
	 .argument = "FILE",
	 .help = "Write to FILE instead of the standard output, which - stands for."},
	{0},
};
static const struct kp_option info_options[] = {
	{.name = "format", .letter = 'f', .type = KP_OPTION_CHOICE, .offset = AT(format),
	 .choices = info_formats,
	 .help = "The format. Without this option it follows the extension of the output file, "
		 "else it is text."},
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE, .offset = AT(output),
	 .argument = "FILE",
	 .help = "Write to FILE instead of the standard output, which - stands for."},
	{0},
};
static const struct kp_option bench_options[] = {
	{.name = "against", .type = KP_OPTION_TEXT, .offset = AT(against), .argument = "LIST",
	 .help = "Measure an operator against other libraries too: torch, compile (PyTorch, eager "
		 "and compiled), cudnn and cublas, apart by commas. PyTorch calls them."},
	{.name = "all", .letter = 'a', .type = KP_OPTION_FLAG, .offset = AT(all),
	 .help = "Show each kernel that was tried, not the best alone. This concerns text."},
	{.name = "device", .type = KP_OPTION_COUNT, .offset = AT(device), .argument = "N",
	 .help = "Measure device N, as CUDA counts them; by default the first of each model."},
	{.name = "format", .letter = 'f', .type = KP_OPTION_CHOICE, .offset = AT(format),
	 .choices = info_formats,
	 .help = "The format. Without this option it follows the extension of the output file, "
		 "else it is text."},
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE, .offset = AT(output),
	 .argument = "FILE",
	 .help = "Write to FILE instead of the standard output, which - stands for."},
	{.name = "shape", .type = KP_OPTION_TEXT, .offset = AT(shape), .argument = "SHAPE",
	 .help = "Measure an operator at this shape instead of its own list: rows and elements of "
		 "a row, as in 4096x8192; for rope, tokens and query heads; for linear_skinny, "
		 "tokens, outputs and inputs, and ,e4m3 or ,int8 behind them for the type of the "
		 "weight; for attention_decode, sequences, query heads, key heads, keys and "
		 "elements of a head, then ,page=TOKENS for a paged cache, ,varied for lengths "
		 "that vary, ,e4m3 for the type of the cache; for attention_prefill, sequences, "
		 "query heads, key heads, rows and elements of a head, and ,causal."},
	{0},
};
static const struct kp_option manual_options[] = {
	{.name = "man", .type = KP_OPTION_FLAG, .offset = AT(man),
	 .help = "Print the manual page of COMMAND in mdoc(7)."},
	{.name = "bash-completion", .type = KP_OPTION_FLAG, .offset = AT(bash_completion),
	 .help = "Print the completion script for bash."},
	{0},
};

static const struct kp_option_group help_group = {"Help", help_options};
static const struct kp_option_group version_group = {"Version", version_options};
static const struct kp_option_group recording_group = {"Recording", recording_options};
static const struct kp_option_group window_group = {"What is recorded", window_options};
static const struct kp_option_group counter_group = {"Hardware counters", counter_options};
static const struct kp_option_group ctl_group = {"Output", ctl_options};
static const struct kp_option_group run_group = {"Report", run_options};
static const struct kp_option_group view_group = {"What the report shows", view_options};
static const struct kp_option_group report_group = {"Output", report_options};
static const struct kp_option_group info_group = {"Output", info_options};
static const struct kp_option_group bench_group = {"Measurement", bench_options};
static const struct kp_option_group manual_group = {"Documentation", manual_options};

static const struct kp_example run_statuses[] = {
	{"N", "CMD's own exit status, whatever it is."},
	{"128+N", "CMD was ended by signal N."},
	{"125", "kprof itself failed or was called wrongly, and CMD was not started; or CMD "
		"succeeded, and its trace or report could not be written."},
	{"126", "CMD was found, but cannot be executed."},
	{"127", "CMD was not found."},
	{0},
};
static const struct kp_example reader_statuses[] = {
	{"0", "The output is complete."},
	{"125", "A file could not be read or written, or kprof was called wrongly."},
	{0},
};
static const struct kp_example report_statuses[] = {
	{"0", "The output is complete, and no rule of --fail-on failed."},
	{"1", "A rule of --fail-on failed; one line each says so."},
	{"125", "A file could not be read or written, or kprof was called wrongly."},
	{0},
};
static const struct kp_example doctor_statuses[] = {
	{"0", "This machine can profile."},
	{"1", "It cannot; the lines marked FAIL say why."},
	{"125", "kprof was called wrongly."},
	{0},
};
static const struct kp_example run_environment[] = {
	{"KPROF_INJECT_LIB", "Path of libkprof_inject.so; by default it is looked for beside kprof "
			     "and in the lib directory of its prefix."},
	{"KPROF_CUPTI", "Path of the libcupti to use; by default one that the program has loaded, "
			"else that of the CUDA Toolkit."},
	KP_STYLE_ENVIRONMENT,
	{"LD_PRELOAD", "Kept: kprof's library goes before what is there."},
	{"CUDA_INJECTION64_PATH", "Where it is set, kprof starts that tool in CMD before itself; "
				  "if the tool uses CUPTI, kprof stands aside and says so."},
	{"NVTX_INJECTION64_PATH", "Kept where it is set; NVTX ranges then go to that tool."},
	{0},
};
static const struct kp_example text_environment[] = {
	KP_STYLE_ENVIRONMENT,
	{0},
};

static const char *const run_description[] = {
	"Runs CMD in the foreground, records every CUDA kernel, graph node, memory copy and NVTX "
	"range of it and of the processes that it starts, and prints where the GPU time went to "
	"the standard error when CMD has ended. CMD's standard output, its exit status and its "
	"terminal are its own; signals that are sent to kprof alone are passed on to it.",
	"CMD may be a script: what it starts is traced. What kprof cannot see into (a statically "
	"linked, 32-bit or set-user-ID program) runs all the same, and one line says so. A program "
	"that never uses the GPU gets one line that says so, and leaves no trace file behind.",
	"A profiler inside CMD (PyTorch's, Proton, XLA's) keeps working: kprof shares CUPTI with "
	"it, and both get their records. Under Nsight Systems, Nsight Compute or compute-sanitizer "
	"kprof says so and stands aside.",
	"The trace stays after the run: kprof report ranks it again in other ways.",
	"Everything is recorded from start to end, unless an option says when: the conditions of "
	"--delay, --duration, --range, --capture-range and --duty must hold together. Time outside "
	"is not looked at: launches there are counted, and it is not called idle. kprof ctl starts "
	"and stops recording in a running program.",
	NULL,
};
static const struct kp_example run_examples[] = {
	{"kprof -- ./my_inference --batch 8", "Run it, and print its ranking."},
	{"kprof --report hot.yaml -- python serve.py", "Write the report as YAML as well."},
	{"kprof --duty 2% -- python serve.py", "Sample a long run; scale it up."},
	{"kprof --range decode:10-20 -- python run.py", "Record eleven ranges called decode."},
	{0},
};
static const struct kp_command run_command = {
	.name = "run", .page = "kprof", .operands = "-- CMD [ARG...]",
	.summary = "run a command and print where its GPU time goes",
	.description = run_description, .examples = run_examples, .statuses = run_statuses,
	.environment = run_environment, .takes_command = true, .least = 1, .most = MANY,
	.groups = (const struct kp_option_group *const[]){&recording_group, &window_group,
							  &counter_group, &run_group, &view_group,
							  &help_group, &version_group, NULL},
	.run = kp_cmd_run,
};

static const char *const record_description[] = {
	"Runs CMD as kprof does without a command's name, but prints no ranking: one closing line "
	"says where the trace is.",
	NULL,
};
static const struct kp_example record_examples[] = {
	{"kprof record -o decode.kprof -- ./llm_decode --graph", "Record into decode.kprof."},
	{0},
};
static const struct kp_command record_command = {
	.name = "record", .page = "kprof-record", .operands = "-- CMD [ARG...]",
	.summary = "run a command and write its trace only",
	.description = record_description, .examples = record_examples, .statuses = run_statuses,
	.environment = run_environment, .takes_command = true, .least = 1, .most = MANY,
	.groups = (const struct kp_option_group *const[]){&recording_group, &window_group,
							  &counter_group, &help_group, NULL},
	.run = kp_cmd_record,
};

static const char *const report_description[] = {
	"Ranks what the trace FILE says by share of GPU time: operators, and the kernels that do "
	"their work. Several files are read as one trace, so the processes and ranks of one job "
	"are added up.",
	"The share of a row is of kernel time, the sum of the durations of all kernels, unless the "
	"column says otherwise. Options about what is shown concern text; YAML, JSON and CSV hold "
	"everything. The keys of YAML and JSON are described in docs/report-yaml.md.",
	NULL,
};
static const struct kp_example report_examples[] = {
	{"kprof report decode.kprof", "Print the ranking."},
	{"kprof report --by kernel --top 20 rank*.kprof", "The 20 largest kernels of all ranks."},
	{"kprof report --by process rank*.kprof", "The processes and ranks, then the ranking."},
	{"kprof report --by range decode.kprof", "What was launched in which NVTX range."},
	{"kprof report -o hot.yaml decode.kprof", "Write the report as YAML."},
	{"kprof report --range step:10-20 decode.kprof", "Rank what ran during some steps."},
	{"kprof report --operators ours.yaml decode.kprof", "Know your own kernels as well."},
	{"kprof report --fail-on 'operator(attention).share > 30%' decode.kprof", "A gate."},
	{0},
};
static const struct kp_command report_command = {
	.name = "report", .page = "kprof-report", .operands = "FILE...",
	.summary = "rank a trace as text, HTML, YAML, JSON or CSV",
	.description = report_description, .examples = report_examples, .statuses = report_statuses,
	.environment = text_environment, .least = 1, .most = MANY,
	.groups = (const struct kp_option_group *const[]){&report_group, &view_group,
							  &kp_part_group, &kp_gate_group,
							  &help_group, NULL},
	.run = kp_cmd_report,
};

static const char *const info_description[] = {
	"Tells what the trace FILE holds: its processes and how each ended, its GPUs, clocks, "
	"counts of what was issued, recorded and lost, the notes of the collector, and damage.",
	NULL,
};
static const struct kp_example info_examples[] = {
	{"kprof info decode.kprof", "Show the contents of a trace."},
	{0},
};
static const struct kp_command info_command = {
	.name = "info", .page = "kprof-info", .operands = "FILE...",
	.summary = "show the processes, devices, counts and damage of a trace",
	.description = info_description, .examples = info_examples, .statuses = reader_statuses,
	.least = 1, .most = MANY,
	.groups = (const struct kp_option_group *const[]){&info_group, &help_group, NULL},
	.run = kp_cmd_info,
};

static const char *const ctl_description[] = {
	"Controls the recording in the process PID, which must have been started under kprof and "
	"use the GPU. PID is the program's, not kprof's own. Only the process's user and root may "
	"do this. Attaching to a process that was not started under kprof is not possible.",
	"start records from now on, whatever --delay, --duration, --range and --capture-range "
	"said; under --duty it goes on with the windows. stop records no more until the next "
	"start; CUPTI is detached then, as between windows of --duty, so that launches cost what "
	"they cost without kprof. snapshot brings all that CUPTI has ready into the trace, so that "
	"kprof report can rank the run so far. status tells whether records are on, and what was "
	"counted.",
	"ab off ends replacing by the rule RULE, or by all without one: under kprof ab, or kprof "
	"top with rules, the originals run from now on, also in graphs. ab on goes on; a rule "
	"whose results were wrong stays as it is.",
	NULL,
};
static const struct kp_example ctl_examples[] = {
	{"kprof ctl 4711 stop", "Record no more."},
	{"kprof ctl 4711 snapshot -o now.kprof", "Save what there is, for kprof report now.kprof."},
	{"kprof ctl 4711 ab off torch-softmax-bf16", "Run the originals of one rule again."},
	{0},
};
static const struct kp_example ctl_statuses[] = {
	{"0", "It was done."},
	{"125", "It could not be done, and one line says why."},
	{0},
};
static const struct kp_command ctl_command = {
	.name = "ctl", .page = "kprof-ctl",
	.operands = "PID start|stop|snapshot|status|ab on|off [RULE]",
	.summary = "start, stop or look into the recording of a running program",
	.description = ctl_description, .examples = ctl_examples, .statuses = ctl_statuses,
	.least = 2, .most = 4,
	.groups = (const struct kp_option_group *const[]){&ctl_group, &help_group, NULL},
	.run = kp_cmd_ctl,
};

static const char *const bench_description[] = {
	"Runs the measurement BENCH on a GPU; without one, lists them.",
	"ceilings finds out what the GPU can do at most: bytes a second that are read from, "
	"written to and copied within its memory, and operations a second of its arithmetic units "
	"and tensor cores for each type. Each figure is the median of 21 repetitions on random "
	"data after a warm-up, by the fastest of several kernels, which are checked against a "
	"reference before; least and most stand beside it. Clocks are taken as they are found. It "
	"takes 5 to 10 seconds, and nothing else should use the GPU meanwhile. Results are kept "
	"for each GPU and driver, and reports compare kernels with them; without them, with the "
	"datasheet.",
	"The other names are operators of kprof's own kernels. At each shape the result is first "
	"compared with a reference in double precision, then timed in graphs: cold, with buffers "
	"that rotate through four times the L2 cache; hot, with the same ones again; and hot as a "
	"chain of dependent launches. A plain copy of as many bytes stands beside it, or reading "
	"them where an operator does little else, and for those the share of what reading reaches "
	"on this GPU.",
	"With --against a Python program that is installed with kprof runs kprof's kernels and "
	"the others on the same buffers in one process, in turns, and prints how many times as "
	"fast kprof's are.",
	NULL,
};
static const struct kp_example bench_examples[] = {
	{"kprof bench ceilings", "Measure the GPU, and keep the result for reports."},
	{"kprof bench ceilings --device 1 -o gpu1.yaml", "Measure the second, as YAML."},
	{"kprof bench add_rmsnorm --shape 4096x8192", "Check and time one operator."},
	{"kprof bench attention_decode --against torch,cudnn",
	 "The same at all its shapes, and against FlashAttention and cuDNN."},
	{0},
};
static const struct kp_example bench_statuses[] = {
	{"0", "All was measured."},
	{"125", "There is no GPU, it could not be measured, or kprof was called wrongly."},
	{0},
};
static const struct kp_example bench_environment[] = {
	{"KPROF_PYTHON", "The Python with PyTorch that --against runs; by default python3."},
	{"XDG_CACHE_HOME", "Results are kept in kprof/ceilings.yaml below it; below $HOME/.cache "
			   "without it."},
	{"CUDA_VISIBLE_DEVICES", "Which devices there are, and in what order."},
	{0},
};
static const struct kp_command bench_command = {
	.name = "bench", .page = "kprof-bench", .operands = "[BENCH]",
	.summary = "measure what a GPU can do",
	.description = bench_description, .examples = bench_examples, .statuses = bench_statuses,
	.environment = bench_environment, .most = 1,
	.groups = (const struct kp_option_group *const[]){&bench_group, &help_group, NULL},
	.run = kp_cmd_bench,
};

static const char *const doctor_description[] = {
	"Checks what kprof needs on this machine: the NVIDIA driver and its devices, CUPTI, the "
	"library that is preloaded into programs, access to performance counters, and environment "
	"variables of other tools. Each line is marked OK, WARN or FAIL, and the latter two name "
	"the remedy.",
	NULL,
};
static const struct kp_example doctor_examples[] = {
	{"kprof doctor", "Check this machine."},
	{0},
};
static const struct kp_command doctor_command = {
	.name = "doctor", .page = "kprof-doctor", .operands = "",
	.summary = "check what works on this machine, and name the remedies",
	.description = doctor_description, .examples = doctor_examples, .statuses = doctor_statuses,
	.groups = (const struct kp_option_group *const[]){&help_group, NULL},
	.run = kp_cmd_doctor,
};

static const char *const help_description[] = {
	"Prints the list of commands, or the help of COMMAND.",
	NULL,
};
static const struct kp_example help_examples[] = {
	{"kprof help report", "The same as kprof report --help."},
	{"kprof help --man report | man -l -", "Read the manual page without installing it."},
	{0},
};
static const struct kp_command help_command = {
	.name = "help", .page = "kprof-help", .operands = "[COMMAND]",
	.summary = "print help, manual pages and shell completion",
	.description = help_description, .examples = help_examples, .statuses = reader_statuses,
	.most = 1,
	.groups = (const struct kp_option_group *const[]){&manual_group, &help_group, NULL},
	.run = kp_cmd_help,
};

static const char *const version_description[] = {"Prints the version of kprof.", NULL};
static const struct kp_example version_examples[] = {{"kprof version", "Print the version."}, {0}};
static const struct kp_command version_command = {
	.name = "version", .operands = "", .summary = "print the version",
	.description = version_description, .examples = version_examples,
	.statuses = reader_statuses,
	.groups = (const struct kp_option_group *const[]){&help_group, NULL},
	.run = kp_cmd_version,
};

const struct kp_command *const kp_commands[COMMAND_COUNT + 1] = {
	&run_command, &record_command, &report_command, &kp_diff_command, &kp_plan_command,
	&kp_ab_command, &kp_tui_command, &kp_top_command, &info_command, &kp_export_command,
	&kp_import_command,
	&kp_merge_command, &ctl_command, &bench_command, &doctor_command,
	&help_command, &version_command, NULL,
};
// clang-format on

const struct kp_command *kp_commands_find(const char *name)
{
	for (size_t i = 0; kp_commands[i]; i++) {
		if (strcmp(kp_commands[i]->name, name) == 0)
			return kp_commands[i];
	}
	return NULL;
}

const char *kp_commands_nearest(const char *word)
{
	const char *names[COMMAND_COUNT];

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		names[i] = kp_commands[i]->name;
	return kp_options_nearest(word, names, COMMAND_COUNT);
}

int kp_commands_run(const struct kp_command *command, int argc, char **argv)
{
	struct kp_settings settings = {.format = -1,
				       .threshold_pct = 30,
				       .top = 10,
				       .counters = KP_COUNTERS_DEFAULT,
				       .calls = KP_SWITCH_ON,
				       .device = UINT64_MAX,
				       .limit = UINT64_MAX,
				       .ab_mode = KP_AB_MEASURE,
				       .ab_again = 64,
				       .ab_phase = UINT64_MAX,
				       .ab_rounds = 5,
				       .ab_try_limit_s = 60,
				       .margin_pct = 1,
				       .live = {.units = 1, .frames = KP_TOP_NO_FRAMES}};
	char complaint[KP_COMPLAINT_BYTES];

	if (kp_options_parse(command, argc, argv, &settings, complaint) != KP_OK)
		return kp_fail("%s", complaint);
	if (settings.help)
		return kp_help_command(command);
	if (settings.version)
		return kp_cmd_version(&settings);
	return command->run(&settings);
}
