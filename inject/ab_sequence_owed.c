/* What is held, and what becomes of it; see ab_sequence_state.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_sequence_state.h"

#include "inject/ab_sequence_memory.h"
#include "inject/ab_state.h"
#include "inject/hooks.h"

#define LATE 0x100U /* of what is pending: an error */
/* So often in a row; then all but each so-many-th sequence is left alone. */
#define VAIN 16U
#define VAIN_TRIED 256U

struct kp_ab_sequence_state kp_ab_sequence = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Of the null stream by its first name; another form means another stream by none. NULL: this
 * driver has none. */
static CUresult(CUDAAPI *free_async)(CUdeviceptr, CUstream);
static CUresult(CUDAAPI *alloc_async)(CUdeviceptr *, size_t, CUstream);

/* ---- the lock ---- */

void kp_ab_sequence_lock(struct kp_ab_alone *guard)
{
	kp_ab_alone_begins(guard);
	pthread_mutex_lock(&kp_ab_sequence.lock);
}

bool kp_ab_sequence_trylock(struct kp_ab_alone *guard)
{
	kp_ab_alone_begins(guard);
	if (pthread_mutex_trylock(&kp_ab_sequence.lock) == 0)
		return true;
	kp_ab_alone_ends(guard);
	return false;
}

void kp_ab_sequence_unlock(const struct kp_ab_alone *guard)
{
	pthread_mutex_unlock(&kp_ab_sequence.lock);
	kp_ab_alone_ends(guard);
}

/* ---- what is held ---- */

void kp_ab_sequence_count(uint32_t rule, enum kp_ab_count which)
{
	atomic_fetch_add_explicit(&kp_ab.counts[rule][which], 1, memory_order_relaxed);
}

void kp_ab_sequence_conclude(uint32_t rule, enum kp_ab_reason reason)
{
	kp_ab_sequence_count(rule, KP_AB_COUNT_SEEN);
	atomic_fetch_add_explicit(&kp_ab.reasons[rule][reason], 1, memory_order_relaxed);
}

void kp_ab_sequence_conclude_all(uint32_t rules, enum kp_ab_reason reason)
{
	for (; rules; rules &= rules - 1)
		kp_ab_sequence_conclude((uint32_t)__builtin_ctz(rules), reason);
}

void kp_ab_sequence_tell(void)
{
	atomic_store(&kp_ab_sequence_pending,
		     kp_ab_sequence.count | (kp_ab_sequence.late ? LATE : 0));
}

CUresult kp_ab_sequence_launch(void)
{
	kp_ab_inside = true; /* what was done with a replacement may have ended that */
	return kp_ab_held_launch(kp_ab_sequence.held, kp_ab_sequence.count, kp_ab_sequence.context,
				 kp_ab_sequence.stream);
}

/* What the program has given back meanwhile, behind all else: nobody can tell that it is later. */
static CUresult free_all(void)
{
	CUresult result = CUDA_SUCCESS;
	bool pushed;

	if (kp_ab_sequence.freed_count == 0)
		return CUDA_SUCCESS;
	kp_ab_sequence_memory_changes();
	if (!kp_ab_held_enter(kp_ab_sequence.context, &pushed))
		return CUDA_ERROR_INVALID_CONTEXT;
	for (uint32_t i = 0; i < kp_ab_sequence.freed_count; i++) {
		CUresult one = free_async(kp_ab_sequence.freed[i].at, kp_ab_sequence.stream);

		result = result == CUDA_SUCCESS ? one : result;
	}
	kp_ab_held_leave(pushed);
	return result;
}

CUresult kp_ab_sequence_let_go(CUresult result)
{
	CUresult freed = free_all();

	kp_ab_sequence.count = 0;
	kp_ab_sequence.alive = kp_ab_sequence.owed = kp_ab_sequence.freed_count = 0;
	kp_ab_sequence_tell();
	return result == CUDA_SUCCESS ? freed : result;
}

static void say_failed(CUresult result)
{
	if (result != CUDA_SUCCESS)
		kp_live_say(&kp_inject,
			    "a launch that kprof ab had held failed, with error %d of CUDA's",
			    (int)result);
}

CUresult kp_ab_sequence_pay(void)
{
	CUresult result = kp_ab_sequence_launch();

	say_failed(result);
	kp_ab_sequence_count(kp_ab_sequence.owing, KP_AB_COUNT_REISSUED);
	kp_ab_sequence.reissued[kp_ab_sequence.owing]++;
	return kp_ab_sequence_let_go(result);
}

CUresult kp_ab_sequence_break_off(const enum kp_ab_reason *reasons)
{
	CUresult result = kp_ab_sequence_launch();

	say_failed(result);
	for (uint32_t rules = kp_ab_sequence.alive; rules; rules &= rules - 1) {
		uint32_t rule = (uint32_t)__builtin_ctz(rules);

		kp_ab_sequence_conclude(rule, result == CUDA_SUCCESS ? reasons[rule]
								     : KP_AB_REASON_LATE_ERROR);
	}
	return kp_ab_sequence_let_go(result);
}

CUresult kp_ab_sequence_break_off_for(enum kp_ab_reason reason)
{
	enum kp_ab_reason reasons[KP_AB_RULES_MOST];

	for (uint32_t i = 0; i < KP_AB_RULES_MOST; i++)
		reasons[i] = reason;
	return kp_ab_sequence_break_off(reasons);
}

/* ---- what was left unwritten ---- */

/* Buffers that lie in an allocation, as bits. */
static uint32_t buffers_in(const struct kp_ab_freed *freed)
{
	const struct kp_ab_flow *flow = &kp_ab_sequence.states[kp_ab_sequence.owing].flow;
	uint32_t found = 0;

	for (uint32_t i = 0; i < KP_AB_BUFFERS_MOST; i++)
		if (kp_ab_sequence.owed >> i & 1 &&
		    flow->buffers[i].address - freed->at < freed->bytes)
			found |= 1U << i;
	return found;
}

/* All of it was given back: nobody can read it, and the launches never need to run. */
static CUresult elide(void)
{
	kp_ab_sequence_count(kp_ab_sequence.owing, KP_AB_COUNT_ELIDED);
	kp_ab_sequence.reissued[kp_ab_sequence.owing] = 0;
	return kp_ab_sequence_let_go(CUDA_SUCCESS);
}

/* What was given back in the midst of the sequence is dead already. */
CUresult kp_ab_sequence_owe(uint32_t rule, uint32_t owed)
{
	kp_ab_sequence.owed = owed;
	kp_ab_sequence.owing = rule;
	kp_ab_sequence.alive = 0;
	atomic_fetch_add(&kp_ab_sequence.turn, 1);
	for (uint32_t i = 0; i < kp_ab_sequence.freed_count; i++)
		kp_ab_sequence.owed &= ~buffers_in(&kp_ab_sequence.freed[i]);
	return kp_ab_sequence.owed ? CUDA_SUCCESS : elide();
}

bool kp_ab_sequence_is_vain(uint32_t rule)
{
	return kp_ab_sequence.reissued[rule] >= VAIN &&
	       ++kp_ab_sequence.left[rule] % VAIN_TRIED != 0;
}

static bool is_of_what_is_held(CUstream stream)
{
	return kp_ab_sequence.count && stream == kp_ab_sequence.stream &&
	       pthread_equal(pthread_self(), kp_ab_sequence.thread);
}

/*
 * Whether the driver is sure to take it back: nobody is told later that it would not. It refuses
 * what is a module's, of the host, managed or mapped; all that a pool gave out is none of these.
 */
static bool is_of_pool(uint64_t memory, struct kp_ab_freed *out)
{
	CUmemoryPool pool = NULL;
	CUdeviceptr base = 0;
	size_t bytes = 0;

	if (kp_ab.driver.range(&base, &bytes, memory) != CUDA_SUCCESS || base != memory ||
	    !kp_ab_sequence_memory_is_own(kp_ab_sequence.context, memory, bytes))
		return false;
	*out = (struct kp_ab_freed){memory, bytes};
	return kp_ab.driver.pointer(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory) ==
		       CUDA_SUCCESS &&
	       pool;
}

/* With the lock. True: the call is held, or was made. */
static bool hold_free(uint64_t memory, CUstream stream, CUresult *result)
{
	struct kp_ab_freed freed;

	if (!is_of_what_is_held(stream) || kp_ab_sequence.freed_count == KP_AB_FREED_MOST)
		return false;
	for (uint32_t i = 0; i < kp_ab_sequence.freed_count; i++)
		if (kp_ab_sequence.freed[i].at == memory)
			return false;
	if (!is_of_pool(memory, &freed))
		return false;
	kp_ab_sequence.freed[kp_ab_sequence.freed_count++] = freed;
	if (!kp_ab_sequence.owed)
		return true;
	kp_ab_sequence.owed &= ~buffers_in(&freed);
	if (!kp_ab_sequence.owed)
		*result = elide();
	return true;
}

bool kp_ab_sequence_holds_free(const void *function, uint64_t memory, CUstream stream,
			       CUresult *result)
{
	struct kp_ab_alone guard;
	bool held;

	if (!free_async || function != *(void *const *)(const void *)&free_async)
		return false;
	kp_ab_sequence_lock(&guard);
	held = hold_free(memory, stream, result);
	kp_ab_sequence_unlock(&guard);
	return held;
}

/* The program's pointer may be no good: it is written to as the driver would, with nothing held up.
 */
bool kp_ab_sequence_makes_alloc(const void *function, uint64_t *memory, size_t bytes,
				CUstream stream)
{
	struct kp_ab_alone guard;
	CUdeviceptr given = 0;
	bool made;

	if (!alloc_async || function != *(void *const *)(const void *)&alloc_async || !memory)
		return false;
	kp_ab_sequence_lock(&guard);
	made = is_of_what_is_held(stream) && alloc_async(&given, bytes, stream) == CUDA_SUCCESS;
	kp_ab_sequence_unlock(&guard);
	if (made)
		*memory = given;
	return made;
}

bool kp_ab_sequence_gives_back(uint64_t memory)
{
	struct kp_ab_alone guard;
	bool found = false;

	kp_ab_sequence_lock(&guard);
	for (uint32_t i = 0; i < kp_ab_sequence.freed_count; i++)
		found |= memory - kp_ab_sequence.freed[i].at < kp_ab_sequence.freed[i].bytes;
	kp_ab_sequence_unlock(&guard);
	return found;
}

bool kp_ab_sequence_can_free(void)
{
	return free_async != NULL;
}

void kp_ab_sequence_find_frees(void)
{
	*(void **)&free_async = kp_hooks_driver_symbol("cuMemFreeAsync");
	*(void **)&alloc_async = kp_hooks_driver_symbol("cuMemAllocAsync");
}
