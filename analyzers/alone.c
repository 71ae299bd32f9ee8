/* Exclusive time; see alone.h. */
#include "analyzers/alone.h"

#include <stdlib.h>

#include "trace/vector.h"

#define NO_KERNEL UINT32_MAX

static bool reserve(uint64_t **values, size_t *count, uint32_t number)
{
	return number == NO_KERNEL ||
	       kp_vector_reserve((void **)values, (size_t)number + 1, count, sizeof(**values));
}

/* Gives the time from now until to_ns, in which nothing begins, to what is alone in it. */
static void divide(const struct kp_alone_last *last, uint64_t now_ns, uint64_t to_ns,
		   uint64_t *times_ns)
{
	uint64_t from_ns = last->others_end_ns > now_ns ? last->others_end_ns : now_ns;
	uint64_t until_ns = last->end_ns < to_ns ? last->end_ns : to_ns;

	if (times_ns && last->number != NO_KERNEL) /* or no kernel has begun */
		times_ns[last->number] += until_ns > from_ns ? until_ns - from_ns : 0;
}

static void advance(struct kp_alone *alone, uint64_t to_ns, struct kp_alone_times *times)
{
	if (to_ns <= alone->now_ns)
		return;
	divide(&alone->row, alone->now_ns, to_ns, times->row_ns);
	divide(&alone->operator_index, alone->now_ns, to_ns, times->operator_ns);
	alone->now_ns = to_ns;
}

/* Choices, not branches: which of those that run side by side ends last is as good as chance. */
static void begin(struct kp_alone_last *last, uint32_t number, uint64_t end_ns)
{
	bool is_last = end_ns > last->end_ns;
	uint64_t sooner_ns = is_last ? last->end_ns : end_ns;
	uint64_t others_ns = sooner_ns > last->others_end_ns ? sooner_ns : last->others_end_ns;

	last->others_end_ns +=
		(others_ns - last->others_end_ns) & (0 - (uint64_t)(number != last->number));
	last->number = is_last ? number : last->number;
	last->end_ns = is_last ? end_ns : last->end_ns;
}

static enum kp_status add(struct kp_alone *alone, const struct kp_activity *item,
			  struct kp_alone_times *times)
{
	bool kernel = item->kind == KP_ACTIVITY_KERNEL;
	uint32_t row = kernel ? item->row : NO_KERNEL;
	uint32_t operator_index = kernel ? item->operator_index : NO_KERNEL;

	if (!reserve(&times->row_ns, &times->row_count, row) ||
	    !reserve(&times->operator_ns, &times->operator_count, operator_index))
		return KP_NO_MEMORY;
	advance(alone, item->start_ns, times);
	begin(&alone->row, row, item->end_ns);
	begin(&alone->operator_index, operator_index, item->end_ns);
	return KP_OK;
}

enum kp_status kp_alone_add_all(struct kp_alone *alone, const struct kp_activity *items,
				size_t count, struct kp_alone_times *times)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = add(alone, &items[i], times);
	return status;
}

void kp_alone_finish(struct kp_alone *alone, struct kp_alone_times *times)
{
	advance(alone, UINT64_MAX, times);
}

void kp_alone_times_fini(struct kp_alone_times *times)
{
	free(times->row_ns);
	free(times->operator_ns);
	*times = (struct kp_alone_times){0};
}
