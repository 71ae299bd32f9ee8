/* GPUs as timelines: which device of which process is which; see report_build.h. */
#include "analyzers/report_build.h"

#include <stdlib.h>

#include "analyzers/boots.h"
#include "analyzers/report_timeline.h"
#include "trace/limits.h"
#include "trace/vector.h"

/* More GPUs than any trace has: a broken file's further ones share the last row. */
#define GPUS_MAX 4096
/* Processes of which a process is compared with to find its boot. */
#define BOOTS_MAX 64

void kp_build_boots(struct kp_builder *builder)
{
	size_t count = kp_reader_process_count(builder->reader);
	const struct kp_process *boots[BOOTS_MAX];
	uint32_t boot_count = 0, boot;

	for (size_t i = 0; i < count; i++) {
		const struct kp_process *process = kp_build_process_at(builder, i);

		for (boot = 0; boot < boot_count && !kp_same_boot(boots[boot], process); boot++)
			;
		if (boot == boot_count && boot_count < BOOTS_MAX)
			boots[boot_count++] = process;
		builder->processes[i].boot = boot;
	}
}

static const struct kp_device_info *find_device(const struct kp_process *process, uint32_t device)
{
	for (size_t i = 0; i < process->device_count; i++) {
		if (process->devices[i].device == device)
			return &process->devices[i];
	}
	return NULL;
}

uint64_t kp_build_gpu_busy(const struct kp_builder *builder, size_t gpu)
{
	const struct kp_sweep *sweep = builder->gpus[gpu].sweep;

	return sweep ? kp_sweep_busy_ns(sweep) : kp_build_timeline_busy(builder, gpu);
}

static enum kp_status add_gpu(struct kp_builder *builder, const struct kp_gpu_row *row)
{
	struct kp_sweep_parts *parts =
		builder->report->options.busy_shares ? &builder->parts : NULL;

	if (!kp_vector_grow((void **)&builder->gpus, builder->gpu_count, &builder->gpu_capacity,
			    sizeof(*builder->gpus)))
		return KP_NO_MEMORY;
	builder->gpus[builder->gpu_count] = (struct kp_build_gpu){.row = *row};
	/* The timeline knows the union. */
	if ((parts || !builder->timeline) &&
	    kp_sweep_create(parts, kp_limits_waiting(kp_reader_bytes(builder->reader)),
			    &builder->gpus[builder->gpu_count].sweep) != KP_OK)
		return KP_NO_MEMORY;
	builder->gpu_count++;
	return KP_OK;
}

/* The timeline of a device: by (boot, UUID), or by (process, ordinal) where there is no UUID. */
static enum kp_status identify(struct kp_builder *builder, const struct kp_process *process,
			       uint32_t device, uint32_t *gpu)
{
	const struct kp_device_info *info = find_device(process, device);
	struct kp_gpu_row row = {.info = info, .process = process, .device = device};
	struct kp_buffer key = {0};
	enum kp_status status;
	bool added;

	if (info && info->uuid.length) {
		kp_buffer_put_u32(&key, builder->processes[process->index].boot);
		kp_buffer_put(&key, info->uuid.bytes, info->uuid.length);
	} else {
		kp_buffer_put_u32(&key, process->index);
		kp_buffer_put_u32(&key, device);
		kp_buffer_put(&key, "?", 1);
	}
	status = key.failed ? KP_NO_MEMORY
			    : kp_intern_put(&builder->gpu_keys, key.bytes, key.length, gpu, &added);
	kp_buffer_fini(&key);
	if (status != KP_OK)
		return status;
	if (*gpu >= GPUS_MAX)
		*gpu = GPUS_MAX - 1;
	else if (added)
		status = add_gpu(builder, &row);
	return status;
}

enum kp_status kp_build_gpu_of(struct kp_builder *builder, const struct kp_process *process,
			       uint32_t device, uint32_t *gpu)
{
	const uint32_t key[2] = {process->index, device};
	enum kp_status status;
	uint32_t number;
	bool added;

	status = kp_intern_put(&builder->devices, key, sizeof(key), &number, &added);
	if (status != KP_OK)
		return status;
	if (!added) {
		*gpu = builder->gpu_of_device[number];
		return KP_OK;
	}
	if (number >= builder->device_capacity) {
		size_t capacity = builder->device_capacity ? builder->device_capacity * 2 : 16;
		uint32_t *gpus = realloc(builder->gpu_of_device, capacity * sizeof(*gpus));

		if (!gpus)
			return KP_NO_MEMORY;
		builder->gpu_of_device = gpus;
		builder->device_capacity = capacity;
	}
	status = identify(builder, process, device, gpu);
	builder->gpu_of_device[number] = *gpu;
	return status;
}
