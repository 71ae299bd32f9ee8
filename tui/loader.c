/* Loading in a thread; see loader.h. */
#include "tui/loader.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "tui/background.h"

/* Traces with fewer launches are ranked at once: it takes less than a second. */
#define LONG_LAUNCHES 4000000U

/* Launches of the parts that come first: some tenths of a second, then some seconds. */
static const uint64_t first_launches[] = {1000000, 8000000};
#define MARGIN_PCT 1 /* as kprof diff has it */
#define PARTS (sizeof first_launches / sizeof *first_launches)

struct kp_loader {
	pthread_t thread;
	struct kp_loader_source source;
	atomic_size_t done, of;
	atomic_bool cancelled, ended;
	pthread_mutex_t lock; /* of what follows */
	struct kp_report *report;
	struct kp_loaded_part part;
	struct kp_diff *diff;
	enum kp_status status;
	struct kp_run *runs[2]; /* base, new: the thread's, until it has ended */
};

static enum kp_status on_progress(void *context, struct kp_reader_place place)
{
	struct kp_loader *loader = context;

	atomic_store(&loader->done, place.done);
	atomic_store(&loader->of, place.of);
	return atomic_load(&loader->cancelled) ? KP_CANCELLED : KP_OK;
}

static void publish(struct kp_loader *loader, struct kp_report *report, struct kp_loaded_part part,
		    enum kp_status status)
{
	struct kp_report *older;

	pthread_mutex_lock(&loader->lock);
	older = report ? loader->report : NULL;
	if (report) {
		loader->report = report;
		loader->part = part;
	}
	loader->status = status;
	pthread_mutex_unlock(&loader->lock);
	kp_report_destroy(older);
}

/* Ranks one batch in `stride`, or all. */
static bool load_part(struct kp_loader *loader, size_t stride)
{
	const struct kp_reader_part part = {.stride = stride};
	struct kp_report_options options = loader->source.options;
	struct kp_report *report = NULL;
	enum kp_status status;

	options.progress = on_progress;
	options.progress_context = loader;
	if (stride > 1) {
		options.busy_shares = false;
		options.timeline = false;
		options.ranges = false;
		options.process_times = false;
	}
	options.callers = stride == 1;
	options.step_parts = stride == 1 && loader->source.base;
	atomic_store(&loader->done, 0);
	kp_reader_select(loader->source.reader, &part);
	status = kp_report_build(loader->source.reader, &options, &report);
	if (status == KP_OK && options.step_parts)
		status = kp_run_create(report, loader->source.path, &loader->runs[1]);
	publish(loader, report,
		(struct kp_loaded_part){.pct = 100.0 / (double)stride, .complete = stride == 1},
		status);
	return status == KP_OK;
}

/* Reads the base, and compares. */
static enum kp_status load_base(struct kp_loader *loader)
{
	struct kp_report_options options = loader->source.options;
	const struct kp_diff_options comparing = {.margin_pct = MARGIN_PCT};
	struct kp_report *report = NULL;
	struct kp_diff *diff = NULL;
	enum kp_status status;

	options.progress = on_progress;
	options.progress_context = loader;
	options.step_parts = true;
	options.process_times = false;
	status = kp_report_build(loader->source.base, &options, &report);
	if (status == KP_OK)
		status = kp_run_create(report, loader->source.base_path, &loader->runs[0]);
	kp_report_destroy(report);
	const struct kp_run *base = loader->runs[0], *fresh = loader->runs[1];
	if (status == KP_OK)
		status = kp_diff_build(&base, 1, &fresh, 1, &comparing, &diff);
	if (status == KP_OK) {
		pthread_mutex_lock(&loader->lock);
		loader->diff = diff;
		pthread_mutex_unlock(&loader->lock);
	}
	return status;
}

static void *load(void *context)
{
	struct kp_loader *loader = context;
	uint64_t launches = 0;
	bool going = true;

	for (size_t i = 0; i < kp_reader_process_count(loader->source.reader); i++)
		launches += kp_reader_process(loader->source.reader, i)->promised_launches;
	for (size_t i = 0; i < PARTS && going && launches >= LONG_LAUNCHES; i++) {
		size_t stride = (size_t)(launches / first_launches[i]);
		if (stride > 1)
			going = load_part(loader, stride);
	}
	if (going)
		going = load_part(loader, 1);
	if (going && loader->source.base) {
		enum kp_status status = load_base(loader);
		if (status != KP_OK)
			publish(loader, NULL, loader->part, status);
	}
	atomic_store(&loader->ended, true);
	return NULL;
}

enum kp_status kp_loader_create(const struct kp_loader_source *source, struct kp_loader **out)
{
	struct kp_loader *loader = calloc(1, sizeof *loader);
	enum kp_status status;

	*out = NULL;
	if (!loader)
		return KP_NO_MEMORY;
	loader->source = *source;
	pthread_mutex_init(&loader->lock, NULL);
	status = kp_background_start(&loader->thread, load, loader);
	if (status != KP_OK) {
		pthread_mutex_destroy(&loader->lock);
		free(loader);
		return status;
	}
	*out = loader;
	return KP_OK;
}

void kp_loader_destroy(struct kp_loader *loader)
{
	if (!loader)
		return;
	atomic_store(&loader->cancelled, true);
	pthread_join(loader->thread, NULL);
	kp_report_destroy(loader->report);
	kp_diff_destroy(loader->diff);
	kp_run_destroy(loader->runs[0]);
	kp_run_destroy(loader->runs[1]);
	pthread_mutex_destroy(&loader->lock);
	free(loader);
}

struct kp_report *kp_loader_take(struct kp_loader *loader, struct kp_loaded_part *part,
				 enum kp_status *status)
{
	struct kp_report *report;

	pthread_mutex_lock(&loader->lock);
	report = loader->report;
	loader->report = NULL;
	*status = loader->status;
	if (report)
		*part = loader->part;
	pthread_mutex_unlock(&loader->lock);
	return report;
}

const struct kp_diff *kp_loader_diff(struct kp_loader *loader)
{
	const struct kp_diff *diff;

	pthread_mutex_lock(&loader->lock);
	diff = loader->diff;
	pthread_mutex_unlock(&loader->lock);
	return diff;
}

struct kp_loading kp_loader_progress(struct kp_loader *loader)
{
	return (struct kp_loading){
		.done = atomic_load(&loader->done),
		.of = atomic_load(&loader->of),
		.ended = atomic_load(&loader->ended),
	};
}

void kp_loader_wait(struct kp_loader *loader)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	while (!atomic_load(&loader->ended))
		nanosleep(&pause, NULL);
}
