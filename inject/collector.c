/* Starts, feeds and ends the collection; see collector.h. */
#include "inject/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "inject/ab.h"
#include "inject/boards.h"
#include "inject/buffers.h"
#include "inject/clocks.h"
#include "inject/counters.h"
#include "inject/ctl.h"
#include "inject/cupti.h"
#include "inject/detach.h"
#include "inject/driver.h"
#include "inject/enabling.h"
#include "inject/futex.h"
#include "inject/hooks_gates.h"
#include "inject/host.h"
#include "inject/library.h"
#include "inject/nvtx.h"
#include "inject/output.h"
#include "inject/patience.h"
#include "inject/runs.h"
#include "inject/share.h"
#include "inject/share_clock.h"
#include "inject/standby.h"
#include "inject/thread.h"
#include "inject/translate.h"
#include "inject/window_counts.h"
#include "inject/windows.h"
#include "trace/writer.h"

/* How often the worker asks CUPTI for what is complete and writes it: at most this is lost to a
 * SIGKILL, beside what CUPTI itself still holds. */
#define FLUSH_PERIOD_NS 500000000ULL
/* CUPTI is asked for records at most this part of the time: what it does then stalls its delivery
 * of full buffers and grows with what it keeps (30 bytes a launch once a graph was instantiated).
 */
#define FLUSH_SHARE 100
/* But no later than this after the last time: the process may have been stopped in the middle. */
#define FLUSH_PAUSE_LAST_NS 60000000000ULL
#define WAKE_MS KP_CTL_LOOK_MS
/* How long the end waits for kernels that have run but whose records CUPTI still works on. */
#define SETTLE_MS 100

static struct {
	const struct kp_cupti *cupti;
	struct kp_output output;
	struct kp_writer *writer;
	struct kp_translator *translator;
	struct kp_counts counts; /* worker only */
	bool dropped_known;
	bool windows_noted; /* worker only: what there is to say about windows is in the trace */
	int64_t clock_offset_ns; /* realtime - monotonic, as last recorded */
	bool noted;              /* worker only: the message is in the trace */
	uint64_t flush_due_ns;   /* worker only: not asked for partly filled buffers before */
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
	atomic_store(&slot->kernels_filtered, counts->kernels_filtered);
	kp_host_publish(slot);
	atomic_store(&slot->write_errno, (uint64_t)loss.first_errno);
	if (loss.first_errno) {
		char reason[128];

		kp_live_say(inject,
			    "the trace cannot be written (%s): free space or choose another "
			    "place with -o; records are being lost",
			    strerror_r(loss.first_errno, reason, sizeof(reason)));
	}
}

/* Kernel records that CUPTI delivered, or says it lost. */
static uint64_t delivered(void)
{
	return collector.counts.kernels_recorded + collector.counts.kernels_filtered +
	       collector.counts.records_dropped;
}

/* The counts as a record: only what is known is set. */
static void write_counts(const struct kp_inject *inject)
{
	struct kp_counts counts = collector.counts;
	struct kp_writer_loss loss = kp_writer_loss(collector.writer);

	atomic_store(&inject->slot->kernels_told, atomic_load(&inject->slot->kernels_issued));
	KP_SET(&counts, COUNTS, kernels_recorded, counts.kernels_recorded);
	KP_SET(&counts, COUNTS, kernels_invalid, counts.kernels_invalid);
	KP_SET(&counts, COUNTS, kernels_untimed, counts.kernels_untimed);
	KP_SET(&counts, COUNTS, kernels_unwritten, counts.kernels_unwritten + loss.launches);
	KP_SET(&counts, COUNTS, memops_recorded, counts.memops_recorded);
	KP_SET(&counts, COUNTS, memops_unwritten, loss.memops);
	KP_SET(&counts, COUNTS, ranges_recorded, counts.ranges_recorded);
	KP_SET(&counts, COUNTS, ranges_unwritten, loss.ranges);
	KP_SET(&counts, COUNTS, records_unknown, counts.records_unknown);
	KP_SET(&counts, COUNTS, kernels_filtered, counts.kernels_filtered);
	kp_windows_put_counts(inject->slot, delivered(), &counts);
	if (atomic_load(&inject->slot->issued_known))
		KP_SET(&counts, COUNTS, kernels_issued, atomic_load(&inject->slot->kernels_issued));
	if (collector.dropped_known)
		KP_SET(&counts, COUNTS, records_dropped, counts.records_dropped);
	kp_host_put_counts(&loss, &counts);
	kp_runs_put_counts(&loss, &counts);
	kp_library_put_counts(&loss, &counts);
	if (loss.first_errno)
		KP_SET(&counts, COUNTS, write_errno, (uint64_t)loss.first_errno);
	kp_writer_counts(collector.writer, &counts);
}

/* ---- the worker ---- */

static void write_clock(bool always)
{
	struct kp_clock_info pair = kp_clock_pair();
	int64_t offset_ns = (int64_t)(pair.realtime_ns - pair.monotonic_ns);

	/* CLOCK_REALTIME moved against the trace's clock: a new pair is recorded. */
	if (!always && llabs(offset_ns - collector.clock_offset_ns) < KP_CLOCK_STEP_NS)
		return;
	collector.clock_offset_ns = offset_ns;
	kp_writer_clock(collector.writer, &pair);
}

static void translate_all(struct kp_filled *filled)
{
	while (filled) {
		struct kp_filled *next = filled->next;

		kp_translate(collector.translator, filled->bytes, filled->valid_bytes,
			     kp_share_clock_ahead_ns(), &collector.counts);
		kp_buffers_recycle(filled);
		filled = next;
	}
}

/* CUPTI's count starts anew each time it is read. */
static void count_dropped(void)
{
	size_t dropped = 0;

	if (collector.cupti->ActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS)
		collector.counts.records_dropped += kp_share_dropped(dropped);
	else
		collector.dropped_known = false;
}

/* What was counted when CUPTI was detached. */
static void count_dropped_before(void)
{
	size_t dropped = kp_detach_take_dropped();

	if (dropped == SIZE_MAX)
		collector.dropped_known = false;
	else
		collector.counts.records_dropped += dropped;
}

/* The trace's descriptor for the next chunk; each write fails and is counted where there is none.
 */
static int output_fd(void *context)
{
	struct kp_output *output = context;

	return kp_output_check(output) ? output->fd : -1;
}

static void write_out(struct kp_inject *inject, bool ends)
{
	kp_nvtx_drain(collector.writer, &collector.counts);
	kp_host_drain(collector.writer);
	kp_runs_drain(collector.writer, ends);
	kp_library_drain(collector.writer);
	kp_counters_write(collector.writer, true);
	kp_writer_flush(collector.writer);
	kp_windows_write(collector.writer, true);
	publish(inject);
}

/* CUPTI gives back full buffers by itself; this asks for those that are partly filled. */
static void flush_partly_filled(void)
{
	uint64_t begin_ns = kp_clock_now(), pause_ns;

	kp_share_flush(collector.cupti, 0);
	pause_ns = FLUSH_SHARE * (kp_clock_now() - begin_ns);
	if (pause_ns > FLUSH_PAUSE_LAST_NS)
		pause_ns = FLUSH_PAUSE_LAST_NS;
	collector.flush_due_ns = begin_ns + pause_ns;
}

/* Takes what CUPTI has ready. While CUPTI is detached nothing may be asked: it would come back. */
static void take_records(bool flush)
{
	uint64_t begin_ns = kp_clock_now();

	if (!kp_windows_begin_calls()) {
		flush = true; /* it has none */
	} else {
		if (flush)
			flush_partly_filled();
		count_dropped();
		kp_windows_end_calls();
	}
	translate_all(kp_buffers_take(0));
	count_dropped_before();
	if (flush)
		kp_boards_settled(begin_ns);
}

static void flush_periodically(struct kp_inject *inject)
{
	take_records(kp_clock_now() >= collector.flush_due_ns);
	write_clock(false);
	write_out(inject, false);
}

/* Gives records of finished kernels a moment to complete; then takes what there is. */
static bool flush_finally(void)
{
	uint64_t untimed = collector.counts.kernels_untimed;
	uint64_t until = kp_clock_now() + SETTLE_MS * 1000000ULL;

	count_dropped_before();
	if (!kp_windows_begin_calls()) {
		translate_all(kp_buffers_take(0));
		return false;
	}
	kp_share_flush(collector.cupti, 0);
	while (kp_buffers_lent() && kp_clock_now() < until) {
		const struct timespec pause = {.tv_nsec = 2000000};

		nanosleep(&pause, NULL);
		kp_share_flush(collector.cupti, 0);
	}
	kp_share_flush(collector.cupti, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	translate_all(kp_buffers_take(0));
	count_dropped();
	kp_windows_end_calls();
	return collector.counts.kernels_untimed > untimed;
}

/* A CUPTI older than the GPU enables everything and delivers nothing. */
static void explain_silence(struct kp_inject *inject)
{
	const struct kp_cupti *cupti = collector.cupti;
	int supported = 1;

	if (delivered() > 0 || !kp_windows_begin_calls())
		return;
	if (cupti->DeviceSupported(0, &supported) == CUPTI_SUCCESS && !supported)
		kp_live_say(inject,
			    "CUPTI %u (%.200s) does not support this GPU: put a newer libcupti "
			    "in LD_LIBRARY_PATH or set KPROF_CUPTI to it",
			    cupti->version, cupti->path);
	kp_windows_end_calls();
}

/* What happened to the windows, once. */
static void write_windows_note(void)
{
	const char *note = kp_windows_note();

	if (note && !collector.windows_noted)
		kp_writer_note(collector.writer, KP_NOTE_INFO, note);
	collector.windows_noted = note != NULL;
}

/*
 * Far more records than launches: some way of launching passes the hooks by, so that their count
 * says nothing. A few are no sign of that: each thread may have been stopped for good, by a signal
 * whose handler ends the program, between the driver's call and its count.
 */
static void judge_issued(struct kp_inject *inject)
{
	uint64_t uncounted = kp_hooks_graph_uncounted();
	uint64_t issued = atomic_load(&inject->slot->kernels_issued);
	uint64_t recorded = collector.counts.kernels_recorded + collector.counts.kernels_filtered;

	if (recorded > issued + uncounted + KP_UNCOUNTED_THREADS ||
	    recorded > 2 * issued + uncounted)
		atomic_store(&inject->slot->issued_known, 0);
}

static void end_trace(struct kp_inject *inject, enum kp_end_way way)
{
	struct kp_end end = {0};

	kp_ab_work(true);
	kp_windows_finish();
	kp_counters_stop();
	KP_SET(&end, END, way, way);
	KP_SET(&end, END, forced, flush_finally());
	explain_silence(inject);
	write_out(inject, true);
	write_clock(true);
	KP_SET(&end, END, end_ns, kp_clock_now());
	judge_issued(inject);
	write_counts(inject);
	if (inject->slot->message[0] && !collector.noted)
		kp_writer_note(collector.writer, KP_NOTE_WARNING, inject->slot->message);
	collector.noted = inject->slot->message[0] != '\0';
	write_windows_note();
	kp_writer_end(collector.writer, &end);
	publish(inject);
	kp_boards_end(true);
	atomic_store(&inject->slot->state, KP_LIVE_ENDED);
}

/* No thread that wanted to become another program did. */
static void withdraw_end(struct kp_inject *inject)
{
	struct kp_end end = {0};

	KP_SET(&end, END, way, KP_END_WITHDRAWN);
	atomic_store(&inject->slot->state, KP_LIVE_RUNNING);
	kp_boards_end(false);
	kp_writer_end(collector.writer, &end);
	kp_counters_resume();
	kp_windows_resume();
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

/* ---- kprof ctl ---- */

static void take_all_records(void)
{
	take_records(true);
}

static void control(const struct kp_control_request *request, int fd, struct kp_control_answer *out)
{
	const struct kp_live_slot *slot = kp_inject.slot;
	enum kp_control_verb verb = (enum kp_control_verb)request->verb;
	bool on = verb == KP_CONTROL_START, switches = on || verb == KP_CONTROL_STOP;
	const char *refusal = kp_ab_switch(verb, request->rule);
	struct stat about;

	if (verb == KP_CONTROL_WATCH)
		refusal = kp_boards_attach(fd);
	if (refusal || (switches && !kp_windows_control(on, take_all_records)))
		out->result = KP_CONTROL_FAILED;
	if (switches || verb == KP_CONTROL_SNAPSHOT) {
		collector.flush_due_ns = 0;
		flush_periodically(&kp_inject);
	}
	if (verb == KP_CONTROL_SNAPSHOT)
		write_counts(&kp_inject);
	out->recording = kp_windows_is_open();
	out->duty = kp_windows_has_duty();
	out->windows = kp_windows_number();
	out->issued_known = atomic_load(&slot->issued_known) != 0;
	out->kernels_issued = atomic_load(&slot->kernels_issued);
	out->kernels_recorded = collector.counts.kernels_recorded;
	out->kernels_filtered = collector.counts.kernels_filtered;
	out->kernels_out_of_window = atomic_load(&slot->kernels_out_of_window);
	if (kp_output_check(&collector.output) && fstat(collector.output.fd, &about) == 0)
		out->trace_bytes = (uint64_t)about.st_size;
	snprintf(out->message, sizeof(out->message), "%.255s", refusal ? refusal : slot->message);
	snprintf(out->trace, sizeof(out->trace), "%s", collector.output.path);
}

/* One turn of the worker: what CUPTI gave back, what is due, who has asked. */
static void work_once(unsigned most_ms)
{
	static unsigned due_ms = 1;

	translate_all(kp_buffers_take(due_ms < most_ms ? due_ms : most_ms));
	kp_host_drain(collector.writer);
	kp_runs_drain(collector.writer, false);
	kp_library_drain(collector.writer);
	if (kp_windows_wants_flush())
		take_records(true);
	count_dropped_before();
	due_ms = kp_windows_tick(WAKE_MS, delivered());
	if (due_ms >= KP_CLOCKS_ROOM_MS && kp_standby_is_keeping())
		kp_clocks_tick(collector.writer);
	kp_ctl_serve(control);
	kp_counters_write(collector.writer, false);
	kp_ab_work(false);
	if (kp_boards_watched() && kp_boards_tick(kp_windows_is_open()))
		kp_windows_unwatched(take_all_records);
}

static void *work(void *context)
{
	struct kp_inject *inject = context;
	uint64_t next_ns = kp_clock_now() + FLUSH_PERIOD_NS;

	kp_ctl_start();
	while (!atomic_load(&collector.stop)) {
		uint64_t now_ns = kp_clock_now();
		uint64_t left_ms = now_ns < next_ns ? (next_ns - now_ns) / 1000000U + 1 : 0;

		kp_share_serve();
		work_once(left_ms < WAKE_MS ? (unsigned)left_ms : WAKE_MS);
		if (kp_clock_now() >= next_ns) {
			flush_periodically(inject);
			next_ns = kp_clock_now() + FLUSH_PERIOD_NS;
		}
		look_at_requests(inject);
	}
	kp_share_worker(false);
	kp_ctl_end();
	end_trace(inject, KP_END_EXIT);
	kp_host_stop();
	kp_runs_stop();
	kp_library_stop();
	kp_buffers_close();
	kp_counters_close();
	answer(&collector.stopped, 1);
	return NULL;
}

static bool start_worker(struct kp_inject *inject)
{
	kp_share_worker(true);
	if (kp_thread_start("kprof", work, inject))
		return true;
	kp_share_worker(false);
	return false;
}

/* ---- starting ---- */

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
		const char *path = collector.cupti->path;

		KP_SET(&info, PROCESS, cupti_version, collector.cupti->version);
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
	bool collecting, attached;

	if (!open_trace(inject))
		return false;
	kp_boards_start();
	collector.cupti = kp_enabling_find(inject, &attached);
	collecting = collector.cupti != NULL;
	kp_output_shield(&shield);
	write_opening(inject, collecting);
	kp_output_unshield(&shield);
	if (!collecting)
		return false;
	collector.translator = kp_translator_create(collector.cupti, collector.writer);
	kp_host_start(collector.cupti);
	kp_runs_start(collector.cupti);
	kp_library_start(collector.cupti);
	kp_windows_start(inject, collector.cupti, kp_windows_on_at_start(), attached);
	kp_counters_start(collector.cupti);
	if (collector.translator && start_worker(inject)) {
		if (kp_share_on()) /* else the client is CUPTI's alone until a window begins */
			kp_share_prepare();
		return true;
	}
	kp_enabling_abandon();
	kp_live_say(inject, "out of memory or threads");
	return false;
}

/* Waits for the answer to a request, as long as the program can be kept waiting. */
static bool wait_for(struct kp_inject *inject, _Atomic uint32_t *word, uint32_t request)
{
	struct kp_patience patience = {KP_FINISH_LIMIT_MS * 1000000ULL};
	uint32_t seen;

	kp_buffers_wake();
	while ((int32_t)((seen = atomic_load(word)) - request) < 0) {
		if (!kp_patience_wait(&patience, word, seen)) {
			kp_live_tell(inject, "CUPTI did not give back its records in time at the "
					     "end; the last ones are missing");
			return false;
		}
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
