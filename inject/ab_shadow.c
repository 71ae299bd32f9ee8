/*
 * A comparison: the candidate into guarded scratch, then the original as the program wants it, then
 * both outputs element by element, all on the program's stream. Nothing waits: results come to
 * memory of the host's, and behind them a number that says so; ab_judge.c reads them.
 *
 * The scratch is poisoned, by a NaN and by a large number in turn, so that what the candidate does
 * not write cannot be right by chance. Inputs and the program's own outputs are summed up before
 * and after the candidate, which must leave them alone.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_extra.h"
#include "inject/ab_state.h"

#include <string.h>

#define GUARD_BYTES 256U
#define ALIGNED 256U

/* No replacement is to touch any other memory. */
bool kp_ab_job_is_known(const struct kp_ab_job *job)
{
	for (uint32_t i = 0; i < job->data_count; i++) {
		CUdeviceptr base = 0;
		size_t bytes = 0;

		if (kp_ab.driver.range(&base, &bytes, job->data[i].address) != CUDA_SUCCESS ||
		    job->data[i].address - base > bytes ||
		    job->data[i].bytes > bytes - (job->data[i].address - base))
			return false;
	}
	return true;
}

static const uint32_t poisons[2] = {0xffffffffU, 0x5a5a5a5aU};

static size_t rounded(uint64_t bytes)
{
	return (size_t)((bytes + ALIGNED - 1) / ALIGNED * ALIGNED);
}

/* A guard, the data at the same place within ALIGNED bytes as the original's, a guard. */
static size_t room_of(const struct kp_ab_data *data)
{
	return GUARD_BYTES + ALIGNED + rounded(data->bytes) + GUARD_BYTES;
}

static bool is_output(const struct kp_ab_data *data)
{
	return data->role != KP_AB_INPUT;
}

/* Places in the slot's memory; returns how much of it candidates may touch. */
static size_t lay_out(struct kp_ab_slot *slot)
{
	size_t at = 0, touched;

	for (uint32_t i = 0; i < slot->job.data_count; i++) {
		const struct kp_ab_data *data = &slot->job.data[i];

		if (!is_output(data))
			continue;
		slot->scratch[i] = slot->memory + at + GUARD_BYTES + (data->address % ALIGNED);
		at += room_of(data);
	}
	touched = at;
	for (uint32_t i = 0; slot->noise && i < slot->job.data_count; i++) {
		if (!is_output(&slot->job.data[i]))
			continue;
		slot->again[i] = slot->memory + at;
		at += rounded(slot->job.data[i].bytes);
	}
	return touched;
}

static size_t room_for(const struct kp_ab_job *job, bool noise)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < job->data_count; i++)
		if (is_output(&job->data[i]))
			bytes += room_of(&job->data[i]) + (noise ? rounded(job->data[i].bytes) : 0);
	return bytes;
}

/* Only where running the original twice is as running it once. */
static bool has_noise(const struct kp_ab_job *job, uint32_t tried)
{
	for (uint32_t i = 0; i < job->data_count; i++)
		if (job->data[i].role == KP_AB_INOUT)
			return false;
	return tried == 0 && job->rule->repeatable;
}

static struct kp_matrix moved(const struct kp_ab_data *data, uint64_t to)
{
	struct kp_matrix matrix = data->matrix;

	matrix.data = (void *)(uintptr_t)to;
	return matrix;
}

static struct kp_ab_result *result_of(const struct kp_ab_slot *slot)
{
	return (struct kp_ab_result *)(uintptr_t)slot->device;
}

static bool copy(struct kp_ab_context *context, const struct kp_ab_slot *slot,
		 struct kp_matrix from, struct kp_matrix to)
{
	const struct kp_copy_args args = {from, to, KP_COPY_PLAIN};

	return kp_ab.candidates->copy(context->set.compare, &args, slot->job.stream) == KP_OK;
}

static bool sum_up(struct kp_ab_context *context, const struct kp_ab_slot *slot, int when)
{
	bool good = true;

	for (uint32_t i = 0; good && i < slot->job.data_count; i++) {
		const struct kp_checksum_args args = {slot->job.data[i].matrix,
						      result_of(slot)->sums[when][i]};

		good = kp_ab.candidates->checksum(context->set.compare, &args, slot->job.stream) ==
		       KP_OK;
	}
	return good;
}

/* The program's addresses of outputs become those of the scratch. */
static void redirect(const struct kp_ab_slot *slot, int64_t *values)
{
	const struct kp_ab_job *job = &slot->job;
	uint32_t at;

	memcpy(values, job->values, sizeof(job->values));
	for (uint32_t i = 0; i < job->rule->argument_count; i++) {
		if (!kp_ab_job_is_pointer(&kp_ab.plan, job->rule, i, &at))
			continue;
		for (uint32_t j = 0; j < job->data_count; j++) {
			const struct kp_ab_data *data = &job->data[j];
			uint64_t offset = (uint64_t)job->values[at] - data->address;

			if (is_output(data) && offset < data->bytes)
				values[at] = (int64_t)(slot->scratch[j] + offset);
		}
	}
}

static bool guard(struct kp_ab_context *context, const struct kp_ab_slot *slot, uint32_t i)
{
	const struct kp_ab_data *data = &slot->job.data[i];
	uint64_t begin = slot->scratch[i] - GUARD_BYTES - data->address % ALIGNED;
	uint64_t first = slot->scratch[i] & ~(uint64_t)3;
	uint64_t behind = (slot->scratch[i] + data->bytes + 3) & ~(uint64_t)3;
	const struct kp_guard_args args = {
		.range = {(const uint32_t *)(uintptr_t)begin, (const uint32_t *)(uintptr_t)behind},
		.words = {(first - begin) / 4, (begin + room_of(data) - behind) / 4},
		.poison = slot->poison,
		.part = &result_of(slot)->outputs[i].guard,
	};

	return kp_ab.candidates->guard(context->set.compare, &args, slot->job.stream) == KP_OK;
}

/* The candidate, with all that must be done before the original runs. */
static enum kp_ab_reason run_candidate(struct kp_ab_context *context, struct kp_ab_slot *slot,
				       size_t touched)
{
	const struct kp_ab_job *job = &slot->job;
	int64_t values[KP_AB_ARGUMENT_ROW_COUNT];
	enum kp_ab_reason reason;
	bool good = kp_ab.driver.fill(slot->memory, slot->poison, touched / 4, job->stream) ==
		    CUDA_SUCCESS;

	for (uint32_t i = 0; good && i < job->data_count; i++)
		if (job->data[i].role == KP_AB_INOUT)
			good = copy(context, slot, job->data[i].matrix,
				    moved(&job->data[i], slot->scratch[i]));
	if (!good || !sum_up(context, slot, 0))
		return KP_AB_REASON_FAILED;
	redirect(slot, values);
	reason = kp_ab_candidate_run(context, job, values, true);
	if (reason != KP_AB_REASON_COUNT)
		return reason;
	good = sum_up(context, slot, 1);
	for (uint32_t i = 0; good && i < job->data_count; i++)
		if (is_output(&job->data[i]))
			good = guard(context, slot, i);
	return good ? KP_AB_REASON_SHADOW : KP_AB_REASON_FAILED;
}

enum kp_ab_reason kp_ab_shadow_begin(struct kp_ab_context *context, const struct kp_ab_job *job,
				     uint32_t tried, struct kp_ab_slot **out)
{
	bool noise = has_noise(job, tried);
	struct kp_ab_slot *slot = kp_ab_context_slot(context, &kp_ab.driver, room_for(job, noise));
	enum kp_ab_reason reason;
	size_t touched;

	*out = NULL;
	if (!slot)
		return KP_AB_REASON_UNVERIFIED;
	slot->job = *job;
	slot->noise = noise;
	slot->repeated = false;
	slot->extra = 0;
	slot->strayed = false;
	slot->before = NULL;
	slot->poison = poisons[tried % 2];
	slot->turn++;
	touched = lay_out(slot);
	kp_ab_truth_begin(slot, tried);
	/* If anything fails from here on, the slot stays taken: the GPU may still work in it. */
	reason = run_candidate(context, slot, touched);
	if (reason == KP_AB_REASON_SHADOW)
		*out = slot;
	return reason;
}

static bool compare(struct kp_ab_context *context, const struct kp_ab_slot *slot, uint32_t i)
{
	const struct kp_ab_tolerance *tolerance = &slot->job.rule->tolerance;
	struct kp_compare_args args = {
		.original = slot->job.data[i].matrix,
		.candidate = moved(&slot->job.data[i], slot->scratch[i]),
		.relative = tolerance->relative,
		.scaled = tolerance->scaled,
		.free_ulps = tolerance->ulps,
		.poison = slot->poison,
		.parts = result_of(slot)->outputs[i].parts[0],
	};
	bool good = true;

	for (args.pass = 0; good && args.pass < 2; args.pass++)
		good = kp_ab.candidates->pass(context->set.compare, &args, slot->job.stream) ==
		       KP_OK;
	return good;
}

/* The second run of the original against the first, which the program gets back. */
static bool compare_noise(struct kp_ab_context *context, const struct kp_ab_slot *slot, uint32_t i)
{
	const struct kp_ab_data *data = &slot->job.data[i];
	const struct kp_compare_args args = {
		.original = moved(data, slot->again[i]),
		.candidate = data->matrix,
		.parts = result_of(slot)->outputs[i].noise,
	};

	return kp_ab.candidates->pass(context->set.compare, &args, slot->job.stream) == KP_OK &&
	       copy(context, slot, moved(data, slot->again[i]), data->matrix);
}

/* Results, and behind them the number that says that they are there. */
static void fetch(struct kp_ab_slot *slot)
{
	size_t bytes = offsetof(struct kp_ab_result, outputs) +
		       slot->job.data_count * sizeof(slot->host->outputs[0]);
	uint64_t told = slot->device + sizeof(struct kp_ab_result);

	kp_ab_truth_fetch(slot);
	if (kp_ab.driver.fill(told, slot->turn, 1, slot->job.stream) == CUDA_SUCCESS &&
	    kp_ab.driver.fetch(slot->host, slot->device, bytes, slot->job.stream) == CUDA_SUCCESS)
		kp_ab.driver.fetch((char *)slot->host + sizeof(struct kp_ab_result), told,
				   sizeof(uint32_t), slot->job.stream);
}

bool kp_ab_shadow_end(struct kp_ab_context *context, struct kp_ab_slot *slot, bool succeeded)
{
	bool good = succeeded;

	for (uint32_t i = 0; good && i < slot->job.data_count; i++) {
		if (!is_output(&slot->job.data[i]))
			continue;
		if (slot->noise && !slot->repeated)
			good = compare(context, slot, i) &&
			       copy(context, slot, slot->job.data[i].matrix,
				    moved(&slot->job.data[i], slot->again[i]));
		else if (slot->noise)
			good = compare_noise(context, slot, i);
		else
			good = compare(context, slot, i);
	}
	if (good && slot->noise && !slot->repeated) {
		slot->repeated = true;
		return true;
	}
	if (good)
		fetch(slot);
	return false;
}
