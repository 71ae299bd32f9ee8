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

#include <dlfcn.h>

#include "tests/fake_gpu/programs/sequence_game.h"

/* ---- the other thread, which has its turn while this one waits ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool due;
} other = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static void *take_turns(void *nothing)
{
	(void)nothing;
	INSIST(sequence_cuda.cuCtxSetCurrent(sequence_game.context));
	pthread_mutex_lock(&other.lock);
	for (;;) {
		while (!other.due)
			pthread_cond_wait(&other.changed, &other.lock);
		sequence_step();
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

/* What a pool gave out may be given back while launches are held; other memory is so at once. */
static void make_buffer(int buffer, bool of_pool)
{
	CUdeviceptr *out = &sequence_game.buffers[buffer];

	if (!of_pool) {
		INSIST(sequence_cuda.cuMemAlloc(out, BYTES));
		return;
	}
	INSIST(sequence_cuda.cuMemAllocAsync(out, BYTES, sequence_game.streams[0]));
	INSIST(sequence_cuda.cuStreamSynchronize(sequence_game.streams[0]));
}

static void begin_game(uint64_t seed)
{
	kp_fake_order_start();
	sequence_game.random = seed * 0x9e3779b97f4a7c15U + 1;
	sequence_game.hash = 0xcbf29ce484222325U;
	for (int i = 0; i < 4; i++)
		sequence_draw(2);
	for (int i = 0; i < MAPPED; i++)
		make_buffer(i, seed % 4 != 0);
	INSIST(sequence_cuda.cuMemHostAlloc((void **)&sequence_game.buffers[MAPPED], BYTES, 0));
	INSIST(sequence_cuda.cuMemAllocManaged(&sequence_game.buffers[MANAGED], BYTES, 1));
	for (int i = 0; i < BUFFERS; i++)
		sequence_fill(i, (int)sequence_draw(STREAMS));
	sequence_begin_chain();
	sequence_game.calm = sequence_draw(3) == 0;
}

static void end_game(uint64_t seed)
{
	INSIST(sequence_cuda.cuCtxSynchronize());
	sequence_release_all();
	for (int i = 0; i < BUFFERS; i++) {
		kp_fake_order_host((void *)sequence_game.buffers[i], false);
		sequence_observe((void *)sequence_game.buffers[i], BYTES);
		if (i < GAME_BUFFERS)
			INSIST(sequence_cuda.cuMemFree(sequence_game.buffers[i]));
	}
	printf("%" PRIu64 " %016" PRIx64 " %u\n", seed, sequence_game.hash,
	       kp_fake_order_violations());
}

static void play(uint64_t seed)
{
	begin_game(seed);
	for (int i = 0; i < STEPS; i++) {
		if (sequence_draw(40) == 0)
			let_other_step();
		else
			sequence_step();
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
	INSIST(sequence_cuda.cuCtxSynchronize());
	sequence_release_all();
	out = (volatile float *)sequence_game.buffers[1];
	*out = -1;
	sequence_check((int)sequence_launch(FIRST, 1, (const int[]){1, 0}, 2, 1), "launch");
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
	sequence_cuda.name = strcmp(door, "link") == 0                                             \
				     ? function                                                    \
				     : (__typeof__(&function))dlsym(library, #function);           \
	if (strcmp(past, #name) == 0)                                                              \
		sequence_cuda.name = (__typeof__(&function))kp_fake_raw(#name);                    \
	sequence_check(!sequence_cuda.name, #name);
	CALLS(FIND)
#undef FIND
}

static void make_graph(void)
{
	static const uint64_t bytes = BYTES;
	uint32_t salt = 2;
	void *arguments[] = {&sequence_game.buffers[GRAPH_OUT], &sequence_game.buffers[GRAPH_IN],
			     (void *)&bytes, &salt};
	CUDA_KERNEL_NODE_PARAMS_v2 node = {.func = sequence_game.functions[OTHER],
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
		sequence_check((int)cuMemAlloc_v2(&sequence_game.buffers[i], BYTES), "cuMemAlloc");
	sequence_check((int)cuGraphCreate(&graph, 0), "cuGraphCreate");
	sequence_check((int)cuGraphAddKernelNode_v2(&made, graph, NULL, 0, &node),
		       "cuGraphAddKernelNode");
	sequence_check((int)cuGraphInstantiateWithFlags(&sequence_game.graph, graph, 0),
		       "cuGraphInstantiate");
}

static void start(const char *door, const char *past)
{
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, KERNELS, sequence_kernels};
	CUmodule module;

	sequence_check((int)cuInit(0), "cuInit");
	sequence_check((int)cuDevicePrimaryCtxRetain(&sequence_game.context, 0),
		       "cuDevicePrimaryCtxRetain");
	sequence_check((int)cuCtxSetCurrent(sequence_game.context), "cuCtxSetCurrent");
	find_functions(door, past);
	sequence_check((int)cuModuleLoadData(&module, &image), "cuModuleLoadData");
	for (int i = 0; i < KERNELS; i++)
		sequence_check((int)cuModuleGetFunction(&sequence_game.functions[i], module,
							sequence_kernels[i].name),
			       "cuModuleGetFunction");
	for (int i = 1; i < STREAMS; i++)
		sequence_check((int)cuStreamCreate(&sequence_game.streams[i],
						   i == BLOCKING ? 0 : CU_STREAM_NON_BLOCKING),
			       "cuStreamCreate");
	sequence_check((int)cuEventCreate(&sequence_game.event, 0), "cuEventCreate");
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
		sequence_game.sleeps |= strcmp(argv[at], "sleep") == 0;
		waits |= strcmp(argv[at], "wait") == 0;
		sequence_game.tells |= strcmp(argv[at], "errors") == 0;
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
	sequence_check(pthread_create(&thread, NULL, take_turns, NULL), "pthread_create");
	for (uint64_t i = 0; i < count; i++)
		play(first + i);
	if (sequence_game.tells)
		printf("errors %" PRIu64 "\n", sequence_game.errors);
	return 0;
}
