/*
 * Which kernel of one side is which of the other: the same by name, and what took its place; see
 * diff_build.h. Pure.
 *
 * A kernel that ran on one side only may stand where another stood that ran on the other side only.
 * It counts as its replacement if it does the same work as far as can be seen: of the same operator
 * (or of one that no rule knows), called about as often in a unit, and with the same kernels before
 * and behind it, of which one may have been replaced itself. Points are counted for each, the best
 * pairs are taken first, and what they settle says more of those that are left.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzers/diff_build.h"

/* The largest of each side that have no counterpart by name; all others have none at all. */
#define CANDIDATES_MAX 128

/* Calls in a unit of both sides may differ by so much at most; and by so much to be equal. */
#define CALLS_ALIKE 1.25
#define CALLS_EQUAL 1.02

enum {
	POINTS_NAME = 6,      /* the same kernel, for another operator or variant */
	POINTS_CALLS = 3,     /* equal ones */
	POINTS_NEIGHBOUR = 2, /* each */
	POINTS_VARIANT = 1,   /* the kind, and the number type: each */
	POINTS_LEAST = 5,     /* to be a replacement */
	POINTS_LEAST_UNKNOWN = POINTS_CALLS + 2 * POINTS_NEIGHBOUR /* where no rule knows one */
};

struct candidate {
	uint32_t number;
	uint64_t part_ns;
};

struct pairing {
	struct kp_differ *differ;
	struct candidate *lists[2];
	size_t counts[2];
};

static void match_names(struct kp_differ *differ)
{
	for (uint32_t i = 0; i < differ->keys.count; i++) {
		if (!kp_leaf_has_part(&differ->sides[0][i]) ||
		    !kp_leaf_has_part(&differ->sides[1][i]))
			continue;
		differ->sides[0][i].other = i;
		differ->sides[1][i].other = i;
	}
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->part_ns != b->part_ns)
		return a->part_ns > b->part_ns ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static enum kp_status list_candidates(struct pairing *pairing, unsigned side)
{
	const struct kp_diff_leaf *leaves = pairing->differ->sides[side];
	size_t room = pairing->differ->keys.count + 1, count = 0;
	struct candidate *list = malloc(room * sizeof(*list));

	pairing->lists[side] = list;
	if (!list)
		return KP_NO_MEMORY;
	for (uint32_t i = 0; i < pairing->differ->keys.count; i++)
		if (kp_leaf_has_part(&leaves[i]) && leaves[i].other == KP_LEAF_NONE)
			list[count++] = (struct candidate){i, leaves[i].part_ns};
	qsort(list, count, sizeof(*list), compare_candidates);
	pairing->counts[side] = count < CANDIDATES_MAX ? count : CANDIDATES_MAX;
	return KP_OK;
}

static bool is_unknown(const struct kp_diff_leaf *leaf)
{
	return strcmp(leaf->row->operator_name, "unknown") == 0;
}

static bool same_text(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* Whether two neighbours are the same kernel, or one that took its place; or both are none. */
static bool same_neighbour(const struct kp_differ *differ, uint32_t base, uint32_t fresh)
{
	if (base == KP_LEAF_NONE || fresh == KP_LEAF_NONE)
		return base == fresh;
	return base == fresh || differ->sides[0][base].other == fresh;
}

/* Calls of one side in a unit over those of the other, the larger above. */
static double calls_ratio(const struct kp_differ *differ, const struct kp_diff_leaf *base,
			  const struct kp_diff_leaf *fresh)
{
	double a = (double)base->calls / (double)differ->diff->totals[0].units;
	double b = (double)fresh->calls / (double)differ->diff->totals[1].units;

	if (!(a > 0) || !(b > 0))
		return 1e9;
	return a > b ? a / b : b / a;
}

/* Points for a pair; 0: it is none. */
static unsigned judge(const struct kp_differ *differ, uint32_t number, uint32_t other)
{
	const struct kp_diff_leaf *base = &differ->sides[0][number];
	const struct kp_diff_leaf *fresh = &differ->sides[1][other];
	double ratio = calls_ratio(differ, base, fresh);
	bool same_operator = same_text(base->row->operator_name, fresh->row->operator_name);
	bool same_name = same_text(base->row->mangled, fresh->row->mangled);
	unsigned points = 0, least = same_operator ? POINTS_LEAST : POINTS_LEAST_UNKNOWN;

	if (ratio > CALLS_ALIKE ||
	    (!same_operator && !same_name && !is_unknown(base) && !is_unknown(fresh)))
		return 0;
	points += same_name ? POINTS_NAME : 0;
	points += ratio <= CALLS_EQUAL ? POINTS_CALLS : 0;
	points += same_neighbour(differ, base->before, fresh->before) ? POINTS_NEIGHBOUR : 0;
	points += same_neighbour(differ, base->behind, fresh->behind) ? POINTS_NEIGHBOUR : 0;
	points += same_text(base->row->variant, fresh->row->variant) ? POINTS_VARIANT : 0;
	points += same_text(base->row->dtype, fresh->row->dtype) ? POINTS_VARIANT : 0;
	return points >= least ? points : 0;
}

/* The best partner that a candidate can have now; 0: none. The first of equals is the largest. */
static unsigned best_of(const struct pairing *pairing, uint32_t number, uint32_t *partner)
{
	unsigned best = 0;

	for (size_t i = 0; i < pairing->counts[1]; i++) {
		uint32_t other = pairing->lists[1][i].number;
		unsigned points;

		if (pairing->differ->sides[1][other].other != KP_LEAF_NONE)
			continue;
		points = judge(pairing->differ, number, other);
		if (points > best) {
			best = points;
			*partner = other;
		}
	}
	return best;
}

/* Takes the best pair of all; false: there is none. */
static bool take_best(struct pairing *pairing)
{
	struct kp_diff_leaf *base = pairing->differ->sides[0];
	struct kp_diff_leaf *fresh = pairing->differ->sides[1];
	unsigned most = 0;
	uint32_t number = KP_LEAF_NONE, partner = 0, other = 0;

	for (size_t i = 0; i < pairing->counts[0]; i++) {
		uint32_t candidate = pairing->lists[0][i].number;
		unsigned points;

		if (base[candidate].other != KP_LEAF_NONE)
			continue;
		points = best_of(pairing, candidate, &other);
		if (points > most) {
			most = points;
			number = candidate;
			partner = other;
		}
	}
	if (!most)
		return false;
	base[number].other = partner;
	fresh[partner].other = number;
	base[number].replaced = fresh[partner].replaced =
		!same_text(base[number].row->mangled, fresh[partner].row->mangled);
	return true;
}

enum kp_status kp_diff_match(struct kp_differ *differ)
{
	struct pairing pairing = {.differ = differ};
	enum kp_status status;

	match_names(differ);
	status = list_candidates(&pairing, 0);
	if (status == KP_OK)
		status = list_candidates(&pairing, 1);
	while (status == KP_OK && take_best(&pairing))
		;
	free(pairing.lists[0]);
	free(pairing.lists[1]);
	return status;
}
