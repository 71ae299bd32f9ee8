/*
 * When the windows of --duty come: one in each period, at a random place in it.
 *
 * Of each period P a window of P × duty is recorded. Its place in the period is drawn evenly, so
 * that windows cannot keep step with work that repeats, and every instant is as likely to be looked
 * at as any other (stratified sampling with one window a stratum). The first two periods are half
 * as long, with windows half as long, so that a short run has some.
 *
 * A window drawn as [T, T + W) begins at the first return of a call that waits for the GPU at T or
 * later, and ends at the first at T + W or later: it holds whole steps of the program, those whose
 * beginning lies in [T, T + W), and each is in it with the same probability, however long it is. (A
 * window that began at T and ended at such a call would hold too much of what comes before one; one
 * that ended W after it has begun, too much of what follows long steps.) Where no such call comes
 * within KP_DUTY_PATIENCE_NS it begins at once; likewise it ends. The patience is the same at both
 * ends, so that every instant of a step without such calls, too, is as likely as any other.
 *
 * The first launch after CUPTI came may take long where it is a graph: it is not counted in W.
 *
 * The period follows from what switching was measured to cost: attaching, the first launch after
 * it, and detaching together may take KP_DUTY_SWITCH_SHARE of what the duty allows. So at 2 % and
 * 22 ms a window, as on an H200, there is a window of 55 ms every 2.75 s. A dear switch makes
 * periods longer, never the share larger. Pure: no clock, no state but the caller's.
 */
#ifndef KP_INJECT_DUTY_H
#define KP_INJECT_DUTY_H

#include <stdbool.h>
#include <stdint.h>

/* Switching may cost this part of the duty: 0.8 % of the time at --duty 2%. */
#define KP_DUTY_SWITCH_SHARE 0.4
/* How long a window waits for a call that waits for the GPU; the shortest window is no shorter. */
#define KP_DUTY_PATIENCE_NS 20000000ULL
/* Shorter windows hold too few launches; longer periods too few windows. */
#define KP_DUTY_WINDOW_MIN_NS 40000000ULL
#define KP_DUTY_PERIOD_MAX_NS 60000000000ULL
/* What a switch is taken to cost before one was measured: on and off on an H200. */
#define KP_DUTY_COST_FIRST_NS 22000000ULL
#define KP_DUTY_HALF_PERIODS 2

struct kp_duty {
	double share;     /* of the time, 0 to 1 */
	uint64_t cost_ns; /* of on and off; follows the measured ones */
	uint64_t period_begin_ns, period_ns;
	uint64_t window_ns;
	uint64_t random;  /* state of the generator, never 0 */
	unsigned periods; /* begun */
};

/* `seed`: anything. The first period begins at now_ns. */
void kp_duty_init(struct kp_duty *duty, double share, uint64_t seed, uint64_t now_ns);
/* When the next window is to begin, and, in duty->window_ns, how long it is to be. */
uint64_t kp_duty_next(struct kp_duty *duty, uint64_t now_ns);
/* What the last window cost to switch on and off, together. */
void kp_duty_measured(struct kp_duty *duty, uint64_t cost_ns);

/*
 * Whether a window that is due at due_ns may begin, or end, now. `synchronising`: a call that waits
 * for the GPU returns at this moment.
 */
static inline bool kp_duty_may(uint64_t due_ns, uint64_t now_ns, bool synchronising)
{
	return now_ns >= due_ns + (synchronising ? 0 : KP_DUTY_PATIENCE_NS);
}

#endif
