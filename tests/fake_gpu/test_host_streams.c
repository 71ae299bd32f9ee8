/* Streams by handle, on their own: what is asked of CUPTI, and that it never is while it goes. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/cupti.h"
#include "inject/hooks.h"
#include "inject/host.h"
#include "inject/host_streams.h"
#include "inject/windows.h"
#include "trace/records.h"

#define LIMIT_NS 5000000000ULL

/* ---- what host_streams.c asks of the rest ---- */

_Atomic unsigned kp_windows_recording;
static bool host_asked;
static _Atomic bool gone;
static _Atomic unsigned asked, asked_in_vain;

bool kp_host_asked(void)
{
	return host_asked;
}

static CUresult CUDAAPI get_context(CUcontext *context)
{
	*context = (CUcontext)(uintptr_t)64;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_context_of(CUstream stream, CUcontext *context)
{
	(void)stream;
	return get_context(context);
}

void *kp_hooks_driver_symbol(const char *name)
{
	return strcmp(name, "cuCtxGetCurrent") == 0 ? (void *)get_context : (void *)get_context_of;
}

static CUptiResult get_context_id(CUcontext context, uint32_t *id)
{
	(void)context;
	atomic_fetch_add(&asked, 1);
	if (atomic_load(&gone))
		atomic_fetch_add(&asked_in_vain, 1);
	*id = 1;
	return CUPTI_SUCCESS;
}

static CUptiResult get_stream_id(CUcontext context, CUstream stream, uint8_t per_thread,
				 uint32_t *id)
{
	(void)context;
	(void)per_thread;
	if (atomic_load(&gone))
		atomic_fetch_add(&asked_in_vain, 1);
	*id = (uint32_t)(uintptr_t)stream;
	return CUPTI_SUCCESS;
}

static const struct kp_cupti cupti = {.GetContextId = get_context_id,
				      .GetStreamIdEx = get_stream_id};

static uint32_t find(struct kp_host_streams *streams, uintptr_t handle)
{
	uint32_t context, stream;

	kp_host_streams_find(streams, (struct kp_host_stream){(CUstream)handle, false}, &context,
			     &stream);
	return stream;
}

/* ---- tests ---- */

static int start(void **state)
{
	(void)state;
	kp_host_streams_start(&cupti);
	atomic_store(&kp_windows_recording, KP_RECORDING_ON);
	atomic_store(&asked, 0);
	host_asked = false;
	return 0;
}

static void test_handles_are_asked_for_once(void **state)
{
	struct kp_host_streams streams = {0};

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(find(&streams, 4096), 4096);
	assert_int_equal(asked, 1);
	kp_host_streams_expire();
	assert_int_equal(find(&streams, 4096), 4096);
	assert_int_equal(asked, 2);
}

static void test_nothing_is_asked_while_records_are_off(void **state)
{
	static const unsigned words[] = {KP_RECORDING_OFF, KP_RECORDING_SWITCHING,
					 KP_RECORDING_OFF | 4};
	struct kp_host_streams streams = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		atomic_store(&kp_windows_recording, words[i]);
		assert_int_equal(find(&streams, 4096), KP_HOST_UNKNOWN);
	}
	assert_int_equal(asked, 0);
	host_asked = true; /* then CUPTI stays */
	assert_int_equal(find(&streams, 4096), 4096);
	host_asked = false;
	atomic_store(&kp_windows_recording, KP_RECORDING_ON);
	assert_int_equal(find(&streams, 8192), 8192);
	assert_int_equal(asked, 2);
}

static void test_a_closed_gate_is_not_waited_for(void **state)
{
	struct kp_host_streams streams = {0};

	(void)state;
	assert_true(kp_gate_close(&kp_host_streams_gate, false, LIMIT_NS));
	assert_int_equal(find(&streams, 4096), KP_HOST_UNKNOWN);
	kp_gate_open(&kp_host_streams_gate);
	assert_int_equal(find(&streams, 4096), 4096);
	assert_int_equal(asked, 1);
	assert_int_equal(kp_gate_inside(&kp_host_streams_gate), 0);
}

static _Atomic bool stop;

static void *keep_asking(void *argument)
{
	struct kp_host_streams streams = {0};

	(void)argument;
	for (uintptr_t i = 0; !atomic_load(&stop); i++)
		find(&streams, 4096 + i % 100000);
	return NULL;
}

/* As detach.c: the gate is closed, CUPTI goes, and comes again later. */
static void test_nothing_is_asked_while_cupti_is_away(void **state)
{
	pthread_t threads[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, keep_asking, NULL), 0);
	for (int i = 0; i < 300; i++) {
		usleep(100);
		assert_true(kp_gate_close(&kp_host_streams_gate, false, LIMIT_NS));
		atomic_store(&kp_windows_recording, KP_RECORDING_SWITCHING);
		atomic_store(&gone, true);
		atomic_store(&kp_windows_recording, KP_RECORDING_OFF);
		kp_gate_open(&kp_host_streams_gate);
		usleep(100);
		atomic_store(&gone, false);
		atomic_store(&kp_windows_recording, KP_RECORDING_ON);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_true(asked > 0);
	assert_int_equal(asked_in_vain, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_handles_are_asked_for_once, start),
		cmocka_unit_test_setup(test_nothing_is_asked_while_records_are_off, start),
		cmocka_unit_test_setup(test_a_closed_gate_is_not_waited_for, start),
		cmocka_unit_test_setup(test_nothing_is_asked_while_cupti_is_away, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
