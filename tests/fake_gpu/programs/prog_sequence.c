/*
 * Launches that rules may hold, among random other calls:
 *
 *	prog_sequence [door=dlsym|link] [past=NAME] [sleep] [errors] FIRST COUNT
 *	prog_sequence wait
 *
 * Plays COUNT games from the seed FIRST on, and prints a line of each: what the program could
 * observe (results of calls, memory that was copied to the host, at the end all of it), as a hash,
 * and how many accesses to memory were not ordered (driver/order.h). A game is ordered by itself,
 * whatever the seed: memory belongs to a stream, or to nobody once the host has waited for it, and
 * goes to another by an event, or by a wait. So two runs must print the same, whoever stands
 *between this program and the driver. «past» calls one function of the driver past all hooks, which
 *a tool that holds launches cannot stand; «sleep» does nothing for a while, now and then; «errors»
 *prints how many calls failed, too. «wait» launches the first of a sequence, and waits for what it
 *does, without the driver.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>

#include "tests/fake_gpu/common/image.h"
#include "tests/fake_gpu/programs/sequence_kernels.h"

enum { WORDS = 16, BYTES = WORDS * 4, STREAMS = 4, STEPS = 60 };
/* Of memory: that of the device's own, of other kinds, and what a graph reads and writes. */
enum { MAPPED = 7, MANAGED, GAME_BUFFERS, GRAPH_IN = GAME_BUFFERS, GRAPH_OUT, BUFFERS };
enum { NOBODY = -1, BLOCKING = 3 };

void kp_fake_order_start(void);
void kp_fake_order_watch(const void *at, size_t bytes);
unsigned kp_fake_order_violations(void);
void kp_fake_order_host(const void *at, bool writes);
void *kp_fake_raw(const char *symbol);

/* X(base name, function): what is called, by one door or the other. */
#define CALLS(X)                                                                                   \
	X(cuLaunchKernel, cuLaunchKernel)                                                          \
	X(cuLaunchKernelEx, cuLaunchKernelEx)                                                      \
	X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel)                                    \
	X(cuMemcpyDtoH, cuMemcpyDtoH_v2)                                                           \
	X(cuMemcpyHtoD, cuMemcpyHtoD_v2)                                                           \
	X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)                                                 \
	X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)                                                 \
	X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)                                                 \
	X(cuMemsetD8Async, cuMemsetD8Async)                                                        \
	X(cuMemsetD32Async, cuMemsetD32Async)                                                      \
	X(cuEventRecord, cuEventRecord)                                                            \
	X(cuEventQuery, cuEventQuery)                                                              \
	X(cuEventSynchronize, cuEventSynchronize)                                                  \
	X(cuStreamWaitEvent, cuStreamWaitEvent)                                                    \
	X(cuStreamSynchronize, cuStreamSynchronize)                                                \
	X(cuStreamQuery, cuStreamQuery)                                                            \
	X(cuStreamCreate, cuStreamCreate)                                                          \
	X(cuStreamDestroy, cuStreamDestroy_v2)                                                     \
	X(cuStreamIsCapturing, cuStreamIsCapturing)                                                \
	X(cuCtxSynchronize, cuCtxSynchronize)                                                      \
	X(cuCtxGetCurrent, cuCtxGetCurrent)                                                        \
	X(cuCtxSetCurrent, cuCtxSetCurrent)                                                        \
	X(cuMemAlloc, cuMemAlloc_v2)                                                               \
	X(cuMemFree, cuMemFree_v2)                                                                 \
	X(cuMemAllocAsync, cuMemAllocAsync)                                                        \
	X(cuMemFreeAsync, cuMemFreeAsync)                                                          \
	X(cuMemAllocManaged, cuMemAllocManaged)                                                    \
	X(cuMemHostAlloc, cuMemHostAlloc)                                                          \
	X(cuPointerGetAttribute, cuPointerGetAttribute)                                            \
	X(cuStreamBeginCapture, cuStreamBeginCapture_v2)                                           \
	X(cuStreamEndCapture, cuStreamEndCapture)                                                  \
	X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags)                                \
	X(cuGraphLaunch, cuGraphLaunch)                                                            \
	X(cuGraphExecDestroy, cuGraphExecDestroy)                                                  \
	X(cuGraphDestroy, cuGraphDestroy)

static struct {
#define MEMBER(name, function) __typeof__(&function) name;
	CALLS(MEMBER)
#undef MEMBER
} cuda;

/* ---- kernels ---- */

/* (out, in, bytes, salt) */
static void compute_one(const uint32_t grid[3], void **a)
{
	(void)grid;
	sequence_mix_all(*(float **)a[0], *(float **)a[1], NULL, *(uint64_t *)a[2],
			 *(uint32_t *)a[3]);
}

/* (out, in, other, bytes, salt) */
static void compute_two(const uint32_t grid[3], void **a)
{
	(void)grid;
	sequence_mix_all(*(float **)a[0], *(float **)a[1], *(float **)a[2], *(uint64_t *)a[3],
			 *(uint32_t *)a[4]);
}

/* (inout, bytes) */
#define IN_PLACE(name, salt)                                                                       \
	static void name(const uint32_t grid[3], void **a)                                         \
	{                                                                                          \
		(void)grid;                                                                        \
		sequence_mix_all(*(float **)a[0], *(float **)a[0], NULL, *(uint64_t *)a[1], salt); \
	}
IN_PLACE(compute_maybe, 3)
IN_PLACE(compute_scale, 5)
IN_PLACE(compute_shift, 6)

enum { FIRST, MAYBE, SECOND, THIRD, SCALE, SHIFT, OTHER, KERNELS };
#define ONE(text)                                                                                  \
	{                                                                                          \
		.name = text, .duration_ns = 100, .compute = compute_one, .parameter_count = 4,    \
		.parameter_bytes = {8, 8, 8, 4}, .reads = 2, .writes = 1                           \
	}
#define UPDATE(text, function)                                                                     \
	{                                                                                          \
		.name = text, .duration_ns = 100, .compute = function, .parameter_count = 2,       \
		.parameter_bytes = {8, 8}, .reads = 1, .writes = 1                                 \
	}
static const struct kp_fake_kernel kernels[KERNELS] = {
	[FIRST] = ONE("seq_first"),
	[MAYBE] = UPDATE("seq_maybe", compute_maybe),
	[SECOND] = {.name = "seq_second",
		    .duration_ns = 100,
		    .compute = compute_two,
		    .parameter_count = 5,
		    .parameter_bytes = {8, 8, 8, 8, 4},
		    .reads = 6,
		    .writes = 1},
	[THIRD] = ONE("seq_third"),
	[SCALE] = UPDATE("seq_scale", compute_scale),
	[SHIFT] = UPDATE("seq_shift", compute_shift),
	[OTHER] = ONE("seq_other"),
};

/* ---- the game ---- */

static struct {
	uint64_t random, hash;
	CUcontext context;
	CUfunction functions[KERNELS];
	CUstream streams[STREAMS]; /* 0: the default one */
	CUevent event;
	CUgraphExec graph; /* «other», of this process */
	CUdeviceptr buffers[BUFFERS];
	int owners[BUFFERS];
	/* The chain under way: its next kernel, its stream, its buffers x, t, w, u, y. */
	int stage, stream, chain[5];
	bool sleeps, calm, tells;
	uint64_t errors; /* of calls that may fail */
} game;

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "prog_sequence: %s: error %d\n", what, result);
	exit(3);
}

static uint32_t draw(uint32_t below)
{
	game.random = game.random * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(game.random >> 33) % below;
}

static void observe(const void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		game.hash = (game.hash ^ ((const uint8_t *)at)[i]) * 0x100000001b3U;
}

/* Of a call that must succeed: one that tells of an earlier failure does nothing, and is repeated.
 */
static bool is_to_be_repeated(CUresult result, const char *what)
{
	game.errors += result != CUDA_SUCCESS;
	if (result == CUDA_ERROR_LAUNCH_FAILED && game.tells)
		return true;
	check((int)result, what);
	return false;
}

#define INSIST(call)                                                                               \
	do {                                                                                       \
	} while (is_to_be_repeated((call), #call))

static void observe_result(CUresult result)
{
	game.errors += result != CUDA_SUCCESS;
	observe(&result, sizeof(result));
}

static bool are_ordered(int a, int b)
{
	return a == NOBODY || a == b || ((a == 0 || a == BLOCKING) && (b == 0 || b == BLOCKING));
}

/* The host has waited for a stream: what belongs to it, or to one that is before it, is free. */
static void release(int stream)
{
	for (int i = 0; i < BUFFERS; i++)
		if (game.owners[i] == stream)
			game.owners[i] = NOBODY;
}

static void release_all(void)
{
	for (int i = 0; i < STREAMS; i++)
		release(i);
}

/* Everything that a stream had is before what another does, by one of the ways that there are. */
static void pass_on(int from, int to)
{
	CUstream stream = game.streams[from];

	switch (draw(6)) {
	case 0:
		observe_result(cuda.cuStreamSynchronize(stream));
		break;
	case 1:
		observe_result(cuda.cuCtxSynchronize());
		break;
	case 2:
		while (cuda.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
			;
		break;
	case 3:
		observe_result(cuda.cuEventRecord(game.event, stream));
		while (cuda.cuEventQuery(game.event) == CUDA_ERROR_NOT_READY)
			;
		break;
	case 4:
		observe_result(cuda.cuEventRecord(game.event, stream));
		observe_result(cuda.cuEventSynchronize(game.event));
		break;
	default:
		observe_result(cuda.cuEventRecord(game.event, stream));
		observe_result(cuda.cuStreamWaitEvent(game.streams[to], game.event, 0));
		break;
	}
}

static void take(int buffer, int stream)
{
	if (!are_ordered(game.owners[buffer], stream))
		pass_on(game.owners[buffer], stream);
	game.owners[buffer] = stream;
}

static CUresult launch(int kernel, int stream, const int *buffers, int count, uint32_t salt)
{
	static const uint64_t bytes = BYTES;
	CUdeviceptr addresses[3];
	void *arguments[5];
	int at = 0;

	for (int i = 0; i < count; i++)
		take(buffers[i], stream);
	for (; at < count; at++) {
		addresses[at] = game.buffers[buffers[at]];
		arguments[at] = &addresses[at];
	}
	arguments[at++] = (void *)&bytes;
	arguments[at] = &salt;
	if (draw(4) == 0) {
		const CUlaunchConfig config = {.gridDimX = 1,
					       .gridDimY = 1,
					       .gridDimZ = 1,
					       .blockDimX = 32,
					       .blockDimY = 1,
					       .blockDimZ = 1,
					       .hStream = game.streams[stream]};

		return cuda.cuLaunchKernelEx(&config, game.functions[kernel], arguments, NULL);
	}
	return cuda.cuLaunchKernel(game.functions[kernel], 1, 1, 1, 32, 1, 1, 0,
				   game.streams[stream], arguments, NULL);
}

/* Mostly memory of the device's own. */
static int draw_buffer(void)
{
	return draw(40) ? (int)draw(MAPPED) : MAPPED + (int)draw(2);
}

static void begin_chain(void)
{
	game.stage = FIRST;
	game.stream = (int)draw(STREAMS);
	for (int i = 0; i < 5; i++)
		game.chain[i] = draw_buffer();
	if (draw(10)) /* five different ones, but that x may be w */
		for (int i = 0, first = (int)draw(MAPPED); i < 5; i++)
			game.chain[i] = (first + i) % MAPPED;
	if (draw(6) == 0)
		game.chain[2] = game.chain[0];
}

static void step_chain(void)
{
	const int *c = game.chain;
	int stream = draw(30) ? game.stream : (int)draw(STREAMS);
	const int first[] = {c[1], c[0]}, second[] = {c[3], draw(30) ? c[1] : c[4], c[2]};
	const int third[] = {c[4], draw(30) ? c[3] : c[1]};

	switch (game.stage) {
	case FIRST:
		observe_result(launch(FIRST, stream, first, 2, 1 + draw(2)));
		break;
	case MAYBE:
		if (draw(3) == 0)
			observe_result(launch(MAYBE, stream, &c[1], 1, 0));
		break;
	case SECOND:
		observe_result(launch(SECOND, stream, second, 3, 1));
		break;
	default:
		observe_result(launch(THIRD, stream, third, 2, 1));
		begin_chain();
		return;
	}
	game.stage++;
}

static void step_in_place(void)
{
	int buffer = draw_buffer(), stream = (int)draw(STREAMS);

	observe_result(launch(SCALE, stream, &buffer, 1, 0));
	if (draw(4))
		observe_result(launch(SHIFT, stream, &buffer, 1, 0));
}

static void step_other(void)
{
	const int buffers[] = {draw_buffer(), draw_buffer()};

	observe_result(
		launch(OTHER, draw(2) ? game.stream : (int)draw(STREAMS), buffers, 2, draw(9)));
}

static void step_cooperative(void)
{
	int stream = (int)draw(STREAMS), buffers[] = {draw_buffer(), draw_buffer()};
	static const uint64_t bytes = BYTES;
	uint32_t salt = 4;
	void *arguments[] = {&game.buffers[buffers[0]], &game.buffers[buffers[1]], (void *)&bytes,
			     &salt};

	take(buffers[0], stream);
	take(buffers[1], stream);
	observe_result(cuda.cuLaunchCooperativeKernel(game.functions[OTHER], 1, 1, 1, 32, 1, 1, 0,
						      game.streams[stream], arguments));
}

/* The driver refuses it at once, and nothing of it happens. */
static void step_invalid(void)
{
	void *arguments[5] = {NULL};

	observe_result(cuda.cuLaunchKernel(game.functions[draw(2) ? FIRST : SECOND], 0, 1, 1, 32, 1,
					   1, 0, game.streams[game.stream], arguments, NULL));
}

static void step_read(void)
{
	int buffer = draw_buffer(), stream = draw(2) ? 0 : (int)draw(STREAMS);
	float words[WORDS] = {0};

	take(buffer, stream);
	if (stream == 0 && draw(2)) {
		observe_result(cuda.cuMemcpyDtoH(words, game.buffers[buffer], BYTES));
	} else {
		observe_result(cuda.cuMemcpyDtoHAsync(words, game.buffers[buffer], BYTES,
						      game.streams[stream]));
		observe_result(cuda.cuStreamSynchronize(game.streams[stream]));
	}
	release(stream);
	observe(words, sizeof(words));
}

/* Memory of the host's that kernels use: the host looks at it without the driver. */
static void step_look(void)
{
	if (game.owners[MAPPED] != NOBODY) {
		observe_result(cuda.cuStreamSynchronize(game.streams[game.owners[MAPPED]]));
		release(game.owners[MAPPED]);
	}
	kp_fake_order_host((void *)game.buffers[MAPPED], false);
	observe((void *)game.buffers[MAPPED], BYTES);
}

static void step_write(void)
{
	int buffer = draw_buffer(), other = draw_buffer(), stream = (int)draw(STREAMS);
	CUstream handle = game.streams[stream];
	float words[WORDS];

	for (int i = 0; i < WORDS; i++)
		words[i] = (float)draw(60000);
	take(buffer, stream);
	switch (draw(5)) {
	case 0:
		observe_result(cuda.cuMemcpyHtoDAsync(game.buffers[buffer], words, BYTES, handle));
		break;
	case 1:
		observe_result(cuda.cuMemsetD8Async(game.buffers[buffer], 0, BYTES, handle));
		break;
	case 2:
		observe_result(
			cuda.cuMemsetD32Async(game.buffers[buffer], 0x42280000, WORDS, handle));
		break;
	case 3:
		take(buffer, 0);
		observe_result(cuda.cuMemcpyHtoD(game.buffers[buffer], words, BYTES));
		release(0);
		break;
	default:
		take(other, stream);
		if (other != buffer)
			observe_result(cuda.cuMemcpyDtoDAsync(game.buffers[buffer],
							      game.buffers[other], BYTES, handle));
		break;
	}
}

static void fill(int buffer, int stream)
{
	float words[WORDS];

	for (int i = 0; i < WORDS; i++)
		words[i] = (float)draw(60000);
	kp_fake_order_watch((void *)game.buffers[buffer], BYTES);
	INSIST(cuda.cuMemcpyHtoDAsync(game.buffers[buffer], words, BYTES, game.streams[stream]));
	game.owners[buffer] = stream;
}

static void step_memory(void)
{
	int buffer = (int)draw(MAPPED), stream = (int)draw(STREAMS);

	if (draw(2)) {
		take(buffer, stream);
		observe_result(cuda.cuMemFreeAsync(game.buffers[buffer], game.streams[stream]));
	} else {
		observe_result(cuda.cuMemFree(game.buffers[buffer]));
		release_all();
	}
	if (draw(2))
		INSIST(cuda.cuMemAllocAsync(&game.buffers[buffer], BYTES, game.streams[stream]));
	else
		INSIST(cuda.cuMemAlloc(&game.buffers[buffer], BYTES));
	fill(buffer, stream);
}

static void step_graph(void)
{
	const int stream = draw(3) ? game.stream : (int)draw(STREAMS);
	const int from[] = {GRAPH_IN, (int)draw(MAPPED)};
	int to = (int)draw(MAPPED);

	take(GRAPH_IN, stream);
	take(GRAPH_OUT, stream);
	observe_result(launch(FIRST, stream, from, 2, 1));
	observe_result(cuda.cuGraphLaunch(game.graph, game.streams[stream]));
	take(to, stream);
	observe_result(cuda.cuMemcpyDtoDAsync(game.buffers[to], game.buffers[GRAPH_OUT], BYTES,
					      game.streams[stream]));
}

/* In a capture nothing runs, and nothing is held. */
static void step_capture(void)
{
	int stream = 1 + (int)draw(STREAMS - 1), from = (int)draw(MAPPED);
	int between = (from + 1) % MAPPED, to = (from + 2) % MAPPED;
	CUstream handle = game.streams[stream];
	CUgraphExec exec;
	CUgraph graph;

	take(from, stream);
	take(between, stream);
	take(to, stream);
	INSIST(cuda.cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED));
	observe_result(launch(FIRST, stream, (const int[]){between, from}, 2, 1));
	observe_result(launch(SECOND, stream, (const int[]){to, between, from}, 3, 1));
	INSIST(cuda.cuStreamEndCapture(handle, &graph));
	INSIST(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0));
	observe_result(launch(FIRST, stream, (const int[]){from, to}, 2, 1));
	observe_result(cuda.cuGraphLaunch(exec, handle));
	observe_result(cuda.cuGraphExecDestroy(exec));
	observe_result(cuda.cuGraphDestroy(graph));
}

static void step_stream(void)
{
	int stream = 1 + (int)draw(2);

	observe_result(cuda.cuStreamSynchronize(game.streams[stream]));
	release(stream);
	observe_result(cuda.cuStreamDestroy(game.streams[stream]));
	INSIST(cuda.cuStreamCreate(&game.streams[stream], CU_STREAM_NON_BLOCKING));
}

static void step_ask(void)
{
	const struct timespec pause = {.tv_nsec = 150000};
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUcontext context = NULL;
	unsigned type = 0;

	switch (draw(5)) {
	case 0:
		observe_result(cuda.cuStreamIsCapturing(game.streams[game.stream], &status));
		observe(&status, sizeof(status));
		break;
	case 1:
		observe_result(cuda.cuCtxGetCurrent(&context));
		observe(&(bool){context == game.context}, 1);
		break;
	case 2:
		observe_result(cuda.cuCtxSetCurrent(game.context));
		break;
	case 3:
		observe_result(cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
							  game.buffers[draw(MAPPED + 1)]));
		observe(&type, sizeof(type));
		break;
	default:
		if (game.sleeps)
			nanosleep(&pause, NULL);
		break;
	}
}

/* What is done, and in how many of 100 steps; in calm games chains are longer. */
static const struct {
	void (*step)(void);
	uint32_t share;
} steps[] = {
	{step_chain, 47},  {step_in_place, 8}, {step_other, 6},  {step_cooperative, 3},
	{step_invalid, 1}, {step_read, 7},     {step_look, 2},   {step_write, 12},
	{step_memory, 3},  {step_graph, 2},    {step_stream, 1}, {step_capture, 1},
	{step_ask, 7},
};

static void step(void)
{
	uint32_t at = game.calm && draw(5) ? 0 : draw(100), i = 0;

	while (at >= steps[i].share)
		at -= steps[i++].share;
	steps[i].step();
}

/* ---- the other thread, which has its turn while this one waits ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool due;
} other = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static void *take_turns(void *nothing)
{
	(void)nothing;
	INSIST(cuda.cuCtxSetCurrent(game.context));
	pthread_mutex_lock(&other.lock);
	for (;;) {
		while (!other.due)
			pthread_cond_wait(&other.changed, &other.lock);
		step();
		other.due = false;
		pthread_cond_broadcast(&other.changed);
	}
	return NULL;
}

static void let_other_step(void)
{
	pthread_mutex_lock(&other.lock);
	other.due = true;
	pthread_cond_broadcast(&other.changed);
	while (other.due)
		pthread_cond_wait(&other.changed, &other.lock);
	pthread_mutex_unlock(&other.lock);
}

/* ---- games ---- */

static void begin_game(uint64_t seed)
{
	kp_fake_order_start();
	game.random = seed * 0x9e3779b97f4a7c15U + 1;
	game.hash = 0xcbf29ce484222325U;
	for (int i = 0; i < 4; i++)
		draw(2);
	for (int i = 0; i < MAPPED; i++)
		INSIST(cuda.cuMemAlloc(&game.buffers[i], BYTES));
	INSIST(cuda.cuMemHostAlloc((void **)&game.buffers[MAPPED], BYTES, 0));
	INSIST(cuda.cuMemAllocManaged(&game.buffers[MANAGED], BYTES, 1));
	for (int i = 0; i < BUFFERS; i++)
		fill(i, (int)draw(STREAMS));
	begin_chain();
	game.calm = draw(3) == 0;
}

static void end_game(uint64_t seed)
{
	INSIST(cuda.cuCtxSynchronize());
	release_all();
	for (int i = 0; i < BUFFERS; i++) {
		kp_fake_order_host((void *)game.buffers[i], false);
		observe((void *)game.buffers[i], BYTES);
		if (i < GAME_BUFFERS)
			INSIST(cuda.cuMemFree(game.buffers[i]));
	}
	printf("%" PRIu64 " %016" PRIx64 " %u\n", seed, game.hash, kp_fake_order_violations());
}

static void play(uint64_t seed)
{
	begin_game(seed);
	for (int i = 0; i < STEPS; i++) {
		if (draw(12) == 0)
			let_other_step();
		else
			step();
	}
	end_game(seed);
}

/* What a kernel has written shows in memory of the device, which is the host's here. */
static int wait_for_launch(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	volatile float *out;
	int tries = 0;

	begin_game(1);
	INSIST(cuda.cuCtxSynchronize());
	release_all();
	out = (volatile float *)game.buffers[1];
	*out = -1;
	check((int)launch(FIRST, 1, (const int[]){1, 0}, 2, 1), "launch");
	while (*out < 0 && tries++ < 60000)
		nanosleep(&pause, NULL);
	puts(*out < 0 ? "never" : "done");
	return 0;
}

/* ---- the beginning ---- */

static void find_functions(const char *door, const char *past)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

#define FIND(name, function)                                                                       \
	cuda.name = strcmp(door, "link") == 0 ? function                                           \
					      : (__typeof__(&function))dlsym(library, #function);  \
	if (strcmp(past, #name) == 0)                                                              \
		cuda.name = (__typeof__(&function))kp_fake_raw(#name);                             \
	check(!cuda.name, #name);
	CALLS(FIND)
#undef FIND
}

static void make_graph(void)
{
	static const uint64_t bytes = BYTES;
	uint32_t salt = 2;
	void *arguments[] = {&game.buffers[GRAPH_OUT], &game.buffers[GRAPH_IN], (void *)&bytes,
			     &salt};
	CUDA_KERNEL_NODE_PARAMS_v2 node = {.func = game.functions[OTHER],
					   .gridDimX = 1,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 32,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = arguments};
	CUgraphNode made;
	CUgraph graph;

	for (int i = GRAPH_IN; i <= GRAPH_OUT; i++)
		check((int)cuMemAlloc_v2(&game.buffers[i], BYTES), "cuMemAlloc");
	check((int)cuGraphCreate(&graph, 0), "cuGraphCreate");
	check((int)cuGraphAddKernelNode_v2(&made, graph, NULL, 0, &node), "cuGraphAddKernelNode");
	check((int)cuGraphInstantiateWithFlags(&game.graph, graph, 0), "cuGraphInstantiate");
}

static void start(const char *door, const char *past)
{
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, KERNELS, kernels};
	CUmodule module;

	check((int)cuInit(0), "cuInit");
	check((int)cuDevicePrimaryCtxRetain(&game.context, 0), "cuDevicePrimaryCtxRetain");
	check((int)cuCtxSetCurrent(game.context), "cuCtxSetCurrent");
	find_functions(door, past);
	check((int)cuModuleLoadData(&module, &image), "cuModuleLoadData");
	for (int i = 0; i < KERNELS; i++)
		check((int)cuModuleGetFunction(&game.functions[i], module, kernels[i].name),
		      "cuModuleGetFunction");
	for (int i = 1; i < STREAMS; i++)
		check((int)cuStreamCreate(&game.streams[i],
					  i == BLOCKING ? 0 : CU_STREAM_NON_BLOCKING),
		      "cuStreamCreate");
	check((int)cuEventCreate(&game.event, 0), "cuEventCreate");
	make_graph();
}

int main(int argc, char **argv)
{
	const char *door = "dlsym", *past = "";
	bool waits = false;
	uint64_t first, count;
	pthread_t thread;
	int at = 1;

	for (; at < argc && (argv[at][0] < '0' || argv[at][0] > '9'); at++) {
		if (strncmp(argv[at], "door=", 5) == 0)
			door = argv[at] + 5;
		else if (strncmp(argv[at], "past=", 5) == 0)
			past = argv[at] + 5;
		game.sleeps |= strcmp(argv[at], "sleep") == 0;
		waits |= strcmp(argv[at], "wait") == 0;
		game.tells |= strcmp(argv[at], "errors") == 0;
	}
	if (argc - at != (waits ? 0 : 2))
		return 2;
	if (waits) {
		start(door, past);
		return wait_for_launch();
	}
	first = strtoull(argv[at], NULL, 10);
	count = strtoull(argv[at + 1], NULL, 10);
	start(door, past);
	check(pthread_create(&thread, NULL, take_turns, NULL), "pthread_create");
	for (uint64_t i = 0; i < count; i++)
		play(first + i);
	if (game.tells)
		printf("errors %" PRIu64 "\n", game.errors);
	return 0;
}
