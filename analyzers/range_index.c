/* Ranges by thread and domain; see range_index.h. */
#include "analyzers/range_index.h"

#include <stdlib.h>

#include "trace/vector.h"

void kp_range_index_init(struct kp_range_index *index)
{
	*index = (struct kp_range_index){.process_stacks = KP_RANGE_NONE};
}

void kp_range_index_fini(struct kp_range_index *index)
{
	for (size_t i = 0; i < index->stack_count; i++) {
		free(index->stacks[i].nodes);
		free(index->stacks[i].latest_ns);
	}
	free(index->stacks);
	free(index->first_of);
	kp_intern_fini(&index->stack_keys);
	kp_intern_fini(&index->thread_keys);
}

/* ---- adding ---- */

/* Hangs a new stack to those of its thread. */
static enum kp_status hang(struct kp_range_index *index, uint32_t number)
{
	struct kp_range_stack *stack = &index->stacks[number];
	uint32_t *first = &index->process_stacks, thread = 0;
	enum kp_status status = KP_OK;
	bool added = false;

	if (!stack->of_process) {
		status = kp_intern_put(&index->thread_keys, &stack->thread, sizeof(stack->thread),
				       &thread, &added);
		if (status == KP_OK &&
		    !kp_vector_reserve((void **)&index->first_of, index->thread_keys.count,
				       &index->first_capacity, sizeof(*index->first_of)))
			status = KP_NO_MEMORY;
		if (status != KP_OK)
			return status;
		first = &index->first_of[thread];
		if (added)
			*first = KP_RANGE_NONE;
	}
	stack->next = *first;
	*first = number;
	return status;
}

static enum kp_status find_stack(struct kp_range_index *index, const struct kp_range *range,
				 uint32_t *number)
{
	bool of_process = range->depth == UINT32_MAX, added;
	const uint32_t key[3] = {of_process ? 0 : range->thread, range->domain, of_process};
	enum kp_status status;

	status = kp_intern_put(&index->stack_keys, key, sizeof(key), number, &added);
	if (status != KP_OK || !added)
		return status;
	if (!kp_vector_grow((void **)&index->stacks, index->stack_count, &index->stack_capacity,
			    sizeof(*index->stacks)))
		return KP_NO_MEMORY;
	index->stacks[index->stack_count++] = (struct kp_range_stack){
		.thread = key[0], .domain = key[1], .of_process = of_process};
	return hang(index, *number);
}

enum kp_status kp_range_index_add(struct kp_range_index *index, const struct kp_range *range)
{
	uint32_t number = 0;
	enum kp_status status = find_stack(index, range, &number);
	struct kp_range_stack *stack;

	if (status != KP_OK)
		return status;
	stack = &index->stacks[number];
	if (stack->count == KP_RANGE_NONE ||
	    !kp_vector_grow((void **)&stack->nodes, stack->count, &stack->capacity,
			    sizeof(*stack->nodes)))
		return KP_NO_MEMORY;
	stack->nodes[stack->count++] = (struct kp_range_node){
		.start_ns = range->start_ns,
		.end_ns = range->end_ns,
		.parent = KP_RANGE_NONE,
		.name = range->name,
		.row = KP_RANGE_NONE,
		.said = (uint16_t)(range->depth < UINT16_MAX ? range->depth : UINT16_MAX),
	};
	return KP_OK;
}

/* ---- linking ---- */

/* Those that enclose others come before them. */
static int by_start(const void *left, const void *right)
{
	const struct kp_range_node *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	return (a->said > b->said) - (a->said < b->said);
}

static void sort_rest(struct kp_range_stack *stack)
{
	struct kp_range_node *rest = stack->nodes + stack->linked;
	size_t count = stack->count - stack->linked;

	for (size_t i = 1; i < count; i++)
		if (by_start(&rest[i - 1], &rest[i]) > 0) {
			qsort(rest, count, sizeof(*rest), by_start);
			return;
		}
}

/* The range that encloses the next one; ranges that only overlap, as no program makes them, enclose
 * nothing. */
static void find_parent(struct kp_range_stack *stack, size_t number)
{
	struct kp_range_node *node = &stack->nodes[number];
	uint32_t at = number ? (uint32_t)(number - 1) : KP_RANGE_NONE;

	while (at != KP_RANGE_NONE && (stack->nodes[at].end_ns <= node->start_ns ||
				       stack->nodes[at].end_ns < node->end_ns))
		at = stack->nodes[at].parent;
	if (at != KP_RANGE_NONE && stack->nodes[at].depth >= KP_RANGE_DEPTH_MOST)
		at = stack->nodes[at].parent;
	node->parent = at;
	node->depth = at == KP_RANGE_NONE ? 0 : (uint16_t)(stack->nodes[at].depth + 1);
}

/* The latest end so far, for ranges of the process, which do not enclose one another. */
static bool note_latest(struct kp_range_stack *stack, size_t number)
{
	uint64_t end_ns = stack->nodes[number].end_ns;

	if (!kp_vector_grow((void **)&stack->latest_ns, number, &stack->latest_capacity,
			    sizeof(*stack->latest_ns)))
		return false;
	if (number && stack->latest_ns[number - 1] > end_ns)
		end_ns = stack->latest_ns[number - 1];
	stack->latest_ns[number] = end_ns;
	return true;
}

enum kp_status kp_range_index_link(struct kp_range_index *index, uint64_t watermark_ns,
				   enum kp_status (*linked)(void *context,
							    struct kp_range_stack *stack,
							    struct kp_range_node *node),
				   void *context)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < index->stack_count; i++) {
		struct kp_range_stack *stack = &index->stacks[i];

		sort_rest(stack);
		while (status == KP_OK && stack->linked < stack->count &&
		       stack->nodes[stack->linked].start_ns < watermark_ns) {
			if (!stack->of_process)
				find_parent(stack, stack->linked);
			else if (!note_latest(stack, stack->linked))
				return KP_NO_MEMORY;
			status = linked(context, stack, &stack->nodes[stack->linked++]);
		}
	}
	return status;
}

/* ---- looking up ---- */

uint32_t kp_range_index_thread(const struct kp_range_index *index, uint32_t thread)
{
	uint32_t number;

	if (!kp_intern_find(&index->thread_keys, &thread, sizeof(thread), &number))
		return KP_RANGE_NONE;
	return index->first_of[number];
}

/* The last range that has begun; KP_RANGE_NONE: none. */
static uint32_t last_begun(const struct kp_range_stack *stack, size_t count, uint64_t at_ns)
{
	size_t from = 0, to = count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (stack->nodes[middle].start_ns <= at_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from ? (uint32_t)(from - 1) : KP_RANGE_NONE;
}

/* The same, which as a rule is the one that was found last, or the one behind that. */
static uint32_t last_begun_near(struct kp_range_stack *stack, uint64_t at_ns)
{
	const struct kp_range_node *nodes = stack->nodes;
	size_t at = stack->found, end = at + 2;
	uint32_t found;

	for (; at < end && at < stack->linked && nodes[at].start_ns <= at_ns; at++)
		if (at + 1 == stack->linked || nodes[at + 1].start_ns > at_ns)
			return stack->found = (uint32_t)at;
	found = last_begun(stack, stack->linked, at_ns);
	stack->found = found == KP_RANGE_NONE ? 0 : found;
	return found;
}

uint32_t kp_range_stack_at(struct kp_range_stack *stack, uint64_t at_ns)
{
	uint32_t at = last_begun_near(stack, at_ns);

	while (at != KP_RANGE_NONE && stack->nodes[at].end_ns <= at_ns)
		at = stack->nodes[at].parent;
	return at;
}

uint64_t kp_range_stack_until(const struct kp_range_stack *stack, uint32_t at, uint64_t at_ns)
{
	size_t next = stack->found; /* the first that has not begun */
	uint64_t until_ns = at == KP_RANGE_NONE ? UINT64_MAX : stack->nodes[at].end_ns;

	next += next < stack->linked && stack->nodes[next].start_ns <= at_ns;
	if (next < stack->linked && stack->nodes[next].start_ns < until_ns)
		until_ns = stack->nodes[next].start_ns;
	return until_ns;
}

uint32_t kp_range_stack_before(const struct kp_range_stack *stack, uint32_t from, uint64_t at_ns)
{
	size_t count = from < stack->linked ? from : stack->linked;
	uint32_t at = last_begun(stack, count, at_ns);

	for (unsigned steps = 0; at != KP_RANGE_NONE && stack->nodes[at].end_ns <= at_ns; steps++) {
		if (stack->latest_ns[at] <= at_ns || steps == KP_RANGE_REACH)
			return KP_RANGE_NONE;
		at = at ? at - 1 : KP_RANGE_NONE;
	}
	return at;
}
