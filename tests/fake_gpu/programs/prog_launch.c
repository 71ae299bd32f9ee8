/*
 * A program that uses the GPU as its options say, and ends as they say (prog_launch --help).
 *
 * What it prints depends on the options only, so that runs with and without kprof can be compared
 * byte by byte.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void use_gpu(const char *who, const struct kp_prog_options *options)
{
	/* static: detached threads still add to it when main returns */
	static struct kp_prog_counts counts;

	kp_prog_begin(options);
	kp_prog_work(options, &counts);
	if (!options->detached)
		print(who, options, &counts);
}

/* A child that does the same work in a process of its own, before the parent uses CUDA. */
static void fork_before(const struct kp_prog_options *options)
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

/* Ways to end that are not a return from main. */
static void end_otherwise(const struct kp_prog_options *options)
{
	volatile uintptr_t nowhere = 8;

	if (options->abort)
		abort();
	if (options->segv)
		*(volatile int *)nowhere = 0;
	if (options->sigkill_self)
		kill(getpid(), SIGKILL);
	if (options->_exit)
		_exit((int)options->exit_code);
	if (options->quick_exit)
		quick_exit((int)options->exit_code);
	if (options->exec) {
		execl(options->exec, options->exec, (char *)NULL);
		perror(options->exec);
		exit(3);
	}
}

int main(int argc, char **argv)
{
	/* static: detached threads outlive this function */
	static struct kp_prog_options options;

	kp_prog_parse(&options, argc, argv);
	if (options.chdir && chdir(options.chdir) != 0) {
		perror(options.chdir);
		return 3;
	}
	if (options.close_fds)
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
	if (options.fork && strcmp(options.fork, "before") == 0)
		fork_before(&options);
	use_gpu("main", &options);
	if (options.fork && strcmp(options.fork, "after") == 0)
		fork_after(&options);
	if (options.system && system(options.system) != 0)
		return 3;
	end_otherwise(&options);
	return (int)options.exit_code;
}
