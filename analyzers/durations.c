/* Duration statistics; see durations.h. */
#include "analyzers/durations.h"

#include <math.h>

#define PAGES_PER_GROUP (KP_DURATION_GROUP_BUCKETS / KP_DURATION_PAGE_BUCKETS)

/* Bucket of a duration, counted through all groups. */
static uint32_t bucket_of(uint64_t duration_ns)
{
	unsigned power, shift;

	if (duration_ns < 2 * KP_DURATION_GROUP_BUCKETS)
		return (uint32_t)duration_ns;
	if (duration_ns > KP_DURATION_MAX_NS)
		duration_ns = KP_DURATION_MAX_NS;
	power = 63 - (unsigned)__builtin_clzll(duration_ns);
	shift = power - 10;
	return (shift + 1) * KP_DURATION_GROUP_BUCKETS +
	       (uint32_t)((duration_ns >> shift) - KP_DURATION_GROUP_BUCKETS);
}

/* The middle of a bucket, nanoseconds: the inverse of bucket_of. */
static double middle_of(uint32_t bucket)
{
	unsigned shift;
	uint64_t low;

	if (bucket < 2 * KP_DURATION_GROUP_BUCKETS)
		return bucket;
	shift = bucket / KP_DURATION_GROUP_BUCKETS - 1;
	low = (uint64_t)(bucket % KP_DURATION_GROUP_BUCKETS + KP_DURATION_GROUP_BUCKETS) << shift;
	return (double)low + (double)((1ULL << shift) - 1) / 2;
}

/* The page that holds a bucket, allocated if need be. NULL without memory. */
static uint64_t *page_of(struct kp_duration_tally *tally, uint32_t bucket, struct kp_arena *arena)
{
	struct kp_duration_group **group = &tally->groups[bucket / KP_DURATION_GROUP_BUCKETS];
	uint64_t **page;

	if (!*group)
		*group = kp_arena_alloc(arena, sizeof(**group));
	if (!*group)
		return NULL;
	page = &(*group)->pages[bucket % KP_DURATION_GROUP_BUCKETS / KP_DURATION_PAGE_BUCKETS];
	if (!*page)
		*page = kp_arena_alloc(arena, KP_DURATION_PAGE_BUCKETS * sizeof(**page));
	return *page;
}

/* So many squares of so short durations have a sum below 2^64. */
#define BLOCK 4096
#define SHORT_NS (1ULL << 26)

/* Sums, least and most of a block. */
static void add_sums(struct kp_duration_tally *tally, const uint64_t *durations_ns, size_t count)
{
	uint64_t least_ns = tally->count ? tally->min_ns : UINT64_MAX, most_ns = tally->max_ns;
	uint64_t sum = 0, squares = 0, all = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t duration_ns = durations_ns[i];

		least_ns = duration_ns < least_ns ? duration_ns : least_ns;
		most_ns = duration_ns > most_ns ? duration_ns : most_ns;
		all |= duration_ns;
		sum += duration_ns;
		squares += duration_ns * duration_ns;
	}
	tally->count += count;
	tally->min_ns = least_ns;
	tally->max_ns = most_ns;
	if (all < SHORT_NS) {
		tally->sum += sum;
		tally->squares += squares;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		tally->sum += durations_ns[i];
		tally->squares += (unsigned __int128)durations_ns[i] * durations_ns[i];
	}
}

enum kp_status kp_durations_add_all(struct kp_duration_tally *tally, const uint64_t *durations_ns,
				    size_t count, struct kp_arena *arena)
{
	uint32_t last = UINT32_MAX;
	uint64_t *page = NULL;

	for (size_t i = 0; i < count; i++) {
		uint32_t bucket = bucket_of(durations_ns[i]);

		if (bucket / KP_DURATION_PAGE_BUCKETS != last) {
			last = bucket / KP_DURATION_PAGE_BUCKETS;
			page = page_of(tally, bucket, arena);
		}
		if (!page)
			return KP_NO_MEMORY;
		page[bucket % KP_DURATION_PAGE_BUCKETS]++;
	}
	for (size_t i = 0; i < count; i += BLOCK)
		add_sums(tally, durations_ns + i, count - i < BLOCK ? count - i : BLOCK);
	return KP_OK;
}

enum kp_status kp_durations_add(struct kp_duration_tally *tally, uint64_t duration_ns,
				struct kp_arena *arena)
{
	return kp_durations_add_all(tally, &duration_ns, 1, arena);
}

/* Calls for every page of a tally, in order of duration; stops when `visit` returns false. */
typedef bool visit_page(void *context, uint32_t first_bucket, const uint64_t *page);

static void visit_pages(const struct kp_duration_tally *tally, visit_page *visit, void *context)
{
	for (uint32_t at = 0; at < KP_DURATION_GROUPS * PAGES_PER_GROUP; at++) {
		const struct kp_duration_group *group = tally->groups[at / PAGES_PER_GROUP];

		if (!group)
			at += PAGES_PER_GROUP - 1;
		else if (group->pages[at % PAGES_PER_GROUP] &&
			 !visit(context, at * KP_DURATION_PAGE_BUCKETS,
				group->pages[at % PAGES_PER_GROUP]))
			return;
	}
}

struct merge {
	struct kp_duration_tally *into;
	struct kp_arena *arena;
	enum kp_status status;
};

static bool merge_page(void *context, uint32_t first_bucket, const uint64_t *page)
{
	struct merge *merge = context;
	uint64_t *into = page_of(merge->into, first_bucket, merge->arena);

	for (unsigned i = 0; into && i < KP_DURATION_PAGE_BUCKETS; i++)
		into[i] += page[i];
	merge->status = into ? KP_OK : KP_NO_MEMORY;
	return into;
}

enum kp_status kp_durations_merge(struct kp_duration_tally *tally,
				  const struct kp_duration_tally *other, struct kp_arena *arena)
{
	struct merge merge = {tally, arena, KP_OK};

	if (other->count == 0)
		return KP_OK;
	visit_pages(other, merge_page, &merge);
	if (merge.status != KP_OK)
		return merge.status;
	if (tally->count == 0 || other->min_ns < tally->min_ns)
		tally->min_ns = other->min_ns;
	if (other->max_ns > tally->max_ns)
		tally->max_ns = other->max_ns;
	tally->count += other->count;
	tally->sum += other->sum;
	tally->squares += other->squares;
	return KP_OK;
}

struct ranking {
	uint64_t rank; /* how many come before the one that is looked for */
	double found_ns;
};

static bool rank_page(void *context, uint32_t first_bucket, const uint64_t *page)
{
	struct ranking *ranking = context;

	for (uint32_t i = 0; i < KP_DURATION_PAGE_BUCKETS; i++) {
		if (ranking->rank < page[i]) {
			ranking->found_ns = middle_of(first_bucket + i);
			return false;
		}
		ranking->rank -= page[i];
	}
	return true;
}

/* The duration of a rank, 0 for the shortest. */
static double at_rank(const struct kp_duration_tally *tally, uint64_t rank)
{
	struct ranking ranking = {rank, (double)tally->max_ns};

	visit_pages(tally, rank_page, &ranking);
	return fmin(fmax(ranking.found_ns, (double)tally->min_ns), (double)tally->max_ns);
}

double kp_durations_quantile(const struct kp_duration_tally *tally, double fraction)
{
	double place = ceil(fraction * (double)tally->count) - 1;

	if (tally->count == 0)
		return 0;
	if (!(place > 0))
		place = 0;
	return at_rank(tally, place < (double)tally->count ? (uint64_t)place : tally->count - 1);
}

struct counting {
	double from_ns;
	uint64_t count;
};

static bool count_page(void *context, uint32_t first_bucket, const uint64_t *page)
{
	struct counting *counting = context;

	for (uint32_t i = 0; i < KP_DURATION_PAGE_BUCKETS; i++)
		counting->count += middle_of(first_bucket + i) >= counting->from_ns ? page[i] : 0;
	return true;
}

uint64_t kp_durations_count_from(const struct kp_duration_tally *tally, double duration_ns)
{
	struct counting counting = {duration_ns, 0};

	visit_pages(tally, count_page, &counting);
	return counting.count;
}

/*
 * The population's variance. With whole = ⌊mean⌋, Σ(x - mean)² = Σ(x - whole)² - rest² / n, where
 * rest = Σx - n whole: the first is whole and exact however large its terms are, as long as it is
 * below 2^128 itself.
 */
static double variance_of(const struct kp_duration_tally *tally)
{
	unsigned __int128 whole = tally->sum / tally->count, rest = tally->sum % tally->count;
	unsigned __int128 squares =
		tally->squares - 2 * whole * tally->sum + tally->count * whole * whole;
	double n = (double)tally->count;

	return fmax(((double)squares - (double)rest * (double)rest / n) / n, 0);
}

struct kp_durations kp_durations_result(const struct kp_duration_tally *tally)
{
	uint64_t count = tally->count;

	if (count == 0)
		return (struct kp_durations){0};
	return (struct kp_durations){
		.timed = count,
		.total_ns = tally->sum < UINT64_MAX ? (uint64_t)tally->sum : UINT64_MAX,
		.min_ns = tally->min_ns,
		.max_ns = tally->max_ns,
		.mean_ns = (double)tally->sum / (double)count,
		.stddev_ns =
			fmin(sqrt(variance_of(tally)), (double)(tally->max_ns - tally->min_ns)),
		.median_ns = (at_rank(tally, (count - 1) / 2) + at_rank(tally, count / 2)) / 2,
	};
}
