/* Growth with position; see shape_growth.h. */
#include "analyzers/shape_growth.h"

#include <math.h>
#include <stdlib.h>

/* A step between neighbouring values is small up to this part of the smaller. */
#define SMALL_STEP 0.25

static int order_of(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_value(const void *left, const void *right)
{
	const struct kp_growth_value *a = left, *b = right;
	int order = order_of(a->group, b->group);

	if (!order)
		order = order_of(a->value, b->value);
	return order ? order : order_of(a->first, b->first);
}

static int by_first(const void *left, const void *right)
{
	const struct kp_growth_value *a = left, *b = right;
	int order = order_of(a->first, b->first);

	return order ? order : order_of(a->value, b->value);
}

/* Keeps the first appearance of each value; sorted by value. */
static size_t keep_firsts(struct kp_growth_value *values, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (i == 0 || values[i].value != values[kept - 1].value)
			values[kept++] = values[i];
	return kept;
}

static bool steps_are_small(const struct kp_growth_value *values, size_t count)
{
	size_t small = 0;

	for (size_t i = 1; i < count; i++) {
		uint64_t step = values[i].value - values[i - 1].value;
		small += step == 1 || (double)step <= SMALL_STEP * (double)values[i - 1].value;
	}
	return 2 * small >= count - 1;
}

/* Length of the longest rising subsequence: tails[l] is the least value that ends one of l + 1. */
static size_t longest_rising(const struct kp_growth_value *values, size_t count, uint64_t *tails)
{
	size_t longest = 0;

	for (size_t i = 0; i < count; i++) {
		size_t low = 0, high = longest;

		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (tails[middle] < values[i].value)
				low = middle + 1;
			else
				high = middle;
		}
		tails[low] = values[i].value;
		longest += low == longest;
	}
	return longest;
}

/* Whether chance would hardly make a rising subsequence as long: log(C(count, length) / length!).
 */
static bool is_no_chance(size_t count, size_t length)
{
	double expected = 0;

	for (size_t i = 1; i <= length; i++)
		expected += log((double)(count - length + i)) - 2 * log((double)i);
	return expected < log(KP_GROWTH_CHANCE);
}

/* The values of one group, sorted by value. */
static bool grows(struct kp_growth_value *values, size_t count, uint64_t *tails)
{
	count = keep_firsts(values, count);
	if (count < 2 || !steps_are_small(values, count))
		return false;
	qsort(values, count, sizeof(*values), by_first);
	return is_no_chance(count, longest_rising(values, count, tails));
}

bool kp_growth_found(struct kp_growth_value *values, size_t count, uint64_t *scratch)
{
	qsort(values, count, sizeof(*values), by_value);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && values[end].group == values[i].group; end++)
			;
		if (grows(&values[i], end - i, scratch))
			return true;
	}
	return false;
}
