/* Launches and records by count; see library_match.h. */
#include "analyzers/library_match.h"

#include <string.h>

static bool same_size(const uint32_t a[3], const uint32_t b[3])
{
	static const uint32_t unknown[3];

	return memcmp(a, b, sizeof(unknown)) == 0 || memcmp(a, unknown, sizeof(unknown)) == 0 ||
	       memcmp(b, unknown, sizeof(unknown)) == 0;
}

bool kp_library_agree(const uint32_t grid[3], const uint32_t block[3], const uint32_t other_grid[3],
		      const uint32_t other_block[3])
{
	return same_size(grid, other_grid) && same_size(block, other_block);
}

static bool agree(const struct kp_library_ask *ask, const struct kp_library_offer *offer)
{
	if (ask->graph != offer->graph)
		return false;
	if (ask->graph)
		return offer->kernels <= ask->kernels;
	return kp_library_agree(ask->grid, ask->block, offer->grid, offer->block);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t first_position(const struct kp_library_ask *ask, struct kp_library_slack slack)
{
	return less(less(ask->ordinal, ask->before), slack.missing);
}

static uint64_t last_position(const struct kp_library_ask *ask, struct kp_library_slack slack)
{
	return more(more(ask->ordinal, ask->others), slack.excess);
}

/* The first offer at or behind a position. */
static size_t find(const struct kp_library_offer *offers, size_t count, uint64_t position)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (offers[middle].position < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The earliest offer from `from` on that can be the launch's. */
static size_t earliest(const struct kp_library_ask *ask, const struct kp_library_offer *offers,
		       size_t count, size_t from, struct kp_library_slack slack)
{
	size_t at = find(offers, count, first_position(ask, slack));
	uint64_t last = last_position(ask, slack);

	if (at < from)
		at = from;
	for (size_t tried = 0; at < count && tried < KP_LIBRARY_REACH; at++, tried++) {
		if (offers[at].position > last)
			break;
		if (agree(ask, &offers[at]))
			return at;
	}
	return KP_LIBRARY_NONE;
}

/* The latest offer before `end` that can be the launch's. */
static size_t latest(const struct kp_library_ask *ask, const struct kp_library_offer *offers,
		     size_t count, size_t end, struct kp_library_slack slack)
{
	uint64_t first = first_position(ask, slack), last = last_position(ask, slack);
	size_t at = last == UINT64_MAX ? count : find(offers, count, last + 1);

	if (at > end)
		at = end;
	for (size_t tried = 0; at-- > 0 && tried < KP_LIBRARY_REACH; tried++) {
		if (offers[at].position < first)
			break;
		if (agree(ask, &offers[at]))
			return at;
	}
	return KP_LIBRARY_NONE;
}

/* What an assignment gives each offer. */
static void invert(const size_t *offer_of, size_t ask_count, size_t offer_count, size_t *ask_of)
{
	for (size_t i = 0; i < offer_count; i++)
		ask_of[i] = KP_LIBRARY_NONE;
	for (size_t i = 0; i < ask_count; i++)
		if (offer_of[i] != KP_LIBRARY_NONE)
			ask_of[offer_of[i]] = i;
}

/* Leaves what the latest assignment says the same of. `ask_of` is the inverse of the earliest. */
static void leave_common(const struct kp_library_ask *asks, size_t ask_count,
			 const size_t *latest_of, size_t offer_count, size_t *ask_of)
{
	size_t last = ask_count;

	for (size_t at = offer_count; at-- > 0;) {
		while (last > 0 &&
		       (latest_of[last - 1] == KP_LIBRARY_NONE || latest_of[last - 1] > at))
			last--;
		if (ask_of[at] != KP_LIBRARY_NONE && (last == 0 || latest_of[last - 1] != at ||
						      asks[last - 1].what != asks[ask_of[at]].what))
			ask_of[at] = KP_LIBRARY_NONE;
	}
}

/* No record is missing: what the earliest and the latest assignment have in common. */
static void match_whole(const struct kp_library_ask *asks, size_t ask_count,
			const struct kp_library_offer *offers, size_t offer_count,
			struct kp_library_slack slack, size_t *scratch, size_t *ask_of)
{
	size_t *earliest_of = scratch, *latest_of = scratch + ask_count;
	size_t from = 0, end = offer_count;

	for (size_t i = 0; i < ask_count; i++) {
		earliest_of[i] = earliest(&asks[i], offers, offer_count, from, slack);
		if (earliest_of[i] != KP_LIBRARY_NONE)
			from = earliest_of[i] + 1;
	}
	for (size_t i = ask_count; i-- > 0;) {
		latest_of[i] = latest(&asks[i], offers, offer_count, end, slack);
		if (latest_of[i] != KP_LIBRARY_NONE)
			end = latest_of[i];
	}
	invert(earliest_of, ask_count, offer_count, ask_of);
	leave_common(asks, ask_count, latest_of, offer_count, ask_of);
}

/* ---- where records are missing ---- */

/* A launch that says how many records are missing before it. */
struct anchor {
	size_t ask;
	uint64_t missing;
};

/* Whether another launch than `own` can have the record. */
static bool is_contested(const struct kp_library_ask *asks, size_t count, size_t own,
			 const struct kp_library_offer *offer, uint64_t missing)
{
	for (size_t i = own; i-- > 0 && asks[i].ordinal >= offer->position;)
		if (agree(&asks[i], offer))
			return true;
	for (size_t i = own + 1; i < count && asks[i].ordinal <= more(offer->position, missing);
	     i++)
		if (agree(&asks[i], offer))
			return true;
	return false;
}

static bool is_alone(const struct kp_library_ask *ask)
{
	return !ask->others && !ask->before;
}

/* Whether there is one record alone that can be the launch's, and no other launch for it. */
static bool is_anchor(const struct kp_library_ask *asks, size_t count, size_t number,
		      const struct kp_library_offer *offers, size_t offer_count,
		      struct kp_library_slack slack, struct anchor *anchor)
{
	const struct kp_library_ask *ask = &asks[number];
	size_t first = earliest(ask, offers, offer_count, 0, slack);

	if (!is_alone(ask) || first == KP_LIBRARY_NONE || offers[first].position > ask->ordinal ||
	    latest(ask, offers, offer_count, offer_count, slack) != first ||
	    is_contested(asks, count, number, &offers[first], slack.missing))
		return false;
	*anchor = (struct anchor){number, ask->ordinal - offers[first].position};
	return true;
}

/* The record of a launch before which so many are missing; KP_LIBRARY_NONE: it does not agree. */
static size_t pinned(const struct kp_library_ask *ask, const struct kp_library_offer *offers,
		     size_t count, uint64_t missing)
{
	size_t at = find(offers, count, less(ask->ordinal, missing));

	if (!is_alone(ask) || at == count || offers[at].position + missing != ask->ordinal ||
	    !agree(ask, &offers[at]))
		return KP_LIBRARY_NONE;
	return at;
}

/* Ties the launches from `from` to `to`, before which as many are missing, if all agree. */
static void pin(const struct kp_library_ask *asks, size_t from, size_t to,
		const struct kp_library_offer *offers, size_t offer_count, uint64_t missing,
		size_t *ask_of)
{
	for (size_t i = from; i < to; i++)
		if (pinned(&asks[i], offers, offer_count, missing) == KP_LIBRARY_NONE)
			return;
	for (size_t i = from; i < to; i++)
		ask_of[pinned(&asks[i], offers, offer_count, missing)] = i;
}

static void match_between(const struct kp_library_ask *asks, size_t ask_count,
			  const struct kp_library_offer *offers, size_t offer_count,
			  struct kp_library_slack slack, size_t *ask_of)
{
	struct anchor before = {0, KP_LIBRARY_UNKNOWN}, anchor;

	for (size_t i = 0; i < ask_count; i++) {
		if (!is_anchor(asks, ask_count, i, offers, offer_count, slack, &anchor))
			continue;
		if (anchor.missing == before.missing)
			pin(asks, before.ask, i + 1, offers, offer_count, anchor.missing, ask_of);
		before = anchor;
	}
}

void kp_library_match(const struct kp_library_ask *asks, size_t ask_count,
		      const struct kp_library_offer *offers, size_t offer_count,
		      struct kp_library_slack slack, size_t *scratch, size_t *ask_of)
{
	invert(NULL, 0, offer_count, ask_of);
	if (slack.missing == 0)
		match_whole(asks, ask_count, offers, offer_count, slack, scratch, ask_of);
	else if (slack.missing <= KP_LIBRARY_REACH && !slack.excess)
		match_between(asks, ask_count, offers, offer_count, slack, ask_of);
}
