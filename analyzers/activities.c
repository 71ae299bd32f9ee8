/*
 * Activities in order; see activities.h.
 *
 * `pending` is sorted; `fresh` is what was added since the last settling, as a rule in order.
 */
#include "analyzers/activities.h"

#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

/* What is added no further than that from its place is put there; else all is sorted. */
#define NEAR 16

struct list {
	struct kp_activity *items;
	size_t count, capacity;
};

struct kp_activities {
	struct list fresh, pending, spare;
	bool fresh_sorted;
	size_t waiting_most;
};

struct kp_activities *kp_activities_create(size_t waiting_most)
{
	struct kp_activities *activities = calloc(1, sizeof(*activities));

	if (!activities)
		return NULL;
	activities->fresh_sorted = true;
	activities->waiting_most = waiting_most;
	return activities;
}

void kp_activities_destroy(struct kp_activities *activities)
{
	if (!activities)
		return;
	free(activities->fresh.items);
	free(activities->pending.items);
	free(activities->spare.items);
	free(activities);
}

static enum kp_status reserve(struct list *list, size_t count)
{
	return kp_vector_reserve((void **)&list->items, count, &list->capacity,
				 sizeof(*list->items))
		       ? KP_OK
		       : KP_NO_MEMORY;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare(const void *left, const void *right)
{
	const struct kp_activity *a = left, *b = right;
	int result = order(a->start_ns, b->start_ns);

	if (!result)
		result = order(a->end_ns, b->end_ns);
	if (!result)
		result = order(a->row, b->row);
	return result ? result : order(a->correlation, b->correlation);
}

struct kp_activity *kp_activities_next(struct kp_activities *activities, size_t count)
{
	struct list *fresh = &activities->fresh;

	return reserve(fresh, fresh->count + count) == KP_OK ? &fresh->items[fresh->count] : NULL;
}

/* Puts the last to its place, if that is near. Batches are in order but for equal starts. */
static void sink(struct kp_activities *activities)
{
	struct list *fresh = &activities->fresh;
	size_t at = fresh->count - 1;

	while (at && compare(&fresh->items[at], &fresh->items[at - 1]) < 0) {
		struct kp_activity item = fresh->items[at];

		if (fresh->count - at > NEAR) {
			activities->fresh_sorted = false;
			return;
		}
		fresh->items[at] = fresh->items[at - 1];
		fresh->items[--at] = item;
	}
}

void kp_activities_keep(struct kp_activities *activities, size_t count)
{
	struct list *fresh = &activities->fresh;

	for (; count; count--) {
		const struct kp_activity *item = &fresh->items[fresh->count++];

		if (fresh->count > 1 && item->start_ns <= item[-1].start_ns &&
		    activities->fresh_sorted)
			sink(activities);
	}
}

enum kp_status kp_activities_add(struct kp_activities *activities, const struct kp_activity *item)
{
	struct kp_activity *place = kp_activities_next(activities, 1);

	if (!place)
		return KP_NO_MEMORY;
	*place = *item;
	kp_activities_keep(activities, 1);
	return KP_OK;
}

/* How many of a list from `from` on come before all that is left of the other one. */
static size_t run_of(const struct list *list, size_t from, const struct list *other, size_t at,
		     uint64_t watermark_ns, bool first_of_equals)
{
	size_t end = from;

	while (end < list->count && list->items[end].start_ns < watermark_ns &&
	       (at == other->count ||
		compare(&list->items[end], &other->items[at]) < (int)first_of_equals))
		end++;
	return end - from;
}

/* Puts what is left of two sorted lists together. */
static void merge(struct list *left, const struct list *a, size_t i, const struct list *b, size_t j)
{
	left->count = 0;
	while (i < a->count || j < b->count) {
		bool first =
			j == b->count || (i < a->count && compare(&a->items[i], &b->items[j]) <= 0);

		left->items[left->count++] = first ? a->items[i++] : b->items[j++];
	}
}

/* Whether all that is left of a list comes behind all of another one. */
static bool is_behind(const struct list *list, size_t from, const struct list *other)
{
	return from == list->count || !other->count ||
	       compare(&list->items[from], &other->items[other->count - 1]) >= 0;
}

/* What is left of fresh becomes the end of pending, of which nothing was visited. */
static enum kp_status append(struct kp_activities *activities, size_t from)
{
	struct list *fresh = &activities->fresh, *pending = &activities->pending;
	size_t count = fresh->count - from;

	if (reserve(pending, pending->count + count) != KP_OK)
		return KP_NO_MEMORY;
	if (count)
		memcpy(pending->items + pending->count, fresh->items + from,
		       count * sizeof(*fresh->items));
	pending->count += count;
	fresh->count = 0;
	activities->fresh_sorted = true;
	return KP_OK;
}

/* Visits what starts before the watermark, of pending and fresh; the rest becomes pending. */
static enum kp_status settle_before(struct kp_activities *activities, uint64_t watermark_ns,
				    kp_activity_visit *visit, void *context)
{
	const struct list *pending = &activities->pending, *fresh = &activities->fresh;
	enum kp_status status = KP_OK;
	struct list left = activities->spare;
	size_t i = 0, j = 0, run = 1;

	left.count = 0;
	while (status == KP_OK && run) {
		run = run_of(pending, i, fresh, j, watermark_ns, true);
		if (run)
			status = visit(context, &pending->items[i], run);
		i += run;
		if (status != KP_OK)
			break;
		run = run_of(fresh, j, pending, i, watermark_ns, false);
		if (run)
			status = visit(context, &fresh->items[j], run);
		j += run;
	}
	if (status == KP_OK && !i && is_behind(fresh, j, pending))
		return append(activities, j);
	if (status == KP_OK && reserve(&left, pending->count - i + (fresh->count - j)) != KP_OK)
		return KP_NO_MEMORY;
	if (status == KP_OK)
		merge(&left, pending, i, fresh, j);
	activities->spare = activities->pending;
	activities->pending = left;
	activities->fresh.count = 0;
	activities->fresh_sorted = true;
	return status;
}

enum kp_status kp_activities_settle(struct kp_activities *activities, uint64_t watermark_ns,
				    kp_activity_visit *visit, void *context)
{
	struct list *pending = &activities->pending;
	enum kp_status status;

	if (!activities->fresh_sorted)
		qsort(activities->fresh.items, activities->fresh.count,
		      sizeof(*activities->fresh.items), compare);
	status = settle_before(activities, watermark_ns, visit, context);
	if (status == KP_OK && pending->count > activities->waiting_most)
		status = settle_before(activities, pending->items[pending->count / 2].start_ns + 1,
				       visit, context);
	return status;
}
