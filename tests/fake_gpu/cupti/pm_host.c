/*
 * The host API of the fake libcupti: names of metrics, configurations, evaluation. One chip, GH100;
 * every set of its metrics fits one pass.
 */
#include <stdlib.h>
#include <string.h>

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/cupti/pm.h"
#include "tests/fake_gpu/cupti/state.h"

struct CUpti_Profiler_Host_Object {
	size_t metrics;
};

static const char *const metrics[] = {
	"dram__bytes_read.sum",  "dram__bytes_write.sum",
	"lts__t_sectors.sum",    "sm__pipe_tensor_cycles_active.sum",
	"sm__cycles_active.sum",
};

int kp_fake_pm_metric(const char *name)
{
	for (size_t i = 0; name && i < sizeof(metrics) / sizeof(metrics[0]); i++)
		if (strcmp(metrics[i], name) == 0)
			return (int)i;
	return -1;
}

/* What every function asks first of its parameters. */
#define CHECK(type, parameters)                                                                    \
	do {                                                                                       \
		if (!kp_fake_cupti_usable())                                                       \
			return CUPTI_ERROR_NOT_INITIALIZED;                                        \
		if (!(parameters) || (parameters)->structSize != type##_STRUCT_SIZE ||             \
		    (parameters)->pPriv)                                                           \
			return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);                \
	} while (0)

KP_FAKE_EXPORT CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *params)
{
	CHECK(CUpti_Profiler_Initialize_Params, params);
	kp_fake_attach();
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *params)
{
	CHECK(CUpti_Device_GetChipName_Params, params);
	params->pChipName = kp_fake_faults()->pm_chip ? "XX999" : "GH100";
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult
cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *params)
{
	CHECK(CUpti_Profiler_Host_Initialize_Params, params);
	if (params->profilerType != CUPTI_PROFILER_TYPE_PM_SAMPLING || !params->pChipName ||
	    strcmp(params->pChipName, "GH100") != 0)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	params->pHostObject = calloc(1, sizeof(*params->pHostObject));
	return params->pHostObject ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

KP_FAKE_EXPORT CUptiResult
cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *params)
{
	CHECK(CUpti_Profiler_Host_Deinitialize_Params, params);
	free(params->pHostObject);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult
cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *params)
{
	CHECK(CUpti_Profiler_Host_ConfigAddMetrics_Params, params);
	for (size_t i = 0; i < params->numMetrics; i++)
		if (kp_fake_pm_metric(params->ppMetricNames[i]) < 0)
			return kp_fake_cupti_result(CUPTI_ERROR_INVALID_METRIC_NAME);
	params->pHostObject->metrics += params->numMetrics;
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult
cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *params)
{
	CHECK(CUpti_Profiler_Host_GetConfigImageSize_Params, params);
	params->configImageSize = sizeof(uint64_t) * (1 + params->pHostObject->metrics);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult
cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *params)
{
	const uint64_t magic = KP_FAKE_PM_IMAGE_MAGIC;

	CHECK(CUpti_Profiler_Host_GetConfigImage_Params, params);
	if (params->configImageSize < sizeof(magic) || !params->pConfigImage)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	memcpy(params->pConfigImage, &magic, sizeof(magic));
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult
cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *params)
{
	CHECK(CUpti_Profiler_Host_GetNumOfPasses_Params, params);
	params->numOfPasses = kp_fake_faults()->pm_passes ? kp_fake_faults()->pm_passes : 1;
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult
cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *params)
{
	const struct kp_fake_pm_image *image;
	const struct kp_fake_pm_sample *samples;

	CHECK(CUpti_Profiler_Host_EvaluateToGpuValues_Params, params);
	image = (const void *)params->pCounterDataImage;
	if (!image || image->magic != KP_FAKE_PM_IMAGE_MAGIC ||
	    params->rangeIndex >= image->populated)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	samples = (const void *)(image + 1);
	kp_fake_count(KP_FAKE_pm_evaluated, 1);
	for (size_t i = 0; i < params->numMetrics; i++) {
		int metric = kp_fake_pm_metric(params->ppMetricNames[i]);

		if (metric < 0)
			return kp_fake_cupti_result(CUPTI_ERROR_INVALID_METRIC_NAME);
		params->pMetricValues[i] =
			kp_fake_pm_value(samples[params->rangeIndex].number, (unsigned)metric);
	}
	return CUPTI_SUCCESS;
}
