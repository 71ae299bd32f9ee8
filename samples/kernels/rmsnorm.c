/*
 * libkprof_kernels in a program of one's own: an RMS norm of 4 rows of 1000 elements.
 *
 *   cc rmsnorm.c $(pkg-config --cflags --libs --static kprof_kernels) -lcuda -o rmsnorm
 *
 * The first part needs no GPU: whether the arguments can be computed, and which version would run.
 * Exits with 0 once both are done, 1 where there is no GPU or the result is wrong.
 */
#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernels/norm.h>

#define ROWS 4
#define COLUMNS 1000
#define BYTES (ROWS * COLUMNS * sizeof(unsigned short))

static unsigned short bf16_of(float value)
{
	unsigned bits;

	memcpy(&bits, &value, sizeof(bits));
	return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void check(CUresult result, const char *call)
{
	if (result == CUDA_SUCCESS)
		return;
	printf("%s fails with error %d\n", call, (int)result);
	exit(1);
}

/* What an H200 would do. */
static void tell(const struct kp_norm_args *args)
{
	const struct kp_kernel_device h200 = {.sm_count = 132, .compute_capability = 90};
	const char *reason = NULL;
	struct kp_kernel_plan plan;
	char symbol[64];

	if (!kp_rmsnorm_supports(args, &reason)) {
		printf("not supported: %s\n", reason);
		exit(1);
	}
	kp_rmsnorm_plan(args, &h200, &plan);
	kp_kernel_symbol(plan.kernel, plan.dtype, symbol, sizeof(symbol));
	printf("%s, %u blocks of %u threads\n", symbol, plan.grid_x, plan.threads);
	fflush(stdout);
}

static void start(CUcontext *context)
{
	CUdevice device;

	check(cuInit(0), "cuInit");
	check(cuDeviceGet(&device, 0), "cuDeviceGet");
	check(cuDevicePrimaryCtxRetain(context, device), "cuDevicePrimaryCtxRetain");
	check(cuCtxSetCurrent(*context), "cuCtxSetCurrent");
}

/* Runs it on the device; `x` and `y` on the host. */
static void run(struct kp_norm_args args, const unsigned short *x, unsigned short *y)
{
	struct kp_kernels *kernels;
	CUdeviceptr x_device, y_device;
	enum kp_status status;
	int error;

	/* Once a context: loads all code, so that no launch does. */
	status = kp_kernels_create(NULL, &kernels, &error);
	if (status != KP_OK) {
		printf("%s (driver error %d)\n", kp_status_message(status), error);
		exit(1);
	}
	check(cuMemAlloc(&x_device, BYTES), "cuMemAlloc");
	check(cuMemAlloc(&y_device, BYTES), "cuMemAlloc");
	check(cuMemcpyHtoD(x_device, x, BYTES), "cuMemcpyHtoD");
	args.x = (const void *)(size_t)x_device;
	args.y = (void *)(size_t)y_device;
	/* Enqueues it on args.stream, here the default one; a graph may capture it. */
	status = kp_rmsnorm(kernels, &args);
	printf("%s\n", kp_status_message(status));
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	check(cuMemcpyDtoH(y, y_device, BYTES), "cuMemcpyDtoH");
	check(cuMemFree(x_device), "cuMemFree");
	check(cuMemFree(y_device), "cuMemFree");
	kp_kernels_destroy(kernels);
}

int main(void)
{
	static unsigned short x[ROWS * COLUMNS], y[ROWS * COLUMNS];
	static double expected[ROWS * COLUMNS];
	/* Any pointers will do for the plan; strides count elements. */
	struct kp_norm_args args = {
		.x = x,
		.y = y,
		.outer = ROWS,
		.inner = 1,
		.columns = COLUMNS,
		.x_outer = COLUMNS,
		.y_outer = COLUMNS,
		.eps = 1e-5F,
		.dtype = KP_DTYPE_BF16,
		.y_dtype = KP_DTYPE_BF16,
	};
	CUcontext context;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		x[i] = bf16_of(sinf((float)i));
	tell(&args);
	start(&context);
	run(args, x, y);
	/* The library's own reference, in float64, on the host. */
	kp_rmsnorm_reference(&args, expected);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		if (y[i] != bf16_of((float)expected[i])) {
			printf("element %d is wrong\n", i);
			return 1;
		}
	printf("right\n");
	return 0;
}
