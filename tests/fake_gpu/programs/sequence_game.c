/* Steps of a game; see sequence_game.h. */
#include "tests/fake_gpu/programs/sequence_game.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct sequence_cuda sequence_cuda;
struct sequence_game sequence_game;

void sequence_check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "prog_sequence: %s: error %d\n", what, result);
	exit(3);
}

uint32_t sequence_draw(uint32_t below)
{
	sequence_game.random = sequence_game.random * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(sequence_game.random >> 33) % below;
}

void sequence_observe(const void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		sequence_game.hash =
			(sequence_game.hash ^ ((const uint8_t *)at)[i]) * 0x100000001b3U;
}

bool sequence_is_to_be_repeated(CUresult result, const char *what)
{
	sequence_game.errors += result != CUDA_SUCCESS;
	if (result == CUDA_ERROR_LAUNCH_FAILED && sequence_game.tells)
		return true;
	sequence_check((int)result, what);
	return false;
}

static void observe_result(CUresult result)
{
	sequence_game.errors += result != CUDA_SUCCESS;
	sequence_observe(&result, sizeof(result));
}

static bool are_ordered(int a, int b)
{
	return a == NOBODY || a == b || ((a == 0 || a == BLOCKING) && (b == 0 || b == BLOCKING));
}

/* The host has waited for a stream: what belongs to it, or to one that is before it, is free. */
static void release(int stream)
{
	for (int i = 0; i < BUFFERS; i++)
		if (sequence_game.owners[i] == stream)
			sequence_game.owners[i] = NOBODY;
}

void sequence_release_all(void)
{
	for (int i = 0; i < STREAMS; i++)
		release(i);
}

/* Everything that a stream had is before what another does, by one of the ways that there are. */
static void pass_on(int from, int to)
{
	CUstream stream = sequence_game.streams[from];

	switch (sequence_draw(6)) {
	case 0:
		observe_result(sequence_cuda.cuStreamSynchronize(stream));
		break;
	case 1:
		observe_result(sequence_cuda.cuCtxSynchronize());
		break;
	case 2:
		while (sequence_cuda.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
			;
		break;
	case 3:
		observe_result(sequence_cuda.cuEventRecord(sequence_game.event, stream));
		while (sequence_cuda.cuEventQuery(sequence_game.event) == CUDA_ERROR_NOT_READY)
			;
		break;
	case 4:
		observe_result(sequence_cuda.cuEventRecord(sequence_game.event, stream));
		observe_result(sequence_cuda.cuEventSynchronize(sequence_game.event));
		break;
	default:
		observe_result(sequence_cuda.cuEventRecord(sequence_game.event, stream));
		observe_result(sequence_cuda.cuStreamWaitEvent(sequence_game.streams[to],
							       sequence_game.event, 0));
		break;
	}
}

static void take(int buffer, int stream)
{
	if (!are_ordered(sequence_game.owners[buffer], stream))
		pass_on(sequence_game.owners[buffer], stream);
	sequence_game.owners[buffer] = stream;
}

CUresult sequence_launch(int kernel, int stream, const int *buffers, int count, uint32_t salt)
{
	static const uint64_t bytes = BYTES;
	CUdeviceptr addresses[3];
	void *arguments[5];
	int at = 0;

	for (int i = 0; i < count; i++)
		take(buffers[i], stream);
	for (; at < count; at++) {
		addresses[at] = sequence_game.buffers[buffers[at]];
		arguments[at] = &addresses[at];
	}
	arguments[at++] = (void *)&bytes;
	arguments[at] = &salt;
	if (sequence_draw(4) == 0) {
		const CUlaunchConfig config = {.gridDimX = 1,
					       .gridDimY = 1,
					       .gridDimZ = 1,
					       .blockDimX = 32,
					       .blockDimY = 1,
					       .blockDimZ = 1,
					       .hStream = sequence_game.streams[stream]};

		return sequence_cuda.cuLaunchKernelEx(&config, sequence_game.functions[kernel],
						      arguments, NULL);
	}
	return sequence_cuda.cuLaunchKernel(sequence_game.functions[kernel], 1, 1, 1, 32, 1, 1, 0,
					    sequence_game.streams[stream], arguments, NULL);
}

/* Mostly memory of the device's own. */
static int draw_buffer(void)
{
	return sequence_draw(40) ? (int)sequence_draw(MAPPED) : MAPPED + (int)sequence_draw(2);
}

void sequence_begin_chain(void)
{
	sequence_game.stage = FIRST;
	sequence_game.stream = (int)sequence_draw(STREAMS);
	for (int i = 0; i < 5; i++)
		sequence_game.chain[i] = draw_buffer();
	if (sequence_draw(10)) /* five different ones, but that x may be w */
		for (int i = 0, first = (int)sequence_draw(MAPPED); i < 5; i++)
			sequence_game.chain[i] = (first + i) % MAPPED;
	if (sequence_draw(6) == 0)
		sequence_game.chain[2] = sequence_game.chain[0];
}

/* Whether all of the chain is this stream's. */
static bool are_ordered_all(int stream)
{
	for (int i = 0; i < 5; i++)
		if (sequence_game.owners[sequence_game.chain[i]] != stream)
			return false;
	return true;
}

static void renew(int buffer, int stream)
{
	if (sequence_draw(8))
		INSIST(sequence_cuda.cuMemAllocAsync(&sequence_game.buffers[buffer], BYTES,
						     sequence_game.streams[stream]));
	else
		INSIST(sequence_cuda.cuMemAlloc(&sequence_game.buffers[buffer], BYTES));
	sequence_fill(buffer, stream);
}

/* Behind a chain of different buffers: what was between is given back, or some of it. */
static void drop_between(int stream)
{
	const int *c = sequence_game.chain;
	const uint32_t which = sequence_draw(6); /* 3: both; others: one, or none */

	for (int i = 0; i < 5; i++)
		for (int j = 0; j < i; j++)
			if (c[i] >= MAPPED || c[j] >= MAPPED || (c[i] == c[j] && i != 2))
				return;
	for (int i = 0; i < 2; i++)
		if ((which > 2 || which == (uint32_t)i))
			observe_result(
				sequence_cuda.cuMemFreeAsync(sequence_game.buffers[c[1 + 2 * i]],
							     sequence_game.streams[stream]));
	for (int i = 0; i < 2; i++)
		if ((which > 2 || which == (uint32_t)i))
			renew(c[1 + 2 * i], stream);
}

static void step_chain(void)
{
	const int *c = sequence_game.chain;
	int stream = sequence_draw(30) ? sequence_game.stream : (int)sequence_draw(STREAMS);
	const int first[] = {c[1], c[0]}, second[] = {c[3], sequence_draw(30) ? c[1] : c[4], c[2]};
	const int third[] = {c[4], sequence_draw(30) ? c[3] : c[1]};

	switch (sequence_game.stage) {
	case FIRST:
		observe_result(sequence_launch(FIRST, stream, first, 2, 1 + sequence_draw(2)));
		break;
	case MAYBE:
		if (sequence_draw(3) == 0)
			observe_result(sequence_launch(MAYBE, stream, &c[1], 1, 0));
		break;
	case SECOND:
		observe_result(sequence_launch(SECOND, stream, second, 3, 1));
		break;
	default:
		observe_result(sequence_launch(THIRD, stream, third, 2, 1));
		if (sequence_draw(3) == 0 && are_ordered_all(stream))
			drop_between(stream);
		sequence_begin_chain();
		return;
	}
	sequence_game.stage++;
}

static void step_in_place(void)
{
	int buffer = draw_buffer(), stream = (int)sequence_draw(STREAMS);

	observe_result(sequence_launch(SCALE, stream, &buffer, 1, 0));
	if (sequence_draw(4))
		observe_result(sequence_launch(SHIFT, stream, &buffer, 1, 0));
}

static void step_other(void)
{
	const int buffers[] = {draw_buffer(), draw_buffer()};

	observe_result(sequence_launch(
		OTHER, sequence_draw(2) ? sequence_game.stream : (int)sequence_draw(STREAMS),
		buffers, 2, sequence_draw(9)));
}

static void step_cooperative(void)
{
	int stream = (int)sequence_draw(STREAMS), buffers[] = {draw_buffer(), draw_buffer()};
	static const uint64_t bytes = BYTES;
	uint32_t salt = 4;
	void *arguments[] = {&sequence_game.buffers[buffers[0]], &sequence_game.buffers[buffers[1]],
			     (void *)&bytes, &salt};

	take(buffers[0], stream);
	take(buffers[1], stream);
	observe_result(sequence_cuda.cuLaunchCooperativeKernel(
		sequence_game.functions[OTHER], 1, 1, 1, 32, 1, 1, 0, sequence_game.streams[stream],
		arguments));
}

/* The driver refuses it at once, and nothing of it happens. */
static void step_invalid(void)
{
	void *arguments[5] = {NULL};

	observe_result(sequence_cuda.cuLaunchKernel(
		sequence_game.functions[sequence_draw(2) ? FIRST : SECOND], 0, 1, 1, 32, 1, 1, 0,
		sequence_game.streams[sequence_game.stream], arguments, NULL));
}

static void step_read(void)
{
	int buffer = draw_buffer(), stream = sequence_draw(2) ? 0 : (int)sequence_draw(STREAMS);
	float words[WORDS] = {0};

	take(buffer, stream);
	if (stream == 0 && sequence_draw(2)) {
		observe_result(
			sequence_cuda.cuMemcpyDtoH(words, sequence_game.buffers[buffer], BYTES));
	} else {
		observe_result(sequence_cuda.cuMemcpyDtoHAsync(words, sequence_game.buffers[buffer],
							       BYTES,
							       sequence_game.streams[stream]));
		observe_result(sequence_cuda.cuStreamSynchronize(sequence_game.streams[stream]));
	}
	release(stream);
	sequence_observe(words, sizeof(words));
}

/* Memory of the host's that kernels use: the host looks at it without the driver. */
static void step_look(void)
{
	if (sequence_game.owners[MAPPED] != NOBODY) {
		observe_result(sequence_cuda.cuStreamSynchronize(
			sequence_game.streams[sequence_game.owners[MAPPED]]));
		release(sequence_game.owners[MAPPED]);
	}
	kp_fake_order_host((void *)sequence_game.buffers[MAPPED], false);
	sequence_observe((void *)sequence_game.buffers[MAPPED], BYTES);
}

static void step_write(void)
{
	int buffer = draw_buffer(), other = draw_buffer(), stream = (int)sequence_draw(STREAMS);
	CUstream handle = sequence_game.streams[stream];
	float words[WORDS];

	for (int i = 0; i < WORDS; i++)
		words[i] = (float)sequence_draw(60000);
	take(buffer, stream);
	switch (sequence_draw(7)) {
	case 0:
		observe_result(sequence_cuda.cuMemcpyHtoDAsync(sequence_game.buffers[buffer], words,
							       BYTES, handle));
		break;
	case 1:
		observe_result(sequence_cuda.cuMemsetD8Async(sequence_game.buffers[buffer], 0,
							     BYTES, handle));
		break;
	case 2:
		observe_result(sequence_cuda.cuMemsetD32Async(sequence_game.buffers[buffer],
							      0x42280000, WORDS, handle));
		break;
	case 3:
		take(buffer, 0);
		observe_result(
			sequence_cuda.cuMemcpyHtoD(sequence_game.buffers[buffer], words, BYTES));
		release(0);
		break;
	default:
		take(other, stream);
		if (other != buffer)
			observe_result(sequence_cuda.cuMemcpyDtoDAsync(
				sequence_game.buffers[buffer], sequence_game.buffers[other], BYTES,
				handle));
		break;
	}
}

void sequence_fill(int buffer, int stream)
{
	float words[WORDS];

	for (int i = 0; i < WORDS; i++)
		words[i] = (float)sequence_draw(60000);
	kp_fake_order_watch((void *)sequence_game.buffers[buffer], BYTES);
	INSIST(sequence_cuda.cuMemcpyHtoDAsync(sequence_game.buffers[buffer], words, BYTES,
					       sequence_game.streams[stream]));
	sequence_game.owners[buffer] = stream;
}

static void step_memory(void)
{
	int buffer = (int)sequence_draw(MAPPED), stream = (int)sequence_draw(STREAMS);

	if (sequence_draw(2)) {
		take(buffer, stream);
		observe_result(sequence_cuda.cuMemFreeAsync(sequence_game.buffers[buffer],
							    sequence_game.streams[stream]));
	} else {
		observe_result(sequence_cuda.cuMemFree(sequence_game.buffers[buffer]));
		sequence_release_all();
	}
	renew(buffer, stream);
}

static void step_graph(void)
{
	const int stream = sequence_draw(3) ? sequence_game.stream : (int)sequence_draw(STREAMS);
	const int from[] = {GRAPH_IN, (int)sequence_draw(MAPPED)};
	int to = (int)sequence_draw(MAPPED);

	take(GRAPH_IN, stream);
	take(GRAPH_OUT, stream);
	observe_result(sequence_launch(FIRST, stream, from, 2, 1));
	observe_result(
		sequence_cuda.cuGraphLaunch(sequence_game.graph, sequence_game.streams[stream]));
	take(to, stream);
	observe_result(sequence_cuda.cuMemcpyDtoDAsync(sequence_game.buffers[to],
						       sequence_game.buffers[GRAPH_OUT], BYTES,
						       sequence_game.streams[stream]));
}

/* In a capture nothing runs, and nothing is held. */
static void step_capture(void)
{
	int stream = 1 + (int)sequence_draw(STREAMS - 1), from = (int)sequence_draw(MAPPED);
	int between = (from + 1) % MAPPED, to = (from + 2) % MAPPED;
	CUstream handle = sequence_game.streams[stream];
	CUgraphExec exec;
	CUgraph graph;

	take(from, stream);
	take(between, stream);
	take(to, stream);
	INSIST(sequence_cuda.cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED));
	observe_result(sequence_launch(FIRST, stream, (const int[]){between, from}, 2, 1));
	observe_result(sequence_launch(SECOND, stream, (const int[]){to, between, from}, 3, 1));
	INSIST(sequence_cuda.cuStreamEndCapture(handle, &graph));
	INSIST(sequence_cuda.cuGraphInstantiateWithFlags(&exec, graph, 0));
	observe_result(sequence_launch(FIRST, stream, (const int[]){from, to}, 2, 1));
	observe_result(sequence_cuda.cuGraphLaunch(exec, handle));
	observe_result(sequence_cuda.cuGraphExecDestroy(exec));
	observe_result(sequence_cuda.cuGraphDestroy(graph));
}

static void step_stream(void)
{
	int stream = 1 + (int)sequence_draw(2);

	observe_result(sequence_cuda.cuStreamSynchronize(sequence_game.streams[stream]));
	release(stream);
	observe_result(sequence_cuda.cuStreamDestroy(sequence_game.streams[stream]));
	INSIST(sequence_cuda.cuStreamCreate(&sequence_game.streams[stream],
					    CU_STREAM_NON_BLOCKING));
}

static void step_ask(void)
{
	const struct timespec pause = {.tv_nsec = 150000};
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUcontext context = NULL;
	unsigned type = 0;

	switch (sequence_draw(5)) {
	case 0:
		observe_result(sequence_cuda.cuStreamIsCapturing(
			sequence_game.streams[sequence_game.stream], &status));
		sequence_observe(&status, sizeof(status));
		break;
	case 1:
		observe_result(sequence_cuda.cuCtxGetCurrent(&context));
		sequence_observe(&(bool){context == sequence_game.context}, 1);
		break;
	case 2:
		observe_result(sequence_cuda.cuCtxSetCurrent(sequence_game.context));
		break;
	case 3:
		observe_result(sequence_cuda.cuPointerGetAttribute(
			&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
			sequence_game.buffers[sequence_draw(MAPPED + 1)]));
		sequence_observe(&type, sizeof(type));
		break;
	default:
		if (sequence_game.sleeps)
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

void sequence_step(void)
{
	uint32_t at = sequence_game.calm && sequence_draw(5) ? 0 : sequence_draw(100), i = 0;

	while (at >= steps[i].share)
		at -= steps[i++].share;
	steps[i].step();
}
