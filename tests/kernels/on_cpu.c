/* Kernels on the CPU; see launch.h. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/kernels/cpu_kernels.h"
#include "tests/kernels/launch.h"
#include "tests/kernels/launched.h"
#include "tests/kernels/poison.h"

void *kp_test_alloc(size_t bytes)
{
	void *memory = malloc(bytes ? bytes : 1);

	if (!memory || (uintptr_t)memory % 16)
		abort();
	return memory;
}

void kp_test_free(void *memory)
{
	free(memory);
}

uint32_t kp_test_compute_capability(void)
{
	return 0;
}

kp_encode_map kp_test_encode_map(void)
{
	return NULL;
}

void kp_test_launch(const struct kp_kernel_plan *plan, const void *args, enum kp_fiber_order order)
{
	const unsigned grid[2] = {plan->grid_x, plan->grid_y};
	char symbol[64];

	kp_kernel_symbol(plan->kernel, plan->dtype, symbol, sizeof(symbol));
	kp_test_count(plan->kernel);
	if (plan->shared_bytes > KP_TEST_SHARED_MOST) {
		fprintf(stderr, "%s: %u bytes of shared memory\n", symbol, plan->shared_bytes);
		exit(1);
	}
	if (kp_cpu_kernel_run(symbol, grid, plan->threads, plan->shared_bytes, args, order))
		return;
	fprintf(stderr, "there is no %s\n", symbol);
	exit(1);
}
