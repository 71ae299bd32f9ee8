/* Gates: who is kept out, for how long, and that nobody is for good. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/gate.h"
#include "inject/state.h"

#define THREADS 4
#define CLOSINGS 3000
#define LIMIT_NS 60000000000ULL /* of what takes microseconds where the machine is idle */

static struct kp_gate gate;
static _Atomic int inside;
static _Atomic bool stop;
static _Atomic uint64_t passages;

static void *pass(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop)) {
		kp_gate_enter(&gate);
		atomic_fetch_add(&inside, 1);
		atomic_fetch_add(&passages, 1);
		atomic_fetch_sub(&inside, 1);
		kp_gate_leave(&gate);
	}
	return NULL;
}

static bool is_empty(void)
{
	return !atomic_load(&gate.closed) && !kp_gate_inside(&gate);
}

static void begin(void)
{
	kp_gate_forget(&gate);
	atomic_store(&stop, false);
	atomic_store(&passages, 0);
}

/* Nobody is inside while it is closed, and all get on when it is open again. */
static void test_gate_keeps_all_out(void **state)
{
	pthread_t threads[THREADS];
	uint64_t before;

	(void)state;
	begin();
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, pass, NULL), 0);
	for (int i = 0; i < CLOSINGS; i++) {
		assert_true(kp_gate_close(&gate, false, LIMIT_NS));
		before = atomic_load(&passages);
		assert_int_equal(atomic_load(&inside), 0);
		for (int k = 0; k < 50; k++)
			assert_int_equal(atomic_load(&inside), 0);
		assert_int_equal(atomic_load(&passages), before);
		kp_gate_open(&gate);
	}
	before = atomic_load(&passages);
	while (atomic_load(&passages) < before + 1000)
		usleep(100);
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(is_empty());
}

/* One who stays inside makes the closing fail in time, and the gate is open then. */
static void test_gate_gives_up_waiting(void **state)
{
	uint64_t begin_ns = kp_clock_now();

	(void)state;
	begin();
	kp_gate_enter(&gate);
	assert_false(kp_gate_close(&gate, false, 20000000));
	assert_in_range(kp_clock_now() - begin_ns, 20000000, LIMIT_NS);
	assert_true(!atomic_load(&gate.closed) && kp_gate_inside(&gate) == 1);
	/* Its own passage is no hindrance. */
	assert_true(kp_gate_close(&gate, true, 20000000));
	assert_false(kp_gate_close(&gate, true, 20000000)); /* it is closed */
	kp_gate_open(&gate);
	kp_gate_leave(&gate);
	assert_true(is_empty());
}

static void *pass_once(void *unused)
{
	(void)unused;
	kp_gate_enter(&gate);
	kp_gate_leave(&gate);
	return NULL;
}

/* Who closed it never opens it: those who stand before it get on, and so do all who come later. */
static void test_gate_holds_nobody_for_good(void **state)
{
	uint64_t begin_ns = kp_clock_now();
	pthread_t threads[THREADS];

	(void)state;
	begin();
	assert_true(kp_gate_close(&gate, false, LIMIT_NS));
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, pass_once, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(kp_clock_now() - begin_ns >= KP_GATE_PATIENCE_NS);
	begin_ns = kp_clock_now();
	pass_once(NULL);
	assert_true(kp_clock_now() - begin_ns < KP_GATE_PATIENCE_NS / 2);
	assert_true(is_empty());
}

static _Atomic bool passed;

static void *pass_and_tell(void *unused)
{
	pass_once(unused);
	atomic_store(&passed, true);
	return NULL;
}

/*
 * A process that is stopped, once it has said so, for longer than a gate is patient. Its status:
 * whether it held.
 */
static void be_stopped(int ready)
{
	uint64_t before_ns, now_ns = kp_clock_now();
	pthread_t thread;

	if (!kp_gate_close(&gate, false, LIMIT_NS) ||
	    pthread_create(&thread, NULL, pass_and_tell, NULL) != 0 || write(ready, "", 1) != 1)
		_exit(2);
	do {
		before_ns = now_ns;
		usleep(1000);
		now_ns = kp_clock_now();
	} while (now_ns - before_ns < KP_GATE_PATIENCE_NS);
	usleep(300000);
	_exit(atomic_load(&passed));
}

/* Time in which nobody could have opened it does not count: it would be passed in mid-step. */
static void test_gate_holds_while_all_are_stopped(void **state)
{
	pid_t child;
	int status = 0, ready[2];
	char said;

	(void)state;
	begin();
	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		be_stopped(ready[1]);
	assert_int_equal(read(ready[0], &said, 1), 1);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(kill(child, SIGSTOP), 0);
	usleep(KP_GATE_PATIENCE_NS / 1000 + 200000);
	assert_int_equal(kill(child, SIGCONT), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A child that was forked in the midst of it finds it open, with its own passage inside. */
static void test_gate_is_open_after_a_fork(void **state)
{
	(void)state;
	begin();
	kp_gate_enter(&gate);
	assert_true(kp_gate_close(&gate, true, LIMIT_NS));
	kp_gate_forget(&gate);
	kp_passages_forget();
	assert_int_equal(kp_gate_inside(&gate), 1);
	kp_gate_leave(&gate);
	pass_once(NULL);
	assert_true(is_empty());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gate_keeps_all_out),
		cmocka_unit_test(test_gate_gives_up_waiting),
		cmocka_unit_test(test_gate_holds_nobody_for_good),
		cmocka_unit_test(test_gate_holds_while_all_are_stopped),
		cmocka_unit_test(test_gate_is_open_after_a_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
