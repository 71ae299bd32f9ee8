/* Parameters of CUPTI's host API, as far as kprof calls it; see pm_api.h. */
#ifndef KP_INJECT_PM_HOST_API_H
#define KP_INJECT_PM_HOST_API_H

#include <stddef.h>
#include <stdint.h>

#define KP_PM_HEAD                                                                                 \
	size_t size;                                                                               \
	void *reserved

enum { KP_PM_PROFILER_TYPE = 1 }; /* CUPTI_PROFILER_TYPE_PM_SAMPLING */

struct kp_pm_host_initialize {
	KP_PM_HEAD;
	int type;
	const char *chip;
	const uint8_t *availability;
	void *host; /* out */
};
struct kp_pm_host_only {
	KP_PM_HEAD;
	void *host;
};
struct kp_pm_host_metrics {
	KP_PM_HEAD;
	void *host;
	const char **names;
	size_t count;
};
struct kp_pm_host_config_size {
	KP_PM_HEAD;
	void *host;
	size_t bytes; /* out */
};
struct kp_pm_host_config {
	KP_PM_HEAD;
	void *host;
	size_t bytes;
	uint8_t *image;
};
struct kp_pm_host_passes {
	KP_PM_HEAD;
	size_t bytes;
	uint8_t *image;
	size_t passes; /* out */
};
struct kp_pm_host_evaluate {
	KP_PM_HEAD;
	void *host;
	const uint8_t *image;
	size_t bytes;
	size_t sample;
	const char **names;
	size_t count;
	double *values; /* out */
};

#endif
