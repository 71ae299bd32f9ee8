/* The list of programs that ran without kprof, in a mapping that processes share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/live.h"

#define WRITERS 4
#define ROUNDS 300

static int map(void **state)
{
	*state = mmap(NULL, sizeof(struct kp_live), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return *state == MAP_FAILED ? -1 : 0;
}

static int unmap(void **state)
{
	return munmap(*state, sizeof(struct kp_live));
}

static uint64_t times_of(const struct kp_live *live, const char *program)
{
	uint64_t times = 0;

	for (size_t i = 0; i < KP_LIVE_UNTRACED; i++)
		if (strcmp(live->untraced[i].program, program) == 0)
			times += live->untraced[i].times;
	return times;
}

static void test_live_lists_a_program_once(void **state)
{
	struct kp_live *live = *state;

	for (uint32_t i = 0; i < 5; i++)
		kp_live_list(live, KP_PROGRAM_STATIC, "/bin/static", 100 + i, 99);
	kp_live_list(live, KP_PROGRAM_OTHER_LIBC, "/bin/static", 200, 99);
	kp_live_list(live, KP_PROGRAM_STATIC, "/bin/stat", 300, 99);
	assert_int_equal(live->untraced[0].times, 5);
	assert_int_equal(live->untraced[0].pid, 100);
	assert_int_equal(live->untraced[0].parent_pid, 99);
	assert_int_equal(live->untraced[1].kind, KP_PROGRAM_OTHER_LIBC);
	assert_string_equal(live->untraced[2].program, "/bin/stat");
	assert_int_equal(live->untraced[3].entry, KP_LIVE_ENTRY_FREE);
	kp_live_unlist(live, KP_PROGRAM_OTHER_LIBC, "/bin/static");
	assert_int_equal(live->untraced[1].times, 0);
	assert_int_equal(live->untraced[0].times, 5);
	assert_int_equal(live->untraced_unlisted, 0);
}

static void test_live_counts_what_does_not_fit(void **state)
{
	struct kp_live *live = *state;
	char name[32];

	for (uint32_t i = 0; i < KP_LIVE_UNTRACED + 7; i++) {
		snprintf(name, sizeof(name), "/bin/program-%u", (unsigned)i);
		kp_live_list(live, KP_PROGRAM_STATIC, name, i + 1, 1);
	}
	assert_int_equal(live->untraced_unlisted, 7);
	kp_live_unlist(live, KP_PROGRAM_STATIC, name); /* it was not listed either */
	assert_int_equal(live->untraced_unlisted, 6);
	kp_live_list(live, KP_PROGRAM_STATIC, "/bin/program-3", 5, 1);
	assert_int_equal(live->untraced[3].times, 2);
}

static void test_live_cuts_long_names(void **state)
{
	struct kp_live *live = *state;
	char name[2 * KP_LIVE_PROGRAM_BYTES];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	kp_live_list(live, KP_PROGRAM_STATIC, name, 1, 1);
	kp_live_list(live, KP_PROGRAM_STATIC, name, 2, 1);
	assert_int_equal(strlen(live->untraced[0].program), KP_LIVE_PROGRAM_BYTES - 1);
	assert_int_equal(live->untraced[0].times, 2);
}

/* Processes at the same time lose no start; an entry may be there twice. */
static void test_live_is_shared(void **state)
{
	struct kp_live *live = *state;

	for (int writer = 0; writer < WRITERS; writer++) {
		if (fork() != 0)
			continue;
		for (int i = 0; i < ROUNDS; i++)
			kp_live_list(live, KP_PROGRAM_STATIC, i % 2 ? "/bin/a" : "/bin/b",
				     (uint32_t)getpid(), 1);
		_exit(0);
	}
	for (int writer = 0; writer < WRITERS; writer++)
		wait(NULL);
	assert_int_equal(times_of(live, "/bin/a"), WRITERS * ROUNDS / 2);
	assert_int_equal(times_of(live, "/bin/b"), WRITERS * ROUNDS / 2);
}

/* A GPU has one sampler: who comes second hears who it is, until that one is gone. */
static void test_live_gives_a_gpu_to_one(void **state)
{
	struct kp_live *live = *state;
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(kp_live_claim(live, 77, (uint32_t)getpid()) == (uint32_t)getpid() ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* It died without a word: its place is free. */
	assert_int_equal(kp_live_claim(live, 77, (uint32_t)getpid()), getpid());
	assert_int_equal(kp_live_claim(live, 77, (uint32_t)getppid()), getpid());
	assert_int_equal(kp_live_claim(live, 78, (uint32_t)getppid()), getppid());
	kp_live_release(live, 77, (uint32_t)getppid()); /* not its own */
	assert_int_equal(kp_live_claim(live, 77, (uint32_t)getppid()), getpid());
	kp_live_release(live, 77, (uint32_t)getpid());
	assert_int_equal(kp_live_claim(live, 77, (uint32_t)getppid()), getppid());
	for (uint64_t gpu = 100; gpu < 100 + KP_LIVE_GPUS - 2; gpu++)
		assert_int_equal(kp_live_claim(live, gpu, 1), 1);
	assert_int_equal(kp_live_claim(live, 999, (uint32_t)getpid()), 0);
}

/* Any number of processes at once: each GPU goes to exactly one. */
static void test_live_claims_do_not_collide(void **state)
{
	struct kp_live *live = *state;
	int claimed[2], over[2];
	unsigned won = 0;
	char byte = 0;

	assert_int_equal(pipe(claimed), 0);
	assert_int_equal(pipe(over), 0);
	for (int i = 0; i < WRITERS; i++)
		if (fork() == 0) {
			unsigned mine = 0;

			close(over[1]);
			for (uint64_t gpu = 1; gpu <= KP_LIVE_GPUS; gpu++)
				mine += kp_live_claim(live, gpu, (uint32_t)getpid()) ==
					(uint32_t)getpid();
			/* The others must find it alive: it stays until all have claimed. */
			if (write(claimed[1], &byte, 1) != 1 || read(over[0], &byte, 1) != 0)
				_exit(255);
			_exit((int)mine);
		}
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(read(claimed[0], &byte, 1), 1);
	close(over[1]);
	for (int i = 0, status; i < WRITERS; i++) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		won += (unsigned)WEXITSTATUS(status);
	}
	assert_int_equal(won, KP_LIVE_GPUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_live_lists_a_program_once, map, unmap),
		cmocka_unit_test_setup_teardown(test_live_counts_what_does_not_fit, map, unmap),
		cmocka_unit_test_setup_teardown(test_live_cuts_long_names, map, unmap),
		cmocka_unit_test_setup_teardown(test_live_is_shared, map, unmap),
		cmocka_unit_test_setup_teardown(test_live_gives_a_gpu_to_one, map, unmap),
		cmocka_unit_test_setup_teardown(test_live_claims_do_not_collide, map, unmap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
