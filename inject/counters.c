/* Hardware counters beside the records of kernels; see counters.h. */
#include "inject/counters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "inject/counters_owner.h"
#include "inject/counters_ring.h"
#include "inject/counters_settings.h"
#include "inject/cupti.h"
#include "inject/entry.h"
#include "inject/futex.h"
#include "inject/patience.h"
#include "inject/pm_session.h"
#include "inject/share_clock.h"
#include "inject/thread.h"
#include "inject/windows.h"

/* GPUs of one process whose counters can be sampled. */
#define GPUS 16
/* How long the program waits for the start of sampling, and for its end. */
#define START_LIMIT_MS 3000
#define STOP_LIMIT_MS 2000
/* How often samples are drained at least where records are not always on. */
#define WINDOW_DRAIN_MS 100
/* So many samples make a chunk before all have to be written. */
#define CHUNK_SAMPLES 8192

/* What the program wants of a GPU's thread, and where that is. */
enum wish { WISH_NOTHING, WISH_RUN, WISH_REST, WISH_END };
enum state { IDLE, STARTING, RUNNING, RESTING, ENDED };

struct gpu {
	_Atomic bool begun;    /* its thread is there, or there will never be one */
	_Atomic uint32_t wish; /* enum wish; changed before `asked` grows */
	_Atomic uint32_t asked,
		answered;         /* how many wishes there were, and up to which one it went */
	_Atomic uint32_t changes; /* of all this, to wait for */
	_Atomic uint32_t state;   /* enum state: the thread's */
	_Atomic bool absent;      /* there is no session, and `reason` says why */
	char reason[KP_PM_REASON_BYTES];
	_Atomic uint32_t owner; /* process that has the counters, if that is why */
	struct kp_pm_session session;
	struct kp_ring ring;
	bool gap;               /* thread: samples were lost or left out on the way to the ring */
	bool unwanted;          /* thread: nothing was recorded since the drain before */
	bool windowed;          /* thread: recording has been off */
	unsigned recording;     /* thread: kp_windows_recording at the drain before */
	uint64_t unwritten;     /* thread: they found no room */
	uint64_t cpu_begin_ns;  /* thread: CPU time of its own, when the session was open */
	uint64_t cpu_ns;        /* thread: the same since then */
	uint64_t start_cost_ns; /* the program's first waiting thread */
	_Atomic uint64_t stop_cost_ns;
	/* Worker: what is in the trace, and the session's number there. */
	bool described;
	uint32_t number,
		concluded; /* how often the state had changed when its totals were written */
	uint64_t lost;
};

static struct {
	struct kp_pm pm;
	struct kp_counters_settings settings;
	bool usable;                     /* the CUPTI of this process has PM sampling */
	char reason[KP_PM_REASON_BYTES]; /* why not */
	uint32_t sessions;               /* worker: numbers given so far */
	struct gpu gpus[GPUS];
} counters;

/* ---- wishes and answers ---- */

/* To be called once the wish has changed; returns the number of it. */
static uint32_t ask(struct gpu *gpu)
{
	uint32_t number = atomic_fetch_add(&gpu->asked, 1) + 1;

	kp_futex_step(&gpu->changes);
	return number;
}

static void answer(struct gpu *gpu, uint32_t number, enum state state)
{
	if (number == atomic_load(&gpu->answered) && state == atomic_load(&gpu->state))
		return;
	atomic_store(&gpu->state, state);
	atomic_store(&gpu->answered, number);
	kp_futex_step(&gpu->changes);
}

static uint32_t device_of(const struct gpu *gpu)
{
	return (uint32_t)(gpu - counters.gpus);
}

/* Waits until a wish has been answered, as long as the program can be kept waiting. */
static void wait_for(struct gpu *gpu, uint32_t number, unsigned limit_ms)
{
	struct kp_patience patience = {limit_ms * 1000000ULL};
	uint32_t seen;

	do {
		seen = atomic_load(&gpu->changes);
		if ((int32_t)(atomic_load(&gpu->answered) - number) >= 0 ||
		    atomic_load(&gpu->state) == ENDED)
			return;
	} while (kp_patience_wait(&patience, &gpu->changes, seen));
}

/* ---- the thread of a GPU ---- */

/* What was counted while nothing was recorded is left out, as the records are. */
static void take(void *context, struct kp_counter_sample *sample)
{
	struct gpu *gpu = context;

	if (gpu->unwanted) {
		gpu->gap = true;
		return;
	}
	if (gpu->gap)
		sample->flags |= KP_SAMPLE_AFTER_GAP;
	gpu->gap = !kp_ring_put(&gpu->ring, sample);
	gpu->unwritten += gpu->gap;
}

static uint64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void give_up(struct gpu *gpu)
{
	atomic_store(&gpu->absent, true);
	kp_owner_release(device_of(gpu));
	answer(gpu, atomic_load(&gpu->asked), ENDED);
}

static bool open_session(struct gpu *gpu, uint32_t device)
{
	const struct kp_pm_request request = {
		.device = device,
		.metrics = counters.settings.metrics,
		.interval_ns = counters.settings.interval_ns,
		.drain_ms = counters.settings.drain_ms,
	};
	uint32_t owner = 0;

	if (!counters.usable)
		memcpy(gpu->reason, counters.reason, sizeof(gpu->reason));
	else if (!kp_owner_claim(device, &owner, gpu->reason, sizeof(gpu->reason)))
		atomic_store(&gpu->owner, owner);
	else if (!kp_ring_init(&gpu->ring))
		snprintf(gpu->reason, sizeof(gpu->reason), "out of memory");
	else if (kp_pm_session_open(&gpu->session, &counters.pm, &request, gpu->reason))
		return true;
	return false;
}

static void look_at_windows(struct gpu *gpu)
{
	unsigned recording = atomic_load(&kp_windows_recording);

	gpu->unwanted =
		recording == gpu->recording && (recording & KP_RECORDING_MASK) == KP_RECORDING_OFF;
	gpu->session.timed_only = gpu->unwanted;
	gpu->windowed |=
		recording != gpu->recording || (recording & KP_RECORDING_MASK) != KP_RECORDING_ON;
	gpu->recording = recording;
}

/* Samples begin and end to be wanted with a drain: in windows it comes more often, as docs tell. */
static uint64_t period_of(const struct gpu *gpu)
{
	unsigned drain_ms = counters.settings.drain_ms;

	if (gpu->windowed && drain_ms > WINDOW_DRAIN_MS)
		drain_ms = WINDOW_DRAIN_MS;
	return drain_ms * 1000000ULL;
}

/*
 * The libraries that CUPTI has loaded by now end before those that were there when kprof began to
 * watch for the end of the program: watched anew, it comes before them.
 */
static bool begin_sampling(struct gpu *gpu)
{
	bool first = gpu->session.left_out == 0;

	if (!kp_pm_session_start(&gpu->session, gpu->reason))
		return false;
	if (first) {
		kp_pm_session_drain(&gpu->session, take, gpu);
		kp_entry_watch_end();
	}
	return true;
}

static bool drain(struct gpu *gpu)
{
	bool going;

	look_at_windows(gpu);
	going = kp_pm_session_drain(&gpu->session, take, gpu);
	gpu->cpu_ns = cpu_now() - gpu->cpu_begin_ns;
	return going;
}

static void end_sampling(struct gpu *gpu)
{
	look_at_windows(gpu);
	kp_pm_session_stop(&gpu->session, take, gpu);
	gpu->cpu_ns = cpu_now() - gpu->cpu_begin_ns;
}

/* Does what is wanted until the end is; false where CUPTI refuses. */
static bool run_session(struct gpu *gpu)
{
	bool running = false;

	for (;;) {
		uint32_t seen = atomic_load(&gpu->changes);
		uint32_t asked = atomic_load(&gpu->asked);
		uint32_t wish = atomic_load(&gpu->wish);
		uint64_t now_ns = kp_clock_now();

		if (running && wish != WISH_RUN) {
			end_sampling(gpu);
			running = false;
		} else if (!running && wish == WISH_RUN) {
			if (!begin_sampling(gpu))
				return false;
			running = true;
		} else if (running && !drain(gpu)) {
			return false;
		}
		if (wish == WISH_END)
			return true;
		answer(gpu, asked, running ? RUNNING : RESTING);
		kp_futex_wait(&gpu->changes, seen,
			      running ? now_ns + period_of(gpu) : KP_TIME_MAX_NS);
	}
}

static void *sample(void *context)
{
	struct gpu *gpu = context;
	uint32_t device = device_of(gpu);

	if (!open_session(gpu, device)) {
		give_up(gpu);
		return NULL;
	}
	gpu->cpu_begin_ns = cpu_now();
	if (!run_session(gpu) && gpu->session.left_out == 0)
		atomic_store(&gpu->absent, true);
	kp_pm_session_close(&gpu->session);
	kp_owner_release(device);
	answer(gpu, atomic_load(&gpu->asked), ENDED);
	return NULL;
}

static void start_thread(struct gpu *gpu)
{
	if (kp_thread_start("kprof-counters", sample, gpu))
		return;
	snprintf(gpu->reason, sizeof(gpu->reason), "no thread could be started");
	give_up(gpu);
}

/* ---- the program's side ---- */

void kp_counters_start(const struct kp_cupti *cupti)
{
	kp_counters_settings_read(&counters.settings);
	if (counters.settings.mode == KP_COUNTERS_OFF)
		return;
	counters.usable = cupti->version >= KP_PM_OLDEST && kp_pm_bind(&counters.pm, cupti->path);
	if (!counters.usable)
		snprintf(counters.reason, sizeof(counters.reason),
			 "CUPTI %u (%.160s) is older than that of CUDA 12.6: put a newer libcupti "
			 "in LD_LIBRARY_PATH, or set KPROF_CUPTI to it",
			 cupti->version, cupti->path);
}

static struct gpu *gpu_of(int device)
{
	if (counters.settings.mode == KP_COUNTERS_OFF || device < 0 || device >= GPUS ||
	    !kp_inject_is_on(&kp_inject))
		return NULL;
	return &counters.gpus[device];
}

static void begin(struct gpu *gpu)
{
	uint64_t begin_ns = kp_clock_now();
	uint32_t number;

	atomic_store(&gpu->wish, WISH_RUN);
	atomic_store(&gpu->state, STARTING);
	number = ask(gpu);
	start_thread(gpu);
	wait_for(gpu, number, START_LIMIT_MS);
	gpu->start_cost_ns = kp_clock_now() - begin_ns;
}

static void rest(struct gpu *gpu)
{
	uint64_t begin_ns = kp_clock_now();
	uint32_t running = WISH_RUN;

	if (!atomic_compare_exchange_strong(&gpu->wish, &running, WISH_REST))
		return;
	wait_for(gpu, ask(gpu), STOP_LIMIT_MS);
	atomic_store(&gpu->stop_cost_ns, kp_clock_now() - begin_ns);
}

void kp_counters_context_created(int device)
{
	struct gpu *gpu = gpu_of(device);
	int error = errno;

	if (gpu && !atomic_exchange(&gpu->begun, true))
		begin(gpu);
	errno = error;
}

void kp_counters_stop(void)
{
	int error = errno;

	for (size_t i = 0; i < GPUS; i++)
		rest(&counters.gpus[i]);
	errno = error;
}

void kp_counters_resume(void)
{
	for (size_t i = 0; i < GPUS; i++) {
		struct gpu *gpu = &counters.gpus[i];
		uint32_t resting = WISH_REST;

		if (atomic_compare_exchange_strong(&gpu->wish, &resting, WISH_RUN))
			ask(gpu);
	}
}

void kp_counters_close(void)
{
	uint32_t numbers[GPUS] = {0};

	for (size_t i = 0; i < GPUS; i++) {
		atomic_store(&counters.gpus[i].wish, WISH_END);
		if (atomic_load(&counters.gpus[i].begun))
			numbers[i] = ask(&counters.gpus[i]);
	}
	for (size_t i = 0; i < GPUS; i++)
		wait_for(&counters.gpus[i], numbers[i], STOP_LIMIT_MS);
}

bool kp_counters_asked(void)
{
	return counters.settings.mode != KP_COUNTERS_OFF;
}

void kp_counters_forget(void)
{
	kp_owner_forget();
	memset(&counters, 0, sizeof(counters));
	counters.settings.mode = KP_COUNTERS_OFF;
}

/* ---- the trace: worker ---- */

static void describe(struct gpu *gpu, struct kp_counters_info *info)
{
	const struct kp_pm_session *session = &gpu->session;
	const char *text = session->text;

	KP_SET(info, COUNTERS, device, device_of(gpu));
	if (atomic_load(&gpu->absent)) {
		KP_SET(info, COUNTERS, absent,
		       ((struct kp_text){gpu->reason, strlen(gpu->reason)}));
		if (atomic_load(&gpu->owner))
			KP_SET(info, COUNTERS, owner_pid, atomic_load(&gpu->owner));
		return;
	}
	KP_SET(info, COUNTERS, chip,
	       ((struct kp_text){session->chip->name, strlen(session->chip->name)}));
	KP_SET(info, COUNTERS, metrics, ((struct kp_text){text, strlen(text)}));
	if (session->chip->trigger == KP_PM_BY_TIME)
		KP_SET(info, COUNTERS, interval_ns, session->interval);
	else
		KP_SET(info, COUNTERS, interval_cycles, session->interval);
	KP_SET(info, COUNTERS, start_cost_ns, gpu->start_cost_ns);
}

/* The counts of a session whose thread rests. */
static void conclude(const struct gpu *gpu, struct kp_counters_info *info)
{
	const struct kp_pm_session *session = &gpu->session;

	if (session->samples) {
		uint64_t ahead_ns = (uint64_t)kp_share_clock_ahead_ns();

		KP_SET(info, COUNTERS, begin_ns, session->begin_ns - ahead_ns);
		KP_SET(info, COUNTERS, end_ns, session->last_ns - ahead_ns);
	}
	KP_SET(info, COUNTERS, samples, session->samples);
	KP_SET(info, COUNTERS, samples_left_out, session->left_out);
	KP_SET(info, COUNTERS, samples_invalid, session->invalid);
	KP_SET(info, COUNTERS, samples_unwritten, gpu->unwritten + gpu->lost);
	KP_SET(info, COUNTERS, gaps, session->gaps);
	KP_SET(info, COUNTERS, overflows, session->overflows);
	KP_SET(info, COUNTERS, decode_cpu_ns, gpu->cpu_ns);
	KP_SET(info, COUNTERS, start_cost_ns, gpu->start_cost_ns);
	KP_SET(info, COUNTERS, stop_cost_ns, atomic_load(&gpu->stop_cost_ns));
}

/* Whether a message of kprof's own is due: what was asked for by name cannot be had. */
static void complain(const struct gpu *gpu)
{
	if (counters.settings.mode == KP_COUNTERS_ON)
		kp_live_say(&kp_inject, "hardware counters of GPU %u are not sampled: %s",
			    (unsigned)device_of(gpu), gpu->reason);
}

static void write_record(struct kp_writer *writer, const struct gpu *gpu,
			 struct kp_counters_info *info)
{
	KP_SET(info, COUNTERS, number, gpu->number);
	kp_writer_counters(writer, info);
}

static void write_description(struct kp_writer *writer, struct gpu *gpu)
{
	struct kp_counters_info info = {0};

	gpu->described = true;
	gpu->number = counters.sessions++;
	describe(gpu, &info);
	write_record(writer, gpu, &info);
	if (atomic_load(&gpu->absent))
		complain(gpu);
}

/* Once for each time that the thread has come to rest. */
static void write_conclusion(struct kp_writer *writer, struct gpu *gpu)
{
	uint32_t changes = atomic_load(&gpu->changes);
	uint32_t state = atomic_load(&gpu->state);
	struct kp_counters_info info = {0};

	if ((state != RESTING && state != ENDED) || gpu->concluded == changes)
		return;
	gpu->concluded = changes;
	conclude(gpu, &info);
	write_record(writer, gpu, &info);
}

/* On kprof's clock, as kernels are; see share_clock.h. */
static void write_samples(struct kp_writer *writer, struct gpu *gpu, bool all)
{
	uint64_t ahead_ns = (uint64_t)kp_share_clock_ahead_ns();
	const struct kp_counter_sample *run;
	struct kp_counter_sample *own;
	uint32_t count, length;

	while ((count = kp_ring_peek(&gpu->ring, &run, &length)) > 0 &&
	       (all || count >= CHUNK_SAMPLES)) {
		own = gpu->ring.samples + (run - gpu->ring.samples);
		for (uint32_t i = 0; i < length; i++) {
			own[i].session = gpu->number;
			own[i].begin_ns -= ahead_ns;
			own[i].end_ns -= ahead_ns;
		}
		if (kp_writer_samples(writer, run, length) != KP_OK)
			gpu->lost += length;
		kp_ring_take(&gpu->ring, length);
	}
}

void kp_counters_write(struct kp_writer *writer, bool all)
{
	for (size_t i = 0; i < GPUS; i++) {
		struct gpu *gpu = &counters.gpus[i];

		if (!atomic_load(&gpu->begun) || atomic_load(&gpu->state) < RUNNING)
			continue;
		if (!gpu->described)
			write_description(writer, gpu);
		if (atomic_load(&gpu->absent))
			continue;
		write_samples(writer, gpu, all);
		if (all)
			write_conclusion(writer, gpu);
	}
}
