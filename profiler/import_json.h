/*
 * A JSON file as a stream of events, in bounded memory: yajl reads, this sees to the limits.
 *
 * The file may be compressed by gzip, and may hold several values one after the other. Nesting is
 * limited, and so is the length of one text or number.
 */
#ifndef KP_PROFILER_IMPORT_JSON_H
#define KP_PROFILER_IMPORT_JSON_H

#include <stdbool.h>
#include <yajl/yajl_parse.h>

#include "trace/records.h"
#include "trace/status.h"

/* Arrays and maps within each other. */
#define KP_JSON_DEPTH_MOST 64
/* Bytes without the end of a text or number. */
#define KP_JSON_VALUE_BYTES_MOST ((size_t)4 << 20)

/*
 * Parses `path`. A callback that returns 0 ends it: KP_INVALID. Errors: KP_CORRUPT with one line in
 * `complaint`; KP_NO_MEMORY; KP_IO (errno).
 */
enum kp_status kp_json_parse(const char *path, const yajl_callbacks *callbacks, void *context,
			     char *complaint, size_t complaint_bytes);

/*
 * A number as it stands in JSON: whole numbers, false for all others. Microseconds to nanoseconds,
 * exactly where it has no exponent; *whole says that it had no fraction.
 */
bool kp_json_count(struct kp_text number, uint64_t *out);
bool kp_json_us(struct kp_text number, int64_t *ns, bool *whole);

#endif
