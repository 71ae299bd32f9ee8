/*
 * PM sampling as kprof calls it: the layout of the parameters against CUPTI's headers, and sessions
 * on the fake libcupti, whose counters count what cupti/pm.h says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <dlfcn.h>

#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include "inject/hooks.h"
#include "inject/pm_session.h"
#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/cupti/pm.h"

/* S(kprof's structure, its last member, CUPTI's), M(kprof's, member, CUPTI's, member) */
#define S(own, last, theirs)                                                                       \
	_Static_assert(KP_PM_SIZE(own, last) == theirs##_STRUCT_SIZE, #own " is as large");
#define M(own, member, theirs, their)                                                              \
	_Static_assert(offsetof(struct own, member) == offsetof(theirs, their) &&                  \
			       sizeof(((struct own *)0)->member) == sizeof(((theirs *)0)->their),  \
		       #own "." #member " is at its place");

S(kp_pm_initialize, reserved, CUpti_Profiler_Initialize_Params)
S(kp_pm_chip_name, name, CUpti_Device_GetChipName_Params)
M(kp_pm_chip_name, device, CUpti_Device_GetChipName_Params, deviceIndex)
M(kp_pm_chip_name, name, CUpti_Device_GetChipName_Params, pChipName)
S(kp_pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params)
M(kp_pm_availability, bytes, CUpti_PmSampling_GetCounterAvailability_Params,
  counterAvailabilityImageSize)
M(kp_pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params,
  pCounterAvailabilityImage)
S(kp_pm_host_initialize, host, CUpti_Profiler_Host_Initialize_Params)
M(kp_pm_host_initialize, type, CUpti_Profiler_Host_Initialize_Params, profilerType)
M(kp_pm_host_initialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName)
M(kp_pm_host_initialize, availability, CUpti_Profiler_Host_Initialize_Params,
  pCounterAvailabilityImage)
M(kp_pm_host_initialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject)
S(kp_pm_host_only, host, CUpti_Profiler_Host_Deinitialize_Params)
S(kp_pm_host_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params)
M(kp_pm_host_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames)
S(kp_pm_host_config_size, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params)
S(kp_pm_host_config, image, CUpti_Profiler_Host_GetConfigImage_Params)
M(kp_pm_host_config, bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize)
S(kp_pm_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params)
M(kp_pm_host_passes, bytes, CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize)
M(kp_pm_host_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage)
S(kp_pm_host_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params)
M(kp_pm_host_evaluate, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage)
M(kp_pm_host_evaluate, bytes, CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize)
M(kp_pm_host_evaluate, sample, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex)
M(kp_pm_host_evaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames)
M(kp_pm_host_evaluate, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics)
S(kp_pm_enable, object, CUpti_PmSampling_Enable_Params)
M(kp_pm_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex)
S(kp_pm_object, object, CUpti_PmSampling_Start_Params)
S(kp_pm_object, object, CUpti_PmSampling_Stop_Params)
S(kp_pm_object, object, CUpti_PmSampling_Disable_Params)
S(kp_pm_config, append, CUpti_PmSampling_SetConfig_Params)
M(kp_pm_config, bytes, CUpti_PmSampling_SetConfig_Params, configSize)
M(kp_pm_config, image, CUpti_PmSampling_SetConfig_Params, pConfig)
M(kp_pm_config, hardware_bytes, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize)
M(kp_pm_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval)
M(kp_pm_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode)
S(kp_pm_data_size, bytes, CUpti_PmSampling_GetCounterDataSize_Params)
M(kp_pm_data_size, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames)
M(kp_pm_data_size, count, CUpti_PmSampling_GetCounterDataSize_Params, numMetrics)
M(kp_pm_data_size, samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples)
S(kp_pm_data_initialize, image, CUpti_PmSampling_CounterDataImage_Initialize_Params)
M(kp_pm_data_initialize, bytes, CUpti_PmSampling_CounterDataImage_Initialize_Params,
  counterDataSize)
S(kp_pm_decode, overflow, CUpti_PmSampling_DecodeData_Params)
M(kp_pm_decode, image, CUpti_PmSampling_DecodeData_Params, pCounterDataImage)
M(kp_pm_decode, bytes, CUpti_PmSampling_DecodeData_Params, counterDataImageSize)
M(kp_pm_decode, stop_reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason)
S(kp_pm_data_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params)
M(kp_pm_data_info, image, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage)
M(kp_pm_data_info, room, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples)
M(kp_pm_data_info, populated, CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples)
S(kp_pm_sample_info, end_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params)
M(kp_pm_sample_info, image, CUpti_PmSampling_CounterData_GetSampleInfo_Params, pCounterDataImage)
M(kp_pm_sample_info, sample, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex)
M(kp_pm_sample_info, begin_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp)
_Static_assert((int)KP_PM_PROFILER_TYPE == (int)CUPTI_PROFILER_TYPE_PM_SAMPLING, "type");
_Static_assert((int)KP_PM_BY_CYCLES == (int)CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL &&
		       (int)KP_PM_BY_TIME == (int)CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL,
	       "triggers");
_Static_assert((int)KP_PM_STOP_FULL == (int)CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL,
	       "reasons");
_Static_assert((int)KP_PM_OUT_OF_MEMORY == (int)CUPTI_ERROR_OUT_OF_MEMORY &&
		       (int)KP_PM_HARDWARE_BUSY == (int)CUPTI_ERROR_HARDWARE_BUSY &&
		       (int)KP_PM_ON_VIRTUAL == (int)CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED &&
		       (int)KP_PM_NO_PRIVILEGES == (int)CUPTI_ERROR_INSUFFICIENT_PRIVILEGES &&
		       (int)KP_PM_ON_MIG == (int)CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED &&
		       (int)KP_PM_ON_WSL == (int)CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED,
	       "results");

/* Without the hooks, a lookup is the loader's. */
void *kp_hooks_lookup(void *handle, const char *name)
{
	return dlsym(handle, name);
}

#define MOST 200000

struct taken {
	size_t count, gaps;
	struct kp_counter_sample samples[MOST];
};

static struct taken taken;
static struct kp_pm pm;
static struct kp_pm_session session;
static char reason[KP_PM_REASON_BYTES];

static void take(void *context, struct kp_counter_sample *sample)
{
	struct taken *into = context;

	assert_true(into->count < MOST);
	into->gaps += (sample->flags & KP_SAMPLE_AFTER_GAP) != 0;
	into->samples[into->count++] = *sample;
}

static void open_session(size_t metrics, uint64_t interval_ns)
{
	const struct kp_pm_request request = {0, metrics, interval_ns, 100};

	memset(&taken, 0, sizeof(taken));
	if (!kp_pm_session_open(&session, &pm, &request, reason))
		fail_msg("%s", reason);
	assert_true(kp_pm_session_start(&session, reason));
}

static void close_session(void)
{
	kp_pm_session_stop(&session, take, &taken);
	kp_pm_session_close(&session);
	assert_int_equal(kp_fake_counted(KP_FAKE_pm_violations), 0);
	assert_int_equal(kp_fake_counted(KP_FAKE_pm_enables), kp_fake_counted(KP_FAKE_pm_disables));
}

/* The counters' time passes here alone, so that no drain is late on a busy machine. */
static void drain_for(unsigned times, unsigned pause_us)
{
	for (unsigned i = 0; i < times; i++) {
		kp_fake_pm_let_pass(pause_us * 1000ULL);
		assert_true(kp_pm_session_drain(&session, take, &taken));
	}
}

/* Does something under a fault in a program of its own, and reads what it prints. */
static void run_self(const char *fault, const char *what, char *out, size_t size)
{
	char command[256];
	FILE *pipe;
	size_t length;

	snprintf(command, sizeof(command), "KP_FAKE=%s /proc/%d/exe %s", fault, (int)getpid(),
		 what);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	length = fread(out, 1, size - 1, pipe);
	out[length] = '\0';
	pclose(pipe);
}

static int bind_all(void **state)
{
	(void)state;
	kp_fake_pm_let_pass(1);
	return cuInit(0) == CUDA_SUCCESS && dlopen("libcupti.so.13", RTLD_NOW) &&
			       kp_pm_bind(&pm, "libcupti.so.13")
		       ? 0
		       : -1;
}

/* Every sample but the first of the session, in order, without holes, with its own values. */
static void test_pm_samples_are_exact(void **state)
{
	(void)state;
	open_session(5, 20000);
	drain_for(12, 30000);
	close_session();
	assert_true(taken.count > 15000);
	for (size_t i = 0; i < taken.count; i++) {
		const struct kp_counter_sample *sample = &taken.samples[i];

		assert_int_equal(sample->end_ns - sample->begin_ns, 20000);
		assert_true(i == 0 || sample->begin_ns == sample[-1].end_ns);
		for (unsigned m = 0; m < 5; m++)
			assert_int_equal(sample->values[m], (uint64_t)kp_fake_pm_value(i + 1, m));
	}
	assert_int_equal(taken.gaps, 0);
	assert_int_equal(session.left_out, 1);
	assert_int_equal(session.samples, taken.count);
	assert_int_equal(session.begin_ns, taken.samples[0].begin_ns);
	assert_int_equal(session.last_ns, taken.samples[taken.count - 1].end_ns);
}

static void test_pm_sets_are_the_first_metrics(void **state)
{
	(void)state;
	open_session(2, 100000);
	drain_for(1, 20000);
	close_session();
	assert_int_equal(session.metrics, 2);
	assert_string_equal(session.text, "dram_read_bytes dram__bytes_read.sum byte\n"
					  "dram_write_bytes dram__bytes_write.sum byte\n");
	assert_true(taken.count > 0);
	assert_int_equal(taken.samples[0].values[2], 0);
}

/* A thread that could not run for long loses samples, says where, and goes on. */
static void test_pm_full_image_is_a_gap(void **state)
{
	(void)state;
	open_session(2, 1000000);
	drain_for(1, 20000);
	drain_for(1, 700000);
	drain_for(2, 20000);
	close_session();
	assert_int_equal(taken.gaps, 1);
	assert_int_equal(session.gaps, 1);
	assert_true(kp_fake_counted(KP_FAKE_pm_lost) > 100);
}

/* CUPTI empties the image once; from then on it is copied, and every sample is as it should be. */
static void test_pm_image_is_emptied_by_copying(void **state)
{
	uint64_t emptied = kp_fake_counted(KP_FAKE_pm_emptied);

	(void)state;
	open_session(2, 100000);
	drain_for(40, 5000);
	close_session();
	assert_int_equal(kp_fake_counted(KP_FAKE_pm_emptied) - emptied, 1);
	assert_true(taken.count > 1600);
	for (size_t i = 0; i < taken.count; i++)
		assert_int_equal(taken.samples[i].values[1], (uint64_t)kp_fake_pm_value(i + 1, 1));
}

/* Samples that nobody wants are counted, and not evaluated. */
static void test_pm_unwanted_samples_have_no_values(void **state)
{
	uint64_t evaluated;
	size_t before;

	(void)state;
	open_session(2, 100000);
	drain_for(1, 20000);
	before = taken.count;
	evaluated = kp_fake_counted(KP_FAKE_pm_evaluated);
	session.timed_only = true;
	drain_for(1, 20000);
	assert_int_equal(kp_fake_counted(KP_FAKE_pm_evaluated), evaluated);
	assert_true(taken.count > before);
	assert_int_equal(taken.samples[before].values[0], 0);
	session.timed_only = false;
	before = taken.count;
	drain_for(1, 20000);
	close_session();
	assert_int_equal(taken.samples[before].values[0],
			 (uint64_t)kp_fake_pm_value(before + 1, 0));
	assert_int_equal(taken.gaps, 0);
}

/* As under a fault where decoding changes what lies behind the samples; its own program. */
static int drain_elsewhere(void)
{
	uint64_t emptied;

	if (bind_all(NULL) != 0)
		return 1;
	open_session(2, 100000);
	emptied = kp_fake_counted(KP_FAKE_pm_emptied);
	drain_for(20, 5000);
	printf("%d %d", (int)(kp_fake_counted(KP_FAKE_pm_emptied) - emptied),
	       (int)kp_fake_counted(KP_FAKE_pm_violations));
	close_session();
	return 0;
}

static void test_pm_image_that_changes_elsewhere_is_emptied_by_cupti(void **state)
{
	char said[64];
	int emptied, violations;

	(void)state;
	run_self("pm_elsewhere", "elsewhere", said, sizeof(said));
	assert_int_equal(sscanf(said, "%d %d", &emptied, &violations), 2);
	assert_true(emptied >= 19);
	assert_int_equal(violations, 0);
}

static void test_pm_overflow_starts_anew(void **state)
{
	size_t before;

	(void)state;
	open_session(2, 10000);
	drain_for(1, 20000);
	drain_for(1, 520000); /* 64 MB of records are 419 ms */
	before = taken.count;
	drain_for(2, 20000);
	close_session();
	assert_int_equal(session.overflows, 1);
	assert_true(taken.count > before + 1000);
	assert_int_equal(taken.gaps, 1);
	assert_int_equal(session.left_out, 2);
}

static void test_pm_stops_and_goes_on(void **state)
{
	size_t before;

	(void)state;
	open_session(2, 100000);
	drain_for(1, 20000);
	kp_pm_session_stop(&session, take, &taken);
	before = taken.count;
	assert_false(kp_pm_session_drain(&session, take, &taken));
	kp_fake_pm_let_pass(50000000);
	assert_true(kp_pm_session_start(&session, reason));
	drain_for(1, 20000);
	close_session();
	assert_true(taken.count > before + 150);
	assert_int_equal(taken.gaps, 1);
	assert_int_equal(taken.samples[before].flags, KP_SAMPLE_AFTER_GAP);
}

static void test_pm_refusals_name_the_remedy(void **state)
{
	static const struct {
		const char *fault, *says;
	} rows[] = {
		{"pm=35", "NVreg_RestrictProfilingToAdminUsers"},
		{"pm=26", "dcgmi profctl --pause"},
		{"pm=43", "MIG"},
		{"pm=45", "WSL"},
		{"pm=999", "kprof doctor"},
		{"pm_chip", "XX999"},
		{"pm_passes=3", "needs 3 passes"},
	};
	char said[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run_self(rows[i].fault, "refuse", said, sizeof(said));
		if (!strstr(said, rows[i].says))
			fail_msg("«%s» does not say «%s»", said, rows[i].says);
	}
	assert_int_equal(kp_fake_counted(KP_FAKE_pm_enables), kp_fake_counted(KP_FAKE_pm_disables));
}

static int refuse(void)
{
	const struct kp_pm_request request = {0, 2, 100000, 100};

	if (bind_all(NULL) != 0 || kp_pm_session_open(&session, &pm, &request, reason))
		return 1;
	puts(reason);
	return 0;
}

/* The counters of the ledger are the library's, too, if it has a file. */
static int use_ledger(char path[])
{
	int fd = mkstemp(path);

	if (fd < 0)
		return -1;
	close(fd);
	return setenv("KP_FAKE_LEDGER", path, 1);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/kprof-test-XXXXXX";
	int failed;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pm_samples_are_exact),
		cmocka_unit_test(test_pm_sets_are_the_first_metrics),
		cmocka_unit_test(test_pm_full_image_is_a_gap),
		cmocka_unit_test(test_pm_image_is_emptied_by_copying),
		cmocka_unit_test(test_pm_unwanted_samples_have_no_values),
		cmocka_unit_test(test_pm_image_that_changes_elsewhere_is_emptied_by_cupti),
		cmocka_unit_test(test_pm_overflow_starts_anew),
		cmocka_unit_test(test_pm_stops_and_goes_on),
		cmocka_unit_test(test_pm_refusals_name_the_remedy),
	};

	if (argc > 1 && strcmp(argv[1], "refuse") == 0)
		return refuse();
	if (argc > 1 && strcmp(argv[1], "elsewhere") == 0)
		return drain_elsewhere();
	if (use_ledger(path) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, bind_all, NULL);
	unlink(path);
	return failed;
}
