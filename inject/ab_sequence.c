/* The way of a launch that may belong to a sequence; see ab_sequence.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_sequence.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "inject/ab_sequence_hold.h"
#include "inject/ab_state.h"
#include "inject/floats.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"

_Atomic uint32_t kp_ab_sequence_pending;
_Atomic bool kp_ab_sequence_on;

/* cuMemFreeAsync; NULL: this driver has none. */
static CUresult(CUDAAPI *free_async)(CUdeviceptr, CUstream);

#define LATE 0x100U /* of what is pending: an error */
#define FINISH_TRIES 50

/* With the lock, but for what is atomic. */
static struct {
	pthread_mutex_t lock;
	struct kp_ab_held held[KP_AB_MEMBERS_MOST];
	uint32_t count;
	/* Of what is held, if anything is. */
	CUcontext context;
	CUstream stream;
	pthread_t thread;
	uint32_t alive; /* rules of which it may be the beginning, as bits */
	struct kp_ab_under_way states[KP_AB_RULES_MOST];
	CUresult late; /* an error that the program has not been told */
	/* Behind a replacement that left these unwritten, as bits of its buffers; else 0. */
	uint32_t owed, owing;               /* of this rule */
	uint64_t freed[KP_AB_BUFFERS_MOST]; /* what the program gave back since */
	uint32_t freed_count;
	_Atomic uint64_t turn; /* changes with each launch that is held */
	_Atomic uint32_t hold_us;
	_Atomic bool ended; /* nothing is held any more */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the lock ---- */

struct guard {
	sigset_t signals;
	struct kp_floats floats;
	int cancel;
	bool inside;
};

/* Not those by which a fault of this thread's own shows. */
static void choose_signals(sigset_t *out)
{
	static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

	sigfillset(out);
	for (size_t i = 0; i < sizeof(own_faults) / sizeof(own_faults[0]); i++)
		sigdelset(out, own_faults[i]);
}

/*
 * What another tool does in the midst of the driver's work for this passes all doors, too. A
 * signal's handler may jump out where signals are not blocked: nothing may be left open there.
 */
static void be_undisturbed(struct guard *guard)
{
	sigset_t signals;

	choose_signals(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, &guard->signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard->cancel);
	kp_floats_hold(&guard->floats);
	guard->inside = kp_ab_inside;
	kp_ab_inside = true;
}

static void be_disturbed(const struct guard *guard)
{
	kp_ab_inside = guard->inside;
	kp_floats_let(&guard->floats);
	pthread_setcancelstate(guard->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &guard->signals, NULL);
}

static void lock(struct guard *guard)
{
	be_undisturbed(guard);
	pthread_mutex_lock(&own.lock);
}

static void unlock(const struct guard *guard)
{
	pthread_mutex_unlock(&own.lock);
	be_disturbed(guard);
}

/* ---- what is held ---- */

static void count_of(uint32_t rule, enum kp_ab_count which)
{
	atomic_fetch_add_explicit(&kp_ab.counts[rule][which], 1, memory_order_relaxed);
}

static void conclude(uint32_t rule, enum kp_ab_reason reason)
{
	count_of(rule, KP_AB_COUNT_SEEN);
	atomic_fetch_add_explicit(&kp_ab.reasons[rule][reason], 1, memory_order_relaxed);
}

static void conclude_all(uint32_t rules, enum kp_ab_reason reason)
{
	for (; rules; rules &= rules - 1)
		conclude((uint32_t)__builtin_ctz(rules), reason);
}

static void tell_pending(void)
{
	atomic_store(&kp_ab_sequence_pending, own.count | (own.late ? LATE : 0));
}

static CUresult launch_all(void)
{
	kp_ab_inside = true; /* what was done with a replacement may have ended that */
	return kp_ab_held_launch(own.held, own.count, own.context, own.stream);
}

static void let_go(void)
{
	own.count = 0;
	own.alive = own.owed = own.freed_count = 0;
	tell_pending();
}

/* What the program has given back meanwhile, behind all else. */
static CUresult free_all(void)
{
	CUresult result = CUDA_SUCCESS;
	bool pushed;

	if (own.freed_count == 0)
		return CUDA_SUCCESS;
	if (!kp_ab_held_enter(own.context, &pushed))
		return CUDA_ERROR_INVALID_CONTEXT;
	for (uint32_t i = 0; i < own.freed_count; i++) {
		CUresult one = free_async(own.freed[i], own.stream);

		result = result == CUDA_SUCCESS ? one : result;
	}
	kp_ab_held_leave(pushed);
	return result;
}

static void say_failed(CUresult result)
{
	if (result != CUDA_SUCCESS)
		kp_live_say(&kp_inject,
			    "a launch that kprof ab had held failed, with error %d of CUDA's",
			    (int)result);
}

/* What a replacement left unwritten is written by the launches in whose place it ran. */
static CUresult pay(void)
{
	CUresult result = launch_all(), freed = free_all();

	say_failed(result);
	count_of(own.owing, KP_AB_COUNT_REISSUED);
	let_go();
	return result == CUDA_SUCCESS ? freed : result;
}

/* What is held is launched, for each rule for its reason. */
static CUresult break_off(const enum kp_ab_reason *reasons)
{
	CUresult result = launch_all();

	say_failed(result);
	for (uint32_t rules = own.alive; rules; rules &= rules - 1) {
		uint32_t rule = (uint32_t)__builtin_ctz(rules);

		conclude(rule, result == CUDA_SUCCESS ? reasons[rule] : KP_AB_REASON_LATE_ERROR);
	}
	let_go();
	return result;
}

static CUresult break_off_for(enum kp_ab_reason reason)
{
	enum kp_ab_reason reasons[KP_AB_RULES_MOST];

	for (uint32_t i = 0; i < KP_AB_RULES_MOST; i++)
		reasons[i] = reason;
	return break_off(reasons);
}

/* The rules that the newest launch fits, as bits; `complete`: of those, where it is the last. */
static uint32_t advance(uint32_t rules, enum kp_ab_reason *reasons, uint32_t *complete)
{
	uint32_t fitting = 0;

	*complete = 0;
	for (; rules; rules &= rules - 1) {
		uint32_t rule = (uint32_t)__builtin_ctz(rules);
		bool last;

		reasons[rule] =
			kp_ab_sequence_advance(&kp_ab.plan, rule, &own.states[rule], own.context,
					       &own.held[own.count], own.count, &last);
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
		conclude((uint32_t)__builtin_ctz(rules), reasons[__builtin_ctz(rules)]);
}

/* The newest launch is held, too. */
static void keep(uint32_t fitting)
{
	own.alive = fitting;
	own.count++;
	atomic_fetch_add(&own.turn, 1);
	tell_pending();
}

/* The replacement has run: what is held stays so, until what it left unwritten is known to be dead.
 */
static void owe(uint32_t rule, uint32_t owed)
{
	own.owed = owed;
	own.owing = rule;
	own.alive = 0;
	own.freed_count = 0;
	atomic_fetch_add(&own.turn, 1);
}

/* All of a sequence is held: its turn. */
static CUresult finish(uint32_t complete)
{
	uint32_t rule = (uint32_t)__builtin_ctz(complete), owed;
	struct kp_ab_job job;
	enum kp_ab_reason reason;
	CUresult result;
	bool replaced;

	conclude_all(own.alive & ~(1U << rule), KP_AB_REASON_OTHER_LAUNCH);
	own.alive = 1U << rule;
	reason = kp_ab_sequence_job(rule, &own.states[rule], own.held, &job, &owed);
	if (reason == KP_AB_REASON_COUNT && owed && !free_async)
		reason = KP_AB_REASON_UNWRITTEN;
	if (reason != KP_AB_REASON_COUNT)
		return break_off_for(reason);
	job.stream = own.stream;
	result = kp_ab_sequence_turn(&job, launch_all, &replaced);
	kp_ab_inside = true;
	if (replaced && owed)
		owe(rule, owed);
	else
		let_go();
	return result;
}

/* ---- launches ---- */

/* A launch as it comes, and what it may be. */
struct arrival {
	const struct kp_ab_launch *launch;
	const struct kp_ab_layout *layout;
	uint64_t members;
	CUstream stream;
};

/* Behind others that are held. COUNT: *result is the program's; else they are held no longer. */
static bool goes_on(const struct arrival *arrival, CUresult *result)
{
	enum kp_ab_reason reasons[KP_AB_RULES_MOST];
	uint32_t fitting = 0, complete = 0;
	CUcontext current = NULL;

	if (arrival->stream != own.stream || !pthread_equal(pthread_self(), own.thread) ||
	    kp_ab.driver.context(&current) != CUDA_SUCCESS || current != own.context) {
		*result = break_off_for(KP_AB_REASON_OTHER_STREAM);
		return false;
	}
	if (!arrival->members || own.count == KP_AB_MEMBERS_MOST) {
		*result = break_off_for(KP_AB_REASON_OTHER_LAUNCH);
		return false;
	}
	if (!kp_ab_held_copy(arrival->launch, arrival->layout, arrival->members,
			     &own.held[own.count])) {
		*result = break_off_for(KP_AB_REASON_NOT_HELD);
		return false;
	}
	fitting = advance(own.alive, reasons, &complete);
	if (!fitting) {
		*result = break_off(reasons);
		return false;
	}
	conclude_each(own.alive & ~fitting, reasons);
	keep(fitting);
	*result = complete ? finish(complete) : CUDA_SUCCESS;
	return true;
}

/* Why nothing is held for now; COUNT: it may be. */
static enum kp_ab_reason may_hold(const struct arrival *arrival)
{
	if (atomic_load(&own.ended) || !kp_hooks_see_all())
		return KP_AB_REASON_HOLDING_OFF;
	if (atomic_load(&kp_hooks_captures) > 0)
		return KP_AB_REASON_NOT_HELD;
	own.context = kp_ab_held_context(arrival->stream);
	return own.context && kp_ab_held_copy(arrival->launch, arrival->layout, arrival->members,
					      &own.held[0])
		       ? KP_AB_REASON_COUNT
		       : KP_AB_REASON_NOT_HELD;
}

/* Rules that begin with this launch, as bits; those that were taken back or off are told so. */
static uint32_t beginning_with(uint64_t members)
{
	uint32_t rules = 0, wrong = atomic_load(&kp_ab.wrong);
	uint32_t off = atomic_load(&kp_ab.off);

	for (uint32_t i = 0; i < kp_ab.plan.header->rules.count; i++) {
		const struct kp_ab_rule *rule = &kp_ab.plan.rules[i];

		if (rule->match != KP_AB_MATCH_SEQUENCE || !(members >> rule->first_member & 1))
			continue;
		if (!((wrong | off) >> i & 1)) {
			rules |= 1U << i;
			continue;
		}
		conclude(i, wrong >> i & 1 ? KP_AB_REASON_WRONG : KP_AB_REASON_OFF);
		count_of(i, KP_AB_COUNT_ELIGIBLE);
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
		conclude_all(rules, reason);
	if (!rules || reason != KP_AB_REASON_COUNT)
		return false;
	for (uint32_t left = rules; left; left &= left - 1)
		own.states[__builtin_ctz(left)] = (struct kp_ab_under_way){0};
	fitting = advance(rules, reasons, &complete);
	conclude_each(rules & ~fitting, reasons);
	if (!fitting)
		return false;
	own.stream = arrival->stream;
	own.thread = pthread_self();
	atomic_store(&own.hold_us, kp_ab.plan.rules[__builtin_ctz(fitting)].hold_us);
	keep(fitting);
	*result = kp_ab_sequence_timer_wake() ? CUDA_SUCCESS
					      : break_off_for(KP_AB_REASON_HOLDING_OFF);
	return true;
}

static __attribute__((noinline)) bool take(const struct arrival *arrival, CUresult *result)
{
	bool taken = false;
	int error = errno;
	struct guard guard;

	*result = CUDA_SUCCESS;
	lock(&guard);
	if (own.owed)
		*result = pay();
	else if (own.count)
		taken = goes_on(arrival, result);
	if (own.late) {
		*result = own.late;
		own.late = CUDA_SUCCESS;
		tell_pending();
	}
	if (!taken && *result == CUDA_SUCCESS && arrival->members)
		taken = begins(arrival, result);
	unlock(&guard);
	errno = error;
	return taken || *result != CUDA_SUCCESS;
}

bool kp_ab_sequence_takes(const struct kp_ab_launch *launch, CUresult *result)
{
	struct arrival arrival = {.launch = launch};

	arrival.members = kp_ab_match_members(launch->function, &arrival.layout);
	if (!arrival.members && !kp_ab_sequence_is_pending())
		return false;
	arrival.stream =
		launch->per_thread && !launch->stream ? CU_STREAM_PER_THREAD : launch->stream;
	return take(&arrival, result);
}

/* ---- all else ---- */

/* With the lock. */
static CUresult interrupt(enum kp_ab_reason reason)
{
	CUresult result = own.owed ? pay() : own.count ? break_off_for(reason) : CUDA_SUCCESS;

	if (result == CUDA_SUCCESS)
		result = own.late;
	own.late = CUDA_SUCCESS;
	tell_pending();
	return result;
}

CUresult kp_ab_sequence_interrupt(enum kp_ab_reason reason)
{
	int error = errno;
	struct guard guard;
	CUresult result;

	lock(&guard);
	result = interrupt(reason);
	unlock(&guard);
	errno = error;
	return result;
}

/* With the lock. */
static void interrupt_silently(enum kp_ab_reason reason)
{
	own.late = interrupt(reason);
	tell_pending();
}

void kp_ab_sequence_interrupt_silently(enum kp_ab_reason reason)
{
	int error = errno;
	struct guard guard;

	lock(&guard);
	interrupt_silently(reason);
	unlock(&guard);
	errno = error;
}

/* Buffers that lie in an allocation that begins there, as bits; 0: none begins there. */
static uint32_t buffers_in(uint64_t memory)
{
	const struct kp_ab_flow *flow = &own.states[own.owing].flow;
	uint32_t found = 0;
	CUdeviceptr base = 0;
	size_t bytes = 0;

	if (kp_ab.driver.range(&base, &bytes, memory) != CUDA_SUCCESS || base != memory)
		return 0;
	for (uint32_t i = 0; i < KP_AB_BUFFERS_MOST; i++)
		if (own.owed >> i & 1 && flow->buffers[i].address - base < bytes)
			found |= 1U << i;
	return found;
}

/* With the lock. True: the call is held, or was made. */
static bool hold_free(uint64_t memory, CUstream stream, CUresult *result)
{
	uint32_t dead;

	if (!own.owed || stream != own.stream || !pthread_equal(pthread_self(), own.thread))
		return false;
	for (uint32_t i = 0; i < own.freed_count; i++)
		if (own.freed[i] == memory)
			return false;
	dead = buffers_in(memory);
	if (!dead)
		return false;
	own.freed[own.freed_count++] = memory;
	own.owed &= ~dead;
	if (own.owed)
		return true;
	*result = free_all();
	count_of(own.owing, KP_AB_COUNT_ELIDED);
	let_go();
	return true;
}

bool kp_ab_sequence_holds_free(const void *function, uint64_t memory, CUstream stream,
			       CUresult *result)
{
	int error = errno;
	struct guard guard;
	bool held;

	/* Another form means another stream by none. */
	if (!free_async || function != *(void *const *)(const void *)&free_async)
		return false;
	lock(&guard);
	held = hold_free(memory, stream, result);
	unlock(&guard);
	errno = error;
	return held;
}

uint64_t kp_ab_sequence_turn_number(uint32_t *hold_us)
{
	*hold_us = atomic_load(&own.hold_us);
	return atomic_load(&own.turn);
}

void kp_ab_sequence_due(uint64_t turn)
{
	struct guard guard;

	lock(&guard);
	if (own.count && atomic_load(&own.turn) == turn)
		interrupt_silently(KP_AB_REASON_TOO_LATE);
	unlock(&guard);
}

void kp_ab_sequence_end(void)
{
	atomic_store(&own.ended, true);
	if (kp_ab_sequence_is_pending() && !kp_ab_inside)
		kp_ab_sequence_interrupt_silently(KP_AB_REASON_HOLDING_OFF);
}

/*
 * A kernel that waits for one on another GPU may keep the driver from taking more launches; the
 * thread that is to launch the other must not wait for who holds the lock meanwhile.
 */
void kp_ab_sequence_device(int device)
{
	static _Atomic int first = -1;
	int none = -1;

	if (!atomic_compare_exchange_strong(&first, &none, device) && none != device)
		kp_ab_sequence_end();
}

/* The process ends, perhaps in the midst of anything: the lock is only tried for. */
void kp_ab_sequence_finish(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct guard guard;
	bool locked = false;

	atomic_store(&own.ended, true);
	be_undisturbed(&guard);
	for (int tries = 0; kp_ab_sequence_is_pending() && !locked && tries < FINISH_TRIES;
	     tries++) {
		if (tries)
			nanosleep(&pause, NULL);
		locked = pthread_mutex_trylock(&own.lock) == 0;
	}
	if (locked) {
		interrupt_silently(KP_AB_REASON_OTHER_CALL);
		pthread_mutex_unlock(&own.lock);
	}
	be_disturbed(&guard);
}

void kp_ab_sequence_start(void)
{
	const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
	bool any = false;

	for (uint32_t i = 0; i < kp_ab.plan.header->rules.count; i++)
		any |= kp_ab.plan.rules[i].match == KP_AB_MATCH_SEQUENCE;
	if (!any)
		return;
	if ((blocking && *blocking && *blocking != '0') || !kp_ab_sequence_asked())
		atomic_store(&own.ended, true);
	*(void **)&free_async = kp_hooks_driver_symbol("cuMemFreeAsync");
	atomic_store(&kp_ab_sequence_on, true);
}

void kp_ab_sequence_forget(void)
{
	atomic_store(&kp_ab_sequence_on, false);
	atomic_store(&kp_ab_sequence_pending, 0);
	atomic_store(&own.ended, true);
	own.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	own.count = own.alive = own.owed = own.freed_count = 0;
	own.late = CUDA_SUCCESS;
	kp_ab_sequence_timer_forget();
}
