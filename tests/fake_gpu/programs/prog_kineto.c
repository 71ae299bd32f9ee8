/*
 * A program with a profiler of its own that calls CUPTI in the order in which PyTorch's Kineto
 * does: it subscribes, and in each session registers, enables, discards the warm-up, works,
 * disables and flushes, where it asks for no flush if it was never asked for a buffer. It prints
 * what it got, which must be the same whether or not another tool records meanwhile.
 *
 * Work outside the sessions must not reach it. Built three times: bound by dlsym; linked
 * (KP_LINKED); and as a library that links CUPTI (KP_PLUGIN) for prog_plugin, as PyTorch's is in
 * Python.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>
#include <cupti.h>

#include "tests/fake_gpu/common/image.h"

#define SESSION_KERNELS 20
#define SESSION_SETS 3
#define OUTSIDE_KERNELS 7
#define KERNEL_NS 1000
#define BUFFER_BYTES 2048 /* small: sessions need several */
#define BUFFERS 4096
#define THREADS 4
#define THREAD_KERNELS 1500
#define OWN_CLOCK_OFFSET 7000000000000000U
/* A record's times lie within the session by the client's clock, but for this: what the fitting of
 * one clock onto the other may cost. */
#define BOUND_NS 200000U
#define DURATION_BOUND_NS 20U

/* X(name without the prefix): the functions of CUPTI that this program uses. */
#define FUNCTIONS(X)                                                                               \
	X(Subscribe)                                                                               \
	X(Unsubscribe)                                                                             \
	X(EnableDomain)                                                                            \
	X(Finalize)                                                                                \
	X(GetTimestamp)                                                                            \
	X(ActivityRegisterTimestampCallback)                                                       \
	X(ActivityRegisterCallbacks)                                                               \
	X(ActivityEnable)                                                                          \
	X(ActivityDisable)                                                                         \
	X(ActivitySetAttribute)                                                                    \
	X(ActivityGetAttribute)                                                                    \
	X(ActivityFlushAll)                                                                        \
	X(ActivityGetNumDroppedRecords)                                                            \
	X(ActivityGetNextRecord)                                                                   \
	X(ActivityPushExternalCorrelationId)                                                       \
	X(ActivityPopExternalCorrelationId)

static struct {
#define MEMBER(name) __typeof__(cupti##name) *name;
	FUNCTIONS(MEMBER)
#undef MEMBER
} cupti;

/* In the order in which Kineto enables them. */
static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
	CUPTI_ACTIVITY_KIND_RUNTIME,
	CUPTI_ACTIVITY_KIND_DRIVER,
	CUPTI_ACTIVITY_KIND_OVERHEAD,
};

static struct {
	bool own_clock, serial, threads, finalize, leave, registered, subscribed, silent;
	bool kernels_only;
	int sessions;
} options = {.sessions = 1};

/* Buffers as Kineto keeps them: given, and given back. */
static struct {
	pthread_mutex_t lock;
	uint8_t *given[BUFFERS];
	struct filled {
		uint8_t *bytes;
		size_t valid_bytes;
	} ready[BUFFERS];
	size_t given_count, ready_count;
	size_t dropped;
} buffers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static CUpti_SubscriberHandle subscriber;
static _Atomic bool teardown;
static CUfunction session_kernel, outside_kernel, background_kernel;
static CUdeviceptr memory;

static void require(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "prog_kineto: %s: error %d\n", what, result);
	exit(3);
}

#define CUPTI(call) require((int)cupti.call, "cupti" #call)
#define CUDA(call) require((int)(call), #call)

/* ---- what CUPTI calls ---- */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t CUPTIAPI own_clock(void)
{
	return read_clock(CLOCK_MONOTONIC) + OWN_CLOCK_OFFSET;
}

/* The clock in which this client expects its times. */
static uint64_t client_now(void)
{
	return options.own_clock ? own_clock() : read_clock(CLOCK_REALTIME);
}

static void CUPTIAPI request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*bytes = BUFFER_BYTES;
	*max_records = 0;
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	pthread_mutex_lock(&buffers.lock);
	require(buffers.given_count < BUFFERS ? 0 : -1, "too many buffers");
	buffers.given[buffers.given_count++] = *buffer;
	pthread_mutex_unlock(&buffers.lock);
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			      size_t valid_bytes)
{
	size_t at = 0, dropped = 0;

	(void)bytes;
	pthread_mutex_lock(&buffers.lock);
	while (at < buffers.given_count && buffers.given[at] != buffer)
		at++;
	require(at < buffers.given_count ? 0 : -1, "a buffer that was not given");
	buffers.given[at] = buffers.given[--buffers.given_count];
	buffers.ready[buffers.ready_count++] = (struct filled){buffer, valid_bytes};
	CUPTI(ActivityGetNumDroppedRecords(context, stream, &dropped));
	buffers.dropped += dropped;
	pthread_mutex_unlock(&buffers.lock);
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)user;
	(void)id;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || !atomic_load(&teardown) ||
	    call->callbackSite != CUPTI_API_EXIT)
		return;
	if (!options.silent)
		CUPTI(Unsubscribe(subscriber));
	CUPTI(Finalize());
	atomic_store(&teardown, false);
}

/* ---- reading ---- */

struct got {
	int kernels, outside, background, sets, calls, launches, external, others;
	int bad_times;
};

static void judge_times(struct got *got, uint64_t start, uint64_t end, uint64_t begun,
			uint64_t ended)
{
	got->bad_times += start + BOUND_NS < begun || end > ended + BOUND_NS || end < start;
}

static void read_kernel(struct got *got, const CUpti_ActivityKernel8 *kernel, uint64_t begun,
			uint64_t ended)
{
	uint64_t duration = kernel->end - kernel->start;

	if (strcmp(kernel->name, "session") != 0) {
		got->outside += strcmp(kernel->name, "outside") == 0;
		got->background += strcmp(kernel->name, "background") == 0;
		return;
	}
	got->kernels++;
	judge_times(got, kernel->start, kernel->end, begun, ended);
	got->bad_times += duration + DURATION_BOUND_NS < KERNEL_NS ||
			  duration > KERNEL_NS + DURATION_BOUND_NS;
}

static void read_record(struct got *got, const CUpti_Activity *record, uint64_t begun,
			uint64_t ended)
{
	const CUpti_ActivityAPI *call = (const void *)record;
	const CUpti_ActivityMemset4 *set = (const void *)record;
	const CUpti_ActivityExternalCorrelation *external = (const void *)record;

	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
	case CUPTI_ACTIVITY_KIND_KERNEL:
		got->others += options.serial != (record->kind == CUPTI_ACTIVITY_KIND_KERNEL);
		read_kernel(got, (const void *)record, begun, ended);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		got->sets++;
		judge_times(got, set->start, set->end, begun, ended);
		break;
	case CUPTI_ACTIVITY_KIND_DRIVER:
		got->calls++;
		got->launches += call->cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
		if (!options.threads) /* their calls may have begun before the session */
			judge_times(got, call->start, call->end, begun, ended);
		break;
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		got->external += external->externalId == 77;
		break;
	default:
		got->others++;
		break;
	}
}

/* Reads what came back, and frees it. */
static void read_ready(struct got *got, uint64_t begun, uint64_t ended)
{
	pthread_mutex_lock(&buffers.lock);
	for (size_t i = 0; i < buffers.ready_count; i++) {
		struct filled *filled = &buffers.ready[i];
		CUpti_Activity *record = NULL;

		while (filled->valid_bytes &&
		       cupti.ActivityGetNextRecord(filled->bytes, filled->valid_bytes, &record) ==
			       CUPTI_SUCCESS)
			read_record(got, record, begun, ended);
		free(filled->bytes);
	}
	buffers.ready_count = 0;
	pthread_mutex_unlock(&buffers.lock);
}

static bool was_asked(void)
{
	bool asked;

	pthread_mutex_lock(&buffers.lock);
	asked = buffers.given_count > 0;
	pthread_mutex_unlock(&buffers.lock);
	return asked;
}

/* ---- work ---- */

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_nsec = ms * 1000000L};

	nanosleep(&pause, NULL);
}

static void launch(CUfunction function, int count)
{
	for (int i = 0; i < count; i++)
		CUDA(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

static void work_outside(void)
{
	pause_ms(1);
	launch(outside_kernel, OUTSIDE_KERNELS);
	CUDA(cuCtxSynchronize());
	pause_ms(1);
}

static void *work_in_background(void *context)
{
	CUstream stream;

	CUDA(cuCtxSetCurrent(context));
	CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < THREAD_KERNELS; i++) {
		CUDA(cuLaunchKernel(background_kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
		if (i % 50 == 0)
			pause_ms(1);
	}
	CUDA(cuStreamSynchronize(stream));
	return NULL;
}

/* ---- a session ---- */

static void enable(void)
{
	if (options.own_clock)
		CUPTI(ActivityRegisterTimestampCallback(own_clock));
	CUPTI(ActivityRegisterCallbacks(request, complete));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool kernels = kinds[i] == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;

		if (options.kernels_only && !kernels)
			continue;
		CUPTI(ActivityEnable(kernels && options.serial ? CUPTI_ACTIVITY_KIND_KERNEL
							       : kinds[i]));
	}
}

static void disable(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		CUPTI(ActivityDisable(kinds[i]));
		if (options.serial && kinds[i] == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			CUPTI(ActivityDisable(CUPTI_ACTIVITY_KIND_KERNEL));
	}
}

static void flush(void)
{
	uint8_t off = 0;
	size_t size = sizeof(off);

	if (!was_asked())
		return;
	CUPTI(ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	CUPTI(ActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &off));
}

static void discard_warm_up(void)
{
	struct got unused = {0};

	if (was_asked())
		CUPTI(ActivityFlushAll(0));
	read_ready(&unused, 0, UINT64_MAX);
}

static void work_in_session(void)
{
	CUPTI(ActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 77));
	launch(session_kernel, SESSION_KERNELS);
	for (int i = 0; i < SESSION_SETS; i++)
		CUDA(cuMemsetD8Async(memory, 0, 512, NULL));
	CUPTI(ActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL));
	CUDA(cuCtxSynchronize());
}

static void check_timestamp(void)
{
	uint64_t before = client_now(), now, after;

	CUPTI(GetTimestamp(&now));
	after = client_now();
	printf("timestamp %s\n",
	       now >= before && now <= after ? "of its clock" : "of another clock");
}

static void run_session(int number)
{
	struct got got = {0};
	uint64_t begun;

	if (!options.registered || number > 1)
		enable();
	discard_warm_up();
	begun = client_now();
	work_in_session();
	if (options.leave)
		return;
	check_timestamp();
	disable();
	work_outside();
	flush();
	read_ready(&got, begun, client_now());
	printf("session %d: %d kernels, %d from outside, %d sets, %d ids, %d others, %d bad times, "
	       "%zu dropped, %zu buffers out\n",
	       number, got.kernels, got.outside, got.sets, got.external, got.others, got.bad_times,
	       buffers.dropped, buffers.given_count);
	if (!options.threads) /* theirs come and go with the time */
		printf("%d calls, %d launches, %d in the background\n", got.calls, got.launches,
		       got.background);
}

/* As Kineto: CUPTI is finalised from a callback at the end of some call. */
static void tear_down(void)
{
	CUPTI(EnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	atomic_store(&teardown, true);
	CUDA(cuCtxSynchronize());
	require(atomic_load(&teardown) ? -1 : 0, "no callback");
	work_outside();
	CUPTI(Subscribe(&subscriber, callback, NULL));
}

/* ---- the program ---- */

static void bind(void)
{
#ifdef KP_LINKED
#define BIND(name) cupti.name = cupti##name;
#else
	void *library = dlopen("libcupti.so.13", RTLD_NOW);

	require(library ? 0 : -1, "libcupti.so.13");
#define BIND(name)                                                                                 \
	*(void **)&cupti.name = dlsym(library, "cupti" #name);                                     \
	require(cupti.name ? 0 : -1, #name);
#endif
	FUNCTIONS(BIND)
#undef BIND
}

static CUcontext begin_cuda(void)
{
	struct kp_fake_kernel kernels[] = {
		{.name = "session", .duration_ns = KERNEL_NS},
		{.name = "outside", .duration_ns = KERNEL_NS},
		{.name = "background", .duration_ns = KERNEL_NS},
	};
	struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 3, kernels};
	CUcontext context;
	CUmodule module;

	CUDA(cuInit(0));
	CUDA(cuDevicePrimaryCtxRetain(&context, 0));
	CUDA(cuCtxSetCurrent(context));
	CUDA(cuModuleLoadData(&module, &image));
	CUDA(cuModuleGetFunction(&session_kernel, module, "session"));
	CUDA(cuModuleGetFunction(&outside_kernel, module, "outside"));
	CUDA(cuModuleGetFunction(&background_kernel, module, "background"));
	CUDA(cuMemAlloc(&memory, 4096));
	return context;
}

static void read_options(char **argument)
{
	static const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{"--own-clock", &options.own_clock},
		{"--serial", &options.serial},
		{"--threads", &options.threads},
		{"--finalize", &options.finalize},
		{"--leave", &options.leave},
		{"--registered", &options.registered},
		{"--subscribed", &options.subscribed},
		{"--silent", &options.silent},
		{"--kernels-only", &options.kernels_only},
	};

	for (; *argument; argument++) {
		bool known = strcmp(*argument, "--twice") == 0;

		if (known)
			options.sessions = 2;
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
			if (strcmp(*argument, flags[i].name) == 0)
				known = *flags[i].flag = true;
		require(known ? 0 : -1, *argument);
	}
}

#ifdef KP_PLUGIN
#define main kp_plugin_main
__attribute__((visibility("default"))) int kp_plugin_main(int count, char **arguments);
#endif

int main(int count, char **arguments)
{
	pthread_t threads[THREADS] = {0};
	CUcontext context;

	(void)count;
	read_options(arguments + 1);
	bind();
	if (options.subscribed || options.registered)
		CUPTI(Subscribe(&subscriber, callback, NULL));
	if (options.registered)
		enable();
	context = begin_cuda();
	if (!options.registered)
		work_outside();
	if (!options.subscribed && !options.registered)
		CUPTI(Subscribe(&subscriber, callback, NULL));
	for (int i = 0; options.threads && i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, work_in_background, context), "threads");
	for (int number = 1; number <= options.sessions; number++) {
		run_session(number);
		if (options.leave)
			return 0;
		work_outside();
		if (options.finalize)
			tear_down();
	}
	for (int i = 0; options.threads && i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
