/* The way of a launch that may belong to a sequence; see ab_sequence.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_sequence_state.h"

#include <string.h>

#include "inject/ab_sequence_recognise.h"
#include "inject/ab_state.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"

_Atomic uint32_t kp_ab_sequence_pending;
_Atomic bool kp_ab_sequence_on;

/* The rules that the newest launch fits, as bits; `complete`: of those, where it is the last. */
static uint32_t advance(uint32_t rules, enum kp_ab_reason *reasons, uint32_t *complete)
{
	uint32_t fitting = 0;

	*complete = 0;
	for (; rules; rules &= rules - 1) {
		uint32_t rule = (uint32_t)__builtin_ctz(rules);
		bool last;

		reasons[rule] = kp_ab_sequence_advance(
			&kp_ab.plan, rule, &kp_ab_sequence.states[rule], kp_ab_sequence.context,
			&kp_ab_sequence.held[kp_ab_sequence.count], kp_ab_sequence.count, &last);
		if (reasons[rule] == KP_AB_REASON_COUNT)
			fitting |= 1U << rule;
		if (reasons[rule] == KP_AB_REASON_COUNT && last)
			*complete |= 1U << rule;
	}
	return fitting;
}

static void conclude_each(uint32_t rules, const enum kp_ab_reason *reasons)
{
	for (; rules; rules &= rules - 1)
		kp_ab_sequence_conclude((uint32_t)__builtin_ctz(rules),
					reasons[__builtin_ctz(rules)]);
}

/* The newest launch is held, too. */
static void keep(uint32_t fitting)
{
	kp_ab_sequence.alive = fitting;
	kp_ab_sequence.count++;
	atomic_fetch_add(&kp_ab_sequence.turn, 1);
	kp_ab_sequence_tell();
}

/* All of a sequence is held: its turn. */
static CUresult finish(uint32_t complete)
{
	uint32_t rule = (uint32_t)__builtin_ctz(complete), owed;
	struct kp_ab_job job;
	enum kp_ab_reason reason;
	CUresult result;
	bool replaced;

	kp_ab_sequence_conclude_all(kp_ab_sequence.alive & ~(1U << rule),
				    KP_AB_REASON_OTHER_LAUNCH);
	kp_ab_sequence.alive = 1U << rule;
	reason = kp_ab_sequence_job(rule, &kp_ab_sequence.states[rule], kp_ab_sequence.held, &job,
				    &owed);
	if (reason == KP_AB_REASON_COUNT && owed && !kp_ab_sequence_can_free())
		reason = KP_AB_REASON_UNWRITTEN;
	if (reason != KP_AB_REASON_COUNT)
		return kp_ab_sequence_break_off_for(reason);
	job.stream = kp_ab_sequence.stream;
	result = kp_ab_sequence_turn(&job, kp_ab_sequence_launch, &replaced);
	kp_ab_inside = true;
	return replaced && owed ? kp_ab_sequence_owe(rule, owed) : kp_ab_sequence_let_go(result);
}

/* ---- launches ---- */

/* A launch as it comes, and what it may be. */
struct arrival {
	uint64_t members;
	CUstream stream;
	const struct kp_ab_held *given; /* its copy; NULL: it cannot be held */
};

/* Behind what is held, but not held yet. */
static bool copy(const struct arrival *arrival)
{
	struct kp_ab_held *held = &kp_ab_sequence.held[kp_ab_sequence.count];

	if (!arrival->given)
		return false;
	kp_ab_held_move(arrival->given, held);
	kp_ab_sequence_read(held, kp_ab_sequence.count);
	return true;
}

/* Behind others that are held. COUNT: *result is the program's; else they are held no longer. */
static bool goes_on(const struct arrival *arrival, CUresult *result)
{
	enum kp_ab_reason reasons[KP_AB_RULES_MOST];
	uint32_t fitting = 0, complete = 0;
	CUcontext current = NULL;

	if (arrival->stream != kp_ab_sequence.stream ||
	    !pthread_equal(pthread_self(), kp_ab_sequence.thread) ||
	    kp_ab.driver.context(&current) != CUDA_SUCCESS || current != kp_ab_sequence.context) {
		*result = kp_ab_sequence_break_off_for(KP_AB_REASON_OTHER_STREAM);
		return false;
	}
	if (!arrival->members || kp_ab_sequence.count == KP_AB_MEMBERS_MOST) {
		*result = kp_ab_sequence_break_off_for(KP_AB_REASON_OTHER_LAUNCH);
		return false;
	}
	if (!copy(arrival)) {
		*result = kp_ab_sequence_break_off_for(KP_AB_REASON_NOT_HELD);
		return false;
	}
	fitting = advance(kp_ab_sequence.alive, reasons, &complete);
	if (!fitting) {
		*result = kp_ab_sequence_break_off(reasons);
		return false;
	}
	conclude_each(kp_ab_sequence.alive & ~fitting, reasons);
	keep(fitting);
	*result = complete ? finish(complete) : CUDA_SUCCESS;
	return true;
}

/* Why nothing is held for now; COUNT: it may be. */
static enum kp_ab_reason may_hold(const struct arrival *arrival)
{
	if (atomic_load(&kp_ab_sequence.ended) || !kp_hooks_see_all())
		return KP_AB_REASON_HOLDING_OFF;
	if (atomic_load(&kp_hooks_captures) > 0)
		return KP_AB_REASON_NOT_HELD;
	kp_ab_sequence.context = kp_ab_held_context(arrival->stream);
	return kp_ab_sequence.context && copy(arrival) ? KP_AB_REASON_COUNT : KP_AB_REASON_NOT_HELD;
}

/* Rules that begin with this launch, as bits; those that were taken back or off are told so. */
static uint32_t beginning_with(uint64_t members)
{
	uint32_t rules = 0, wrong = atomic_load(&kp_ab.wrong);
	uint32_t off = atomic_load(&kp_ab.off);

	for (uint32_t i = 0; i < kp_ab.plan.header->rules.count; i++) {
		const struct kp_ab_rule *rule = &kp_ab.plan.rules[i];

		if (rule->member_count == 0 || !(members >> rule->first_member & 1))
			continue;
		if (!((wrong | off) >> i & 1) && kp_ab_sequence_is_vain(i)) {
			kp_ab_sequence_conclude(i, KP_AB_REASON_ALIVE);
			continue;
		}
		if (!((wrong | off) >> i & 1)) {
			rules |= 1U << i;
			continue;
		}
		kp_ab_sequence_conclude(i, wrong >> i & 1 ? KP_AB_REASON_WRONG : KP_AB_REASON_OFF);
		kp_ab_sequence_count(i, KP_AB_COUNT_ELIGIBLE);
	}
	return rules;
}

/* With nothing held. True: it is, or was launched; *result. */
static bool begins(const struct arrival *arrival, CUresult *result)
{
	uint32_t rules = beginning_with(arrival->members), fitting, complete;
	enum kp_ab_reason reason = rules ? may_hold(arrival) : KP_AB_REASON_COUNT;
	enum kp_ab_reason reasons[KP_AB_RULES_MOST];

	if (reason != KP_AB_REASON_COUNT)
		kp_ab_sequence_conclude_all(rules, reason);
	if (!rules || reason != KP_AB_REASON_COUNT)
		return false;
	for (uint32_t left = rules; left; left &= left - 1)
		memset(&kp_ab_sequence.states[__builtin_ctz(left)], 0,
		       offsetof(struct kp_ab_under_way, recognised));
	fitting = advance(rules, reasons, &complete);
	conclude_each(rules & ~fitting, reasons);
	if (!fitting)
		return false;
	kp_ab_sequence.stream = arrival->stream;
	kp_ab_sequence.thread = pthread_self();
	atomic_store(&kp_ab_sequence.hold_us, kp_ab.plan.rules[__builtin_ctz(fitting)].hold_us);
	keep(fitting);
	*result = kp_ab_sequence_timer_wake()
			  ? CUDA_SUCCESS
			  : kp_ab_sequence_break_off_for(KP_AB_REASON_HOLDING_OFF);
	return true;
}

static __attribute__((noinline)) bool take(const struct kp_ab_launch *launch,
					   const struct kp_ab_layout *layout, uint64_t members,
					   CUresult *result)
{
	struct arrival arrival = {
		.members = members,
		.stream = launch->per_thread && !launch->stream ? CU_STREAM_PER_THREAD
								: launch->stream,
	};
	struct kp_ab_alone guard;
	struct kp_ab_held given;
	bool taken = false;

	*result = CUDA_SUCCESS;
	if (members && kp_ab_held_copy(launch, layout, members, &given))
		arrival.given = &given;
	kp_ab_sequence_lock(&guard);
	if (kp_ab_sequence.owed)
		*result = kp_ab_sequence_pay();
	else if (kp_ab_sequence.count)
		taken = goes_on(&arrival, result);
	if (kp_ab_sequence.late) {
		*result = kp_ab_sequence.late;
		kp_ab_sequence.late = CUDA_SUCCESS;
		kp_ab_sequence_tell();
	}
	if (!taken && *result == CUDA_SUCCESS && members)
		taken = begins(&arrival, result);
	kp_ab_sequence_unlock(&guard);
	return taken || *result != CUDA_SUCCESS;
}

bool kp_ab_sequence_takes(const struct kp_ab_launch *launch, CUresult *result)
{
	const struct kp_ab_layout *layout;
	uint64_t members = kp_ab_match_members(launch->function, &layout);

	if (!members && !kp_ab_sequence_is_pending())
		return false;
	return take(launch, layout, members, result);
}
