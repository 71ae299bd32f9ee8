/*
 * CUPTI's PM sampling: the functions that kprof calls and their parameters, as CUDA 12.6 introduced
 * them. Those of the host API, which configures it and evaluates its counters, are in
 * pm_host_api.h.
 *
 * Declared here because the toolkit that kprof is built with may be older, and because the header
 * of the host API needs C++. tests/fake_gpu/test_pm.c compares every size and offset with CUPTI's
 * own headers. Each structure begins with its size and a pointer that stays NULL.
 */
#ifndef KP_INJECT_PM_API_H
#define KP_INJECT_PM_API_H

#include "inject/pm_host_api.h"

enum kp_pm_trigger { KP_PM_BY_CYCLES = 0, KP_PM_BY_TIME = 1 };
enum { KP_PM_KEEP_OLDEST = 0, KP_PM_KEEP_LATEST = 1 };
enum { KP_PM_STOP_OTHER = 0, KP_PM_STOP_FULL = 1, KP_PM_STOP_END = 2 };

struct kp_pm_initialize {
	KP_PM_HEAD;
};
struct kp_pm_chip_name {
	KP_PM_HEAD;
	size_t device;
	const char *name; /* out */
};
struct kp_pm_availability {
	KP_PM_HEAD;
	size_t device;
	size_t bytes;   /* in and out */
	uint8_t *image; /* NULL: only asks for the size */
};

struct kp_pm_enable {
	KP_PM_HEAD;
	size_t device;
	void *object; /* out */
};
struct kp_pm_object {
	KP_PM_HEAD;
	void *object;
};
struct kp_pm_config {
	KP_PM_HEAD;
	void *object;
	size_t bytes;
	const uint8_t *image; /* CUPTI keeps it until the object goes */
	size_t hardware_bytes;
	uint64_t interval; /* ns, or cycles of the system clock */
	int trigger;       /* enum kp_pm_trigger */
	int append;
};
struct kp_pm_data_size {
	KP_PM_HEAD;
	void *object;
	const char **names;
	size_t count;
	uint32_t samples;
	size_t bytes; /* out */
};
struct kp_pm_data_initialize {
	KP_PM_HEAD;
	void *object;
	size_t bytes;
	uint8_t *image;
};
struct kp_pm_decode {
	KP_PM_HEAD;
	void *object;
	uint8_t *image;
	size_t bytes;
	int stop_reason;  /* out */
	uint8_t overflow; /* out */
};
struct kp_pm_data_info {
	KP_PM_HEAD;
	const uint8_t *image;
	size_t bytes;
	size_t room, populated, completed; /* out */
};
struct kp_pm_sample_info {
	KP_PM_HEAD;
	void *object;
	const uint8_t *image;
	size_t bytes;
	size_t sample;
	uint64_t begin_ns, end_ns; /* out */
};

/* The size that CUPTI expects: up to the end of the last member, without padding behind it. */
#define KP_PM_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

/* X(CUPTI's name without the prefix, parameters, their last member): every function called. */
#define KP_PM_FUNCTIONS(X)                                                                         \
	X(ProfilerInitialize, kp_pm_initialize, reserved)                                          \
	X(DeviceGetChipName, kp_pm_chip_name, name)                                                \
	X(ProfilerHostInitialize, kp_pm_host_initialize, host)                                     \
	X(ProfilerHostDeinitialize, kp_pm_host_only, host)                                         \
	X(ProfilerHostConfigAddMetrics, kp_pm_host_metrics, count)                                 \
	X(ProfilerHostGetConfigImageSize, kp_pm_host_config_size, bytes)                           \
	X(ProfilerHostGetConfigImage, kp_pm_host_config, image)                                    \
	X(ProfilerHostGetNumOfPasses, kp_pm_host_passes, passes)                                   \
	X(ProfilerHostEvaluateToGpuValues, kp_pm_host_evaluate, values)                            \
	X(PmSamplingGetCounterAvailability, kp_pm_availability, image)                             \
	X(PmSamplingEnable, kp_pm_enable, object)                                                  \
	X(PmSamplingDisable, kp_pm_object, object)                                                 \
	X(PmSamplingSetConfig, kp_pm_config, append)                                               \
	X(PmSamplingStart, kp_pm_object, object)                                                   \
	X(PmSamplingStop, kp_pm_object, object)                                                    \
	X(PmSamplingGetCounterDataSize, kp_pm_data_size, bytes)                                    \
	X(PmSamplingCounterDataImageInitialize, kp_pm_data_initialize, image)                      \
	X(PmSamplingDecodeData, kp_pm_decode, overflow)                                            \
	X(PmSamplingGetCounterDataInfo, kp_pm_data_info, completed)                                \
	X(PmSamplingCounterDataGetSampleInfo, kp_pm_sample_info, end_ns)

#endif
