/*
 * The table of metrics by chip against CUPTI's own host API, which knows every chip and needs no
 * GPU: each chip that it can sample has a row, each row fits one pass, and no larger set would.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "inject/pm_chips.h"
#include "trace/records.h"

#define SKIPPED 77

/* What a metric may be called, best first. */
static const char *const names_of[KP_METRIC_COUNT][3] = {
	[KP_METRIC_DRAM_READ] = {"dram__bytes_read.sum", "dram__bytes_op_read.sum"},
	[KP_METRIC_DRAM_WRITE] = {"dram__bytes_write.sum", "dram__bytes_op_write.sum"},
	[KP_METRIC_L2_SECTORS] = {"lts__t_sectors.sum"},
	[KP_METRIC_TENSOR_ACTIVE] = {"sm__pipe_tensor_cycles_active.sum"},
	[KP_METRIC_SM_ACTIVE] = {"sm__cycles_active.sum"},
};

/* cuptiProfilerHostGetSupportedChips, which only this test calls. */
struct chip_list {
	size_t size;
	void *reserved;
	size_t count;
	const char *const *names;
};

static struct {
	int (*GetSupportedChips)(struct chip_list *);
#define MEMBER(name, parameters, last) int (*name)(struct parameters *);
	KP_PM_FUNCTIONS(MEMBER)
} cupti;

static bool bind_cupti(void)
{
	void *library = dlopen(KPROF_CUDA_ROOT "/lib64/libcupti.so", RTLD_NOW);

	if (!library)
		library = dlopen(KPROF_CUDA_ROOT "/extras/CUPTI/lib64/libcupti.so", RTLD_NOW);
	if (!library)
		return false;
#define BIND(name, parameters, last) *(void **)&cupti.name = dlsym(library, "cupti" #name);
	KP_PM_FUNCTIONS(BIND)
	*(void **)&cupti.GetSupportedChips = dlsym(library, "cuptiProfilerHostGetSupportedChips");
	return cupti.GetSupportedChips && cupti.ProfilerHostInitialize &&
	       cupti.ProfilerHostGetNumOfPasses;
}

static void *host_of(const char *chip)
{
	struct kp_pm_host_initialize host = {
		.size = KP_PM_SIZE(kp_pm_host_initialize, host),
		.type = KP_PM_PROFILER_TYPE,
		.chip = chip,
	};

	return cupti.ProfilerHostInitialize(&host) == 0 ? host.host : NULL;
}

/* How many passes a configuration takes; 0 if a name is not known. */
static size_t passes_of_host(void *host, const char **names, size_t count)
{
	struct kp_pm_host_metrics metrics = {KP_PM_SIZE(kp_pm_host_metrics, count), NULL, host,
					     names, count};
	struct kp_pm_host_config_size size = {KP_PM_SIZE(kp_pm_host_config_size, bytes), NULL, host,
					      0};
	struct kp_pm_host_config config = {KP_PM_SIZE(kp_pm_host_config, image), NULL, host, 0,
					   NULL};
	struct kp_pm_host_passes passes = {KP_PM_SIZE(kp_pm_host_passes, passes), NULL, 0, NULL, 0};
	bool known = cupti.ProfilerHostConfigAddMetrics(&metrics) == 0 &&
		     cupti.ProfilerHostGetConfigImageSize(&size) == 0;

	if (!known)
		return 0;
	config.bytes = passes.bytes = size.bytes;
	config.image = passes.image = calloc(1, size.bytes);
	known = config.image && cupti.ProfilerHostGetConfigImage(&config) == 0 &&
		cupti.ProfilerHostGetNumOfPasses(&passes) == 0;
	free(config.image);
	return known ? passes.passes : 0;
}

static size_t passes_of(const char *chip, const char **names, size_t count)
{
	void *host = host_of(chip);
	struct kp_pm_host_only only = {KP_PM_SIZE(kp_pm_host_only, host), NULL, host};
	size_t passes;

	assert_non_null(host);
	passes = passes_of_host(host, names, count);
	cupti.ProfilerHostDeinitialize(&only);
	return passes;
}

/* The name that a metric has on a chip; NULL: none. */
static const char *name_on(const char *chip, size_t metric)
{
	for (size_t i = 0; names_of[metric][i]; i++) {
		const char *name = names_of[metric][i];

		if (passes_of(chip, &name, 1) == 1)
			return name;
	}
	return NULL;
}

static bool fits(const char *chip, const char *const *all, unsigned set)
{
	const char *names[KP_METRIC_COUNT];
	size_t count = 0;

	for (size_t i = 0; i < KP_METRIC_COUNT; i++)
		if (set & 1U << i && all[i])
			names[count++] = all[i];
		else if (set & 1U << i)
			return false;
	return passes_of(chip, names, count) == 1;
}

/*
 * The largest set of one pass, as bits; of equal ones that with the earlier metrics. Bytes of
 * memory come first.
 */
static unsigned largest(const char *chip, const char *const *all)
{
	unsigned best = 0;

	for (unsigned set = 1; set < 1U << KP_METRIC_COUNT; set++) {
		int more = __builtin_popcount(set) - __builtin_popcount(best);

		if (more < 0 ||
		    (more == 0 && __builtin_ctz(set ^ best) == __builtin_ctz(best & (set ^ best))))
			continue;
		if (fits(chip, all, set))
			best = set;
	}
	return best;
}

static void check_chip(const char *name)
{
	const struct kp_pm_chip *chip = kp_pm_chip_find(name);
	const char *all[KP_METRIC_COUNT];
	unsigned best;

	if (!chip) {
		fail_msg("pm_chips.def has no row for %s", name);
		return;
	}
	for (size_t i = 0; i < KP_METRIC_COUNT; i++)
		all[i] = name_on(name, i);
	best = largest(name, all);
	for (size_t i = 0; i < KP_METRIC_COUNT; i++) {
		const char *expected = best & 1U << i ? all[i] : NULL;
		const char *got = chip->metrics[i];

		if (!!expected != !!got || (got && strcmp(expected, got) != 0))
			fail_msg("%s, %s: the row has %s, one pass holds %s", name,
				 kp_metric_key((enum kp_metric)i), got ? got : "nothing",
				 expected ? expected : "nothing");
	}
}

/* Chips from Volta back cannot be sampled: CUPTI gives no host for them. */
static void test_pm_chips_are_the_largest_sets(void **state)
{
	struct chip_list list = {sizeof(list), NULL, 0, NULL};
	size_t sampled = 0;

	(void)state;
	assert_int_equal(cupti.GetSupportedChips(&list), 0);
	for (size_t i = 0; i < list.count; i++) {
		void *host = host_of(list.names[i]);
		struct kp_pm_host_only only = {KP_PM_SIZE(kp_pm_host_only, host), NULL, host};

		if (!host)
			continue;
		cupti.ProfilerHostDeinitialize(&only);
		check_chip(list.names[i]);
		sampled++;
	}
	assert_true(sampled >= 10);
}

/* The set that is sampled unless asked for, too. */
static void test_pm_chips_sample_memory_alone(void **state)
{
	const char *names[KP_METRIC_COUNT];
	char text[KP_PM_METRICS_BYTES];

	(void)state;
	for (const struct kp_pm_chip *chip = kp_pm_chips(); chip->name; chip++) {
		size_t count = kp_pm_chip_names(chip, 2, names, text);

		if (count && host_of(chip->name))
			assert_int_equal(passes_of(chip->name, names, count), 1);
	}
}

/* Every row's text is what the trace's reader takes, and whole. */
static void test_pm_chips_describe_themselves(void **state)
{
	(void)state;
	for (const struct kp_pm_chip *chip = kp_pm_chips(); chip->name; chip++) {
		struct kp_metric_line lines[KP_SAMPLE_VALUES];
		const char *names[KP_METRIC_COUNT];
		char text[KP_PM_METRICS_BYTES];
		size_t count = kp_pm_chip_names(chip, KP_METRIC_COUNT, names, text);
		const struct kp_text metrics = {text, strlen(text)};

		assert_int_equal(kp_metrics_parse(&metrics, lines), count);
		for (size_t i = 0; i < count; i++) {
			assert_true(lines[i].metric != KP_METRIC_COUNT);
			assert_memory_equal(lines[i].source, names[i], lines[i].source_length);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pm_chips_describe_themselves),
		cmocka_unit_test(test_pm_chips_are_the_largest_sets),
		cmocka_unit_test(test_pm_chips_sample_memory_alone),
	};

	if (!bind_cupti()) {
		print_message("no libcupti with the host API in %s\n", KPROF_CUDA_ROOT);
		return SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
