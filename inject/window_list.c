/* The windows of the process; see window_list.h. */
#include "inject/window_list.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A worker that is held up for long must not cost the program more memory than this many. */
#define LIMIT 100000

static struct {
	pthread_mutex_t lock;
	struct kp_window_info open; /* has = 0: there is none */
	bool open_written;
	uint64_t issued_before, number, inside_ns;
	struct kp_window_info *windows;
	size_t count, capacity;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER};

void kp_window_list_open(const struct kp_window_moment *begin, uint64_t on_cost_ns)
{
	struct kp_window_info window = {0};

	KP_SET(&window, WINDOW, begin_ns, begin->time_ns);
	KP_SET(&window, WINDOW, begin_reason, begin->reason);
	KP_SET(&window, WINDOW, on_cost_ns, on_cost_ns);
	pthread_mutex_lock(&list.lock);
	KP_SET(&window, WINDOW, number, list.number++);
	list.open = window;
	list.open_written = false;
	list.issued_before = begin->issued;
	pthread_mutex_unlock(&list.lock);
}

/* With the lock. */
static bool is_open(void)
{
	return list.open.has && !KP_HAS(&list.open, WINDOW, end_ns);
}

void kp_window_list_end(const struct kp_window_moment *end, bool issued_known)
{
	pthread_mutex_lock(&list.lock);
	if (is_open()) {
		KP_SET(&list.open, WINDOW, end_ns, end->time_ns);
		KP_SET(&list.open, WINDOW, end_reason, end->reason);
		if (issued_known)
			KP_SET(&list.open, WINDOW, kernels_issued,
			       end->issued - list.issued_before);
		list.inside_ns += end->time_ns - list.open.begin_ns;
	}
	pthread_mutex_unlock(&list.lock);
}

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

void kp_window_list_put(uint64_t off_cost_ns, bool detached)
{
	pthread_mutex_lock(&list.lock);
	if (list.open.has && off_cost_ns) {
		KP_SET(&list.open, WINDOW, off_cost_ns, off_cost_ns);
		KP_SET(&list.open, WINDOW, detached, detached);
	}
	if (list.open.has && grow()) /* without room it is joined to the one before it */
		list.windows[list.count++] = list.open;
	else if (list.open.has && list.count)
		list.windows[list.count - 1].end_ns = list.open.end_ns;
	list.open.has = 0;
	pthread_mutex_unlock(&list.lock);
}

bool kp_window_list_is_open(void)
{
	bool open;

	pthread_mutex_lock(&list.lock);
	open = is_open();
	pthread_mutex_unlock(&list.lock);
	return open;
}

uint64_t kp_window_list_number(void)
{
	uint64_t number;

	pthread_mutex_lock(&list.lock);
	number = list.number;
	pthread_mutex_unlock(&list.lock);
	return number;
}

uint64_t kp_window_list_inside_ns(uint64_t now_ns)
{
	uint64_t inside_ns;

	pthread_mutex_lock(&list.lock);
	inside_ns = list.inside_ns;
	if (is_open() && now_ns > list.open.begin_ns)
		inside_ns += now_ns - list.open.begin_ns;
	pthread_mutex_unlock(&list.lock);
	return inside_ns;
}

void kp_window_list_write(struct kp_writer *writer, bool open)
{
	struct kp_window_info *taken = NULL, last = {0};
	size_t count;

	pthread_mutex_lock(&list.lock);
	count = list.count;
	if (count)
		taken = malloc(count * sizeof(*taken));
	if (taken) {
		memcpy(taken, list.windows, count * sizeof(*taken));
		list.count = 0;
	}
	/* Windows stand in the trace in their order. */
	if (open && !list.open_written && list.count == 0)
		last = list.open;
	list.open_written |= last.has != 0;
	pthread_mutex_unlock(&list.lock);
	for (size_t i = 0; taken && i < count; i++)
		kp_writer_window(writer, &taken[i]);
	free(taken);
	if (last.has)
		kp_writer_window(writer, &last);
}

void kp_window_list_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&list, 0, sizeof(list));
	list.lock = fresh;
}
