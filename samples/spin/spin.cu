/*
 * spin: kernels whose length is known, to check a profiler's durations and what it costs.
 * - spin: each kernel runs for a given time by the GPU's own %globaltimer, and says when it began
 *   and ended. That timer may tick coarsely (32 ns to 1 us): its step is measured and printed, and
 *   SM cycles are given beside it. A profiler's duration must be no shorter than duration_ns less
 *   one step, and longer by launch overhead only.
 * - graph: a serial CUDA graph of small kernels, timed by CUDA events around each replay; or one in
 *   each of several threads, which do nothing but replay them.
 * - empty: back-to-back empty launches, timed on the host.
 */
#include "launch.h"
#include "options.h"
#include "spin.h"

#include <inttypes.h>
#include <pthread.h>
#include <time.h>

enum {
	TIMER_STEPS = 64,
	REPLAYS_AHEAD = 8, /* replays that a thread queues before it waits */
	HOLD_NS = 1000000, /* the GPU is kept busy this long while the host queues a replay */
};

struct span {
	uint64_t begin_ns, end_ns; /* %globaltimer */
	int64_t cycles;            /* of the SM's clock between the two */
};

static __device__ uint64_t global_ns(void)
{
	uint64_t now_ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now_ns));
	return now_ns;
}

static __global__ void timer_step_kernel(uint64_t *step_ns)
{
	uint64_t shortest_ns = UINT64_MAX, last_ns = global_ns();

	for (int i = 0; i < TIMER_STEPS;) {
		uint64_t now_ns = global_ns();

		if (now_ns == last_ns)
			continue;
		if (i++ > 0 && now_ns - last_ns < shortest_ns)
			shortest_ns = now_ns - last_ns;
		last_ns = now_ns;
	}
	*step_ns = shortest_ns;
}

static __global__ void spin_kernel(struct span *span, uint64_t length_ns)
{
	int64_t begin_cycles = clock64();
	uint64_t begin_ns = global_ns(), now_ns = begin_ns;

	while (now_ns - begin_ns < length_ns)
		now_ns = global_ns();

	int64_t end_cycles = clock64();

	span->begin_ns = begin_ns;
	span->end_ns = now_ns;
	span->cycles = end_cycles - begin_cycles;
}

static __global__ void hold_kernel(uint64_t length_ns)
{
	uint64_t begin_ns = global_ns();

	while (global_ns() - begin_ns < length_ns)
		;
}

static __global__ void node_kernel(int64_t cycles)
{
	int64_t begin_cycles = clock64();

	while (clock64() - begin_cycles < cycles)
		;
}

static __global__ void empty_kernel(void)
{
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *make_array(size_t bytes)
{
	void *array;

	CUDA_CHECK(cudaMalloc(&array, bytes));
	return array;
}

static void print_spans(const struct span *spans, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		printf("spin %" PRId64 " begin_ns %" PRIu64 " end_ns %" PRIu64
		       " duration_ns %" PRIu64 " cycles %" PRId64 "\n",
		       i, spans[i].begin_ns, spans[i].end_ns, spans[i].end_ns - spans[i].begin_ns,
		       spans[i].cycles);
}

/* The results stay in device memory until the end: writing to the host would lengthen kernels. */
static void run_spin(struct launcher *launcher, const struct options *options)
{
	size_t bytes = (size_t)options->spin_count * sizeof(struct span);
	uint64_t *device_step_ns = (uint64_t *)make_array(sizeof(*device_step_ns)), step_ns;
	struct span *device_spans = (struct span *)make_array(bytes);
	struct span *spans = (struct span *)malloc(bytes);

	if (!spans)
		check_fail("out of memory", "malloc", __FILE__, __LINE__);
	LAUNCH(launcher, timer_step_kernel, 1, 1, device_step_ns);
	for (int64_t i = 0; i < options->spin_count; i++)
		LAUNCH(launcher, spin_kernel, 1, 1, &device_spans[i], options->spin_us * 1000);
	launcher_copy(launcher, &step_ns, device_step_ns, sizeof(step_ns));
	launcher_copy(launcher, spans, device_spans, bytes);
	CUDA_CHECK(cudaStreamSynchronize(launcher->stream));
	printf("globaltimer_step_ns %" PRIu64 "\n", step_ns);
	print_spans(spans, options->spin_count);
	CUDA_CHECK(cudaFree(device_step_ns));
	CUDA_CHECK(cudaFree(device_spans));
	free(spans);
}

static cudaGraphExec_t make_graph(struct launcher *launcher, const struct options *options)
{
	struct tally before = launcher->tally;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CUDA_CHECK(cudaStreamBeginCapture(launcher->stream, cudaStreamCaptureModeThreadLocal));
	for (int64_t i = 0; i < options->graph_nodes; i++)
		LAUNCH(launcher, node_kernel, 1, 1, options->node_cycles);
	CUDA_CHECK(cudaStreamEndCapture(launcher->stream, &graph));
	launcher->tally = before;
	CUDA_CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	CUDA_CHECK(cudaGraphDestroy(graph));
	CUDA_CHECK(cudaGraphUpload(exec, launcher->stream));
	CUDA_CHECK(cudaStreamSynchronize(launcher->stream));
	return exec;
}

/*
 * Returns the time between the events in ns. The kernel in front keeps the GPU busy until all is
 * queued, so that the host's time to launch the graph is not in it (unless that takes > HOLD_NS).
 */
static double replay(struct launcher *launcher, cudaGraphExec_t graph, const cudaEvent_t *events)
{
	float ms;

	LAUNCH(launcher, hold_kernel, 1, 1, HOLD_NS);
	CUDA_CHECK(cudaEventRecord(events[0], launcher->stream));
	CUDA_CHECK(cudaGraphLaunch(graph, launcher->stream));
	CUDA_CHECK(cudaEventRecord(events[1], launcher->stream));
	CUDA_CHECK(cudaEventSynchronize(events[1]));
	CUDA_CHECK(cudaEventElapsedTime(&ms, events[0], events[1]));
	return ms * 1e6;
}

static void run_graph(struct launcher *launcher, const struct options *options)
{
	cudaGraphExec_t graph = make_graph(launcher, options);
	cudaEvent_t events[2];

	CUDA_CHECK(cudaEventCreate(&events[0]));
	CUDA_CHECK(cudaEventCreate(&events[1]));
	for (int64_t i = 0; i < options->replays; i++) {
		double event_ns = replay(launcher, graph, events);

		launcher->tally.graph_replays++;
		launcher->tally.graph_kernels += (uint64_t)options->graph_nodes;
		printf("replay %" PRId64 " event_ns %.0f ns_per_node %.1f\n", i, event_ns,
		       event_ns / (double)options->graph_nodes);
	}
	CUDA_CHECK(cudaEventDestroy(events[0]));
	CUDA_CHECK(cudaEventDestroy(events[1]));
	CUDA_CHECK(cudaGraphExecDestroy(graph));
}

/* A thread that replays a graph of its own, and waits for the GPU now and then. */
struct replayer {
	const struct options *options;
	pthread_t thread;
	struct launcher launcher;
};

static void *replay_many(void *argument)
{
	struct replayer *replayer = (struct replayer *)argument;
	struct launcher *launcher = &replayer->launcher;
	cudaGraphExec_t graph;

	CUDA_CHECK(cudaSetDevice(0));
	CUDA_CHECK(cudaStreamCreateWithFlags(&launcher->stream, cudaStreamNonBlocking));
	graph = make_graph(launcher, replayer->options);
	for (int64_t i = 0; i < replayer->options->replays; i++) {
		CUDA_CHECK(cudaGraphLaunch(graph, launcher->stream));
		if (i % REPLAYS_AHEAD == REPLAYS_AHEAD - 1)
			CUDA_CHECK(cudaStreamSynchronize(launcher->stream));
	}
	CUDA_CHECK(cudaStreamSynchronize(launcher->stream));
	launcher->tally.graph_kernels =
		(uint64_t)(replayer->options->replays * replayer->options->graph_nodes);
	CUDA_CHECK(cudaGraphExecDestroy(graph));
	CUDA_CHECK(cudaStreamDestroy(launcher->stream));
	return NULL;
}

static void run_graph_threads(struct launcher *launcher, const struct options *options)
{
	static struct replayer replayers[GRAPH_THREADS_MOST];
	uint64_t begin_ns = now_ns();

	for (int64_t i = 0; i < options->graph_threads; i++) {
		replayers[i].options = options;
		if (pthread_create(&replayers[i].thread, NULL, replay_many, &replayers[i]) != 0)
			check_fail("no thread", "pthread_create", __FILE__, __LINE__);
	}
	for (int64_t i = 0; i < options->graph_threads; i++) {
		pthread_join(replayers[i].thread, NULL);
		launcher->tally.graph_kernels += replayers[i].launcher.tally.graph_kernels;
	}
	fprintf(stderr, "graph threads: %.1f ns a node of each\n",
		(double)(now_ns() - begin_ns) / (double)(options->replays * options->graph_nodes));
}

/* One launch before the clock starts loads the kernel. */
static void run_empty(struct launcher *launcher, const struct options *options)
{
	LAUNCH(launcher, empty_kernel, 1, 1);
	CUDA_CHECK(cudaStreamSynchronize(launcher->stream));

	uint64_t begin_ns = now_ns();

	for (int64_t i = 0; i < options->empty; i++)
		LAUNCH(launcher, empty_kernel, 1, 1);

	uint64_t issued_ns = now_ns() - begin_ns;

	CUDA_CHECK(cudaStreamSynchronize(launcher->stream));

	uint64_t finished_ns = now_ns() - begin_ns;

	fprintf(stderr, "empty: %.1f ns a launch to issue, %.1f ns until all had run\n",
		(double)issued_ns / (double)options->empty,
		(double)finished_ns / (double)options->empty);
}

int spin_run(int argc, char **argv)
{
	struct options options;
	struct launcher launcher = {};

	switch (options_parse(&options, argc, argv)) {
	case ARGS_HELP:
		return 0;
	case ARGS_BAD:
		return 2;
	case ARGS_OK:
		break;
	}
	CUDA_CHECK(cudaSetDevice(0));
	CUDA_CHECK(cudaStreamCreateWithFlags(&launcher.stream, cudaStreamNonBlocking));
	if (options.spin_count)
		run_spin(&launcher, &options);
	if (options.graph_nodes && options.graph_threads > 1)
		run_graph_threads(&launcher, &options);
	else if (options.graph_nodes)
		run_graph(&launcher, &options);
	if (options.empty)
		run_empty(&launcher, &options);
	CUDA_CHECK(cudaStreamDestroy(launcher.stream));
	printf("kernel_launches %" PRIu64 "\n",
	       launcher.tally.own_kernels + launcher.tally.graph_kernels);
	printf("memory_copies %" PRIu64 "\n", launcher.tally.copies);
	return fflush(stdout) == 0 ? 0 : 1;
}
