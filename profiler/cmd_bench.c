/* kprof bench: measurements that kprof makes on a GPU itself, one row each. */
#include <string.h>

#include "profiler/bench_ceilings.h"
#include "profiler/bench_kernels.h"
#include "profiler/commands.h"
#include "profiler/options.h"
#include "profiler/output.h"
#include "profiler/say.h"

static const struct kp_bench {
	const char *name, *what;
	int (*run)(const struct kp_settings *settings);
} benches[] = {
	{"ceilings", "bandwidth of device memory and rates of arithmetic, at their highest",
	 kp_bench_run_ceilings},
};

#define COUNT (sizeof(benches) / sizeof(benches[0]))

static int list(const struct kp_settings *settings)
{
	struct kp_output output;

	if (!kp_output_open(&output, settings->output))
		return KP_EXIT_FAILURE;
	for (size_t i = 0; i < COUNT; i++)
		fprintf(output.file, "%-12s %s\n", benches[i].name, benches[i].what);
	for (size_t i = 0; i < kp_bench_operator_count; i++)
		fprintf(output.file, "%-12s %s\n", kp_bench_operators[i].name,
			kp_bench_operators[i].what);
	return kp_output_close(&output) ? 0 : KP_EXIT_FAILURE;
}

int kp_cmd_bench(const struct kp_settings *settings)
{
	const char *names[COUNT + KP_BENCH_OPERATORS_MOST], *word, *nearest;
	const struct kp_bench_operator *found;
	size_t count = 0;

	if (settings->operand_count == 0)
		return list(settings);
	word = settings->operands[0];
	for (size_t i = 0; i < COUNT; i++) {
		if (strcmp(benches[i].name, word) == 0)
			return benches[i].run(settings);
		names[count++] = benches[i].name;
	}
	found = kp_bench_find(word);
	if (found)
		return kp_bench_run_operator(found, settings);
	for (size_t i = 0; i < kp_bench_operator_count && count < COUNT + KP_BENCH_OPERATORS_MOST;
	     i++)
		names[count++] = kp_bench_operators[i].name;
	nearest = kp_options_nearest(word, names, count);
	return kp_fail("there is no bench %s%s%s; kprof bench lists them", word,
		       nearest ? "; did you mean " : "", nearest ? nearest : "");
}
