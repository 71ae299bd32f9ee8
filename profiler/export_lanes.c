/* The lanes of a timeline; see export_lanes.h. */
#include "profiler/export_lanes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/vector.h"

/* What the slices of a group have in common. */
struct group_key {
	uint32_t process, kind; /* kernels, copies and sets are of one kind */
	uint64_t device, context, stream, thread, depth, domain;
};

static bool on_gpu(const struct kp_export_template *template)
{
	return template->kind <= KP_EXPORT_SET;
}

static struct group_key key_of(const struct kp_export_template *template,
			       const struct kp_export_event *event)
{
	struct group_key key = {.process = template->process->index};

	if (on_gpu(template)) {
		key.device = template->cells[KP_EXPORT_COLUMN_DEVICE];
		key.context = template->cells[KP_EXPORT_COLUMN_CONTEXT];
		key.stream = template->cells[KP_EXPORT_COLUMN_STREAM];
		return key;
	}
	key.kind = template->kind;
	key.thread = event->own[KP_EXPORT_COLUMN_THREAD];
	if (template->kind == KP_EXPORT_RANGE) {
		key.domain = template->cells[KP_EXPORT_COLUMN_DOMAIN];
		key.depth = template->unordered ? UINT32_MAX : event->own[KP_EXPORT_COLUMN_DEPTH];
	}
	return key;
}

static enum kp_status add_lane(struct kp_lanes_of *lanes, const struct kp_process *process,
			       uint32_t group, uint32_t place)
{
	if (!kp_vector_grow((void **)&lanes->rows, lanes->count, &lanes->capacity,
			    sizeof *lanes->rows))
		return KP_NO_MEMORY;
	lanes->rows[lanes->count++] = (struct kp_lane_row){
		.process = process, .group = group, .place = place, .next = KP_NO_LANE};
	return KP_OK;
}

/* The group of an event, which has a lane. */
static enum kp_status find_group(struct kp_lanes_of *lanes,
				 const struct kp_export_template *template,
				 const struct kp_export_event *event, uint32_t *group)
{
	const struct group_key key = key_of(template, event);
	bool added;
	enum kp_status status = kp_intern_put(&lanes->groups, &key, sizeof key, group, &added);

	if (status != KP_OK || !added)
		return status;
	if (!kp_vector_grow((void **)&lanes->first, *group, &lanes->first_capacity,
			    sizeof *lanes->first))
		return KP_NO_MEMORY;
	lanes->first[*group] = (uint32_t)lanes->count;
	return add_lane(lanes, template->process, *group, 0);
}

/* The same, remembered by template where that decides it. */
static enum kp_status recall_group(struct kp_lanes_of *lanes,
				   const struct kp_export_template *template,
				   const struct kp_export_event *event, uint32_t *group)
{
	enum kp_status status;

	if (!on_gpu(template))
		return find_group(lanes, template, event, group);
	if (event->template >= lanes->group_of_capacity &&
	    !kp_vector_reserve((void **)&lanes->group_of, (size_t)event->template + 1,
			       &lanes->group_of_capacity, sizeof *lanes->group_of))
		return KP_NO_MEMORY;
	*group = lanes->group_of[event->template] - 1;
	if (lanes->group_of[event->template])
		return KP_OK;
	status = find_group(lanes, template, event, group);
	lanes->group_of[event->template] = *group + 1;
	return status;
}

enum kp_status kp_lanes_find(struct kp_lanes_of *lanes, const struct kp_export_events *events,
			     const struct kp_export_event *event, uint32_t *out)
{
	const struct kp_export_template *template =
		kp_export_events_template(events, event->template);
	uint64_t start_ns = event->own[KP_EXPORT_COLUMN_START];
	uint32_t group, lane;
	enum kp_status status = recall_group(lanes, template, event, &group);

	if (status != KP_OK)
		return status;
	lane = lanes->first[group];
	while (lanes->rows[lane].free_ns > start_ns && lanes->rows[lane].next != KP_NO_LANE)
		lane = lanes->rows[lane].next;
	if (lanes->rows[lane].free_ns > start_ns &&
	    lanes->rows[lane].place + 1 < KP_LANES_DEEPEST) {
		uint32_t added = (uint32_t)lanes->count;

		status = add_lane(lanes, template->process, group, lanes->rows[lane].place + 1);
		if (status != KP_OK)
			return status;
		lanes->rows[lane].next = added;
		lane = added;
	}
	if (event->own[KP_EXPORT_COLUMN_END] > lanes->rows[lane].free_ns)
		lanes->rows[lane].free_ns = event->own[KP_EXPORT_COLUMN_END];
	*out = lane;
	return KP_OK;
}

void kp_lanes_name(const struct kp_lanes_of *lanes, const struct kp_export_events *events,
		   uint32_t lane, const struct kp_export_event *event, char *out, size_t size)
{
	const struct kp_export_template *template =
		kp_export_events_template(events, event->template);
	uint32_t place = lanes->rows[lane].place;
	uint64_t thread = event->own[KP_EXPORT_COLUMN_THREAD];
	const char *domain;
	int length;

	if (on_gpu(template)) {
		length = snprintf(out, size, "GPU %" PRIu64 " context %" PRIu64 " stream %" PRIu64,
				  template->cells[KP_EXPORT_COLUMN_DEVICE],
				  template->cells[KP_EXPORT_COLUMN_CONTEXT],
				  template->cells[KP_EXPORT_COLUMN_STREAM]);
	} else if (template->kind == KP_EXPORT_CALL) {
		length = snprintf(out, size, "thread %" PRIu64 " launches", thread);
	} else {
		domain = kp_export_text_of(events, template, KP_EXPORT_COLUMN_DOMAIN);
		length = snprintf(out, size, "thread %" PRIu64 " NVTX", thread);
		if (template->unordered)
			length += snprintf(out + length, size - (size_t)length, " start/end");
		else
			length += snprintf(out + length, size - (size_t)length, " depth %" PRIu64,
					   event->own[KP_EXPORT_COLUMN_DEPTH]);
		if (domain && *domain)
			length += snprintf(out + length, size - (size_t)length, " %.100s", domain);
	}
	if (place && (size_t)length < size)
		snprintf(out + length, size - (size_t)length, " overlap %u", place);
}

uint32_t kp_lanes_rank(const struct kp_export_template *template)
{
	return on_gpu(template) ? 0 : template->kind == KP_EXPORT_CALL ? 1 : 2;
}

void kp_lanes_of_fini(struct kp_lanes_of *lanes)
{
	kp_intern_fini(&lanes->groups);
	free(lanes->first);
	free(lanes->group_of);
	free(lanes->rows);
	*lanes = (struct kp_lanes_of){0};
}
