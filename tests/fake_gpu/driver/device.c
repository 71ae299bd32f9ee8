/*
 * The fake driver's start, its devices and its error names.
 *
 * cuInit loads the library that CUDA_INJECTION64_PATH names and calls its InitializeInjection once,
 * when the devices can already be asked for. A process that was forked after cuInit gets
 * CUDA_ERROR_NOT_INITIALIZED from everything, as from the real driver.
 */
#include "tests/fake_gpu/driver/call.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/common/ledger.h"

#define DEVICE_NAME "Fake GPU"

struct attribute_row {
	CUdevice_attribute attribute;
	int value;
};

static const struct attribute_row attributes[] = {
	{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
	{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 10},
	{CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
	{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2000000},
	{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 1024},
	{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 8 << 20},
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
	{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	{CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
};

struct error_row {
	CUresult code;
	const char *name, *text;
};

static const struct error_row errors[] = {
	{CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
	{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
	{CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	 "operation not permitted when stream is capturing"},
	{CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",
	 "the operation cannot be performed in the present state"},
};

enum state { NEW, READY, FORKED };
static _Atomic int state = NEW;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t watch_once = PTHREAD_ONCE_INIT;

static void after_fork(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	atomic_store(&state, kp_fake_faults()->refork ? NEW : FORKED);
	init_lock = fresh;
}

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*initialize)(void);
	void *library;

	if (!path || !*path)
		return;
	library = dlopen(path, RTLD_NOW);
	if (!library)
		return;
	*(void **)&initialize = dlsym(library, "InitializeInjection");
	if (!initialize)
		return;
	kp_fake_count(KP_FAKE_injections, 1);
	initialize();
}

static void watch(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

static CUresult initialize_driver(void)
{
	if (atomic_load(&state) == FORKED)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (kp_fake_faults()->init_fail)
		return (CUresult)kp_fake_faults()->init_fail;
	kp_fake_count(KP_FAKE_inits, 1);
	if (atomic_load(&state) == READY)
		return CUDA_SUCCESS;
	pthread_once(&watch_once, watch);
	atomic_store(&state, READY);
	inject();
	kp_fake_announce_resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, NULL, NULL, NULL);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuInit(unsigned int flags)
{
	CUresult result;

	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load(&state) != NEW)
		return initialize_driver();
	pthread_mutex_lock(&init_lock);
	result = initialize_driver();
	pthread_mutex_unlock(&init_lock);
	return result;
}

static _Atomic CUresult failure; /* CUDA_SUCCESS: none yet */

void kp_fake_fail(CUresult result)
{
	atomic_store(&failure, result);
}

CUresult kp_fake_ready(void)
{
	return atomic_load(&state) == READY ? atomic_load(&failure) : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult kp_fake_ready_context(struct CUctx_st **out)
{
	CUresult result = kp_fake_ready();

	*out = kp_fake_current();
	if (result != CUDA_SUCCESS)
		return result;
	return kp_fake_is(*out, KP_FAKE_CONTEXT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* What every question about a device has to check. */
static CUresult check_device(const void *out, CUdevice device)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return device >= 0 && device < KP_FAKE_DEVICES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

KP_FAKE_EXPORT CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = KP_FAKE_DRIVER_VERSION;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuDeviceGetCount(int *count)
{
	CUresult result = check_device(count, 0);

	if (result == CUDA_SUCCESS)
		*count = KP_FAKE_DEVICES;
	return result;
}

KP_FAKE_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult result = check_device(device, ordinal);

	if (result == CUDA_SUCCESS)
		*device = ordinal;
	return result;
}

KP_FAKE_EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
	CUresult result = check_device(name, device);

	if (result == CUDA_SUCCESS && length > 0)
		snprintf(name, (size_t)length, "%s", DEVICE_NAME);
	return result;
}

KP_FAKE_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	CUresult result = check_device(uuid, device);

	if (result != CUDA_SUCCESS)
		return result;
	for (size_t i = 0; i < sizeof(uuid->bytes); i++)
		uuid->bytes[i] = (char)(16 * (int)device + (int)i);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	return cuDeviceGetUuid_v2(uuid, device);
}

KP_FAKE_EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
					     CUdevice device)
{
	CUresult result = check_device(value, device);

	if (result != CUDA_SUCCESS)
		return result;
	if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
		*value = 1 + device;
		return CUDA_SUCCESS;
	}
	*value = 0;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].attribute == attribute)
			*value = attributes[i].value;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	CUresult result = check_device(bytes, device);

	if (result == CUDA_SUCCESS)
		*bytes = KP_FAKE_DEVICE_BYTES;
	return result;
}

KP_FAKE_EXPORT CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
	CUresult result = check_device(id, device);

	if (result == CUDA_SUCCESS && length > 0)
		snprintf(id, (size_t)length, "0000:%02X:00.0", (unsigned)(1 + device));
	return result;
}

static CUresult find_error(CUresult code, const struct error_row **out)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == code) {
			*out = &errors[i];
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

KP_FAKE_EXPORT CUresult cuGetErrorName(CUresult code, const char **name)
{
	const struct error_row *row = NULL;
	CUresult result = name ? find_error(code, &row) : CUDA_ERROR_INVALID_VALUE;

	if (name)
		*name = row ? row->name : NULL;
	return result;
}

KP_FAKE_EXPORT CUresult cuGetErrorString(CUresult code, const char **text)
{
	const struct error_row *row = NULL;
	CUresult result = text ? find_error(code, &row) : CUDA_ERROR_INVALID_VALUE;

	if (text)
		*text = row ? row->text : NULL;
	return result;
}
