/*
 * The fields of the rows of a report, as YAML, JSON and CSV have them: one table a kind of row.
 *
 * A key says its unit. Where no launch of a row could be timed, its times and shares are null
 * (empty in CSV): not measured is not zero.
 */
#ifndef KP_PROFILER_FIELDS_H
#define KP_PROFILER_FIELDS_H

#include <stddef.h>
#include <stdio.h>

#include "profiler/emit.h"

enum kp_field_type {
	KP_FIELD_STRING, /* const char *; NULL is null */
	KP_FIELD_U64,
	KP_FIELD_U32,
	KP_FIELD_TRIPLE, /* uint32_t[3]: a list, or "x,y,z" in CSV */
	KP_FIELD_DOUBLE,
	KP_FIELD_BOOL,
	KP_FIELD_SOURCE /* enum kp_label_source, in words */
};

struct kp_field {
	const char *key; /* NULL ends a table */
	enum kp_field_type type;
	size_t offset;  /* within the row's structure */
	int decimals;   /* of a double */
	bool is_timing; /* null where no launch was timed */
};

/* A kind of row: its fields, and where its struct kp_durations is. */
struct kp_row_kind {
	const struct kp_field *fields;
	size_t durations_offset;
};

extern const struct kp_row_kind kp_operator_fields; /* of struct kp_operator_row */
extern const struct kp_row_kind kp_variant_fields;  /* of struct kp_variant_row */
extern const struct kp_row_kind kp_kernel_fields;   /* of struct kp_kernel_row */
/* What such rows have besides where the report is scaled up. */
extern const struct kp_row_kind kp_operator_estimate_fields, kp_variant_estimate_fields,
	kp_kernel_estimate_fields;
/* What they have besides where the calls that launched were timed; call and queue times may be
 * there without each other. */
extern const struct kp_row_kind kp_operator_call_fields, kp_operator_queue_fields;
extern const struct kp_row_kind kp_kernel_call_fields, kp_kernel_queue_fields;
extern const struct kp_row_kind kp_memop_fields; /* of struct kp_memop_row */

/* The fields of one row, as members of the open map. */
void kp_fields_emit(struct kp_emit *emit, const struct kp_row_kind *kind, const void *row);
/* Three numbers, such as a grid's, as a list. */
void kp_fields_emit_triple(struct kp_emit *emit, const char *key, const uint32_t *values);
/* The keys, or one row, separated by commas, without an end of line (RFC 4180). Errors:
 * KP_NO_MEMORY. */
void kp_fields_csv_header(FILE *file, const struct kp_row_kind *kind);
enum kp_status kp_fields_csv(FILE *file, const struct kp_row_kind *kind, const void *row);
/* One CSV value, quoted where it must be. Errors: KP_NO_MEMORY. */
enum kp_status kp_fields_csv_text(FILE *file, const char *text);

#endif
