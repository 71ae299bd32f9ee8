/* Pairs of neighbours, and groups of pairs; see ab_stats.h. Pure. */
#include <math.h>
#include <stdlib.h>

#include "analyzers/ab_stats.h"

/* ---- pairs ---- */

struct placed {
	struct kp_ab_time sample;
	size_t place; /* in order of time */
};

static int compare_placed(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	if (a->sample.group != b->sample.group)
		return a->sample.group < b->sample.group ? -1 : 1;
	if (a->sample.number != b->sample.number)
		return a->sample.number < b->sample.number ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

struct placed_pair {
	struct kp_ab_pair pair;
	size_t place;
};

static int compare_places(const void *left, const void *right)
{
	size_t a = ((const struct placed_pair *)left)->place;
	size_t b = ((const struct placed_pair *)right)->place;

	return (a > b) - (a < b);
}

static bool is_time(double us)
{
	return isfinite(us) && us > 0;
}

static bool make_pair(const struct placed *a, const struct placed *b, struct placed_pair *out)
{
	const struct placed *original = a->sample.candidate ? b : a;
	const struct placed *candidate = a->sample.candidate ? a : b;

	if (a->sample.group != b->sample.group || a->sample.number / 2 != b->sample.number / 2 ||
	    a->sample.number == b->sample.number || a->sample.candidate == b->sample.candidate ||
	    !is_time(a->sample.us) || !is_time(b->sample.us))
		return false;
	out->pair = (struct kp_ab_pair){a->sample.group, original->sample.us, candidate->sample.us,
					a->sample.candidate};
	out->place = a->place < b->place ? a->place : b->place;
	return true;
}

static size_t find_pairs(const struct placed *sorted, size_t count, struct placed_pair *pairs)
{
	size_t found = 0;

	for (size_t i = 0; i + 1 < count; i++)
		if (make_pair(&sorted[i], &sorted[i + 1], &pairs[found])) {
			found++;
			i++;
		}
	return found;
}

enum kp_status kp_ab_pair_samples(const struct kp_ab_time *samples, size_t count,
				  struct kp_ab_pair **out, size_t *out_count)
{
	struct placed *sorted = malloc((count + 1) * sizeof(*sorted));
	struct placed_pair *pairs = malloc((count / 2 + 1) * sizeof(*pairs));

	*out = malloc((count / 2 + 1) * sizeof(**out));
	*out_count = 0;
	if (sorted && pairs && *out) {
		for (size_t i = 0; i < count; i++)
			sorted[i] = (struct placed){samples[i], i};
		qsort(sorted, count, sizeof(*sorted), compare_placed);
		*out_count = find_pairs(sorted, count, pairs);
		qsort(pairs, *out_count, sizeof(*pairs), compare_places);
		for (size_t i = 0; i < *out_count; i++)
			(*out)[i] = pairs[i].pair;
	} else {
		free(*out);
		*out = NULL;
	}
	free(sorted);
	free(pairs);
	return *out ? KP_OK : KP_NO_MEMORY;
}

/* ---- groups ---- */

static int compare_groups(const void *left, const void *right)
{
	const struct placed_pair *a = left, *b = right;

	if (a->pair.group != b->pair.group)
		return a->pair.group < b->pair.group ? -1 : 1;
	return compare_places(left, right);
}

/* Sums over groups: ratios and squares of halves, by the weight of originals. */
struct sums {
	double weight, left_out, change, below, above, detectable, order, drift;
	double original_us, candidate_us, pairs;
};

static void add_group(struct sums *sums, const struct kp_ab_estimate *group,
		      struct kp_ab_estimate *out)
{
	double weight = (double)group->pairs * group->median_us[0];

	if (!group->known) {
		sums->left_out += weight;
		return;
	}
	sums->weight += weight;
	sums->change += weight * group->change_pct;
	sums->below += pow(weight * (group->change_pct - group->low_pct), 2);
	sums->above += pow(weight * (group->high_pct - group->change_pct), 2);
	sums->detectable += pow(weight * group->detectable_pct, 2);
	sums->order += weight * group->order_pct;
	sums->drift += weight * group->drift_pct;
	sums->original_us += (double)group->pairs * group->median_us[0];
	sums->candidate_us += (double)group->pairs * group->median_us[1];
	sums->pairs += (double)group->pairs;
	out->settling += group->settling;
	out->pairs_by[0] += group->pairs_by[0];
	out->pairs_by[1] += group->pairs_by[1];
	if (group->unsteady > out->unsteady) {
		out->unsteady = group->unsteady;
		out->unsteady_pct = group->unsteady_pct;
	}
}

static void conclude(const struct sums *sums, struct kp_ab_estimate *out)
{
	if (!(sums->weight > 0))
		return;
	out->known = true;
	out->change_pct = sums->change / sums->weight;
	out->low_pct = out->change_pct - sqrt(sums->below) / sums->weight;
	out->high_pct = out->change_pct + sqrt(sums->above) / sums->weight;
	out->detectable_pct = sqrt(sums->detectable) / sums->weight;
	out->order_pct = sums->order / sums->weight;
	out->drift_pct = sums->drift / sums->weight;
	out->median_us[0] = sums->original_us / sums->pairs;
	out->median_us[1] = sums->candidate_us / sums->pairs;
	out->left_out_pct = 100 * sums->left_out / (sums->left_out + sums->weight);
}

static enum kp_status estimate_sorted(const struct placed_pair *sorted, size_t count, uint64_t seed,
				      struct kp_ab_pair *group, struct kp_ab_estimate *out)
{
	struct sums sums = {0};
	struct kp_ab_estimate one = {0};
	size_t groups = 0, end;

	*out = (struct kp_ab_estimate){.pairs = count, .median_us = {NAN, NAN}, .change_pct = NAN};
	for (size_t i = 0; i < count; i = end, groups++) {
		for (end = i; end < count && sorted[end].pair.group == sorted[i].pair.group; end++)
			group[end - i] = sorted[end].pair;
		if (kp_ab_estimate(group, end - i, seed + groups, &one) != KP_OK)
			return KP_NO_MEMORY;
		add_group(&sums, &one, out);
	}
	conclude(&sums, out);
	if (groups == 1)
		*out = one;
	return KP_OK;
}

enum kp_status kp_ab_estimate_groups(const struct kp_ab_pair *pairs, size_t count, uint64_t seed,
				     struct kp_ab_estimate *out)
{
	struct placed_pair *sorted = malloc((count + 1) * sizeof(*sorted));
	struct kp_ab_pair *group = malloc((count + 1) * sizeof(*group));
	enum kp_status status = KP_NO_MEMORY;

	if (sorted && group) {
		for (size_t i = 0; i < count; i++)
			sorted[i] = (struct placed_pair){pairs[i], i};
		qsort(sorted, count, sizeof(*sorted), compare_groups);
		status = estimate_sorted(sorted, count, seed, group, out);
	}
	free(sorted);
	free(group);
	return status;
}
