/* The pool of activity buffers: what is lent, what is kept, what goes back to the system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inject/buffers.h"

static uint64_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long total, resident;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu", &total, &resident), 2);
	fclose(file);
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Borrows `count` buffers, fills them, and gives them back as CUPTI does. */
static void fill(unsigned count)
{
	static uint8_t *lent[KP_BUFFER_LIMIT];
	size_t size, max_records;

	for (unsigned i = 0; i < count; i++) {
		kp_buffers_request(&lent[i], &size, &max_records);
		assert_non_null(lent[i]);
		assert_int_equal(size, KP_BUFFER_BYTES);
		assert_int_equal((uintptr_t)lent[i] % 8, 0);
		for (size_t at = 0; at < size; at += 4096)
			assert_int_equal(lent[i][at], 0);
		memset(lent[i], 0xa5, size);
	}
	assert_int_equal(kp_buffers_lent(), count);
	for (unsigned i = 0; i < count; i++)
		kp_buffers_complete(NULL, 0, lent[i], KP_BUFFER_BYTES, KP_BUFFER_BYTES);
	assert_int_equal(kp_buffers_lent(), 0);
}

static unsigned recycle_all(void)
{
	struct kp_filled *filled = kp_buffers_take(0);
	unsigned count = 0;

	while (filled) {
		struct kp_filled *next = filled->next;

		kp_buffers_recycle(filled);
		filled = next;
		count++;
	}
	return count;
}

static void test_buffers_come_zeroed_again(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		fill(KP_BUFFER_KEEP + 3);
		assert_int_equal(recycle_all(), KP_BUFFER_KEEP + 3);
	}
}

/* One that CUPTI asked for while it was being detached knows nothing of zeros. */
static void test_forgotten_buffers_come_zeroed_again(void **state)
{
	uint8_t *lent;
	size_t size, max_records;

	(void)state;
	kp_buffers_request(&lent, &size, &max_records);
	assert_int_equal(kp_buffers_abandon(), 1);
	memset(lent, 0xa5, size);
	kp_buffers_complete(NULL, 0, lent, size, 64);
	assert_int_equal(recycle_all(), 1);
	fill(KP_BUFFER_KEEP + 1);
	assert_int_equal(recycle_all(), KP_BUFFER_KEEP + 1);
}

static void test_buffers_of_a_burst_go_back(void **state)
{
	uint64_t before = resident_bytes(), full;

	(void)state;
	fill(KP_BUFFER_LIMIT);
	full = resident_bytes();
	assert_true(full - before >=
		    (uint64_t)(KP_BUFFER_LIMIT - KP_BUFFER_KEEP) * KP_BUFFER_BYTES);
	assert_int_equal(recycle_all(), KP_BUFFER_LIMIT);
	assert_true(resident_bytes() <= before + (uint64_t)(KP_BUFFER_KEEP + 4) * KP_BUFFER_BYTES);
}

static void test_buffers_are_declined_beyond_the_limit(void **state)
{
	uint8_t *buffer;
	size_t size, max_records;

	(void)state;
	fill(KP_BUFFER_LIMIT);
	kp_buffers_request(&buffer, &size, &max_records);
	assert_null(buffer);
	assert_int_equal(size, 0);
	assert_int_equal(recycle_all(), KP_BUFFER_LIMIT);
	kp_buffers_request(&buffer, &size, &max_records);
	assert_non_null(buffer);
	kp_buffers_complete(NULL, 0, buffer, size, 0);
	assert_int_equal(recycle_all(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffers_come_zeroed_again),
		cmocka_unit_test(test_forgotten_buffers_come_zeroed_again),
		cmocka_unit_test(test_buffers_of_a_burst_go_back),
		cmocka_unit_test(test_buffers_are_declined_beyond_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
