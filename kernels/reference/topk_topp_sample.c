/* Sampling in float64, by sorting; see kernels/topk_topp_sample.h. */
#include "kernels/topk_topp_sample.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/reference/number.h"

#define PHILOX_ROUNDS 10

/* What is asked of a row. */
struct rule {
	double temperature, top_p, min_p, u;
	int64_t top_k; /* 0: off */
};

struct row {
	double *x, *sorted; /* sorted: the largest first */
	int64_t columns;
	double most;
};

void kp_philox_reference(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};

	for (uint32_t round = 0; round < PHILOX_ROUNDS; round++) {
		uint64_t a = (uint64_t)0xd2511f53U * c[0], b = (uint64_t)0xcd9e8d57U * c[2];
		uint32_t first = key[0] + round * 0x9e3779b9U,
			 second = key[1] + round * 0xbb67ae85U;
		uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ first, (uint32_t)b,
				    (uint32_t)(a >> 32) ^ c[3] ^ second, (uint32_t)a};

		for (int i = 0; i < 4; i++)
			c[i] = next[i];
	}
	for (int i = 0; i < 4; i++)
		out[i] = c[i];
}

static double uniform_of(const struct kp_topk_topp_sample_args *args, uint32_t row)
{
	uint64_t seed = args->philox ? args->philox[0] : args->seed;
	uint64_t offset = args->philox ? args->philox[1] : args->offset;
	const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
	const uint32_t counter[4] = {(uint32_t)offset, (uint32_t)(offset >> 32), row, 0};
	uint32_t bits[4];

	if (args->uniforms)
		return args->uniforms[row] >= 1  ? 1 - 0x1p-24
		       : args->uniforms[row] > 0 ? (double)args->uniforms[row]
						 : 0;
	kp_philox_reference(counter, key, bits);
	return (double)bits[1] * 0x1p-32 + (double)bits[0] * 0x1p-64;
}

static struct rule rule_of(const struct kp_topk_topp_sample_args *args, uint32_t row)
{
	int64_t k = args->top_ks ? args->top_ks[row] : args->top_k;
	struct rule out = {
		.temperature =
			(double)(args->temperatures ? args->temperatures[row] : args->temperature),
		.top_p = (double)(args->top_ps ? args->top_ps[row] : args->top_p),
		.min_p = (double)(args->min_ps ? args->min_ps[row] : args->min_p),
		.u = uniform_of(args, row),
		.top_k = k > 0 && k < args->columns ? k : 0,
	};

	return out;
}

static int descending(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first < second) - (first > second);
}

/* false: there is no distribution. */
static bool load(const struct kp_topk_topp_sample_args *args, uint32_t number, struct row *row)
{
	row->columns = args->columns;
	row->most = -INFINITY;
	for (int64_t i = 0; i < row->columns; i++) {
		row->x[i] = row->sorted[i] = kp_number_load(
			args->x, args->dtype, (int64_t)number * args->x_row + i * args->x_column);
		if (isnan(row->x[i]))
			return false;
		row->most = fmax(row->most, row->x[i]);
	}
	qsort(row->sorted, (size_t)row->columns, sizeof(double), descending);
	return row->most > -INFINITY;
}

/* The chance of a value as a part of that of the largest. */
static double chance(const struct rule *rule, double value, double most)
{
	if (value == most)
		return 1;
	if (value == -INFINITY || most == INFINITY)
		return 0;
	return exp((value - most) / rule->temperature);
}

/* The least value that top-p keeps of the first `count`. */
static double least_of_top_p(const struct rule *rule, const struct row *row, int64_t count,
			     double *margin)
{
	double total = 0, before = 0, least = row->most;

	for (int64_t i = 0; i < count; i++)
		total += chance(rule, row->sorted[i], row->most);
	for (int64_t i = 0; i < count; i++) {
		if (row->sorted[i] != least) {
			*margin = fmin(*margin, fabs(before / total - rule->top_p) / rule->top_p);
			if (before >= rule->top_p * total)
				break;
			least = row->sorted[i];
		}
		before += chance(rule, row->sorted[i], row->most);
	}
	return least;
}

/* The least value that is kept, before min-p. */
static double least_of(const struct rule *rule, const struct row *row, double *margin)
{
	double least = row->sorted[row->columns - 1];
	int64_t count = row->columns;

	if (!(rule->temperature > 0) || rule->top_p <= 0 || rule->top_k == 1)
		return row->most;
	if (rule->top_k) {
		least = row->sorted[rule->top_k - 1];
		count = rule->top_k;
		while (count < row->columns && row->sorted[count] == least)
			count++;
	}
	return rule->top_p < 1 ? least_of_top_p(rule, row, count, margin) : least;
}

/* Chances of what is not kept become 0 in place of the values; returns their sum. */
static double keep(const struct rule *rule, struct row *row, struct kp_sampled *out)
{
	double least = least_of(rule, row, &out->margin), total = 0;

	out->kept = 0;
	for (int64_t i = 0; i < row->columns; i++) {
		double value = row->x[i], e = value < least ? 0 : chance(rule, value, row->most);

		if (e > 0 && rule->min_p > 0 && value != row->most) {
			out->margin = fmin(out->margin, fabs(e / rule->min_p - 1));
			e = e < rule->min_p ? 0 : e;
		}
		row->x[i] = e;
		total += e;
		out->kept += e > 0;
	}
	return total;
}

static void draw(const struct rule *rule, struct row *row, struct kp_sampled *out)
{
	double total = keep(rule, row, out), before = 0, target = rule->u * total;
	bool is_greedy = !(rule->temperature > 0);

	for (int64_t i = 0; i < row->columns; i++) {
		if (row->x[i] > 0 && (is_greedy || target < before + row->x[i] || out->index < 0)) {
			out->index = i;
			out->logprob = is_greedy ? 0 : log(row->x[i] / total);
			if (is_greedy || target < before + row->x[i])
				break;
		}
		before += row->x[i];
	}
	if (is_greedy || out->kept == 1 || out->index < 0)
		return;
	/* At u = 0 there is nothing in front. */
	if (before > 0)
		out->margin = fmin(out->margin, (target - before) / total);
	out->margin = fmin(out->margin, (before + row->x[out->index] - target) / total);
}

enum kp_status kp_topk_topp_sample_reference(const struct kp_topk_topp_sample_args *args,
					     struct kp_sampled *out)
{
	struct row row = {.x = malloc((args->columns + 1U) * sizeof(double)),
			  .sorted = malloc((args->columns + 1U) * sizeof(double))};
	enum kp_status status = row.x && row.sorted ? KP_OK : KP_NO_MEMORY;

	for (uint32_t i = 0; status == KP_OK && i < args->rows; i++) {
		struct rule rule = rule_of(args, i);

		out[i] = (struct kp_sampled){-1, NAN, INFINITY, 0};
		if (load(args, i, &row))
			draw(&rule, &row, &out[i]);
	}
	free(row.x);
	free(row.sorted);
	return status;
}
