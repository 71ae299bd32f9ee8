/*
 * Preloaded into kprof: the SHORT_AT-th request for memory, counted from 1, is refused (and all
 * behind it, with SHORT_EVER). SHORT_COUNT=FILE: how many there were is written there at the end.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* glibc's own, by the names that it keeps for replacements like this one. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t nmemb, size_t size);
extern void *__libc_realloc(void *ptr, size_t size);

#define SEEN __attribute__((visibility("default")))

static unsigned long requests, refused_at;
static bool ever, ready;

static bool refuse(void)
{
	if (!ready) {
		const char *at = getenv("SHORT_AT");

		ready = true;
		refused_at = at ? strtoul(at, NULL, 10) : 0;
		ever = getenv("SHORT_EVER") != NULL;
	}
	requests++;
	if (refused_at == 0 || requests < refused_at || (requests > refused_at && !ever))
		return false;
	errno = ENOMEM;
	return true;
}

SEEN void *malloc(size_t size)
{
	return refuse() ? NULL : __libc_malloc(size);
}

SEEN void *calloc(size_t nmemb, size_t size)
{
	return refuse() ? NULL : __libc_calloc(nmemb, size);
}

SEEN void *realloc(void *ptr, size_t size)
{
	return refuse() ? NULL : __libc_realloc(ptr, size);
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("SHORT_COUNT");
	unsigned long all = requests;
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%lu\n", all);
	fclose(file);
}
