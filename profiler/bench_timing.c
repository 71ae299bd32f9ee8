/* Events around launches; see bench_timing.h. */
#include "profiler/bench_timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_NS 2000000L
#define READINGS_MOST 4096
#define WARM_LEAST 2

bool kp_timer_init(struct kp_timer *timer, const struct kp_gpu *gpu)
{
	const struct kp_driver *driver = gpu->driver;

	memset(timer, 0, sizeof(*timer));
	timer->gpu = gpu;
	if (kp_nvml_open(&timer->nvml))
		timer->nvml_device = kp_nvml_find(&timer->nvml, gpu->pci);
	for (size_t i = 0; i < sizeof(timer->events) / sizeof(timer->events[0]); i++)
		if (!kp_gpu_check(driver, driver->event_create(&timer->events[i], 0),
				  "cuEventCreate"))
			return false;
	return true;
}

void kp_timer_fini(struct kp_timer *timer)
{
	for (size_t i = 0; i < sizeof(timer->events) / sizeof(timer->events[0]); i++)
		if (timer->events[i])
			timer->gpu->driver->event_destroy(timer->events[i]);
	kp_nvml_close(&timer->nvml);
}

/* `count` launches with an event before, between and behind them. */
static bool enqueue(struct kp_timer *timer, kp_timer_launch launch, void *context, unsigned count)
{
	const struct kp_driver *driver = timer->gpu->driver;

	for (unsigned i = 0; i <= count; i++) {
		if (i > 0 && !launch(context))
			return false;
		if (!kp_gpu_check(driver, driver->event_record(timer->events[i], NULL),
				  "cuEventRecord"))
			return false;
	}
	return true;
}

static int by_clock(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return (first > second) - (first < second);
}

/* Reads clocks from the `first` launch on until the `last` is done; their median, or 0. */
static bool wait(struct kp_timer *timer, unsigned first, unsigned last, uint32_t *sm_mhz)
{
	const struct kp_driver *driver = timer->gpu->driver;
	const struct timespec pause = {.tv_nsec = POLL_NS};
	uint32_t *readings = malloc(READINGS_MOST * sizeof(*readings));
	struct kp_clocks clocks;
	size_t count = 0;
	int result;

	while ((result = driver->event_query(timer->events[last])) == KP_CU_NOT_READY) {
		nanosleep(&pause, NULL);
		if (!readings || count == READINGS_MOST ||
		    driver->event_query(timer->events[first]) != KP_CU_SUCCESS)
			continue;
		kp_nvml_read(&timer->nvml, timer->nvml_device, &clocks);
		if (clocks.has & KP_CLOCKS_SM)
			readings[count++] = clocks.sm_mhz;
	}
	if (count)
		qsort(readings, count, sizeof(*readings), by_clock);
	*sm_mhz = count ? readings[count / 2] : 0;
	free(readings);
	return kp_gpu_check(driver, result, "what was launched");
}

static bool elapsed(struct kp_timer *timer, unsigned launch, double *seconds)
{
	const struct kp_driver *driver = timer->gpu->driver;
	float ms = 0;
	int result = driver->event_elapsed(&ms, timer->events[launch], timer->events[launch + 1]);

	*seconds = (double)ms / 1e3;
	return kp_gpu_check(driver, result, "cuEventElapsedTime");
}

bool kp_timer_once(struct kp_timer *timer, kp_timer_launch launch, void *context, double *seconds)
{
	uint32_t sm_mhz;

	return enqueue(timer, launch, context, 1) && wait(timer, 0, 1, &sm_mhz) &&
	       elapsed(timer, 0, seconds);
}

static int by_time(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

bool kp_timer_run(struct kp_timer *timer, kp_timer_launch launch, void *context, double warm_s,
		  struct kp_timing *out)
{
	double times_s[KP_TIMER_WARM_MOST + KP_TIMER_REPETITIONS], once_s, warm_launches;
	unsigned warm, count;

	/* The first one may load the code; the second says how many are needed. */
	for (int i = 0; i < 2; i++)
		if (!kp_timer_once(timer, launch, context, &once_s))
			return false;
	warm_launches = once_s > 0 ? ceil(warm_s / once_s) : WARM_LEAST;
	warm = warm_launches < WARM_LEAST           ? WARM_LEAST
	       : warm_launches < KP_TIMER_WARM_MOST ? (unsigned)warm_launches
						    : KP_TIMER_WARM_MOST;
	count = warm + KP_TIMER_REPETITIONS;
	if (!enqueue(timer, launch, context, count) || !wait(timer, warm, count, &out->sm_mhz))
		return false;
	for (unsigned i = 0; i < count; i++)
		if (!elapsed(timer, i, &times_s[i]))
			return false;
	qsort(times_s + warm, KP_TIMER_REPETITIONS, sizeof(*times_s), by_time);
	out->median_s = times_s[warm + KP_TIMER_REPETITIONS / 2];
	out->longest_s = times_s[count - 1];
	out->shortest_s = times_s[warm];
	for (unsigned i = 0; i < warm; i++)
		out->shortest_s = fmin(out->shortest_s, times_s[i]);
	return true;
}
