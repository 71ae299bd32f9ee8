/* Where an export goes; see export_out.h. */
#include "profiler/export_out.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/export_json.h"
#include "profiler/output.h"
#include "profiler/say.h"

static bool refuse(const struct kp_out *out, const char *why)
{
	kp_fail("cannot write %s: %s", out->name, why);
	return false;
}

/* The folder of a path, in `folder`. */
static const char *folder_of(const char *path, char folder[PATH_MAX])
{
	snprintf(folder, PATH_MAX, "%s", path);
	return dirname(folder);
}

static bool name_hidden(struct kp_out *out)
{
	char folder[PATH_MAX], file[PATH_MAX];

	snprintf(file, sizeof file, "%s", out->path);
	return asprintf(&out->hidden, "%s/.%s.%ld.part", folder_of(out->path, folder),
			basename(file), (long)getpid()) >= 0;
}

/* A file that is not there yet, or will be replaced. */
static bool open_regular(struct kp_out *out, const char *path)
{
	char folder[PATH_MAX];

	out->path = realpath(path, NULL); /* a symbolic link stays, its target is replaced */
	if (!out->path && errno == ENOENT)
		out->path = strdup(path);
	if (!out->path || strlen(out->path) >= PATH_MAX - 32)
		return refuse(out, strerror(out->path ? ENAMETOOLONG : errno));
	if (access(out->path, F_OK) == 0 && access(out->path, W_OK) != 0)
		return refuse(out, strerror(errno));
	out->fd = open(folder_of(out->path, folder), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (out->fd >= 0)
		return true;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return refuse(out, strerror(errno));
	if (!name_hidden(out))
		return refuse(out, strerror(ENOMEM));
	out->fd = open(out->hidden, O_CREAT | O_TRUNC | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0666);
	return out->fd >= 0 || refuse(out, strerror(errno));
}

static bool open_named(struct kp_out *out, const char *path, bool patched)
{
	struct stat facts;

	if (kp_output_is_trace(path)) {
		kp_fail("%s is a trace; kprof does not replace it by an export", path);
		return false;
	}
	if (stat(path, &facts) != 0 || S_ISREG(facts.st_mode))
		return open_regular(out, path);
	if (S_ISDIR(facts.st_mode))
		return refuse(out, strerror(EISDIR));
	if (patched)
		return refuse(out, "this format needs a regular file");
	out->fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	return out->fd >= 0 || refuse(out, strerror(errno));
}

bool kp_out_open(struct kp_out *out, const char *path, bool binary, bool patched)
{
	bool standard = !path || strcmp(path, "-") == 0, opened;

	*out = (struct kp_out){.fd = -1, .name = standard ? "the standard output" : path};
	out->buffer = malloc(KP_OUT_BUFFER_BYTES);
	if (!out->buffer)
		return refuse(out, strerror(ENOMEM));
	if (standard && patched)
		opened = refuse(out, "this format needs a regular file; name one with -o FILE");
	else if (standard)
		opened = (out->fd = dup(STDOUT_FILENO)) >= 0 || refuse(out, strerror(errno));
	else
		opened = open_named(out, path, patched);
	if (opened && binary && isatty(out->fd))
		opened = refuse(out, "this format is not for a terminal; name a file with -o FILE");
	if (!opened)
		kp_out_abandon(out);
	return opened;
}

/* What is there is replaced if it is a trace, or empty. */
static bool open_trace(struct kp_out *out, const char *path)
{
	struct stat facts;

	if (stat(path, &facts) != 0)
		return open_regular(out, path);
	if (S_ISDIR(facts.st_mode))
		return refuse(out, strerror(EISDIR));
	if (!S_ISREG(facts.st_mode)) {
		out->fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
		return out->fd >= 0 || refuse(out, strerror(errno));
	}
	if (facts.st_size > 0 && !kp_output_is_trace(path))
		return refuse(out, "it is there, and no trace; kprof does not replace it");
	return open_regular(out, path);
}

bool kp_out_open_trace(struct kp_out *out, const char *path)
{
	bool standard = strcmp(path, "-") == 0, opened;

	*out = (struct kp_out){.fd = -1, .name = standard ? "the standard output" : path};
	if (standard)
		opened = (out->fd = dup(STDOUT_FILENO)) >= 0 || refuse(out, strerror(errno));
	else
		opened = open_trace(out, path);
	if (opened && isatty(out->fd))
		opened = refuse(out, "a trace is not for a terminal; name a file with -o FILE");
	if (!opened)
		kp_out_abandon(out);
	return opened;
}

char *kp_out_folder(const struct kp_out *out)
{
	const char *temporary = getenv("TMPDIR");
	char folder[PATH_MAX];

	if (out->path)
		return strdup(folder_of(out->path, folder));
	return strdup(temporary && *temporary ? temporary : "/tmp");
}

void kp_out_flush(struct kp_out *out)
{
	size_t done = 0;

	while (done < out->length && !out->error) {
		ssize_t wrote = write(out->fd, out->buffer + done, out->length - done);

		if (wrote > 0)
			done += (size_t)wrote;
		else if (wrote == 0 || errno != EINTR)
			out->error = wrote == 0 ? EIO : errno;
	}
	out->flushed += out->length;
	out->length = 0;
}

void kp_out_put(struct kp_out *out, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length > 0) {
		size_t room = KP_OUT_BUFFER_BYTES - out->length;
		size_t some = length < room ? length : room;

		memcpy(out->buffer + out->length, at, some);
		out->length += some;
		at += some;
		length -= some;
		if (out->length == KP_OUT_BUFFER_BYTES)
			kp_out_flush(out);
	}
}

void kp_out_patch(struct kp_out *out, uint64_t offset, const void *bytes, size_t length)
{
	const char *at = bytes;

	kp_out_flush(out);
	while (length > 0 && !out->error) {
		ssize_t wrote = pwrite(out->fd, at, length, (off_t)offset);

		if (wrote <= 0 && errno != EINTR) {
			out->error = wrote == 0 ? EIO : errno;
		} else if (wrote > 0) {
			at += wrote;
			offset += (uint64_t)wrote;
			length -= (size_t)wrote;
		}
	}
}

/* Gives the whole file its name. */
static void publish(struct kp_out *out)
{
	char self[64];

	if (!out->hidden) {
		if (!name_hidden(out)) {
			out->error = ENOMEM;
			return;
		}
		snprintf(self, sizeof self, "/proc/self/fd/%d", out->fd);
		unlink(out->hidden);
		if (linkat(AT_FDCWD, self, AT_FDCWD, out->hidden, AT_SYMLINK_FOLLOW) != 0) {
			out->error = errno;
			return;
		}
	}
	if (rename(out->hidden, out->path) != 0) {
		out->error = errno;
		return;
	}
	free(out->hidden);
	out->hidden = NULL;
}

bool kp_out_commit(struct kp_out *out)
{
	const char *name = out->name;

	kp_out_flush(out);
	if (!out->error && out->path)
		publish(out);
	int fd = out->fd, error = out->error;

	out->fd = -1;
	if (close(fd) != 0 && !error && !out->path)
		error = errno;
	kp_out_abandon(out);
	if (error == 0 || error == EPIPE) /* a reader that went away is no error */
		return true;
	kp_fail("cannot write %s: %s", name, strerror(error));
	return false;
}

void kp_out_abandon(struct kp_out *out)
{
	if (out->fd >= 0)
		close(out->fd);
	if (out->hidden)
		unlink(out->hidden);
	free(out->hidden);
	free(out->path);
	free(out->buffer);
	*out = (struct kp_out){.fd = -1};
}

/* ---- text ---- */

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
			    "34353637383940414243444546474849505152535455565758596061626364656667"
			    "6869707172737475767778798081828384858687888990919293949596979899";

char *kp_out_write_count(char *at, uint64_t number)
{
	char digits[20];
	size_t left = sizeof digits;

	while (number >= 100) {
		left -= 2;
		memcpy(digits + left, pairs + number % 100 * 2, 2);
		number /= 100;
	}
	if (number >= 10) {
		left -= 2;
		memcpy(digits + left, pairs + number * 2, 2);
	} else {
		digits[--left] = (char)('0' + number);
	}
	memcpy(at, digits + left, sizeof digits - left);
	return at + sizeof digits - left;
}

char *kp_out_write_us(char *at, uint64_t ns)
{
	unsigned rest = (unsigned)(ns % 1000);

	at = kp_out_write_count(at, ns / 1000);
	*at++ = '.';
	*at++ = (char)('0' + rest / 100);
	memcpy(at, pairs + rest % 100 * 2, 2);
	return at + 2;
}

void kp_out_count(struct kp_out *out, uint64_t number)
{
	kp_out_took(out, kp_out_write_count(kp_out_room(out, 20), number));
}

void kp_out_json(struct kp_out *out, const char *text)
{
	struct kp_buffer quoted = {0};

	kp_export_json(&quoted, text);
	kp_out_put(out, quoted.bytes, quoted.length);
	if (quoted.failed && !out->error)
		out->error = ENOMEM;
	kp_buffer_fini(&quoted);
}

void kp_out_print(struct kp_out *out, const char *format, ...)
{
	va_list arguments;
	char *at = kp_out_room(out, KP_OUT_ROOM_BYTES);

	va_start(arguments, format);
	int length = vsnprintf(at, KP_OUT_ROOM_BYTES, format, arguments);
	va_end(arguments);
	if (length >= 0 && (size_t)length < KP_OUT_ROOM_BYTES)
		kp_out_took(out, at + length);
	else if (!out->error)
		out->error = EOVERFLOW;
}
