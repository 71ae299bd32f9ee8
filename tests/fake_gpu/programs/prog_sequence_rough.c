/*
 * Programs that do what hardly any does while launches are held, or looked at:
 *
 *	prog_sequence_rough again|inside|fault|fault_alloc|asks|frees|tokens|alias
 *
 * «again»: a signal's handler jumps out of launches that a rule looks at. «inside»: the same, of a
 * signal that comes while the replacement runs, and another thread has launches held. «fault»: a
 * launch with a bad pointer, whose fault a handler jumps out of, and another thread's launch.
 * «fault_alloc»: the same of an allocation while a launch is held. «asks»: asks about memory that
 * it has just given back. «frees»: gives back what it may not. «tokens»: asks for what lets others
 * see its memory. «alias»: memory at two addresses. It prints what comes out.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake_gpu/programs/sequence_game.h"
#include "tests/fake_gpu/programs/sequence_kernels.h"

enum { JUMPS = 3, AFTERWARDS = 8, ROUNDS = 6, PAGE = 1 << 21, MAPPINGS = 20 };

static CUcontext context;
static CUfunction functions[KERNELS];
static CUstream stream;
static const uint64_t bytes = BYTES;
static CUdeviceptr x, w, t, u, y;
static sigjmp_buf back;
static volatile sig_atomic_t armed;

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "prog_sequence_rough: %s: error %d\n", what, result);
	exit(3);
}
#define CHECK(call) check((int)(call), #call)

static void jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* As seq_other's own, but that it is interrupted. */
static void compute_interrupted(const uint32_t grid[3], void **a)
{
	sequence_kernels[OTHER].compute(grid, a);
	if (armed) {
		armed = 0;
		raise(SIGUSR1);
	}
}

static CUdeviceptr memory(float first)
{
	float values[WORDS];
	CUdeviceptr out;

	for (int i = 0; i < WORDS; i++)
		values[i] = first + (float)i;
	CHECK(cuMemAlloc_v2(&out, BYTES));
	CHECK(cuMemcpyHtoD_v2(out, values, BYTES));
	return out;
}

static void begin(void)
{
	static struct kp_fake_kernel kernels[KERNELS];
	static struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, KERNELS, kernels};
	CUmodule module;

	memcpy(kernels, sequence_kernels, sizeof(kernels));
	kernels[OTHER].compute = compute_interrupted;
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, &image));
	for (int i = 0; i < KERNELS; i++)
		CHECK(cuModuleGetFunction(&functions[i], module, kernels[i].name));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	x = memory(1);
	w = memory(2);
	t = memory(3);
	u = memory(4);
	y = memory(5);
}

static void show(const char *name, CUdeviceptr at)
{
	float values[WORDS];

	CHECK(cuStreamSynchronize(stream));
	CHECK(cuMemcpyDtoH_v2(values, at, BYTES));
	printf("%s %g %g\n", name, (double)values[0], (double)values[WORDS - 1]);
}

static CUresult launch_one(int kernel, CUdeviceptr out, CUdeviceptr in)
{
	uint32_t salt = 1;
	void *arguments[] = {&out, &in, (void *)&bytes, &salt};

	return cuLaunchKernel(functions[kernel], 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL);
}

static void launch_second(CUdeviceptr out, CUdeviceptr in)
{
	uint32_t salt = 1;
	void *arguments[] = {&out, &in, &w, (void *)&bytes, &salt};

	CHECK(cuLaunchKernel(functions[SECOND], 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL));
}

static void *launch_elsewhere(void *argument)
{
	(void)argument;
	CHECK(cuCtxSetCurrent(context));
	CHECK(launch_one(FIRST, t, x));
	return NULL;
}

/* It may be held when this returns. */
static void let_another_launch(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, launch_elsewhere, NULL), "pthread_create");
	check(pthread_join(thread, NULL), "pthread_join");
}

static void play_again(void)
{
	static volatile int i;

	signal(SIGUSR1, jump);
	for (i = 0; i < JUMPS; i++) {
		armed = 1;
		if (sigsetjmp(back, 1) == 0)
			CHECK(launch_one(OTHER, y, x));
		CHECK(launch_one(FIRST, t, t));
	}
	for (i = 0; i < AFTERWARDS; i++) {
		CHECK(launch_one(OTHER, y, x));
		show("y", y);
	}
	show("t", t);
}

static void play_inside(void)
{
	signal(SIGUSR1, jump);
	if (sigsetjmp(back, 1) == 0)
		CHECK(launch_one(OTHER, y, x));
	let_another_launch();
	show("t", t);
}

static void play_fault(void)
{
	void *arguments[] = {&t, &x, (void *)&bytes, (void *)8};

	signal(SIGSEGV, jump);
	if (sigsetjmp(back, 1) == 0)
		printf("%d\n", (int)cuLaunchKernel(functions[FIRST], 1, 1, 1, 32, 1, 1, 0, stream,
						   arguments, NULL));
	let_another_launch();
	show("t", t);
}

static void play_fault_alloc(void)
{
	signal(SIGSEGV, jump);
	CHECK(launch_one(FIRST, t, x));
	if (sigsetjmp(back, 1) == 0)
		printf("%d\n", (int)cuMemAllocAsync((CUdeviceptr *)8, BYTES, stream));
	let_another_launch();
	show("t", t);
}

/* Of memory that was given back, and of other. */
static void play_asks(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		CUdeviceptr between, base;
		size_t size;
		unsigned type;

		CHECK(cuMemAllocAsync(&between, BYTES, stream));
		CHECK(launch_one(FIRST, between, x));
		CHECK(cuMemGetAddressRange_v2(&base, &size, between));
		launch_second(u, between);
		CHECK(cuMemFreeAsync(between, stream));
		CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, y));
		if (i == 0)
			printf("%d\n", (int)cuMemGetAddressRange_v2(&base, &size, between + 4));
		if (i == 1)
			printf("%d\n", (int)cuPointerGetAttribute(
					       &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, between));
		CHECK(launch_one(THIRD, y, u));
	}
	show("y", y);
}

static void play_frees(void)
{
	CUdeviceptr given[3];
	float values[WORDS];

	CHECK(cuMemHostAlloc((void **)&given[0], BYTES, 0));
	CHECK(cuMemAllocManaged(&given[1], BYTES, CU_MEM_ATTACH_GLOBAL));
	CHECK(cuMemAllocAsync(&given[2], BYTES, stream));
	given[2] += 4;
	for (int i = 0; i < 3; i++) {
		CHECK(launch_one(FIRST, t, x));
		printf("%d\n", (int)cuMemFreeAsync(given[i], stream));
		printf("%d\n", (int)cuMemcpyDtoH_v2(values, t, BYTES));
	}
}

static void play_rounds(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(launch_one(FIRST, t, x));
		launch_second(u, t);
		CHECK(launch_one(THIRD, y, u));
		show("y", y);
	}
}

static void play_tokens(void)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;

	play_rounds();
	printf("%d\n", (int)cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, t));
	play_rounds();
}

/* The memory has one address more: this. */
static CUdeviceptr map(CUmemGenericAllocationHandle handle)
{
	const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
					.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr out;

	CHECK(cuMemAddressReserve(&out, PAGE, 0, 0, 0));
	CHECK(cuMemMap(out, PAGE, 0, handle, 0));
	CHECK(cuMemSetAccess(out, PAGE, &access, 1));
	return out;
}

static CUmemGenericAllocationHandle make(void)
{
	const CUmemAllocationProp what = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle out;

	CHECK(cuMemCreate(&out, PAGE, &what, 0));
	return out;
}

/* What is mapped once is like any other, however often handles are used again. */
static void play_alias(void)
{
	CUmemGenericAllocationHandle handle;

	for (int i = 0; i < MAPPINGS; i++) {
		handle = make();
		t = map(handle);
		CHECK(cuMemRelease(handle));
	}
	play_rounds();
	handle = make();
	t = map(handle);
	x = map(handle);
	play_rounds();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*play)(void);
	} works[] = {
		{"again", play_again},   {"inside", play_inside},
		{"fault", play_fault},   {"fault_alloc", play_fault_alloc},
		{"asks", play_asks},     {"frees", play_frees},
		{"tokens", play_tokens}, {"alias", play_alias},
	};

	begin();
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (argc == 2 && strcmp(argv[1], works[i].name) == 0)
			works[i].play();
	return 0;
}
