/*
 * What all analyses of a batch read and none of them changes: which GPU, which use of it and which
 * row a launch or memory operation belongs to. Numbers are given in order of appearance.
 */
#include "analyzers/report_build.h"
#include "analyzers/report_passes.h"

#include <stdlib.h>

/* The first launch of a configuration: from now on its slot knows row and GPU. */
static enum kp_status fill_slot(struct kp_builder *builder, const struct kp_process *process,
				uint32_t config, struct kp_build_slot *slot)
{
	enum kp_status status;
	uint32_t row = 0;

	status = kp_build_gpu_of(builder, process, process->configs[config].device, &slot->gpu);
	if (status == KP_OK)
		status = kp_build_use_of(builder, process, slot->gpu, &slot->use);
	if (status == KP_OK)
		status = kp_build_row_of(builder, process, config, &row);
	if (status == KP_OK)
		slot->row_plus_one = row + 1;
	return status;
}

static enum kp_status prepare_launches(struct kp_builder *builder, const struct kp_event *event)
{
	struct kp_build_process *reading = &builder->processes[event->process->index];
	enum kp_status status = KP_OK;

	if (!reading->slots)
		reading->slots = calloc(event->process->config_count + 1, sizeof(*reading->slots));
	if (!reading->slots)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < event->count; i++) {
		uint32_t config = event->launches[i].config;

		if (reading->slots[config].row_plus_one)
			continue;
		status = fill_slot(builder, event->process, config, &reading->slots[config]);
		/* All before this batch are counted, for nothing is prepared earlier. */
		reading->slots[config].first = reading->kernels + i;
	}
	return status;
}

static enum kp_status prepare_memops(struct kp_builder *builder, const struct kp_event *event)
{
	enum kp_status status = KP_OK;
	uint32_t gpu = 0, use;

	for (size_t i = 0; status == KP_OK && i < event->count; i++) {
		status = kp_build_gpu_of(builder, event->process, event->memops[i].device, &gpu);
		if (status == KP_OK)
			status = kp_build_use_of(builder, event->process, gpu, &use);
	}
	return status;
}

/* The device that samples are of, if it is known. */
static bool device_of(const struct kp_event *event, uint32_t *device)
{
	const struct kp_counters_info *session =
		event->count ? kp_process_counters(event->process, event->samples[0].session)
			     : NULL;

	if (!session || !KP_HAS(session, COUNTERS, device))
		return false;
	*device = (uint32_t)session->device;
	return true;
}

enum kp_status kp_build_prepare(void *context, const struct kp_event *event)
{
	struct kp_builder *builder = context;
	uint32_t device, gpu;

	if (event->kind == KP_EVENT_LAUNCHES)
		return prepare_launches(builder, event);
	if (event->kind == KP_EVENT_MEMOPS)
		return prepare_memops(builder, event);
	if (event->kind == KP_EVENT_SAMPLES && device_of(event, &device))
		return kp_build_gpu_of(builder, event->process, device, &gpu);
	return KP_OK;
}

/* ---- looking up ---- */

static bool find_place(const struct kp_builder *builder, const struct kp_process *process,
		       uint32_t device, struct kp_build_place *place)
{
	uint32_t key[2] = {process->index, device}, number = 0;

	if (!kp_intern_find(&builder->devices, key, sizeof(key), &number))
		return false;
	place->gpu = key[1] = builder->gpu_of_device[number];
	return kp_intern_find(&builder->use_keys, key, sizeof(key), &place->use);
}

struct kp_build_place kp_build_place_of(const struct kp_builder *builder,
					const struct kp_process *process, uint32_t device)
{
	struct kp_build_place place = {0};

	find_place(builder, process, device, &place);
	return place;
}

static bool launches_are_prepared(const struct kp_builder *builder, const struct kp_event *event)
{
	const struct kp_build_slot *slots = builder->processes[event->process->index].slots;

	for (size_t i = 0; i < event->count; i++)
		if (!slots || !slots[event->launches[i].config].row_plus_one)
			return false;
	return true;
}

static bool memops_are_prepared(const struct kp_builder *builder, const struct kp_event *event)
{
	struct kp_build_place place;

	for (size_t i = 0; i < event->count; i++)
		if ((!i || event->memops[i].device != event->memops[i - 1].device) &&
		    !find_place(builder, event->process, event->memops[i].device, &place))
			return false;
	return true;
}

bool kp_build_is_prepared(void *context, const struct kp_event *event)
{
	const struct kp_builder *builder = context;

	if (event->kind == KP_EVENT_LAUNCHES)
		return launches_are_prepared(builder, event);
	if (event->kind == KP_EVENT_MEMOPS)
		return memops_are_prepared(builder, event);
	return event->kind != KP_EVENT_SAMPLES;
}
