/* Bringing the clocks of hosts together; see merge_clocks.h. */
#include "profiler/merge_clocks.h"

#include <stdlib.h>

#include "analyzers/boots.h"
#include "analyzers/collectives.h"
#include "trace/times.h"
#include "trace/vector.h"

/* What is wider says nothing that wall clocks do not say better. */
#define WIDEST_NS 1000000000LL

/* Which shifts of one clock against another satisfy all operations. */
struct bounds {
	int64_t low_ns, high_ns;
	uint64_t operations;
};

static enum kp_status number_clocks(struct kp_reader *reader, struct kp_merge_clocks *out)
{
	size_t count = kp_reader_process_count(reader), capacity = 0;

	out->of_process = calloc(count + 1, sizeof *out->of_process);
	if (!out->of_process)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		const struct kp_process *process = kp_reader_process(reader, i);
		size_t clock = 0;

		while (clock < out->count && !kp_same_boot(out->clocks[clock].process, process))
			clock++;
		out->of_process[i] = (uint32_t)clock;
		if (clock < out->count)
			continue;
		if (!kp_vector_grow((void **)&out->clocks, clock, &capacity, sizeof *out->clocks))
			return KP_NO_MEMORY;
		out->clocks[out->count++] = (struct kp_merge_clock){.process = process};
	}
	return KP_OK;
}

/*
 * By wall clocks. The host that was started first is the one that the others are moved to, so that
 * no time becomes negative.
 */
static void align_by_wall(struct kp_merge_clocks *out)
{
	size_t reference = 0;
	uint64_t least = UINT64_MAX, offset;

	for (size_t i = 0; i < out->count; i++) {
		struct kp_merge_clock *clock = &out->clocks[i];

		clock->wall_known =
			kp_clock_offset(clock->process, &offset) && offset < KP_TIME_MAX_NS;
		clock->source = clock->wall_known ? KP_CLOCK_WALL : KP_CLOCK_UNKNOWN;
		if (clock->wall_known && offset < least) {
			least = offset;
			reference = i;
		}
	}
	for (size_t i = 0; i < out->count; i++)
		if (out->clocks[i].wall_known) {
			kp_clock_offset(out->clocks[i].process, &offset);
			out->clocks[i].by_ns = (int64_t)(offset - least);
		}
	if (out->count)
		out->clocks[reference].source = KP_CLOCK_REFERENCE;
}

/* ---- collective operations ---- */

static enum kp_status read_collectives(struct kp_reader *reader, struct kp_collectives *out)
{
	struct kp_event event;
	enum kp_status status = kp_collectives_init(out, reader);

	kp_reader_rewind(reader);
	while (status == KP_OK && (status = kp_reader_next(reader, &event)) == KP_OK) {
		if (event.kind != KP_EVENT_LAUNCHES)
			continue;
		for (size_t i = 0; status == KP_OK && i < event.count; i++)
			status = kp_collectives_add(out, event.process, &event.launches[i]);
	}
	kp_collectives_sort(out);
	return status == KP_END ? KP_OK : status;
}

/* Adds what the operations of one name say of the shift of b, when a is moved by `by_ns`. */
static void bound_by_name(const struct kp_collective *a, const struct kp_collective *b,
			  size_t count, int64_t by_ns, struct bounds *bounds)
{
	for (size_t i = 0; i < count; i++) {
		int64_t low = (int64_t)(a[i].start_ns - b[i].end_ns) + by_ns;
		int64_t high = (int64_t)(a[i].end_ns - b[i].start_ns) + by_ns;

		bounds->low_ns = low > bounds->low_ns ? low : bounds->low_ns;
		bounds->high_ns = high < bounds->high_ns ? high : bounds->high_ns;
		bounds->operations++;
	}
}

static void bound_pair(const struct kp_collectives *collectives, size_t first, size_t second,
		       int64_t by_ns, struct bounds *bounds)
{
	for (uint32_t name = 0; name < collectives->names.count; name++) {
		size_t a_count, b_count;
		const struct kp_collective *a =
			kp_collectives_of(&collectives->processes[first], name, &a_count);
		const struct kp_collective *b =
			kp_collectives_of(&collectives->processes[second], name, &b_count);

		if (a_count && a_count == b_count)
			bound_by_name(a, b, a_count, by_ns, bounds);
	}
}

/* What a clock's processes did together with those of clocks that have their place. */
static struct bounds bound_clock(const struct kp_merge_clocks *out,
				 const struct kp_collectives *collectives, const bool *placed,
				 size_t clock)
{
	struct bounds bounds = {.low_ns = INT64_MIN, .high_ns = INT64_MAX};

	for (size_t i = 0; i < collectives->process_count; i++) {
		size_t other = out->of_process[i];

		if (!placed[other] || !collectives->processes[i].count)
			continue;
		for (size_t k = 0; k < collectives->process_count; k++)
			if (out->of_process[k] == clock)
				bound_pair(collectives, i, k, out->clocks[other].by_ns, &bounds);
	}
	return bounds;
}

static void refine(struct kp_merge_clock *clock, const struct bounds *bounds)
{
	int64_t width = bounds->high_ns - bounds->low_ns;

	if (bounds->operations == 0)
		return;
	clock->operations = bounds->operations;
	if (bounds->low_ns > bounds->high_ns) {
		clock->contradicted = true;
		return;
	}
	if (width > WIDEST_NS)
		return;
	int64_t middle = bounds->low_ns + width / 2;
	clock->wall_off_ns = clock->wall_known ? middle - clock->by_ns : 0;
	clock->by_ns = middle;
	clock->within_ns = (uint64_t)(width + 1) / 2;
	clock->source = KP_CLOCK_COLLECTIVES;
}

static enum kp_status align_by_collectives(struct kp_reader *reader, struct kp_merge_clocks *out)
{
	struct kp_collectives collectives = {0};
	bool *placed = calloc(out->count, sizeof *placed);
	enum kp_status status = placed ? read_collectives(reader, &collectives) : KP_NO_MEMORY;

	for (size_t i = 0; status == KP_OK && i < out->count; i++)
		placed[i] = out->clocks[i].source == KP_CLOCK_REFERENCE;
	for (size_t i = 0; status == KP_OK && i < out->count; i++) {
		if (placed[i])
			continue;
		struct bounds bounds = bound_clock(out, &collectives, placed, i);
		refine(&out->clocks[i], &bounds);
		placed[i] = out->clocks[i].source != KP_CLOCK_UNKNOWN;
	}
	kp_collectives_fini(&collectives);
	free(placed);
	return status;
}

static void compare_with_reference(struct kp_merge_clocks *out)
{
	int64_t reference_ns = 0;

	for (size_t i = 0; i < out->count; i++)
		if (out->clocks[i].source == KP_CLOCK_REFERENCE)
			reference_ns = out->clocks[i].by_ns;
	for (size_t i = 0; i < out->count; i++)
		out->clocks[i].against_ns = out->clocks[i].by_ns - reference_ns;
}

/* Moves all alike, so that none is moved back: a time below 0 is none. */
static void lift(struct kp_merge_clocks *out)
{
	int64_t least = 0;

	for (size_t i = 0; i < out->count; i++)
		least = out->clocks[i].by_ns < least ? out->clocks[i].by_ns : least;
	for (size_t i = 0; i < out->count && least < 0; i++)
		out->clocks[i].by_ns -= least;
}

enum kp_status kp_merge_clocks_find(struct kp_reader *reader, struct kp_merge_clocks *out)
{
	enum kp_status status;

	*out = (struct kp_merge_clocks){0};
	status = number_clocks(reader, out);
	if (status != KP_OK)
		return status;
	align_by_wall(out);
	if (out->count < 2)
		return KP_OK;
	status = align_by_collectives(reader, out);
	compare_with_reference(out);
	lift(out);
	return status;
}

void kp_merge_clocks_fini(struct kp_merge_clocks *clocks)
{
	free(clocks->clocks);
	free(clocks->of_process);
}
