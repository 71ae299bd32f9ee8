/*
 * Structured output: one description of a document, written as YAML (libyaml) or JSON (cJSON).
 *
 * A document is one map. `key` names a value in a map and is NULL in a list. Text of any bytes goes
 * through kp_text_exact, so that what comes out is valid UTF-8 and different names stay different.
 * Whole numbers are exact to 64 bits; others have the decimals that the caller says; NaN and
 * infinity become null. The first failure is remembered; later calls do nothing. Not thread-safe.
 */
#ifndef KP_PROFILER_EMIT_H
#define KP_PROFILER_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/records.h"
#include "trace/status.h"

struct kp_emit;

/* What a back end does; each returns false when it is out of memory or cannot write. */
struct kp_emit_backend {
	bool (*begin)(struct kp_emit *emit, const char *key, bool is_list);
	bool (*end)(struct kp_emit *emit, bool is_list);
	bool (*text)(struct kp_emit *emit, const char *key, const char *value); /* valid UTF-8 */
	bool (*plain)(struct kp_emit *emit, const char *key,
		      const char *value);               /* number, bool, null */
	enum kp_status (*finish)(struct kp_emit *emit); /* writes what is not yet written */
	void (*destroy)(struct kp_emit *emit);
};

/* The part that back ends share: the first member of theirs. */
struct kp_emit {
	const struct kp_emit_backend *backend;
	FILE *file; /* borrowed */
	bool failed;
};

/* Begin a document on `file`. Errors: KP_NO_MEMORY. */
enum kp_status kp_emit_yaml_create(FILE *file, struct kp_emit **out);
enum kp_status kp_emit_json_create(FILE *file, struct kp_emit **out);

void kp_emit_map_begin(struct kp_emit *emit, const char *key);
void kp_emit_map_end(struct kp_emit *emit);
void kp_emit_list_begin(struct kp_emit *emit, const char *key);
void kp_emit_list_end(struct kp_emit *emit);
void kp_emit_text(struct kp_emit *emit, const char *key, struct kp_text value);
void kp_emit_string(struct kp_emit *emit, const char *key, const char *value); /* NULL: null */
void kp_emit_count(struct kp_emit *emit, const char *key, uint64_t value);
void kp_emit_number(struct kp_emit *emit, const char *key, double value, int decimals);
void kp_emit_bool(struct kp_emit *emit, const char *key, bool value);
void kp_emit_null(struct kp_emit *emit, const char *key);

/* Ends the document and frees the emitter. Errors: KP_NO_MEMORY; the file's are left to its owner.
 */
enum kp_status kp_emit_finish(struct kp_emit *emit);

#endif
