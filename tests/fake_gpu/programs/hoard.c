/*
 * A module that the loader takes long to relocate: a large table of functions, the driver's among
 * them, on pages that it makes read-only at the end. prog_loading loads it. With KP_SMALL it is
 * morsel.so, which is loaded in no time.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#define TIMES_10(x) x x x x x x x x x x
#define ENTRIES                                                                                    \
	(void *)cuLaunchKernel, (void *)puts, (void *)malloc, (void *)cuLaunchKernel, (void *)free,

#ifdef KP_SMALL
static void *const table[] = {TIMES_10(ENTRIES)};
#else
static void *const table[] = {TIMES_10(TIMES_10(TIMES_10(TIMES_10(ENTRIES))))};
#endif

typedef CUresult (*launch_function)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
				    unsigned, unsigned, CUstream, void **, void **);

int hoard_launch(CUfunction function, CUstream stream, unsigned count);

/* Launches by entries from all over the table. */
__attribute__((visibility("default"))) int hoard_launch(CUfunction function, CUstream stream,
							unsigned count)
{
	size_t groups = sizeof(table) / sizeof(table[0]) / 5;
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++) {
		launch_function launch = (launch_function)table[groups * i / count * 5 + i % 2 * 3];

		result = launch(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
	}
	return (int)result;
}
