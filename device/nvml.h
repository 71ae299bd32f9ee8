/*
 * What NVML (libnvidia-ml.so.1) says of a GPU: clocks, power, temperature, and why clocks are low.
 *
 * Found at run time; nothing of NVIDIA's is needed to build this. NVML attaches a GPU when it is
 * first asked for, so that no other one is woken. (Its flag NO_ATTACH would hold for all users of
 * NVML in the process: it is never given.) Only reads. Any thread, one at a time for each struct;
 * NVML may take milliseconds to answer.
 */
#ifndef KP_DEVICE_NVML_H
#define KP_DEVICE_NVML_H

#include <stdbool.h>

#include "trace/records.h"

/*
 * X(member, symbol, its name in other versions, parameters): results are nvmlReturn_t, 0 for
 * success; devices are handles. The first three are needed; what is missing of the others is not
 * told.
 */
// clang-format off
#define KP_NVML_FUNCTIONS(X)                                                                       \
	X(init, "nvmlInit_v2", "nvmlInit", (void))                                                 \
	X(shutdown, "nvmlShutdown", "nvmlShutdown", (void))                                        \
	X(find, "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId",               \
	  (const char *pci, void **device))                                                        \
	X(clock, "nvmlDeviceGetClockInfo", "nvmlDeviceGetClockInfo",                               \
	  (void *device, unsigned kind, unsigned *mhz))                                            \
	X(power, "nvmlDeviceGetPowerUsage", "nvmlDeviceGetPowerUsage",                             \
	  (void *device, unsigned *mw))                                                            \
	X(temperature, "nvmlDeviceGetTemperature", "nvmlDeviceGetTemperature",                     \
	  (void *device, unsigned sensor, unsigned *c))                                            \
	X(throttle, "nvmlDeviceGetCurrentClocksEventReasons",                                      \
	  "nvmlDeviceGetCurrentClocksThrottleReasons", (void *device, unsigned long long *reasons))
// clang-format on

struct kp_nvml {
	void *library; /* NULL: there is none, or it does not start */
#define KP_NVML_MEMBER(member, symbol, other, parameters) int(*member) parameters;
	KP_NVML_FUNCTIONS(KP_NVML_MEMBER)
#undef KP_NVML_MEMBER
};

/* False where there is no NVML that starts; the others may be called all the same. */
bool kp_nvml_open(struct kp_nvml *nvml);
void kp_nvml_close(struct kp_nvml *nvml);

/* The GPU at that PCI address (as cuDeviceGetPCIBusId writes it); NULL: NVML does not know it. */
void *kp_nvml_find(const struct kp_nvml *nvml, const char *pci);
/* What is known of it now: all members but device and the times. Nothing of NULL. */
void kp_nvml_read(const struct kp_nvml *nvml, void *device, struct kp_clocks *out);

#endif
