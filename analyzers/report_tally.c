/*
 * The durations of a batch of launches, added row by row: a row's histogram is looked for once a
 * batch, not once a launch, for it is far away as a rule.
 */
#include "analyzers/report_build.h"
#include "analyzers/report_passes.h"

#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

/* What sorting a batch needs. */
struct kp_build_sorting {
	uint64_t *durations_ns;
	size_t duration_capacity;
	uint32_t *ends; /* by row: where its durations end, or will */
	size_t end_capacity;
};

static bool is_timed(const struct kp_launch *launch)
{
	return kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID;
}

static enum kp_status reserve(struct kp_builder *builder, size_t count)
{
	struct kp_build_sorting *sorting = builder->sorting;

	if (!sorting)
		sorting = builder->sorting = calloc(1, sizeof(*sorting));
	if (!sorting ||
	    !kp_vector_reserve((void **)&sorting->durations_ns, count, &sorting->duration_capacity,
			       sizeof(*sorting->durations_ns)) ||
	    !kp_vector_reserve((void **)&sorting->ends, builder->row_count + 1,
			       &sorting->end_capacity, sizeof(*sorting->ends)))
		return KP_NO_MEMORY;
	memset(sorting->ends, 0, (builder->row_count + 1) * sizeof(*sorting->ends));
	return KP_OK;
}

/* Sorts the durations of a batch by row. */
static void sort(const struct kp_builder *builder, const struct kp_build_slot *slots,
		 const struct kp_event *event)
{
	uint32_t *ends = builder->sorting->ends; /* shifted by one, at first the number of each */

	for (size_t i = 0; i < event->count; i++)
		if (is_timed(&event->launches[i]))
			ends[slots[event->launches[i].config].row_plus_one]++;
	for (size_t row = 1; row <= builder->row_count; row++)
		ends[row] += ends[row - 1];
	for (size_t i = 0; i < event->count; i++) {
		const struct kp_launch *launch = &event->launches[i];

		if (is_timed(launch))
			builder->sorting
				->durations_ns[ends[slots[launch->config].row_plus_one - 1]++] =
				launch->end_ns - launch->start_ns;
	}
}

/* Where rows are more than launches, one after the other is cheaper. */
static enum kp_status add_each(struct kp_builder *builder, const struct kp_build_slot *slots,
			       const struct kp_event *event)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < event->count; i++) {
		const struct kp_launch *launch = &event->launches[i];
		uint32_t row = slots[launch->config].row_plus_one - 1;

		if (is_timed(launch))
			status = kp_durations_add(&builder->rows[row].tally,
						  launch->end_ns - launch->start_ns,
						  builder->scratch);
	}
	return status;
}

enum kp_status kp_build_tally(struct kp_builder *builder, const struct kp_event *event)
{
	const struct kp_build_slot *slots = builder->processes[event->process->index].slots;
	enum kp_status status = KP_OK;
	uint32_t begin = 0;

	if (builder->row_count > event->count)
		return add_each(builder, slots, event);
	if (reserve(builder, event->count) != KP_OK)
		return KP_NO_MEMORY;
	sort(builder, slots, event);
	for (size_t row = 0; status == KP_OK && row < builder->row_count; row++) {
		uint32_t end = builder->sorting->ends[row];

		if (end > begin)
			status = kp_durations_add_all(&builder->rows[row].tally,
						      &builder->sorting->durations_ns[begin],
						      end - begin, builder->scratch);
		begin = end;
	}
	return status;
}

void kp_build_tally_end(struct kp_builder *builder)
{
	if (!builder->sorting)
		return;
	free(builder->sorting->durations_ns);
	free(builder->sorting->ends);
	free(builder->sorting);
}
