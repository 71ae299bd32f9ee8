/* Who is inside which gate; see passages.h. */
#include "inject/passages.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/futex.h"
#include "inject/state.h"

/* Between two looks at a passage that is waited for. */
#define LOOK_NS 20000ULL
/* A record that is being taken back. */
#define NOBODY UINT32_MAX
/* From so many records on those of ended threads are looked for before there are twice as many. */
#define SWEEP_FIRST 64

_Thread_local struct kp_passages *kp_passages_own __attribute__((tls_model("initial-exec")));

static struct kp_passages table[KP_PASSAGES_MAX];
static _Atomic uint32_t top; /* records beyond were never used */
/* Of threads without a record. */
static _Atomic uint32_t unlisted[KP_PASSAGE_KINDS];
static _Thread_local bool is_unlisted __attribute__((tls_model("initial-exec")));

static uint32_t thread_of(uint64_t owner)
{
	return (uint32_t)owner;
}

static bool has_ended(uint32_t thread)
{
	int saved = errno;
	bool ended = syscall(SYS_tgkill, getpid(), (pid_t)thread, 0) != 0 && errno == ESRCH;

	errno = saved;
	return ended;
}

static bool is_inside(const struct kp_passages *record, enum kp_passage kind)
{
	return atomic_load(&record->steps[kind]) & 1;
}

/* Ends whatever has not ended. For the thread itself, or where there is none. */
static void end_all(struct kp_passages *record, enum kp_passage kind)
{
	uint32_t steps = atomic_load_explicit(&record->steps[kind], memory_order_relaxed);

	atomic_store_explicit(&record->within[kind], 0, memory_order_relaxed);
	atomic_store(&record->steps[kind], steps + (steps & 1));
}

/* Takes back the record of a thread that has ended, if it is that one's still. */
static void take_back(struct kp_passages *record, uint64_t owner)
{
	uint64_t taken = owner | NOBODY;

	if (!atomic_compare_exchange_strong(&record->owner, &owner, taken))
		return;
	for (int kind = 0; kind < KP_PASSAGE_KINDS; kind++)
		end_all(record, (enum kp_passage)kind);
	atomic_store(&record->owner, taken & ~(uint64_t)NOBODY);
}

static uint32_t used(void)
{
	uint32_t count = atomic_load(&top);

	return count < KP_PASSAGES_MAX ? count : KP_PASSAGES_MAX;
}

/* If its thread has ended. */
static void look_after(struct kp_passages *record)
{
	uint64_t owner = atomic_load(&record->owner);
	uint32_t thread = thread_of(owner);

	if (thread && thread != NOBODY && has_ended(thread))
		take_back(record, owner);
}

void kp_passages_sweep(enum kp_passage kind)
{
	for (uint32_t i = 0; i < used(); i++)
		if (is_inside(&table[i], kind))
			look_after(&table[i]);
}

/* ---- joining ---- */

static bool claim(struct kp_passages *record, uint32_t thread)
{
	uint64_t owner = atomic_load(&record->owner);

	return !thread_of(owner) &&
	       atomic_compare_exchange_strong(&record->owner, &owner,
					      ((owner >> 32) + 1) << 32 | thread);
}

/* One that is free again; NULL: none is. */
static struct kp_passages *find_free(uint32_t thread)
{
	for (uint32_t i = 0; i < used(); i++)
		if (claim(&table[i], thread))
			return &table[i];
	return NULL;
}

static struct kp_passages *add(uint32_t thread)
{
	while (used() < KP_PASSAGES_MAX) {
		uint32_t i = atomic_fetch_add(&top, 1);

		if (i < KP_PASSAGES_MAX && claim(&table[i], thread))
			return &table[i];
	}
	return NULL;
}

/* The number of a thread may have been another's, which ended in a passage. */
static void forget_namesake(uint32_t thread)
{
	for (uint32_t i = 0; i < used(); i++) {
		uint64_t owner = atomic_load(&table[i].owner);

		if (thread_of(owner) == thread)
			take_back(&table[i], owner);
	}
}

/* NULL: so many threads are alive that there is no room. */
static struct kp_passages *join(void)
{
	uint32_t thread = (uint32_t)syscall(SYS_gettid), count;
	struct kp_passages *own;

	forget_namesake(thread);
	own = find_free(thread);
	count = used();
	if (!own && count >= SWEEP_FIRST && (count & (count - 1)) == 0) {
		for (uint32_t i = 0; i < count; i++)
			look_after(&table[i]);
		own = find_free(thread);
	}
	return own ? own : add(thread);
}

bool kp_passages_begin_first(enum kp_passage kind)
{
	struct kp_passages *own = is_unlisted ? NULL : join();

	kp_passages_own = own;
	is_unlisted = !own;
	atomic_fetch_add(own ? &own->steps[kind] : &unlisted[kind], 1);
	return true;
}

/* ---- passages within each other, and such as were never ended ---- */

#define BEGUN_WITHIN 0x10000U
#define OPEN_WITHIN(within) ((within)&0xffffU)

/* One call more while a passage has not ended: whether that was left, and is ended now. */
static bool was_left(struct kp_passages *own, enum kp_passage kind)
{
	uint32_t within =
		atomic_fetch_add_explicit(&own->within[kind], BEGUN_WITHIN, memory_order_relaxed);

	if (within / BEGUN_WITHIN < KP_PASSAGES_WITHIN)
		return false;
	end_all(own, kind);
	return true;
}

bool kp_passages_begin_within(enum kp_passage kind)
{
	struct kp_passages *own = kp_passages_own;
	bool first = was_left(own, kind);

	atomic_fetch_add(first ? &own->steps[kind] : &own->within[kind], 1);
	return first;
}

void kp_passages_end_otherwise(enum kp_passage kind)
{
	struct kp_passages *own = kp_passages_own;

	if (own && OPEN_WITHIN(atomic_load_explicit(&own->within[kind], memory_order_relaxed)))
		atomic_fetch_sub_explicit(&own->within[kind], 1, memory_order_relaxed);
	else if (own)
		end_all(own, kind);
	else if (atomic_load(&unlisted[kind]))
		atomic_fetch_sub(&unlisted[kind], 1);
}

void kp_passages_recall(enum kp_passage kind)
{
	struct kp_passages *own = kp_passages_own;

	if (own && is_inside(own, kind))
		was_left(own, kind);
}

/* ---- looking ---- */

uint32_t kp_passages_inside(enum kp_passage kind, bool others)
{
	uint32_t count = atomic_load(&unlisted[kind]);

	for (uint32_t i = 0; i < used(); i++)
		count += is_inside(&table[i], kind) && !(others && &table[i] == kp_passages_own);
	return count;
}

bool kp_passages_any(enum kp_passage kind)
{
	if (!kp_passages_inside(kind, false))
		return false;
	kp_passages_recall(kind);
	kp_passages_sweep(kind);
	return kp_passages_inside(kind, false) > 0;
}

/* Waits while the word is `seen`. False: until the end of the time. */
static bool await_change(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns)
{
	static _Atomic uint32_t never; /* nobody wakes: those inside are so for microseconds */

	while (atomic_load(word) == seen) {
		uint64_t now_ns = kp_clock_now();

		if (now_ns >= until_ns)
			return false;
		kp_futex_wait(&never, 0, now_ns + LOOK_NS);
	}
	return true;
}

/* The same for a passage, which a thread may have ended in. */
static bool await_end(struct kp_passages *record, enum kp_passage kind, uint64_t until_ns)
{
	uint32_t steps = atomic_load(&record->steps[kind]);
	uint64_t soon_ns;

	if (!(steps & 1) || record == kp_passages_own)
		return true;
	soon_ns = kp_clock_now() + KP_PASSAGES_SOON_NS;
	if (await_change(&record->steps[kind], steps, soon_ns < until_ns ? soon_ns : until_ns))
		return true;
	look_after(record);
	return await_change(&record->steps[kind], steps, until_ns);
}

bool kp_passages_await(enum kp_passage kind, uint64_t limit_ns)
{
	uint64_t until_ns = kp_clock_now() + limit_ns;
	uint32_t others;

	for (uint32_t i = 0; i < used(); i++)
		if (!await_end(&table[i], kind, until_ns))
			return false;
	while ((others = atomic_load(&unlisted[kind])) != 0)
		if (!await_change(&unlisted[kind], others, until_ns))
			return false;
	return true;
}

void kp_passages_forget(void)
{
	uint32_t thread = (uint32_t)syscall(SYS_gettid);

	for (uint32_t i = 0; i < used(); i++) {
		struct kp_passages *record = &table[i];
		uint64_t times = atomic_load(&record->owner) >> 32;
		bool own = record == kp_passages_own;

		for (int kind = 0; kind < KP_PASSAGE_KINDS && !own; kind++)
			end_all(record, (enum kp_passage)kind);
		atomic_store(&record->owner, times << 32 | (own ? thread : 0));
	}
	for (int kind = 0; kind < KP_PASSAGE_KINDS; kind++)
		atomic_store(&unlisted[kind], 0);
	is_unlisted = false;
}
