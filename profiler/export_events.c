/* The events of a trace in one shape, one batch of the reader after the other; see export_events.h.
 */
#include "profiler/export_events.h"

#include <stdlib.h>

#include "profiler/export_templates.h"

#define SOME 1024 /* events that a sink gets at a time, at most */

const char *const kp_export_kind_names[KP_EXPORT_KIND_COUNT] = {
#define X(NAME, name) name,
	KP_EXPORT_KINDS(X)
#undef X
};

#define TEXT true
#define COUNT false
#define X(NAME, name, TYPE) {#name, TYPE},
const struct kp_export_column kp_export_fixed_columns[KP_EXPORT_FIXED_COUNT] = {
	KP_EXPORT_HEAD(X) KP_EXPORT_TAIL(X)};
const struct kp_export_column kp_export_own_columns[KP_EXPORT_OWN_COUNT] = {KP_EXPORT_BODY(X)};
#undef X
#undef TEXT
#undef COUNT

/* One pass over the trace. */
struct pass {
	struct kp_export_events *events;
	kp_export_sink *sink;
	void *context;
	size_t count;
	struct kp_export_event list[SOME];
};

static void set(struct kp_export_event *event, enum kp_export_own column, uint64_t value)
{
	event->own[column] = value;
	event->has |= 1U << column;
}

/* Every event passes here: the one place for a filter of records. */
static enum kp_status deliver(struct pass *pass)
{
	enum kp_status status = KP_OK;

	if (++pass->count == SOME) {
		status = pass->sink(pass->context, pass->list, pass->count);
		pass->count = 0;
	}
	return status;
}

/* The next event, with its times where they can be used. */
static struct kp_export_event *begin(struct pass *pass, uint64_t start_ns, uint64_t end_ns,
				     enum kp_time_quality quality)
{
	struct kp_export_event *event = &pass->list[pass->count];

	event->has = 0;
	if (quality != KP_TIME_VALID)
		return event;
	set(event, KP_EXPORT_COLUMN_START, start_ns);
	set(event, KP_EXPORT_COLUMN_END, end_ns);
	set(event, KP_EXPORT_COLUMN_DURATION, end_ns - start_ns);
	return event;
}

static void set_launched(struct kp_export_event *event, uint32_t correlation, uint64_t graph_node)
{
	if (correlation) /* 0: unknown */
		set(event, KP_EXPORT_COLUMN_CORRELATION, correlation);
	if (graph_node)
		set(event, KP_EXPORT_COLUMN_GRAPH_NODE, graph_node);
}

static enum kp_status pass_launches(struct pass *pass, const struct kp_event *batch)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < batch->count; i++) {
		const struct kp_launch *launch = &batch->launches[i];
		enum kp_time_quality quality = kp_time_quality(launch->start_ns, launch->end_ns);
		struct kp_export_event *event =
			begin(pass, launch->start_ns, launch->end_ns, quality);

		set_launched(event, launch->correlation, launch->graph_node);
		if (launch->graph)
			set(event, KP_EXPORT_COLUMN_GRAPH, launch->graph);
		status = kp_export_launch_template(pass->events, batch->process, launch->config,
						   quality, &event->template);
		if (status == KP_OK)
			status = deliver(pass);
	}
	return status;
}

/* A key that says nothing yet but whose it is. */
static struct kp_export_key key_of(const struct kp_process *process, enum kp_export_kind kind,
				   enum kp_time_quality quality)
{
	return (struct kp_export_key){.process = process->index,
				      .kind = (uint8_t)kind,
				      .quality = (uint8_t)quality,
				      .device = KP_EXPORT_NONE,
				      .context = KP_EXPORT_NONE,
				      .stream = KP_EXPORT_NONE};
}

static enum kp_status pass_memops(struct pass *pass, const struct kp_event *batch)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < batch->count; i++) {
		const struct kp_memop *memop = &batch->memops[i];
		enum kp_time_quality quality = kp_time_quality(memop->start_ns, memop->end_ns);
		struct kp_export_event *event =
			begin(pass, memop->start_ns, memop->end_ns, quality);
		bool is_set = memop->kind == KP_MEMOP_SET;
		struct kp_export_key key =
			key_of(batch->process, is_set ? KP_EXPORT_SET : KP_EXPORT_COPY, quality);

		set_launched(event, memop->correlation, memop->graph_node);
		set(event, KP_EXPORT_COLUMN_BYTES, memop->bytes);
		key.code = memop->kind < KP_MEMOP_KIND_COUNT ? (uint8_t)memop->kind : 0;
		key.device = memop->device;
		key.context = memop->context;
		key.stream = memop->stream;
		status = kp_export_other_template(pass->events, &key, NULL, NULL, &event->template);
		if (status == KP_OK)
			status = deliver(pass);
	}
	return status;
}

static enum kp_status pass_ranges(struct pass *pass, const struct kp_event *batch)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < batch->count; i++) {
		const struct kp_range *range = &batch->ranges[i];
		enum kp_time_quality quality = kp_time_quality(range->start_ns, range->end_ns);
		struct kp_export_event *event =
			begin(pass, range->start_ns, range->end_ns, quality);
		struct kp_export_key key = key_of(batch->process, KP_EXPORT_RANGE, quality);

		set(event, KP_EXPORT_COLUMN_THREAD, range->thread);
		key.unordered = range->depth == UINT32_MAX;
		if (!key.unordered)
			set(event, KP_EXPORT_COLUMN_DEPTH, range->depth);
		key.name = range->name;
		key.domain = range->domain;
		status = kp_export_other_template(pass->events, &key, NULL, NULL, &event->template);
		if (status == KP_OK)
			status = deliver(pass);
	}
	return status;
}

static enum kp_status pass_calls(struct pass *pass, const struct kp_event *batch)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < batch->count; i++) {
		const struct kp_host_call *call = &batch->calls[i];
		enum kp_time_quality quality = kp_time_quality(call->start_ns, call->end_ns);
		struct kp_export_event *event = begin(pass, call->start_ns, call->end_ns, quality);
		struct kp_export_key key = key_of(batch->process, KP_EXPORT_CALL, quality);

		set(event, KP_EXPORT_COLUMN_THREAD, call->thread);
		set_launched(event, call->correlation, 0);
		if (call->kernels != KP_HOST_UNKNOWN)
			set(event, KP_EXPORT_COLUMN_KERNELS, call->kernels);
		key.code = call->kind <= UINT8_MAX ? (uint8_t)call->kind : UINT8_MAX;
		key.context = call->context; /* KP_HOST_UNKNOWN is KP_EXPORT_NONE */
		key.stream = call->stream;
		status = kp_export_other_template(pass->events, &key, NULL, NULL, &event->template);
		if (status == KP_OK)
			status = deliver(pass);
	}
	return status;
}

/* One value of a counter or clock, named by its place among those of its record. */
static enum kp_status pass_value(struct pass *pass, struct kp_export_key *key, uint64_t start_ns,
				 uint64_t end_ns, const char *name, const char *unit,
				 uint64_t value)
{
	struct kp_export_event *event =
		begin(pass, start_ns, end_ns, (enum kp_time_quality)key->quality);
	enum kp_status status;

	set(event, KP_EXPORT_COLUMN_VALUE, value);
	status = kp_export_other_template(pass->events, key, name, unit, &event->template);
	return status == KP_OK ? deliver(pass) : status;
}

static enum kp_status pass_samples(struct pass *pass, const struct kp_event *batch)
{
	enum kp_status status = KP_OK;
	struct kp_metric_line lines[KP_SAMPLE_VALUES];
	const struct kp_counters_info *session =
		batch->count ? kp_process_counters(batch->process, batch->samples[0].session)
			     : NULL;
	size_t metrics = session ? kp_metrics_parse(&session->metrics, lines) : 0;

	for (size_t i = 0; i < batch->count * metrics && status == KP_OK; i++) {
		const struct kp_counter_sample *sample = &batch->samples[i / metrics];
		enum kp_metric metric = lines[i % metrics].metric;
		struct kp_export_key key =
			key_of(batch->process, KP_EXPORT_COUNTER,
			       kp_time_quality(sample->begin_ns, sample->end_ns));

		if (metric == KP_METRIC_COUNT) /* of a newer kprof: no name for it here */
			continue;
		if (KP_HAS(session, COUNTERS, device))
			key.device = (uint32_t)session->device;
		key.name = metric;
		status = pass_value(pass, &key, sample->begin_ns, sample->end_ns,
				    kp_metric_key(metric), kp_metric_unit(metric),
				    sample->values[i % metrics]);
	}
	return status;
}

static enum kp_status pass_clocks(struct pass *pass, const struct kp_event *batch)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < batch->count; i++) {
		const struct kp_clocks *clocks = &batch->clocks[i];
		const struct {
			uint32_t has;
			const char *name, *unit;
			uint64_t value;
		} readings[] = {
			{KP_CLOCKS_SM, "sm_clock", "MHz", clocks->sm_mhz},
			{KP_CLOCKS_MEMORY, "memory_clock", "MHz", clocks->memory_mhz},
			{KP_CLOCKS_POWER, "power", "mW", clocks->power_mw},
			{KP_CLOCKS_TEMPERATURE, "temperature", "C", clocks->temperature_c},
			{KP_CLOCKS_THROTTLE, "throttle_reasons", "mask", clocks->throttle_reasons},
		};
		struct kp_export_key key =
			key_of(batch->process, KP_EXPORT_CLOCK,
			       kp_time_quality(clocks->start_ns, clocks->end_ns));

		key.device = clocks->device;
		for (size_t k = 0; k < sizeof readings / sizeof *readings && status == KP_OK; k++) {
			if (!(clocks->has & readings[k].has))
				continue;
			key.name = (uint32_t)k;
			status = pass_value(pass, &key, clocks->start_ns, clocks->end_ns,
					    readings[k].name, readings[k].unit, readings[k].value);
		}
	}
	return status;
}

static enum kp_status pass_batch(struct pass *pass, const struct kp_event *batch)
{
	switch (batch->kind) {
	case KP_EVENT_LAUNCHES:
		return pass_launches(pass, batch);
	case KP_EVENT_MEMOPS:
		return pass_memops(pass, batch);
	case KP_EVENT_RANGES:
		return pass_ranges(pass, batch);
	case KP_EVENT_SAMPLES:
		return pass_samples(pass, batch);
	case KP_EVENT_CLOCKS:
		return pass_clocks(pass, batch);
	case KP_EVENT_HOST:
		return pass_calls(pass, batch);
	default:
		return KP_OK; /* no event of an export */
	}
}

enum kp_status kp_export_events_each(struct kp_export_events *events, kp_export_sink *sink,
				     void *context)
{
	struct pass *pass = malloc(sizeof *pass);
	struct kp_event batch;
	enum kp_status status;

	if (!pass)
		return KP_NO_MEMORY;
	pass->events = events;
	pass->sink = sink;
	pass->context = context;
	pass->count = 0;
	kp_reader_rewind(events->reader);
	kp_launch_labels_rewind(events->labels);
	while ((status = kp_reader_next(events->reader, &batch)) == KP_OK) {
		kp_launch_labels_amend(events->labels, &batch);
		status = pass_batch(pass, &batch);
		if (status != KP_OK)
			break;
	}
	if (status == KP_END)
		status = pass->count ? sink(context, pass->list, pass->count) : KP_OK;
	free(pass);
	return status;
}

enum kp_status kp_export_events_create(struct kp_reader *reader,
				       const struct kp_operators *operators,
				       struct kp_export_events **out)
{
	struct kp_export_events *events = calloc(1, sizeof *events);
	enum kp_status status = KP_OK;

	*out = NULL;
	if (!events)
		return KP_NO_MEMORY;
	events->reader = reader;
	events->arena = kp_arena_create();
	if (!events->arena)
		status = KP_NO_MEMORY;
	else if (!operators)
		status = kp_operators_builtin(&events->builtin);
	events->operators = operators ? operators : events->builtin;
	if (status == KP_OK)
		status = kp_launch_labels_create(reader, events->operators, &events->labels);
	if (status == KP_OK)
		status = kp_export_name_kernels(events);
	if (status != KP_OK) {
		kp_export_events_destroy(events);
		return status;
	}
	*out = events;
	return KP_OK;
}

void kp_export_events_destroy(struct kp_export_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; events->processes && i < kp_reader_process_count(events->reader); i++) {
		free(events->processes[i].kernels);
		free(events->processes[i].templates);
	}
	free(events->processes);
	kp_intern_fini(&events->text_numbers);
	kp_intern_fini(&events->kernel_numbers);
	kp_intern_fini(&events->keys);
	free(events->key_templates);
	free(events->texts);
	free(events->kernels);
	free(events->templates);
	kp_launch_labels_destroy(events->labels);
	kp_operators_destroy(events->builtin);
	kp_arena_destroy(events->arena);
	free(events);
}

const struct kp_export_template *kp_export_events_template(const struct kp_export_events *events,
							   uint32_t number)
{
	return &events->templates[number];
}

size_t kp_export_events_template_count(const struct kp_export_events *events)
{
	return events->template_count;
}

const char *kp_export_events_text(const struct kp_export_events *events, uint64_t number)
{
	return events->texts[number];
}

size_t kp_export_events_text_count(const struct kp_export_events *events)
{
	return events->text_count;
}

const char *kp_export_text_of(const struct kp_export_events *events,
			      const struct kp_export_template *template,
			      enum kp_export_fixed column)
{
	return template->has >> column & 1U ? events->texts[template->cells[column]] : NULL;
}

struct kp_reader *kp_export_events_reader(const struct kp_export_events *events)
{
	return events->reader;
}
