/* Which records are another CUPTI client's, and their times on its clock. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inject/share_clock.h"
#include "inject/share_window.h"

/* ---- clocks ---- */

#define TICKS_PER_NS 2.893 /* a client that counts cycles */
#define TICKS_OFFSET 123456789012ULL

static uint64_t ticks(uint64_t ours)
{
	return TICKS_OFFSET + (uint64_t)((double)ours * TICKS_PER_NS);
}

static void add(struct kp_clock_map *map, uint64_t ours, uint64_t theirs)
{
	kp_clock_map_add(map, (struct kp_clock_point){ours, theirs});
}

static void test_clock_map_empty(void **state)
{
	struct kp_clock_map map = {0};

	(void)state;
	assert_int_equal(kp_clock_map_convert(&map, 12345), 12345);
}

/* One pair is an offset; unknown and impossible times stay what they are. */
static void test_clock_map_one_pair(void **state)
{
	struct kp_clock_map map = {0};

	(void)state;
	add(&map, 1000, 5000);
	assert_int_equal(kp_clock_map_convert(&map, 1700), 5700);
	assert_int_equal(kp_clock_map_convert(&map, 400), 4400);
	assert_int_equal(kp_clock_map_convert(&map, 0), 0);
	assert_true(kp_clock_map_convert(&map, UINT64_MAX) == UINT64_MAX);
}

/* A clock of another unit, over many more pairs than are kept: still within two ticks. */
static void test_clock_map_rate(void **state)
{
	const uint64_t begin = 1700000000000000ULL, period = 250000000;
	struct kp_clock_map map = {0};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		add(&map, begin + i * period, ticks(begin + i * period));
	assert_true(map.count <= KP_CLOCK_PAIRS && map.count > KP_CLOCK_PAIRS / 4);
	assert_true(map.points[0].ours == begin);
	assert_true(map.points[map.count - 1].ours == begin + 999 * period);
	for (uint64_t at = begin; at < begin + 1000 * period; at += 98765432) {
		double error = (double)(int64_t)(kp_clock_map_convert(&map, at) - ticks(at));

		assert_true(fabs(error) <= 2);
	}
}

/* A pair that follows at once replaces the last, so that its noise cannot tilt a short piece. */
static void test_clock_map_close_pairs(void **state)
{
	struct kp_clock_map map = {0};

	(void)state;
	add(&map, 1000000000, 1000000000);
	for (uint64_t i = 1; i <= 10; i++)
		add(&map, 1000000000 + i * 1000000, 1000000000 + i * 1000000);
	assert_int_equal(map.count, 3);
	add(&map, 1000000000, 77); /* a time that has passed */
	assert_int_equal(map.count, 3);
	assert_int_equal(kp_clock_map_convert(&map, 1003500000), 1003500000);
}

/* A step of the client's clock is confined to the piece in which it happened. */
static void test_clock_map_step(void **state)
{
	struct kp_clock_map map = {0};
	uint64_t second = 1000000000;

	(void)state;
	add(&map, 1 * second, 1 * second);
	add(&map, 2 * second, 2 * second);
	add(&map, 3 * second, 13 * second);
	add(&map, 4 * second, 14 * second);
	assert_int_equal(kp_clock_map_convert(&map, second + second / 2), second + second / 2);
	assert_int_equal(kp_clock_map_convert(&map, 3 * second + 5), 13 * second + 5);
}

/* ---- windows ---- */

static struct kp_share_key key(uint64_t start_ns, uint32_t correlation)
{
	return (struct kp_share_key){start_ns, correlation};
}

#define MS 1000000ULL

static void test_window_times(void **state)
{
	struct kp_windows windows = {0};

	(void)state;
	assert_false(kp_windows_hold(&windows, key(5 * MS, 1)));
	kp_windows_open(&windows, 10 * MS);
	kp_windows_open(&windows, 90 * MS); /* it is open: nothing changes */
	assert_false(kp_windows_hold(&windows, key(9 * MS, 1)));
	assert_true(kp_windows_hold(&windows, key(11 * MS, 2)));
	assert_true(kp_windows_hold(&windows, key(0, 3)));
	kp_windows_close(&windows, 20 * MS);
	kp_windows_close(&windows, 90 * MS);
	assert_true(kp_windows_hold(&windows, key(19 * MS, 4)));
	assert_false(kp_windows_hold(&windows, key(21 * MS, 5)));
	assert_false(kp_windows_hold(&windows, key(0, 5)));
}

/* Where API calls are recorded, their ids say what was launched in the window, whenever it ran. */
static void test_window_calls(void **state)
{
	struct kp_windows windows = {0};

	(void)state;
	kp_windows_open(&windows, 10 * MS);
	kp_windows_trace(&windows, key(11 * MS, 101));
	kp_windows_trace(&windows, key(10 * MS + 5, 100));
	kp_windows_trace(&windows, key(9 * MS, 50));               /* of before */
	assert_false(kp_windows_hold(&windows, key(12 * MS, 99))); /* it was queued before */
	assert_true(kp_windows_hold(&windows, key(12 * MS, 100)));
	kp_windows_trace(&windows, key(19 * MS, 140));
	kp_windows_close(&windows, 20 * MS);
	assert_true(kp_windows_hold(&windows, key(500 * MS, 139))); /* it was queued within */
	assert_false(kp_windows_hold(&windows, key(500 * MS, 141)));
}

static void test_window_ids_wrap(void **state)
{
	struct kp_windows windows = {0};

	(void)state;
	kp_windows_open(&windows, 10 * MS);
	kp_windows_trace(&windows, key(11 * MS, UINT32_MAX - 1));
	kp_windows_trace(&windows, key(12 * MS, 3));
	kp_windows_close(&windows, 20 * MS);
	assert_true(kp_windows_hold(&windows, key(500 * MS, 2)));
	assert_false(kp_windows_hold(&windows, key(15 * MS, UINT32_MAX - 2)));
	assert_false(kp_windows_hold(&windows, key(500 * MS, 4)));
}

static void test_window_several(void **state)
{
	struct kp_windows windows = {0};

	(void)state;
	for (uint64_t i = 1; i <= KP_WINDOWS + 2; i++) {
		kp_windows_open(&windows, i * 100 * MS);
		kp_windows_close(&windows, i * 100 * MS + 10 * MS);
	}
	assert_true(kp_windows_hold(&windows, key(605 * MS, 0)));
	assert_true(kp_windows_hold(&windows, key(305 * MS, 0)));
	assert_false(kp_windows_hold(&windows, key(450 * MS, 0)));
	assert_false(kp_windows_hold(&windows, key(105 * MS, 0))); /* forgotten */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_map_empty),
		cmocka_unit_test(test_clock_map_one_pair),
		cmocka_unit_test(test_clock_map_rate),
		cmocka_unit_test(test_clock_map_close_pairs),
		cmocka_unit_test(test_clock_map_step),
		cmocka_unit_test(test_window_times),
		cmocka_unit_test(test_window_calls),
		cmocka_unit_test(test_window_ids_wrap),
		cmocka_unit_test(test_window_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
