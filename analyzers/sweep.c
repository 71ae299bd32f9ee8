/*
 * The sweep over one GPU's timeline; see sweep.h.
 *
 * Invariants: `pending` is sorted by start, `fresh` is what was added since the last settling. What
 * was settled starts at or before `now_ns`; `open` is a heap of running intervals, the first to end
 * on top. While nothing is open, V is 0, so that it loses no precision in long traces.
 */
#include "analyzers/sweep.h"

#include <stdbool.h>
#include <stdlib.h>

#include "trace/records.h"
#include "trace/vector.h"

#define OPEN_MAX 65536

struct interval {
	uint64_t start_ns, end_ns;
	uint32_t row;
};

struct open_interval {
	uint64_t end_ns;
	double start_v;
	uint32_t row;
};

struct interval_list {
	struct interval *items;
	size_t count, capacity;
};

struct kp_sweep {
	struct kp_sweep_parts *parts; /* NULL: only the union is kept */
	bool fresh_sorted;
	struct interval_list fresh, pending, spare;
	struct open_interval *open;
	size_t open_count, open_capacity;
	uint64_t now_ns; /* settled up to here */
	double v;
	uint64_t union_end_ns; /* without parts: where the union ends so far */
	uint64_t busy_ns, displaced;
	size_t waiting_most;
};

void kp_sweep_parts_fini(struct kp_sweep_parts *parts)
{
	free(parts->row_ns);
	*parts = (struct kp_sweep_parts){0};
}

enum kp_status kp_sweep_create(struct kp_sweep_parts *parts, size_t waiting_most,
			       struct kp_sweep **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return KP_NO_MEMORY;
	(*out)->parts = parts;
	(*out)->fresh_sorted = true;
	(*out)->waiting_most = waiting_most;
	return KP_OK;
}

void kp_sweep_destroy(struct kp_sweep *sweep)
{
	if (!sweep)
		return;
	free(sweep->fresh.items);
	free(sweep->pending.items);
	free(sweep->spare.items);
	free(sweep->open);
	free(sweep);
}

static enum kp_status reserve(struct interval_list *list, size_t count)
{
	return kp_vector_reserve((void **)&list->items, count, &list->capacity,
				 sizeof(*list->items))
		       ? KP_OK
		       : KP_NO_MEMORY;
}

static enum kp_status reserve_row(struct kp_sweep_parts *parts, uint32_t row)
{
	return kp_vector_reserve((void **)&parts->row_ns, (size_t)row + 1, &parts->count,
				 sizeof(*parts->row_ns))
		       ? KP_OK
		       : KP_NO_MEMORY;
}

enum kp_status kp_sweep_add(struct kp_sweep *sweep, uint64_t start_ns, uint64_t end_ns,
			    uint32_t row)
{
	struct interval_list *fresh = &sweep->fresh;

	if (reserve(fresh, fresh->count + 1) != KP_OK ||
	    (sweep->parts && reserve_row(sweep->parts, row) != KP_OK))
		return KP_NO_MEMORY;
	if (fresh->count && start_ns < fresh->items[fresh->count - 1].start_ns)
		sweep->fresh_sorted = false;
	fresh->items[fresh->count++] = (struct interval){start_ns, end_ns, row};
	return KP_OK;
}

/* Whether a ends before b; rows break ties, so that equal timelines give equal sums. */
static bool ends_before(const struct open_interval *a, const struct open_interval *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->row < b->row;
}

static void open_push(struct kp_sweep *sweep, struct open_interval item)
{
	size_t at = sweep->open_count++;

	while (at && ends_before(&item, &sweep->open[(at - 1) / 2])) {
		sweep->open[at] = sweep->open[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	sweep->open[at] = item;
}

static struct open_interval open_pop(struct kp_sweep *sweep)
{
	struct open_interval top = sweep->open[0], item = sweep->open[--sweep->open_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < sweep->open_count) {
		child += child + 1 < sweep->open_count &&
			 ends_before(&sweep->open[child + 1], &sweep->open[child]);
		if (!ends_before(&sweep->open[child], &item))
			break;
		sweep->open[at] = sweep->open[child];
		at = child;
	}
	sweep->open[at] = item;
	return top;
}

/* Lets time pass to `to_ns` without anything ending or starting before. */
static void pass(struct kp_sweep *sweep, uint64_t to_ns)
{
	uint64_t elapsed_ns = to_ns - sweep->now_ns;

	sweep->now_ns = to_ns;
	if (sweep->open_count == 0)
		return;
	sweep->busy_ns += elapsed_ns;
	sweep->v += (double)elapsed_ns / (double)sweep->open_count;
}

static void close_first(struct kp_sweep *sweep)
{
	struct open_interval closed = open_pop(sweep);

	sweep->parts->row_ns[closed.row] += sweep->v - closed.start_v;
	if (sweep->open_count == 0)
		sweep->v = 0;
}

/* Lets time pass to `to_ns`, closing what ends until then. */
static void advance(struct kp_sweep *sweep, uint64_t to_ns)
{
	while (sweep->open_count && sweep->open[0].end_ns <= to_ns) {
		pass(sweep, sweep->open[0].end_ns);
		close_first(sweep);
	}
	if (to_ns > sweep->now_ns)
		pass(sweep, to_ns);
}

static enum kp_status reserve_open(struct kp_sweep *sweep)
{
	size_t capacity = sweep->open_capacity ? sweep->open_capacity * 2 : 64;
	struct open_interval *open;

	if (sweep->open_count < sweep->open_capacity)
		return KP_OK;
	open = realloc(sweep->open, capacity * sizeof(*open));
	if (!open)
		return KP_NO_MEMORY;
	sweep->open = open;
	sweep->open_capacity = capacity;
	return KP_OK;
}

static enum kp_status settle_shared(struct kp_sweep *sweep, struct interval item)
{
	if (item.start_ns < sweep->now_ns) {
		sweep->displaced++;
		item.start_ns = sweep->now_ns;
	}
	if (item.end_ns <= item.start_ns)
		return KP_OK;
	advance(sweep, item.start_ns);
	if (sweep->open_count == OPEN_MAX) {
		sweep->displaced++;
		close_first(sweep);
	}
	if (reserve_open(sweep) != KP_OK)
		return KP_NO_MEMORY;
	open_push(sweep, (struct open_interval){item.end_ns, sweep->v, item.row});
	return KP_OK;
}

static enum kp_status settle_union(struct kp_sweep *sweep, struct interval item)
{
	if (item.start_ns < sweep->now_ns)
		sweep->displaced++;
	else
		sweep->now_ns = item.start_ns;
	if (item.start_ns < sweep->union_end_ns)
		item.start_ns = sweep->union_end_ns;
	if (item.end_ns > item.start_ns) {
		sweep->busy_ns += item.end_ns - item.start_ns;
		sweep->union_end_ns = item.end_ns;
	}
	return KP_OK;
}

static int compare_intervals(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* Takes the earliest of two sorted lists; NULL when both are used up. */
static const struct interval *take(const struct interval_list *a, size_t *i,
				   const struct interval_list *b, size_t *j)
{
	if (*i == a->count)
		return *j == b->count ? NULL : &b->items[(*j)++];
	if (*j == b->count || a->items[*i].start_ns <= b->items[*j].start_ns)
		return &a->items[(*i)++];
	return &b->items[(*j)++];
}

/* Settles what starts before the watermark, of pending and fresh; what is left becomes pending. */
static enum kp_status settle_before(struct kp_sweep *sweep, uint64_t watermark_ns)
{
	enum kp_status status = KP_OK;
	const struct interval *item;
	struct interval_list left = sweep->spare;
	size_t i = 0, j = 0;

	if (reserve(&left, sweep->pending.count + sweep->fresh.count) != KP_OK)
		return KP_NO_MEMORY;
	left.count = 0;
	sweep->spare = left;
	while (status == KP_OK && (item = take(&sweep->pending, &i, &sweep->fresh, &j)) != NULL) {
		if (item->start_ns >= watermark_ns)
			left.items[left.count++] = *item;
		else
			status = sweep->parts ? settle_shared(sweep, *item)
					      : settle_union(sweep, *item);
	}
	sweep->spare = sweep->pending;
	sweep->pending = left;
	sweep->fresh.count = 0;
	sweep->fresh_sorted = true;
	return status;
}

enum kp_status kp_sweep_settle(struct kp_sweep *sweep, uint64_t watermark_ns)
{
	enum kp_status status;

	if (!sweep->fresh_sorted)
		qsort(sweep->fresh.items, sweep->fresh.count, sizeof(*sweep->fresh.items),
		      compare_intervals);
	status = settle_before(sweep, watermark_ns);
	if (status == KP_OK && sweep->pending.count > sweep->waiting_most) {
		watermark_ns = sweep->pending.items[sweep->pending.count / 2].start_ns + 1;
		status = settle_before(sweep, watermark_ns);
	}
	if (sweep->open_count)
		advance(sweep, watermark_ns == UINT64_MAX ? KP_TIME_MAX_NS : watermark_ns);
	return status;
}

uint64_t kp_sweep_busy_ns(const struct kp_sweep *sweep)
{
	return sweep->busy_ns;
}

uint64_t kp_sweep_displaced(const struct kp_sweep *sweep)
{
	return sweep->displaced;
}
