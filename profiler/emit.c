/* Structured output, the part that does not depend on the back end; see emit.h. */
#include "profiler/emit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/text.h"

static void begin(struct kp_emit *emit, const char *key, bool is_list)
{
	emit->failed = emit->failed || !emit->backend->begin(emit, key, is_list);
}

static void end(struct kp_emit *emit, bool is_list)
{
	emit->failed = emit->failed || !emit->backend->end(emit, is_list);
}

static void plain(struct kp_emit *emit, const char *key, const char *value)
{
	emit->failed = emit->failed || !emit->backend->plain(emit, key, value);
}

void kp_emit_map_begin(struct kp_emit *emit, const char *key)
{
	begin(emit, key, false);
}

void kp_emit_map_end(struct kp_emit *emit)
{
	end(emit, false);
}

void kp_emit_list_begin(struct kp_emit *emit, const char *key)
{
	begin(emit, key, true);
}

void kp_emit_list_end(struct kp_emit *emit)
{
	end(emit, true);
}

void kp_emit_text(struct kp_emit *emit, const char *key, struct kp_text value)
{
	char *exact = kp_text_exact(value.bytes, value.length);

	emit->failed = emit->failed || !exact || !emit->backend->text(emit, key, exact);
	free(exact);
}

void kp_emit_string(struct kp_emit *emit, const char *key, const char *value)
{
	if (value)
		kp_emit_text(emit, key, (struct kp_text){value, strlen(value)});
	else
		kp_emit_null(emit, key);
}

void kp_emit_count(struct kp_emit *emit, const char *key, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%" PRIu64, value);
	plain(emit, key, digits);
}

void kp_emit_number(struct kp_emit *emit, const char *key, double value, int decimals)
{
	char digits[400]; /* the largest double has 309 digits before the point */

	if (!isfinite(value)) {
		kp_emit_null(emit, key);
		return;
	}
	snprintf(digits, sizeof digits, "%.*f", decimals, value == 0 ? 0.0 : value);
	plain(emit, key, digits);
}

void kp_emit_bool(struct kp_emit *emit, const char *key, bool value)
{
	plain(emit, key, value ? "true" : "false");
}

void kp_emit_null(struct kp_emit *emit, const char *key)
{
	plain(emit, key, "null");
}

enum kp_status kp_emit_finish(struct kp_emit *emit)
{
	enum kp_status status = emit->failed ? KP_NO_MEMORY : emit->backend->finish(emit);

	emit->backend->destroy(emit);
	return status;
}
