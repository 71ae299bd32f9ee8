/* In which ranges each kernel was launched; see ranges.h. */
#include "analyzers/ranges_build.h"

#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

enum kp_status kp_ranges_call(struct kp_build_ranges *ranges, uint32_t range,
			      const struct kp_ranges_kernel *kernel)
{
	const uint32_t key[2] = {kernel->row, range};
	struct kp_ranges_caller *caller;
	uint32_t number;
	bool added = false;

	if (!ranges->wants_callers || range == KP_RANGE_NONE || kernel->row == UINT32_MAX)
		return KP_OK;
	if (!kp_intern_find(&ranges->caller_keys, key, sizeof(key), &number)) {
		if (ranges->caller_keys.count >= KP_RANGE_CALLERS_MOST)
			return KP_OK;
		if (kp_intern_put(&ranges->caller_keys, key, sizeof(key), &number, &added) !=
			    KP_OK ||
		    !kp_vector_reserve((void **)&ranges->callers, (size_t)number + 1,
				       &ranges->caller_capacity, sizeof(*ranges->callers)))
			return KP_NO_MEMORY;
	}
	caller = &ranges->callers[number];
	if (added)
		*caller = (struct kp_ranges_caller){0};
	caller->calls++;
	caller->total_ns = kp_add_saturating(caller->total_ns, kernel->end_ns - kernel->start_ns);
	return KP_OK;
}

static int by_kernel(const void *left, const void *right)
{
	const struct kp_range_caller *a = left, *b = right;
	int result = kp_build_order(a->kernel, b->kernel);

	if (!result)
		result = kp_build_order(b->total_ns, a->total_ns);
	return result ? result : kp_build_order(a->range, b->range);
}

enum kp_status kp_ranges_put_callers(struct kp_builder *builder, const size_t *place,
				     struct kp_report_ranges *out)
{
	const struct kp_build_ranges *ranges = builder->ranges;
	size_t count = ranges->caller_keys.count;
	struct kp_range_caller *callers;

	if (!count)
		return KP_OK;
	callers = kp_arena_alloc(builder->report->arena, count * sizeof(*callers));
	if (!callers)
		return KP_NO_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t key[2];
		size_t length;

		memcpy(key, kp_intern_bytes(&ranges->caller_keys, i, &length), sizeof(key));
		callers[i] = (struct kp_range_caller){.kernel = builder->kernel_of_row[key[0]],
						      .range = place[key[1]],
						      .calls = ranges->callers[i].calls,
						      .total_ns = ranges->callers[i].total_ns};
	}
	qsort(callers, count, sizeof(*callers), by_kernel);
	out->callers = callers;
	out->caller_count = count;
	return KP_OK;
}
