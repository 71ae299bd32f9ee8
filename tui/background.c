/* Threads behind the one that has the terminal; see background.h. */
#include "tui/background.h"

#include <signal.h>

enum kp_status kp_background_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	sigset_t others, before;

	sigfillset(&others);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		sigdelset(&others, own[i]);
	pthread_sigmask(SIG_BLOCK, &others, &before);
	int failed = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed ? KP_IO : KP_OK;
}
