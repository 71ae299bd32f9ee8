/*
 * Runs kernels of kernels/ on the CPU: include this, then the .cu file, and compile as C++.
 *
 * A test tool. Blocks run one after the other, a block's threads as fibers that change over at
 * barriers and warp operations, in several orders. It shows what the source computes: arithmetic
 * (bf16, fp16 and e4m3 through the host code of CUDA's own headers), indices, tails, strides,
 * alignment (UBSan), bounds (ASan), barriers that not all threads reach, and many races within a
 * block.
 *
 * It cannot show: what nvcc makes of the source, the last bits of the special functions, races that
 * need threads to change over between two waits, the memory model, reads of shared memory that
 * nobody wrote, races between blocks, dependent launches, speed. tests/gpu is for that.
 */
#ifndef KP_TESTS_KERNELS_CPU_CUH
#define KP_TESTS_KERNELS_CPU_CUH

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector_types.h>

#include <vector_functions.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/kernels.h"
#include "tests/kernels/fibers.h"

#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__

#define LANES 32
#define CPU_WARPS (KP_FIBERS_MOST / LANES)

/* ---- where a thread is ---- */

struct cpu_place {
	unsigned x, y, z;
};
static struct cpu_place cpu_block, cpu_grid, cpu_block_size;

/* The launch's dynamic shared memory. */
static void *cpu_shared;

#define threadIdx (cpu_place{kp_fiber_number(), 0, 0})
#define blockIdx cpu_block
#define gridDim cpu_grid
#define blockDim cpu_block_size

/* ---- barriers ---- */

static struct {
	unsigned arrived, passed;
} cpu_barrier;

static inline bool cpu_has_passed(const void *mine)
{
	return cpu_barrier.passed != (unsigned)(uintptr_t)mine ||
	       cpu_barrier.arrived == kp_fibers_alive();
}

static inline void __syncthreads()
{
	unsigned mine = cpu_barrier.passed;

	cpu_barrier.arrived++;
	kp_fiber_wait(cpu_has_passed, (const void *)(uintptr_t)mine);
	if (cpu_barrier.passed == mine) {
		cpu_barrier.passed++;
		cpu_barrier.arrived = 0;
	}
}

/* ---- operations of a warp: all lanes of the mask bring a value, then read others' ---- */

struct cpu_warp {
	unsigned times[LANES]; /* how many operations each lane has come to */
	uint64_t values[2][LANES];
	int operations[2][LANES];
};
static struct cpu_warp cpu_warps[CPU_WARPS];

enum cpu_operation { CPU_SHUFFLE, CPU_BALLOT, CPU_SYNC };

struct cpu_meeting {
	const struct cpu_warp *warp;
	unsigned mask, time;
};

static inline bool cpu_have_met(const void *context)
{
	const struct cpu_meeting *meeting = (const struct cpu_meeting *)context;

	for (unsigned lane = 0; lane < LANES; lane++)
		if (meeting->mask >> lane & 1 && meeting->warp->times[lane] <= meeting->time)
			return false;
	return true;
}

/* Returns what all lanes brought. A lane is never more than one operation ahead: two sets will do.
 */
static inline const uint64_t *cpu_meet(unsigned mask, enum cpu_operation operation, uint64_t value)
{
	struct cpu_warp *warp = &cpu_warps[kp_fiber_number() / LANES];
	unsigned lane = kp_fiber_number() % LANES, time = warp->times[lane]++, set = time % 2;
	struct cpu_meeting meeting = {warp, mask, time};

	warp->values[set][lane] = value;
	warp->operations[set][lane] = operation;
	kp_fiber_wait(cpu_have_met, &meeting);
	for (unsigned i = 0; i < LANES; i++)
		if (!(mask >> lane & 1) ||
		    (mask >> i & 1 && warp->operations[set][i] != operation)) {
			fprintf(stderr, "lanes %u and %u do different things\n", lane, i);
			abort();
		}
	return warp->values[set];
}

template <class T> static inline T cpu_shuffle(unsigned mask, T value, unsigned from)
{
	uint64_t bits = 0;
	T result;

	memcpy(&bits, &value, sizeof(value));
	bits = cpu_meet(mask, CPU_SHUFFLE, bits)[from % LANES];
	memcpy(&result, &bits, sizeof(result));
	return result;
}

template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int lanes)
{
	return cpu_shuffle(mask, value, kp_fiber_number() % LANES ^ (unsigned)lanes);
}

template <class T> static inline T __shfl_sync(unsigned mask, T value, int lane)
{
	return cpu_shuffle(mask, value, (unsigned)lane);
}

template <class T> static inline T __shfl_up_sync(unsigned mask, T value, unsigned distance)
{
	unsigned lane = kp_fiber_number() % LANES;

	return cpu_shuffle(mask, value, lane < distance ? lane : lane - distance);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
	const uint64_t *values = cpu_meet(mask, CPU_BALLOT, predicate != 0);
	unsigned result = 0;

	for (unsigned lane = 0; lane < LANES; lane++)
		if (mask >> lane & 1 && values[lane])
			result |= 1U << lane;
	return result;
}

static inline void __syncwarp(unsigned mask = 0xffffffffU)
{
	cpu_meet(mask, CPU_SYNC, 0);
}

/* ---- single instructions ---- */

template <class T> static inline T __ldcs(const T *from)
{
	return *from;
}

template <class T> static inline T __ldg(const T *from)
{
	return *from;
}

template <class T> static inline T atomicAdd(T *at, T value)
{
	T old = *at;

	*at = old + value;
	return old;
}

template <class T> static inline T atomicMax(T *at, T value)
{
	T old = *at;

	*at = old > value ? old : value;
	return old;
}

/* As far as one thread sees: the others run when this one waits. */
static inline void __threadfence()
{
}

template <class T> static inline T __ldcg(const T *from)
{
	return *from;
}

static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
	return (unsigned long long)((unsigned __int128)a * b >> 64);
}

static inline float __uint_as_float(unsigned bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline unsigned __float_as_uint(float value)
{
	unsigned bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline int min(int a, int b)
{
	return a < b ? a : b;
}

static inline unsigned min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static inline float rsqrtf(float value)
{
	return 1 / sqrtf(value);
}

/* glibc declares this name, and does not define it. */
#define __expf expf

static inline float __fdividef(float a, float b)
{
	return a / b;
}

static inline void sincospif(float value, float *sine, float *cosine)
{
	*sine = (float)sin(M_PI * (double)value);
	*cosine = (float)cos(M_PI * (double)value);
}

/* ---- a launch ---- */

template <class Args> struct cpu_call {
	void (*kernel)(Args args);
	const Args *args;
};

template <class Args> static inline void cpu_thread(void *context)
{
	const struct cpu_call<Args> *call = (const struct cpu_call<Args> *)context;

	call->kernel(*call->args);
}

template <class Args>
static inline void cpu_launch(const struct kp_kernel_plan *plan, void (*kernel)(Args args),
			      const Args *args, enum kp_fiber_order order)
{
	struct cpu_call<Args> call = {
		kernel, args
	};

	cpu_shared = malloc(plan->shared_bytes + 1);
	if (!cpu_shared)
		abort();
	cpu_grid = {plan->grid_x, plan->grid_y, 1};
	cpu_block_size = {plan->threads, 1, 1};
	for (unsigned y = 0; y < plan->grid_y; y++)
		for (unsigned x = 0; x < plan->grid_x; x++) {
			cpu_block = {x, y, 0};
			memset(&cpu_barrier, 0, sizeof(cpu_barrier));
			memset(cpu_warps, 0, sizeof(cpu_warps));
			memset(cpu_shared, 0xff, plan->shared_bytes);
			kp_fibers_run(plan->threads, order, cpu_thread<Args>, &call);
		}
	free(cpu_shared);
}

#endif
