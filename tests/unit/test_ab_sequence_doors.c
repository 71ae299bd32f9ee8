/* Doors before functions of the driver; what they ask of others does nothing here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inject/ab.h"
#include "inject/ab_sequence.h"
#include "inject/ab_sequence_memory.h"

_Atomic uint32_t kp_ab_sequence_pending;
_Thread_local bool kp_ab_inside;
static int ends, changes;

void kp_ab_sequence_end(void)
{
	ends++;
}

void kp_ab_sequence_memory_changes(void)
{
	changes++;
}

CUresult kp_ab_sequence_interrupt(enum kp_ab_reason reason)
{
	(void)reason;
	return CUDA_SUCCESS;
}

bool kp_ab_sequence_holds_free(const void *function, uint64_t memory, CUstream stream,
			       CUresult *result)
{
	(void)function, (void)memory, (void)stream, (void)result;
	return false;
}

bool kp_ab_sequence_makes_alloc(const void *function, uint64_t *memory, size_t bytes,
				CUstream stream)
{
	(void)function, (void)memory, (void)bytes, (void)stream;
	return false;
}

bool kp_ab_sequence_gives_back(uint64_t memory)
{
	(void)memory;
	return false;
}

bool kp_ab_sequence_memory_maps(uint64_t handle)
{
	(void)handle;
	return false;
}

void kp_ab_sequence_memory_releases(uint64_t handle)
{
	(void)handle;
}

static int target(int number)
{
	return number + 1;
}

/* Another driver's function may stand where one stood that had a door. */
static void test_ab_sequence_doors_are_of_functions(void **state)
{
	void *address = (void *)target;
	int (*ordered)(int), (*frees)(int);

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	*(void **)&ordered = kp_ab_sequence_door("cuLaunchKernel", address);
	*(void **)&frees = kp_ab_sequence_door("cuMemFree_v2", address);
	assert_ptr_not_equal(ordered, frees);
	assert_ptr_equal(ordered, kp_ab_sequence_door("cuLaunchKernel", address));
	assert_ptr_equal(frees, kp_ab_sequence_door("cuMemFree_v2", address));
	assert_int_equal(ordered(1), 2);
	assert_int_equal(changes, 0);
	assert_int_equal(frees(2), 3);
	assert_int_equal(changes, 1);
	assert_int_equal(ends, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ab_sequence_doors_are_of_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
