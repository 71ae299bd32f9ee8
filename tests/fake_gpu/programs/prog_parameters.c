/*
 * A program that launches kernels with the names and parameters of PyTorch's and Triton's, whose
 * sizes kprof reads by rule, and others that are like them but for their layout:
 *
 *	prog_parameters WORK ROUNDS
 *
 * WORK: «eager»; «graph», the same captured, and launched ROUNDS times; «threads», by four at once;
 * «unload», where the code is loaded anew each round; «reset», where the context goes with it, and
 * kernels come at the handles of others; «fail», where launches may fail. A round launches KNOWN
 *kernels whose sizes follow from their grid, and UNKNOWN of which none is known.
 */
#include <pthread.h>
#include <string.h>

#include "tests/fake_gpu/programs/one_kernel.h"

#define THREADS 4

enum { FILL, OTHER_FILL, NORM, FLASH, REDUCE, TRITON, PLAIN, KERNELS };

static const struct kp_fake_kernel kernels[KERNELS] = {
	[FILL] =
		{.name = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5"
			 "arrayIPcLm1EEEEviT0_T1_",
		 .parameter_count = 3,
		 .parameter_bytes = {4, 4, 8}},
	[OTHER_FILL] =
		{.name = "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_11FillFunctorIfEE"
			 "St5arrayIPcLm1EEEEvlT0_T1_",
		 .parameter_count = 3,
		 .parameter_bytes = {8, 4, 8}},
	[NORM] = {.name = "_ZN2at6native42_GLOBAL__N__20_layer_norm_kernel_cu_"
			  "28vectorized_layer_norm_kernelIffLb0EEEviT0_PKT_S5_S5_PS2_S6_PS3_",
		  .parameter_count = 8,
		  .parameter_bytes = {4, 4, 8, 8, 8, 8, 8, 8}},
	[FLASH] = {.name = "_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi64EN7"
			   "cutlass10bfloat16_tEEEEvNS_16Flash_fwd_paramsE",
		   .parameter_count = 1,
		   .parameter_bytes = {472}},
	[REDUCE] = {.name = "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_"
			    "7MeanOpsIffffEEjfLi4ELi4EEEEEvT1_",
		    .parameter_count = 1,
		    .parameter_bytes = {1048}},
	[TRITON] = {.name = "triton_red_fused_add_mean_0",
		    .parameter_count = 7,
		    .parameter_bytes = {8, 8, 8, 4, 4, 8, 8}},
	[PLAIN] = {.name = "plain", .parameter_count = 1, .parameter_bytes = {4}},
};

static struct {
	CUcontext context;
	const char *work;
	long rounds;
	CUfunction functions[KERNELS];
	CUmodule module;
	CUfunction fill_kernel; /* a CUkernel */
} all;

static void load(void)
{
	static unsigned loads; /* each time in another order */
	struct kp_fake_kernel timed[KERNELS];
	const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, KERNELS, timed};

	loads++;
	for (unsigned i = 0; i < KERNELS; i++) {
		timed[i] = kernels[(i + loads) % KERNELS];
		timed[i].duration_ns = 2000;
		timed[i].registers = 8;
	}
	check(cuModuleLoadData(&all.module, &image), "cuModuleLoadData");
	for (int i = 0; i < KERNELS; i++)
		check(cuModuleGetFunction(&all.functions[i], all.module, kernels[i].name), "find");
}

static void load_library(void)
{
	const struct kp_fake_kernel timed = {.name = kernels[FILL].name,
					     .duration_ns = 2000,
					     .registers = 8,
					     .parameter_count = 3,
					     .parameter_bytes = {4, 4, 8}};
	const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &timed};
	CUlibrary library;
	CUkernel kernel;

	check(cuLibraryLoadData(&library, &image, NULL, NULL, 0, NULL, NULL, 0), "load");
	check(cuLibraryGetKernel(&kernel, library, timed.name), "cuLibraryGetKernel");
	all.fill_kernel = (CUfunction)(void *)kernel;
}

/* Launches may fail in «fail» alone. */
static void done(CUresult result)
{
	if (strcmp(all.work, "fail") != 0)
		check(result, "launch");
}

static void launch(CUfunction function, unsigned grid, CUstream stream, void **parameters)
{
	done(cuLaunchKernel(function, grid, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
}

static void launch_config(CUfunction function, unsigned grid, CUstream stream, void **parameters)
{
	const CUlaunchConfig config = {.gridDimX = grid,
				       .gridDimY = 1,
				       .gridDimZ = 1,
				       .blockDimX = 128,
				       .blockDimY = 1,
				       .blockDimZ = 1,
				       .hStream = stream};

	done(cuLaunchKernelEx(&config, function, parameters, NULL));
}

/* All parameters in one buffer, as they lie in the kernel's. */
static void launch_packed(CUfunction function, unsigned grid, CUstream stream, void *buffer,
			  size_t bytes)
{
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &bytes, CU_LAUNCH_PARAM_END};

	done(cuLaunchKernel(function, grid, 1, 1, 128, 1, 1, 0, stream, NULL, extra));
}

static void put(unsigned char *bytes, size_t offset, uint32_t value)
{
	memcpy(bytes + offset, &value, sizeof(value));
}

static void attend(unsigned grid, CUstream stream)
{
	unsigned char struct_bytes[472] = {0};
	void *parameters[] = {struct_bytes};

	put(struct_bytes, 96, 12);
	put(struct_bytes, 100, 4);
	put(struct_bytes, 176, grid);
	put(struct_bytes, 180, grid + 1);
	put(struct_bytes, 184, grid + 2);
	put(struct_bytes, 192, 64);
	struct_bytes[441] = grid % 2;
	launch(all.functions[FLASH], grid, stream, parameters);
}

/* `unit`: bytes of an element. */
static void reduce(unsigned grid, CUstream stream, uint32_t unit)
{
	unsigned char struct_bytes[1048] = {0};

	put(struct_bytes, 8, unit);
	put(struct_bytes, 12, 7 * grid);
	put(struct_bytes, 16, 5 * grid);
	launch_packed(all.functions[REDUCE], grid, stream, struct_bytes, sizeof(struct_bytes));
}

/* 6 launches of which sizes are known, 4 of which not. */
static void work(unsigned grid, CUstream stream)
{
	uint32_t count = 100 * grid, width = 1000 + grid, x = 2 * grid, r = 3 * grid, value = 0;
	uint64_t wide = 100UL * grid, address = 0;
	void *fill[] = {&count, &value, &address}, *other[] = {&wide, &value, &address};
	void *norm[] = {&width, &value, &address, &address, &address, &address, &address, &address};
	void *triton[] = {&address, &address, &address, &x, &r, &address, &address};
	void *plain[] = {&value};

	launch(all.functions[FILL], grid, stream, fill);
	launch(all.functions[OTHER_FILL], grid, stream, other);
	launch_config(all.functions[NORM], grid, stream, norm);
	attend(grid, stream);
	launch(all.functions[PLAIN], grid, stream, plain);
	reduce(grid, stream, 4);
	reduce(grid + 500, stream, 3);
	done(cuLaunchCooperativeKernel(all.functions[TRITON], grid, 1, 1, 128, 1, 1, 0, stream,
				       triton));
	launch_config(all.fill_kernel, grid, stream, fill);
	launch(all.functions[PLAIN], grid, stream, NULL);
}

static void run_graph(CUstream stream)
{
	CUgraphExec exec;
	CUgraph graph;

	check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
	work(3, stream);
	check(cuStreamEndCapture(stream, &graph), "end");
	check(cuGraphInstantiate(&exec, graph, 0), "instantiate");
	check(cuGraphDestroy(graph), "destroy");
	for (long i = 0; i < all.rounds; i++)
		check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
}

static CUstream make_stream(void)
{
	CUstream stream;

	check(cuCtxSetCurrent(all.context), "cuCtxSetCurrent");
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	return stream;
}

/* What was loaded goes, and comes again. */
static void begin_anew(CUstream *stream)
{
	check(cuStreamSynchronize(*stream), "cuStreamSynchronize");
	if (strcmp(all.work, "unload") == 0) {
		check(cuModuleUnload(all.module), "cuModuleUnload");
		load();
	} else if (strcmp(all.work, "reset") == 0) {
		check(cuDevicePrimaryCtxReset(0), "cuDevicePrimaryCtxReset");
		check(cuDevicePrimaryCtxRetain(&all.context, 0), "cuDevicePrimaryCtxRetain");
		*stream = make_stream();
		load();
	}
}

static void *run(void *number)
{
	unsigned first = 1 + 60 * (unsigned)(uintptr_t)number;
	CUstream stream = make_stream();

	for (long i = 0; i < all.rounds && strcmp(all.work, "graph") != 0; i++) {
		work(first + (unsigned)(i % 50), stream);
		begin_anew(&stream);
	}
	if (strcmp(all.work, "graph") == 0)
		run_graph(stream);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS];
	uintptr_t threads;

	if (argc != 3)
		return 2;
	all.work = argv[1];
	all.rounds = atol(argv[2]);
	threads = strcmp(all.work, "threads") == 0 ? THREADS : 1;
	all.context = begin_cuda();
	load();
	load_library();
	for (uintptr_t i = 1; i < threads; i++)
		check((CUresult)pthread_create(&ids[i], NULL, run, (void *)i), "pthread_create");
	run(NULL);
	for (uintptr_t i = 1; i < threads; i++)
		check((CUresult)pthread_join(ids[i], NULL), "pthread_join");
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
