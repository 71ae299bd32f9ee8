/* kprof bench ceilings; see bench_ceilings.h. */
#include "profiler/bench_ceilings.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiler/output.h"
#include "profiler/ranking.h"
#include "profiler/say.h"

void kp_measured_take(struct kp_measured *measured, enum kp_ceiling_kind kind, const char *how,
		      double amount, double unit, const struct kp_timing *timing)
{
	if (!(timing->shortest_s > 0) || measured->count == KP_TRIES_MOST)
		return;
	measured->tries[measured->count++] = (struct kp_try){
		.kind = kind,
		.ceiling = {.source = KP_CEILING_MEASURED,
			    .value = amount / timing->median_s / unit,
			    .low = amount / timing->longest_s / unit,
			    .high = amount / timing->shortest_s / unit},
		.how = how,
		.sm_mhz = timing->sm_mhz,
	};
}

const struct kp_try *kp_measured_best(const struct kp_measured *measured, enum kp_ceiling_kind kind)
{
	const struct kp_try *best = NULL;

	for (size_t i = 0; i < measured->count; i++) {
		const struct kp_try *try = &measured->tries[i];

		if (try->kind == kind && (!best || try->ceiling.value > best->ceiling.value))
			best = try;
	}
	return best;
}

bool kp_bench_ceilings(const struct kp_gpu *gpu, struct kp_measured *out)
{
	struct kp_timer timer;
	bool done;

	memset(out, 0, sizeof(*out));
	done = kp_timer_init(&timer, gpu) && kp_bench_memory(&timer, out) &&
	       kp_bench_rates(&timer, out);
	kp_timer_fini(&timer);
	return done;
}

/* What was measured of a GPU, as the cache keeps it. */
static void fill_entry(const struct kp_gpu *gpu, const struct kp_measured *measured,
		       struct kp_ceilings_entry *entry)
{
	time_t now = time(NULL);
	struct tm utc;

	memset(entry, 0, sizeof(*entry));
	snprintf(entry->name, sizeof(entry->name), "%s", gpu->name);
	snprintf(entry->uuid, sizeof(entry->uuid), "%s", gpu->uuid);
	snprintf(entry->driver, sizeof(entry->driver), "%s", gpu->driver->release);
	entry->sm_count = gpu->info.sm_count;
	if (gmtime_r(&now, &utc))
		strftime(entry->measured_at, sizeof(entry->measured_at), "%Y-%m-%dT%H:%M:%SZ",
			 &utc);
	for (int kind = 0; kind < KP_CEILING_COUNT; kind++) {
		const struct kp_try *best = kp_measured_best(measured, (enum kp_ceiling_kind)kind);

		if (!best)
			continue;
		entry->ceilings.of[kind] = best->ceiling;
		snprintf(entry->how[kind], sizeof(entry->how[kind]), "%s", best->how);
		entry->sm_mhz[kind] = best->sm_mhz;
	}
}

/* Keeps an entry for later reports; where that fails the measurement still stands. */
static void keep(const struct kp_ceilings_entry *entry)
{
	char path[PATH_MAX];
	enum kp_status status;

	if (!entry->uuid[0]) {
		kp_say("the GPU's UUID is not known: the result is not kept");
		return;
	}
	errno = 0;
	status = kp_ceilings_store(entry);
	if (status == KP_OK && kp_ceilings_path(path, sizeof(path)))
		kp_say("kept in %s", path);
	else if (status == KP_NOT_FOUND)
		kp_say("neither XDG_CACHE_HOME nor HOME is an absolute path: the result is not "
		       "kept");
	else
		kp_say("the result cannot be kept: %s",
		       status == KP_IO && errno ? strerror(errno) : kp_status_message(status));
}

struct run {
	struct kp_driver driver;
	struct kp_gpu *gpus; /* those that were measured, and their results */
	struct kp_measured *measured;
	struct kp_ceilings_entry *entries; /* the same for the cache */
	size_t count;
};

static bool is_measured(const struct run *run, const struct kp_gpu *gpu)
{
	for (size_t i = 0; i < run->count; i++)
		if (strcmp(run->gpus[i].name, gpu->name) == 0)
			return true;
	return false;
}

static bool measure_one(struct run *run, int ordinal, bool each_model)
{
	struct kp_gpu *gpu = &run->gpus[run->count];
	struct kp_measured *measured = &run->measured[run->count];
	bool done;

	if (!kp_gpu_describe(gpu, &run->driver, ordinal))
		return false;
	if (each_model && is_measured(run, gpu))
		return true;
	kp_say("measuring device %d, %s: nothing else should use it", ordinal, gpu->name);
	done = kp_gpu_open(gpu, kp_kernel_image_ceilings()) && kp_bench_ceilings(gpu, measured);
	kp_gpu_close(gpu);
	if (!done)
		return false;
	fill_entry(gpu, measured, &run->entries[run->count++]);
	return true;
}

static bool measure_all(struct run *run, const struct kp_settings *settings)
{
	int first = 0, last = run->driver.devices - 1;

	if (settings->device != UINT64_MAX) {
		if (settings->device > (uint64_t)last) {
			kp_fail("there is no device %llu: the last is %d",
				(unsigned long long)settings->device, last);
			return false;
		}
		first = last = (int)settings->device;
	}
	run->gpus = calloc((size_t)run->driver.devices, sizeof(*run->gpus));
	run->measured = calloc((size_t)run->driver.devices, sizeof(*run->measured));
	run->entries = calloc((size_t)run->driver.devices, sizeof(*run->entries));
	if (!run->gpus || !run->measured || !run->entries) {
		kp_fail("out of memory");
		return false;
	}
	for (int ordinal = first; ordinal <= last; ordinal++)
		if (!measure_one(run, ordinal, first != last))
			return false;
	return true;
}

static bool write_results(const struct run *run, enum kp_format format,
			  const struct kp_settings *settings)
{
	struct kp_output output;
	enum kp_status status = KP_OK;

	if (!kp_output_open(&output, settings->output))
		return false;
	if (format == KP_FORMAT_TEXT) {
		for (size_t i = 0; i < run->count; i++)
			kp_print_ceilings(kp_output_text(&output), &run->gpus[i], &run->measured[i],
					  settings->all);
	} else {
		status = kp_document_ceilings(output.file, run->entries, run->count, format);
	}
	if (status != KP_OK)
		kp_fail("cannot write the result: %s", kp_status_message(status));
	return kp_output_close(&output) && status == KP_OK;
}

int kp_bench_run_ceilings(const struct kp_settings *settings)
{
	enum kp_format format = kp_ranking_format(settings);
	struct run run = {0};
	bool done;

	if (format > KP_FORMAT_JSON)
		return kp_fail("the result is text, YAML or JSON; choose one with --format");
	if (settings->output && !kp_output_check(settings->output))
		return KP_EXIT_FAILURE;
	done = kp_driver_open(&run.driver) && measure_all(&run, settings);
	for (size_t i = 0; i < run.count; i++)
		keep(&run.entries[i]);
	done = done && write_results(&run, format, settings);
	free(run.gpus);
	free(run.measured);
	free(run.entries);
	return done ? 0 : KP_EXIT_FAILURE;
}
