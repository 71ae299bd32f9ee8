/*
 * The critical path: small timelines by hand, and random ones against the definition of path.h
 * applied to all of a stretch at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/path.h"

#define ROWS 8
#define NONE (-1)

/* ---- the path under test ---- */

static struct kp_path *path;
static struct kp_path_times times;
static uint64_t ran_until_ns;

static void begin(void)
{
	path = kp_path_create();
	assert_non_null(path);
	ran_until_ns = 0;
}

/* A kernel on a stream; what kernels wait for, `cause`, where nothing runs. */
static void kernel(uint32_t row, uint32_t lane, uint64_t start_ns, uint64_t end_ns,
		   enum kp_gap_cause cause)
{
	const struct kp_activity item = {.start_ns = start_ns,
					 .end_ns = end_ns,
					 .row = row,
					 .operator_index = row / 2,
					 .lane = lane,
					 .kind = KP_ACTIVITY_KERNEL};

	if (ran_until_ns && start_ns > ran_until_ns)
		assert_int_equal(kp_path_gap(path, cause, start_ns, &times), KP_OK);
	ran_until_ns = end_ns > ran_until_ns ? end_ns : ran_until_ns;
	assert_int_equal(kp_path_add(path, &item), KP_OK);
}

static void copy(uint64_t start_ns, uint64_t end_ns, uint32_t lane)
{
	const struct kp_activity item = {
		.start_ns = start_ns, .end_ns = end_ns, .lane = lane, .kind = KP_ACTIVITY_MEMORY};

	assert_int_equal(kp_path_add(path, &item), KP_OK);
}

static struct kp_path_parts finish(void)
{
	struct kp_path_parts parts;

	assert_int_equal(kp_path_finish(path, &times), KP_OK);
	parts = kp_path_result(path);
	kp_path_destroy(path);
	path = NULL;
	return parts;
}

static uint64_t on_path(uint32_t row)
{
	return row < times.row_count ? times.row_ns[row] : 0;
}

static void check_parts(struct kp_path_parts parts, uint64_t kernel_ns, uint64_t memory_ns,
			uint64_t others_ns, uint64_t hidden_ns)
{
	assert_int_equal(parts.kernel_ns, kernel_ns);
	assert_int_equal(parts.memory_ns, memory_ns);
	assert_int_equal(parts.others_ns, others_ns);
	assert_int_equal(parts.hidden_ns, hidden_ns);
}

static void forget(void)
{
	kp_path_times_fini(&times);
}

/* ---- by hand ---- */

static void test_path_one_stream_is_all_of_it(void **state)
{
	(void)state;
	begin();
	kernel(0, 0, 100, 200, KP_GAP_OWN);
	kernel(1, 0, 200, 260, KP_GAP_OWN);
	copy(270, 280, 0);
	kernel(0, 0, 290, 300, KP_GAP_OWN);
	check_parts(finish(), 170, 10, 0, 0);
	assert_int_equal(on_path(0), 110);
	assert_int_equal(on_path(1), 60);
	assert_int_equal(times.operator_ns[0], 170);
	forget();
}

/* Two streams that end together with the longer chain: the other one could be as slow. */
static void test_path_follows_the_stream(void **state)
{
	(void)state;
	begin();
	kernel(0, 0, 0, 1000, KP_GAP_OWN);
	kernel(2, 1, 10, 500, KP_GAP_OWN);
	kernel(2, 1, 510, 990, KP_GAP_OWN); /* ends last before the next, but on its own stream */
	kernel(1, 0, 1000, 2000, KP_GAP_OWN);
	check_parts(finish(), 2000, 0, 0, 0);
	assert_int_equal(on_path(2), 0);
	forget();
}

/* What a kernel waited for elsewhere: that which ended just before. */
static void test_path_crosses_streams(void **state)
{
	(void)state;
	begin();
	kernel(0, 0, 0, 9000, KP_GAP_OWN);
	kernel(1, 1, 100, 4000, KP_GAP_OWN);
	kernel(2, 2, 4100, 8000, KP_GAP_OWN);  /* waited for 1 */
	kernel(3, 1, 8050, 12000, KP_GAP_OWN); /* long behind 1, but waited for 2 */
	check_parts(finish(), 3950 + 3900 + 3900, 0, 100 + 100 + 50, 0);
	assert_int_equal(on_path(0), 0);
	assert_int_equal(on_path(1), 3900);
	assert_int_equal(on_path(2), 3900);
	assert_int_equal(on_path(3), 3950);
	forget();
}

/* A dependent launch begins before the one it follows has ended. */
static void test_path_dependent_launches(void **state)
{
	(void)state;
	begin();
	kernel(0, 0, 0, 1000, KP_GAP_OWN);
	kernel(1, 0, 900, 2000, KP_GAP_OWN);
	kernel(2, 0, 1900, 3000, KP_GAP_OWN);
	check_parts(finish(), 3000, 0, 0, 0);
	assert_int_equal(on_path(0), 900);
	assert_int_equal(on_path(1), 1000);
	assert_int_equal(on_path(2), 1100);
	forget();
}

/* Late launches hide what ran since the host last waited; a result that is waited for does not. */
static void test_path_late_launches_hide(void **state)
{
	(void)state;
	begin();
	kernel(0, 0, 0, 100, KP_GAP_OWN);
	kernel(1, 0, 110, 200, KP_GAP_OWN);
	kernel(0, 0, 5000, 5100, KP_GAP_LAUNCH); /* 190 before it are hidden */
	kernel(1, 0, 5110, 5200, KP_GAP_GRAPH);
	copy(5210, 5250, 0);
	kernel(0, 0, 9000, 9001, KP_GAP_SYNC); /* 190 and the copy are not */
	kernel(0, 0, 9009, 9010, KP_GAP_LAUNCH);
	kernel(0, 0, 9109, 9111, KP_GAP_UNKNOWN);
	check_parts(finish(), 190 + 1 + 2, 40, 0, 190 + 1);
	assert_int_equal(on_path(0), 100 + 1 + 2);
	assert_int_equal(on_path(1), 90);
	forget();
}

/* A late launch that comes at once behind a long kernel waited for it; later, or behind a short
 * one, it need not have. */
static void test_path_soon_behind_a_long_kernel_waited(void **state)
{
	(void)state;
	begin();
	kernel(0, 0, 0, 24000, KP_GAP_OWN);
	kernel(1, 0, 27000, 50999, KP_GAP_LAUNCH); /* just long enough before, and too short */
	kernel(2, 0, 53999, 153999, KP_GAP_LAUNCH);
	kernel(3, 0, 159000, 160000, KP_GAP_LAUNCH); /* too late */
	check_parts(finish(), 24000 + 1000, 0, 0, 23999 + 100000);
	assert_int_equal(on_path(0), 24000);
	assert_int_equal(on_path(3), 1000);
	forget();
	begin();
	kernel(0, 0, 0, 40000, KP_GAP_OWN);
	copy(41000, 42000, 1); /* runs in the gap */
	kernel(1, 0, 44000, 45000, KP_GAP_LAUNCH);
	check_parts(finish(), 41000, 1000, 0, 0);
	forget();
}

/* So long a stretch is cut; nothing of its time is lost. */
static void test_path_long_stretch(void **state)
{
	const uint64_t count = 3 * (uint64_t)KP_PATH_ITEMS;
	struct kp_path_parts parts;

	(void)state;
	begin();
	kernel(0, 0, 0, 10 * count, KP_GAP_OWN);
	for (uint64_t i = 1; i < count; i++)
		kernel(1, 1, 10 * i, 10 * i + 10, KP_GAP_OWN);
	kernel(2, 1, 10 * count - 5, 10 * count + 10, KP_GAP_OWN);
	parts = finish();
	assert_true(parts.cuts >= 2);
	assert_int_equal(parts.kernel_ns + parts.others_ns, 10 * count + 10);
	forget();
}

/* What begins beside a kernel's last blocks waited for room; beside its first ones it did not. */
static void test_path_waits_for_room(void **state)
{
	(void)state;
	begin();
	kernel(0, 0, 0, 20000, KP_GAP_OWN);
	kernel(1, 1, 100, 200, KP_GAP_OWN);
	kernel(1, 1, 19000, 39000, KP_GAP_OWN);
	kernel(2, 0, 30000, 45000, KP_GAP_OWN);
	check_parts(finish(), 45000, 0, 0, 0);
	assert_int_equal(on_path(0), 19000);
	assert_int_equal(on_path(1), 11000);
	forget();
	begin();
	kernel(0, 0, 0, 20000, KP_GAP_OWN);
	kernel(1, 1, 100, 200, KP_GAP_OWN);
	kernel(1, 1, 9000, 39000, KP_GAP_OWN);
	check_parts(finish(), 30000 + 100, 0, 8800 + 100, 0);
	assert_int_equal(on_path(0), 0);
	forget();
}

/* More run at once than are followed. */
static void test_path_crowd(void **state)
{
	struct kp_path_parts parts;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 3 * KP_PATH_RUNNING; i++)
		kernel(i % ROWS, i, i, 100000 - i, KP_GAP_OWN);
	parts = finish();
	check_parts(parts, 100000, 0, 0, 0);
	assert_int_equal(on_path(0), 100000);
	forget();
}

/* ---- against the definition ---- */

struct plain {
	uint64_t start_ns, end_ns;
	uint32_t row, lane;
};

/* What number i waited for, of those from `first` on. */
static int before(const struct plain *items, int first, int i)
{
	int own = NONE, last = NONE, room = NONE;
	uint64_t at_ns = items[i].start_ns;

	for (int k = first; k < i; k++) {
		if (items[k].lane == items[i].lane)
			own = k;
		if (items[k].end_ns > at_ns && 2 * at_ns >= items[k].start_ns + items[k].end_ns &&
		    (room == NONE || items[k].end_ns < items[room].end_ns))
			room = k;
		/* Of several that ended then, any may be the one: times here are all different. */
		if (items[k].end_ns <= items[i].start_ns &&
		    (last == NONE || items[k].end_ns > items[last].end_ns))
			last = k;
	}
	if (own != NONE && (items[own].end_ns > items[i].start_ns ||
			    items[i].start_ns - items[own].end_ns <= KP_GAP_OWN_NS))
		return own;
	if (last != NONE && at_ns - items[last].end_ns <= KP_GAP_OWN_NS)
		return last;
	return room != NONE ? room : last;
}

static void walk(const struct plain *items, int first, int end, uint64_t *row_ns,
		 uint64_t *others_ns)
{
	int at = first;
	uint64_t at_ns;

	for (int i = first; i < end; i++)
		at = items[i].end_ns > items[at].end_ns ? i : at;
	at_ns = items[at].end_ns;
	while (at != NONE) {
		uint64_t to_ns = items[at].end_ns < at_ns ? items[at].end_ns : at_ns;

		*others_ns += at_ns - to_ns;
		row_ns[items[at].row] += to_ns - items[at].start_ns;
		at_ns = items[at].start_ns;
		at = before(items, first, at);
	}
	*others_ns += at_ns - items[first].start_ns;
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

static int by_start(const void *left, const void *right)
{
	const struct plain *a = left, *b = right;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

#define COUNT 400

/* Streams whose kernels follow each other at once, soon, long after, or before the end. */
static int fill(struct plain *items, uint64_t *random)
{
	uint64_t ends_ns[4] = {0};

	for (int i = 0; i < COUNT; i++) {
		uint32_t lane = (uint32_t)(draw(random) % 4);
		uint64_t start_ns = ends_ns[lane] + draw(random) % 6000;

		if (start_ns > 500 && draw(random) % 5 == 0)
			start_ns -= 500;
		start_ns = start_ns * 4 + lane; /* so that no two are the same */
		items[i] = (struct plain){.start_ns = start_ns,
					  .end_ns = start_ns + 4 + 4 * (draw(random) % 9000),
					  .row = (uint32_t)(draw(random) % ROWS),
					  .lane = lane};
		ends_ns[lane] = items[i].end_ns / 4;
	}
	qsort(items, COUNT, sizeof(*items), by_start);
	return COUNT;
}

static void test_path_against_definition(void **state)
{
	static struct plain items[COUNT];
	uint64_t random = 88172645463325252ULL;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		uint64_t row_ns[ROWS] = {0}, others_ns = 0, kernel_ns = 0, end_ns = 0;
		struct kp_path_parts parts;
		int count = fill(items, &random), first = 0;

		begin();
		for (int i = 0; i < count; i++) {
			if (i > first && items[i].start_ns >= end_ns) {
				walk(items, first, i, row_ns, &others_ns);
				first = i;
			}
			kernel(items[i].row, items[i].lane, items[i].start_ns, items[i].end_ns,
			       KP_GAP_UNKNOWN);
			end_ns = items[i].end_ns > end_ns ? items[i].end_ns : end_ns;
		}
		walk(items, first, count, row_ns, &others_ns);
		parts = finish();
		for (uint32_t row = 0; row < ROWS; row++) {
			assert_int_equal(on_path(row), row_ns[row]);
			kernel_ns += row_ns[row];
		}
		check_parts(parts, kernel_ns, 0, others_ns, 0);
		forget();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_one_stream_is_all_of_it),
		cmocka_unit_test(test_path_follows_the_stream),
		cmocka_unit_test(test_path_crosses_streams),
		cmocka_unit_test(test_path_dependent_launches),
		cmocka_unit_test(test_path_late_launches_hide),
		cmocka_unit_test(test_path_soon_behind_a_long_kernel_waited),
		cmocka_unit_test(test_path_waits_for_room),
		cmocka_unit_test(test_path_long_stretch),
		cmocka_unit_test(test_path_crowd),
		cmocka_unit_test(test_path_against_definition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
