/* Opens traces for a command; see open.h. */
#include "profiler/open.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/say.h"

struct kp_reader *kp_open_traces(const char *const *paths, size_t count)
{
	struct kp_reader *reader = NULL;
	struct stat facts;
	size_t bad = 0;

	errno = 0;
	enum kp_status status = kp_reader_open(paths, count, &reader, &bad);
	int error = errno;
	if (status == KP_OK)
		return reader;
	const char *why = kp_status_message(status);
	if (status == KP_IO && error)
		why = strerror(error);
	if (stat(paths[bad], &facts) == 0 && S_ISDIR(facts.st_mode))
		why = strerror(EISDIR);
	else if (strcmp(paths[bad], "-") == 0)
		why = "a trace is read from a file, not from the standard input";
	kp_fail("cannot read %s: %s", paths[bad], why);
	return NULL;
}
