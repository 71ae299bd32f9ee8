/* Converts times to the other client's clock; see share_clock.h. */
#include "inject/share_clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inject/state.h"

/* How often a pair is read: the tightest of these counts. */
#define READINGS 3

static struct {
	pthread_mutex_t lock; /* over the map */
	struct kp_clock_map map;
	_Atomic(CUpti_TimestampCallbackFunc) client;
	_Atomic bool realtime; /* CUPTI goes by CLOCK_REALTIME, not by kprof's clock */
	int64_t ahead_ns;      /* of kprof's clock, then; worker only */
} clocks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t realtime_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t kp_share_clock_ours(void)
{
	return atomic_load(&clocks.realtime) ? realtime_now() : kp_clock_now();
}

int64_t kp_share_clock_ahead_ns(void)
{
	struct kp_clock_info pair;
	int64_t ahead_ns;

	if (!atomic_load(&clocks.realtime))
		return 0;
	pair = kp_clock_pair();
	ahead_ns = (int64_t)(pair.realtime_ns - pair.monotonic_ns);
	/* Else each reading's error would come between times that it must not change the order of.
	 */
	if (llabs(ahead_ns - clocks.ahead_ns) >= KP_CLOCK_STEP_NS)
		clocks.ahead_ns = ahead_ns;
	return clocks.ahead_ns;
}

uint64_t CUPTIAPI kp_share_clock_now(void)
{
	CUpti_TimestampCallbackFunc client = atomic_load(&clocks.client);

	return client ? client() : realtime_now();
}

static void forget(void)
{
	pthread_mutex_lock(&clocks.lock);
	clocks.map.count = 0;
	pthread_mutex_unlock(&clocks.lock);
}

void kp_share_clock_source(bool kprofs)
{
	atomic_store(&clocks.realtime, !kprofs);
	forget();
}

void kp_share_clock_set(CUpti_TimestampCallbackFunc clock)
{
	if (atomic_exchange(&clocks.client, clock) != clock)
		forget();
}

void kp_share_clock_sample(void)
{
	CUpti_TimestampCallbackFunc client = atomic_load(&clocks.client);
	struct kp_clock_point best = {0, 0};
	uint64_t width = UINT64_MAX;

	if (!client && atomic_load(&clocks.realtime))
		return; /* one and the same clock: the map stays empty */
	for (int i = 0; i < READINGS; i++) {
		uint64_t before = kp_share_clock_ours();
		uint64_t theirs = kp_share_clock_now();
		uint64_t after = kp_share_clock_ours();

		if (after >= before && after - before < width) {
			width = after - before;
			best = (struct kp_clock_point){before + width / 2, theirs};
		}
	}
	if (width == UINT64_MAX)
		return;
	pthread_mutex_lock(&clocks.lock);
	if (atomic_load(&clocks.client) == client)
		kp_clock_map_add(&clocks.map, best);
	pthread_mutex_unlock(&clocks.lock);
}

void kp_share_clock_map(struct kp_clock_map *out)
{
	pthread_mutex_lock(&clocks.lock);
	out->count = clocks.map.count;
	memcpy(out->points, clocks.map.points, out->count * sizeof(out->points[0]));
	pthread_mutex_unlock(&clocks.lock);
}

/* ---- the map itself ---- */

/* Every second point goes; the first and the last stay. */
static void thin(struct kp_clock_map *map)
{
	unsigned kept = 1;

	for (unsigned i = 2; i < map->count - 1; i += 2)
		map->points[kept++] = map->points[i];
	map->points[kept++] = map->points[map->count - 1];
	map->count = kept;
}

void kp_clock_map_add(struct kp_clock_map *map, struct kp_clock_point point)
{
	unsigned count = map->count;

	if (count && point.ours <= map->points[count - 1].ours)
		return;
	if (count > 1 &&
	    map->points[count - 1].ours - map->points[count - 2].ours < KP_CLOCK_APART_NS) {
		map->points[count - 1] = point;
		return;
	}
	if (count == KP_CLOCK_PAIRS)
		thin(map);
	map->points[map->count++] = point;
}

/* The last point that is not after the time, but never the very last: a piece begins there. */
static unsigned find_piece(const struct kp_clock_map *map, uint64_t ours)
{
	unsigned low = 0, high = map->count - 1;

	while (low + 1 < high) {
		unsigned middle = low + (high - low) / 2;

		if (map->points[middle].ours <= ours)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t kp_clock_map_convert(const struct kp_clock_map *map, uint64_t ours)
{
	const struct kp_clock_point *from, *to;
	double rate = 1.0;

	if (!map->count || !ours || ours > KP_TIME_MAX_NS)
		return ours;
	from = &map->points[0];
	if (map->count > 1) {
		from = &map->points[find_piece(map, ours)];
		to = from + 1;
		rate = (double)(int64_t)(to->theirs - from->theirs) /
		       (double)(to->ours - from->ours);
	}
	return from->theirs + (uint64_t)(int64_t)((double)(int64_t)(ours - from->ours) * rate);
}

void kp_share_clock_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&clocks, 0, sizeof(clocks));
	clocks.lock = fresh;
}
