/* Copies to shared memory since compute capability 8.0, each with a twin for the CPU. */
#ifndef KP_KERNELS_ATTENTION_COPY_CUH
#define KP_KERNELS_ATTENTION_COPY_CUH

#include "kernels/matrix.cuh"

/* 16 bytes of device memory, past the registers. */
__device__ inline void copy_async(void *to, const void *from)
{
#ifdef __CUDA_ARCH__
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
			     (unsigned)__cvta_generic_to_shared(to)),
		     "l"(from)
		     : "memory");
#else
	*(uint4 *)to = *(const uint4 *)from;
#endif
}

__device__ inline void copies_commit()
{
#ifdef __CUDA_ARCH__
	asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Until all that this thread began have arrived. */
__device__ inline void copies_wait()
{
#ifdef __CUDA_ARCH__
	asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
}

/*
 * 16 × 16 elements of 16 bits, rows `pitch` elements apart, as the right operand of two products:
 * rows are steps of the sum. Words 0 and 1 are for columns 0 … 7, 2 and 3 for columns 8 … 15.
 */
__device__ inline void load_turned(unsigned out[4], const void *tile, int pitch)
{
	unsigned lane = threadIdx.x % WARP;
#ifdef __CUDA_ARCH__
	const unsigned short *row =
		(const unsigned short *)tile + lane % 16 * pitch + lane / 16 * 8;

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
		     : "r"((unsigned)__cvta_generic_to_shared(row))
		     : "memory");
#else
	for (unsigned i = 0; i < 4; i++) {
		const unsigned short *from = (const unsigned short *)tile +
					     (i % 2 * 8 + lane % 4 * 2) * pitch + i / 2 * 8 +
					     lane / 4;

		out[i] = from[0] | (unsigned)from[pitch] << 16;
	}
#endif
}

#endif
