/*
 * Says which of kprof's doors are open in its environment, and starts another program where one is
 * named: prog_environ [PROGRAM ARG…]. What it prints is the same with and without kprof only where
 * kprof has left nothing there that it need not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *door(const char *name)
{
	const char *value = getenv(name);

	return value && strstr(value, "libkprof_inject.so") ? "kprof" : value ? value : "none";
}

int main(int argc, char **argv)
{
	const char *quiet = getenv("PROG_QUIET");

	if (!quiet)
		printf("preload: %s\n", door("LD_PRELOAD"));
	fflush(stdout);
	if (argc < 2)
		return 12;
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 3;
}
