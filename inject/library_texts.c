/* Texts by number; see library_texts.h. */
#include "inject/library_texts.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	_Atomic(char *) texts[KP_LIBRARY_TEXTS_MOST];
	_Atomic uint32_t count;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

void kp_library_texts_forget(void)
{
	const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	all.lock = fresh;
}

/* With the lock. */
static uint64_t put(const char *text, size_t length)
{
	uint32_t count = atomic_load(&all.count);
	char *copy;

	for (uint32_t i = 0; i < count; i++) {
		const char *known = atomic_load_explicit(&all.texts[i], memory_order_relaxed);

		if (strncmp(known, text, length) == 0 && !known[length])
			return (uint64_t)i + 1;
	}
	copy = count < KP_LIBRARY_TEXTS_MOST ? calloc(1, length + 1) : NULL;
	if (!copy)
		return 0;
	memcpy(copy, text, length);
	atomic_store_explicit(&all.texts[count], copy, memory_order_relaxed);
	atomic_store_explicit(&all.count, count + 1, memory_order_release);
	return (uint64_t)count + 1;
}

uint64_t kp_library_texts_put(const char *text)
{
	size_t length = strnlen(text, KP_LIBRARY_TEXT_BYTES - 1);
	int error = errno;
	uint64_t number;

	if (length == 0)
		return 0;
	pthread_mutex_lock(&all.lock);
	number = put(text, length);
	pthread_mutex_unlock(&all.lock);
	errno = error;
	return number;
}

const char *kp_library_texts_get(uint64_t number)
{
	if (number == 0 || number > atomic_load_explicit(&all.count, memory_order_acquire))
		return NULL;
	return atomic_load_explicit(&all.texts[number - 1], memory_order_relaxed);
}
