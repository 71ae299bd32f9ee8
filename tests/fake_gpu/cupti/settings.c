/*
 * Settings of the fake libcupti that change nothing that it simulates, but are checked and kept,
 * and what it says about devices.
 */
#include <stdatomic.h>
#include <string.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/cupti/buffers.h"
#include "tests/fake_gpu/cupti/state.h"

#define ATTRIBUTE_COUNT (CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS + 1)

static _Atomic uint64_t attributes[ATTRIBUTE_COUNT] = {
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3,
};
static _Atomic uint32_t thread_id_type;

/* The bytes that a value of this attribute takes: size_t, or uint8_t for a switch. */
static size_t value_bytes(CUpti_ActivityAttribute attribute)
{
	switch (attribute) {
	case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
	case CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED:
	case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
		return sizeof(uint8_t);
	default:
		return sizeof(size_t);
	}
}

static CUptiResult check(CUpti_ActivityAttribute attribute, const size_t *bytes, const void *value)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (!bytes || !value || (unsigned int)attribute >= ATTRIBUTE_COUNT)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	if (*bytes < value_bytes(attribute))
		return kp_fake_cupti_result(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute,
						     size_t *bytes, void *value)
{
	CUptiResult result = check(attribute, bytes, value);
	uint64_t number = 0;

	if (result != CUPTI_SUCCESS)
		return result;
	memcpy(&number, value, value_bytes(attribute));
	atomic_store(&attributes[attribute], number);
	if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		kp_fake_buffers_expect_zero(number != 0);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute,
						     size_t *bytes, void *value)
{
	CUptiResult result = check(attribute, bytes, value);
	uint64_t number;

	if (result != CUPTI_SUCCESS)
		return result;
	number = atomic_load(&attributes[attribute]);
	*bytes = value_bytes(attribute);
	memcpy(value, &number, *bytes);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	atomic_store(&thread_id_type, (uint32_t)type);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	if (!type)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*type = (CUpti_ActivityThreadIdType)atomic_load(&thread_id_type);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiDeviceSupported(CUdevice device, int *supported)
{
	if (!supported || device < 0)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*supported = kp_fake_faults()->no_records == 0;
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiComputeCapabilitySupported(int major, int minor, int *supported)
{
	if (!supported || major < 0 || minor < 0)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*supported = kp_fake_faults()->no_records == 0;
	return CUPTI_SUCCESS;
}
