/*
 * Readings of clocks on their way to the GPUs' rows; see report_build.h. A reading makes no row: a
 * GPU of which nothing else is in the trace is not reported.
 */
#include "analyzers/report_clocks.h"
#include "analyzers/report_build.h"

#include <stdlib.h>

#include "trace/vector.h"

/* More than any trace has: the readings of a broken file's further devices are left out. */
#define DEVICES_MOST 4096

enum kp_status kp_build_clocks_read(struct kp_builder *builder, const struct kp_process *process,
				    const struct kp_clocks *reading)
{
	const uint32_t key[2] = {process->index, reading->device};
	enum kp_status status;
	uint32_t number;
	bool added;

	if (builder->clock_keys.count >= DEVICES_MOST &&
	    !kp_intern_find(&builder->clock_keys, key, sizeof(key), &number))
		return KP_OK;
	status = kp_intern_put(&builder->clock_keys, key, sizeof(key), &number, &added);
	if (status != KP_OK)
		return status;
	if (added) {
		if (!kp_vector_grow((void **)&builder->clocks, number, &builder->clocks_capacity,
				    sizeof(struct kp_clocks_tally *)))
			return KP_NO_MEMORY;
		builder->clocks[number] = NULL;
	}
	return kp_clocks_add(&builder->clocks[number], reading, builder->scratch);
}

enum kp_status kp_build_clocks_put(struct kp_builder *builder, struct kp_gpu_row *rows)
{
	enum kp_status status = KP_OK;
	struct kp_clocks_tally **of_gpu = kp_arena_alloc(
		builder->scratch, (builder->gpu_count + 1) * sizeof(struct kp_clocks_tally *));

	if (!of_gpu)
		return KP_NO_MEMORY;
	for (uint32_t i = 0; status == KP_OK && i < builder->clock_keys.count; i++) {
		size_t length;
		const uint8_t *key = kp_intern_bytes(&builder->clock_keys, i, &length);
		uint32_t device;

		if (kp_intern_find(&builder->devices, key, length, &device))
			status = kp_clocks_merge(&of_gpu[builder->gpu_of_device[device]],
						 builder->clocks[i], builder->scratch);
	}
	for (size_t i = 0; i < builder->gpu_count; i++)
		kp_clocks_summarise(of_gpu[i], &rows[i].clocks);
	return status;
}

void kp_build_clocks_fini(struct kp_builder *builder)
{
	kp_intern_fini(&builder->clock_keys);
	free(builder->clocks);
}
