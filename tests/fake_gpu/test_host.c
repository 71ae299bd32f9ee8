/*
 * The rings of host calls on their own, with a hook's calls made by hand: what is kept comes out
 * once, in order, and what is not is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/buffers.h"
#include "inject/hooks.h"
#include "inject/host.h"
#include "inject/share_clock.h"
#include "trace/reader.h"

#define PATH "/tmp/kprof-test-host-XXXXXX"

/* ---- what host.c asks of others ---- */

_Thread_local unsigned kp_hooks_before;
_Atomic unsigned kp_windows_recording;
static _Atomic unsigned wakes;

void kp_buffers_wake(void)
{
	atomic_fetch_add(&wakes, 1);
}

bool kp_host_asked(void)
{
	return true;
}

void kp_host_streams_start(const struct kp_cupti *cupti)
{
	(void)cupti;
}

void kp_host_streams_find(struct kp_host_streams *streams, struct kp_host_stream stream,
			  uint32_t *context_id, uint32_t *stream_id)
{
	(void)streams;
	*context_id = 1;
	*stream_id = (uint32_t)(uintptr_t)stream.handle;
}

/* ---- a trace, and a launch ---- */

#define MOST (6 * KP_HOST_RING)
static struct kp_host_call calls[MOST]; /* those of the trace that was read last */

struct trace {
	char path[sizeof(PATH)];
	int fd;
	struct kp_writer *writer;
};

static void begin(struct trace *trace)
{
	strcpy(trace->path, PATH);
	trace->fd = mkostemp(trace->path, O_APPEND);
	assert_true(trace->fd >= 0);
	assert_int_equal(kp_writer_create(trace->fd, 1, &trace->writer), KP_OK);
	kp_host_forget();
	kp_host_start(NULL);
	atomic_store(&wakes, 0);
	kp_hooks_before = KP_RECORDING_ON;
	atomic_store(&kp_windows_recording, KP_RECORDING_ON);
}

static struct kp_counts counts_of(const struct trace *trace)
{
	struct kp_writer_loss loss = kp_writer_loss(trace->writer);
	struct kp_counts counts = {0};

	kp_host_put_counts(&loss, &counts);
	return counts;
}

static int by_begin(const void *left, const void *right)
{
	const struct kp_host_call *a = left, *b = right;

	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* All calls of the trace, in order of their begin; how many. */
static size_t end(struct trace *trace)
{
	const char *paths[] = {trace->path};
	struct kp_reader *reader;
	struct kp_event event;
	size_t bad, count = 0;

	assert_int_equal(kp_writer_flush(trace->writer), KP_OK);
	kp_writer_destroy(trace->writer);
	assert_int_equal(kp_reader_open(paths, 1, &reader, &bad), KP_OK);
	while (kp_reader_next(reader, &event) == KP_OK) {
		assert_int_equal(event.kind, KP_EVENT_HOST);
		assert_true(count + event.count <= MOST);
		memcpy(calls + count, event.calls, event.count * sizeof(*calls));
		count += event.count;
	}
	assert_int_equal(kp_reader_process(reader, 0)->promised_host_calls, count);
	kp_reader_close(reader);
	qsort(calls, count, sizeof(*calls), by_begin); /* batches overlap in time */
	close(trace->fd);
	unlink(trace->path);
	return count;
}

static void launch(uint32_t x)
{
	struct kp_host_open open;
	struct kp_host_call call = {.kernels = 1, .grid = {x, 1, 1}};

	kp_host_enter(&open);
	kp_host_leave(&open);
	kp_host_keep(&open, (struct kp_host_stream){(CUstream)(uintptr_t)16, false}, &call);
}

/* ---- tests ---- */

static void test_host_keeps_calls_in_order(void **state)
{
	struct trace trace;
	uint64_t before = kp_clock_now(), after;
	struct kp_counts counts;

	(void)state;
	begin(&trace);
	for (uint32_t i = 0; i < 3 * KP_HOST_RING; i++) {
		launch(i);
		if (i % 1000 == 999)
			kp_host_drain(trace.writer);
	}
	kp_host_drain(trace.writer);
	kp_host_drain(trace.writer);
	after = kp_clock_now();
	counts = counts_of(&trace);
	assert_int_equal(counts.host_calls, 3 * KP_HOST_RING);
	assert_int_equal(counts.host_kernels, 3 * KP_HOST_RING);
	assert_int_equal(counts.host_calls_lost, 0);
	assert_int_equal(atomic_load(&wakes), 3 * 4);
	assert_int_equal(end(&trace), 3 * KP_HOST_RING);
	for (uint32_t i = 0; i < 3 * KP_HOST_RING; i++) {
		assert_int_equal(calls[i].grid[0], i);
		assert_int_equal(calls[i].thread, syscall(SYS_gettid));
		assert_int_equal(calls[i].stream, 16);
		assert_true(calls[i].start_ns >= before);
		assert_true(calls[i].end_ns >= calls[i].start_ns);
		assert_true(calls[i].end_ns <= after);
	}
}

/* A full ring loses the newest calls, counts them, and goes on when it is emptied. */
static void test_host_counts_what_a_full_ring_loses(void **state)
{
	struct trace trace;

	(void)state;
	begin(&trace);
	for (uint32_t i = 0; i < KP_HOST_RING + 100; i++)
		launch(i);
	kp_host_drain(trace.writer);
	launch(7);
	kp_host_drain(trace.writer);
	assert_int_equal(counts_of(&trace).host_calls, KP_HOST_RING + 1);
	assert_int_equal(counts_of(&trace).host_calls_lost, 100);
	assert_int_equal(end(&trace), KP_HOST_RING + 1);
	assert_int_equal(calls[KP_HOST_RING - 1].grid[0], KP_HOST_RING - 1);
	assert_int_equal(calls[KP_HOST_RING].grid[0], 7);
}

/* A launch within a launch, as a signal's handler may make one: the outer call is kept. */
static void test_host_keeps_the_outermost_call(void **state)
{
	struct trace trace;
	struct kp_host_open open;
	struct kp_host_call call = {.kernels = 1, .grid = {1, 1, 1}};

	(void)state;
	begin(&trace);
	kp_host_enter(&open);
	launch(2);
	kp_host_leave(&open);
	kp_host_keep(&open, (struct kp_host_stream){NULL, false}, &call);
	kp_host_enter(&open); /* one that failed leaves nothing */
	kp_host_leave(&open);
	kp_host_discard(&open);
	launch(3);
	kp_host_drain(trace.writer);
	assert_int_equal(counts_of(&trace).host_calls_lost, 1);
	assert_int_equal(end(&trace), 2);
	assert_int_equal(calls[0].grid[0], 1);
	assert_int_equal(calls[1].grid[0], 3);
}

/* What surely lies outside all windows is not kept; what may have a record is. */
static void test_host_keeps_calls_in_windows(void **state)
{
	struct trace trace;

	(void)state;
	begin(&trace);
	kp_hooks_before = KP_RECORDING_OFF;
	atomic_store(&kp_windows_recording, KP_RECORDING_OFF);
	launch(1);
	atomic_store(&kp_windows_recording, KP_RECORDING_ON);
	launch(2); /* it went on meanwhile */
	kp_hooks_before = KP_RECORDING_SWITCHING;
	atomic_store(&kp_windows_recording, KP_RECORDING_SWITCHING);
	launch(3);
	kp_host_drain(trace.writer);
	assert_int_equal(counts_of(&trace).host_calls_lost, 0);
	assert_int_equal(end(&trace), 2);
	assert_int_equal(calls[0].grid[0], 2);
	assert_int_equal(calls[1].grid[0], 3);
}

static void *launch_some(void *number)
{
	for (uint32_t i = 0; i < 100; i++)
		launch((uint32_t)(uintptr_t)number);
	return NULL;
}

static uint64_t mapped_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long total;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &total), 1);
	fclose(file);
	return (uint64_t)total * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The calls of threads that ended are kept, and their rings are used again. */
static void test_host_outlives_threads(void **state)
{
	struct trace trace;
	uint64_t mapped = 0;
	size_t count;

	(void)state;
	begin(&trace);
	for (uintptr_t i = 0; i < 500; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, launch_some, (void *)i), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		kp_host_drain(trace.writer);
		if (i == 10)
			mapped = mapped_bytes();
	}
	assert_true(mapped_bytes() < mapped + 4 * KP_HOST_RING * sizeof(struct kp_host_call));
	count = end(&trace);
	assert_int_equal(count, 50000);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(calls[i].grid[0], i / 100);
}

#define CROWD 40 /* more than KP_HOST_KEEP: pages go back while threads write */

#define PACE 100000 /* a thread's launches have numbers below this */

static _Atomic bool crowd_done;
static _Atomic unsigned drains;

/* Until all that is in the rings now has been taken: on a busy machine a thread may be much faster.
 */
static void wait_for_worker(void)
{
	unsigned before = atomic_load(&drains);

	while (atomic_load(&drains) - before < 2)
		usleep(50);
}

/* The first goes once around its ring and a bit further. */
static uint32_t launches_of(uint32_t number)
{
	return number == 0 ? KP_HOST_RING + 5000 : 2000;
}

static void *launch_many(void *number)
{
	for (uint32_t i = 0; i < launches_of((uint32_t)(uintptr_t)number); i++) {
		launch((uint32_t)(uintptr_t)number * PACE + i);
		if (i % 64 == 0)
			usleep(100);
		if (i % (KP_HOST_RING / 2) == 0)
			wait_for_worker();
	}
	return NULL;
}

static void *drain(void *trace)
{
	while (!atomic_load(&crowd_done)) {
		kp_host_drain(((struct trace *)trace)->writer);
		atomic_fetch_add(&drains, 1);
		usleep(50);
	}
	return NULL;
}

/* Many threads at the same time, while the worker takes: nothing is lost, doubled or torn. */
static void test_host_takes_from_many_threads(void **state)
{
	static uint32_t seen[CROWD];
	struct trace trace;
	pthread_t threads[CROWD], worker;
	size_t count;

	(void)state;
	begin(&trace);
	atomic_store(&crowd_done, false);
	assert_int_equal(pthread_create(&worker, NULL, drain, &trace), 0);
	for (uintptr_t i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, launch_many, (void *)i), 0);
	for (size_t i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&crowd_done, true);
	pthread_join(worker, NULL);
	kp_host_drain(trace.writer);
	assert_int_equal(counts_of(&trace).host_calls_lost, 0);
	count = end(&trace);
	for (size_t i = 0; i < count; i++) {
		uint32_t thread = calls[i].grid[0] / PACE;

		assert_true(thread < CROWD);
		assert_int_equal(calls[i].grid[0] % PACE, seen[thread]);
		seen[thread]++;
	}
	for (uint32_t i = 0; i < CROWD; i++)
		assert_int_equal(seen[i], launches_of(i));
}

/* A forked child has none of its parent's calls, and keeps none until it is started anew. */
static void test_host_forgets_in_a_child(void **state)
{
	struct trace trace;
	int status;
	pid_t child;

	(void)state;
	begin(&trace);
	launch(1);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		kp_host_forget();
		launch(2); /* not started: counts only */
		kp_host_start(NULL);
		launch(3);
		kp_host_drain(trace.writer);
		_exit(counts_of(&trace).host_calls == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	kp_host_drain(trace.writer);
	assert_int_equal(end(&trace), 1);
	assert_int_equal(calls[0].grid[0], 1);
}

static void test_host_keeps_errno(void **state)
{
	struct trace trace;

	(void)state;
	begin(&trace);
	errno = EXDEV;
	for (uint32_t i = 0; i < KP_HOST_RING + 10; i++)
		launch(i);
	kp_host_drain(trace.writer);
	assert_int_equal(errno, EXDEV);
	end(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_keeps_calls_in_order),
		cmocka_unit_test(test_host_counts_what_a_full_ring_loses),
		cmocka_unit_test(test_host_keeps_the_outermost_call),
		cmocka_unit_test(test_host_keeps_calls_in_windows),
		cmocka_unit_test(test_host_outlives_threads),
		cmocka_unit_test(test_host_takes_from_many_threads),
		cmocka_unit_test(test_host_forgets_in_a_child),
		cmocka_unit_test(test_host_keeps_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
