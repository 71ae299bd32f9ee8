/*
 * Demangling with libiberty's streaming demangler; see demangle.h.
 *
 * Not __cxa_demangle: libstdc++'s refuses names of more than 1024 characters, which CUTLASS and
 * FlashAttention kernels exceed, and builds its result in memory without a limit, so that a name of
 * 300 characters whose substitutions double can ask for terabytes. libiberty's is the same engine,
 * but hands its output over in pieces: when there is too much of it, we jump out. Its state is on
 * the stack (KP_DEMANGLE_INPUT_MAX bounds that to about 1 MB), so that jumping loses nothing.
 */
#include "analyzers/demangle.h"

#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "trace/codec.h"

struct output {
	struct kp_buffer buffer;
	jmp_buf too_much;
};

static void collect(const char *piece, size_t length, void *context)
{
	struct output *output = context;

	if (output->buffer.length + length > KP_DEMANGLE_OUTPUT_MAX)
		longjmp(output->too_much, 1);
	kp_buffer_put(&output->buffer, piece, length);
}

static bool is_mangled(struct kp_text name)
{
	return name.length > 2 && name.length <= KP_DEMANGLE_INPUT_MAX && name.bytes[0] == '_' &&
	       name.bytes[1] == 'Z' && !memchr(name.bytes, '\0', name.length);
}

/* False: not C++, too long, or without memory. */
static bool demangle(struct output *output, const char *mangled)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_TYPES | DMGL_NO_RECURSE_LIMIT;

	if (setjmp(output->too_much))
		return false;
	return cplus_demangle_v3_callback(mangled, options, collect, output) &&
	       !output->buffer.failed && output->buffer.length;
}

/* Length of the valid UTF-8 sequence at `at`, 0 if there is none; *point is its code point. */
static size_t decode_utf8(const unsigned char *at, size_t left, uint32_t *point)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = *at < 0x80   ? 1
			: *at < 0xc2 ? 0
			: *at < 0xe0 ? 2
			: *at < 0xf0 ? 3
			: *at < 0xf5 ? 4
				     : 0;

	if (length == 0 || length > left)
		return 0;
	*point = length == 1 ? *at : *at & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*point = *point << 6 | (at[i] & 0x3fU);
	}
	if (*point < least[length] || *point > 0x10ffff || (*point >= 0xd800 && *point <= 0xdfff))
		return 0;
	return length;
}

static bool is_safe(uint32_t point)
{
	return point >= 0x20 && point != 0x7f && !(point >= 0x80 && point <= 0x9f) &&
	       !(point >= 0x2028 && point <= 0x202e) && !(point >= 0x2066 && point <= 0x2069);
}

/* Writes `length` bytes as \xNN each; returns where it stopped. */
static char *put_escaped(char *to, const unsigned char *at, size_t length)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < length; i++) {
		*to++ = '\\';
		*to++ = 'x';
		*to++ = digits[at[i] >> 4];
		*to++ = digits[at[i] & 15];
	}
	return to;
}

const char *kp_demangle_escape(struct kp_arena *arena, struct kp_text text)
{
	const unsigned char *at = (const unsigned char *)text.bytes;
	const unsigned char *end = at + text.length;
	size_t special = 0;
	char *clean, *to;

	for (const unsigned char *p = at; p < end; p++)
		special += *p < 0x20 || *p >= 0x7f || *p == '\\';
	if (special > SIZE_MAX / 8)
		return NULL;
	to = clean = kp_arena_alloc(arena, text.length + 3 * special + 1);
	if (!clean)
		return NULL;
	while (at < end) {
		uint32_t point = 0;
		size_t length = decode_utf8(at, (size_t)(end - at), &point);

		if (length && is_safe(point)) {
			if (point == '\\')
				*to++ = '\\';
			memcpy(to, at, length);
			to += length;
		} else {
			length = length ? length : 1;
			to = put_escaped(to, at, length);
		}
		at += length;
	}
	*to = '\0';
	return clean;
}

const char *kp_demangle(struct kp_arena *arena, struct kp_text mangled)
{
	struct output output = {0};
	struct kp_text text = mangled;
	const char *clean;

	if (is_mangled(mangled) && demangle(&output, mangled.bytes))
		text = (struct kp_text){(const char *)output.buffer.bytes, output.buffer.length};
	clean = kp_demangle_escape(arena, text);
	kp_buffer_fini(&output.buffer);
	return clean;
}
