/*
 * A game of prog_sequence: its memory, what may be done with it, and what of that shows. One game
 * at a time; threads take turns.
 */
#ifndef KP_FAKE_GPU_SEQUENCE_GAME_H
#define KP_FAKE_GPU_SEQUENCE_GAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "tests/fake_gpu/common/image.h"

enum { WORDS = 16, BYTES = WORDS * 4, STREAMS = 4, STEPS = 60 };
/* Of memory: that of the device's own, of other kinds, and what a graph reads and writes. */
enum { MAPPED = 7, MANAGED, GAME_BUFFERS, GRAPH_IN = GAME_BUFFERS, GRAPH_OUT, BUFFERS };
enum { NOBODY = -1, BLOCKING = 3 };

enum { FIRST, MAYBE, SECOND, THIRD, SCALE, SHIFT, OTHER, KERNELS };

extern const struct kp_fake_kernel sequence_kernels[KERNELS];

/* Of the fake driver (driver/order.h, driver/lookup.c). */
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

extern struct sequence_cuda {
#define MEMBER(name, function) __typeof__(&function) name;
	CALLS(MEMBER)
#undef MEMBER
} sequence_cuda;

extern struct sequence_game {
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
} sequence_game;

/* Ends the program where a call has failed. */
void sequence_check(int result, const char *what);
/* A number below this one. */
uint32_t sequence_draw(uint32_t below);
/* The program has seen these bytes. */
void sequence_observe(const void *at, size_t bytes);
/*
 * Of a call that must succeed: one that tells of an earlier failure does nothing, and is repeated.
 */
bool sequence_is_to_be_repeated(CUresult result, const char *what);
#define INSIST(call)                                                                               \
	do {                                                                                       \
	} while (sequence_is_to_be_repeated((call), #call))

/* The host has waited for everything. */
void sequence_release_all(void);
/* New memory, written on a stream, whose it is then. */
void sequence_fill(int buffer, int stream);
void sequence_begin_chain(void);
CUresult sequence_launch(int kernel, int stream, const int *buffers, int count, uint32_t salt);
/* Something drawn. */
void sequence_step(void);

#endif
