/* Calls by content; see library_table.h. */
#include "inject/library_table.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/library.h"
#include "inject/library_doors.h"
#include "inject/library_texts.h"

#define PLACES (2U * KP_LIBRARY_CALLS_MOST) /* a power of two */
/* So many places are looked at: where they are all others', the table is as good as full. */
#define LOOK_MOST 64U

enum { FREE, FILLING, FULL };

struct place {
	_Atomic uint32_t state;
	uint32_t number; /* worker only: the trace's + 1; 0: not asked for yet */
	struct kp_library_call call;
};

#define WORDS (sizeof(struct kp_library_call) / sizeof(uint64_t))

static _Atomic(struct place *) table;
static _Atomic uint32_t used;

void kp_library_table_start(void)
{
	int error = errno;
	void *memory;

	if (atomic_load(&table))
		return;
	memory = mmap(NULL, PLACES * sizeof(struct place), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory != MAP_FAILED)
		atomic_store(&table, memory);
	errno = error;
}

void kp_library_table_forget(void)
{
	atomic_store(&table, NULL);
	atomic_store(&used, 0);
}

/* Of products, which have no sizes by name, all that comes before those. */
static uint32_t hash(const struct kp_library_call *call)
{
	const size_t first = offsetof(struct kp_library_call, from) / sizeof(uint64_t);
	const uint64_t *words = (const uint64_t *)call;
	uint64_t sum = 0;

#pragma GCC unroll 64
	for (size_t i = 0; i < first; i++)
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15ULL;
	for (size_t i = first; call->names && i < WORDS; i++)
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15ULL;
	return (uint32_t)(sum >> 32) & (PLACES - 1);
}

/* Takes a free place. False: another thread was faster, or there are enough calls. */
static bool fill(struct place *place, const struct kp_library_call *call)
{
	uint32_t most = call->from == KP_LIBRARY_FROM_PARAMETERS ? KP_LIBRARY_CALLS_MOST / 2
								 : KP_LIBRARY_CALLS_MOST;
	uint32_t expected = FREE;

	if (atomic_load_explicit(&used, memory_order_relaxed) >= most ||
	    !atomic_compare_exchange_strong(&place->state, &expected, FILLING))
		return false;
	atomic_fetch_add_explicit(&used, 1, memory_order_relaxed);
	place->call = *call;
	atomic_store_explicit(&place->state, FULL, memory_order_release);
	return true;
}

uint32_t kp_library_table_put(const struct kp_library_call *call)
{
	struct place *places = atomic_load_explicit(&table, memory_order_relaxed);
	uint32_t at = hash(call);

	for (unsigned looks = 0; places && looks < LOOK_MOST;
	     looks++, at = (at + 1) & (PLACES - 1)) {
		struct place *place = &places[at];
		uint32_t state = atomic_load_explicit(&place->state, memory_order_acquire);

		if (state == FULL && memcmp(&place->call, call, sizeof(*call)) == 0)
			return at;
		if (state == FREE && fill(place, call))
			return at;
	}
	return KP_LIBRARY_NO_PLACE;
}

bool kp_library_table_is(uint32_t at, uint64_t entry, uint64_t causal, const uint64_t *sizes,
			 size_t count)
{
	struct place *places = atomic_load_explicit(&table, memory_order_relaxed);
	const struct kp_library_call *call;

	if (at >= PLACES || !places ||
	    atomic_load_explicit(&places[at].state, memory_order_acquire) != FULL)
		return false;
	call = &places[at].call;
	for (size_t i = 0; i < count; i++)
		if (kp_library_sizes(call)[i] != sizes[i])
			return false;
	return call->entry == entry && call->causal == causal;
}

static bool intern(struct kp_writer *writer, const char *text, uint64_t *number)
{
	uint32_t found;

	if (kp_writer_intern(writer, text, strlen(text), &found) != KP_OK)
		return false;
	*number = found;
	return true;
}

/* A text by number + 1 becomes a string by number + 1. */
static bool intern_text(struct kp_writer *writer, uint64_t *number)
{
	const char *text = kp_library_texts_get(*number);

	if (!text)
		*number = 0;
	else if (intern(writer, text, number))
		*number += 1;
	else
		return false;
	return true;
}

/* Gives library, function and texts their strings. */
static bool put(struct kp_writer *writer, struct kp_library_call call, uint32_t *number)
{
	uint64_t entry = call.entry;

	return intern(writer, kp_library_doors_library(entry), &call.library) &&
	       intern(writer, kp_library_doors_entry(entry), &call.entry) &&
	       intern_text(writer, &call.detail) && intern_text(writer, &call.names) &&
	       kp_writer_library_call(writer, &call, number) == KP_OK;
}

bool kp_library_table_number(struct kp_writer *writer, uint32_t at, uint32_t *number)
{
	struct place *places = atomic_load(&table);

	if (!places || at >= PLACES ||
	    atomic_load_explicit(&places[at].state, memory_order_acquire) != FULL)
		return false;
	if (!places[at].number) {
		if (!put(writer, places[at].call, number))
			return false;
		places[at].number = *number + 1;
	}
	*number = places[at].number - 1;
	return true;
}
