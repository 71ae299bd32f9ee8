/*
 * Pending calls and records, and how they are settled; see host_ties.h.
 *
 * One settling: records in order of correlation id make groups; a group whose id a call has is that
 * call's. The others, and the calls without an id, are sorted by lane (context and stream) and
 * matched in order, lane by lane, which gives calls their ids. Then the groups' records are
 * visited, and what is done with goes.
 */
#include "analyzers/host_ties.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/host_match.h"
#include "trace/intern.h"
#include "trace/vector.h"

#define SETTLE_LEAST 16384 /* that much is worth settling */
#define NO_CALL SIZE_MAX

/* What is settled: what lies before the watermark; all that can be, for want of room; all. */
enum extent { SOME, MUCH, ALL };

struct pending_call {
	struct kp_host_call call;
	uint32_t seen; /* kernels tied to it */
	uint32_t lane;
	bool contended, done;
};

/* Records of one correlation id. */
struct group {
	size_t first, count; /* of the records */
	size_t call;         /* NO_CALL: none yet */
	uint32_t lane;
	bool decided; /* nothing more will be found out */
};

struct kp_ties {
	const struct kp_process *process;
	struct kp_intern lanes; /* (context, stream) */
	struct pending_call *calls;
	struct kp_tie_record *records;
	size_t call_count, call_capacity, record_count, record_capacity;
	size_t left; /* pending after the last settling */
	bool whole;  /* every call has its records, and every record its call */
	bool sound;  /* every record has its call: else their order says nothing */
	bool timed;  /* all records have a place in time */
	/* while settling */
	struct group *groups;
	size_t group_count;
	size_t *call_order, *group_order, *id_order; /* calls with an id, by id */
	size_t id_count;
	struct kp_match_shape *call_shapes, *group_shapes;
	size_t *scratch, *call_of;
};

/*
 * Whether the counts say that each call's records are all in the trace, and no others: only then is
 * the n-th of the ones the n-th of the others.
 */
static bool is_whole(const struct kp_process *process)
{
	const struct kp_counts *counts = &process->counts;

	return process->end.has && KP_HAS(counts, COUNTS, records_dropped) &&
	       KP_HAS(counts, COUNTS, host_kernels) && KP_HAS(counts, COUNTS, kernels_recorded) &&
	       !counts->records_dropped && !counts->kernels_unwritten &&
	       !counts->kernels_filtered && !counts->host_calls_lost &&
	       !counts->host_calls_unwritten && counts->host_kernels == counts->kernels_recorded &&
	       counts->kernels_recorded == process->promised_launches &&
	       counts->host_calls == process->promised_host_calls;
}

/* Calls that were not kept, or launches that came by another way, leave records without a call. */
static bool is_sound(const struct kp_process *process)
{
	const struct kp_counts *counts = &process->counts;

	return !counts->host_calls_lost && !counts->host_calls_unwritten &&
	       !process->missing_chunks &&
	       (!KP_HAS(counts, COUNTS, host_kernels) ||
		counts->kernels_recorded <= counts->host_kernels);
}

struct kp_ties *kp_ties_create(const struct kp_process *process)
{
	struct kp_ties *ties = calloc(1, sizeof(*ties));

	if (!ties)
		return NULL;
	ties->process = process;
	ties->whole = is_whole(process);
	ties->sound = is_sound(process);
	ties->timed = !process->counts.kernels_untimed && !process->counts.kernels_invalid;
	return ties;
}

struct kp_ties *kp_ties_create_whole(const struct kp_process *process)
{
	struct kp_ties *ties = kp_ties_create(process);

	if (ties)
		ties->whole = ties->sound = true;
	return ties;
}

void kp_ties_distrust(struct kp_ties *ties)
{
	ties->whole = ties->sound = false;
}

void kp_ties_destroy(struct kp_ties *ties)
{
	if (!ties)
		return;
	kp_intern_fini(&ties->lanes);
	free(ties->calls);
	free(ties->records);
	free(ties);
}

static enum kp_status find_lane(struct kp_ties *ties, uint32_t context, uint32_t stream,
				uint32_t *lane)
{
	const uint32_t identity[2] = {context, stream};

	if (ties->lanes.count >= KP_TIES_LANES_MOST &&
	    !kp_intern_find(&ties->lanes, identity, sizeof(identity), lane)) {
		kp_ties_distrust(ties);
		*lane = 0;
		return KP_OK;
	}
	return kp_intern_put(&ties->lanes, identity, sizeof(identity), lane, NULL);
}

enum kp_status kp_ties_add_call(struct kp_ties *ties, const struct kp_host_call *call)
{
	struct pending_call *pending;

	if (!kp_vector_grow((void **)&ties->calls, ties->call_count, &ties->call_capacity,
			    sizeof(*ties->calls)))
		return KP_NO_MEMORY;
	pending = &ties->calls[ties->call_count];
	*pending = (struct pending_call){.call = *call};
	ties->call_count++;
	return find_lane(ties, call->context, call->stream, &pending->lane);
}

enum kp_status kp_ties_add_launch(struct kp_ties *ties, const struct kp_launch *launch,
				  uint32_t row)
{
	bool valid = kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID;

	if (!kp_vector_grow((void **)&ties->records, ties->record_count, &ties->record_capacity,
			    sizeof(*ties->records)))
		return KP_NO_MEMORY;
	ties->records[ties->record_count++] = (struct kp_tie_record){
		.start_ns = valid ? launch->start_ns : 0,
		.end_ns = valid ? launch->end_ns : 0,
		.config = &ties->process->configs[launch->config],
		.correlation = launch->correlation,
		.row = row,
		.graph = launch->graph || launch->graph_node,
	};
	return KP_OK;
}

/* ---- orders ---- */

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_id(const void *left, const void *right)
{
	const struct kp_tie_record *a = left, *b = right;
	int result = order(a->correlation, b->correlation);

	return result ? result : order(a->start_ns, b->start_ns);
}

static int by_begin(const void *left, const void *right)
{
	const struct pending_call *a = left, *b = right;

	return order(a->call.start_ns, b->call.start_ns);
}

static int calls_by_lane(const void *left, const void *right, void *context)
{
	const struct pending_call *calls = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	int result = order(calls[a].lane, calls[b].lane);

	return result ? result : order(a, b); /* they stand in order of their begin */
}

static int calls_by_id(const void *left, const void *right, void *context)
{
	const struct pending_call *calls = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	int result = order(calls[a].call.correlation, calls[b].call.correlation);

	return result ? result : order(a, b);
}

static int groups_by_lane(const void *left, const void *right, void *context)
{
	const struct group *groups = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	int result = order(groups[a].lane, groups[b].lane);

	return result ? result : order(a, b); /* they stand in order of their id */
}

/* Sorts what is, as a rule, in order already. */
static void sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	const char *at = items;

	for (size_t i = 1; i < count; i++)
		if (compare(at + (i - 1) * size, at + i * size) > 0) {
			qsort(items, count, size, compare);
			return;
		}
}

/* ---- groups ---- */

static enum kp_status make_groups(struct kp_ties *ties)
{
	const struct kp_tie_record *records = ties->records;

	ties->group_count = 0;
	for (size_t i = 0; i < ties->record_count; i++) {
		struct group *group = &ties->groups[ties->group_count];
		enum kp_status status;

		if (i && records[i].correlation == records[i - 1].correlation &&
		    records[i].correlation) {
			group[-1].count++;
			continue;
		}
		*group = (struct group){.first = i, .count = 1, .call = NO_CALL};
		group->decided = !records[i].correlation;
		ties->group_count++;
		status = find_lane(ties, records[i].config->context, records[i].config->stream,
				   &group->lane);
		if (status != KP_OK)
			return status;
	}
	return KP_OK;
}

/* Gives groups the call that has their id. Both are in order of ids. */
static void join_by_id(struct kp_ties *ties)
{
	size_t at = 0;

	for (size_t i = 0; i < ties->group_count; i++) {
		struct group *group = &ties->groups[i];
		uint32_t id = ties->records[group->first].correlation;

		while (at < ties->id_count && ties->calls[ties->id_order[at]].call.correlation < id)
			at++;
		if (id && at < ties->id_count &&
		    ties->calls[ties->id_order[at]].call.correlation == id)
			group->call = ties->id_order[at];
	}
}

static void list_calls_with_ids(struct kp_ties *ties)
{
	ties->id_count = 0;
	for (size_t i = 0; i < ties->call_count; i++)
		if (ties->calls[i].call.correlation)
			ties->id_order[ties->id_count++] = i;
	if (ties->id_count)
		qsort_r(ties->id_order, ties->id_count, sizeof(size_t), calls_by_id, ties->calls);
}

/* ---- lanes ---- */

static struct kp_match_shape shape_of_call(const struct pending_call *pending)
{
	struct kp_match_shape shape = {.at_ns = pending->call.start_ns,
				       .kernels = pending->call.kernels,
				       .graph = pending->call.kind == KP_HOST_GRAPH,
				       .contended = pending->contended};

	memcpy(shape.grid, pending->call.grid, sizeof(shape.grid));
	memcpy(shape.block, pending->call.block, sizeof(shape.block));
	return shape;
}

static struct kp_match_shape shape_of_group(const struct kp_ties *ties, const struct group *group)
{
	const struct kp_tie_record *first = &ties->records[group->first];
	struct kp_match_shape shape = {.at_ns = first->start_ns,
				       .kernels = group->count < UINT32_MAX ? (uint32_t)group->count
									    : UINT32_MAX,
				       .graph = first->graph};

	memcpy(shape.grid, first->config->grid, sizeof(shape.grid));
	memcpy(shape.block, first->config->block, sizeof(shape.block));
	return shape;
}

/* Marks calls of different threads on one lane that overlap. `order` has one lane's calls. */
static void mark_contended(struct kp_ties *ties, const size_t *indices, size_t count)
{
	size_t longest = 0; /* of those so far, the one that ended last */

	for (size_t i = 1; i < count; i++) {
		struct pending_call *last = &ties->calls[indices[longest]];
		struct pending_call *next = &ties->calls[indices[i]];

		if (last->call.end_ns > next->call.start_ns &&
		    last->call.thread != next->call.thread)
			last->contended = next->contended = true;
		if (next->call.end_ns > last->call.end_ns)
			longest = i;
	}
}

/* How many of a lane's calls, and groups, surely have no other before them that is still to come.
 */
static size_t calls_before(const struct kp_ties *ties, const size_t *indices, size_t count,
			   uint64_t watermark_ns)
{
	while (count && ties->calls[indices[count - 1]].call.start_ns >= watermark_ns)
		count--;
	return count;
}

static size_t groups_before(const struct kp_ties *ties, const size_t *indices, size_t count,
			    uint64_t watermark_ns)
{
	size_t before = 0;

	while (before < count) {
		uint64_t start_ns = ties->records[ties->groups[indices[before]].first].start_ns;

		if (!start_ns || start_ns >= watermark_ns)
			break;
		before++;
	}
	return before;
}

/* Gives calls the ids of their groups; returns how many calls were used up, tied or not. */
static size_t take_matches(struct kp_ties *ties, const size_t *calls, size_t call_count,
			   const size_t *groups, size_t group_count, enum extent extent)
{
	size_t used = 0;

	for (size_t i = 0; i < group_count; i++) {
		struct group *group = &ties->groups[groups[i]];
		size_t call = ties->call_of[i];

		group->decided = !ties->whole || i < call_count;
		if (call == KP_MATCH_NONE)
			continue;
		group->call = calls[call];
		ties->calls[group->call].call.correlation = ties->records[group->first].correlation;
		used = call + 1;
	}
	if (ties->whole)
		return call_count < group_count ? call_count : group_count;
	return extent == MUCH ? used : call_count; /* of `much`, some may still run */
}

/*
 * Matches the calls and groups of one lane. Where records are missing, that is put off until there
 * are as many of the ones as of the others: then none of these is missing, for a call that has
 * begun and has no record makes them one less.
 */
static void match_lane(struct kp_ties *ties, const size_t *calls, size_t call_count,
		       const size_t *groups, size_t group_count, uint64_t watermark_ns,
		       enum extent extent)
{
	size_t used;

	mark_contended(ties, calls, call_count);
	if (extent == SOME) {
		call_count = calls_before(ties, calls, call_count, watermark_ns);
		group_count = groups_before(ties, groups, group_count, watermark_ns);
		if (!ties->whole && call_count != group_count)
			return;
	}
	for (size_t i = 0; i < call_count; i++)
		ties->call_shapes[i] = shape_of_call(&ties->calls[calls[i]]);
	for (size_t i = 0; i < group_count; i++)
		ties->group_shapes[i] = shape_of_group(ties, &ties->groups[groups[i]]);
	kp_match_in_order(ties->call_shapes, call_count, ties->group_shapes, group_count,
			  ties->whole, ties->scratch, ties->call_of);
	used = take_matches(ties, calls, call_count, groups, group_count, extent);
	for (size_t i = 0; i < used; i++)
		ties->calls[calls[i]].done |= ties->calls[calls[i]].call.correlation == 0;
}

/* Lists the calls and groups that have no partner yet, by lane, and matches each lane. */
static void match_lanes(struct kp_ties *ties, uint64_t watermark_ns, enum extent extent)
{
	size_t call_count = 0, group_count = 0;

	for (size_t i = 0; i < ties->call_count; i++)
		if (!ties->calls[i].call.correlation)
			ties->call_order[call_count++] = i;
	for (size_t i = 0; i < ties->group_count; i++)
		if (ties->groups[i].call == NO_CALL && !ties->groups[i].decided)
			ties->group_order[group_count++] = i;
	if (call_count)
		qsort_r(ties->call_order, call_count, sizeof(size_t), calls_by_lane, ties->calls);
	if (group_count)
		qsort_r(ties->group_order, group_count, sizeof(size_t), groups_by_lane,
			ties->groups);
	for (size_t c = 0, g = 0, c_end, g_end; g < group_count; c = c_end, g = g_end) {
		uint32_t lane = ties->groups[ties->group_order[g]].lane;

		while (c < call_count && ties->calls[ties->call_order[c]].lane < lane)
			c++;
		for (c_end = c; c_end < call_count; c_end++)
			if (ties->calls[ties->call_order[c_end]].lane != lane)
				break;
		for (g_end = g; g_end < group_count; g_end++)
			if (ties->groups[ties->group_order[g_end]].lane != lane)
				break;
		match_lane(ties, ties->call_order + c, c_end - c, ties->group_order + g, g_end - g,
			   watermark_ns, extent);
	}
}

/* ---- visiting, and what is left ---- */

static enum kp_status visit_group(struct kp_ties *ties, const struct group *group,
				  const struct kp_tie_visitor *visitor)
{
	struct pending_call *pending = group->call == NO_CALL ? NULL : &ties->calls[group->call];
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < group->count; i++) {
		const struct kp_tie_record *record = &ties->records[group->first + i];

		status = visitor->tied(visitor->context, record, pending ? &pending->call : NULL,
				       pending && pending->seen == 0);
		if (pending && pending->seen < UINT32_MAX)
			pending->seen++;
	}
	if (pending)
		pending->done = pending->seen >= pending->call.kernels;
	return status;
}

/* Visits the groups that are decided and leaves the records of the others. */
static enum kp_status visit_groups(struct kp_ties *ties, const struct kp_tie_visitor *visitor)
{
	enum kp_status status = KP_OK;
	size_t left = 0;

	for (size_t i = 0; status == KP_OK && i < ties->group_count; i++) {
		const struct group *group = &ties->groups[i];

		if (group->decided || group->call != NO_CALL) {
			status = visit_group(ties, group, visitor);
			continue;
		}
		memmove(ties->records + left, ties->records + group->first,
			group->count * sizeof(*ties->records));
		left += group->count;
	}
	ties->record_count = left;
	return status;
}

/* Calls that may yet get records stay, at most KP_TIES_LIMIT / 2: the latest. */
static void leave_calls(struct kp_ties *ties)
{
	size_t left = 0, most = KP_TIES_LIMIT / 2;

	for (size_t i = 0; i < ties->call_count; i++)
		if (!ties->calls[i].done)
			ties->calls[left++] = ties->calls[i];
	if (left > most) {
		memmove(ties->calls, ties->calls + (left - most), most * sizeof(*ties->calls));
		left = most;
	}
	ties->call_count = left;
}

static bool reserve(struct kp_ties *ties)
{
	size_t calls = ties->call_count + 1, groups = ties->record_count + 1;

	ties->groups = malloc(groups * sizeof(*ties->groups));
	ties->call_order = malloc(calls * sizeof(size_t));
	ties->id_order = malloc(calls * sizeof(size_t));
	ties->group_order = malloc(groups * sizeof(size_t));
	ties->scratch = malloc(groups * sizeof(size_t));
	ties->call_of = malloc(groups * sizeof(size_t));
	ties->call_shapes = malloc(calls * sizeof(*ties->call_shapes));
	ties->group_shapes = malloc(groups * sizeof(*ties->group_shapes));
	return ties->groups && ties->call_order && ties->id_order && ties->group_order &&
	       ties->scratch && ties->call_of && ties->call_shapes && ties->group_shapes;
}

static void release(struct kp_ties *ties)
{
	free(ties->groups);
	free(ties->call_order);
	free(ties->id_order);
	free(ties->group_order);
	free(ties->scratch);
	free(ties->call_of);
	free(ties->call_shapes);
	free(ties->group_shapes);
}

static enum kp_status settle(struct kp_ties *ties, uint64_t watermark_ns, enum extent extent,
			     const struct kp_tie_visitor *visitor)
{
	enum kp_status status = reserve(ties) ? KP_OK : KP_NO_MEMORY;

	if (status != KP_OK)
		return status;
	sort(ties->calls, ties->call_count, sizeof(*ties->calls), by_begin);
	sort(ties->records, ties->record_count, sizeof(*ties->records), by_id);
	status = make_groups(ties);
	if (status != KP_OK)
		return status;
	list_calls_with_ids(ties);
	join_by_id(ties);
	if (ties->sound)
		match_lanes(ties, watermark_ns, extent);
	for (size_t i = 0; i < ties->group_count; i++)
		ties->groups[i].decided |= extent == ALL || (extent == MUCH && !ties->whole);
	status = visit_groups(ties, visitor);
	leave_calls(ties);
	return status;
}

static bool is_over(const struct kp_ties *ties)
{
	return ties->call_count > KP_TIES_LIMIT || ties->record_count > KP_TIES_LIMIT;
}

enum kp_status kp_ties_settle(struct kp_ties *ties, uint64_t watermark_ns,
			      const struct kp_tie_visitor *visitor)
{
	size_t pending = ties->call_count + ties->record_count;
	enum extent extent = watermark_ns == UINT64_MAX ? ALL : is_over(ties) ? MUCH : SOME;
	enum kp_status status;

	if (extent == SOME && (!ties->timed || pending < 2 * ties->left + SETTLE_LEAST))
		return KP_OK;
	status = settle(ties, watermark_ns, extent, visitor);
	release(ties);
	if (status == KP_OK && extent == MUCH && is_over(ties)) {
		ties->whole = false; /* whatever the counts say, the ones lack the others */
		status = settle(ties, watermark_ns, MUCH, visitor);
		release(ties);
	}
	ties->left = ties->call_count + ties->record_count;
	return status;
}
