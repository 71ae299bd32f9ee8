/* What import and merge stand on: sorting beyond memory, bounds of clocks, times of JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/assembly.h"
#include "profiler/import_json.h"
#include "profiler/spool.h"

struct record {
	uint64_t start_ns, end_ns, number, padding[5];
};

struct seen {
	struct record last;
	uint64_t count, sum;
};

static enum kp_status see(void *context, const void *bytes)
{
	struct seen *seen = context;
	struct record record;

	memcpy(&record, bytes, sizeof record);
	if (seen->count++) {
		assert_true(record.start_ns >= seen->last.start_ns);
		if (record.start_ns == seen->last.start_ns)
			assert_true(record.end_ns <= seen->last.end_ns);
	}
	seen->sum += record.number;
	seen->last = record;
	return KP_OK;
}

/* More than fits, in no order, with many equal starts. */
static void test_spool_sorts_what_does_not_fit(void **state)
{
	const uint64_t most = 5 * KP_SPOOL_BYTES / sizeof(struct record) / 2;
	struct kp_spool spool;
	struct seen seen = {.count = 0};
	uint64_t random = 1, sum = 0;

	(void)state;
	kp_spool_init(&spool, sizeof(struct record), "/tmp");
	for (uint64_t i = 0; i < most; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		struct record record = {random >> 44, (random >> 44) + (random >> 20 & 7), i, {0}};

		sum += i;
		assert_int_equal(kp_spool_add(&spool, &record), KP_OK);
	}
	assert_true(spool.run_count > 1);
	assert_true(spool.capacity * spool.stride <= KP_SPOOL_BYTES);
	assert_int_equal(kp_spool_drain(&spool, see, &seen), KP_OK);
	assert_int_equal(seen.count, most);
	assert_int_equal(seen.sum, sum);
	kp_spool_fini(&spool);
}

static void test_spool_may_be_empty_or_fail(void **state)
{
	struct record record = {1, 2, 3, {0}};
	struct kp_spool spool;
	struct seen seen = {.count = 0};
	enum kp_status status = KP_OK;

	(void)state;
	kp_spool_init(&spool, sizeof record, "/nonexistent");
	assert_int_equal(kp_spool_drain(&spool, see, &seen), KP_OK);
	assert_int_equal(seen.count, 0);
	for (size_t i = 0; status == KP_OK && i <= KP_SPOOL_BYTES / sizeof record; i++)
		status = kp_spool_add(&spool, &record);
	assert_int_equal(status, KP_IO); /* the folder is not there */
	kp_spool_fini(&spool);
}

static void test_times_are_moved_within_what_can_be(void **state)
{
	(void)state;
	assert_int_equal(kp_assembly_moved(100, 0), 100);
	assert_int_equal(kp_assembly_moved(100, 50), 150);
	assert_int_equal(kp_assembly_moved(100, -50), 50);
	assert_int_equal(kp_assembly_moved(0, 50), 0); /* no time */
	assert_true(kp_assembly_moved(100, -100) == UINT64_MAX);
	assert_true(kp_assembly_moved(UINT64_MAX, 5) == UINT64_MAX);
	assert_true(kp_assembly_moved(KP_TIME_MAX_NS, 1) == UINT64_MAX);
}

static void test_json_times_are_exact(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
		bool valid, whole;
	} cases[] = {
		{"0", 0, true, true},
		{"1", 1000, true, true},
		{"1.5", 1500, true, false},
		{"1.0004", 1000, true, false},
		{"1.0005", 1001, true, false},
		{"0.9999", 1000, true, false},
		{"-2.25", -2250, true, false},
		{"3871627141477.893", 3871627141477893, true, false},
		{"1695835526107123", 1695835526107123000, true, true},
		{"1e3", 1000000, true, true},
		{"1.5E-3", 2, true, false},
		{"1e300", 0, false, true},
		{"99999999999999999999999", 0, false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t ns = 0;
		bool whole;
		struct kp_text text = {cases[i].text, strlen(cases[i].text)};

		assert_int_equal(kp_json_us(text, &ns, &whole), cases[i].valid);
		if (cases[i].valid)
			assert_int_equal(ns, cases[i].ns);
		assert_int_equal(whole, cases[i].whole);
	}
}

static void test_json_counts_are_whole_numbers(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(kp_json_count((struct kp_text){"18446744073709551615", 20}, &value));
	assert_true(value == UINT64_MAX);
	assert_false(kp_json_count((struct kp_text){"18446744073709551616", 20}, &value));
	assert_false(kp_json_count((struct kp_text){"-1", 2}, &value));
	assert_false(kp_json_count((struct kp_text){"1.0", 3}, &value));
	assert_false(kp_json_count((struct kp_text){"", 0}, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spool_sorts_what_does_not_fit),
		cmocka_unit_test(test_spool_may_be_empty_or_fail),
		cmocka_unit_test(test_times_are_moved_within_what_can_be),
		cmocka_unit_test(test_json_times_are_exact),
		cmocka_unit_test(test_json_counts_are_whole_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
