/* Launches that are held; see ab_sequence_hold.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_sequence_hold.h"

#include <stddef.h>
#include <string.h>

#include "inject/ab_state.h"

#define ALIGNED 16U
#define PLANE_MOST 65535U /* blocks along y and z */

static bool has_size(const struct kp_ab_launch *launch, const struct kp_ab_layout *layout)
{
	uint64_t threads = 1;

	for (int i = 0; i < 3; i++) {
		if (launch->grid[i] < 1 || launch->block[i] < 1 || launch->block[i] > 1024)
			return false;
		threads *= launch->block[i];
	}
	return launch->grid[0] <= INT32_MAX && launch->grid[1] <= PLANE_MOST &&
	       launch->grid[2] <= PLANE_MOST && launch->block[2] <= 64 &&
	       threads <= layout->threads_most && launch->shared_bytes <= layout->shared_most;
}

bool kp_ab_held_copy(const struct kp_ab_launch *launch, const struct kp_ab_layout *layout,
		     uint64_t members, struct kp_ab_held *out)
{
	size_t at = 0;

	if (launch->extra || launch->has_attributes || (layout->count && !launch->parameters) ||
	    !has_size(launch, layout))
		return false;
	out->function = launch->function;
	out->layout = layout;
	out->members = members;
	memcpy(out->grid, launch->grid, sizeof(out->grid));
	memcpy(out->block, launch->block, sizeof(out->block));
	out->shared_bytes = launch->shared_bytes;
	out->used = 0;
	for (uint32_t i = 0; i < layout->count; i++) {
		if (!launch->parameters[i] || layout->bytes[i] > sizeof(out->bytes) - at)
			return false;
		out->parameters[i] = out->bytes + at;
		memcpy(out->parameters[i], launch->parameters[i], layout->bytes[i]);
		at += (layout->bytes[i] + ALIGNED - 1) / ALIGNED * ALIGNED;
		at = at < sizeof(out->bytes) ? at : sizeof(out->bytes);
		out->used = at;
	}
	return true;
}

void kp_ab_held_move(const struct kp_ab_held *from, struct kp_ab_held *to)
{
	memcpy(to, from, offsetof(struct kp_ab_held, parameters));
	memcpy(to->bytes, from->bytes, from->used);
	for (uint32_t i = 0; i < from->layout->count; i++)
		to->parameters[i] = to->bytes + ((const char *)from->parameters[i] - from->bytes);
}

CUcontext kp_ab_held_context(CUstream stream)
{
	CUcontext context = NULL, of = NULL;

	if (stream == CU_STREAM_PER_THREAD || kp_ab.driver.context(&context) != CUDA_SUCCESS ||
	    !context)
		return NULL;
	if (!stream || stream == CU_STREAM_LEGACY)
		return context;
	return kp_ab.driver.stream_context(stream, &of) == CUDA_SUCCESS && of == context ? context
											 : NULL;
}

bool kp_ab_held_enter(CUcontext context, bool *pushed)
{
	CUcontext current = NULL;

	*pushed = false;
	if (kp_ab.driver.context(&current) == CUDA_SUCCESS && current == context)
		return true;
	*pushed = kp_ab.driver.push(context) == CUDA_SUCCESS;
	return *pushed;
}

void kp_ab_held_leave(bool pushed)
{
	CUcontext popped;

	if (pushed)
		kp_ab.driver.pop(&popped);
}

CUresult kp_ab_held_launch(const struct kp_ab_held *held, uint32_t count, CUcontext context,
			   CUstream stream)
{
	CUresult result = CUDA_SUCCESS;
	bool pushed;

	if (!kp_ab_held_enter(context, &pushed))
		return CUDA_ERROR_INVALID_CONTEXT;
	for (uint32_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
		const CUlaunchConfig config = {
			.gridDimX = held[i].grid[0],
			.gridDimY = held[i].grid[1],
			.gridDimZ = held[i].grid[2],
			.blockDimX = held[i].block[0],
			.blockDimY = held[i].block[1],
			.blockDimZ = held[i].block[2],
			.sharedMemBytes = held[i].shared_bytes,
			.hStream = stream,
		};

		result = (CUresult)kp_ab_driver_launch(&config, held[i].function,
						       (void **)held[i].parameters, NULL);
	}
	kp_ab_held_leave(pushed);
	return result;
}
