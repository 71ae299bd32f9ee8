/*
 * The float64 arbiter: of some comparisons of built-ins, pieces are computed anew on the CPU, from
 * inputs that are copied before anything runs, and both results are compared with that; see
 * ab_extra.h and kernels/piece.h.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_extra.h"

#include <errno.h>
#include <sys/mman.h>

#include "trace/scatter.h"

#define INPUT_BYTES (2 * (size_t)KP_PIECE_INPUTS)
#define RESULT_BYTES (2 * (size_t)KP_PIECE_RESULTS)
#define PIECE_BYTES (INPUT_BYTES + 2 * RESULT_BYTES)
/* The first comparisons of a variant, then each so-many-th: it takes the CPU's time. */
#define FIRST 4U
#define LATER 16U

/* Pinned memory of a slot, kept for good. */
static bool have_memory(struct kp_ab_slot *slot)
{
	const size_t bytes = KP_AB_PIECES * PIECE_BYTES;
	int error = errno;
	void *memory;

	if (slot->pieces_memory)
		return true;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED && kp_ab.driver.pin(memory, bytes, 0) == CUDA_SUCCESS)
		slot->pieces_memory = memory;
	else if (memory != MAP_FAILED)
		munmap(memory, bytes);
	errno = error;
	return slot->pieces_memory != NULL;
}

/* Which output a piece belongs to; false: it is not all in one. */
static bool find_output(const struct kp_ab_slot *slot, struct kp_ab_piece *piece)
{
	for (uint32_t i = 0; i < slot->job.data_count; i++) {
		const struct kp_ab_data *data = &slot->job.data[i];
		uint64_t at = piece->piece.result - data->address;

		if (data->role == KP_AB_INPUT || at >= data->bytes ||
		    2 * (uint64_t)piece->piece.elements > data->bytes - at)
			continue;
		piece->data = i;
		piece->scratch = slot->scratch[i] + at;
		return true;
	}
	return false;
}

/* A piece may read what the rule does not declare: only what the driver knows. */
static bool fetch_inputs(const struct kp_ab_slot *slot, const struct kp_piece *piece, char *to)
{
	bool good = true;

	for (uint32_t i = 0; good && i < piece->range_count; i++) {
		const struct kp_piece_range *range = &piece->ranges[i];
		CUdeviceptr base = 0;
		size_t bytes = 0;

		good = kp_ab.driver.range(&base, &bytes, range->address) == CUDA_SUCCESS &&
		       range->address - base <= bytes &&
		       range->bytes <= bytes - (range->address - base) &&
		       kp_ab.driver.fetch(to, range->address, range->bytes, slot->job.stream) ==
			       CUDA_SUCCESS;
		to += range->bytes;
	}
	return good;
}

void kp_ab_truth_begin(struct kp_ab_slot *slot, uint32_t tried)
{
	const struct kp_ab_job *job = &slot->job;

	for (uint32_t i = 0; i < KP_AB_PIECES; i++)
		slot->pieces[i].used = false;
	if (job->rule->replace != KP_AB_REPLACE_BUILTIN || (tried >= FIRST && tried % LATER) ||
	    !have_memory(slot))
		return;
	for (uint32_t i = 0; i < KP_AB_PIECES; i++) {
		struct kp_ab_piece *piece = &slot->pieces[i];
		uint64_t draw = kp_scatter(job->shape + tried * KP_AB_PIECES + i);

		piece->used =
			kp_ab.candidates->piece(job->rule->builtin, job->values, draw,
						&piece->piece) &&
			find_output(slot, piece) &&
			fetch_inputs(slot, &piece->piece, slot->pieces_memory + i * PIECE_BYTES);
	}
}

void kp_ab_truth_fetch(struct kp_ab_slot *slot)
{
	for (uint32_t i = 0; i < KP_AB_PIECES; i++) {
		struct kp_ab_piece *piece = &slot->pieces[i];
		char *results = slot->pieces_memory + i * PIECE_BYTES + INPUT_BYTES;
		size_t bytes = 2 * (size_t)piece->piece.elements;

		if (piece->used)
			piece->used = kp_ab.driver.fetch(results, piece->piece.result, bytes,
							 slot->job.stream) == CUDA_SUCCESS &&
				      kp_ab.driver.fetch(results + RESULT_BYTES, piece->scratch,
							 bytes, slot->job.stream) == CUDA_SUCCESS;
	}
}

struct kp_piece_errors kp_ab_truth_of(const struct kp_ab_slot *slot, uint32_t data)
{
	struct kp_piece_errors errors = {0};

	for (uint32_t i = 0; i < KP_AB_PIECES; i++) {
		const struct kp_ab_piece *piece = &slot->pieces[i];
		const char *memory = slot->pieces_memory + i * PIECE_BYTES;
		const void *inputs[KP_PIECE_RANGES];
		size_t at = 0;

		if (!piece->used || piece->data != data)
			continue;
		for (uint32_t j = 0; j < piece->piece.range_count; j++) {
			inputs[j] = memory + at;
			at += piece->piece.ranges[j].bytes;
		}
		kp_ab.candidates->compare_piece(&piece->piece, inputs, memory + INPUT_BYTES,
						memory + INPUT_BYTES + RESULT_BYTES, &errors);
	}
	return errors;
}
