/* What repeats; see repetition.h. */
#include "analyzers/repetition.h"

#include <stdlib.h>

bool kp_repetition_same(uint64_t a, uint64_t b)
{
	uint64_t tolerance = a >= 100 ? a / 50 : a >= 20 ? 2 : a >= 8 ? 1 : 0;

	return (a > b ? a - b : b - a) <= tolerance;
}

/* Counts a distance among those seen most often (Misra and Gries); the first is kept in front. */
static void see(struct kp_symbol *symbol, uint32_t distance)
{
	size_t i, free_place = KP_REPETITION_DISTANCES;

	for (i = 0; i < KP_REPETITION_DISTANCES; i++) {
		if (symbol->seen[i].hits &&
		    kp_repetition_same(symbol->seen[i].distance, distance)) {
			symbol->seen[i].hits += symbol->seen[i].hits < UINT32_MAX;
			return;
		}
		if (!symbol->seen[i].hits && free_place == KP_REPETITION_DISTANCES)
			free_place = i;
	}
	if (free_place < KP_REPETITION_DISTANCES) {
		symbol->seen[free_place].distance = distance;
		symbol->seen[free_place].hits = 1;
		return;
	}
	for (i = 0; i < KP_REPETITION_DISTANCES; i++)
		symbol->seen[i].hits--;
}

void kp_symbol_see(struct kp_symbol *symbol, uint64_t position)
{
	uint64_t distance = position - symbol->last;

	if (!symbol->count)
		symbol->first = position;
	else
		see(symbol, distance < UINT32_MAX ? (uint32_t)distance : UINT32_MAX);
}

/* The distance that a symbol had most often. */
static uint32_t usual(const struct kp_symbol *symbol, uint32_t *hits)
{
	uint32_t distance = 0;

	*hits = 0;
	for (size_t i = 0; i < KP_REPETITION_DISTANCES; i++)
		if (symbol->seen[i].hits > *hits) {
			*hits = symbol->seen[i].hits;
			distance = symbol->seen[i].distance;
		}
	return distance;
}

static uint32_t period_of(const struct kp_symbol *symbol)
{
	uint32_t hits;

	return usual(symbol, &hits);
}

static uint32_t hits_of(const struct kp_symbol *symbol)
{
	uint32_t hits;

	usual(symbol, &hits);
	return hits;
}

/* Whether a symbol comes at one distance, often enough and over enough of the sequence. */
static bool is_candidate(const struct kp_symbol *symbol, uint64_t length)
{
	uint32_t hits, period = usual(symbol, &hits);

	if (hits + 1 < KP_REPETITION_LEAST || period < (symbol->graph ? 1 : 2))
		return false;
	return hits >= KP_REPETITION_SAME * (double)(symbol->count - 1) &&
	       (double)hits * period >= KP_REPETITION_COVERS * (double)length;
}

static int by_period(const void *left, const void *right, void *context)
{
	const struct kp_symbol *const *symbols = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	uint32_t a_period = period_of(symbols[a]), b_period = period_of(symbols[b]);

	if (a_period != b_period)
		return a_period < b_period ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Whether a symbol comes as often as the anchor, and as long as that. */
static bool comes_along(const struct kp_symbol *symbol, const struct kp_symbol *anchor,
			uint64_t count)
{
	uint64_t first = symbol->first > anchor->first ? symbol->first : anchor->first;
	uint64_t last = symbol->last < anchor->last ? symbol->last : anchor->last;

	return (double)symbol->count >= 0.9 * (double)count && first <= last &&
	       (double)(last - first) >= 0.8 * (double)(anchor->last - anchor->first);
}

/* What comes at least once in nearly every iteration: of time, or of launches. */
static void explained(const struct kp_symbol *const *symbols, size_t symbol_count,
		      const struct kp_repetition *level, double *time, double *launches)
{
	double all_ns = 0, all = 0, ns = 0, number = 0;

	for (size_t i = 0; i < symbol_count; i++) {
		if (symbols[i]->graph)
			continue;
		all_ns += symbols[i]->total_ns;
		all += (double)symbols[i]->count;
		if (comes_along(symbols[i], symbols[level->anchor], level->count + 1)) {
			ns += symbols[i]->total_ns;
			number += (double)symbols[i]->count;
		}
	}
	*time = all_ns > 0 ? ns / all_ns : 0;
	*launches = all > 0 ? number / all : 0;
}

/* Whether a is the better beginning of an iteration: after the longest waits. */
static bool is_better(const struct kp_symbol *a, const struct kp_symbol *b)
{
	uint32_t a_hits = hits_of(a), b_hits = hits_of(b);

	if (a_hits > b_hits + 2 || b_hits > a_hits + 2)
		return a_hits > b_hits;
	if (a->graph != b->graph)
		return a->graph;
	if (a->waited_ns > b->waited_ns || b->waited_ns > a->waited_ns)
		return a->waited_ns > b->waited_ns;
	return a->first < b->first;
}

bool kp_repetition_as_good(const struct kp_symbol *symbol, const struct kp_symbol *anchor,
			   uint64_t length)
{
	return is_candidate(symbol, length) && symbol->graph == anchor->graph &&
	       kp_repetition_same(period_of(anchor), period_of(symbol)) &&
	       hits_of(symbol) >= KP_REPETITION_AS_GOOD * hits_of(anchor) &&
	       symbol->waited_ns >= KP_REPETITION_AS_GOOD * anchor->waited_ns;
}

struct kp_repetition kp_repetition_of(const struct kp_symbol *symbol, size_t place)
{
	return (struct kp_repetition){place, period_of(symbol), hits_of(symbol)};
}

/* One level: the candidates from `from` on whose periods are the same; *next: behind them. */
static struct kp_repetition level_from(const struct kp_symbol *const *symbols,
				       const size_t *candidates, size_t count, size_t from,
				       size_t *next)
{
	uint32_t period = period_of(symbols[candidates[from]]);
	size_t best = candidates[from];

	for (*next = from; *next < count; (*next)++) {
		size_t candidate = candidates[*next];

		if (!kp_repetition_same(period, period_of(symbols[candidate])))
			break;
		if (is_better(symbols[candidate], symbols[best]))
			best = candidate;
	}
	return kp_repetition_of(symbols[best], best);
}

bool kp_repetition_find(const struct kp_symbol *const *symbols, size_t count, uint64_t length,
			size_t *scratch, struct kp_repetition *out)
{
	double time = 0, launches = 0;
	size_t found = 0, next;
	bool any = false;

	for (size_t i = 0; i < count; i++)
		if (is_candidate(symbols[i], length))
			scratch[found++] = i;
	qsort_r(scratch, found, sizeof(*scratch), by_period, (void *)symbols);
	for (size_t i = 0; i < found; i = next) {
		struct kp_repetition level = level_from(symbols, scratch, found, i, &next);
		double level_time, level_launches;

		explained(symbols, count, &level, &level_time, &level_launches);
		if (any && !symbols[level.anchor]->graph &&
		    level_time < time + KP_REPETITION_EXPLAINS &&
		    level_launches < launches + KP_REPETITION_EXPLAINS)
			continue;
		*out = level;
		time = level_time;
		launches = level_launches;
		any = true;
	}
	return any;
}
