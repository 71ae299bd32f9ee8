/* kprof import: makes a trace of what another tool has recorded. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "profiler/commands.h"
#include "profiler/export_out.h"
#include "profiler/import.h"
#include "profiler/say.h"
#include "trace/chunk.h"

/* The beginning of a file, which tells what it is and, with its length, which one it is. */
#define HEAD_BYTES ((size_t)1 << 20)

struct source {
	const char *path;
	unsigned char *head;
	size_t head_bytes;
	uint64_t bytes;
};

enum { NO_KIND = -1 };

static const struct {
	enum kp_status (*read)(struct kp_import *import);
	const char *what, *own;
} kinds[] = {
#define X(NAME, name, what, own) {kp_import_##name, what, own},
	KP_IMPORT_KINDS(X)
#undef X
};

enum {
#define X(NAME, name, what, own) IS_##NAME,
	KP_IMPORT_KINDS(X)
#undef X
};

static bool begins(const struct source *source, const char *magic, size_t length)
{
	return source->head_bytes >= length && memcmp(source->head, magic, length) == 0;
}

static bool is_blank(unsigned char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* The kind of a source, by content; NO_KIND after saying why it is none. */
static int kind_of(const struct source *source)
{
	size_t at = begins(source, "\xef\xbb\xbf", 3) ? 3 : 0;

	if (begins(source, "SQLite format 3", 16)) /* with its NUL */
		return IS_NSYS;
	if (begins(source, KP_CHUNK_MAGIC, strlen(KP_CHUNK_MAGIC))) {
		kp_fail("%s is a trace of kprof already", source->path);
		return NO_KIND;
	}
	while (at < source->head_bytes && is_blank(source->head[at]))
		at++;
	if (begins(source, "\x1f\x8b", 2) ||
	    (at < source->head_bytes && (source->head[at] == '{' || source->head[at] == '[')))
		return IS_CHROME;
	if (source->bytes == 0)
		kp_fail("cannot import %s: the file is empty", source->path);
	else
		kp_fail("cannot import %s: neither an SQLite export of Nsight Systems nor a Chrome "
			"trace (JSON); of an .nsys-rep make the former with: nsys export --type "
			"sqlite",
			source->path);
	return NO_KIND;
}

static bool refuse(const char *path, int error)
{
	kp_fail("cannot read %s: %s", path, strerror(error));
	return false;
}

static bool read_head(struct source *source, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat facts;
	ssize_t got = 1;

	source->path = path;
	if (fd < 0)
		return refuse(path, errno);
	source->head = malloc(HEAD_BYTES);
	if (fstat(fd, &facts) == 0 && !S_ISREG(facts.st_mode)) {
		close(fd);
		if (S_ISDIR(facts.st_mode))
			return refuse(path, EISDIR);
		kp_fail("cannot read %s: %s", path, kp_status_message(KP_NOT_SEEKABLE));
		return false;
	}
	source->bytes = (uint64_t)facts.st_size;
	while (source->head && got > 0 && source->head_bytes < HEAD_BYTES) {
		got = read(fd, source->head + source->head_bytes, HEAD_BYTES - source->head_bytes);
		source->head_bytes += got > 0 ? (size_t)got : 0;
	}
	int error = errno;
	close(fd);
	return (source->head && got >= 0) || refuse(path, source->head ? error : ENOMEM);
}

static void say_done(const struct kp_import *import, const char *what, const char *to)
{
	struct kp_import_totals totals = kp_import_totals(import);

	kp_say("%s: %" PRIu64 " kernels, %" PRIu64 " memory operations, %" PRIu64
	       " ranges and %" PRIu64 " launching calls of %zu process%s; source: %s",
	       to, totals.kernels, totals.memops, totals.ranges, totals.calls,
	       import->process_count, import->process_count == 1 ? "" : "es", what);
	if (totals.untimed)
		kp_say("%" PRIu64 " of the kernels have no times in the source", totals.untimed);
	for (size_t i = 0; i < import->note_count; i++)
		kp_say("%s", import->notes[i]);
}

/* What the source is: told by content, and by what it says of itself. */
static const char *what_of(const struct kp_import *import, int kind)
{
	return import->own ? kinds[kind].own : kinds[kind].what;
}

/* What the trace says that it was made of. */
static bool name_source(struct kp_import *import, int kind)
{
	const char *slash = strrchr(import->path, '/'), *name = slash ? slash + 1 : import->path;
	char words[512];

	int length = snprintf(words, sizeof words, "%s (%s)", what_of(import, kind), name);
	size_t taken = length < (int)sizeof words ? (size_t)length : sizeof words - 1;
	import->source = kp_arena_copy(import->arena, words, taken);
	return import->source != NULL;
}

static enum kp_status import_all(struct kp_import *import, const struct source *source, int kind)
{
	enum kp_status status;

	import->identity = XXH3_64bits_withSeed(source->head, source->head_bytes, source->bytes);
	status = kinds[kind].read(import);
	if (status == KP_OK && import->process_count == 0)
		status = kp_import_fail(import, "there is nothing in it");
	if (status == KP_OK && !name_source(import, kind))
		status = KP_NO_MEMORY;
	return status == KP_OK ? kp_import_finish(import) : status;
}

static bool import_to(struct kp_out *out, const struct source *source, int kind)
{
	struct kp_import import;
	char *folder = kp_out_folder(out);
	bool done = false;

	errno = 0;
	enum kp_status status =
		folder ? kp_import_init(&import, source->path, out->fd, folder) : KP_NO_MEMORY;
	if (status == KP_OK)
		status = import_all(&import, source, kind);
	int error = errno;
	if (status == KP_OK) {
		const char *name = out->name;

		done = kp_out_commit(out);
		if (done)
			say_done(&import, what_of(&import, kind), name);
	} else {
		kp_out_abandon(out);
		kp_fail("cannot import %s: %s", source->path,
			status == KP_CORRUPT && import.complaint[0] ? import.complaint
			: status == KP_IO && error                  ? strerror(error)
								    : kp_status_message(status));
	}
	if (folder)
		kp_import_fini(&import);
	free(folder);
	return done;
}

int kp_cmd_import(const struct kp_settings *settings)
{
	struct source source = {0};
	struct kp_out out;
	bool done = false;
	int kind = NO_KIND;

	if (!settings->output)
		return kp_fail("where to? name the trace with -o FILE.kprof");
	if (read_head(&source, settings->operands[0]))
		kind = kind_of(&source);
	if (kind != NO_KIND && kp_out_open_trace(&out, settings->output))
		done = import_to(&out, &source, kind);
	free(source.head);
	return done ? 0 : KP_EXIT_FAILURE;
}
