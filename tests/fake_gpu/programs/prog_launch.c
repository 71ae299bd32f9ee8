/*
 * A program that uses the GPU as its options say, and ends as they say (prog_launch --help).
 *
 * What it prints depends on the options only, so that runs with and without kprof can be compared
 * byte by byte.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fake_gpu/programs/trouble.h"
#include "tests/fake_gpu/programs/work.h"

static void print(const char *who, const struct kp_prog_options *options,
		  const struct kp_prog_counts *counts)
{
	if (!options->print)
		return;
	printf("%s: %llu kernels, %llu in graphs, %llu memory operations, %llu failed\n", who,
	       (unsigned long long)counts->kernels, (unsigned long long)counts->graph_kernels,
	       (unsigned long long)counts->memops, (unsigned long long)counts->failed);
	fflush(stdout);
}

/* Closed when CUDA has begun: a daemon's parent waits for that. */
static int daemon_begun = -1;

static void use_gpu(const char *who, const struct kp_prog_options *options)
{
	/* static: detached threads still add to it when main returns */
	static struct kp_prog_counts counts;

	memset(&counts, 0, sizeof(counts)); /* a child that was forked works on its own account */
	kp_prog_begin(options);
	if (daemon_begun >= 0)
		close(daemon_begun);
	kp_prog_trouble_late(options);
	kp_prog_work(options, &counts);
	if (!options->detached)
		print(who, options, &counts);
}

/* A child that does the same work in a process of its own. */
static void fork_worker(const struct kp_prog_options *options)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		use_gpu("child", options);
		exit(4);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		exit(3);
	if (options->print)
		printf("the child's status: %d\n", WEXITSTATUS(status));
	fflush(stdout);
}

/* A child of a process that has used CUDA: it cannot, and must still live and end well. */
static void fork_after(const struct kp_prog_options *options)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (options->print)
			puts("child: forked after CUDA was used");
		exit(5);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		exit(3);
	if (options->print)
		printf("the child's status: %d\n", WEXITSTATUS(status));
	fflush(stdout);
}

/* Children that end in the three ways in which children do, while the other threads work. */
static void fork_many(const struct kp_prog_options *options)
{
	for (uint64_t i = 0; i < options->forks; i++) {
		int status = -1;
		pid_t child = fork();

		if (child == 0) {
			if (i % 3 == 0)
				exit(6);
			if (i % 3 == 1)
				_exit(6);
			execl("/bin/sh", "sh", "-c", "exit 6", (char *)NULL);
			_exit(7);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 6)
			_exit(3);
	}
}

/* Leaves whoever started it, and works on its own. */
static void become_daemon(const struct kp_prog_options *options)
{
	bool late = strcmp(options->daemon, "late") == 0;
	int begun[2], null;
	char byte;
	pid_t child;

	if (pipe(begun) != 0 || (child = fork()) < 0)
		exit(3);
	if (child > 0) {
		close(begun[1]);
		if (!late && read(begun[0], &byte, 1) < 0)
			exit(3);
		_exit((int)options->exit_code);
	}
	close(begun[0]);
	daemon_begun = begun[1];
	if (late)
		sleep(4);
	null = open("/dev/null", O_RDWR);
	if (setsid() < 0 || null < 0)
		exit(3);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
}

int main(int argc, char **argv)
{
	/* static: detached threads outlive this function */
	static struct kp_prog_options options;

	kp_prog_parse(&options, argc, argv);
	kp_prog_trouble_early(&options);
	if (options.daemon)
		become_daemon(&options);
	if (options.fork && strcmp(options.fork, "before") == 0)
		fork_worker(&options);
	use_gpu("main", &options);
	fork_many(&options);
	if (options.fork && strcmp(options.fork, "after") == 0)
		fork_after(&options);
	if (options.fork && strcmp(options.fork, "again") == 0)
		fork_worker(&options);
	if (options.system && system(options.system) != 0)
		return 3;
	kp_prog_end(&options);
	return (int)options.exit_code;
}
