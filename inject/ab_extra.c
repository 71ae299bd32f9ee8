/*
 * Comparisons with other inputs than the program has: live ones with one of them negated, halved,
 * or with its rows, or columns, in reverse; see ab_extra.h.
 *
 * Original and candidate both run in memory of kprof's own, before the launch itself is compared.
 * The original finds it by its parameters, in which the program's addresses are replaced: only
 * where every piece of data was found there, and the rule says that it may run twice, so that what
 * it writes besides is written again by the launch itself.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_extra.h"

#include <string.h>

#define ALIGNED 256U
/* The first comparisons of a variant, then each so-many-th. */
#define FIRST 6U
#define LATER 8U
#define PARAMETERS_BYTES_MOST 4096U
#define BYTES_MOST ((uint64_t)64 << 20) /* of all data; none of it is given back */

/* The original's parameters with other addresses. */
struct moved_parameters {
	_Alignas(16) char bytes[PARAMETERS_BYTES_MOST];
	void *at[KP_AB_PARAMETERS_MOST];
	uint32_t found; /* data whose address was met, as bits */
};

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static bool overlap(const struct kp_ab_data *a, const struct kp_ab_data *b)
{
	return a->address - b->address < b->bytes || b->address - a->address < a->bytes;
}

/* Only what is read, or written, and not both. */
static bool is_simple(const struct kp_ab_job *job)
{
	uint32_t inputs = 0;

	for (uint32_t i = 0; i < job->data_count; i++) {
		if (job->data[i].role == KP_AB_INOUT)
			return false;
		inputs += job->data[i].role == KP_AB_INPUT;
		for (uint32_t j = 0; j < i; j++)
			if (overlap(&job->data[i], &job->data[j]))
				return false;
	}
	return inputs > 0;
}

/* Where an address in the program's data is in those of `moved`; 0: it is in none. */
static uint64_t moved_address(const struct kp_ab_job *job, const struct kp_ab_job *moved,
			      uint64_t address, uint32_t *found)
{
	for (uint32_t i = 0; i < job->data_count; i++) {
		uint64_t offset = address - job->data[i].address;

		if (offset < job->data[i].bytes) {
			*found |= 1U << i;
			return moved->data[i].address + offset;
		}
	}
	return 0;
}

/* The same job in other memory. Returns how much of that. */
static uint64_t move_job(const struct kp_ab_job *job, uint64_t memory, struct kp_ab_job *out)
{
	uint64_t used = 0;
	uint32_t at, found = 0;

	*out = *job;
	for (uint32_t i = 0; i < job->data_count; i++) {
		struct kp_ab_data *data = &out->data[i];

		data->address = memory + used + job->data[i].address % ALIGNED;
		data->matrix.data = (void *)(uintptr_t)data->address;
		used += rounded(job->data[i].address % ALIGNED + data->bytes);
	}
	for (uint32_t i = 0; i < job->rule->argument_count; i++) {
		uint64_t to;

		if (!kp_ab_job_is_pointer(&kp_ab.plan, job->rule, i, &at))
			continue;
		to = moved_address(job, out, (uint64_t)job->values[at], &found);
		if (to)
			out->values[at] = (int64_t)to;
	}
	return used;
}

/* False: they are too many, or an address is not among them as it is. */
static bool move_parameters(const struct kp_ab_job *job, const struct kp_ab_job *moved,
			    const struct kp_ab_view *view, struct moved_parameters *out)
{
	uint32_t used = 0;

	out->found = 0;
	for (uint32_t i = 0; i < view->parameter_count; i++) {
		uint32_t bytes = view->parameter_bytes[i];

		if (bytes > PARAMETERS_BYTES_MOST - used)
			return false;
		out->at[i] = out->bytes + used;
		memcpy(out->at[i], view->parameters[i], bytes);
		for (uint32_t at = 0; at + 8 <= bytes; at += 8) {
			uint64_t word, to;

			memcpy(&word, (char *)out->at[i] + at, sizeof(word));
			to = moved_address(job, moved, word, &out->found);
			if (to)
				memcpy((char *)out->at[i] + at, &to, sizeof(to));
		}
		used += (bytes + 15) / 16 * 16;
		if (used > PARAMETERS_BYTES_MOST)
			return false;
	}
	return out->found == (1U << job->data_count) - 1;
}

/* From its last row, or column, to its first. */
static struct kp_matrix reversed(struct kp_matrix matrix)
{
	int64_t bytes = matrix.dtype == KP_DTYPE_FP32 ? 4 : 2;
	bool rows = matrix.rows > 1;
	int64_t *stride = rows ? &matrix.row_stride : &matrix.column_stride;
	int64_t last = (int64_t)(rows ? matrix.rows : matrix.columns) - 1;

	matrix.data = (char *)matrix.data + last * *stride * bytes;
	*stride = -*stride;
	return matrix;
}

/* Inputs are copied, the one that it is about as is asked for. */
static bool copy_inputs(struct kp_ab_context *context, const struct kp_ab_job *job,
			const struct kp_ab_job *moved, enum kp_ab_extra extra, uint32_t changed)
{
	bool good = true;

	for (uint32_t i = 0; good && i < job->data_count; i++) {
		struct kp_copy_args args = {.from = job->data[i].matrix,
					    .to = moved->data[i].matrix};

		if (job->data[i].role != KP_AB_INPUT)
			continue;
		if (i == changed && extra == KP_AB_EXTRA_NEGATED)
			args.change = KP_COPY_NEGATED;
		if (i == changed && extra == KP_AB_EXTRA_HALVED)
			args.change = KP_COPY_HALVED;
		if (i == changed && extra == KP_AB_EXTRA_REVERSED)
			args.from = reversed(args.from);
		good = kp_ab.candidates->copy(context->set.compare, &args, job->stream) == KP_OK;
	}
	return good;
}

/* Which input the n-th of these comparisons changes: each in turn. */
static uint32_t choose_input(const struct kp_ab_job *job, uint32_t n)
{
	uint32_t inputs = 0;

	for (uint32_t i = 0; i < job->data_count; i++)
		inputs += job->data[i].role == KP_AB_INPUT;
	n %= inputs ? inputs : 1;
	for (uint32_t i = 0; i < job->data_count; i++)
		if (job->data[i].role == KP_AB_INPUT && n-- == 0)
			return i;
	return 0;
}

static bool run_original(const struct kp_ab_launch *launch, const struct kp_ab_job *job,
			 struct moved_parameters *parameters)
{
	const CUlaunchConfig config = {
		.gridDimX = launch->grid[0],
		.gridDimY = launch->grid[1],
		.gridDimZ = launch->grid[2],
		.blockDimX = launch->block[0],
		.blockDimY = launch->block[1],
		.blockDimZ = launch->block[2],
		.sharedMemBytes = launch->shared_bytes,
		.hStream = job->stream,
	};

	return kp_ab_driver_launch(&config, launch->function, parameters->at, NULL) == CUDA_SUCCESS;
}

/* Memory that no comparison is under way in. */
static bool have_memory(struct kp_ab_context *context, uint64_t bytes)
{
	const struct kp_ab_slot *slot = context->extra.slot;

	if (bytes > BYTES_MOST)
		return false;
	if (slot && slot->turn == context->extra.turn && atomic_load(&slot->busy))
		return false;
	if (context->extra.bytes < bytes) {
		context->extra.memory = kp_ab_context_memory(context, &kp_ab.driver, bytes);
		context->extra.bytes = context->extra.memory ? bytes : 0;
	}
	return context->extra.bytes >= bytes;
}

struct kp_ab_slot *kp_ab_extra(struct kp_ab_context *context, const struct kp_ab_job *job,
			       const struct kp_ab_launch *launch, const struct kp_ab_view *view,
			       uint32_t tried)
{
	enum kp_ab_extra extra = (enum kp_ab_extra)(tried % KP_AB_EXTRA_COUNT);
	struct moved_parameters parameters;
	struct kp_ab_slot *slot;
	struct kp_ab_job moved;
	uint64_t bytes;

	if (!launch || launch->has_attributes || !job->rule->repeatable || job->rule->as_given ||
	    (tried >= FIRST && tried % LATER) || !is_simple(job))
		return NULL;
	bytes = move_job(job, 0, &moved);
	if (!have_memory(context, bytes))
		return NULL;
	move_job(job, context->extra.memory, &moved);
	if (!move_parameters(job, &moved, view, &parameters) ||
	    kp_ab.driver.fill(context->extra.memory, 0, bytes / 4, job->stream) != CUDA_SUCCESS ||
	    !copy_inputs(context, job, &moved, extra, choose_input(job, tried / KP_AB_EXTRA_COUNT)))
		return NULL;
	/* Its own noise is not asked for: that is for the first comparison of all. */
	kp_ab_shadow_begin(context, &moved, tried + 2, &slot);
	if (!slot)
		return NULL;
	slot->extra = 1 + (uint32_t)extra;
	context->extra.slot = slot;
	context->extra.turn = slot->turn;
	kp_ab_shadow_end(context, slot, run_original(launch, job, &parameters));
	return slot;
}
