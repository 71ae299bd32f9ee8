/*
 * The sharing of CUPTI's activity API on its own: attributes, kinds, counts and buffers, with a
 * CUPTI of a few functions. What it does as a whole, scenarios.py sees.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/buffers.h"
#include "inject/share.h"
#include "inject/share_attributes.h"
#include "inject/share_buffers.h"

/* ---- attributes ---- */

static size_t real_size = 3200000;
static unsigned real_sets;

static CUptiResult CUPTIAPI real_set(CUpti_ActivityAttribute attribute, size_t *bytes, void *value)
{
	(void)attribute;
	real_sets++;
	memcpy(&real_size, value, *bytes);
	return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI real_get(CUpti_ActivityAttribute attribute, size_t *bytes, void *value)
{
	(void)attribute;
	memcpy(value, &real_size, *bytes);
	return CUPTI_SUCCESS;
}

static CUptiResult set_size(size_t wished)
{
	size_t bytes = sizeof(wished);

	return kp_share_attributes_set(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes, &wished,
				       real_set, real_get);
}

static size_t get_size(void)
{
	size_t bytes = sizeof(size_t), value = 0;

	assert_int_equal(kp_share_attributes_get(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes,
						 &value, real_get),
			 CUPTI_SUCCESS);
	return value;
}

static void test_attribute_sizes(void **state)
{
	(void)state;
	assert_int_equal(get_size(), 3200000);
	assert_int_equal(set_size(1000), CUPTI_SUCCESS);
	assert_int_equal(real_sets, 0);
	assert_int_equal(get_size(), 1000); /* as the client set it */
	assert_int_equal(set_size(9000000), CUPTI_SUCCESS);
	assert_int_equal(real_sets, 1);
	assert_int_equal(real_size, 9000000);
	kp_share_attributes_forget();
	assert_int_equal(get_size(), 9000000);
}

static void test_attribute_switches(void **state)
{
	uint8_t off = 0, read = 7;
	size_t bytes = sizeof(off), none = 0;

	(void)state;
	real_sets = 0;
	assert_int_equal(kp_share_attributes_set(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
						 &none, &off, real_set, real_get),
			 CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	assert_int_equal(kp_share_attributes_set(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
						 &bytes, &off, real_set, real_get),
			 CUPTI_SUCCESS);
	assert_int_equal(real_sets, 0);
	bytes = 8;
	assert_int_equal(kp_share_attributes_get(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
						 &bytes, &read, real_get),
			 CUPTI_SUCCESS);
	assert_int_equal(bytes, 1);
	assert_int_equal(read, 0);
}

/* ---- counts and kinds ---- */

static _Atomic size_t real_dropped, enabled_count, disabled_count;

static CUptiResult CUPTIAPI real_get_dropped(CUcontext context, uint32_t stream, size_t *dropped)
{
	(void)context;
	(void)stream;
	*dropped = atomic_exchange(&real_dropped, 0);
	return CUPTI_SUCCESS;
}

static _Atomic size_t forced_flushes;
static CUpti_BuffersCallbackRequestFunc registered_request;
static CUpti_BuffersCallbackCompleteFunc registered_complete;

static CUptiResult CUPTIAPI real_flush(uint32_t flag)
{
	forced_flushes += (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0;
	return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI real_disable(CUpti_ActivityKind kind)
{
	(void)kind;
	disabled_count++;
	return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI real_enable(CUpti_ActivityKind kind)
{
	(void)kind;
	enabled_count++;
	return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI real_register(CUpti_BuffersCallbackRequestFunc new_request,
					  CUpti_BuffersCallbackCompleteFunc new_complete)
{
	registered_request = new_request;
	registered_complete = new_complete;
	return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI real_register_clock(CUpti_TimestampCallbackFunc clock)
{
	return clock ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

static CUptiResult enable_kind(void *context, CUpti_ActivityKind kind)
{
	(void)context;
	enabled_count++;
	return kind == CUPTI_ACTIVITY_KIND_NVLINK ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
}

static CUptiResult disable_kind(void *context, CUpti_ActivityKind kind)
{
	(void)context;
	return real_disable(kind);
}

static const struct kp_cupti cupti = {
	.ActivityGetNumDroppedRecords = real_get_dropped,
	.ActivityFlushAll = real_flush,
	.ActivityEnable = real_enable,
	.ActivityDisable = real_disable,
	.ActivityRegisterCallbacks = real_register,
	.ActivityRegisterTimestampCallback = real_register_clock,
};
static const CUpti_ActivityKind own[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};

static uint8_t *given;
static size_t given_bytes, given_records, requests, completes, completed_bytes;

static void CUPTIAPI request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	requests++;
	*buffer = given;
	*bytes = given_bytes;
	*max_records = given_records;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			      size_t valid_bytes)
{
	(void)context;
	(void)stream;
	assert_ptr_equal(buffer, given);
	assert_int_equal(bytes, given_bytes);
	completes++;
	completed_bytes += valid_bytes;
}

static int begin(void **state)
{
	(void)state;
	kp_inject.pid = getpid();
	requests = completes = completed_bytes = 0;
	enabled_count = disabled_count = 0;
	kp_share_begin(&kp_inject, &cupti, own, 1, true);
	return 0;
}

static int end(void **state)
{
	(void)state;
	return kp_share_finalize() != CUPTI_SUCCESS;
}

/* kprof could not start after all: the client has at CUPTI what it had there before. */
static void test_abandon(void **state)
{
	(void)state;
	kp_share_abandon();
	kp_share_saw_callbacks(request, complete);
	kp_share_saw_kind(own[0], true);
	kp_share_saw_kind(CUPTI_ACTIVITY_KIND_DRIVER, true);
	kp_share_saw_kind(CUPTI_ACTIVITY_KIND_NVLINK, true);
	kp_share_saw_kind(CUPTI_ACTIVITY_KIND_NVLINK, false);
	forced_flushes = 0;
	kp_share_begin(&kp_inject, &cupti, own, 1, true);
	assert_true(kp_share_on());
	assert_int_equal(forced_flushes, 1); /* its buffers went back */
	assert_true(kp_share_claims(CUPTI_ACTIVITY_KIND_DRIVER));
	enabled_count = 0;
	kp_share_abandon();
	assert_false(kp_share_on());
	assert_true(registered_request == request && registered_complete == complete);
	assert_int_equal(enabled_count, 2);
}

/* Each side hears of every dropped record once, whoever asks first. */
static void test_dropped_counts(void **state)
{
	size_t dropped = 0;

	(void)state;
	real_dropped = 3; /* before the client records: not its own */
	assert_int_equal(kp_share_dropped(3), 3);
	real_dropped = 0;
	assert_int_equal(kp_share_enable(own[0], enable_kind, NULL), CUPTI_SUCCESS);
	assert_int_equal(kp_share_dropped(5), 5);
	real_dropped = 2;
	assert_int_equal(kp_share_client_dropped(NULL, 0, &dropped), CUPTI_SUCCESS);
	assert_int_equal(dropped, 7);
	assert_int_equal(kp_share_dropped(1), 3);
	assert_int_equal(kp_share_client_dropped(NULL, 0, &dropped), CUPTI_SUCCESS);
	assert_int_equal(dropped, 1);
	assert_int_equal(kp_share_client_dropped(NULL, 0, NULL), CUPTI_ERROR_INVALID_PARAMETER);
}

/* What kprof needs is never asked of CUPTI again, nor switched off; the rest is. */
static void test_kinds(void **state)
{
	(void)state;
	assert_int_equal(kp_share_enable(own[0], enable_kind, NULL), CUPTI_SUCCESS);
	assert_int_equal(kp_share_disable(own[0], disable_kind, NULL), CUPTI_SUCCESS);
	assert_int_equal(enabled_count + disabled_count, 0);
	assert_int_equal(kp_share_enable(CUPTI_ACTIVITY_KIND_NVLINK, enable_kind, NULL),
			 CUPTI_ERROR_INVALID_KIND);
	assert_false(kp_share_claims(CUPTI_ACTIVITY_KIND_DRIVER));
	assert_int_equal(kp_share_enable(CUPTI_ACTIVITY_KIND_DRIVER, enable_kind, NULL),
			 CUPTI_SUCCESS);
	assert_int_equal(enabled_count, 2);
	assert_true(kp_share_claims(CUPTI_ACTIVITY_KIND_DRIVER));
	assert_int_equal(kp_share_disable(CUPTI_ACTIVITY_KIND_DRIVER, disable_kind, NULL),
			 CUPTI_SUCCESS);
	assert_int_equal(disabled_count, 1);
}

/* The two kinds of kernel records exclude each other, as with CUPTI. */
static void test_kernel_kinds_exclude(void **state)
{
	(void)state;
	assert_int_equal(kp_share_enable(CUPTI_ACTIVITY_KIND_KERNEL, enable_kind, NULL),
			 CUPTI_SUCCESS);
	assert_int_equal(enabled_count, 0); /* the serialising kind itself: never */
	assert_int_equal(kp_share_enable(own[0], enable_kind, NULL), CUPTI_ERROR_NOT_COMPATIBLE);
	assert_int_equal(kp_share_disable(CUPTI_ACTIVITY_KIND_KERNEL, disable_kind, NULL),
			 CUPTI_SUCCESS);
	assert_int_equal(kp_share_enable(own[0], enable_kind, NULL), CUPTI_SUCCESS);
}

static void put(size_t records, size_t bytes, size_t dropped)
{
	const uint8_t record[256] = {0};
	struct kp_share_delivery delivery = {0};

	for (size_t i = 0; i < records; i++)
		kp_share_buffers_put(&delivery, record, bytes);
	kp_share_buffers_end(&delivery);
	assert_int_equal(delivery.dropped, dropped);
}

static void test_buffers_full(void **state)
{
	uint8_t memory[1000];

	(void)state;
	given = memory;
	given_bytes = sizeof(memory);
	given_records = 0;
	assert_int_equal(kp_share_register(request, complete), CUPTI_SUCCESS);
	put(7, 200, 0); /* five fit */
	assert_int_equal(requests, 2);
	assert_int_equal(completes, 1);
	assert_int_equal(completed_bytes, 1000);
	assert_int_equal(kp_share_client_flush(0), CUPTI_SUCCESS);
	assert_int_equal(completed_bytes, 1400);
	assert_false(kp_share_buffers_have(true));
}

static void test_buffers_max_records(void **state)
{
	uint8_t memory[1000];

	(void)state;
	given = memory;
	given_bytes = sizeof(memory);
	given_records = 2;
	assert_int_equal(kp_share_register(request, complete), CUPTI_SUCCESS);
	put(5, 100, 0);
	assert_int_equal(completes, 2);
	assert_int_equal(completed_bytes, 400);
	given_records = 0;
}

/* No buffer, or one that is too small: dropped, and the client is told so. */
static void test_buffers_none(void **state)
{
	uint8_t memory[64];
	size_t dropped;

	(void)state;
	given = NULL;
	assert_int_equal(kp_share_register(request, complete), CUPTI_SUCCESS);
	put(3, 200, 3);
	given = memory;
	given_bytes = sizeof(memory);
	put(2, 200, 2);
	assert_int_equal(kp_share_client_dropped(NULL, 0, &dropped), CUPTI_SUCCESS);
	assert_int_equal(dropped, 0); /* counted by whoever delivers */
	assert_int_equal(kp_share_register(NULL, complete), CUPTI_ERROR_INVALID_PARAMETER);
}

/* A buffer that the client lent to CUPTI before kprof came goes back to it untouched. */
static void test_buffers_of_before(void **state)
{
	uint8_t memory[1000];

	(void)state;
	given = memory;
	given_bytes = sizeof(memory);
	assert_int_equal(kp_share_register(request, complete), CUPTI_SUCCESS);
	kp_share_completed(NULL, 0, memory, sizeof(memory), 400);
	assert_int_equal(completes, 1);
	assert_int_equal(completed_bytes, 400);
	assert_null(kp_buffers_take(0));
}

/* ---- many threads ---- */

#define WRITERS 4
#define WRITER_RECORDS 20000
#define RECORD_BYTES 40

static _Atomic size_t came_bytes, came_buffers, out_buffers;
static _Atomic bool writing;

static void CUPTIAPI request_any(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*bytes = 1024;
	*max_records = 0;
	*buffer = malloc(*bytes);
	atomic_fetch_add(&out_buffers, 1);
}

static void CUPTIAPI complete_any(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
				  size_t valid_bytes)
{
	size_t dropped;

	(void)context;
	(void)stream;
	(void)bytes;
	for (size_t i = 0; i < valid_bytes; i++)
		if (buffer[i] != (i / RECORD_BYTES * RECORD_BYTES == i ? 0xaa : 0xbb))
			abort();
	atomic_fetch_add(&came_bytes, valid_bytes);
	atomic_fetch_add(&came_buffers, 1);
	free(buffer);
	kp_share_client_dropped(NULL, 0, &dropped); /* as Kineto does, from inside */
}

static void *write_records(void *unused)
{
	uint8_t record[RECORD_BYTES];

	memset(record, 0xbb, sizeof(record));
	record[0] = 0xaa;
	for (size_t i = 0; i < WRITER_RECORDS; i += 10) {
		struct kp_share_delivery delivery = {0};

		for (size_t j = 0; j < 10; j++)
			kp_share_buffers_put(&delivery, record, sizeof(record));
		kp_share_buffers_end(&delivery);
		if (delivery.dropped)
			abort();
	}
	return unused;
}

static void *switch_and_flush(void *unused)
{
	while (atomic_load(&writing)) {
		kp_share_enable(own[0], enable_kind, NULL);
		kp_share_client_flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		kp_share_serve();
		kp_share_disable(own[0], disable_kind, NULL);
		kp_share_client_flush(0);
	}
	return unused;
}

/* However many threads deliver, switch and flush: every record comes, once and whole. */
static void test_buffers_many_threads(void **state)
{
	pthread_t writers[WRITERS], other;

	(void)state;
	assert_int_equal(kp_share_register(request_any, complete_any), CUPTI_SUCCESS);
	atomic_store(&writing, true);
	assert_int_equal(pthread_create(&other, NULL, switch_and_flush, NULL), 0);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&writers[i], NULL, write_records, NULL), 0);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	atomic_store(&writing, false);
	pthread_join(other, NULL);
	assert_int_equal(kp_share_finalize(), CUPTI_SUCCESS);
	assert_int_equal(came_bytes, (size_t)WRITERS * WRITER_RECORDS * RECORD_BYTES);
	assert_int_equal(came_buffers, out_buffers);
}

/* Once nobody takes kprof's own buffers any more, they are free again at once. */
static void test_buffers_after_the_end(void **state)
{
	uint8_t *first, *second;
	size_t size, records;

	(void)state;
	kp_buffers_request(&first, &size, &records);
	assert_true(kp_buffers_own(first));
	memset(first, 1, 100);
	kp_buffers_close();
	kp_share_completed(NULL, 0, first, size, 100);
	assert_null(kp_buffers_take(0));
	assert_int_equal(kp_buffers_lent(), 0);
	kp_buffers_request(&second, &size, &records);
	assert_ptr_equal(second, first);
	assert_int_equal(second[99], 0);
}

/* A client that finalised is gone: its buffers are back, and it is asked for no more. */
static void test_finalize_forgets(void **state)
{
	uint8_t memory[1000];

	(void)state;
	given = memory;
	given_bytes = sizeof(memory);
	assert_int_equal(kp_share_register(request, complete), CUPTI_SUCCESS);
	assert_int_equal(kp_share_enable(CUPTI_ACTIVITY_KIND_DRIVER, enable_kind, NULL),
			 CUPTI_SUCCESS);
	put(1, 200, 0);
	assert_int_equal(kp_share_finalize(), CUPTI_SUCCESS);
	assert_int_equal(disabled_count, 1);
	assert_int_equal(completes, 1);
	put(1, 200, 1);
	assert_int_equal(requests, 1);
	assert_true(kp_share_on());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attribute_sizes),
		cmocka_unit_test(test_attribute_switches),
		cmocka_unit_test_setup_teardown(test_dropped_counts, begin, end),
		cmocka_unit_test_setup_teardown(test_kinds, begin, end),
		cmocka_unit_test_setup_teardown(test_kernel_kinds_exclude, begin, end),
		cmocka_unit_test_setup_teardown(test_buffers_full, begin, end),
		cmocka_unit_test_setup_teardown(test_buffers_max_records, begin, end),
		cmocka_unit_test_setup_teardown(test_buffers_none, begin, end),
		cmocka_unit_test_setup_teardown(test_buffers_of_before, begin, end),
		cmocka_unit_test_setup_teardown(test_finalize_forgets, begin, end),
		cmocka_unit_test_setup_teardown(test_buffers_many_threads, begin, end),
		cmocka_unit_test_setup_teardown(test_buffers_after_the_end, begin, end),
		cmocka_unit_test_setup_teardown(test_abandon, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
