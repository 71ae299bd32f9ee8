/*
 * Interning: equal bytes get equal numbers, 0, 1, 2, … in order of first appearance.
 *
 * Used for strings, launch configurations, streams and process identities. The bytes are copied
 * into one growing pool; pointers into it are valid until the next kp_intern_put.
 */
#ifndef KP_TRACE_INTERN_H
#define KP_TRACE_INTERN_H

#include <stdbool.h>

#include "trace/codec.h"
#include "trace/status.h"

struct kp_intern {
	struct kp_buffer pool;
	struct kp_intern_entry *entries;
	size_t count, capacity;
	uint32_t *slots; /* entry number + 1; 0: free */
	size_t slot_count;
};

/* The number of `bytes`; *added (may be NULL) says whether they are new. Errors: KP_NO_MEMORY. */
enum kp_status kp_intern_put(struct kp_intern *table, const void *bytes, size_t length,
			     uint32_t *number, bool *added);
/* Whether `bytes` are in the table, and their number. */
bool kp_intern_find(const struct kp_intern *table, const void *bytes, size_t length,
		    uint32_t *number);
/* The bytes of a number below count. */
const uint8_t *kp_intern_bytes(const struct kp_intern *table, uint32_t number, size_t *length);
void kp_intern_fini(struct kp_intern *table);

#endif
