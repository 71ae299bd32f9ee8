/*
 * Memory that replacements work in, with a driver that only counts: what two threads or streams use
 * at once is never the same, and what one that has gone used comes to others behind its work.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "inject/ab_graph.h"
#include "inject/ab_state.h"

#define CONTEXT ((CUcontext)0x1000)
#define STREAM(n) ((CUstream)(uintptr_t)(0x2000 + 16 * (n)))
#define BYTES 4096

struct kp_ab_state kp_ab = {.rare = PTHREAD_MUTEX_INITIALIZER};
_Atomic bool kp_ab_on;

static uint64_t next_memory;
static unsigned events_made, events_ended, graphs_gone;
static bool reached; /* the GPU has come to all events */
static unsigned long long context_id;
static int primary_active;
static bool was_locked; /* a candidate was launched with the mutex */

/* ---- what the two files ask of others ---- */

void kp_ab_graphs_context_gone(CUcontext context)
{
	(void)context;
	graphs_gone++;
}

void kp_ab_times_harvest(struct kp_ab_context *context)
{
	(void)context;
}

int kp_ab_driver_launch(const void *config, void *function, void **arguments, void **extra)
{
	(void)config, (void)function, (void)arguments, (void)extra;
	return 0;
}

struct kp_kernels_driver kp_ab_driver_for_kernels(const struct kp_ab_driver *driver)
{
	(void)driver;
	return (struct kp_kernels_driver){0};
}

/* ---- the driver ---- */

static CUresult CUDAAPI get_context(CUcontext *out)
{
	*out = CONTEXT;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_id(CUcontext context, unsigned long long *out)
{
	(void)context;
	*out = context_id;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_device(CUdevice *out)
{
	*out = 0;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_state(CUdevice device, unsigned *flags, int *active)
{
	(void)device;
	*flags = 0;
	*active = primary_active;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI allocate(CUdeviceptr *out, size_t bytes)
{
	*out = next_memory;
	next_memory += bytes;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI exchange(CUstreamCaptureMode *mode)
{
	static _Thread_local CUstreamCaptureMode own = CU_STREAM_CAPTURE_MODE_GLOBAL;
	CUstreamCaptureMode before = own;

	own = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI make_event(CUevent *out, unsigned flags)
{
	(void)flags;
	*out = (CUevent)(uintptr_t)(0x3000 + 16 * ++events_made);
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI end_event(CUevent event)
{
	(void)event;
	events_ended++;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI record(CUevent event, CUstream stream)
{
	(void)event, (void)stream;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI query(CUevent event)
{
	(void)event;
	return reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static const struct kp_ab_driver driver = {
	.context = get_context,
	.context_id = get_id,
	.device = get_device,
	.primary_state = get_state,
	.memory = allocate,
	.exchange_capture_mode = exchange,
	.event = make_event,
	.destroy_event = end_event,
	.record = record,
	.query = query,
};

/* ---- candidates ---- */

static enum kp_status create(const struct kp_kernels_driver *of, struct kp_candidates_set *out,
			     int *driver_error)
{
	(void)of, (void)out, (void)driver_error;
	return KP_OK;
}

static size_t workspace(const struct kp_candidates_set *set, uint32_t builtin,
			const int64_t *values)
{
	(void)set, (void)builtin, (void)values;
	return BYTES;
}

static void *try_lock(void *got)
{
	*(bool *)got = pthread_mutex_trylock(&kp_ab.rare) == 0;
	if (*(bool *)got)
		pthread_mutex_unlock(&kp_ab.rare);
	return NULL;
}

static bool others_can_lock(void)
{
	pthread_t thread;
	bool got = false;

	assert_int_equal(pthread_create(&thread, NULL, try_lock, &got), 0);
	pthread_join(thread, NULL);
	return got;
}

static enum kp_status launch(const struct kp_candidates_set *set, uint32_t builtin,
			     const int64_t *values, void *memory, size_t bytes, void *stream)
{
	(void)set, (void)builtin, (void)values, (void)stream;
	assert_non_null(memory);
	assert_int_equal(bytes, BYTES);
	was_locked = !others_can_lock();
	return KP_OK;
}

static const struct kp_candidates candidates = {
	.create = create, .workspace = workspace, .launch = launch};
static const struct kp_ab_header header;
static const struct kp_ab_plan plan = {.header = &header};

/* ---- tests ---- */

static struct kp_ab_context *context;

static struct kp_ab_context *get(void)
{
	return kp_ab_context_get(&plan, &candidates, &driver);
}

static int set_up(void **state)
{
	(void)state;
	kp_ab_contexts_forget();
	kp_ab.driver = driver;
	kp_ab.candidates = &candidates;
	atomic_store(&kp_ab_on, true);
	next_memory = 1 << 20;
	events_made = events_ended = graphs_gone = 0;
	reached = false;
	context_id = 1;
	primary_active = 1;
	context = get();
	assert_non_null(context);
	return 0;
}

static uint64_t memory_of(CUstream stream)
{
	uint64_t out;

	assert_true(kp_ab_context_workspace(context, &driver, stream, BYTES, &out));
	return out;
}

static void *ask_per_thread(void *out)
{
	*(uint64_t *)out = memory_of(CU_STREAM_PER_THREAD);
	return NULL;
}

static void test_ab_context_threads_share_no_stream_of_their_own(void **state)
{
	uint64_t own = memory_of(CU_STREAM_PER_THREAD), other = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, ask_per_thread, &other), 0);
	pthread_join(thread, NULL);
	assert_true(other != 0 && other != own);
	assert_true(memory_of(CU_STREAM_PER_THREAD) == own);
	assert_true(memory_of(NULL) == memory_of(CU_STREAM_LEGACY));
	assert_true(memory_of(NULL) != own);
}

static void test_ab_context_lock_is_held_in_a_launch(void **state)
{
	const struct kp_ab_rule rule = {.replace = KP_AB_REPLACE_BUILTIN};
	const struct kp_ab_job job = {.rule = &rule, .stream = STREAM(1)};

	(void)state;
	assert_int_equal(kp_ab_candidate_run(context, &job, job.values, false), KP_AB_REASON_COUNT);
	assert_true(was_locked);
	assert_true(others_can_lock());
}

static void test_ab_context_streams_that_go_leave_their_memory(void **state)
{
	uint64_t first = memory_of(STREAM(0)), second = memory_of(STREAM(1));

	(void)state;
	kp_ab_stream_goes(STREAM(0), false);
	assert_true(memory_of(STREAM(1)) == second); /* another one's stays */
	assert_true(memory_of(STREAM(2)) != first);  /* the GPU is still at it */
	reached = true;
	assert_true(memory_of(STREAM(3)) == first);
	assert_int_equal(events_made, events_ended);
	for (unsigned i = 4; i < 1000; i++) {
		memory_of(STREAM(i));
		kp_ab_stream_goes(STREAM(i), false);
	}
	assert_true(next_memory < (1 << 20) + 16 * BYTES);
}

static void test_ab_context_streams_that_go_unseen_leave_nothing(void **state)
{
	uint64_t first = memory_of(STREAM(0));

	(void)state;
	reached = true;
	kp_ab_stream_goes(STREAM(0),
			  true); /* in the midst of a capture nothing is recorded in it */
	assert_true(memory_of(STREAM(0)) != first);
	first = memory_of(STREAM(0));
	pthread_mutex_lock(&kp_ab.rare);
	kp_ab_stream_goes(STREAM(0), false);
	pthread_mutex_unlock(&kp_ab.rare);
	assert_true(memory_of(STREAM(0)) != first);
}

static void test_ab_context_release_ends_what_it_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		kp_ab_primary_releases(0);
		assert_null(get()); /* meanwhile */
		kp_ab_primary_released(0);
		assert_ptr_equal(get(), context);
	}
	kp_ab_primary_releases(1);
	assert_ptr_equal(get(), context);
	assert_int_equal(graphs_gone, 0);
	kp_ab_primary_releases(0);
	primary_active = 0;
	kp_ab_primary_released(0);
	assert_int_equal(graphs_gone, 1);
	primary_active = 1;
	assert_true(get() && get() != context);
}

static void test_ab_context_handle_of_another_is_not_it(void **state)
{
	(void)state;
	context_id = 2; /* as where a green context has gone */
	assert_true(get() && get() != context);
	assert_int_equal(graphs_gone, 1);
	kp_ab_primary_releases(0);
	context_id = 3; /* and one that was released and made anew meanwhile */
	kp_ab_primary_released(0);
	assert_null(kp_ab_context_find(CONTEXT));
}

/* What is reset may not be there, or stay; and it may be a context of another kind. */
static void test_ab_context_reset_ends_what_it_ends(void **state)
{
	(void)state;
	primary_active = 0;
	kp_ab_primary_goes(0);
	assert_ptr_equal(get(), context);
	kp_ab_primary_released(0);
	assert_ptr_equal(get(), context);
	primary_active = 1;
	kp_ab_primary_goes(0);
	assert_null(get()); /* meanwhile */
	kp_ab_primary_released(0);
	assert_ptr_equal(get(), context);
	kp_ab_primary_goes(0);
	primary_active = 0;
	kp_ab_primary_released(0);
	primary_active = 1;
	assert_true(get() && get() != context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ab_context_threads_share_no_stream_of_their_own,
				       set_up),
		cmocka_unit_test_setup(test_ab_context_lock_is_held_in_a_launch, set_up),
		cmocka_unit_test_setup(test_ab_context_streams_that_go_leave_their_memory, set_up),
		cmocka_unit_test_setup(test_ab_context_streams_that_go_unseen_leave_nothing,
				       set_up),
		cmocka_unit_test_setup(test_ab_context_release_ends_what_it_ends, set_up),
		cmocka_unit_test_setup(test_ab_context_reset_ends_what_it_ends, set_up),
		cmocka_unit_test_setup(test_ab_context_handle_of_another_is_not_it, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
