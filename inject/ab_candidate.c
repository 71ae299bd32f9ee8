/* Launching a rule's replacement; see ab_state.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_state.h"

#include <string.h>

#include "inject/hooks.h"

struct kp_ab_variant *kp_ab_variant(uint64_t shape)
{
	uint32_t at = (uint32_t)(shape >> 20);

	shape += shape == 0;
	for (int looks = 0; looks < 32; looks++, at++) {
		struct kp_ab_variant *variant = &kp_ab.variants[at & (KP_AB_VARIANTS - 1)];
		uint64_t found = atomic_load_explicit(&variant->shape, memory_order_relaxed);

		if (found == shape)
			return variant;
		if (!found && (atomic_compare_exchange_strong(&variant->shape, &found, shape) ||
			       found == shape))
			return variant;
	}
	return NULL;
}

static enum kp_ab_reason run_builtin(struct kp_ab_context *context, const struct kp_ab_job *job,
				     const int64_t *values, bool locked)
{
	enum kp_ab_reason reason = KP_AB_REASON_COUNT;
	const struct kp_candidates *candidates = kp_ab.candidates;
	size_t bytes = candidates->workspace(&context->set, job->rule->builtin, values);
	uint64_t memory = job->workspace_bytes >= bytes ? job->workspace : 0;
	bool shares = bytes && !memory, good = true;

	if (shares && !locked && pthread_mutex_trylock(&kp_ab.rare) != 0)
		return KP_AB_REASON_NO_MEMORY;
	if (shares)
		good = kp_ab_context_workspace(context, &kp_ab.driver, job->stream, bytes, &memory);
	/* All kernels of one launch, before another thread's on this stream. */
	if (good && candidates->launch(&context->set, job->rule->builtin, values,
				       (void *)(uintptr_t)memory, bytes, job->stream) != KP_OK)
		reason = KP_AB_REASON_FAILED;
	if (shares && !locked)
		pthread_mutex_unlock(&kp_ab.rare);
	return good ? reason : KP_AB_REASON_NO_MEMORY;
}

static enum kp_ab_reason run_module(struct kp_ab_context *context, const struct kp_ab_job *job,
				    const int64_t *values)
{
	const CUlaunchConfig config = {
		.gridDimX = job->grid[0],
		.gridDimY = job->grid[1],
		.gridDimZ = job->grid[2],
		.blockDimX = job->block[0],
		.blockDimY = job->block[1],
		.blockDimZ = job->block[2],
		.sharedMemBytes = job->shared_bytes,
		.hStream = job->stream,
	};
	int64_t storage[KP_AB_ARGUMENTS_MOST];
	void *arguments[KP_AB_ARGUMENTS_MOST];

	for (uint32_t i = 0; i < job->rule->argument_count; i++) {
		float single = (float)kp_ab_double(values[i]);

		storage[i] = values[i];
		if (kp_ab.plan.arguments[job->rule->first_argument + i].type == KP_AB_LOAD_F32)
			memcpy(&storage[i], &single, sizeof(single));
		arguments[i] = &storage[i];
	}
	if (kp_ab_driver_launch(&config, context->functions[job->number], arguments, NULL))
		return KP_AB_REASON_FAILED;
	return KP_AB_REASON_COUNT;
}

bool kp_ab_candidate_is_loaded(const struct kp_ab_context *context, const struct kp_ab_job *job)
{
	switch ((enum kp_ab_replace)job->rule->replace) {
	case KP_AB_REPLACE_BUILTIN:
		return true; /* or there is no context */
	case KP_AB_REPLACE_MODULE:
		return context->functions[job->number] != NULL;
	case KP_AB_REPLACE_LIBRARY:
		break;
	}
	return kp_ab.entries[job->number] != NULL;
}

enum kp_ab_reason kp_ab_candidate_run(struct kp_ab_context *context, const struct kp_ab_job *job,
				      const int64_t *values, bool locked)
{
	switch ((enum kp_ab_replace)job->rule->replace) {
	case KP_AB_REPLACE_BUILTIN:
		return run_builtin(context, job, values, locked);
	case KP_AB_REPLACE_MODULE:
		return run_module(context, job, values);
	case KP_AB_REPLACE_LIBRARY:
		break;
	}
	return kp_ab.entries[job->number](values, job->rule->argument_count, job->stream) == 0
		       ? KP_AB_REASON_COUNT
		       : KP_AB_REASON_FAILED;
}
