/* Names of kernels; see names.h. */
#include "tests/fake_gpu/cupti/names.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LOST '?'

struct name {
	struct name *next;
	const char *of;
	char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct name *names;

const char *kp_fake_name(const char *name)
{
	struct name *found;
	size_t bytes = strlen(name) + 1;

	pthread_mutex_lock(&lock);
	for (found = names; found && found->of != name; found = found->next)
		;
	if (!found) {
		found = malloc(sizeof(*found) + bytes);
		if (!found)
			abort();
		found->of = name;
		found->next = names;
		memcpy(found->text, name, bytes);
		names = found;
	}
	pthread_mutex_unlock(&lock);
	return found->text;
}

void kp_fake_names_lose(void)
{
	pthread_mutex_lock(&lock);
	while (names) {
		memset(names->text, LOST, strlen(names->text));
		names = names->next; /* its memory stays, so that reading it is no crash */
	}
	pthread_mutex_unlock(&lock);
}

void kp_fake_names_forget(void)
{
	const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	lock = fresh;
	names = NULL;
}
