/*
 * kprof doctor: what works on this machine, a line a fact, with the remedy for what does not.
 *
 * Looks at the driver by loading it, so that nothing of CUDA is needed to build this.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/commands.h"
#include "profiler/counter_probe.h"
#include "profiler/humanise.h"
#include "profiler/library.h"
#include "profiler/output.h"
#include "profiler/say.h"
#include "profiler/text.h"

#define CU_COMPUTE_MAJOR 75 /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
#define CU_COMPUTE_MINOR 76
#define LINE_WIDTH 80

struct doctor {
	FILE *file;
	bool can_profile;
};

enum verdict { OK, WARN, FAIL };

__attribute__((format(printf, 3, 4))) static void line(struct doctor *doctor, enum verdict verdict,
						       const char *format, ...)
{
	static const char *const words[] = {"OK", "WARN", "FAIL"};
	char sentence[1024], visible[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	kp_text_visible(visible, sizeof visible, sentence, strlen(sentence));
	fprintf(doctor->file, "%-6s", words[verdict]);
	kp_text_wrap(doctor->file, visible, 6, 6, LINE_WIDTH);
	doctor->can_profile &= verdict != FAIL;
}

/* The functions of libcuda.so.1 that are asked; results are CUresult, 0 for success. */
struct driver {
	int (*init)(unsigned flags);
	int (*version)(int *version);
	int (*count)(int *count);
	int (*get)(int *device, int ordinal);
	int (*name)(char *name, int length, int device);
	int (*memory)(size_t *bytes, int device);
	int (*attribute)(int *value, int attribute, int device);
	int (*error)(int result, const char **text);
};

static bool bind_driver(struct driver *driver)
{
	const struct {
		const char *name;
		void *member;
	} functions[] = {
		{"cuInit", &driver->init},
		{"cuDriverGetVersion", &driver->version},
		{"cuDeviceGetCount", &driver->count},
		{"cuDeviceGet", &driver->get},
		{"cuDeviceGetName", &driver->name},
		{"cuDeviceTotalMem_v2", &driver->memory},
		{"cuDeviceGetAttribute", &driver->attribute},
		{"cuGetErrorString", &driver->error},
	};
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < sizeof functions / sizeof *functions; i++) {
		void *function = dlsym(library, functions[i].name);
		memcpy(functions[i].member, &function, sizeof function);
		if (!function)
			return false;
	}
	return library != NULL;
}

static void check_device(struct doctor *doctor, const struct driver *driver, int ordinal)
{
	int device = 0, major = 0, minor = 0;
	char name[256] = "";
	size_t bytes = 0;

	int result = driver->get(&device, ordinal);
	if (result == 0)
		result = driver->name(name, sizeof name, device);
	if (result == 0)
		result = driver->memory(&bytes, device);
	if (result == 0)
		result = driver->attribute(&major, CU_COMPUTE_MAJOR, device);
	if (result == 0)
		result = driver->attribute(&minor, CU_COMPUTE_MINOR, device);
	name[sizeof name - 1] = '\0';
	if (result != 0)
		line(doctor, WARN, "device %d: the driver answers with error %d", ordinal, result);
	else
		line(doctor, OK, "device %d: %s, %s, compute capability %d.%d", ordinal, name,
		     kp_human_bytes(bytes, 4).text, major, minor);
}

static void check_driver(struct doctor *doctor)
{
	struct driver driver = {0};
	int version = 0, count = 0;
	const char *error = NULL;

	if (!bind_driver(&driver)) {
		line(doctor, FAIL,
		     "driver: libcuda.so.1 cannot be loaded: install the NVIDIA driver; in a "
		     "container, start it with the GPUs (docker run --gpus all)");
		return;
	}
	int result = driver.init(0);
	if (result != 0) {
		driver.error(result, &error);
		line(doctor, FAIL,
		     "driver: cuInit fails with error %d (%s): see whether nvidia-smi works, and "
		     "whether /dev/nvidia* may be opened",
		     result, error ? error : "unknown");
		return;
	}
	driver.version(&version);
	line(doctor, OK, "driver: works, CUDA %d.%d", version / 1000, version % 1000 / 10);
	if (driver.count(&count) != 0 || count == 0)
		line(doctor, FAIL, "devices: none is visible: see CUDA_VISIBLE_DEVICES");
	for (int i = 0; i < count; i++)
		check_device(doctor, &driver, i);
}

static void check_library(struct doctor *doctor)
{
	char path[PATH_MAX];

	if (!kp_library_find(path))
		line(doctor, FAIL,
		     "collector: libkprof_inject.so was not found: build kprof where the CUDA "
		     "Toolkit is, with CUDA_HOME set, or set KPROF_INJECT_LIB");
	else if (strpbrk(path, " :"))
		line(doctor, WARN,
		     "collector: %s: LD_PRELOAD cannot carry a space or a colon: install it "
		     "elsewhere",
		     path);
	else
		line(doctor, OK, "collector: %s", path);
}

/* Tells the CUPTI that `path` names, if it can be loaded. */
static bool report_cupti(struct doctor *doctor, const char *path)
{
	int (*get_version)(uint32_t * version);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	uint32_t version = 0;

	if (!library)
		return false;
	void *function = dlsym(library, "cuptiGetVersion");
	memcpy(&get_version, &function, sizeof function);
	if (!function || get_version(&version) != 0)
		return false;
	line(doctor, OK, "CUPTI: %s, API version %u", path, version);
	return true;
}

static bool report_matches(struct doctor *doctor, const char *folder, const char *pattern)
{
	char path[PATH_MAX];
	glob_t found;
	bool reported = false;

	snprintf(path, sizeof path, "%s%s", folder, pattern);
	if (glob(path, 0, NULL, &found) != 0)
		return false;
	/* The last is the highest version, and its full name. */
	for (size_t i = found.gl_pathc; i > 0 && !reported; i--)
		reported = report_cupti(doctor, found.gl_pathv[i - 1]);
	globfree(&found);
	return reported;
}

static void check_cupti(struct doctor *doctor)
{
	static const char *const patterns[] = {"/extras/CUPTI/lib64/libcupti.so.[0-9]*",
					       "/lib64/libcupti.so.[0-9]*",
					       "/targets/*/lib/libcupti.so.[0-9]*"};
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					    "libcupti.so"};
	const char *named = getenv("KPROF_CUPTI"), *home = getenv("CUDA_HOME");

	if (named && *named) {
		if (!report_cupti(doctor, named))
			line(doctor, FAIL, "CUPTI: %s cannot be loaded: correct KPROF_CUPTI",
			     named);
		return;
	}
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		if (home && *home && report_matches(doctor, home, patterns[i]))
			return;
	}
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		if (report_matches(doctor, "/usr/local/cuda*", patterns[i]))
			return;
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (report_cupti(doctor, names[i]))
			return;
	}
	line(doctor, WARN,
	     "CUPTI: none was found in CUDA_HOME, /usr/local/cuda* or on the loader's path: only "
	     "programs that bring their own (PyTorch does) can be traced; install the CUDA "
	     "Toolkit, or set KPROF_CUPTI");
}

/* What the driver's own setting says, where CUPTI cannot be asked. */
static void check_permission(struct doctor *doctor)
{
	FILE *file = fopen("/proc/driver/nvidia/params", "re");
	char text[256];
	int restricted = -1;

	while (file && fgets(text, sizeof text, file))
		sscanf(text, "RmProfilingAdminOnly: %d", &restricted);
	if (file)
		fclose(file);
	if (restricted == 0 || (restricted == 1 && geteuid() == 0))
		line(doctor, OK, "counters: hardware counters may be read");
	else if (restricted == 1)
		line(doctor, WARN,
		     "counters: only root may read hardware counters; timing works all the same. "
		     "To change it: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in "
		     "/etc/modprobe.d, then reboot");
	else
		line(doctor, WARN,
		     "counters: unknown, since /proc/driver/nvidia/params cannot be read; timing "
		     "needs none");
}

/* In a child, so before this process starts the driver: it would not start again in a child. */
static struct kp_counter_probe *probe_counters(void)
{
	struct kp_counter_probe *probe = calloc(1, sizeof *probe);
	char path[PATH_MAX];

	if (probe && kp_library_find(path) && kp_counter_probe(path, probe) &&
	    (probe->count > 0 || probe->timed_out))
		return probe;
	free(probe);
	return NULL;
}

static void check_counters(struct doctor *doctor, const struct kp_counter_probe *probe)
{
	if (!probe)
		check_permission(doctor);
	else if (probe->timed_out)
		line(doctor, WARN,
		     "counters: CUPTI gave no answer in a minute; timing needs none. Switch other "
		     "profilers off and try again");
	for (size_t i = 0; probe && i < probe->count; i++) {
		const struct kp_counter_finding *finding = &probe->findings[i];
		char device[32] = "";

		if (finding->device >= 0)
			snprintf(device, sizeof device, "device %d: ", finding->device);
		if (finding->works)
			line(doctor, OK, "counters: %s%s can be sampled", device, finding->text);
		else
			line(doctor, WARN, "counters: %s%s; timing works all the same", device,
			     finding->text);
	}
}

/* Variables that stand in kprof's way. */
static void check_environment(struct doctor *doctor)
{
	static const struct {
		const char *name, *consequence;
	} variables[] = {
		{"CUDA_INJECTION64_PATH",
		 "another tool starts with the driver, and may hold CUPTI: unset it"},
		{"NVTX_INJECTION64_PATH", "NVTX ranges go to another tool: unset it"},
		{"NSYS_PROFILING_SESSION_ID",
		 "this shell runs under Nsight Systems, which holds CUPTI: leave it"},
		{"NV_NSIGHT_INJECTION_PORT_BASE",
		 "this shell runs under Nsight Compute, which holds the GPU's "
		 "counters: leave it"},
		{"CUDA_LAUNCH_BLOCKING", "kernels cannot overlap, and gaps grow: unset it"},
	};
	bool clean = true;

	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = getenv(variables[i].name);
		if (!value || !*value || strcmp(value, "0") == 0)
			continue;
		clean = false;
		line(doctor, WARN, "environment: %s is %s: %s", variables[i].name, value,
		     variables[i].consequence);
	}
	if (clean)
		line(doctor, OK, "environment: no variable of another tool is in the way");
}

int kp_cmd_doctor(const struct kp_settings *settings)
{
	struct kp_output output;

	(void)settings;
	if (!kp_output_open(&output, NULL))
		return KP_EXIT_FAILURE;
	struct doctor doctor = {kp_output_text(&output), true};
	check_environment(&doctor);
	/* What is looked at next must not start another tool, or kprof itself. */
	unsetenv("CUDA_INJECTION64_PATH");
	struct kp_counter_probe *probe = probe_counters();
	check_driver(&doctor);
	check_library(&doctor);
	check_cupti(&doctor);
	check_counters(&doctor, probe);
	free(probe);
	if (!kp_output_close(&output))
		return KP_EXIT_FAILURE;
	return doctor.can_profile ? 0 : 1;
}
