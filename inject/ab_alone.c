/* A thread in kprof's own work; see ab_alone.h. */
#include "inject/ab_alone.h"

#include <errno.h>
#include <pthread.h>

#include "inject/ab.h"

/* Not those by which a fault of this thread's own shows. */
static void choose_signals(sigset_t *out)
{
	static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

	sigfillset(out);
	for (size_t i = 0; i < sizeof(own_faults) / sizeof(own_faults[0]); i++)
		sigdelset(out, own_faults[i]);
}

void kp_ab_alone_begins(struct kp_ab_alone *out)
{
	sigset_t signals;

	out->error = errno;
	choose_signals(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, &out->signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &out->cancel);
	kp_floats_hold(&out->floats);
	out->inside = kp_ab_inside;
	kp_ab_inside = true;
}

/* Signals last: what waited for this may jump out at once. */
void kp_ab_alone_ends(const struct kp_ab_alone *alone)
{
	kp_ab_inside = alone->inside;
	kp_floats_let(&alone->floats);
	pthread_setcancelstate(alone->cancel, NULL);
	errno = alone->error;
	pthread_sigmask(SIG_SETMASK, &alone->signals, NULL);
}
