/*
 * Launch-bound: an iteration is NODES kernels of a few microseconds, and before each the host works
 * as long as a framework does to dispatch an operator. The GPU waits for launches most of the time.
 *
 * The remedy replays a CUDA graph of the same kernels, which are dispatched once, for the capture.
 *
 * increment_kernel: x[count] += 1; 8 * count bytes. Exact.
 */
#include "timing.h"

enum { NODES = 64, COUNT = 1 << 16, THREADS = 256, DISPATCH_NS = 8000 };

struct work {
	cudaStream_t stream;
	cudaGraphExec_t graph; /* NULL: launches one by one */
	uint32_t *x;           /* [COUNT] */
};

static __global__ void increment_kernel(uint32_t *x)
{
	x[blockIdx.x * THREADS + threadIdx.x] += 1;
}

static void dispatch(void)
{
	double end_s = timing_now_s() + 1e-9 * DISPATCH_NS;

	while (timing_now_s() < end_s)
		continue;
}

static void launch_all(struct work *work)
{
	for (int i = 0; i < NODES; i++) {
		dispatch();
		increment_kernel<<<COUNT / THREADS, THREADS, 0, work->stream>>>(work->x);
		CUDA_CHECK(cudaGetLastError());
	}
}

static void iterate(void *context)
{
	struct work *work = (struct work *)context;

	if (work->graph)
		CUDA_CHECK(cudaGraphLaunch(work->graph, work->stream));
	else
		launch_all(work);
}

static void capture(struct work *work)
{
	cudaGraph_t graph;

	CUDA_CHECK(cudaStreamBeginCapture(work->stream, cudaStreamCaptureModeThreadLocal));
	launch_all(work);
	CUDA_CHECK(cudaStreamEndCapture(work->stream, &graph));
	CUDA_CHECK(cudaGraphInstantiate(&work->graph, graph, 0));
	CUDA_CHECK(cudaGraphDestroy(graph));
}

static bool is_right(const struct work *work, int64_t iterations)
{
	static uint32_t x[COUNT];
	bool right = true;

	CUDA_CHECK(cudaMemcpy(x, work->x, sizeof(x), cudaMemcpyDeviceToHost));
	for (int i = 0; i < COUNT; i++)
		right &= x[i] == (uint32_t)(iterations * NODES);
	return right;
}

int main(int argc, char **argv)
{
	struct timing timing;
	struct work work = {};

	timing_parse(&timing, argc, argv, "launch_bound",
		     "Many small kernels, each launched too late.",
		     "replay the launches of an iteration as a CUDA graph");
	work.x = timing_allocate<uint32_t>(COUNT);
	CUDA_CHECK(cudaMemset(work.x, 0, COUNT * sizeof(uint32_t)));
	CUDA_CHECK(cudaStreamCreateWithFlags(&work.stream, cudaStreamNonBlocking));
	CUDA_CHECK(cudaDeviceSynchronize());
	if (timing.remedy)
		capture(&work);
	timing_run(&timing, iterate, &work);
	return timing_verdict(is_right(&work, timing.iterations));
}
