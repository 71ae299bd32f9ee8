/* Which range owns which kernel; see ranges.h. */
#include "analyzers/ranges_build.h"

#include <stdlib.h>
#include <string.h>

#include "trace/limits.h"
#include "trace/vector.h"

/* By time, the ranges of so many threads and domains are looked at for each kernel. */
#define STACKS_MOST 64U
/* What is no further than that from its place is put there; else all is sorted. */
#define NEAR 16

/* ---- rows ---- */

/* The number of a string's text, the same for all processes. */
static enum kp_status text_of(struct kp_build_ranges *ranges, const struct kp_process *process,
			      uint32_t string, uint32_t *number)
{
	struct kp_ranges_process *own = &ranges->processes[process->index];
	enum kp_status status = KP_OK;

	if (!own->texts[string]) {
		struct kp_text text = kp_process_string(process, string);

		status = kp_intern_put(&ranges->texts, text.bytes, text.length, number, NULL);
		own->texts[string] = status == KP_OK ? *number + 1 : 0;
	}
	*number = own->texts[string] - 1;
	return status;
}

static enum kp_status find_row(struct kp_build_ranges *ranges, const struct kp_ranges_row *wanted,
			       uint32_t *number)
{
	const uint32_t key[4] = {wanted->parent, wanted->domain, wanted->name, wanted->of_process};
	enum kp_status status;
	bool added;

	if (ranges->row_count >= ranges->rows_most) {
		if (!kp_intern_find(&ranges->row_keys, key, sizeof(key), number))
			*number = KP_RANGE_NONE;
		return KP_OK;
	}
	status = kp_intern_put(&ranges->row_keys, key, sizeof(key), number, &added);
	if (status != KP_OK || !added)
		return status;
	if (!kp_vector_grow((void **)&ranges->rows, ranges->row_count, &ranges->row_capacity,
			    sizeof(*ranges->rows)))
		return KP_NO_MEMORY;
	ranges->rows[ranges->row_count++] = *wanted;
	return KP_OK;
}

/* A time of the process on a clock that all hosts share, where it is known. */
static uint64_t common(const struct kp_process *process, uint64_t at_ns)
{
	const struct kp_clock_info *clock = &process->first_clock;

	if (!KP_HAS(clock, CLOCK, realtime_ns) || !KP_HAS(clock, CLOCK, monotonic_ns))
		return at_ns;
	return at_ns + (clock->realtime_ns - clock->monotonic_ns);
}

enum kp_status kp_ranges_linked(void *context, struct kp_range_stack *stack,
				struct kp_range_node *node)
{
	const struct kp_ranges_link *link = context;
	struct kp_build_ranges *ranges = link->ranges;
	struct kp_ranges_row wanted = {.parent = KP_RANGE_NONE, .of_process = stack->of_process};
	uint64_t first_ns = common(link->process, node->start_ns);
	uint64_t last_ns = common(link->process, node->end_ns);
	struct kp_ranges_row *row;
	enum kp_status status;

	if (node->parent != KP_RANGE_NONE)
		wanted.parent = stack->nodes[node->parent].row;
	if (wanted.parent != KP_RANGE_NONE)
		wanted.depth = ranges->rows[wanted.parent].depth + 1;
	status = text_of(ranges, link->process, stack->domain, &wanted.domain);
	if (status == KP_OK)
		status = text_of(ranges, link->process, node->name, &wanted.name);
	if (status == KP_OK)
		status = find_row(ranges, &wanted, &node->row);
	if (status != KP_OK || node->row == KP_RANGE_NONE) {
		ranges->left_out += status == KP_OK;
		return status;
	}
	row = &ranges->rows[node->row];
	if (!row->calls++ || first_ns < row->first_ns)
		row->first_ns = first_ns;
	if (last_ns > row->last_ns)
		row->last_ns = last_ns;
	row->host_ns = kp_add_saturating(row->host_ns, node->end_ns - node->start_ns);
	return KP_OK;
}

/* ---- one kernel ---- */

struct owner {
	struct kp_build_ranges *ranges;
	const struct kp_process *process;
	const struct kp_ranges_kernel *kernel;
	bool phases[KP_PHASE_COUNT]; /* it belongs to */
	bool owned;
	enum kp_status status;
};

static void note_phase(struct owner *owner, uint32_t name)
{
	struct kp_ranges_process *own = &owner->ranges->processes[owner->process->index];
	unsigned phase;

	if (!own->phases[name])
		own->phases[name] =
			(uint8_t)(1 + kp_phase_of(kp_process_string(owner->process, name)));
	phase = own->phases[name] - 1U;
	if (phase < KP_PHASE_COUNT)
		owner->phases[phase] = true;
}

/* What kernels in a row, in order of their start, add to one range, which has them all. What comes
 * later may begin earlier, seldom. */
static void add_run(struct kp_build_ranges *ranges, struct kp_range_node *node, bool innermost,
		    const struct kp_ranges_kernel *kernels, size_t count)
{
	uint64_t last_ns = node->last_ns, busy_ns = 0, sum_ns = 0;
	struct kp_ranges_row *row;

	if (node->row == KP_RANGE_NONE)
		return;
	for (size_t i = 0; i < count; i++) {
		uint64_t start_ns = kernels[i].start_ns, end_ns = kernels[i].end_ns;
		uint64_t from_ns = start_ns > last_ns ? start_ns : last_ns;

		sum_ns = kp_add_saturating(sum_ns, end_ns - start_ns);
		busy_ns += end_ns > from_ns ? end_ns - from_ns : 0;
		last_ns = end_ns > last_ns ? end_ns : last_ns;
	}
	/* One alone may have no times. */
	if (kernels[0].end_ns && (!node->last_ns || kernels[0].start_ns < node->first_ns))
		node->first_ns = kernels[0].start_ns;
	node->last_ns = last_ns;
	node->busy_ns += busy_ns;
	row = &ranges->rows[node->row];
	row->kernels += count;
	row->kernel_ns = kp_add_saturating(row->kernel_ns, sum_ns);
	row->own_kernels += innermost ? count : 0;
	row->own_kernel_ns = kp_add_saturating(row->own_kernel_ns, innermost ? sum_ns : 0);
}

/* Gives the kernel to one range. */
static void give(struct owner *owner, struct kp_range_node *node, bool innermost)
{
	owner->owned = true;
	if (innermost && owner->status == KP_OK)
		owner->status = kp_ranges_call(owner->ranges, node->row, owner->kernel);
	note_phase(owner, node->name);
	add_run(owner->ranges, node, innermost, owner->kernel, 1);
}

static void give_up_to(struct owner *owner, struct kp_range_stack *stack, uint32_t at)
{
	for (bool innermost = true; at != KP_RANGE_NONE; innermost = false) {
		give(owner, &stack->nodes[at], innermost);
		at = stack->nodes[at].parent;
	}
}

/* Of each name, the range of the process that began last. */
static void give_process(struct owner *owner, struct kp_range_index *index)
{
	uint64_t at_ns = owner->kernel->at_ns;

	for (uint32_t i = index->process_stacks; i != KP_RANGE_NONE; i = index->stacks[i].next) {
		struct kp_range_stack *stack = &index->stacks[i];
		uint32_t rows[KP_RANGE_DEPTH_MOST], count = 0;
		uint32_t at = kp_range_stack_before(stack, UINT32_MAX, at_ns);

		for (; at != KP_RANGE_NONE && count < KP_RANGE_DEPTH_MOST;
		     at = at ? kp_range_stack_before(stack, at, at_ns) : KP_RANGE_NONE) {
			uint32_t seen = 0;

			while (seen < count && rows[seen] != stack->nodes[at].row)
				seen++;
			if (seen < count)
				continue;
			rows[count++] = stack->nodes[at].row;
			give(owner, &stack->nodes[at], true);
		}
	}
}

static void give_thread(struct owner *owner, struct kp_range_index *index)
{
	uint32_t i = kp_range_index_thread(index, owner->kernel->thread);

	for (; i != KP_RANGE_NONE; i = index->stacks[i].next)
		give_up_to(owner, &index->stacks[i],
			   kp_range_stack_at(&index->stacks[i], owner->kernel->at_ns));
}

/* Whether the ranges of two threads in one domain were open, or there are too many to look. */
static bool is_ambiguous(struct kp_range_index *index, uint64_t at_ns)
{
	uint32_t domains[STACKS_MOST], count = 0;

	if (index->stack_count > STACKS_MOST || index->stack_count < 2)
		return index->stack_count > 1;
	for (size_t i = 0; i < index->stack_count; i++) {
		struct kp_range_stack *stack = &index->stacks[i];

		if (stack->of_process || kp_range_stack_at(stack, at_ns) == KP_RANGE_NONE)
			continue;
		for (uint32_t k = 0; k < count; k++)
			if (domains[k] == stack->domain)
				return true;
		domains[count++] = stack->domain;
	}
	return false;
}

static void give_by_time(struct owner *owner, struct kp_range_index *index)
{
	for (size_t i = 0; i < index->stack_count; i++)
		if (!index->stacks[i].of_process)
			give_up_to(owner, &index->stacks[i],
				   kp_range_stack_at(&index->stacks[i], owner->kernel->at_ns));
}

static void add_to_phase(struct kp_build_ranges *ranges, const struct kp_ranges_kernel *kernel,
			 unsigned number)
{
	struct kp_owned_phase *phase = &ranges->phases[kernel->use][number];
	uint64_t from_ns =
		kernel->start_ns > phase->covered_ns ? kernel->start_ns : phase->covered_ns;

	phase->kernels++;
	phase->kernel_ns += kernel->end_ns - kernel->start_ns;
	if (kernel->end_ns <= from_ns)
		return;
	phase->busy_ns += kernel->end_ns - from_ns;
	phase->covered_ns = kernel->end_ns;
}

/* The phases of the use own it, too. */
static void add_to_phases(const struct owner *owner)
{
	const struct kp_ranges_kernel *kernel = owner->kernel;

	for (unsigned i = 0; i < KP_PHASE_COUNT; i++)
		if (owner->phases[i])
			add_to_phase(owner->ranges, kernel, i);
}

static enum kp_status own_one(struct kp_builder *builder, const struct kp_process *process,
			      const struct kp_ranges_kernel *kernel)
{
	struct kp_build_ranges *ranges = builder->ranges;
	struct kp_ranges_process *own = &ranges->processes[process->index];
	struct owner owner = {.ranges = ranges, .process = process, .kernel = kernel};
	uint64_t duration_ns = kernel->end_ns - kernel->start_ns;

	if (!kernel->known || (own->doubt && is_ambiguous(&own->index, kernel->at_ns))) {
		ranges->unattributed++;
		ranges->unattributed_ns += duration_ns;
		return KP_OK;
	}
	if (own->doubt)
		give_by_time(&owner, &own->index);
	else
		give_thread(&owner, &own->index);
	give_process(&owner, &own->index);
	add_to_phases(&owner);
	ranges->owned += owner.owned;
	ranges->outside += !owner.owned;
	ranges->owned_ns += owner.owned ? duration_ns : 0;
	ranges->outside_ns += owner.owned ? 0 : duration_ns;
	return owner.status;
}

/* ---- kernels in a row ---- */

/* Whether ranges own by time, and all are of one thread and domain. */
static bool is_simple(const struct kp_ranges_process *own)
{
	return own->doubt && own->index.stack_count == 1 && !own->index.stacks->of_process;
}

/* Then: all from the first on, which is known, that the same ranges own; *length: how many. */
static enum kp_status own_run(struct kp_build_ranges *ranges, const struct kp_process *process,
			      const struct kp_ranges_kernel *kernels, size_t count,
			      uint64_t watermark_ns, size_t *length)
{
	struct kp_ranges_process *own = &ranges->processes[process->index];
	struct kp_range_stack *stack = own->index.stacks;
	struct owner owner = {.ranges = ranges, .process = process};
	uint64_t until_ns, sum_ns = 0;
	uint32_t at = kp_range_stack_at(stack, kernels->at_ns);
	size_t run = 0;

	until_ns = kp_range_stack_until(stack, at, kernels->at_ns);
	until_ns = until_ns < watermark_ns ? until_ns : watermark_ns;
	for (; run < count && kernels[run].known && kernels[run].at_ns < until_ns; run++)
		sum_ns += kernels[run].end_ns - kernels[run].start_ns;
	for (uint32_t node = at; node != KP_RANGE_NONE; node = stack->nodes[node].parent) {
		note_phase(&owner, stack->nodes[node].name);
		add_run(ranges, &stack->nodes[node], node == at, kernels, run);
	}
	bool calls = ranges->wants_callers && at != KP_RANGE_NONE;
	for (size_t k = 0; calls && k < run && owner.status == KP_OK; k++)
		owner.status = kp_ranges_call(ranges, stack->nodes[at].row, &kernels[k]);
	for (unsigned i = 0; i < KP_PHASE_COUNT; i++)
		for (size_t k = 0; owner.phases[i] && k < run; k++)
			add_to_phase(ranges, &kernels[k], i);
	*(at == KP_RANGE_NONE ? &ranges->outside : &ranges->owned) += run;
	*(at == KP_RANGE_NONE ? &ranges->outside_ns : &ranges->owned_ns) += sum_ns;
	*length = run;
	return owner.status;
}

/* ---- a batch ---- */

static int by_start(const void *left, const void *right)
{
	const struct kp_ranges_kernel *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* Puts one to its place among those before it; false: that is too far. */
static bool sink(struct kp_ranges_kernel *added, size_t number)
{
	const struct kp_ranges_kernel kernel = added[number];
	size_t at = number;

	while (at && number - at < NEAR && by_start(&added[at - 1], &kernel) > 0) {
		added[at] = added[at - 1];
		at--;
	}
	added[at] = kernel;
	return !at || number - at < NEAR || by_start(&added[at - 1], &kernel) <= 0;
}

/* Sorts what was added, as a rule in order but for equal starts. */
static void sort_added(struct kp_ranges_kernel *added, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (!sink(added, i)) {
			qsort(added, count, sizeof(*added), by_start);
			return;
		}
}

/* Sorts the batch: what was left of the one before is, and is few as a rule. */
static enum kp_status sort_batch(struct kp_ranges_process *own)
{
	struct kp_ranges_kernel *batch = own->batch;
	size_t left = own->left_count, at = 0, next = left, taken = 0;

	sort_added(batch + left, own->batch_count - left);
	if (!kp_vector_reserve((void **)&own->left, left, &own->left_capacity, sizeof(*own->left)))
		return KP_NO_MEMORY;
	if (left)
		memcpy(own->left, batch, left * sizeof(*batch));
	for (; taken < left; at++) {
		if (next < own->batch_count && by_start(&own->left[taken], &batch[next]) > 0)
			batch[at] = batch[next++];
		else
			batch[at] = own->left[taken++];
	}
	return KP_OK;
}

static enum kp_status reserve_phases(struct kp_builder *builder)
{
	struct kp_build_ranges *ranges = builder->ranges;

	if (!kp_vector_reserve((void **)&ranges->phases, builder->use_count,
			       &ranges->phase_capacity, sizeof(*ranges->phases)))
		return KP_NO_MEMORY;
	for (; ranges->phase_count < builder->use_count; ranges->phase_count++)
		for (unsigned i = 0; i < KP_PHASE_COUNT; i++)
			ranges->phases[ranges->phase_count][i] = (struct kp_owned_phase){0};
	return KP_OK;
}

enum kp_status kp_ranges_own(struct kp_builder *builder, const struct kp_process *process,
			     uint64_t watermark_ns)
{
	struct kp_ranges_process *own = &builder->ranges->processes[process->index];
	enum kp_status status = KP_OK;
	size_t left = 0;

	if (!own->batch_count)
		return KP_OK;
	if (reserve_phases(builder) != KP_OK)
		return KP_NO_MEMORY;
	if (sort_batch(own) != KP_OK)
		return KP_NO_MEMORY;
	if (own->batch_count > kp_limits_waiting(kp_reader_bytes(builder->reader)) &&
	    own->batch[own->batch_count / 2].at_ns >= watermark_ns)
		watermark_ns = own->batch[own->batch_count / 2].at_ns + 1;
	for (size_t i = 0, taken; i < own->batch_count && status == KP_OK; i += taken) {
		const struct kp_ranges_kernel *kernel = &own->batch[i];

		taken = 1;
		if (kernel->at_ns >= watermark_ns)
			own->batch[left++] = *kernel;
		else if (is_simple(own) && kernel->known)
			status = own_run(builder->ranges, process, kernel, own->batch_count - i,
					 watermark_ns, &taken);
		else
			status = own_one(builder, process, kernel);
	}
	own->batch_count = own->left_count = left;
	return status;
}
