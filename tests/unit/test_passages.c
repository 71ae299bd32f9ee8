/* Passages: those of threads that end, jump out or are too many; and waiting for them. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/gate.h"
#include "inject/state.h"

#define SHORT_NS 2000000ULL
#define LONG_NS 30000000000ULL

static struct kp_gate gate = {.passage = KP_PASSAGE_GRAPH};
static _Atomic unsigned inside;
static _Atomic bool stop;

static bool can_be_closed(uint64_t limit_ns)
{
	bool closed = kp_gate_close(&gate, false, limit_ns);

	if (closed)
		kp_gate_open(&gate);
	return closed;
}

/* A thread that was joined may exist for a moment longer, for those who ask the system. */
static bool can_be_closed_soon(void)
{
	uint64_t until_ns = kp_clock_now() + LONG_NS;
	bool closed;

	do
		closed = can_be_closed(SHORT_NS);
	while (!closed && kp_clock_now() < until_ns);
	return closed;
}

static void pass(void)
{
	kp_gate_enter(&gate);
	kp_gate_leave(&gate);
}

static pthread_t start(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, body, argument), 0);
	return thread;
}

/* ---- threads that end inside ---- */

static void *be_cancelled(void *unused)
{
	kp_gate_enter(&gate);
	atomic_fetch_add(&inside, 1);
	for (;;)
		pause();
	return unused;
}

static void *exit_inside(void *unused)
{
	kp_gate_enter(&gate);
	kp_passages_begin(KP_PASSAGE_LAUNCH);
	pthread_exit(unused);
}

static void test_passages_end_with_a_cancelled_thread(void **state)
{
	pthread_t thread;

	(void)state;
	atomic_store(&inside, 0);
	thread = start(be_cancelled, NULL);
	while (!atomic_load(&inside))
		usleep(100);
	assert_false(can_be_closed(SHORT_NS));
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	assert_true(can_be_closed_soon());
	assert_int_equal(kp_gate_inside(&gate), 0);
}

/* More threads than there are records, each of which ends inside: the records are used again. */
static void test_passages_of_ended_threads_are_used_again(void **state)
{
	(void)state;
	for (int i = 0; i < KP_PASSAGES_MAX + 100; i++)
		pthread_join(start(exit_inside, NULL), NULL);
	/* So many records that all were needed would be. */
	assert_true(kp_gate_inside(&gate) <= 128);
	assert_true(can_be_closed_soon());
	assert_true(kp_passages_await(KP_PASSAGE_LAUNCH, LONG_NS));
}

/* ---- threads that live on ---- */

static sigjmp_buf outside;

static void jump_inside(void)
{
	if (sigsetjmp(outside, 1) == 0) {
		kp_gate_enter(&gate);
		kp_passages_begin(KP_PASSAGE_LAUNCH);
		siglongjmp(outside, 1);
	}
}

static void *jump_then_pass(void *unused)
{
	jump_inside();
	assert_int_equal(kp_gate_inside(&gate), 1);
	for (int i = 0; i <= KP_PASSAGES_WITHIN; i++)
		pass();
	assert_int_equal(kp_gate_inside(&gate), 0);
	pass();
	assert_int_equal(kp_gate_inside(&gate), 0);
	return unused;
}

/* Who jumped out of a passage is outside after a few more. */
static void test_passages_that_were_jumped_out_of_end(void **state)
{
	(void)state;
	pthread_join(start(jump_then_pass, NULL), NULL);
	assert_true(can_be_closed_soon());
}

static void on_signal(int number)
{
	(void)number;
	siglongjmp(outside, 1);
}

/* A timer's handler jumps out at any moment, in the midst of entering and leaving too. */
static void *be_interrupted(void *alarm)
{
	static const struct itimerval often = {{0, 70}, {0, 70}}, never;
	struct sigaction action = {.sa_handler = on_signal};
	volatile unsigned jumps = 0;

	pthread_sigmask(SIG_UNBLOCK, alarm, NULL);
	sigaction(SIGALRM, &action, NULL);
	if (sigsetjmp(outside, 1) != 0)
		jumps = jumps + 1;
	if (jumps == 0)
		setitimer(ITIMER_REAL, &often, NULL);
	while (jumps < 1000) {
		kp_gate_enter(&gate);
		pass();
		kp_gate_leave(&gate);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	for (int i = 0; i <= 2 * KP_PASSAGES_WITHIN; i++)
		pass();
	assert_int_equal(kp_gate_inside(&gate), 0);
	return NULL;
}

static void test_passages_survive_a_handler_that_jumps(void **state)
{
	sigset_t alarm;
	pthread_t thread;

	(void)state;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL); /* first: no thread but that one may jump */
	thread = start(be_interrupted, &alarm);
	pthread_join(thread, NULL);
	assert_true(can_be_closed_soon());
}

/* What the driver's callbacks do in the midst of a call is within it. */
static void test_passages_within_one_leave_it_open(void **state)
{
	(void)state;
	kp_gate_enter(&gate);
	for (int i = 0; i < KP_PASSAGES_WITHIN; i++) {
		pass();
		assert_int_equal(kp_gate_inside(&gate), 1);
	}
	kp_gate_leave(&gate);
	assert_int_equal(kp_gate_inside(&gate), 0);
	/* Calls of another kind count as well, where there is something to doubt. */
	kp_passages_recall(KP_PASSAGE_GRAPH);
	kp_gate_enter(&gate);
	for (int i = 0; i < KP_PASSAGES_WITHIN; i++)
		kp_passages_recall(KP_PASSAGE_GRAPH);
	assert_int_equal(kp_gate_inside(&gate), 1);
	kp_passages_recall(KP_PASSAGE_GRAPH);
	assert_int_equal(kp_gate_inside(&gate), 0);
}

/* Within one that is inside nobody waits before a closed gate: who closes it waits for that one. */
static void test_passages_within_one_do_not_wait(void **state)
{
	uint64_t begin_ns = kp_clock_now();

	(void)state;
	kp_gate_enter(&gate);
	assert_true(kp_gate_close(&gate, true, SHORT_NS));
	pass();
	kp_gate_open(&gate);
	kp_gate_leave(&gate);
	assert_true(kp_clock_now() - begin_ns < KP_GATE_PATIENCE_NS);
}

/* ---- waiting ---- */

static void *launch_all_the_time(void *unused)
{
	while (!atomic_load(&stop)) {
		kp_passages_begin(KP_PASSAGE_LAUNCH);
		atomic_fetch_add(&inside, 1);
		usleep(20);
		kp_passages_end(KP_PASSAGE_LAUNCH);
	}
	return unused;
}

static void *launch_for_long(void *unused)
{
	kp_passages_begin(KP_PASSAGE_LAUNCH);
	atomic_fetch_add(&inside, 1);
	while (!atomic_load(&stop))
		usleep(100);
	kp_passages_end(KP_PASSAGE_LAUNCH);
	return unused;
}

static void run_beside(void *(*body)(void *), void (*check)(void))
{
	pthread_t threads[3];

	atomic_store(&stop, false);
	atomic_store(&inside, 0);
	for (int i = 0; i < 3; i++)
		threads[i] = start(body, NULL);
	while (atomic_load(&inside) < 3)
		usleep(100);
	check();
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void check_awaited(void)
{
	for (int i = 0; i < 200; i++)
		assert_true(kp_passages_await(KP_PASSAGE_LAUNCH, LONG_NS));
}

static void check_given_up(void)
{
	kp_passages_begin(KP_PASSAGE_LAUNCH); /* its own is no hindrance */
	assert_false(kp_passages_await(KP_PASSAGE_LAUNCH, SHORT_NS));
	kp_passages_end(KP_PASSAGE_LAUNCH);
}

/* Those that have begun are waited for, not those that begin meanwhile; and not for ever. */
static void test_passages_are_awaited(void **state)
{
	(void)state;
	run_beside(launch_all_the_time, check_awaited);
	run_beside(launch_for_long, check_given_up);
	assert_true(kp_passages_await(KP_PASSAGE_LAUNCH, LONG_NS));
}

/* ---- too many ---- */

/* Held while they are to stay. Thousands that looked every few milliseconds would take a machine.
 */
static pthread_rwlock_t door = PTHREAD_RWLOCK_INITIALIZER;

static void *stay(void *unused)
{
	kp_gate_enter(&gate);
	atomic_fetch_add(&inside, 1);
	pthread_rwlock_rdlock(&door);
	pthread_rwlock_unlock(&door);
	kp_gate_leave(&gate);
	return unused;
}

/* Threads beyond the last record are counted, and hold the gate like all others. */
static void test_passages_of_too_many_threads_count(void **state)
{
	enum { MANY = KP_PASSAGES_MAX + 20 };
	pthread_t *threads = calloc(MANY, sizeof(*threads));
	pthread_attr_t small;
	unsigned started = 0;

	(void)state;
	assert_non_null(threads);
	pthread_rwlock_wrlock(&door);
	atomic_store(&inside, 0);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32768);
	while (started < MANY && pthread_create(&threads[started], &small, stay, NULL) == 0)
		started++;
	while (atomic_load(&inside) < started)
		usleep(1000);
	assert_int_equal(kp_gate_inside(&gate), started);
	assert_false(can_be_closed(SHORT_NS));
	pthread_rwlock_unlock(&door);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&small);
	free(threads);
	assert_int_equal(kp_gate_inside(&gate), 0);
	assert_true(can_be_closed_soon());
	if (started < MANY)
		skip(); /* this machine lets nobody have so many threads */
}

static void *leave_and_end(void *nothing)
{
	kp_passages_begin(KP_PASSAGE_LEAVING);
	return nothing;
}

/* Who was cancelled in a passage, or jumped out of it, is not there for good. */
static void test_passages_any_is_not_for_good(void **state)
{
	int calls = 0;
	pthread_t thread;

	(void)state;
	assert_false(kp_passages_any(KP_PASSAGE_LEAVING));
	assert_int_equal(pthread_create(&thread, NULL, leave_and_end, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	while (kp_passages_any(KP_PASSAGE_LEAVING) && calls++ < 1000)
		sched_yield(); /* the system may need a moment to see that it has ended */
	assert_false(kp_passages_any(KP_PASSAGE_LEAVING));
	kp_passages_begin(KP_PASSAGE_LEAVING);
	assert_true(kp_passages_any(KP_PASSAGE_LEAVING));
	for (calls = 0; kp_passages_any(KP_PASSAGE_LEAVING) && calls < 1000; calls++)
		continue;
	assert_in_range(calls, 1, KP_PASSAGES_WITHIN);
	kp_passages_begin(KP_PASSAGE_LEAVING);
	kp_passages_end(KP_PASSAGE_LEAVING);
	assert_false(kp_passages_any(KP_PASSAGE_LEAVING));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passages_end_with_a_cancelled_thread),
		cmocka_unit_test(test_passages_of_ended_threads_are_used_again),
		cmocka_unit_test(test_passages_that_were_jumped_out_of_end),
		cmocka_unit_test(test_passages_survive_a_handler_that_jumps),
		cmocka_unit_test(test_passages_within_one_leave_it_open),
		cmocka_unit_test(test_passages_within_one_do_not_wait),
		cmocka_unit_test(test_passages_are_awaited),
		cmocka_unit_test(test_passages_of_too_many_threads_count),
		cmocka_unit_test(test_passages_any_is_not_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
