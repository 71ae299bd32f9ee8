/* Which versions of a kernel a test has run; see launch.h. */
#include "tests/kernels/launched.h"

#include <limits.h>
#include <string.h>

#include "tests/kernels/launch.h"
#include "tests/kernels/tensors.h"

static unsigned runs[KP_KERNEL_COUNT];

void kp_test_count(enum kp_kernel_id kernel)
{
	runs[kernel]++;
}

void kp_test_expect_all(const char *prefix)
{
	char symbol[64];

	if (kp_test_cases(UINT_MAX) != UINT_MAX)
		return;
	kp_case("all versions");
	for (int i = 0; i < KP_KERNEL_COUNT; i++) {
		kp_kernel_symbol((enum kp_kernel_id)i, KP_DTYPE_BF16, symbol, sizeof(symbol));
		if (strncmp(symbol + strlen("kp_"), prefix, strlen(prefix)) == 0)
			kp_expect(runs[i] > 0, "%s was never run", symbol);
	}
}
