/* Where libraries are; see library.h. Reads the file system and the environment only. */
#include "profiler/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "libkprof_inject.so"

/* Seen from the directory that holds the kprof executable. */
static const char *const places[] = {
	"", "../lib/kprof/", "../lib/", "../" KPROF_LIBDIR "/kprof/", "../" KPROF_LIBDIR "/",
};

bool kp_library_find_named(const char *name, char out[PATH_MAX])
{
	char own[PATH_MAX], candidate[PATH_MAX];

	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
	if (length <= 0)
		return false;
	own[length] = '\0';
	char *slash = strrchr(own, '/');
	if (!slash)
		return false;
	slash[1] = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		int written = snprintf(candidate, sizeof candidate, "%s%s%s", own, places[i], name);
		if (written < (int)sizeof candidate && realpath(candidate, out) &&
		    access(out, R_OK) == 0)
			return true;
	}
	return false;
}

bool kp_library_find(char out[PATH_MAX])
{
	const char *named = getenv("KPROF_INJECT_LIB");

	if (named && *named)
		return realpath(named, out) && access(out, R_OK) == 0;
	return kp_library_find_named(NAME, out);
}

bool kp_library_has_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (driver)
		dlclose(driver);
	return driver != NULL;
}
