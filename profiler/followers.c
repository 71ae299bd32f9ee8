/* Finds processes by their environment in /proc; see followers.h. */
#include "profiler/followers.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether one of the variables in the file, which are ended by NUL each, is `variable`. */
static bool holds(FILE *file, const char *variable)
{
	char *text = NULL;
	size_t size = 0;
	bool found = false;

	while (!found && getdelim(&text, &size, '\0', file) > 0)
		found = strcmp(text, variable) == 0;
	free(text);
	return found;
}

static bool follows(const char *pid, const char *variable)
{
	char path[300];

	snprintf(path, sizeof path, "/proc/%s/environ", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	bool found = holds(file, variable);
	fclose(file);
	return found;
}

size_t kp_followers_count(const char *live_path)
{
	char variable[PATH_MAX + 64];
	const struct dirent *entry;
	size_t count = 0;
	DIR *processes = opendir("/proc");

	if (!processes)
		return 0;
	snprintf(variable, sizeof variable, "KPROF_LIVE=%s", live_path);
	while ((entry = readdir(processes))) {
		if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name))
			count += follows(entry->d_name, variable);
	}
	closedir(processes);
	return count;
}
