/*
 * Tells what a program was started with, so that a test can compare it with and without kprof: its
 * descriptors, signal mask, ignored signals, process group, and what signals reach it.
 *
 * probe state            prints and exits
 * probe signals SECONDS  prints «ready», then each signal that arrives; ends so long after the last
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int print_state(void)
{
	sigset_t mask;

	for (int fd = 0; fd < 64; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			fprintf(stderr, "fd %d\n", fd);
	}
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			fprintf(stderr, "ignores %d\n", number);
		if (sigismember(&mask, number) == 1)
			fprintf(stderr, "blocks %d\n", number);
	}
	fprintf(stderr, "leads its group: %d\n", getpgrp() == getpid());
	return 0;
}

#define PATIENCE_S 50 /* for a first signal, on a machine that is busy elsewhere */

static int print_signals(unsigned seconds)
{
	static const int watched[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM};
	sigset_t set;
	int number;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	alarm(PATIENCE_S);
	puts("ready");
	fflush(stdout);
	while (sigwait(&set, &number) == 0 && number != SIGALRM) {
		alarm(seconds);
		printf("%d\n", number);
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "state") == 0)
		return print_state();
	if (argc == 3 && strcmp(argv[1], "signals") == 0)
		return print_signals((unsigned)atoi(argv[2]));
	return 2;
}
