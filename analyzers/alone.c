/* Exclusive time; see alone.h. */
#include "analyzers/alone.h"

#include <stdlib.h>

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
	const struct kp_alone_open *first = &alone->open[0];
	uint64_t from_ns = alone->now_ns > alone->crowd_ns ? alone->now_ns : alone->crowd_ns;
	bool row_alone, operator_alone;

	alone->now_ns = to_ns;
	if (!alone->open_count || from_ns >= to_ns)
		return;
	row_alone = operator_alone = first->row != NO_KERNEL;
	for (size_t i = 1; i < alone->open_count && operator_alone; i++) {
		row_alone &= alone->open[i].row == first->row;
		operator_alone &= alone->open[i].operator_index == first->operator_index;
	}
	if (row_alone)
		times->row_ns[first->row] += to_ns - from_ns;
	if (operator_alone)
		times->operator_ns[first->operator_index] += to_ns - from_ns;
}

/* Lets time pass to to_ns, closing what ends until then. */
static void advance(struct kp_alone *alone, uint64_t to_ns, struct kp_alone_times *times)
{
	while (alone->open_count) {
		uint64_t end_ns = UINT64_MAX;
		size_t left = 0;

		for (size_t i = 0; i < alone->open_count; i++)
			if (alone->open[i].end_ns < end_ns)
				end_ns = alone->open[i].end_ns;
		if (end_ns > to_ns)
			break;
		divide(alone, end_ns, times);
		for (size_t i = 0; i < alone->open_count; i++)
			if (alone->open[i].end_ns > end_ns)
				alone->open[left++] = alone->open[i];
		alone->open_count = left;
	}
	if (to_ns > alone->now_ns)
		divide(alone, to_ns, times);
}

enum kp_status kp_alone_add(struct kp_alone *alone, const struct kp_activity *item,
			    struct kp_alone_times *times)
{
	bool kernel = item->kind == KP_ACTIVITY_KERNEL;
	struct kp_alone_open open = {item->end_ns, kernel ? item->row : NO_KERNEL,
				     kernel ? item->operator_index : NO_KERNEL};

	if (reserve(&times->row_ns, &times->row_count, open.row) != KP_OK ||
	    reserve(&times->operator_ns, &times->operator_count, open.operator_index) != KP_OK)
		return KP_NO_MEMORY;
	advance(alone, item->start_ns, times);
	if (item->end_ns <= alone->now_ns)
		return KP_OK;
	if (alone->open_count < KP_ALONE_OPEN_MAX)
		alone->open[alone->open_count++] = open;
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
