/*
 * What a trace says, in memory: the records that the collector writes and the reader delivers.
 * Those that come in batches stand in batches.h, the others here.
 *
 * Times are nanoseconds on the trace's clock: CLOCK_MONOTONIC of the host that wrote them, onto
 * which CUPTI maps the GPU's own clock. Records that describe something (process, device, …) are
 * lists of optional fields, generated from fields.h: `has` holds bit KP_<RECORD>_<field> for each
 * field that is present; an absent field is «not measured», never zero.
 */
#ifndef KP_TRACE_RECORDS_H
#define KP_TRACE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/batches.h"
#include "trace/fields.h"
#include "trace/times.h"

/* Bytes with a length; a NUL follows in memory, but the bytes may hold NULs of their own. */
struct kp_text {
	const char *bytes;
	size_t length;
};

#define KP_MEMBER_U64(name) uint64_t name;
#define KP_MEMBER_TEXT(name) struct kp_text name;
#define KP_MEMBER(key, type, name) KP_MEMBER_##type(name)

#define KP_BIT_PROCESS(key, type, name) KP_PROCESS_##name,
#define KP_BIT_DEVICE(key, type, name) KP_DEVICE_##name,
#define KP_BIT_CLOCK(key, type, name) KP_CLOCK_##name,
#define KP_BIT_COUNTS(key, type, name) KP_COUNTS_##name,
#define KP_BIT_NOTE(key, type, name) KP_NOTE_##name,
#define KP_BIT_WINDOW(key, type, name) KP_WINDOW_##name,
#define KP_BIT_COUNTERS(key, type, name) KP_COUNTERS_##name,
#define KP_BIT_END(key, type, name) KP_END_##name,
enum kp_process_field { KP_PROCESS_FIELDS(KP_BIT_PROCESS) KP_PROCESS_FIELD_COUNT };
enum kp_device_field { KP_DEVICE_FIELDS(KP_BIT_DEVICE) KP_DEVICE_FIELD_COUNT };
enum kp_clock_field { KP_CLOCK_FIELDS(KP_BIT_CLOCK) KP_CLOCK_FIELD_COUNT };
enum kp_counts_field { KP_COUNTS_FIELDS(KP_BIT_COUNTS) KP_COUNTS_FIELD_COUNT };
enum kp_note_field { KP_NOTE_FIELDS(KP_BIT_NOTE) KP_NOTE_FIELD_COUNT };
enum kp_window_field { KP_WINDOW_FIELDS(KP_BIT_WINDOW) KP_WINDOW_FIELD_COUNT };
enum kp_counters_field { KP_COUNTERS_FIELDS(KP_BIT_COUNTERS) KP_COUNTERS_FIELD_COUNT };
enum kp_end_field { KP_END_FIELDS(KP_BIT_END) KP_END_FIELD_COUNT };

struct kp_process_info {
	uint64_t has;
	KP_PROCESS_FIELDS(KP_MEMBER)
};
struct kp_device_info {
	uint64_t has;
	KP_DEVICE_FIELDS(KP_MEMBER)
};
struct kp_clock_info {
	uint64_t has;
	KP_CLOCK_FIELDS(KP_MEMBER)
};
struct kp_counts {
	uint64_t has;
	KP_COUNTS_FIELDS(KP_MEMBER)
};
struct kp_note {
	uint64_t has;
	KP_NOTE_FIELDS(KP_MEMBER)
};
struct kp_window_info {
	uint64_t has;
	KP_WINDOW_FIELDS(KP_MEMBER)
};
struct kp_counters_info {
	uint64_t has;
	KP_COUNTERS_FIELDS(KP_MEMBER)
};
struct kp_end {
	uint64_t has;
	KP_END_FIELDS(KP_MEMBER)
};

/* Whether a field was measured; set one (the fields of a record are plain members). */
#define KP_HAS(record, RECORD, field) (((record)->has >> KP_##RECORD##_##field) & 1U)
#define KP_SET(record, RECORD, field, value)                                                       \
	((record)->field = (value), (record)->has |= 1ULL << KP_##RECORD##_##field)

enum kp_window_reason {
#define KP_REASON_ROW(name, number, why) KP_WINDOW_BY_##name = (number),
	KP_WINDOW_REASONS(KP_REASON_ROW)
#undef KP_REASON_ROW
};

enum kp_end_way {
	KP_END_EXIT = 0,
	KP_END_EXEC = 1, /* the process became another program */
	KP_END_WITHDRAWN =
		2 /* it did not, and goes on: the record before this one does not count */
};

enum kp_note_level { KP_NOTE_INFO = 0, KP_NOTE_WARNING = 1, KP_NOTE_ERROR = 2 };

#endif
