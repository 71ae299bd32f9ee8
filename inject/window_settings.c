/* What the launcher asked for about windows; see window_settings.h. */
#include "inject/window_settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct kp_window_settings settings;
static pthread_once_t settings_once = PTHREAD_ONCE_INIT;

static uint64_t read_number(const char *name, uint64_t without)
{
	const char *value = getenv(name);

	return value && value[0] >= '0' && value[0] <= '9' ? strtoull(value, NULL, 10) : without;
}

/* What does not fit is not cut, for that would ask for something else: it is left out. */
static void read_text(const char *name, char *out, size_t size)
{
	const char *value = getenv(name);

	if (value && strlen(value) < size)
		strcpy(out, value);
}

static void read_all(void)
{
	settings.delay_ns = read_number("KPROF_DELAY_NS", 0);
	settings.duration_ns = read_number("KPROF_DURATION_NS", 0);
	settings.duty_ppm = (uint32_t)read_number("KPROF_DUTY_PPM", 0);
	settings.capture = read_number("KPROF_CAPTURE_RANGE", 0) != 0;
	settings.range_first = read_number("KPROF_RANGE_FIRST", 1);
	settings.range_last = read_number("KPROF_RANGE_LAST", UINT64_MAX);
	read_text("KPROF_RANGE", settings.range, sizeof(settings.range));
	read_text("KPROF_KERNELS", settings.kernels, sizeof(settings.kernels));
	read_text("KPROF_SKIP_KERNELS", settings.skip_kernels, sizeof(settings.skip_kernels));
}

const struct kp_window_settings *kp_window_settings(void)
{
	pthread_once(&settings_once, read_all);
	return &settings;
}
