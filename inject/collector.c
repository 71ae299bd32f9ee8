/* Starts, feeds and ends the collection; see collector.h. */
#include "inject/collector.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inject/buffers.h"
#include "inject/cupti.h"
#include "inject/driver.h"
#include "inject/futex.h"
#include "inject/nvtx.h"
#include "inject/output.h"
#include "inject/share.h"
#include "inject/share_clock.h"
#include "inject/tools.h"
#include "inject/translate.h"
#include "trace/writer.h"

/* How often the worker asks CUPTI for what is complete and writes it: at most this is lost to a
 * SIGKILL, beside what CUPTI itself still holds. */
#define FLUSH_PERIOD_NS 500000000ULL
#define WAKE_MS 250
/* How long the end waits for kernels that have run but whose records CUPTI still works on. */
#define SETTLE_MS 100
/* CLOCK_REALTIME moved against the trace's clock by more than this: a new pair is recorded. */
#define CLOCK_STEP_NS 1000000LL

static const CUpti_ActivityKind kinds[] = {
	/* Never CUPTI_ACTIVITY_KIND_KERNEL: it serialises the program's kernels. */
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,
	CUPTI_ACTIVITY_KIND_MEMSET,
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static struct {
	struct kp_cupti cupti;
	struct kp_output output;
	struct kp_writer *writer;
	struct kp_translator *translator;
	struct kp_counts counts; /* worker only */
	bool dropped_known;
	int64_t clock_offset_ns; /* realtime - monotonic, as last recorded */
	bool noted;              /* worker only: the message is in the trace */
	pthread_t worker;
	/* Requests to the worker, counted, and its answers, which can be waited for. */
	_Atomic uint32_t stop, stopped;
	_Atomic uint32_t suspend, suspended;
	_Atomic uint32_t resume;
	uint32_t resumed; /* worker only */
} collector = {.dropped_known = true};

/* ---- what the launcher sees ---- */

static void publish(struct kp_inject *inject)
{
	const struct kp_counts *counts = &collector.counts;
	struct kp_live_slot *slot = inject->slot;
	struct kp_writer_loss loss = kp_writer_loss(collector.writer);
	uint64_t unwritten = counts->kernels_unwritten + loss.launches;

	atomic_store(&slot->kernels_recorded, counts->kernels_recorded);
	atomic_store(&slot->kernels_invalid, counts->kernels_invalid);
	atomic_store(&slot->kernels_untimed, counts->kernels_untimed);
	atomic_store(&slot->records_dropped,
		     collector.dropped_known ? counts->records_dropped : UINT64_MAX);
	atomic_store(&slot->kernels_written, counts->kernels_recorded - unwritten);
	atomic_store(&slot->write_errno, (uint64_t)loss.first_errno);
	if (loss.first_errno) {
		char reason[128];

		kp_live_say(inject,
			    "the trace cannot be written (%s): free space or choose another "
			    "place with -o; records are being lost",
			    strerror_r(loss.first_errno, reason, sizeof(reason)));
	}
}

/* The counts as a record: only what is known is set. */
static void write_counts(const struct kp_inject *inject)
{
	struct kp_counts counts = collector.counts;
	struct kp_writer_loss loss = kp_writer_loss(collector.writer);

	KP_SET(&counts, COUNTS, kernels_recorded, counts.kernels_recorded);
	KP_SET(&counts, COUNTS, kernels_invalid, counts.kernels_invalid);
	KP_SET(&counts, COUNTS, kernels_untimed, counts.kernels_untimed);
	KP_SET(&counts, COUNTS, kernels_unwritten, counts.kernels_unwritten + loss.launches);
	KP_SET(&counts, COUNTS, memops_recorded, counts.memops_recorded);
	KP_SET(&counts, COUNTS, memops_unwritten, loss.memops);
	KP_SET(&counts, COUNTS, ranges_recorded, counts.ranges_recorded);
	KP_SET(&counts, COUNTS, ranges_unwritten, loss.ranges);
	KP_SET(&counts, COUNTS, records_unknown, counts.records_unknown);
	/* More records than launches: some way of launching passes the hooks by. */
	if (atomic_load(&inject->slot->kernels_issued) < counts.kernels_recorded)
		atomic_store(&inject->slot->issued_known, 0);
	if (atomic_load(&inject->slot->issued_known))
		KP_SET(&counts, COUNTS, kernels_issued, atomic_load(&inject->slot->kernels_issued));
	if (collector.dropped_known)
		KP_SET(&counts, COUNTS, records_dropped, counts.records_dropped);
	if (loss.first_errno)
		KP_SET(&counts, COUNTS, write_errno, (uint64_t)loss.first_errno);
	kp_writer_counts(collector.writer, &counts);
}

/* ---- the worker ---- */

static void write_clock(bool always)
{
	struct kp_clock_info pair = kp_clock_pair();
	int64_t offset_ns = (int64_t)(pair.realtime_ns - pair.monotonic_ns);

	if (!always && llabs(offset_ns - collector.clock_offset_ns) < CLOCK_STEP_NS)
		return;
	collector.clock_offset_ns = offset_ns;
	kp_writer_clock(collector.writer, &pair);
}

static void translate_all(struct kp_filled *filled)
{
	while (filled) {
		struct kp_filled *next = filled->next;

		kp_translate(collector.translator, filled->bytes, filled->valid_bytes,
			     &collector.counts);
		kp_buffers_recycle(filled);
		filled = next;
	}
}

/* CUPTI's count starts anew each time it is read. */
static void count_dropped(void)
{
	size_t dropped = 0;

	if (collector.cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS)
		collector.counts.records_dropped += kp_share_dropped(dropped);
	else
		collector.dropped_known = false;
}

/* The trace's descriptor for the next chunk; each write fails and is counted where there is none.
 */
static int output_fd(void *context)
{
	struct kp_output *output = context;

	return kp_output_check(output) ? output->fd : -1;
}

static void write_out(struct kp_inject *inject)
{
	kp_nvtx_drain(collector.writer, &collector.counts);
	kp_writer_flush(collector.writer);
	publish(inject);
}

static void flush_periodically(struct kp_inject *inject)
{
	kp_share_flush(&collector.cupti, 0);
	translate_all(kp_buffers_take(0));
	count_dropped();
	write_clock(false);
	write_out(inject);
}

/* Gives records of finished kernels a moment to complete; then takes what there is. */
static bool flush_finally(void)
{
	uint64_t untimed = collector.counts.kernels_untimed;
	uint64_t until = kp_clock_now() + SETTLE_MS * 1000000ULL;

	kp_share_flush(&collector.cupti, 0);
	while (kp_buffers_lent() && kp_clock_now() < until) {
		const struct timespec pause = {.tv_nsec = 2000000};

		nanosleep(&pause, NULL);
		kp_share_flush(&collector.cupti, 0);
	}
	kp_share_flush(&collector.cupti, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	translate_all(kp_buffers_take(0));
	count_dropped();
	return collector.counts.kernels_untimed > untimed;
}

/* A CUPTI older than the GPU enables everything and delivers nothing. */
static void explain_silence(struct kp_inject *inject)
{
	const struct kp_cupti *cupti = &collector.cupti;
	int supported = 1;

	if (collector.counts.kernels_recorded == 0 &&
	    cupti->DeviceSupported(0, &supported) == CUPTI_SUCCESS && !supported)
		kp_live_say(inject,
			    "CUPTI %u (%.200s) does not support this GPU: put a newer libcupti "
			    "in LD_LIBRARY_PATH or set KPROF_CUPTI to it",
			    cupti->version, cupti->path);
}

static void end_trace(struct kp_inject *inject, enum kp_end_way way)
{
	struct kp_end end = {0};

	KP_SET(&end, END, way, way);
	KP_SET(&end, END, forced, flush_finally());
	explain_silence(inject);
	write_out(inject);
	write_clock(true);
	KP_SET(&end, END, end_ns, kp_clock_now());
	write_counts(inject);
	if (inject->slot->message[0] && !collector.noted)
		kp_writer_note(collector.writer, KP_NOTE_WARNING, inject->slot->message);
	collector.noted = inject->slot->message[0] != '\0';
	kp_writer_end(collector.writer, &end);
	publish(inject);
	atomic_store(&inject->slot->state, KP_LIVE_ENDED);
}

/* No thread that wanted to become another program did. */
static void withdraw_end(struct kp_inject *inject)
{
	struct kp_end end = {0};

	KP_SET(&end, END, way, KP_END_WITHDRAWN);
	atomic_store(&inject->slot->state, KP_LIVE_RUNNING);
	kp_writer_end(collector.writer, &end);
}

/* Sets an answer to the number of the request and wakes who waits for it. */
static void answer(_Atomic uint32_t *word, uint32_t request)
{
	atomic_store(word, request - 1);
	kp_futex_step(word);
}

static void look_at_requests(struct kp_inject *inject)
{
	uint32_t suspend = atomic_load(&collector.suspend);
	uint32_t resume = atomic_load(&collector.resume);

	if (suspend != atomic_load(&collector.suspended)) {
		end_trace(inject, KP_END_EXEC);
		answer(&collector.suspended, suspend);
	}
	if (resume != collector.resumed && resume == suspend) {
		collector.resumed = resume;
		withdraw_end(inject);
	}
}

static void *work(void *context)
{
	struct kp_inject *inject = context;
	uint64_t next_ns = kp_clock_now() + FLUSH_PERIOD_NS;

	while (!atomic_load(&collector.stop)) {
		uint64_t now_ns = kp_clock_now();
		uint64_t left_ms = now_ns < next_ns ? (next_ns - now_ns) / 1000000U + 1 : 0;

		kp_share_serve();
		translate_all(kp_buffers_take(left_ms < WAKE_MS ? (unsigned)left_ms : WAKE_MS));
		if (kp_clock_now() >= next_ns) {
			flush_periodically(inject);
			next_ns = kp_clock_now() + FLUSH_PERIOD_NS;
		}
		look_at_requests(inject);
	}
	kp_share_worker(false);
	end_trace(inject, KP_END_EXIT);
	kp_buffers_close();
	answer(&collector.stopped, 1);
	return NULL;
}

/* The worker takes none of the program's signals. */
static bool start_worker(struct kp_inject *inject)
{
	sigset_t all, before;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	kp_share_worker(true);
	failed = pthread_create(&collector.worker, NULL, work, inject);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
		kp_share_worker(false);
		return false;
	}
	pthread_setname_np(collector.worker, "kprof");
	pthread_detach(collector.worker);
	return true;
}

/* ---- starting ---- */

static uint64_t CUPTIAPI cupti_clock(void)
{
	return kp_clock_now();
}

static void CUPTIAPI ignore(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			    const void *data)
{
	(void)context;
	(void)domain;
	(void)id;
	(void)data;
}

/*
 * Whether another client is at work: its buffers would be taken from it silently. Only a subscriber
 * can ask; kprof does not stay one, so that a profiler which the program starts later can.
 */
static CUptiResult look_for_others(const struct kp_cupti *cupti)
{
	CUpti_SubscriberHandle subscriber;
	CUptiResult result = cupti->Subscribe(&subscriber, ignore, NULL);

	if (result == CUPTI_SUCCESS)
		cupti->Unsubscribe(subscriber);
	return result;
}

static void disable(const struct kp_cupti *cupti)
{
	for (size_t i = 0; i < KIND_COUNT; i++)
		cupti->ActivityDisable(kinds[i]);
	kp_share_abandon();
}

/* Turns records on. On failure everything is off again. */
static CUptiResult enable(struct kp_inject *inject, const struct kp_cupti *cupti)
{
	uint8_t zeroed = 1;
	size_t size = sizeof(zeroed);
	bool own_clock;
	CUptiResult result = look_for_others(cupti);

	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && kp_share_knows_subscriber())
		result = CUPTI_SUCCESS; /* the program's own profiler: the records are shared */
	if (result != CUPTI_SUCCESS)
		return result;
	/* A clock that never steps; set before anything is enabled. Refused: CUPTI's own stays. */
	own_clock = cupti->ActivityRegisterTimestampCallback(cupti_clock) == CUPTI_SUCCESS;
	kp_share_begin(inject, cupti, kinds, KIND_COUNT, own_clock);
	cupti->ActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
	result = cupti->ActivityRegisterCallbacks(kp_buffers_request, kp_share_completed);
	for (size_t i = 0; result == CUPTI_SUCCESS && i < KIND_COUNT; i++)
		result = cupti->ActivityEnable(kinds[i]);
	if (result != CUPTI_SUCCESS)
		disable(cupti);
	return result;
}

static void explain(struct kp_inject *inject, const struct kp_cupti *cupti, CUptiResult result)
{
	const char *remedy = "update CUPTI or the driver so that they match";

	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
		remedy = "another profiler is in this process: run without it";
	else if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
		remedy = "allow profiling for all users (NVreg_RestrictProfilingToAdminUsers=0) or "
			 "run as root";
	kp_live_say(inject, "CUPTI %u (%s) refuses: %s (%d); %s", cupti->version, cupti->path,
		    kp_cupti_word(cupti, result), (int)result, remedy);
}

/* Binds the first CUPTI that works. */
static bool find_cupti(struct kp_inject *inject)
{
	char path[PATH_MAX] = "";
	char tried[PATH_MAX] = "";
	const char *only = inject->settings.cupti_path;
	const char *tool = kp_tools_find();

	if (tool) {
		kp_live_say(inject,
			    "the program runs under %s, which leaves no room for another: kprof "
			    "stands aside; run one of the two",
			    tool);
		return false;
	}

	for (unsigned i = 0; kp_cupti_candidate(i, only, path); i++) {
		struct kp_cupti *cupti = &collector.cupti;
		CUptiResult result;

		if (!kp_cupti_bind(cupti, path)) {
			if (!tried[0])
				strcpy(tried, path);
			continue;
		}
		if (cupti->version < KP_CUPTI_OLDEST) {
			kp_live_say(inject,
				    "CUPTI %u (%s) is too old: kprof needs that of CUDA 11.8 "
				    "or later; put a newer libcupti in LD_LIBRARY_PATH",
				    cupti->version, cupti->path);
			continue;
		}
		result = enable(inject, cupti);
		if (result == CUPTI_SUCCESS)
			return true;
		explain(inject, cupti, result);
	}
	kp_live_say(inject,
		    "no libcupti could be loaded (tried first: %.150s): install the CUDA "
		    "Toolkit's CUPTI, or set CUDA_HOME to the toolkit",
		    tried);
	return false;
}

static bool open_trace(struct kp_inject *inject)
{
	char reason[128];

	if (!kp_output_open(&collector.output, inject->settings.trace_path)) {
		kp_live_say(inject, "cannot open the trace %.200s: %s", inject->settings.trace_path,
			    strerror_r(errno, reason, sizeof(reason)));
		return false;
	}
	if (kp_writer_create(collector.output.fd, inject->process, &collector.writer) != KP_OK) {
		kp_live_say(inject, "out of memory");
		return false;
	}
	kp_writer_set_source(collector.writer, output_fd, &collector.output);
	return true;
}

static void write_opening(struct kp_inject *inject, bool collecting)
{
	static struct kp_process_info info; /* its texts live as long as the process */
	uint64_t driver_version;

	info.has = 0;
	kp_process_describe(&inject->settings, &info);
	if (kp_driver_version(&driver_version))
		KP_SET(&info, PROCESS, driver_version, driver_version);
	if (collecting) {
		const char *path = collector.cupti.path;

		KP_SET(&info, PROCESS, cupti_version, collector.cupti.version);
		KP_SET(&info, PROCESS, cupti_path, ((struct kp_text){path, strlen(path)}));
	}
	kp_writer_process(collector.writer, &info);
	write_clock(true);
	if (!collecting)
		kp_writer_note(collector.writer, KP_NOTE_ERROR, inject->slot->message);
}

bool kp_collector_start(struct kp_inject *inject)
{
	struct kp_shield shield;
	bool collecting;

	if (!open_trace(inject))
		return false;
	collecting = find_cupti(inject);
	kp_output_shield(&shield);
	write_opening(inject, collecting);
	kp_output_unshield(&shield);
	if (!collecting)
		return false;
	collector.translator = kp_translator_create(&collector.cupti, collector.writer);
	if (collector.translator && start_worker(inject)) {
		kp_share_prepare();
		return true;
	}
	disable(&collector.cupti);
	kp_live_say(inject, "out of memory or threads");
	return false;
}

/* Waits for the answer to a request, as long as the program can be kept waiting. */
static bool wait_for(struct kp_inject *inject, _Atomic uint32_t *word, uint32_t request)
{
	uint64_t until_ns = kp_clock_now() + KP_FINISH_LIMIT_MS * 1000000ULL;
	uint32_t seen;

	kp_buffers_wake();
	while ((int32_t)((seen = atomic_load(word)) - request) < 0) {
		if (kp_clock_now() >= until_ns) {
			kp_live_tell(inject, "CUPTI did not give back its records in time at the "
					     "end; the last ones are missing");
			return false;
		}
		kp_futex_wait(word, seen, until_ns);
	}
	return true;
}

void kp_collector_finish(struct kp_inject *inject)
{
	if (!kp_inject_is_on(inject))
		return;
	atomic_store(&collector.stop, 1);
	wait_for(inject, &collector.stopped, 1);
}

bool kp_collector_suspend(struct kp_inject *inject)
{
	if (!kp_inject_is_on(inject) || atomic_load(&collector.stop))
		return false;
	wait_for(inject, &collector.suspended, atomic_fetch_add(&collector.suspend, 1) + 1);
	return true;
}

void kp_collector_resume(struct kp_inject *inject)
{
	(void)inject;
	atomic_fetch_add(&collector.resume, 1);
	kp_buffers_wake();
}

void kp_collector_forget(void)
{
	kp_output_forget(&collector.output);
	memset(&collector, 0, sizeof(collector));
	collector.output.fd = -1;
	collector.dropped_known = true;
}
