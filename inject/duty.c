/* The schedule of --duty; see duty.h. */
#include "inject/duty.h"

/* Marsaglia's xorshift: even enough for places of windows. */
static uint64_t draw(struct kp_duty *duty)
{
	duty->random ^= duty->random << 13;
	duty->random ^= duty->random >> 7;
	duty->random ^= duty->random << 17;
	return duty->random;
}

static void set_period(struct kp_duty *duty)
{
	double shortest_ns = (double)KP_DUTY_WINDOW_MIN_NS / duty->share;
	double affordable_ns = (double)duty->cost_ns / (KP_DUTY_SWITCH_SHARE * duty->share);
	double period_ns = shortest_ns > affordable_ns ? shortest_ns : affordable_ns;

	if (period_ns > (double)KP_DUTY_PERIOD_MAX_NS)
		period_ns = (double)KP_DUTY_PERIOD_MAX_NS;
	if (duty->periods++ < KP_DUTY_HALF_PERIODS)
		period_ns /= 2;
	duty->period_ns = (uint64_t)period_ns;
	duty->window_ns = (uint64_t)(period_ns * duty->share);
}

void kp_duty_init(struct kp_duty *duty, double share, uint64_t seed, uint64_t now_ns)
{
	*duty = (struct kp_duty){
		.share = share,
		.cost_ns = KP_DUTY_COST_FIRST_NS,
		.period_begin_ns = now_ns,
		.random = seed | 1,
	};
	for (int i = 0; i < 8; i++)
		draw(duty); /* seeds that are alike part */
}

uint64_t kp_duty_next(struct kp_duty *duty, uint64_t now_ns)
{
	uint64_t room_ns, begin_ns;

	/* The period before has ended, or, where recording was off meanwhile, is long over. */
	duty->period_begin_ns += duty->period_ns;
	if (duty->period_begin_ns + duty->period_ns < now_ns)
		duty->period_begin_ns = now_ns;
	set_period(duty);
	room_ns = duty->period_ns - duty->window_ns;
	begin_ns = duty->period_begin_ns + draw(duty) % (room_ns + 1);
	return begin_ns > now_ns ? begin_ns : now_ns;
}

void kp_duty_measured(struct kp_duty *duty, uint64_t cost_ns)
{
	/* Up at once, down slowly: the budget is a promise, and the first switch is the dearest. */
	if (cost_ns > duty->cost_ns)
		duty->cost_ns = cost_ns;
	else
		duty->cost_ns -= (duty->cost_ns - cost_ns) / 4;
}
