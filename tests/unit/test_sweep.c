/* The sweep against timelines done by hand, and against a brute-force one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzers/sweep.h"

/* Far from zero, as real clocks are. */
#define BASE 1000000000000ULL

#define WAITING_MOST 100000

struct timeline {
	struct kp_sweep_parts parts;
	struct kp_sweep *sweep, *plain; /* the same intervals; plain keeps only the union */
};

static void begin(struct timeline *timeline)
{
	*timeline = (struct timeline){0};
	assert_int_equal(kp_sweep_create(&timeline->parts, WAITING_MOST, &timeline->sweep), KP_OK);
	assert_int_equal(kp_sweep_create(NULL, WAITING_MOST, &timeline->plain), KP_OK);
}

static void add(struct timeline *timeline, uint64_t start, uint64_t end, uint32_t row)
{
	assert_int_equal(kp_sweep_add(timeline->sweep, BASE + start, BASE + end, row), KP_OK);
	assert_int_equal(kp_sweep_add(timeline->plain, BASE + start, BASE + end, row), KP_OK);
}

static void settle(struct timeline *timeline, uint64_t watermark)
{
	assert_int_equal(kp_sweep_settle(timeline->sweep, watermark), KP_OK);
	assert_int_equal(kp_sweep_settle(timeline->plain, watermark), KP_OK);
}

static void end(struct timeline *timeline)
{
	kp_sweep_destroy(timeline->sweep);
	kp_sweep_destroy(timeline->plain);
	kp_sweep_parts_fini(&timeline->parts);
}

static double part(const struct timeline *timeline, uint32_t row)
{
	return row < timeline->parts.count ? timeline->parts.row_ns[row] : 0;
}

static void check_busy(const struct timeline *timeline, uint64_t busy)
{
	double sum = 0;

	for (uint32_t row = 0; row < timeline->parts.count; row++)
		sum += part(timeline, row);
	assert_int_equal(kp_sweep_busy_ns(timeline->sweep), busy);
	assert_int_equal(kp_sweep_busy_ns(timeline->plain), busy);
	assert_true(fabs(sum - (double)busy) <= 1e-9 * (double)busy + 1e-6);
}

static void test_sweep_of_nothing_is_zero(void **state)
{
	struct timeline timeline;

	(void)state;
	begin(&timeline);
	settle(&timeline, UINT64_MAX);
	check_busy(&timeline, 0);
	end(&timeline);
}

/* Case 12: [0,100] and [50,150]: busy 150; the 50 ns that they share are halved. */
static void test_sweep_divides_overlap(void **state)
{
	struct timeline timeline;

	(void)state;
	begin(&timeline);
	add(&timeline, 0, 100, 0);
	add(&timeline, 50, 150, 1);
	settle(&timeline, UINT64_MAX);
	check_busy(&timeline, 150);
	assert_true(part(&timeline, 0) == 75);
	assert_true(part(&timeline, 1) == 75);
	end(&timeline);
}

static void test_sweep_gives_each_its_own_time(void **state)
{
	struct timeline timeline;

	(void)state;
	begin(&timeline);
	add(&timeline, 0, 10, 0);
	add(&timeline, 10, 10, 1); /* no time at all */
	add(&timeline, 10, 30, 1); /* back to back */
	add(&timeline, 100, 400, 2);
	add(&timeline, 100, 200, 3); /* within row 2's, and twice */
	add(&timeline, 100, 200, 3);
	settle(&timeline, UINT64_MAX);
	check_busy(&timeline, 330);
	assert_true(part(&timeline, 0) == 10);
	assert_true(part(&timeline, 1) == 20);
	assert_true(fabs(part(&timeline, 2) - (200 + 100.0 / 3)) < 1e-9);
	assert_true(fabs(part(&timeline, 3) - 200.0 / 3) < 1e-9);
	end(&timeline);
}

struct known {
	uint64_t start, end;
	uint32_t row;
};

/* Nanosecond by nanosecond. */
static uint64_t brute_force(const struct known *known, size_t count, uint64_t length, double *parts)
{
	uint64_t busy = 0;

	for (uint64_t t = 0; t < length; t++) {
		size_t running = 0;

		for (size_t i = 0; i < count; i++)
			running += known[i].start <= t && t < known[i].end;
		busy += running > 0;
		for (size_t i = 0; i < count; i++)
			if (known[i].start <= t && t < known[i].end)
				parts[known[i].row] += 1 / (double)running;
	}
	return busy;
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

static int by_start(const void *left, const void *right)
{
	const struct known *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* Twenty intervals in two batches whose starts interlock, as two processes on a GPU write them. */
static void add_interlocked(struct timeline *timeline, const struct known *known, uint64_t next)
{
	for (size_t first = 0; first < 2; first++) {
		for (size_t i = first; i < 20; i += 2)
			add(timeline, known[i].start, known[i].end, known[i].row);
		settle(timeline, BASE + (first == 0 ? known[1].start : next));
	}
}

static void test_sweep_streams_batches_exactly(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct known known[61];
		double parts[5] = {0};
		struct timeline timeline;
		uint64_t busy;

		begin(&timeline);
		for (size_t i = 0; i < 60; i++) {
			known[i].start = draw(&seed, 400);
			known[i].end = known[i].start + draw(&seed, round % 2 ? 12 : 90);
			known[i].row = draw(&seed, 5);
		}
		busy = brute_force(known, 60, 500, parts);
		qsort(known, 60, sizeof(*known), by_start);
		known[60].start = 1000;
		for (size_t i = 0; i < 60; i += 20)
			add_interlocked(&timeline, &known[i], known[i + 20].start);
		settle(&timeline, UINT64_MAX);
		check_busy(&timeline, busy);
		for (uint32_t row = 0; row < 5; row++)
			assert_true(fabs(part(&timeline, row) - parts[row]) < 1e-6);
		assert_int_equal(kp_sweep_displaced(timeline.sweep), 0);
		end(&timeline);
	}
}

static void test_sweep_takes_unsorted_batches(void **state)
{
	struct timeline timeline;

	(void)state;
	begin(&timeline);
	add(&timeline, 200, 300, 0);
	add(&timeline, 0, 100, 1);
	add(&timeline, 50, 250, 2);
	settle(&timeline, UINT64_MAX);
	check_busy(&timeline, 300);
	assert_true(part(&timeline, 2) == 150);
	assert_int_equal(kp_sweep_displaced(timeline.sweep), 0);
	end(&timeline);
}

/* A file that breaks its promise: the late one is counted and cannot add time twice. */
static void test_sweep_counts_what_comes_too_late(void **state)
{
	struct timeline timeline;

	(void)state;
	begin(&timeline);
	add(&timeline, 100, 200, 0);
	add(&timeline, 300, 400, 0);
	settle(&timeline, BASE + 1000);
	add(&timeline, 0, 350, 1);
	settle(&timeline, BASE + 10); /* and a watermark that steps back */
	settle(&timeline, UINT64_MAX);
	assert_int_equal(kp_sweep_busy_ns(timeline.sweep), 200);
	assert_int_equal(kp_sweep_busy_ns(timeline.plain), 200);
	assert_int_equal(kp_sweep_displaced(timeline.sweep), 1);
	assert_int_equal(kp_sweep_displaced(timeline.plain), 1);
	end(&timeline);
}

/* More kernels at once than any GPU runs: memory stays bounded, busy time stays right. */
static void test_sweep_bounds_what_is_open(void **state)
{
	enum { COUNT = 100000 };
	struct timeline timeline;

	(void)state;
	begin(&timeline);
	for (uint64_t i = 0; i < COUNT; i++)
		add(&timeline, i, 10 * COUNT, (uint32_t)(i % 3));
	settle(&timeline, UINT64_MAX);
	check_busy(&timeline, 10 * COUNT);
	assert_int_equal(kp_sweep_displaced(timeline.sweep), COUNT - 65536);
	end(&timeline);
}

/* Nothing ever gets below the watermark: the sweep must not hoard. */
static void test_sweep_bounds_what_is_pending(void **state)
{
	struct timeline timeline;
	uint64_t count = 0;

	(void)state;
	begin(&timeline);
	for (int batch = 0; batch < 60; batch++) {
		for (int i = 0; i < 50000; i++, count++)
			add(&timeline, 10 * count, 10 * count + 4, 0);
		settle(&timeline, BASE);
	}
	settle(&timeline, UINT64_MAX);
	check_busy(&timeline, 4 * count);
	end(&timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sweep_of_nothing_is_zero),
		cmocka_unit_test(test_sweep_divides_overlap),
		cmocka_unit_test(test_sweep_gives_each_its_own_time),
		cmocka_unit_test(test_sweep_streams_batches_exactly),
		cmocka_unit_test(test_sweep_takes_unsorted_batches),
		cmocka_unit_test(test_sweep_counts_what_comes_too_late),
		cmocka_unit_test(test_sweep_bounds_what_is_open),
		cmocka_unit_test(test_sweep_bounds_what_is_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
