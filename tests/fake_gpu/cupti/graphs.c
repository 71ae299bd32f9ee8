/* Graphs that detaching loses; see graphs.h. */
#include "tests/fake_gpu/cupti/graphs.h"

#include <pthread.h>
#include <stdatomic.h>

#include <cupti.h>

#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/cupti/state.h"

static _Atomic int launching;           /* threads in a launch of a graph */
static _Thread_local int launching_own; /* this one, perhaps in a callback of it */
static pthread_key_t ends;              /* of threads that were cancelled in one */
static pthread_once_t ends_once = PTHREAD_ONCE_INIT;
static _Atomic bool recorded, off; /* kernels once were recorded; and are not any more */
static _Atomic bool stranded;      /* a graph was launched while that was so */
static _Atomic bool lost;          /* and CUPTI has gone since */

static bool launches_graph(const struct kp_fake_call *call)
{
	return call->cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch ||
	       call->cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

/* A launch that the thread has jumped out of, or that it was cancelled in, goes on no more. */
static void leave(void *unused)
{
	(void)unused;
	atomic_fetch_sub(&launching, launching_own);
	launching_own = 0;
}

static void make_key(void)
{
	pthread_key_create(&ends, leave);
}

void kp_fake_graphs_call(struct kp_fake_call *call, bool exit)
{
	int step = exit ? -1 : 1;

	/* A call may have begun before anyone listened. */
	if (!launches_graph(call) || (exit && !call->counted))
		return;
	call->counted = !exit;
	if (!exit && launching_own)
		leave(NULL);
	pthread_once(&ends_once, make_key);
	pthread_setspecific(ends, &launching);
	if (atomic_load(&off) && !exit)
		atomic_store(&stranded, true);
	launching_own += step;
	atomic_fetch_add(&launching, step);
}

void kp_fake_graphs_record(bool on)
{
	atomic_store(&off, !on && atomic_load(&recorded));
	atomic_store(&recorded, on || atomic_load(&recorded));
	if (atomic_load(&off) && atomic_load(&launching) > launching_own)
		atomic_store(&stranded, true);
}

void kp_fake_graphs_finalized(void)
{
	if (atomic_exchange(&stranded, false) || atomic_load(&launching) > launching_own) {
		kp_fake_count(KP_FAKE_graphs_stranded, 1);
		atomic_store(&lost, true);
	}
	atomic_store(&off, false);
	atomic_store(&recorded, false);
}

void kp_fake_graphs_attached(void)
{
	if (atomic_load(&lost))
		kp_fake_gpu()->fail(CUDA_ERROR_LAUNCH_FAILED);
}
