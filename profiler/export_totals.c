/* Sums of an export's events; see export_totals.h. */
#include "profiler/export_totals.h"

#include <stdlib.h>

#include "trace/vector.h"

enum kp_status kp_export_totals_add(struct kp_export_totals *totals,
				    const struct kp_export_event *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct kp_export_event *event = &list[i];
		uint64_t duration_ns = event->own[KP_EXPORT_COLUMN_DURATION];

		if (event->template >= totals->capacity &&
		    !kp_vector_reserve((void **)&totals->list, (size_t)event->template + 1,
				       &totals->capacity, sizeof(*totals->list)))
			return KP_NO_MEMORY;
		if (event->template >= totals->count)
			totals->count = (size_t)event->template + 1;
		struct kp_export_total *total = &totals->list[event->template];
		total->events++;
		if (kp_export_knows(event, KP_EXPORT_COLUMN_BYTES))
			total->bytes += event->own[KP_EXPORT_COLUMN_BYTES];
		if (kp_export_knows(event, KP_EXPORT_COLUMN_VALUE))
			total->value += event->own[KP_EXPORT_COLUMN_VALUE];
		if (!kp_export_knows(event, KP_EXPORT_COLUMN_DURATION))
			continue;
		if (total->events == 1 || duration_ns < total->least_ns)
			total->least_ns = duration_ns;
		if (duration_ns > total->most_ns)
			total->most_ns = duration_ns;
		total->total_ns += duration_ns;
	}
	return KP_OK;
}

static enum kp_status add_all(void *context, const struct kp_export_event *list, size_t count)
{
	return kp_export_totals_add(context, list, count);
}

enum kp_status kp_export_totals_read(struct kp_export_events *events, struct kp_export_totals *out)
{
	*out = (struct kp_export_totals){0};
	return kp_export_events_each(events, add_all, out);
}

void kp_export_totals_fini(struct kp_export_totals *totals)
{
	free(totals->list);
	*totals = (struct kp_export_totals){0};
}

static void merge(struct kp_export_total *into, const struct kp_export_total *more)
{
	if (into->events == 0 || more->least_ns < into->least_ns)
		into->least_ns = more->least_ns;
	if (more->most_ns > into->most_ns)
		into->most_ns = more->most_ns;
	into->events += more->events;
	into->bytes += more->bytes;
	into->total_ns += more->total_ns;
}

static enum kp_status group_all(const struct kp_export_totals *totals,
				const struct kp_export_events *events, struct kp_intern *keys,
				struct kp_export_group *groups)
{
	for (uint32_t i = 0; i < totals->count; i++) {
		const struct kp_export_template *template = kp_export_events_template(events, i);
		const uint64_t key[] = {template->process->index,
					template->kind,
					template->cells[KP_EXPORT_COLUMN_TIMING],
					template->cells[KP_EXPORT_COLUMN_DEVICE],
					template->cells[KP_EXPORT_COLUMN_NAME],
					template->cells[KP_EXPORT_COLUMN_OPERATOR],
					template->written_out};
		uint32_t number;
		bool added;

		if (template->kind > KP_EXPORT_SET || totals->list[i].events == 0)
			continue;
		if (kp_intern_put(keys, key, sizeof key, &number, &added) != KP_OK)
			return KP_NO_MEMORY;
		if (added)
			groups[number].template = template;
		merge(&groups[number].total, &totals->list[i]);
	}
	return KP_OK;
}

enum kp_status kp_export_totals_group(const struct kp_export_totals *totals,
				      const struct kp_export_events *events,
				      struct kp_export_group **out, size_t *count)
{
	struct kp_export_group *groups = calloc(totals->count + 1, sizeof *groups);
	struct kp_intern keys = {0};
	enum kp_status status = KP_NO_MEMORY;

	if (groups)
		status = group_all(totals, events, &keys, groups);
	*count = keys.count;
	kp_intern_fini(&keys);
	*out = status == KP_OK ? groups : NULL;
	if (status != KP_OK)
		free(groups);
	return status;
}
