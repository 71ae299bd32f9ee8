/*
 * The activity API of the fake libcupti: kinds, times, faults by script, flushes, the worker.
 *
 * Times. A record's times are the GPU's, moved by a constant to the client's clock when it gives
 * one or the first kind is enabled: durations stay exact to the nanosecond.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/cupti/buffers.h"
#include "tests/fake_gpu/cupti/graphs.h"
#include "tests/fake_gpu/cupti/names.h"
#include "tests/fake_gpu/cupti/records.h"
#include "tests/fake_gpu/cupti/state.h"

#define CLOCK_STEP_NS 2000000000ULL
#define FAR_NS 100000000000000ULL
#define DEFAULT_PERIOD_MS 20
#define FINALIZE_OLDEST 24 /* API version of CUDA 12.6 */

static _Atomic bool kernels_enabled, copies_enabled, sets_enabled, calls_enabled, external_enabled;
static _Atomic uint32_t kernel_kind; /* KERNEL or CONCURRENT_KERNEL */
static _Atomic(CUpti_TimestampCallbackFunc) clock_callback;
static _Atomic uint64_t shift_ns; /* from the GPU's clock to the client's */
static _Atomic bool tied;         /* shift_ns is known */
static _Atomic uint32_t period_ms;
static _Atomic uint64_t record_count, kernel_count, absurd_count, flush_count;
static pthread_once_t start_once = PTHREAD_ONCE_INIT;
static _Atomic bool detached; /* by cuptiFinalize, until callbacks are registered again */

uint64_t kp_fake_client_now(void)
{
	CUpti_TimestampCallbackFunc callback = atomic_load(&clock_callback);
	struct timespec now;

	if (callback)
		return callback();
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void *work(void *unused)
{
	(void)unused;
	for (;;) {
		uint32_t period = atomic_load(&period_ms);

		kp_fake_buffers_wait(period ? period : DEFAULT_PERIOD_MS);
		if (!kp_fake_faults()->hold_buffers)
			kp_fake_buffers_deliver(KP_FAKE_FULL);
	}
	return NULL;
}

/* The worker takes none of the program's signals. */
static void start(void)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, work, NULL) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stamp_kernel(struct kp_fake_stamp *stamp, uint64_t duration_ns)
{
	uint64_t number = atomic_fetch_add(&kernel_count, 1) + 1;
	const struct kp_fake_faults *faults = kp_fake_faults();

	if (kp_fake_every(number, faults->untimed)) {
		stamp->start_ns = stamp->end_ns = 0;
		kp_fake_count(KP_FAKE_kernels_untimed, 1);
		return;
	}
	if (kp_fake_every(number, faults->far)) {
		uint64_t off_ns = number / faults->far % 2 ? FAR_NS : -FAR_NS;

		stamp->start_ns -= off_ns;
		stamp->end_ns -= off_ns;
		kp_fake_count(KP_FAKE_kernels_absurd, 1);
		return;
	}
	if (!kp_fake_every(number, faults->absurd))
		return;
	kp_fake_count(KP_FAKE_kernels_absurd, 1);
	switch (atomic_fetch_add(&absurd_count, 1) % 3) {
	case 0:
		stamp->start_ns = 0x8000000000000000U;
		stamp->end_ns = stamp->start_ns + duration_ns;
		break;
	case 1:
		stamp->start_ns = stamp->end_ns = UINT64_MAX;
		break;
	default:
		stamp->end_ns = stamp->start_ns - 1;
		break;
	}
}

static void record(CUpti_ActivityKind kind, const struct kp_fake_op *op)
{
	const struct kp_fake_faults *faults = kp_fake_faults();
	uint64_t number = atomic_fetch_add(&record_count, 1) + 1;
	uint64_t shift = atomic_load(&shift_ns);
	struct kp_fake_stamp stamp;

	if (kp_fake_every(number, faults->drop)) {
		kp_fake_buffers_drop();
		return;
	}
	if (faults->clock_step && number >= faults->clock_step)
		shift -= CLOCK_STEP_NS;
	stamp.start_ns = op->start_ns + shift;
	stamp.end_ns = op->end_ns + shift;
	stamp.begun_ns = op->start_ns;
	stamp.done_ns = op->end_ns + faults->late * 1000000U;
	if (op->kind == KP_FAKE_OP_KERNEL)
		stamp_kernel(&stamp, op->end_ns - op->start_ns);
	kp_fake_buffers_append(kind, op, &stamp);
	if (kp_fake_every(number, faults->unknown_kind))
		kp_fake_buffers_append(KP_FAKE_KIND_UNKNOWN, op, NULL);
}

/* What something takes by script. */
static void take_time(uint64_t cost_us)
{
	const struct timespec cost = {.tv_nsec = (long)(cost_us * 1000)};

	if (cost.tv_nsec)
		nanosleep(&cost, NULL);
}

void kp_fake_activity_op(const struct kp_fake_op *op)
{
	if (kp_fake_faults()->no_records)
		return;
	switch (op->kind) {
	case KP_FAKE_OP_KERNEL:
		if (!atomic_load(&kernels_enabled))
			break;
		if (!op->graph_node && kp_fake_faults()->slow_record) {
			kp_fake_count(KP_FAKE_records_slow, 1);
			take_time(kp_fake_faults()->slow_record);
		}
		record((CUpti_ActivityKind)atomic_load(&kernel_kind), op);
		break;
	case KP_FAKE_OP_MEMCPY:
		if (atomic_load(&copies_enabled))
			record(CUPTI_ACTIVITY_KIND_MEMCPY, op);
		break;
	case KP_FAKE_OP_MEMSET:
		if (atomic_load(&sets_enabled))
			record(CUPTI_ACTIVITY_KIND_MEMSET, op);
		break;
	}
}

uint64_t kp_fake_activity_now(void)
{
	return atomic_load(&calls_enabled) ? kp_fake_client_now() : 0;
}

void kp_fake_activity_call(const struct kp_fake_api_call *call)
{
	struct kp_fake_op op = {.correlation = call->correlation, .call = call};

	if (!atomic_load(&calls_enabled) || kp_fake_faults()->no_records)
		return;
	if (atomic_load(&external_enabled) &&
	    kp_fake_external_top(&op.external_kind, &op.external_id))
		kp_fake_buffers_append(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, &op, NULL);
	kp_fake_buffers_append(CUPTI_ACTIVITY_KIND_DRIVER, &op, NULL);
}

static CUptiResult set_enabled(CUpti_ActivityKind kind, bool enable)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		if (enable && atomic_load(&kernels_enabled) &&
		    atomic_load(&kernel_kind) != (uint32_t)kind)
			return CUPTI_ERROR_NOT_COMPATIBLE;
		if (enable && kind == CUPTI_ACTIVITY_KIND_KERNEL)
			kp_fake_count(KP_FAKE_serial_enables, 1);
		atomic_store(&kernel_kind, (uint32_t)kind);
		atomic_store(&kernels_enabled, enable);
		kp_fake_graphs_record(enable);
		return CUPTI_SUCCESS;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		atomic_store(&copies_enabled, enable);
		return CUPTI_SUCCESS;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		atomic_store(&sets_enabled, enable);
		return CUPTI_SUCCESS;
	case CUPTI_ACTIVITY_KIND_DRIVER:
		atomic_store(&calls_enabled, enable);
		return CUPTI_SUCCESS;
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		atomic_store(&external_enabled, enable);
		return CUPTI_SUCCESS;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:         /* copies between devices, */
	case CUPTI_ACTIVITY_KIND_RUNTIME:         /* calls of a runtime, */
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: /* waits that are recorded, */
	case CUPTI_ACTIVITY_KIND_OVERHEAD:        /* and overhead: there is none of them here */
		return CUPTI_SUCCESS;
	default:
		return CUPTI_ERROR_INVALID_KIND;
	}
}

KP_FAKE_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (kp_fake_faults()->enable)
		return kp_fake_cupti_result((CUptiResult)kp_fake_faults()->enable);
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		take_time(kp_fake_faults()->switch_cost);
	kp_fake_attach();
	kp_fake_gpu()->take_lock();
	pthread_once(&start_once, start);
	/* The clocks are tied together when the first kind is enabled, and anew once detached. */
	if (!atomic_exchange(&tied, true))
		atomic_store(&shift_ns, kp_fake_client_now() - kp_fake_gpu()->now_ns());
	return kp_fake_cupti_result(set_enabled(kind, true));
}

KP_FAKE_EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	return kp_fake_cupti_result(set_enabled(kind, false));
}

KP_FAKE_EXPORT CUptiResult cuptiActivityRegisterCallbacks(
	CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (kp_fake_faults()->registration)
		return kp_fake_cupti_result((CUptiResult)kp_fake_faults()->registration);
	if (!request || !complete)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	kp_fake_attach();
	kp_fake_buffers_register(request, complete);
	atomic_store(&detached, false);
	kp_fake_graphs_attached();
	return CUPTI_SUCCESS;
}

/* A client that speaks to a CUPTI that it has detached brings it back into the process. */
void kp_fake_note_detached(void)
{
	if (atomic_load(&detached))
		kp_fake_count(KP_FAKE_calls_detached, 1);
}

KP_FAKE_EXPORT CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (kp_fake_faults()->timestamp)
		return kp_fake_cupti_result((CUptiResult)kp_fake_faults()->timestamp);
	if (!clock)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	atomic_store(&clock_callback, clock);
	atomic_store(&shift_ns, clock() - kp_fake_gpu()->now_ns());
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	if (!timestamp)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*timestamp = kp_fake_client_now();
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	uint64_t hang = kp_fake_faults()->hang_flush;
	bool forced = flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;

	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	kp_fake_note_detached();
	if (!kp_fake_buffers_registered())
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_OPERATION);
	kp_fake_count(KP_FAKE_flushes, 1);
	if (forced)
		kp_fake_count(KP_FAKE_forced_flushes, 1);
	while (hang && atomic_fetch_add(&flush_count, 1) + 1 >= hang)
		pause();
	if (!forced)
		take_time(kp_fake_faults()->slow_flush * 1000);
	if (forced)
		kp_fake_buffers_deliver(KP_FAKE_ALL);
	else if (!kp_fake_faults()->hold_buffers)
		kp_fake_buffers_deliver(KP_FAKE_COMPLETE);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	atomic_store(&period_ms, milliseconds);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
							     size_t *dropped)
{
	(void)context;
	(void)stream;
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	kp_fake_note_detached();
	if (kp_fake_faults()->drop_unreadable)
		return kp_fake_cupti_result((CUptiResult)kp_fake_faults()->drop_unreadable);
	if (!dropped)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*dropped = kp_fake_buffers_take_dropped();
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiFinalize(void)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	kp_fake_count(KP_FAKE_finalizes, 1);
	take_time(kp_fake_faults()->switch_cost);
	if (kp_fake_faults()->finalize)
		return kp_fake_cupti_result((CUptiResult)kp_fake_faults()->finalize);
	if (!kp_fake_callback_at_exit() || kp_fake_cupti_version() < FINALIZE_OLDEST)
		kp_fake_count(KP_FAKE_unsafe_finalizes, 1);
	atomic_store(&kernels_enabled, false);
	atomic_store(&copies_enabled, false);
	atomic_store(&sets_enabled, false);
	atomic_store(&calls_enabled, false);
	atomic_store(&external_enabled, false);
	kp_fake_unsubscribe_all();
	kp_fake_graphs_finalized();
	if (kp_fake_buffers_registered())
		kp_fake_buffers_deliver(KP_FAKE_ALL);
	kp_fake_buffers_register(NULL, NULL);
	kp_fake_names_lose();
	/* All that a client has set is gone as well. */
	kp_fake_buffers_expect_zero(false);
	atomic_store(&clock_callback, NULL);
	atomic_store(&tied, false);
	atomic_store(&detached, true);
	return CUPTI_SUCCESS;
}

void kp_fake_activity_forget(void)
{
	const pthread_once_t fresh = PTHREAD_ONCE_INIT;

	atomic_store(&kernels_enabled, false);
	atomic_store(&copies_enabled, false);
	atomic_store(&sets_enabled, false);
	start_once = fresh;
}
