/*
 * Where an export goes: a buffered file that is whole or is not there.
 *
 * A regular file is written without a name (O_TMPFILE; where the file system has none, under a
 * hidden one) and gets its own at the end, so that an export that fails or is interrupted leaves
 * what was there before. Devices, pipes and the standard output are written as they are. The first
 * failure is remembered and later calls do nothing; it is said once, at the end. Not thread-safe.
 */
#ifndef KP_PROFILER_EXPORT_OUT_H
#define KP_PROFILER_EXPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KP_OUT_BUFFER_BYTES ((size_t)1 << 20)
/* The most that kp_out_room can be asked for. */
#define KP_OUT_ROOM_BYTES ((size_t)1 << 16)

struct kp_out {
	int fd;
	char *buffer;
	size_t length;    /* of what is in the buffer */
	uint64_t flushed; /* bytes before the buffer */
	int error;        /* errno of the first failure */
	char *path;       /* where it will stand; NULL: it is written as it is */
	char *hidden;     /* the name until then; NULL: it has none */
	const char *name; /* as the user calls it, borrowed */
};

/*
 * Opens `path`; "-" or NULL is the standard output. `binary` refuses a terminal, `patched` all but
 * regular files. Says what is wrong and returns false.
 */
bool kp_out_open(struct kp_out *out, const char *path, bool binary, bool patched);
/*
 * Opens a trace that a kp_writer will write to `fd`; what is said above holds for it. A trace that
 * is there is replaced in the end, any other file refused.
 */
bool kp_out_open_trace(struct kp_out *out, const char *path);
/* The folder that it will stand in, else that of temporary files; the caller's to free. */
char *kp_out_folder(const struct kp_out *out);
/* Ends it. Says what is wrong and returns false if anything could not be written. */
bool kp_out_commit(struct kp_out *out);
/* Drops it. */
void kp_out_abandon(struct kp_out *out);

/* The number of bytes so far. */
static inline uint64_t kp_out_at(const struct kp_out *out)
{
	return out->flushed + out->length;
}

/* Writes what is in the buffer. */
void kp_out_flush(struct kp_out *out);
/* Writes over bytes that are already there, of a file opened as `patched`. */
void kp_out_patch(struct kp_out *out, uint64_t offset, const void *bytes, size_t length);
void kp_out_put(struct kp_out *out, const void *bytes, size_t length);

/* Room for `size` bytes, which kp_out_took makes part of the output. */
static inline char *kp_out_room(struct kp_out *out, size_t size)
{
	if (KP_OUT_BUFFER_BYTES - out->length < size)
		kp_out_flush(out);
	return out->buffer + out->length;
}

static inline void kp_out_took(struct kp_out *out, const char *end)
{
	out->length = (size_t)(end - out->buffer);
}

/* kp_out_put of what is short as a rule. */
static inline void kp_out_copy(struct kp_out *out, const void *bytes, size_t length)
{
	if (length > KP_OUT_BUFFER_BYTES - out->length) {
		kp_out_put(out, bytes, length);
		return;
	}
	memcpy(out->buffer + out->length, bytes, length);
	out->length += length;
}

static inline void kp_out_text(struct kp_out *out, const char *text)
{
	kp_out_put(out, text, strlen(text));
}

/* Decimals; kp_out_write_* write at `at`, 20 and 24 bytes at most, and return the end. */
char *kp_out_write_count(char *at, uint64_t number);
/* Nanoseconds as microseconds with three decimals. */
char *kp_out_write_us(char *at, uint64_t ns);
void kp_out_count(struct kp_out *out, uint64_t number);

/* A JSON string with its quotes, of valid UTF-8. */
void kp_out_json(struct kp_out *out, const char *text);
/* printf of short texts, KP_OUT_ROOM_BYTES at most. */
__attribute__((format(printf, 2, 3))) void kp_out_print(struct kp_out *out, const char *format,
							...);

#endif
