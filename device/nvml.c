/* NVML, bound at run time; see nvml.h. */
#include "device/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum {
	CLOCK_SM = 1,     /* NVML_CLOCK_SM */
	CLOCK_MEMORY = 2, /* NVML_CLOCK_MEM */
	SENSOR_GPU = 0    /* NVML_TEMPERATURE_GPU */
};

bool kp_nvml_open(struct kp_nvml *nvml)
{
	memset(nvml, 0, sizeof(*nvml));
	nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!nvml->library)
		return false;
#define FIND(member, symbol, other, parameters)                                                    \
	*(void **)&nvml->member = dlsym(nvml->library, symbol);                                    \
	if (!nvml->member)                                                                         \
		*(void **)&nvml->member = dlsym(nvml->library, other);
	KP_NVML_FUNCTIONS(FIND)
#undef FIND
	if (nvml->init && nvml->shutdown && nvml->find && nvml->init() == 0)
		return true;
	dlclose(nvml->library);
	nvml->library = NULL;
	return false;
}

void kp_nvml_close(struct kp_nvml *nvml)
{
	if (!nvml->library)
		return;
	nvml->shutdown();
	dlclose(nvml->library);
	nvml->library = NULL;
}

void *kp_nvml_find(const struct kp_nvml *nvml, const char *pci)
{
	void *device = NULL;

	if (!nvml->library || nvml->find(pci, &device) != 0)
		return NULL;
	return device;
}

void kp_nvml_read(const struct kp_nvml *nvml, void *device, struct kp_clocks *out)
{
	unsigned long long reasons;
	unsigned value;

	out->has = 0;
	if (!nvml->library || !device)
		return;
#define TAKE(function, arguments, bit, member, from)                                               \
	if (nvml->function && nvml->function arguments == 0) {                                     \
		out->member = (from);                                                              \
		out->has |= (bit);                                                                 \
	}
	TAKE(clock, (device, CLOCK_SM, &value), KP_CLOCKS_SM, sm_mhz, value)
	TAKE(clock, (device, CLOCK_MEMORY, &value), KP_CLOCKS_MEMORY, memory_mhz, value)
	TAKE(power, (device, &value), KP_CLOCKS_POWER, power_mw, value)
	TAKE(temperature, (device, SENSOR_GPU, &value), KP_CLOCKS_TEMPERATURE, temperature_c, value)
	TAKE(throttle, (device, &reasons), KP_CLOCKS_THROTTLE, throttle_reasons, reasons)
#undef TAKE
}
