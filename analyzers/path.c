/* The critical path of a GPU; see path.h. */
#include "analyzers/path.h"

#include <stdlib.h>

#include "trace/vector.h"

#define NONE UINT32_MAX

/* An activity of the stretch that is open. */
struct item {
	uint64_t start_ns, end_ns;
	uint32_t row, operator_index; /* NONE: a memory operation */
	uint32_t before;              /* what it waited for; NONE: nothing in the stretch */
};

/* The last activity of a stream, in the stretch of that number. */
struct lane {
	uint64_t stretch, end_ns;
	uint32_t item;
	bool graph;
};

/* One that runs, or has ended since that was last looked at: mostly the stream tells what is waited
 * for. They are in order of their start. */
struct running {
	uint64_t start_ns, end_ns;
	uint32_t item;
	bool kernel;
};

/* Sums that are pending, by a number; `touched` are those above 0. */
struct tally {
	uint64_t *sums_ns;
	uint32_t *touched;
	size_t room, touched_count, touched_room;
};

struct kp_path {
	struct item *items;
	size_t count, capacity;
	struct lane *lanes;
	size_t lane_room;
	uint64_t stretch; /* number of the open one, from 1 */
	struct running running[KP_PATH_RUNNING];
	size_t running_count;
	/* Of those that have ended the one that did last, of several the one that began last; NONE:
	 * none has. And of all the one that ends last, of several the first. */
	uint32_t last, longest;
	uint64_t last_end_ns, longest_end_ns;
	uint64_t base_ns;                        /* what lies before is divided */
	uint64_t now_ns;                         /* when the newest began */
	uint64_t kernel_start_ns, kernel_end_ns; /* of all kernels the one that ends last */
	struct tally rows, operators;
	struct kp_path_parts pending, parts;
};

struct kp_path *kp_path_create(void)
{
	struct kp_path *path = calloc(1, sizeof(*path));

	if (path) {
		path->stretch = 1;
		path->last = path->longest = NONE;
	}
	return path;
}

void kp_path_destroy(struct kp_path *path)
{
	if (!path)
		return;
	free(path->items);
	free(path->lanes);
	free(path->rows.sums_ns);
	free(path->rows.touched);
	free(path->operators.sums_ns);
	free(path->operators.touched);
	free(path);
}

static uint64_t since(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* ---- what is pending ---- */

static enum kp_status tally(struct tally *tally, uint32_t number, uint64_t ns)
{
	if (!kp_vector_reserve((void **)&tally->sums_ns, (size_t)number + 1, &tally->room,
			       sizeof(*tally->sums_ns)))
		return KP_NO_MEMORY;
	if (!tally->sums_ns[number]) {
		if (!kp_vector_grow((void **)&tally->touched, tally->touched_count,
				    &tally->touched_room, sizeof(*tally->touched)))
			return KP_NO_MEMORY;
		tally->touched[tally->touched_count++] = number;
	}
	tally->sums_ns[number] += ns;
	return KP_OK;
}

static enum kp_status pend(struct kp_path *path, const struct item *item, uint64_t ns)
{
	enum kp_status status;

	if (!ns)
		return KP_OK;
	if (item->row == NONE) {
		path->pending.memory_ns += ns;
		return KP_OK;
	}
	path->pending.kernel_ns += ns;
	status = tally(&path->rows, item->row, ns);
	return status == KP_OK ? tally(&path->operators, item->operator_index, ns) : status;
}

static enum kp_status settle_tally(struct tally *tally, bool on_path, uint64_t **times_ns,
				   size_t *count)
{
	for (size_t i = 0; i < tally->touched_count; i++) {
		uint32_t number = tally->touched[i];

		if (on_path && !kp_vector_reserve((void **)times_ns, (size_t)number + 1, count,
						  sizeof(**times_ns)))
			return KP_NO_MEMORY;
		if (on_path)
			(*times_ns)[number] += tally->sums_ns[number];
		tally->sums_ns[number] = 0;
	}
	tally->touched_count = 0;
	return KP_OK;
}

static enum kp_status settle(struct kp_path *path, bool on_path, struct kp_path_times *times)
{
	struct kp_path_parts *pending = &path->pending, *parts = &path->parts;
	enum kp_status status;

	if (on_path) {
		parts->kernel_ns += pending->kernel_ns;
		parts->memory_ns += pending->memory_ns;
		parts->others_ns += pending->others_ns;
	} else {
		parts->hidden_ns += pending->kernel_ns + pending->memory_ns + pending->others_ns;
	}
	*pending = (struct kp_path_parts){0};
	status = settle_tally(&path->rows, on_path, &times->row_ns, &times->row_count);
	return status == KP_OK ? settle_tally(&path->operators, on_path, &times->operator_ns,
					      &times->operator_count)
			       : status;
}

/* ---- a stretch ---- */

/* Divides the stretch up to an instant, backwards from what ends last. */
static enum kp_status walk(struct kp_path *path, uint64_t until_ns)
{
	uint64_t at_ns = until_ns, base_ns = path->base_ns;
	enum kp_status status = KP_OK;

	for (uint32_t i = path->longest; i != NONE && status == KP_OK; i = path->items[i].before) {
		const struct item *item = &path->items[i];
		uint64_t from_ns = item->start_ns > base_ns ? item->start_ns : base_ns;
		uint64_t to_ns = item->end_ns < at_ns ? item->end_ns : at_ns;

		if (at_ns <= base_ns)
			break;
		to_ns = to_ns > base_ns ? to_ns : base_ns;
		path->pending.others_ns += at_ns - to_ns;
		status = pend(path, item, since(from_ns, to_ns));
		at_ns = from_ns < to_ns ? from_ns : to_ns;
	}
	path->pending.others_ns += since(base_ns, at_ns);
	path->base_ns = until_ns;
	return status;
}

static void clear(struct kp_path *path)
{
	path->count = path->running_count = 0;
	path->last = path->longest = NONE;
	path->last_end_ns = path->longest_end_ns = 0;
	path->stretch++;
}

/* Ends the stretch, if nothing runs any more at an instant. */
static enum kp_status close_by(struct kp_path *path, uint64_t now_ns)
{
	enum kp_status status;

	if (path->longest == NONE || path->longest_end_ns > now_ns)
		return KP_OK;
	status = walk(path, path->longest_end_ns);
	clear(path);
	return status;
}

static uint64_t all_bits(bool set)
{
	return 0 - (uint64_t)set;
}

/* What has ended by an instant runs no more. */
static void retire(struct kp_path *path, uint64_t now_ns)
{
	struct running *running = path->running;
	uint64_t last_end_ns = path->last_end_ns;
	uint32_t last = path->last;
	size_t kept = 0;

	for (size_t i = 0; i < path->running_count; i++) {
		if (running[i].end_ns > now_ns) {
			running[kept++] = running[i];
			continue;
		}
		/* No branch: which of those that ran side by side ended last is chance. */
		uint64_t later = all_bits(running[i].end_ns >= last_end_ns);
		last ^= (last ^ running[i].item) & (uint32_t)later;
		last_end_ns ^= (last_end_ns ^ running[i].end_ns) & later;
	}
	path->last = last;
	path->last_end_ns = last_end_ns;
	path->running_count = kept;
}

static void retire_first(struct kp_path *path)
{
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < path->running_count; i++)
		if (path->running[i].end_ns < first_ns)
			first_ns = path->running[i].end_ns;
	retire(path, first_ns);
}

/* Room for one more item. */
static struct item *next_item(struct kp_path *path)
{
	return kp_vector_grow((void **)&path->items, path->count, &path->capacity,
			      sizeof(*path->items))
		       ? &path->items[path->count]
		       : NULL;
}

/* That is filled: it begins. */
static void open_item(struct kp_path *path, uint64_t start_ns, uint64_t end_ns, bool kernel)
{
	struct running *one;
	uint64_t longer;

	if (path->running_count == KP_PATH_RUNNING)
		retire(path, start_ns);
	if (path->running_count == KP_PATH_RUNNING)
		retire_first(path);
	one = &path->running[path->running_count++];
	one->start_ns = start_ns;
	one->end_ns = end_ns;
	one->item = (uint32_t)path->count;
	one->kernel = kernel;
	longer = all_bits((path->longest == NONE) | (end_ns > path->longest_end_ns));
	path->longest ^= (path->longest ^ (uint32_t)path->count) & (uint32_t)longer;
	path->longest_end_ns ^= (path->longest_end_ns ^ end_ns) & longer;
	path->count++;
}

/* Goes on with what still runs, and nothing else. */
static enum kp_status cut(struct kp_path *path, uint64_t now_ns)
{
	struct item kept[KP_PATH_RUNNING];
	enum kp_status status = walk(path, now_ns);
	size_t count;

	retire(path, now_ns);
	count = path->running_count;
	for (size_t i = 0; i < count; i++) {
		kept[i] = path->items[path->running[i].item];
		kept[i].before = NONE;
	}
	clear(path);
	for (size_t i = 0; i < count; i++) { /* there was room for more */
		path->items[i] = kept[i];
		open_item(path, kept[i].start_ns, kept[i].end_ns, kept[i].row != NONE);
	}
	path->parts.cuts++;
	return status;
}

/* Of the kernels that run in the second half of their time the one that ends first. */
static uint32_t gives_room(const struct kp_path *path, uint64_t now_ns)
{
	uint64_t first_ns = UINT64_MAX;
	uint32_t found = NONE;

	for (size_t i = 0; i < path->running_count; i++) {
		const struct running *one = &path->running[i];

		if (one->kernel && one->end_ns < first_ns &&
		    now_ns - one->start_ns >= one->end_ns - now_ns) {
			found = one->item;
			first_ns = one->end_ns;
		}
	}
	return found;
}

/* The last of the same stream, if it still ran, or ended just now. */
static uint32_t of_stream(const struct kp_path *path, uint64_t now_ns, bool graph, uint32_t lane)
{
	const struct lane *own = &path->lanes[lane];

	if (own->stretch != path->stretch)
		return NONE;
	if (own->end_ns > now_ns)
		return own->graph || graph ? NONE : own->item;
	return now_ns - own->end_ns <= KP_GAP_OWN_NS ? own->item : NONE;
}

/* What an activity that begins now waited for; path.h says how. */
static uint32_t waited_for(struct kp_path *path, uint64_t now_ns, bool graph, uint32_t lane)
{
	uint32_t found = NONE;

	if (lane < path->lane_room)
		found = of_stream(path, now_ns, graph, lane);
	if (found != NONE)
		return found;
	retire(path, now_ns);
	if (path->last != NONE && now_ns - path->last_end_ns <= KP_GAP_OWN_NS)
		return path->last;
	found = gives_room(path, now_ns);
	return found != NONE ? found : path->last;
}

/* Whether the kernel before a gap, which ends at an instant, ran so long that the host would hardly
 * come just now, had it not waited for it. */
static bool was_awaited(const struct kp_path *path, uint64_t end_ns)
{
	uint64_t gap_ns = since(path->kernel_end_ns, end_ns);

	return gap_ns <= KP_PATH_SOON_NS &&
	       path->kernel_end_ns - path->kernel_start_ns >= KP_PATH_LONG_TIMES * gap_ns;
}

enum kp_status kp_path_gap(struct kp_path *path, enum kp_gap_cause cause, uint64_t end_ns,
			   struct kp_path_times *times)
{
	bool late = cause == KP_GAP_LAUNCH && !was_awaited(path, end_ns);
	enum kp_status status = close_by(path, end_ns);

	if (status != KP_OK || cause == KP_GAP_OWN || cause == KP_GAP_GRAPH ||
	    cause == KP_GAP_DEVICE || cause == KP_GAP_MEMORY)
		return status;
	return settle(path, !late, times);
}

static enum kp_status reserve_lane(struct kp_path *path, uint32_t lane)
{
	return lane == KP_ACTIVITY_NO_LANE ||
			       kp_vector_reserve((void **)&path->lanes, (size_t)lane + 1,
						 &path->lane_room, sizeof(*path->lanes))
		       ? KP_OK
		       : KP_NO_MEMORY;
}

/* Member by member, as all that is read again at once: copies of the whole would wait for them. */
static void begin(struct kp_path *path, const struct kp_activity *from, uint64_t start_ns,
		  uint64_t end_ns, struct item *item)
{
	bool kernel = from->kind == KP_ACTIVITY_KERNEL;

	item->before = waited_for(path, start_ns, from->graph, from->lane);
	item->start_ns = start_ns;
	item->end_ns = end_ns;
	item->row = kernel ? from->row : NONE;
	item->operator_index = kernel ? from->operator_index : NONE;
	if (from->lane != KP_ACTIVITY_NO_LANE) {
		struct lane *lane = &path->lanes[from->lane];

		lane->stretch = path->stretch;
		lane->end_ns = end_ns;
		lane->item = (uint32_t)path->count;
		lane->graph = from->graph;
	}
	open_item(path, start_ns, end_ns, kernel);
}

enum kp_status kp_path_add(struct kp_path *path, const struct kp_activity *from)
{
	uint64_t start_ns = from->start_ns > path->now_ns ? from->start_ns : path->now_ns;
	uint64_t end_ns = from->end_ns > start_ns ? from->end_ns : start_ns;
	uint64_t is_last =
		all_bits((from->kind == KP_ACTIVITY_KERNEL) & (end_ns > path->kernel_end_ns));
	enum kp_status status = close_by(path, start_ns);
	struct item *item;

	path->now_ns = start_ns;
	path->kernel_start_ns ^= (path->kernel_start_ns ^ start_ns) & is_last;
	path->kernel_end_ns ^= (path->kernel_end_ns ^ end_ns) & is_last;
	if (!path->count)
		path->base_ns = start_ns;
	if (status == KP_OK && path->count >= KP_PATH_ITEMS)
		status = cut(path, start_ns);
	if (status == KP_OK)
		status = reserve_lane(path, from->lane);
	if (status != KP_OK)
		return status;
	item = next_item(path);
	if (!item)
		return KP_NO_MEMORY;
	begin(path, from, start_ns, end_ns, item);
	return KP_OK;
}

enum kp_status kp_path_finish(struct kp_path *path, struct kp_path_times *times)
{
	enum kp_status status = close_by(path, UINT64_MAX);

	return status == KP_OK ? settle(path, true, times) : status;
}

struct kp_path_parts kp_path_result(const struct kp_path *path)
{
	return path->parts;
}

void kp_path_times_fini(struct kp_path_times *times)
{
	free(times->row_ns);
	free(times->operator_ns);
	*times = (struct kp_path_times){0};
}
