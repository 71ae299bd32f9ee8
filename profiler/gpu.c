/* The driver, a device, a context; see gpu.h. */
#include "profiler/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/release.h"
#include "profiler/say.h"

/* CUdevice_attribute of each number that a device's record has. */
static const struct {
	enum kp_device_field field;
	int attribute;
	size_t offset;
} attributes[] = {
#define ROW(name, attribute)                                                                       \
	{                                                                                          \
		KP_DEVICE_##name, attribute, offsetof(struct kp_device_info, name)                 \
	}
	ROW(compute_major, 75),    ROW(compute_minor, 76),
	ROW(sm_count, 16),         ROW(sm_clock_khz, 13),
	ROW(memory_clock_khz, 36), ROW(memory_bus_bits, 37),
	ROW(l2_bytes, 38),         ROW(threads_per_sm, 39),
	ROW(registers_per_sm, 82), ROW(shared_bytes_per_sm, 81),
	ROW(blocks_per_sm, 106),
#undef ROW
};

static bool find(const struct kp_driver *driver, void **function, const char *symbol)
{
	*function = dlsym(driver->library, symbol);
	if (!*function)
		kp_fail("the NVIDIA driver has no %s: update it", symbol);
	return *function != NULL;
}

static bool bind(struct kp_driver *driver)
{
	driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!driver->library) {
		kp_fail("libcuda.so.1 cannot be loaded: install the NVIDIA driver; in a container, "
			"start it with the GPUs (docker run --gpus all)");
		return false;
	}
#define FIND(member, symbol, parameters) &&find(driver, (void **)&driver->member, symbol)
	return true KP_DRIVER_FUNCTIONS(FIND);
#undef FIND
}

bool kp_gpu_check(const struct kp_driver *driver, int result, const char *call)
{
	const char *name = NULL, *text = NULL;

	if (result == KP_CU_SUCCESS)
		return true;
	driver->error_name(result, &name);
	driver->error_text(result, &text);
	kp_fail("%s fails with error %d (%s: %s)", call, result, name ? name : "unknown",
		text ? text : "unknown");
	return false;
}

bool kp_driver_open(struct kp_driver *driver)
{
	int result;

	memset(driver, 0, sizeof(*driver));
	/* Another tool, or kprof itself, must not start with the driver here. */
	unsetenv("CUDA_INJECTION64_PATH");
	if (!bind(driver))
		return false;
	result = driver->init(0);
	if (!kp_gpu_check(driver, result, "cuInit")) {
		kp_say("see whether nvidia-smi works, and whether /dev/nvidia* may be opened");
		return false;
	}
	driver->version(&driver->cuda_version);
	kp_driver_release(driver->release);
	if (driver->device_count(&driver->devices) != 0 || driver->devices < 1) {
		kp_fail("no GPU is visible: see CUDA_VISIBLE_DEVICES");
		return false;
	}
	return true;
}

static void set_text(struct kp_text *text, const char *bytes)
{
	*text = (struct kp_text){bytes, strlen(bytes)};
}

static void describe_texts(struct kp_gpu *gpu)
{
	const struct kp_driver *driver = gpu->driver;
	struct kp_device_info *info = &gpu->info;
	unsigned char uuid[16];
	char *at = gpu->uuid;

	if (driver->device_name(gpu->name, sizeof(gpu->name), gpu->device) == KP_CU_SUCCESS) {
		gpu->name[sizeof(gpu->name) - 1] = '\0';
		KP_SET(info, DEVICE, mig, strstr(gpu->name, "MIG ") != NULL);
		set_text(&info->name, gpu->name);
		info->has |= 1ULL << KP_DEVICE_name;
	}
	if (driver->device_pci(gpu->pci, sizeof(gpu->pci), gpu->device) == KP_CU_SUCCESS) {
		gpu->pci[sizeof(gpu->pci) - 1] = '\0';
		set_text(&info->pci, gpu->pci);
		info->has |= 1ULL << KP_DEVICE_pci;
	}
	if (driver->device_uuid(uuid, gpu->device) != KP_CU_SUCCESS)
		return;
	at += sprintf(at, "GPU-");
	for (int i = 0; i < 16; i++)
		at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      (unsigned)uuid[i]);
	set_text(&info->uuid, gpu->uuid);
	info->has |= 1ULL << KP_DEVICE_uuid;
}

bool kp_gpu_describe(struct kp_gpu *gpu, const struct kp_driver *driver, int ordinal)
{
	size_t bytes;
	int value;

	memset(gpu, 0, sizeof(*gpu));
	gpu->driver = driver;
	gpu->ordinal = ordinal;
	if (!kp_gpu_check(driver, driver->device_get(&gpu->device, ordinal), "cuDeviceGet"))
		return false;
	KP_SET(&gpu->info, DEVICE, device, (uint64_t)ordinal);
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (driver->device_attribute(&value, attributes[i].attribute, gpu->device) != 0)
			continue;
		*(uint64_t *)((char *)&gpu->info + attributes[i].offset) = (uint64_t)value;
		gpu->info.has |= 1ULL << attributes[i].field;
	}
	if (driver->device_memory(&bytes, gpu->device) == KP_CU_SUCCESS)
		KP_SET(&gpu->info, DEVICE, memory_bytes, bytes);
	describe_texts(gpu);
	return true;
}

bool kp_gpu_open(struct kp_gpu *gpu, struct kp_kernel_image image)
{
	const struct kp_driver *driver = gpu->driver;

	if (!image.bytes) {
		kp_fail("this kprof was built without nvcc, so that it has no code for a GPU: "
			"build it where the CUDA Toolkit is, with CUDA_HOME set");
		return false;
	}
	if (gpu->info.compute_major < 8) {
		kp_fail("%s has compute capability %u.%u: kprof's kernels need 8.0 or later",
			gpu->name, (unsigned)gpu->info.compute_major,
			(unsigned)gpu->info.compute_minor);
		return false;
	}
	return kp_gpu_check(driver, driver->context_retain(&gpu->context, gpu->device),
			    "cuDevicePrimaryCtxRetain") &&
	       kp_gpu_check(driver, driver->context_set(gpu->context), "cuCtxSetCurrent") &&
	       kp_gpu_check(driver, driver->module_load(&gpu->module, image.bytes),
			    "cuModuleLoadData");
}

void kp_gpu_close(struct kp_gpu *gpu)
{
	const struct kp_driver *driver = gpu->driver;

	if (gpu->module)
		driver->module_unload(gpu->module);
	if (gpu->context)
		driver->context_release(gpu->device);
	gpu->module = gpu->context = NULL;
}

void *kp_gpu_function(const struct kp_gpu *gpu, const char *name)
{
	void *function = NULL;

	if (gpu->driver->module_function(&function, gpu->module, name) != KP_CU_SUCCESS)
		return NULL;
	return function;
}

bool kp_gpu_launch(const struct kp_gpu *gpu, void *function, unsigned blocks, unsigned threads,
		   unsigned shared_bytes, void **arguments)
{
	const struct kp_driver *driver = gpu->driver;

	return kp_gpu_check(driver,
			    driver->function_set(function, KP_CU_FUNCTION_MAX_DYNAMIC_SHARED,
						 (int)shared_bytes),
			    "cuFuncSetAttribute") &&
	       kp_gpu_check(driver,
			    driver->launch(function, blocks, 1, 1, threads, 1, 1, shared_bytes,
					   NULL, arguments, NULL),
			    "cuLaunchKernel");
}
