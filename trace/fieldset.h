/*
 * Descriptive records to bytes and back, driven by the tables of fields.h.
 *
 * On disk a record is a sequence of (varint key, varint length, bytes); a U64 is a varint inside
 * its bytes. Unknown keys are skipped, so that fields can be added without a new version.
 */
#ifndef KP_TRACE_FIELDSET_H
#define KP_TRACE_FIELDSET_H

#include "trace/arena.h"
#include "trace/codec.h"
#include "trace/records.h"
#include "trace/status.h"

struct kp_fieldset; /* the layout of one kind of record */

extern const struct kp_fieldset kp_process_fieldset, kp_device_fieldset, kp_clock_fieldset,
	kp_counts_fieldset, kp_note_fieldset, kp_window_fieldset, kp_counters_fieldset,
	kp_end_fieldset;

/* Appends every field that `record` (of the layout's struct) has. */
void kp_fieldset_encode(const struct kp_fieldset *layout, const void *record,
			struct kp_buffer *out);
/*
 * Reads a whole payload into `record`: fields that it holds replace those of `record`, the others
 * stay. Text goes to `arena`. A damaged payload leaves `record` as it is.
 * Errors: KP_CORRUPT, KP_NO_MEMORY.
 */
enum kp_status kp_fieldset_decode(const struct kp_fieldset *layout, struct kp_cursor *cursor,
				  struct kp_arena *arena, void *record);

#endif
