/* What the null controls must show; see self_test.h. Pure. */
#include "profiler/self_test.h"

#include <math.h>

#define CLAIM_PART 0.05 /* of runs without a difference, at 95 % */
#define CHANCE 0.01     /* of calling a sound kprof ab unsound */
#define LEAST_US 100.0  /* delays are stated for kernels that take so long */

enum kind { WRONG, RIGHT, TIMED };
static const struct {
	const char *key;
	enum kind kind;
} controls[KP_CONTROL_COUNT] = {
#define CONTROL(NAME, key, kind, what) {#key, kind},
#include "kernels/controls.def"
};

static const struct {
	const char *key;
	double percent;
} delays[KP_SELF_DELAY_COUNT] = {
#define DELAY(NAME, key, percent) {key, percent},
	KP_SELF_DELAYS(DELAY)
#undef DELAY
};

const char *kp_self_control_key(enum kp_control control)
{
	return controls[control].key;
}

const char *kp_self_delay_key(enum kp_self_delay_id delay)
{
	return delays[delay].key;
}

double kp_self_delay_pct(enum kp_self_delay_id delay)
{
	return delays[delay].percent;
}

/* The binomial distribution's: the first count that more are unlikely than. */
uint64_t kp_self_test_claims_most(uint64_t runs)
{
	double term = pow(1 - CLAIM_PART, (double)runs), more = 1 - term;
	uint64_t claims = 0;

	while (claims < runs && more >= CHANCE) {
		term *= (double)(runs - claims) / (double)(claims + 1) * CLAIM_PART /
			(1 - CLAIM_PART);
		more -= term;
		claims++;
	}
	return claims;
}

bool kp_self_fault_holds(const struct kp_self_test *test, enum kp_control control)
{
	const struct kp_self_fault *fault = &test->faults[control];

	if (controls[control].kind == WRONG)
		return fault->runs > 0 && fault->caught == fault->runs && fault->shown == 0;
	return fault->caught == 0 && (test->hidden || fault->shown == fault->runs);
}

bool kp_self_same_holds(const struct kp_self_test *test)
{
	return !test->timed ||
	       (test->same > 0 && test->unknown == 0 && test->shortest_us >= LEAST_US &&
		test->same_claims <= kp_self_test_claims_most(test->same));
}

bool kp_self_delay_holds(const struct kp_self_test *test, enum kp_self_delay_id delay)
{
	return test->delays[delay].seen == test->delays[delay].due;
}

bool kp_self_test_passed(const struct kp_self_test *test)
{
	bool good = !test->spoilt && kp_self_same_holds(test);

	for (int i = 0; i < KP_CONTROL_COUNT; i++)
		good &= kp_self_fault_holds(test, (enum kp_control)i);
	for (int i = 0; i < KP_SELF_DELAY_COUNT; i++)
		good &= kp_self_delay_holds(test, (enum kp_self_delay_id)i);
	/* A run whose times tell nothing would pass by seeing nothing. */
	return good && (!test->timed || test->delays[KP_SELF_DELAY_FIVE].due > 0);
}
