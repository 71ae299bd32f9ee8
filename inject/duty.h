/*
 * When the windows of --duty come: one in each period, at a random place in it.
 *
 * Of each period P a window of P × duty is recorded. Its place in the period is drawn evenly, so
 * that windows cannot keep step with work that repeats, and every instant is as likely to be looked
 * at as any other (stratified sampling with one window a stratum).
 *
 * The period follows from what switching was measured to cost: on and off together may take
 * KP_DUTY_SWITCH_SHARE of what the duty allows. So at 2 % and 12.5 ms a window, as on an H200,
 * there is a window of 31 ms every 1.6 s. A dear switch makes periods longer, never the share
 * larger. Pure: no clock, no state but the caller's.
 */
#ifndef KP_INJECT_DUTY_H
#define KP_INJECT_DUTY_H

#include <stdint.h>

/* Switching may cost this part of the duty: 0.8 % of the time at --duty 2%. */
#define KP_DUTY_SWITCH_SHARE 0.4
/* Shorter windows hold too few launches; longer periods too few windows. */
#define KP_DUTY_WINDOW_MIN_NS 20000000ULL
#define KP_DUTY_PERIOD_MAX_NS 60000000000ULL
/* What a switch is taken to cost before one was measured: on and off on an H200. */
#define KP_DUTY_COST_FIRST_NS 12500000ULL

struct kp_duty {
	double share;     /* of the time, 0 to 1 */
	uint64_t cost_ns; /* of on and off; follows the measured ones */
	uint64_t period_begin_ns, period_ns;
	uint64_t window_ns;
	uint64_t random; /* state of the generator, never 0 */
};

/* `seed`: anything. The first period begins at now_ns. */
void kp_duty_init(struct kp_duty *duty, double share, uint64_t seed, uint64_t now_ns);
/* When the next window is to begin, and, in duty->window_ns, how long it is to be. */
uint64_t kp_duty_next(struct kp_duty *duty, uint64_t now_ns);
/* What the last window cost to switch on and off, together. */
void kp_duty_measured(struct kp_duty *duty, uint64_t cost_ns);

#endif
