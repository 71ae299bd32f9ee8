/*
 * A scripted libnvidia-ml.so.1: two GPUs at the PCI addresses that the fake driver gives them.
 *
 * Every fourth reading finds the GPU slowed down by its power limit, at 1755 MHz and 680 W; the
 * others find 1980 MHz and 400 W. As with the real library, a call before nvmlInit is refused, and
 * a process that was forked while the library was in use must not call it: that is counted.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/common/ledger.h"

#define EXPORT __attribute__((visibility("default")))
#define DEVICES 2

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

static struct device {
	const char *pci;
	_Atomic unsigned readings; /* of its clock */
} devices[DEVICES] = {{"0000:01:00.0", 0}, {"0000:02:00.0", 0}};

static _Atomic unsigned starts;
static _Atomic pid_t starter;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device);
int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz);
int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);

static int ready(void)
{
	if (starts == 0)
		return UNINITIALIZED;
	if (starter != getpid())
		kp_fake_count(KP_FAKE_nvml_after_fork, 1);
	return SUCCESS;
}

EXPORT int nvmlInit_v2(void)
{
	if (starts > 0 && starter != getpid())
		kp_fake_count(KP_FAKE_nvml_after_fork, 1);
	if (kp_fake_faults()->nvml)
		return (int)kp_fake_faults()->nvml;
	starter = getpid();
	starts++;
	kp_fake_count(KP_FAKE_nvml_starts, 1);
	return SUCCESS;
}

EXPORT int nvmlShutdown(void)
{
	int result = ready();

	if (result == SUCCESS)
		starts--;
	return result;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device)
{
	int result = ready();

	if (result != SUCCESS)
		return result;
	for (int i = 0; i < DEVICES; i++) {
		if (strcasecmp(devices[i].pci, pci) != 0)
			continue;
		*device = &devices[i];
		return SUCCESS;
	}
	return NOT_FOUND;
}

static int find(void *handle, struct device **device)
{
	int result = ready();

	*device = handle;
	if (result != SUCCESS)
		return result;
	return *device == &devices[0] || *device == &devices[1] ? SUCCESS : INVALID_ARGUMENT;
}

/* Whether the reading that has begun finds the GPU slowed down. */
static int is_slow(const struct device *device)
{
	return device->readings % 4 == 0;
}

EXPORT int nvmlDeviceGetClockInfo(void *handle, unsigned kind, unsigned *mhz)
{
	struct device *device;
	int result = find(handle, &device);

	if (result != SUCCESS)
		return result;
	if (kind == 2) {
		*mhz = 2619;
		return SUCCESS;
	}
	if (kind != 1)
		return INVALID_ARGUMENT;
	device->readings++;
	kp_fake_count(KP_FAKE_nvml_readings, 1);
	*mhz = is_slow(device) ? 1755 : 1980;
	return SUCCESS;
}

EXPORT int nvmlDeviceGetPowerUsage(void *handle, unsigned *mw)
{
	struct device *device;
	int result = find(handle, &device);

	if (result != SUCCESS)
		return result;
	if (kp_fake_faults()->nvml_power)
		return NOT_SUPPORTED;
	*mw = is_slow(device) ? 680000 : 400000;
	return SUCCESS;
}

EXPORT int nvmlDeviceGetTemperature(void *handle, unsigned sensor, unsigned *celsius)
{
	struct device *device;
	int result = find(handle, &device);

	if (result == SUCCESS && sensor != 0)
		return INVALID_ARGUMENT;
	if (result == SUCCESS)
		*celsius = 61;
	return result;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *reasons)
{
	struct device *device;
	int result = find(handle, &device);

	if (result == SUCCESS)
		*reasons = is_slow(device) ? 4 : 0;
	return result;
}
