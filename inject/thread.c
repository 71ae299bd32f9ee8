/* Starts threads; see thread.h. */
#include "inject/thread.h"

#include <pthread.h>
#include <signal.h>

#include "inject/floats.h"

/* As much as CUPTI and the driver find in threads elsewhere is more: an eighth of what is usual. */
#define STACK_BYTES_LEAST ((size_t)1 << 20)

/* By default the stack is as large as that of the program may be (RLIMIT_STACK). */
static void give_room(pthread_attr_t *attributes)
{
	size_t bytes = 0;

	if (pthread_attr_getstacksize(attributes, &bytes) != 0 || bytes < STACK_BYTES_LEAST)
		(void)pthread_attr_setstacksize(attributes, STACK_BYTES_LEAST);
}

bool kp_thread_start(const char *name, void *(*run)(void *), void *context)
{
	pthread_attr_t attributes;
	struct kp_floats floats;
	sigset_t all, before;
	pthread_t thread;
	bool good;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	give_room(&attributes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	kp_floats_hold(&floats); /* a thread begins with its maker's */
	good = pthread_create(&thread, &attributes, run, context) == 0;
	kp_floats_let(&floats);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (!good)
		return false;
	pthread_setname_np(thread, name);
	pthread_detach(thread);
	return true;
}
