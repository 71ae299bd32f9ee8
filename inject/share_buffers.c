/* The other client's buffers; see share_buffers.h. */
#include "inject/share_buffers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* More than threads that deliver at one time; beyond, records are dropped and counted. */
#define SLOTS 32

struct lent {
	uint8_t *bytes; /* NULL: the slot is free */
	size_t size, used;
	size_t records, max_records; /* 0: as many as fit */
	CUpti_BuffersCallbackCompleteFunc complete;
	bool taken,
		held; /* under the lock: by a thread; there is a buffer. The rest is the taker's */
};

static struct {
	pthread_mutex_t lock;
	struct lent slots[SLOTS];
	_Atomic(CUpti_BuffersCallbackRequestFunc) request;
	_Atomic(CUpti_BuffersCallbackCompleteFunc) complete;
} client = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local unsigned inside;

void kp_share_buffers_register(CUpti_BuffersCallbackRequestFunc request,
			       CUpti_BuffersCallbackCompleteFunc complete)
{
	atomic_store(&client.complete, complete);
	atomic_store(&client.request, request);
}

bool kp_share_buffers_registered(void)
{
	return atomic_load(&client.request) && atomic_load(&client.complete);
}

CUpti_BuffersCallbackRequestFunc kp_share_buffers_request(void)
{
	return atomic_load(&client.request);
}

CUpti_BuffersCallbackCompleteFunc kp_share_buffers_complete(void)
{
	return atomic_load(&client.complete);
}

bool kp_share_buffers_inside(void)
{
	return inside > 0;
}

/* Fills a free slot. False where the client gives no buffer. */
static bool ask(struct lent *slot)
{
	CUpti_BuffersCallbackRequestFunc request = atomic_load(&client.request);
	CUpti_BuffersCallbackCompleteFunc complete = atomic_load(&client.complete);
	size_t size = 0, max_records = 0;
	uint8_t *bytes = NULL;

	if (!request || !complete)
		return false;
	inside++;
	request(&bytes, &size, &max_records);
	inside--;
	if (!bytes)
		return false;
	slot->bytes = bytes;
	slot->size = size;
	slot->max_records = max_records;
	slot->used = slot->records = 0;
	slot->complete = complete;
	return true;
}

static void leave(struct lent *slot)
{
	pthread_mutex_lock(&client.lock);
	slot->held = slot->bytes != NULL;
	slot->taken = false;
	pthread_mutex_unlock(&client.lock);
}

/* Which slots a thread may take. */
enum wish { OPEN_OR_FREE, FILLED, ANY_OPEN };

static struct lent *take(enum wish wish)
{
	struct lent *found = NULL;

	pthread_mutex_lock(&client.lock);
	for (size_t i = 0; i < SLOTS; i++) {
		struct lent *slot = &client.slots[i];

		if (slot->taken)
			continue;
		if (slot->bytes && (wish != FILLED || slot->used)) {
			found = slot;
			break;
		}
		if (wish == OPEN_OR_FREE && !found)
			found = slot;
	}
	if (found)
		found->taken = true;
	pthread_mutex_unlock(&client.lock);
	return found;
}

/* Gives a taken buffer back to the client; the slot is free then. */
static void give_back(struct lent *slot)
{
	struct lent done = *slot;

	inside++;
	done.complete(NULL, 0, done.bytes, done.size, done.used);
	inside--;
	pthread_mutex_lock(&client.lock);
	memset(slot, 0, sizeof(*slot));
	pthread_mutex_unlock(&client.lock);
}

/* A taken slot with a buffer; NULL where the client gives none. */
static struct lent *open_slot(void)
{
	struct lent *slot = take(OPEN_OR_FREE);

	if (slot && !slot->bytes && !ask(slot)) {
		leave(slot);
		return NULL;
	}
	return slot;
}

static bool has_room(const struct lent *slot, size_t bytes)
{
	return slot->size >= slot->used && slot->size - slot->used >= bytes &&
	       (!slot->max_records || slot->records < slot->max_records);
}

uint8_t *kp_share_buffers_put(struct kp_share_delivery *delivery, const uint8_t *record,
			      size_t bytes)
{
	struct lent *slot = delivery->slot;
	uint8_t *at;

	for (;;) {
		if (!slot)
			slot = open_slot();
		if (!slot || has_room(slot, bytes))
			break;
		if (!slot->used) { /* a buffer that holds not even one record */
			leave(slot);
			slot = NULL;
			break;
		}
		give_back(slot);
		slot = NULL;
	}
	delivery->slot = slot;
	if (!slot) {
		delivery->dropped++;
		return NULL;
	}
	at = slot->bytes + slot->used;
	memcpy(at, record, bytes);
	slot->used += bytes;
	slot->records++;
	return at;
}

void kp_share_buffers_end(struct kp_share_delivery *delivery)
{
	if (delivery->slot)
		leave(delivery->slot);
	delivery->slot = NULL;
}

void kp_share_buffers_return(bool all)
{
	struct lent *slot;

	while ((slot = take(all ? ANY_OPEN : FILLED)))
		give_back(slot);
}

void kp_share_buffers_prepare(void)
{
	struct lent *slot = open_slot();

	if (slot)
		leave(slot);
}

bool kp_share_buffers_have(bool asked)
{
	bool have = false;

	pthread_mutex_lock(&client.lock);
	for (size_t i = 0; i < SLOTS; i++)
		have = have || client.slots[i].held || (asked && client.slots[i].taken);
	pthread_mutex_unlock(&client.lock);
	return have;
}

void kp_share_buffers_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&client, 0, sizeof(client));
	client.lock = fresh;
}
