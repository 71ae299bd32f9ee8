/*
 * Whether the hardware counters of this machine's GPUs can be sampled: asked by «kprof doctor» and
 * «kprof --counters on», in a process of their own. Nothing of the collector runs here.
 */
#include "inject/counters_probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "inject/counters_settings.h"
#include "inject/cupti.h"
#include "inject/pm_session.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int KprofProbeCounters(kp_counters_tell tell, void *context);

static bool start_driver(int *devices)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	int (*init)(unsigned flags);
	int (*count)(int *count);

	if (!library)
		return false;
	*(void **)&init = dlsym(library, "cuInit");
	*(void **)&count = dlsym(library, "cuDeviceGetCount");
	return init && count && init(0) == 0 && count(devices) == 0 && *devices > 0;
}

/* The CUPTI that the collector would take; false where none has PM sampling. */
static bool find_cupti(struct kp_pm *pm, char reason[KP_PM_REASON_BYTES])
{
	const char *only = getenv("KPROF_CUPTI");
	static struct kp_cupti cupti;
	char path[PATH_MAX];

	for (unsigned i = 0; kp_cupti_candidate(i, only ? only : "", path); i++) {
		if (!kp_cupti_bind(&cupti, path) || cupti.version < KP_CUPTI_OLDEST)
			continue;
		if (cupti.version >= KP_PM_OLDEST && kp_pm_bind(pm, cupti.path))
			return true;
		snprintf(reason, KP_PM_REASON_BYTES,
			 "CUPTI %u (%.160s) is older than that of CUDA 12.6: put a newer libcupti "
			 "in LD_LIBRARY_PATH, or set KPROF_CUPTI to it",
			 cupti.version, cupti.path);
		return false;
	}
	snprintf(reason, KP_PM_REASON_BYTES,
		 "no libcupti could be loaded: install the CUDA Toolkit's CUPTI");
	return false;
}

static void probe_device(const struct kp_pm *pm, const struct kp_counters_settings *settings,
			 uint32_t device, kp_counters_tell tell, void *context)
{
	const struct kp_pm_request request = {device, settings->metrics, settings->interval_ns,
					      settings->drain_ms};
	static struct kp_pm_session session;
	char reason[KP_PM_REASON_BYTES];

	if (kp_pm_session_open(&session, pm, &request, reason)) {
		snprintf(reason, sizeof(reason), "%s, %zu metrics", session.chip->name,
			 session.metrics);
		kp_pm_session_close(&session);
		tell(context, (int)device, true, reason);
	} else {
		tell(context, (int)device, false, reason);
	}
}

int KprofProbeCounters(kp_counters_tell tell, void *context)
{
	struct kp_counters_settings settings;
	char reason[KP_PM_REASON_BYTES];
	struct kp_pm pm;
	int devices = 0;

	kp_counters_settings_read(&settings);
	if (!start_driver(&devices))
		return 0;
	if (!find_cupti(&pm, reason)) {
		tell(context, -1, false, reason);
		return devices;
	}
	for (int i = 0; i < devices; i++)
		probe_device(&pm, &settings, (uint32_t)i, tell, context);
	return devices;
}
