/* The GPU work of prog_launch, by the driver's API; see work.h. */
#include "tests/fake_gpu/programs/work.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>
#include <cudaProfiler.h>
#include <nvtx3/nvToolsExt.h>

#include "tests/fake_gpu/common/image.h"

#define COPY_BYTES 1000
#define STREAM_LIMIT 64
#define RANGE_LAUNCHES 10

/* The per-thread variants, which the header only names in place of the others. */
CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
			     unsigned int bx, unsigned int by, unsigned int bz, unsigned int bytes,
			     CUstream stream, void **arguments, void **extra);
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **arguments,
			       void **extra);
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
					unsigned int gz, unsigned int bx, unsigned int by,
					unsigned int bz, unsigned int bytes, CUstream stream,
					void **arguments);

static CUcontext context;
static CUfunction functions[KP_PROG_NAMES];
static pthread_mutex_t counts_lock = PTHREAD_MUTEX_INITIALIZER;

static void check(CUresult result, const char *what)
{
	const char *name = NULL;

	if (result == CUDA_SUCCESS)
		return;
	cuGetErrorName(result, &name);
	fprintf(stderr, "prog_launch: %s: %s\n", what, name ? name : "unknown error");
	exit(3);
}

void kp_prog_begin(const struct kp_prog_options *options)
{
	struct kp_fake_kernel kernels[KP_PROG_NAMES] = {0};
	struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, options->name_count, kernels};
	CUdevice device;
	CUmodule module;

	for (unsigned int i = 0; i < options->name_count; i++) {
		kernels[i].name = options->names[i];
		kernels[i].duration_ns = options->durations_ns[i];
		kernels[i].registers = 32;
		kernels[i].static_shared_bytes = 1024;
	}
	check(cuInit(0), "cuInit");
	check(cuDeviceGet(&device, 0), "cuDeviceGet");
	for (uint64_t i = 0; i < options->contexts; i++) {
		check(cuCtxCreate(&context, NULL, 0, device), "cuCtxCreate");
		check(cuCtxDestroy(context), "cuCtxDestroy");
	}
	check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	check(cuModuleLoadData(&module, &image), "cuModuleLoadData");
	for (unsigned int i = 0; i < options->name_count; i++)
		check(cuModuleGetFunction(&functions[i], module, options->names[i]),
		      "cuModuleGetFunction");
}

static CUresult launch(const char *api, CUfunction f, CUstream stream)
{
	CUlaunchConfig config = {.gridDimX = 4,
				 .gridDimY = 2,
				 .gridDimZ = 1,
				 .blockDimX = 128,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .hStream = stream};

	if (!api || strcmp(api, "launch") == 0)
		return cuLaunchKernel(f, 4, 2, 1, 128, 1, 1, 0, stream, NULL, NULL);
	if (strcmp(api, "launch-ptsz") == 0)
		return cuLaunchKernel_ptsz(f, 4, 2, 1, 128, 1, 1, 0, stream, NULL, NULL);
	if (strcmp(api, "ex") == 0)
		return cuLaunchKernelEx(&config, f, NULL, NULL);
	if (strcmp(api, "ex-ptsz") == 0)
		return cuLaunchKernelEx_ptsz(&config, f, NULL, NULL);
	if (strcmp(api, "coop") == 0)
		return cuLaunchCooperativeKernel(f, 4, 2, 1, 128, 1, 1, 0, stream, NULL);
	if (strcmp(api, "coop-ptsz") == 0)
		return cuLaunchCooperativeKernel_ptsz(f, 4, 2, 1, 128, 1, 1, 0, stream, NULL);
	fprintf(stderr, "prog_launch: unknown --api %s\n", api);
	exit(2);
}

/* What comes before and after each launch besides: ranges and capture ranges. */
static void before_launch(const struct kp_prog_options *options, uint64_t i, nvtxRangeId_t *range)
{
	if (options->nvtx && i % RANGE_LAUNCHES == 0)
		nvtxRangePushA("ten launches");
	if (options->nvtx_start && i % RANGE_LAUNCHES == 0)
		*range = nvtxRangeStartA("ten launches");
	if (options->capture && i + 1 == options->capture)
		check(cuProfilerStart(), "cuProfilerStart");
	if (options->capture_end && i + 1 == options->capture_end)
		check(cuProfilerStop(), "cuProfilerStop");
}

static void after_launch(const struct kp_prog_options *options, uint64_t i, nvtxRangeId_t range)
{
	if (i % RANGE_LAUNCHES != RANGE_LAUNCHES - 1 && i != options->kernels - 1)
		return;
	if (options->nvtx)
		nvtxRangePop();
	if (options->nvtx_start)
		nvtxRangeEnd(range);
}

static void create_streams(const struct kp_prog_options *options, CUstream *streams)
{
	for (uint64_t i = 0; i < options->streams && i < STREAM_LIMIT; i++)
		check(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

/* The handles are used again, for other streams. */
static void recreate_streams(const struct kp_prog_options *options, CUstream *streams)
{
	for (uint64_t i = 0; i < options->streams && i < STREAM_LIMIT; i++)
		check(cuStreamDestroy(streams[i]), "cuStreamDestroy");
	create_streams(options, streams);
}

/* After a launch: a pause, and, as at the end of a step, waiting. */
static void rest(const struct kp_prog_options *options, uint64_t i, CUstream stream)
{
	if (options->sync_every && i % options->sync_every == options->sync_every - 1)
		check(cuStreamSynchronize(stream), "cuStreamSynchronize");
	if (options->interval_us)
		usleep((useconds_t)options->interval_us);
}

static bool is_enough(const struct kp_prog_options *options, uint64_t launched)
{
	return launched >= options->kernels ||
	       (options->until && access(options->until, F_OK) == 0);
}

static void launch_kernels(const struct kp_prog_options *options, CUstream *streams,
			   struct kp_prog_counts *counts)
{
	nvtxRangeId_t range = 0;

	for (uint64_t i = 0; !is_enough(options, i); i++) {
		CUstream stream = options->streams ? streams[i % options->streams] : NULL;

		before_launch(options, i, &range);
		if (launch(options->api, functions[i % options->name_count], stream) ==
		    CUDA_SUCCESS)
			counts->kernels++;
		else
			counts->failed++;
		after_launch(options, i, range);
		rest(options, i, stream);
		if (options->recreate && (i + 1) % options->recreate == 0)
			recreate_streams(options, streams);
	}
}

static CUgraph capture_graph(const struct kp_prog_options *options, CUstream stream)
{
	CUgraph graph;

	check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
	      "cuStreamBeginCapture");
	for (uint64_t i = 0; i < options->graph_nodes; i++)
		check(launch(options->api, functions[i % options->name_count], stream), "launch");
	check(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
	return graph;
}

/* A chain of kernel nodes. */
static CUgraph build_graph(const struct kp_prog_options *options)
{
	CUDA_KERNEL_NODE_PARAMS params = {.gridDimX = 8,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 64,
					  .blockDimY = 1,
					  .blockDimZ = 1};
	CUgraphNode node = NULL;
	CUgraph graph;

	check(cuGraphCreate(&graph, 0), "cuGraphCreate");
	for (uint64_t i = 0; i < options->graph_nodes; i++) {
		CUgraphNode before = node;

		params.func = functions[i % options->name_count];
		check(cuGraphAddKernelNode(&node, graph, &before, before ? 1 : 0, &params),
		      "cuGraphAddKernelNode");
	}
	return graph;
}

static CUgraph make_graph(const struct kp_prog_options *options, CUstream stream)
{
	CUgraph inner, outer;
	CUgraphNode node;

	if (options->graph_from && strcmp(options->graph_from, "capture") == 0)
		return capture_graph(options, stream);
	inner = build_graph(options);
	if (!options->graph_from || strcmp(options->graph_from, "nested") != 0)
		return inner;
	check(cuGraphCreate(&outer, 0), "cuGraphCreate");
	check(cuGraphAddChildGraphNode(&node, outer, NULL, 0, inner), "cuGraphAddChildGraphNode");
	return outer;
}

static void launch_graph(const struct kp_prog_options *options, CUstream stream,
			 struct kp_prog_counts *counts)
{
	CUgraph graph = make_graph(options, stream);
	CUgraphExec exec;

	check(cuGraphInstantiate(&exec, graph,
				 options->graph_from && strcmp(options->graph_from, "device") == 0
					 ? CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH
					 : 0),
	      "cuGraphInstantiate");
	check(cuGraphUpload(exec, stream), "cuGraphUpload");
	check(cuGraphDestroy(graph), "cuGraphDestroy");
	for (uint64_t i = 0; i < options->graph_replays; i++) {
		check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
		counts->graph_kernels += options->graph_nodes;
		rest(options, i, stream);
	}
	if (!options->no_sync)
		check(cuStreamSynchronize(stream), "cuStreamSynchronize");
	check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
}

static void run_memops(const struct kp_prog_options *options, CUstream stream,
		       struct kp_prog_counts *counts)
{
	char host[COPY_BYTES] = {1};
	CUdeviceptr memory;

	check(cuMemAlloc(&memory, COPY_BYTES), "cuMemAlloc");
	for (uint64_t i = 0; i < options->memops; i++) {
		if (i % 3 == 0)
			check(cuMemcpyHtoDAsync(memory, host, COPY_BYTES, stream), "copy");
		else if (i % 3 == 1)
			check(cuMemcpyDtoHAsync(host, memory, COPY_BYTES, stream), "copy");
		else
			check(cuMemsetD8Async(memory, 7, COPY_BYTES, stream), "set");
		counts->memops++;
	}
	check(cuMemFree(memory), "cuMemFree");
}

struct share {
	const struct kp_prog_options *options;
	struct kp_prog_counts *counts;
};

static void *work(void *argument)
{
	const struct share *share = argument;
	const struct kp_prog_options *options = share->options;
	struct kp_prog_counts mine = {0};
	CUstream streams[STREAM_LIMIT] = {0}, work_stream;

	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	create_streams(options, streams);
	check(cuStreamCreate(&work_stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	launch_kernels(options, streams, &mine);
	if (options->graph)
		launch_graph(options, work_stream, &mine);
	run_memops(options, work_stream, &mine);
	if (!options->no_sync)
		check(cuCtxSynchronize(), "cuCtxSynchronize");
	pthread_mutex_lock(&counts_lock);
	share->counts->kernels += mine.kernels;
	share->counts->failed += mine.failed;
	share->counts->graph_kernels += mine.graph_kernels;
	share->counts->memops += mine.memops;
	pthread_mutex_unlock(&counts_lock);
	return NULL;
}

void kp_prog_work(const struct kp_prog_options *options, struct kp_prog_counts *counts)
{
	static struct share share;
	pthread_t threads[STREAM_LIMIT];

	if (options->streams > STREAM_LIMIT || options->threads > STREAM_LIMIT) {
		fputs("prog_launch: too many streams or threads\n", stderr);
		exit(2);
	}
	share = (struct share){options, counts};
	if (options->threads == 1 && !options->detached) {
		work(&share);
		return;
	}
	for (uint64_t i = 0; i < options->threads; i++)
		if (pthread_create(&threads[i], NULL, work, &share) != 0)
			exit(3);
	if (options->detached) {
		usleep(20000);
		return;
	}
	for (uint64_t i = 0; i < options->threads; i++)
		pthread_join(threads[i], NULL);
}
