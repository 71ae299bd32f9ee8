/* Windows that wait to be written; see window_list.h. */
#include "inject/window_list.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A worker that is held up for long must not cost the program more memory than this many. */
#define LIMIT 100000

static struct {
	pthread_mutex_t lock;
	struct kp_window_info *windows;
	size_t count, capacity;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Makes room for one more. With the lock. */
static bool grow(void)
{
	size_t capacity = list.capacity ? list.capacity * 2 : 64;
	struct kp_window_info *grown;

	if (list.count < list.capacity)
		return true;
	if (list.count >= LIMIT)
		return false;
	grown = realloc(list.windows, capacity * sizeof(*grown));
	if (!grown)
		return false;
	list.windows = grown;
	list.capacity = capacity;
	return true;
}

void kp_window_list_put(const struct kp_window_info *window)
{
	pthread_mutex_lock(&list.lock);
	if (grow())
		list.windows[list.count++] = *window;
	else if (list.count)
		list.windows[list.count - 1].end_ns = window->end_ns;
	pthread_mutex_unlock(&list.lock);
}

void kp_window_list_complete(uint64_t detach_cost_ns, bool detached)
{
	pthread_mutex_lock(&list.lock);
	if (list.count) {
		struct kp_window_info *last = &list.windows[list.count - 1];

		KP_SET(last, WINDOW, off_cost_ns, last->off_cost_ns + detach_cost_ns);
		KP_SET(last, WINDOW, detached, detached);
	}
	pthread_mutex_unlock(&list.lock);
}

void kp_window_list_write(struct kp_writer *writer, bool keep_last)
{
	struct kp_window_info *taken;
	size_t count, kept;

	pthread_mutex_lock(&list.lock);
	kept = keep_last && list.count;
	count = list.count - kept;
	taken = count ? malloc(count * sizeof(*taken)) : NULL;
	if (taken) {
		memcpy(taken, list.windows, count * sizeof(*taken));
		memmove(list.windows, list.windows + count, kept * sizeof(*taken));
		list.count = kept;
	}
	pthread_mutex_unlock(&list.lock);
	for (size_t i = 0; taken && i < count; i++)
		kp_writer_window(writer, &taken[i]);
	free(taken);
}

bool kp_window_list_is_empty(void)
{
	bool empty;

	pthread_mutex_lock(&list.lock);
	empty = list.count == 0;
	pthread_mutex_unlock(&list.lock);
	return empty;
}

void kp_window_list_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&list, 0, sizeof(list));
	list.lock = fresh;
}
