/* Where a command's result goes; see output.h. */
#include "profiler/output.h"

#include <errno.h>
#include <string.h>

#include "profiler/say.h"
#include "trace/reader.h"

bool kp_output_is_trace(const char *path)
{
	struct kp_reader *reader;
	size_t bad;
	enum kp_status status = kp_reader_open(&path, 1, &reader, &bad);

	kp_reader_close(reader);
	return status == KP_OK || status == KP_NEWER || status == KP_CORRUPT;
}

bool kp_output_open(struct kp_output *output, const char *path)
{
	output->path = path;
	output->file = stdout;
	if (!path)
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

bool kp_output_close(struct kp_output *output)
{
	bool failed = ferror(output->file) != 0;

	errno = 0;
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
