/*
 * Events as rows of text: what CSV and JSON lines share. The part of a row that a template decides
 * is rendered once, before and behind the event's own columns.
 */
#ifndef KP_PROFILER_EXPORT_ROWS_H
#define KP_PROFILER_EXPORT_ROWS_H

#include "profiler/export.h"
#include "trace/codec.h"

struct kp_row_style {
	const char *begin, *end;
	bool keyed; /* columns are named, and those that are not known are left out */
	/* Appends a quoted text to a buffer. */
	void (*quote)(struct kp_buffer *out, const char *text);
};

/* Writes a row for every event. Errors: KP_NO_MEMORY, KP_IO. */
enum kp_status kp_export_rows(struct kp_export *job, const struct kp_row_style *style);

#endif
