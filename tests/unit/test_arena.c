/* The arena: alignment, zeroes, copies and growth. */
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "trace/arena.h"

static void test_arena_allocations_are_aligned_and_zeroed(void **state)
{
	struct kp_arena *arena = kp_arena_create();

	(void)state;
	assert_non_null(arena);
	for (size_t size = 1; size < 300; size++) {
		unsigned char *bytes = kp_arena_alloc(arena, size);

		assert_non_null(bytes);
		assert_int_equal((uintptr_t)bytes % alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(bytes[i], 0);
		memset(bytes, 0xff, size);
	}
	kp_arena_destroy(arena);
}

static void test_arena_keeps_what_it_gave(void **state)
{
	struct kp_arena *arena = kp_arena_create();
	char *copies[2000];

	(void)state;
	for (int i = 0; i < 2000; i++) {
		char text[64];
		int length = snprintf(text, sizeof(text), "number %d", i);

		copies[i] = kp_arena_copy(arena, text, (size_t)length);
		assert_non_null(copies[i]);
	}
	for (int i = 0; i < 2000; i++) {
		char text[64];

		snprintf(text, sizeof(text), "number %d", i);
		assert_string_equal(copies[i], text);
	}
	kp_arena_destroy(arena);
}

static void test_arena_gives_large_blocks_and_refuses_absurd_ones(void **state)
{
	struct kp_arena *arena = kp_arena_create();
	char *large = kp_arena_alloc(arena, (size_t)3 << 20);

	(void)state;
	assert_non_null(large);
	large[((size_t)3 << 20) - 1] = 1;
	assert_true(kp_arena_bytes(arena) >= (size_t)3 << 20);
	assert_null(kp_arena_alloc(arena, SIZE_MAX));
	assert_null(kp_arena_alloc(arena, SIZE_MAX - 16));
	assert_non_null(kp_arena_alloc(arena, 16));
	kp_arena_destroy(arena);
	kp_arena_destroy(NULL);
}

static void test_arena_copies_nothing(void **state)
{
	struct kp_arena *arena = kp_arena_create();
	const char *empty = kp_arena_copy(arena, NULL, 0);

	(void)state;
	assert_non_null(empty);
	assert_string_equal(empty, "");
	kp_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arena_allocations_are_aligned_and_zeroed),
		cmocka_unit_test(test_arena_keeps_what_it_gave),
		cmocka_unit_test(test_arena_gives_large_blocks_and_refuses_absurd_ones),
		cmocka_unit_test(test_arena_copies_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
