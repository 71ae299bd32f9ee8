/* Where a command's result goes; see output.h. */
#include "profiler/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/charset.h"
#include "profiler/say.h"
#include "trace/chunk.h"

bool kp_output_is_trace(const char *path)
{
	char magic[sizeof(KP_CHUNK_MAGIC) - 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_trace = fd >= 0 && pread(fd, magic, sizeof magic, 0) == sizeof magic &&
			memcmp(magic, KP_CHUNK_MAGIC, sizeof magic) == 0;

	if (fd >= 0)
		close(fd);
	return is_trace;
}

static bool is_standard(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

bool kp_output_check(const char *path)
{
	char folder[PATH_MAX];
	struct stat facts;

	if (is_standard(path))
		return true;
	if (stat(path, &facts) == 0) {
		if (kp_output_is_trace(path)) {
			kp_fail("%s is a trace; kprof does not replace it by a report", path);
			return false;
		}
		if (S_ISDIR(facts.st_mode))
			errno = EISDIR;
		else if (access(path, W_OK) == 0)
			return true;
	} else if (errno == ENOENT && strlen(path) < sizeof folder) {
		strcpy(folder, path);
		if (access(dirname(folder), W_OK | X_OK) == 0)
			return true;
	}
	kp_fail("cannot write %s: %s", path, strerror(errno));
	return false;
}

bool kp_output_open(struct kp_output *output, const char *path)
{
	output->path = is_standard(path) ? NULL : path;
	output->file = stdout;
	output->text = NULL;
	if (is_standard(path))
		return true;
	if (kp_output_is_trace(path)) {
		kp_fail("%s is a trace; kprof does not replace it by a report", path);
		return false;
	}
	output->file = fopen(path, "we");
	if (!output->file)
		kp_fail("cannot write %s: %s", path, strerror(errno));
	return output->file != NULL;
}

FILE *kp_output_text(struct kp_output *output)
{
	if (!output->text && !kp_charset_is_utf8())
		output->text = kp_charset_ascii(output->file);
	return output->text ? output->text : output->file;
}

bool kp_output_close(struct kp_output *output)
{
	bool failed = ferror(output->file) != 0;

	errno = 0;
	if (output->text)
		failed |= fclose(output->text) != 0;
	output->text = NULL;
	failed |= fflush(output->file) != 0;
	int error = errno;
	if (output->path) {
		errno = 0;
		failed |= fclose(output->file) != 0;
		error = error ? error : errno;
	}
	output->file = NULL;
	if (!failed || error == EPIPE)
		return true;
	kp_fail("cannot write %s: %s", output->path ? output->path : "the standard output",
		error ? strerror(error) : "an earlier write failed");
	return false;
}
