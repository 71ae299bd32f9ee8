/* Exclusive time; see alone.h. */
#include "analyzers/alone.h"

#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

#define NO_KERNEL UINT32_MAX

static enum kp_status reserve(uint64_t **values, size_t *count, uint32_t index)
{
	if (index == NO_KERNEL)
		return KP_OK;
	return kp_vector_reserve((void **)values, (size_t)index + 1, count, sizeof(**values))
		       ? KP_OK
		       : KP_NO_MEMORY;
}

/* Gives the time until to_ns, in which nothing begins or ends, to what is alone in it. */
static void divide(struct kp_alone *alone, uint64_t to_ns, struct kp_alone_times *times)
{
	const struct kp_alone_open *open = &alone->open[alone->first];
	uint64_t from_ns = alone->now_ns > alone->crowd_ns ? alone->now_ns : alone->crowd_ns;
	bool row_alone, operator_alone;

	alone->now_ns = to_ns;
	if (!alone->open_count || from_ns >= to_ns)
		return;
	row_alone = operator_alone = open->row != NO_KERNEL;
	for (size_t i = 1; i < alone->open_count && operator_alone; i++) {
		row_alone &= open[i].row == open->row;
		operator_alone &= open[i].operator_index == open->operator_index;
	}
	if (row_alone)
		times->row_ns[open->row] += to_ns - from_ns;
	if (operator_alone)
		times->operator_ns[open->operator_index] += to_ns - from_ns;
}

/* Lets time pass to to_ns, closing what ends until then. */
static void advance(struct kp_alone *alone, uint64_t to_ns, struct kp_alone_times *times)
{
	while (alone->open_count && alone->open[alone->first].end_ns <= to_ns) {
		divide(alone, alone->open[alone->first].end_ns, times);
		alone->first++;
		alone->open_count--;
	}
	if (to_ns > alone->now_ns)
		divide(alone, to_ns, times);
}

/* Puts what begins among what runs, for which there is room. */
static void insert(struct kp_alone *alone, uint64_t end_ns, uint32_t row, uint32_t operator_index)
{
	struct kp_alone_open *open = &alone->open[alone->first];
	size_t at = alone->open_count++;

	if (!at || alone->first + at == 2 * KP_ALONE_OPEN_MAX) {
		memmove(alone->open, open, at * sizeof(*open));
		alone->first = 0;
		open = alone->open;
	}
	for (; at && open[at - 1].end_ns > end_ns; at--)
		open[at] = open[at - 1];
	open[at].end_ns = end_ns;
	open[at].row = row;
	open[at].operator_index = operator_index;
}

enum kp_status kp_alone_add(struct kp_alone *alone, const struct kp_activity *item,
			    struct kp_alone_times *times)
{
	bool kernel = item->kind == KP_ACTIVITY_KERNEL;
	uint32_t row = kernel ? item->row : NO_KERNEL;
	uint32_t operator_index = kernel ? item->operator_index : NO_KERNEL;

	if (reserve(&times->row_ns, &times->row_count, row) != KP_OK ||
	    reserve(&times->operator_ns, &times->operator_count, operator_index) != KP_OK)
		return KP_NO_MEMORY;
	advance(alone, item->start_ns, times);
	if (item->end_ns <= alone->now_ns)
		return KP_OK;
	if (alone->open_count < KP_ALONE_OPEN_MAX)
		insert(alone, item->end_ns, row, operator_index);
	else if (item->end_ns > alone->crowd_ns)
		alone->crowd_ns = item->end_ns;
	return KP_OK;
}

void kp_alone_finish(struct kp_alone *alone, struct kp_alone_times *times)
{
	advance(alone, UINT64_MAX - 1, times);
}

void kp_alone_times_fini(struct kp_alone_times *times)
{
	free(times->row_ns);
	free(times->operator_ns);
	*times = (struct kp_alone_times){0};
}
