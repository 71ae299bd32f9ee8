/* JSON as a stream; see import_json.h. */
#include "profiler/import_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BLOCK ((size_t)256 << 10)

/* What stands between yajl and the caller: counts depth, and sees that callbacks go on coming. */
struct guard {
	const yajl_callbacks *callbacks;
	void *context;
	unsigned depth;
	bool too_deep;
	bool any; /* a callback came since the last block */
};

#define FORWARD(guard, call)                                                                       \
	((guard)->any = true, !(guard)->callbacks->call ? 1 : (guard)->callbacks->call

static int on_null(void *context)
{
	struct guard *guard = context;

	return FORWARD(guard, yajl_null)(guard->context));
}

static int on_boolean(void *context, int value)
{
	struct guard *guard = context;

	return FORWARD(guard, yajl_boolean)(guard->context, value));
}

static int on_number(void *context, const char *text, size_t length)
{
	struct guard *guard = context;

	return FORWARD(guard, yajl_number)(guard->context, text, length));
}

static int on_string(void *context, const unsigned char *text, size_t length)
{
	struct guard *guard = context;

	return FORWARD(guard, yajl_string)(guard->context, text, length));
}

static int on_map_key(void *context, const unsigned char *text, size_t length)
{
	struct guard *guard = context;

	return FORWARD(guard, yajl_map_key)(guard->context, text, length));
}

static bool enter(struct guard *guard)
{
	guard->too_deep = ++guard->depth > KP_JSON_DEPTH_MOST;
	return !guard->too_deep;
}

static int on_start_map(void *context)
{
	struct guard *guard = context;

	return enter(guard) && FORWARD(guard, yajl_start_map)(guard->context));
}

static int on_start_array(void *context)
{
	struct guard *guard = context;

	return enter(guard) && FORWARD(guard, yajl_start_array)(guard->context));
}

static int on_end_map(void *context)
{
	struct guard *guard = context;

	guard->depth--;
	return FORWARD(guard, yajl_end_map)(guard->context));
}

static int on_end_array(void *context)
{
	struct guard *guard = context;

	guard->depth--;
	return FORWARD(guard, yajl_end_array)(guard->context));
}

static const yajl_callbacks guarded = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_start_map,
	.yajl_map_key = on_map_key,
	.yajl_end_map = on_end_map,
	.yajl_start_array = on_start_array,
	.yajl_end_array = on_end_array,
};

struct feeding {
	gzFile file;
	yajl_handle parser;
	struct guard guard;
	char *complaint;
	size_t complaint_bytes;
	uint64_t offset; /* in the text, of the block */
	uint64_t silent; /* bytes since the last callback */
};

#define COMPLAIN(feeding, ...)                                                                     \
	(snprintf((feeding)->complaint, (feeding)->complaint_bytes, __VA_ARGS__), KP_CORRUPT)

/* What yajl's answer to a block, or to the end, means. */
static enum kp_status judge(struct feeding *feeding, yajl_status answer)
{
	unsigned long long at = feeding->offset + yajl_get_bytes_consumed(feeding->parser);

	if (answer == yajl_status_ok)
		return KP_OK;
	if (feeding->guard.too_deep)
		return COMPLAIN(feeding,
				"more than %d arrays and maps within each other at byte %llu",
				KP_JSON_DEPTH_MOST, at);
	if (answer == yajl_status_client_canceled)
		return KP_INVALID;
	return COMPLAIN(feeding, "not valid JSON at byte %llu", at);
}

static enum kp_status feed(struct feeding *feeding, const unsigned char *block, size_t length)
{
	enum kp_status status;

	feeding->guard.any = false;
	status = judge(feeding, yajl_parse(feeding->parser, block, length));
	feeding->offset += length;
	feeding->silent = feeding->guard.any ? 0 : feeding->silent + length;
	if (status == KP_OK && feeding->silent > KP_JSON_VALUE_BYTES_MOST)
		status = COMPLAIN(feeding,
				  "nothing but one text or blanks for %zu bytes at byte %llu",
				  KP_JSON_VALUE_BYTES_MOST, (unsigned long long)feeding->offset);
	return status;
}

/* Why gzread failed, or ended early. */
static enum kp_status judge_file(struct feeding *feeding)
{
	int code = Z_OK;

	gzerror(feeding->file, &code);
	if (code == Z_ERRNO)
		return KP_IO;
	if (code == Z_MEM_ERROR)
		return KP_NO_MEMORY;
	return COMPLAIN(feeding, "its compressed data are %s after %llu bytes of text",
			code == Z_BUF_ERROR ? "cut off" : "damaged",
			(unsigned long long)feeding->offset);
}

static enum kp_status feed_all(struct feeding *feeding, unsigned char *block)
{
	int got;

	while ((got = gzread(feeding->file, block, BLOCK)) > 0) {
		enum kp_status status = feed(feeding, block, (size_t)got);

		if (status != KP_OK)
			return status;
	}
	int code = Z_OK;
	gzerror(feeding->file, &code);
	if (got < 0 || code == Z_BUF_ERROR)
		return judge_file(feeding);
	if (feeding->guard.depth > 0)
		return COMPLAIN(feeding, "it is cut off after %llu bytes of text",
				(unsigned long long)feeding->offset);
	return judge(feeding, yajl_complete_parse(feeding->parser));
}

enum kp_status kp_json_parse(const char *path, const yajl_callbacks *callbacks, void *context,
			     char *complaint, size_t complaint_bytes)
{
	struct feeding feeding = {.guard = {.callbacks = callbacks, .context = context},
				  .complaint = complaint,
				  .complaint_bytes = complaint_bytes};
	unsigned char *block = malloc(BLOCK);
	enum kp_status status = KP_NO_MEMORY;

	errno = 0;
	feeding.file = gzopen(path, "rbe");
	if (!feeding.file)
		status = errno ? KP_IO : KP_NO_MEMORY;
	feeding.parser = yajl_alloc(&guarded, NULL, &feeding.guard);
	if (feeding.file && feeding.parser && block) {
		gzbuffer(feeding.file, BLOCK);
		yajl_config(feeding.parser, yajl_allow_multiple_values, 1);
		/* Kernel names hold any bytes; who shows them escapes them. */
		yajl_config(feeding.parser, yajl_dont_validate_strings, 1);
		status = feed_all(&feeding, block);
	}
	if (feeding.parser)
		yajl_free(feeding.parser);
	if (feeding.file)
		gzclose(feeding.file);
	free(block);
	return status;
}

/* ---- numbers ---- */

bool kp_json_count(struct kp_text number, uint64_t *out)
{
	uint64_t value = 0;

	for (size_t i = 0; i < number.length; i++) {
		unsigned digit = (unsigned char)number.bytes[i] - '0';

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return number.length > 0;
}

/* A number with an exponent, or of more digits than 64 bits hold. */
static bool rough_us(struct kp_text number, int64_t *ns)
{
	char text[64];

	if (number.length >= sizeof text)
		return false;
	memcpy(text, number.bytes, number.length);
	text[number.length] = '\0';
	double value = strtod(text, NULL) * 1000; /* the locale is C */
	if (!isfinite(value) || fabs(value) > 9e18)
		return false;
	*ns = (int64_t)llround(value);
	return true;
}

bool kp_json_us(struct kp_text number, int64_t *ns, bool *whole)
{
	bool negative = number.length > 0 && number.bytes[0] == '-';
	const char *dot = memchr(number.bytes, '.', number.length);
	size_t before = dot ? (size_t)(dot - number.bytes) : number.length;
	struct kp_text us = {number.bytes + negative, before - negative};
	uint64_t value, fraction = 0;

	*whole = !dot;
	if (memchr(number.bytes, 'e', number.length) || memchr(number.bytes, 'E', number.length) ||
	    !kp_json_count(us, &value) || value > (uint64_t)INT64_MAX / 1000 - 1)
		return rough_us(number, ns);
	for (size_t at = before + 1, i = 0; i < 4; i++, at++) /* rounded to whole nanoseconds */
		fraction = fraction * 10 +
			   (dot && at < number.length ? (uint64_t)(number.bytes[at] - '0') : 0);
	*ns = (int64_t)(value * 1000 + (fraction + 5) / 10);
	if (negative)
		*ns = -*ns;
	return true;
}
