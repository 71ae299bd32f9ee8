/* Asks the CUDA driver for facts; see driver.h. */
#include "inject/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

/* X(name in the library, member, parameters) */
#define DRIVER_FUNCTIONS(X)                                                                        \
	X(cuDriverGetVersion, version, (int *))                                                    \
	X(cuDeviceGet, device_get, (CUdevice *, int))                                              \
	X(cuDeviceGetName, device_name, (char *, int, CUdevice))                                   \
	X(cuDeviceGetUuid_v2, device_uuid, (CUuuid *, CUdevice))                                   \
	X(cuDeviceGetAttribute, device_attribute, (int *, CUdevice_attribute, CUdevice))           \
	X(cuDeviceTotalMem_v2, device_memory, (size_t *, CUdevice))                                \
	X(cuDeviceGetPCIBusId, device_pci, (char *, int, CUdevice))

struct driver {
#define MEMBER(symbol, member, parameters) CUresult(CUDAAPI *member) parameters;
	DRIVER_FUNCTIONS(MEMBER)
};

/* F(field of the device record, attribute): numbers that the driver gives as they are. */
#define DEVICE_ATTRIBUTES(F)                                                                       \
	F(compute_major, COMPUTE_CAPABILITY_MAJOR)                                                 \
	F(compute_minor, COMPUTE_CAPABILITY_MINOR)                                                 \
	F(sm_count, MULTIPROCESSOR_COUNT)                                                          \
	F(sm_clock_khz, CLOCK_RATE)                                                                \
	F(memory_clock_khz, MEMORY_CLOCK_RATE)                                                     \
	F(memory_bus_bits, GLOBAL_MEMORY_BUS_WIDTH)                                                \
	F(l2_bytes, L2_CACHE_SIZE)                                                                 \
	F(threads_per_sm, MAX_THREADS_PER_MULTIPROCESSOR)                                          \
	F(registers_per_sm, MAX_REGISTERS_PER_MULTIPROCESSOR)                                      \
	F(shared_bytes_per_sm, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)                               \
	F(blocks_per_sm, MAX_BLOCKS_PER_MULTIPROCESSOR)

/* The driver's functions; NULL members where it lacks one. False where it is not loaded. */
static bool find_driver(struct driver *driver)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);

	if (!library)
		return false;
#define FIND(symbol, member, parameters) *(void **)&driver->member = dlsym(library, #symbol);
	DRIVER_FUNCTIONS(FIND)
	dlclose(library); /* the program's own handle keeps it */
	return true;
}

bool kp_driver_version(uint64_t *out)
{
	struct driver driver;
	int version;

	if (!find_driver(&driver) || !driver.version || driver.version(&version) != CUDA_SUCCESS)
		return false;
	*out = (uint64_t)version;
	return true;
}

static struct kp_text keep(const char *bytes)
{
	char *copy = strdup(bytes);

	return copy ? (struct kp_text){copy, strlen(copy)} : (struct kp_text){"", 0};
}

static void describe_texts(const struct driver *driver, CUdevice device,
			   struct kp_device_info *info)
{
	char text[256], *at = text;
	CUuuid uuid;

	if (driver->device_name &&
	    driver->device_name(text, sizeof(text), device) == CUDA_SUCCESS) {
		KP_SET(info, DEVICE, name, keep(text));
		KP_SET(info, DEVICE, mig, strstr(text, "MIG ") != NULL);
	}
	if (driver->device_pci && driver->device_pci(text, sizeof(text), device) == CUDA_SUCCESS)
		KP_SET(info, DEVICE, pci, keep(text));
	if (!driver->device_uuid || driver->device_uuid(&uuid, device) != CUDA_SUCCESS)
		return;
	at += sprintf(at, "GPU-");
	for (int i = 0; i < 16; i++)
		at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      (unsigned)(unsigned char)uuid.bytes[i]);
	KP_SET(info, DEVICE, uuid, keep(text));
}

void kp_driver_describe(uint32_t ordinal, struct kp_device_info *info)
{
	struct driver driver;
	CUdevice device;
	size_t memory;
	int value;

	KP_SET(info, DEVICE, device, ordinal);
	if (!find_driver(&driver) || !driver.device_get ||
	    driver.device_get(&device, (int)ordinal) != CUDA_SUCCESS)
		return;
#define ASK(field, attribute)                                                                      \
	if (driver.device_attribute &&                                                             \
	    driver.device_attribute(&value, CU_DEVICE_ATTRIBUTE_##attribute, device) ==            \
		    CUDA_SUCCESS)                                                                  \
		KP_SET(info, DEVICE, field, (uint64_t)value);
	DEVICE_ATTRIBUTES(ASK)
#undef ASK
	if (driver.device_memory && driver.device_memory(&memory, device) == CUDA_SUCCESS)
		KP_SET(info, DEVICE, memory_bytes, memory);
	describe_texts(&driver, device, info);
}
