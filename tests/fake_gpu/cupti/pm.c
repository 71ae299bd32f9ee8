/*
 * PM sampling of the fake libcupti: one session a device.
 *
 * As on a real GPU: sampling needs no context; the first sample begins with the configuration and
 * ends with the first trigger; what does not fit the image in a decode is lost; a buffer of the
 * hardware that has run over gives an error at every decode until sampling starts anew; what was
 * sampled before a stop can be decoded after it; the client's configuration is used until the end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cupti_pmsampling.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/cupti/pm.h"
#include "tests/fake_gpu/cupti/state.h"

#define DEVICES 2
/* What the interval of a trigger by cycles means here. */
#define NS_PER_CYCLE 1

struct CUpti_PmSampling_Object {
	bool enabled, started, stopped, overflown;
	uint64_t interval_ns, hardware_bytes;
	const uint8_t *config; /* the client's */
	uint64_t configured_ns, started_ns, stopped_ns;
	uint64_t taken;  /* samples since the start that have been decoded or lost */
	uint64_t number; /* of the next sample of the session */
	uint64_t decodes;
};

static struct CUpti_PmSampling_Object objects[DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t stands_at_ns; /* 0: time is the client's */

static uint64_t now(void)
{
	uint64_t at_ns = atomic_load(&stands_at_ns);

	return at_ns ? at_ns : kp_fake_client_now();
}

KP_FAKE_EXPORT void kp_fake_pm_let_pass(uint64_t ns)
{
	atomic_store(&stands_at_ns, now() + ns);
}

#define CHECK(type, parameters)                                                                    \
	do {                                                                                       \
		if (!kp_fake_cupti_usable())                                                       \
			return CUPTI_ERROR_NOT_INITIALIZED;                                        \
		if (!(parameters) || (parameters)->structSize != type##_STRUCT_SIZE ||             \
		    (parameters)->pPriv)                                                           \
			return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);                \
	} while (0)

static bool is_enabled(const struct CUpti_PmSampling_Object *object)
{
	return object >= objects && object < objects + DEVICES && object->enabled;
}

static CUptiResult violation(void)
{
	kp_fake_count(KP_FAKE_pm_violations, 1);
	return kp_fake_cupti_result(CUPTI_ERROR_INVALID_OPERATION);
}

KP_FAKE_EXPORT CUptiResult
cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params *params)
{
	CHECK(CUpti_PmSampling_GetCounterAvailability_Params, params);
	if (params->deviceIndex >= DEVICES)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_DEVICE);
	if (!params->pCounterAvailabilityImage) {
		params->counterAvailabilityImageSize = 64;
		return CUPTI_SUCCESS;
	}
	if (kp_fake_faults()->pm)
		return kp_fake_cupti_result((CUptiResult)kp_fake_faults()->pm);
	memset(params->pCounterAvailabilityImage, 1, 64);
	kp_fake_count(KP_FAKE_pm_asked, 1);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *params)
{
	CHECK(CUpti_PmSampling_Enable_Params, params);
	if (params->deviceIndex >= DEVICES)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_DEVICE);
	if (objects[params->deviceIndex].enabled)
		return violation();
	if (kp_fake_faults()->pm)
		return kp_fake_cupti_result((CUptiResult)kp_fake_faults()->pm);
	if (kp_fake_faults()->pm_slow)
		usleep((useconds_t)(kp_fake_faults()->pm_slow * 1000));
	memset(&objects[params->deviceIndex], 0, sizeof(objects[0]));
	objects[params->deviceIndex].enabled = true;
	params->pPmSamplingObject = &objects[params->deviceIndex];
	kp_fake_count(KP_FAKE_pm_enables, 1);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *params)
{
	CHECK(CUpti_PmSampling_Disable_Params, params);
	if (!is_enabled(params->pPmSamplingObject) || params->pPmSamplingObject->started)
		return violation();
	params->pPmSamplingObject->enabled = false;
	kp_fake_count(KP_FAKE_pm_disables, 1);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *params)
{
	struct CUpti_PmSampling_Object *object;

	CHECK(CUpti_PmSampling_SetConfig_Params, params);
	object = params->pPmSamplingObject;
	if (!is_enabled(object) || object->started)
		return violation();
	if (kp_fake_faults()->pm_partial && kp_fake_counted(KP_FAKE_pm_asked) == 0)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	if (!params->samplingInterval || !params->pConfig || !params->hardwareBufferSize)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	object->interval_ns = params->samplingInterval;
	if (params->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL)
		object->interval_ns *= NS_PER_CYCLE;
	object->hardware_bytes = params->hardwareBufferSize;
	object->config = params->pConfig;
	object->configured_ns = now();
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *params)
{
	struct CUpti_PmSampling_Object *object;

	CHECK(CUpti_PmSampling_Start_Params, params);
	object = params->pPmSamplingObject;
	if (!is_enabled(object) || object->started || !object->config)
		return violation();
	if (object->stopped)
		object->configured_ns = object->stopped_ns; /* what the next first sample spans */
	object->started = true;
	object->stopped = object->overflown = false;
	object->started_ns = now();
	object->taken = 0;
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *params)
{
	struct CUpti_PmSampling_Object *object;

	CHECK(CUpti_PmSampling_Stop_Params, params);
	object = params->pPmSamplingObject;
	if (!is_enabled(object) || !object->started)
		return violation();
	object->started = false;
	object->stopped = true;
	object->stopped_ns = now();
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult
cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *params)
{
	CHECK(CUpti_PmSampling_GetCounterDataSize_Params, params);
	if (!is_enabled(params->pPmSamplingObject) || !params->maxSamples)
		return violation();
	params->counterDataSize = sizeof(struct kp_fake_pm_image) +
				  (size_t)params->maxSamples * sizeof(struct kp_fake_pm_sample);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiPmSamplingCounterDataImageInitialize(
	CUpti_PmSampling_CounterDataImage_Initialize_Params *params)
{
	struct kp_fake_pm_image *image;

	CHECK(CUpti_PmSampling_CounterDataImage_Initialize_Params, params);
	image = (void *)params->pCounterData;
	if (!is_enabled(params->pPmSamplingObject) || !image ||
	    params->counterDataSize < sizeof(*image))
		return violation();
	image->magic = KP_FAKE_PM_IMAGE_MAGIC;
	image->room = (params->counterDataSize - sizeof(*image)) / sizeof(struct kp_fake_pm_sample);
	image->populated = image->completed = 0;
	memset(image + 1, KP_FAKE_PM_BLANK, params->counterDataSize - sizeof(*image));
	kp_fake_count(KP_FAKE_pm_emptied, 1);
	return CUPTI_SUCCESS;
}

/* Samples since the start, the first one included. */
static uint64_t sampled(const struct CUpti_PmSampling_Object *object)
{
	uint64_t until_ns = object->started ? now() : object->stopped_ns;

	return until_ns < object->started_ns
		       ? 0
		       : (until_ns - object->started_ns) / object->interval_ns + 1;
}

/* A sample's place is as the image was when it was emptied; false otherwise. */
static bool is_blank(const struct kp_fake_pm_sample *sample)
{
	const uint8_t *bytes = (const void *)sample;

	return bytes[0] == KP_FAKE_PM_BLANK && memcmp(bytes, bytes + 1, sizeof(*sample) - 1) == 0;
}

static void put_sample(struct CUpti_PmSampling_Object *object, struct kp_fake_pm_image *image)
{
	struct kp_fake_pm_sample *samples = (void *)(image + 1);
	struct kp_fake_pm_sample *sample = &samples[image->populated++];
	uint64_t end_ns = object->started_ns + object->taken * object->interval_ns;

	kp_fake_count(KP_FAKE_pm_violations, !is_blank(sample));
	memset(sample->rest, 0, sizeof(sample->rest));
	sample->begin_ns =
		object->taken == 0 ? object->configured_ns : end_ns - object->interval_ns;
	sample->end_ns = end_ns;
	sample->number = object->number++;
	kp_fake_count(KP_FAKE_pm_samples, object->taken != 0);
	object->taken++;
}

static CUptiResult decode(struct CUpti_PmSampling_Object *object,
			  CUpti_PmSampling_DecodeData_Params *params)
{
	struct kp_fake_pm_image *image = (void *)params->pCounterDataImage;
	uint64_t magic, end = sampled(object);

	memcpy(&magic, object->config, sizeof(magic));
	if (image->magic != KP_FAKE_PM_IMAGE_MAGIC || magic != KP_FAKE_PM_IMAGE_MAGIC)
		return violation();
	if (kp_fake_faults()->pm_overflow == ++object->decodes ||
	    (end - object->taken) * KP_FAKE_PM_RECORD_BYTES > object->hardware_bytes)
		object->overflown = true;
	if (object->overflown)
		return kp_fake_cupti_result(CUPTI_ERROR_OUT_OF_MEMORY);
	params->overflow = 0;
	params->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER;
	while (object->taken < end && image->populated < image->room)
		put_sample(object, image);
	image->completed = image->populated;
	if (kp_fake_faults()->pm_elsewhere && image->populated + 1 < image->room)
		((struct kp_fake_pm_sample *)(image + 1))[image->room - 1].rest[0]++;
	if (object->taken < end) {
		params->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
		kp_fake_count(KP_FAKE_pm_lost, end - object->taken);
		object->number += end - object->taken;
		object->taken = end;
	}
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *params)
{
	struct CUpti_PmSampling_Object *object;
	CUptiResult result;

	CHECK(CUpti_PmSampling_DecodeData_Params, params);
	object = params->pPmSamplingObject;
	if (!is_enabled(object) || (!object->started && !object->stopped) ||
	    !params->pCounterDataImage)
		return violation();
	while (kp_fake_faults()->pm_hang && object->decodes + 1 >= kp_fake_faults()->pm_hang)
		pause();
	pthread_mutex_lock(&lock);
	result = decode(object, params);
	pthread_mutex_unlock(&lock);
	return result;
}

KP_FAKE_EXPORT CUptiResult
cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *params)
{
	const struct kp_fake_pm_image *image;

	CHECK(CUpti_PmSampling_GetCounterDataInfo_Params, params);
	image = (const void *)params->pCounterDataImage;
	if (!image || image->magic != KP_FAKE_PM_IMAGE_MAGIC)
		return violation();
	params->numTotalSamples = image->room;
	params->numPopulatedSamples = image->populated;
	params->numCompletedSamples = image->completed;
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult
cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params *params)
{
	const struct kp_fake_pm_image *image;
	const struct kp_fake_pm_sample *samples;

	CHECK(CUpti_PmSampling_CounterData_GetSampleInfo_Params, params);
	image = (const void *)params->pCounterDataImage;
	if (!is_enabled(params->pPmSamplingObject) || !image ||
	    image->magic != KP_FAKE_PM_IMAGE_MAGIC || params->sampleIndex >= image->completed)
		return violation();
	samples = (const void *)(image + 1);
	params->startTimestamp = samples[params->sampleIndex].begin_ns;
	params->endTimestamp = samples[params->sampleIndex].end_ns;
	return CUPTI_SUCCESS;
}
