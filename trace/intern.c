/* Interning by open addressing over XXH3 hashes; see intern.h. */
#include "trace/intern.h"

#include <stdlib.h>

#include "trace/vector.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct kp_intern_entry {
	uint64_t hash;
	size_t offset, length;
};

static bool grow_slots(struct kp_intern *table)
{
	size_t count = table->slot_count ? table->slot_count * 2 : 64;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < table->count; i++) {
		size_t at = table->entries[i].hash & (count - 1);

		while (slots[at])
			at = (at + 1) & (count - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(table->slots);
	table->slots = slots;
	table->slot_count = count;
	return true;
}

static bool same(const struct kp_intern *table, const struct kp_intern_entry *entry, uint64_t hash,
		 const void *bytes, size_t length)
{
	return entry->hash == hash && entry->length == length &&
	       (length == 0 || memcmp(table->pool.bytes + entry->offset, bytes, length) == 0);
}

/* The slot that holds the bytes, or the free one in which they belong. */
static size_t find_slot(const struct kp_intern *table, uint64_t hash, const void *bytes,
			size_t length)
{
	size_t at = hash & (table->slot_count - 1);

	while (table->slots[at] &&
	       !same(table, &table->entries[table->slots[at] - 1], hash, bytes, length))
		at = (at + 1) & (table->slot_count - 1);
	return at;
}

bool kp_intern_find(const struct kp_intern *table, const void *bytes, size_t length,
		    uint32_t *number)
{
	uint32_t slot;

	if (!table->slot_count)
		return false;
	slot = table->slots[find_slot(table, XXH3_64bits(bytes, length), bytes, length)];
	*number = slot - 1;
	return slot != 0;
}

enum kp_status kp_intern_put(struct kp_intern *table, const void *bytes, size_t length,
			     uint32_t *number, bool *added)
{
	uint64_t hash = XXH3_64bits(bytes, length);
	size_t at;

	if ((table->count + 1) * 2 > table->slot_count && !grow_slots(table))
		return KP_NO_MEMORY;
	at = find_slot(table, hash, bytes, length);
	if (added)
		*added = !table->slots[at];
	if (table->slots[at]) {
		*number = table->slots[at] - 1;
		return KP_OK;
	}
	if (table->count == UINT32_MAX - 1 ||
	    !kp_vector_grow((void **)&table->entries, table->count, &table->capacity,
			    sizeof(*table->entries)) ||
	    !kp_buffer_reserve(&table->pool, length + 1)) {
		table->pool.failed = false; /* a later, shorter string may still fit */
		return KP_NO_MEMORY;
	}
	table->entries[table->count] = (struct kp_intern_entry){hash, table->pool.length, length};
	kp_buffer_put(&table->pool, bytes, length);
	kp_buffer_put(&table->pool, "", 1);
	*number = (uint32_t)table->count++;
	table->slots[at] = *number + 1;
	return KP_OK;
}

const uint8_t *kp_intern_bytes(const struct kp_intern *table, uint32_t number, size_t *length)
{
	const struct kp_intern_entry *entry = &table->entries[number];

	*length = entry->length;
	return table->pool.bytes + entry->offset;
}

void kp_intern_fini(struct kp_intern *table)
{
	kp_buffer_fini(&table->pool);
	free(table->entries);
	free(table->slots);
	*table = (struct kp_intern){0};
}
