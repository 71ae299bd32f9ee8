/* What samples are off by: rows that allow for it, how much is found, and what that is worth. */
#include "tests/unit/attribution_run.h"

#include "analyzers/attribution_noise.h"

#define ROWS 12
#define LEARNT 4000

/* A row of one launch that counts at its end, at a rate of 1 for counts of 1. */
static struct kp_row row_at(size_t sample, double per_ns)
{
	struct kp_row row = {.sample = sample, .weight = 1};

	if (per_ns > 0)
		row.ends[row.end_count++] = (struct kp_row_end){0, per_ns};
	return row;
}

/* Some edges are certain, some are not. */
static double rate_at(size_t row)
{
	return (double[]){2, 1, 0, 3}[row % 4];
}

/* The rows of a chain against the covariance that they are to undo: what is left has the variances
 * 1 / weight and no covariance. */
static void test_chain_undoes_the_covariance(void **state)
{
	struct kp_noise noise;
	struct kp_chain chain;
	double inverse[ROWS][ROWS] = {{0}}, variance[ROWS];

	(void)state;
	assert_int_equal(kp_noise_init(&noise, 1), KP_OK);
	noise.is_learnt = true;
	noise.white = 0.5;
	noise.late_squared = 4;
	noise.counts[0] = 1;
	assert_int_equal(kp_chain_init(&chain, &noise, ROWS), KP_OK);
	for (size_t i = 0; i < ROWS; i++) {
		struct kp_row row = row_at(i, rate_at(i));
		struct kp_least_term term = {i, 1};

		kp_chain_add(&chain, &row, &term, 1, (double)i);
		for (size_t k = 0; k < chain.count; k++)
			inverse[i][chain.terms[k].column] = chain.terms[k].value;
		variance[i] = 1 / chain.weight;
	}
	for (size_t i = 0; i < ROWS; i++) {
		for (size_t j = 0; j < ROWS; j++) {
			double sum = 0;

			for (size_t a = 0; a < ROWS; a++) {
				double end = 4 * rate_at(a) * rate_at(a);
				double begin = a ? 4 * rate_at(a - 1) * rate_at(a - 1) : 0;

				sum += inverse[i][a] * (0.5 + begin + end) * inverse[j][a];
				if (a + 1 < ROWS)
					sum -= end * (inverse[i][a] * inverse[j][a + 1] +
						      inverse[i][a + 1] * inverse[j][a]);
			}
			assert_true(fabs(sum - (i == j ? variance[i] : 0)) < 1e-5);
		}
	}
	kp_chain_fini(&chain);
	kp_noise_fini(&noise);
}

static void test_chain_begins_anew(void **state)
{
	struct kp_noise noise;
	struct kp_chain chain;
	struct kp_least_term first = {0, 1}, second = {1, 1};
	struct kp_row row = row_at(0, 1), far = row_at(7, 1);

	(void)state;
	assert_int_equal(kp_noise_init(&noise, 1), KP_OK);
	noise.is_learnt = true;
	noise.late_squared = 1;
	noise.counts[0] = 1;
	assert_int_equal(kp_chain_init(&chain, &noise, 2), KP_OK);
	kp_chain_add(&chain, &row, &first, 1, 5);
	kp_chain_add(&chain, &far, &second, 1, 3);
	assert_int_equal(chain.count, 1);
	assert_int_equal(chain.terms[0].column, 1);
	assert_true(chain.value == 3);
	kp_chain_fini(&chain);
	kp_noise_fini(&noise);
}

static double normal(struct run *run)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform(run);
	return sum;
}

static void test_noise_is_learnt(void **state)
{
	struct run *run = run_begin(5);
	struct kp_noise_learning learning = {0};
	struct kp_noise noise;
	double last = 0;

	(void)state;
	assert_int_equal(kp_noise_init(&noise, 1), KP_OK);
	noise.counts[0] = 1;
	for (size_t i = 0; i < LEARNT; i++) {
		struct kp_row row = row_at(i, rate_at(i));
		double moved = 3 * rate_at(i) * normal(run);

		kp_noise_learn(&learning, &noise, &row, 2 * normal(run) + last - moved);
		last = moved;
	}
	kp_noise_learnt(&learning, &noise);
	assert_true(noise.is_learnt);
	assert_true(fabs(sqrt(noise.late_squared) - 3) < 0.3);
	assert_true(fabs(sqrt(noise.white) - 2) < 0.6);
	kp_noise_fini(&noise);
	run_end(run);
}

/* Records tell times that are off by up to a microsecond, as on H200; small kernels beside others
 * of fifteen times their traffic, in samples of ten times their duration. */
static void test_attribution_bears_uncertain_times(void **state)
{
	const double truths[] = {32e6, 0, 24e6, 450e6};

	(void)state;
	for (uint64_t seed = 30; seed < 34; seed++) {
		struct run *run = run_begin(seed);

		for (int turn = 0; turn < 900; turn++) {
			launch(run, 1, 120000, truths[1], 1500);
			launch(run, 0, 12500, truths[0], 1500);
			launch(run, 2, 14000, truths[2], 1500);
			launch(run, 3, 150000, truths[3], 3000);
		}
		sample(run, 200000, 0.0002);
		for (size_t i = 0; i < run->launch_count; i++) {
			bool large = run->launches[i].class == 3;
			uint64_t off_ns = (uint64_t)(uniform(run) * (large ? 3000 : 200));

			run->launches[i].start_ns += off_ns;
			run->launches[i].end_ns += off_ns;
		}
		solve(run);
		assert_near(run, 0, truths[0], 0.01);
		assert_near(run, 2, truths[2], 0.01);
		assert_near(run, 3, truths[3], 0.005);
		assert_true(of(run, 1).source == KP_TRAFFIC_UNKNOWN ||
			    of(run, 1).mean <= of(run, 1).ci95);
		run_end(run);
	}
}

/* What was counted until then of a rate that is 1, then falls to 0 from 382 to 397 of 412 µs; or
 * rises from 0 over the first 15 of 80 µs. */
static double flow_hands_over(uint32_t class, double part)
{
	double at_us = part * (class ? 80 : 412), since_us = fmin(fmax(at_us - 382, 0), 15);

	if (class == 0)
		return (fmin(at_us, 382) + since_us - since_us * since_us / 30) / 389.5;
	if (class == 1)
		return (at_us < 15 ? at_us * at_us / 30 : at_us - 7.5) / 72.5;
	return part;
}

/* Each kernel fills the GPU: the next one begins when no blocks of the first are left to begin, and
 * takes over as they end. */
static void test_attribution_bears_launches_that_wait(void **state)
{
	const double truths[] = {1.2e9, 200e6, 60e6};

	(void)state;
	for (uint64_t seed = 50; seed < 53; seed++) {
		struct run *run = run_begin(seed);
		uint64_t at_ns = BASE_NS;

		for (int turn = 0; turn < 700; turn++) {
			launch_at(run, 0, at_ns, 412000, truths[0]);
			launch_at(run, 1, at_ns + 382000, 80000, truths[1]);
			launch_at(run, 2, at_ns + 466000, 25000, truths[2]);
			at_ns += 500000 + (uint64_t)(uniform(run) * 9000);
		}
		sample_flow(run, 200000, 0.001, flow_hands_over);
		solve(run);
		for (uint32_t c = 0; c < 3; c++)
			assert_near(run, c, truths[c], 0.02);
		run_end(run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain_undoes_the_covariance),
		cmocka_unit_test(test_chain_begins_anew),
		cmocka_unit_test(test_noise_is_learnt),
		cmocka_unit_test(test_attribution_bears_uncertain_times),
		cmocka_unit_test(test_attribution_bears_launches_that_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
