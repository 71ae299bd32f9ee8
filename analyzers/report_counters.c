/* Keeping launches and samples until they are attributed; see report_counters.h. */
#include "analyzers/report_counters.h"
#include "analyzers/report_passes.h"

#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

/* ---- before reading ---- */

void kp_build_counters_begin(struct kp_builder *builder)
{
	struct kp_report_traffic *traffic = &builder->report->traffic;

	for (size_t p = 0; p < kp_reader_process_count(builder->reader); p++) {
		const struct kp_process *process = kp_build_process_at(builder, p);

		for (size_t i = 0; i < process->counters_count; i++) {
			const struct kp_counters_info *session = &process->counters[i];

			builder->counted |= KP_HAS(session, COUNTERS, metrics);
			if (KP_HAS(session, COUNTERS, absent) && !traffic->absent.length &&
			    !KP_HAS(session, COUNTERS, owner_pid))
				traffic->absent = session->absent;
		}
	}
}

void kp_build_counters_end(struct kp_build_counters *counters)
{
	if (!counters)
		return;
	for (size_t i = 0; i < KP_METRIC_COUNT; i++) {
		kp_attribution_metric_destroy(counters->metrics[i]);
		free(counters->values[i]);
	}
	kp_attribution_destroy(counters->attribution);
	kp_intern_fini(&counters->classes);
	free(counters->launches);
	free(counters->begin_ns);
	free(counters->length_ns);
	free(counters->class_calls);
	free(counters->class_ns);
	free(counters->by_row);
	free(counters);
}

static struct kp_build_counters *counters_of(struct kp_builder *builder, uint32_t gpu)
{
	struct kp_build_gpu *of = &builder->gpus[gpu];

	if (!of->counters)
		of->counters = calloc(1, sizeof(*of->counters));
	return of->counters;
}

/* ---- while reading ---- */

static enum kp_status add_launch(struct kp_build_counters *counters, uint32_t class,
				 uint64_t start_ns, uint64_t end_ns)
{
	if (counters->launch_count >= KP_COUNTERS_KEPT_MAX) {
		counters->traffic.cut = true;
		return KP_OK;
	}
	if (!kp_vector_grow((void **)&counters->launches, counters->launch_count,
			    &counters->launch_capacity, sizeof(*counters->launches)))
		return KP_NO_MEMORY;
	counters->launches[counters->launch_count++] =
		(struct kp_attribution_launch){start_ns, end_ns, class};
	return KP_OK;
}

enum kp_status kp_build_counters_launch(struct kp_builder *builder,
					const struct kp_launch_config *config,
					const struct kp_launch *launch, struct kp_build_slot *slot)
{
	struct kp_build_counters *counters;
	enum kp_status status = KP_OK;

	if (!builder->counted)
		return KP_OK;
	counters = counters_of(builder, slot->gpu);
	if (!counters)
		return KP_NO_MEMORY;
	if (!slot->class_plus_one) {
		struct kp_class_key key = {.row = slot->row_plus_one - 1};

		memcpy(key.grid, config->grid, sizeof(key.grid));
		memcpy(key.block, config->block, sizeof(key.block));
		status = kp_intern_put(&counters->classes, &key, sizeof(key), &slot->class_plus_one,
				       NULL);
		slot->class_plus_one++;
	}
	return status == KP_OK ? add_launch(counters, slot->class_plus_one - 1, launch->start_ns,
					    launch->end_ns)
			       : status;
}

enum kp_status kp_build_counters_memop(struct kp_builder *builder, uint32_t gpu, uint32_t kind,
				       uint64_t start_ns, uint64_t end_ns)
{
	const struct kp_class_key key = {.row = UINT32_MAX, .grid = {kind}};
	struct kp_build_counters *counters;
	enum kp_status status;
	uint32_t class;

	if (!builder->counted)
		return KP_OK;
	counters = counters_of(builder, gpu);
	if (!counters)
		return KP_NO_MEMORY;
	status = kp_intern_put(&counters->classes, &key, sizeof(key), &class, NULL);
	return status == KP_OK ? add_launch(counters, class, start_ns, end_ns) : status;
}

/* Room for one more sample in all columns. */
static bool grow_samples(struct kp_build_counters *counters)
{
	size_t capacity = counters->sample_capacity;
	size_t count = counters->sample_count;
	bool grown = kp_vector_grow((void **)&counters->begin_ns, count, &capacity,
				    sizeof(*counters->begin_ns));

	if (capacity == counters->sample_capacity)
		return grown;
	uint32_t *lengths = realloc(counters->length_ns, capacity * sizeof(*lengths));
	if (lengths)
		counters->length_ns = lengths;
	grown = grown && lengths;
	for (size_t i = 0; i < KP_METRIC_COUNT; i++) {
		float *values = realloc(counters->values[i], capacity * sizeof(*values));

		if (values)
			counters->values[i] = values;
		grown = grown && values;
	}
	if (grown)
		counters->sample_capacity = capacity;
	return grown;
}

/* Whether a sample can be, behind those before. */
static bool is_sound(const struct kp_build_counters *counters,
		     const struct kp_counter_sample *sample)
{
	size_t last = counters->sample_count - 1;

	if (kp_time_quality(sample->begin_ns, sample->end_ns) != KP_TIME_VALID ||
	    sample->end_ns == sample->begin_ns || sample->end_ns - sample->begin_ns > UINT32_MAX)
		return false;
	return !counters->sample_count ||
	       sample->begin_ns >= counters->begin_ns[last] + counters->length_ns[last];
}

static enum kp_status add_sample(struct kp_build_counters *counters, const size_t *places,
				 const struct kp_counter_sample *sample)
{
	size_t at = counters->sample_count;

	if (at >= KP_COUNTERS_KEPT_MAX) {
		counters->traffic.cut = true;
		return KP_OK;
	}
	if (!is_sound(counters, sample)) {
		counters->traffic.left_out++;
		return KP_OK;
	}
	if (!grow_samples(counters))
		return KP_NO_MEMORY;
	counters->begin_ns[at] = sample->begin_ns;
	counters->length_ns[at] = (uint32_t)(sample->end_ns - sample->begin_ns);
	for (size_t i = 0; i < KP_METRIC_COUNT; i++)
		counters->values[i][at] =
			places[i] < KP_SAMPLE_VALUES ? (float)sample->values[places[i]] : 0;
	counters->sample_count++;
	return KP_OK;
}

enum kp_status kp_build_counters_samples(struct kp_builder *builder, const struct kp_event *event)
{
	const struct kp_counters_info *session = NULL;
	size_t places[KP_METRIC_COUNT];
	struct kp_build_counters *counters;
	enum kp_status status = KP_OK;

	if (event->count) /* a batch of none is sound */
		session = kp_process_counters(event->process, event->samples[0].session);
	if (!session || !KP_HAS(session, COUNTERS, device) || !KP_HAS(session, COUNTERS, metrics))
		return KP_OK;
	counters = counters_of(
		builder, kp_build_place_of(builder, event->process, (uint32_t)session->device).gpu);
	if (!counters)
		return KP_NO_MEMORY;
	counters->traffic.interval_ns =
		KP_HAS(session, COUNTERS, interval_ns) ? session->interval_ns : 0;
	for (size_t i = 0; i < KP_METRIC_COUNT; i++) {
		places[i] = KP_SAMPLE_VALUES;
		counters->lacks[i] |=
			!kp_metrics_place(&session->metrics, (enum kp_metric)i, &places[i]);
	}
	for (size_t i = 0; i < event->count && status == KP_OK; i++)
		status = add_sample(counters, places, &event->samples[i]);
	return status;
}

/* ---- once all is read ---- */

static int by_start(const void *left, const void *right)
{
	const struct kp_attribution_launch *a = left, *b = right;
	int order = kp_build_order(a->start_ns, b->start_ns);

	if (!order)
		order = kp_build_order(a->end_ns, b->end_ns);
	return order ? order : kp_build_order(a->class, b->class);
}

static void sort_launches(struct kp_build_counters *counters)
{
	for (size_t i = 1; i < counters->launch_count; i++) {
		if (counters->launches[i].start_ns < counters->launches[i - 1].start_ns) {
			qsort(counters->launches, counters->launch_count,
			      sizeof(*counters->launches), by_start);
			return;
		}
	}
}

struct kp_class_key kp_counters_class(const struct kp_build_counters *counters, uint32_t class)
{
	struct kp_class_key key;
	size_t length;

	memcpy(&key, kp_intern_bytes(&counters->classes, class, &length), sizeof(key));
	return key;
}

struct row_class {
	uint32_t row, class;
};

static int by_row(const void *left, const void *right)
{
	const struct row_class *a = left, *b = right;
	int order = kp_build_order(a->row, b->row);

	return order ? order : kp_build_order(a->class, b->class);
}

static enum kp_status index_rows(struct kp_build_counters *counters)
{
	size_t count = counters->classes.count;
	struct row_class *classes = malloc((count + 1) * sizeof(*classes));

	counters->by_row = malloc((count + 1) * sizeof(*counters->by_row));
	if (!classes || !counters->by_row) {
		free(classes);
		return KP_NO_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++)
		classes[i] = (struct row_class){kp_counters_class(counters, i).row, i};
	qsort(classes, count, sizeof(*classes), by_row);
	for (size_t i = 0; i < count; i++)
		counters->by_row[i] = classes[i].class;
	free(classes);
	return KP_OK;
}

size_t kp_counters_of_row(const struct kp_build_counters *counters, uint32_t row, size_t *first)
{
	size_t low = 0, high = counters->classes.count, count = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (kp_counters_class(counters, counters->by_row[middle]).row < row)
			low = middle + 1;
		else
			high = middle;
	}
	*first = low;
	while (low + count < counters->classes.count &&
	       kp_counters_class(counters, counters->by_row[low + count]).row == row)
		count++;
	return count;
}

enum kp_status kp_counters_solve(struct kp_build_counters *counters)
{
	const size_t classes = counters->classes.count;
	enum kp_status status;

	counters->class_calls = calloc(classes + 1, sizeof(*counters->class_calls));
	counters->class_ns = calloc(classes + 1, sizeof(*counters->class_ns));
	if (!counters->class_calls || !counters->class_ns)
		return KP_NO_MEMORY;
	if (index_rows(counters) != KP_OK)
		return KP_NO_MEMORY;
	sort_launches(counters);
	for (size_t i = 0; i < counters->launch_count; i++) {
		const struct kp_attribution_launch *launch = &counters->launches[i];

		counters->class_calls[launch->class]++;
		counters->class_ns[launch->class] += (double)(launch->end_ns - launch->start_ns);
	}
	const struct kp_attribution_input input = {counters->launches,  counters->launch_count,
						   (uint32_t)classes,   counters->begin_ns,
						   counters->length_ns, counters->sample_count};
	status = kp_attribution_create(&input, &counters->attribution);
	counters->traffic.samples = counters->sample_count;
	for (size_t i = 0; i < KP_METRIC_COUNT && status == KP_OK; i++) {
		if (counters->lacks[i])
			continue;
		status = kp_attribution_solve(counters->attribution, counters->values[i],
					      &counters->metrics[i]);
		if (status == KP_OK) {
			counters->traffic.has[i] = true;
			counters->traffic.totals[i] = kp_attribution_totals(counters->metrics[i]);
		}
	}
	return status;
}
