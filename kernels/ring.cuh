/*
 * A ring in shared memory that a warp fills with asynchronous copies, past its registers, and from
 * which it reads the oldest: one inline function an instruction, each with a twin for the CPU.
 *
 * Copies of a lane form groups; a lane sees what it has copied once it has waited for the group,
 * and what its neighbours have copied after a __syncwarp() more.
 */
#ifndef KP_KERNELS_RING_CUH
#define KP_KERNELS_RING_CUH

#include "kernels/numbers.cuh"

/* The shared memory that the plan of a launch asks for, shared_bytes of it. */
__device__ inline uint4 *dynamic_shared()
{
#ifdef __CUDACC__
	extern __shared__ uint4 pool[];

	return pool;
#else
	return (uint4 *)cpu_shared;
#endif
}

/* What is read once by the whole GPU is the first to leave L2. */
__device__ inline unsigned long long ring_policy()
{
#ifdef __CUDA_ARCH__
	unsigned long long policy;

	asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
	return policy;
#else
	return 0;
#endif
}

/* 16 bytes that are read once, past L1; or as many zeros. */
__device__ inline void ring_copy_once(uint4 *to, const void *from, bool is_there,
				      unsigned long long policy)
{
#ifdef __CUDA_ARCH__
	asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(
			     (unsigned)__cvta_generic_to_shared(to)),
		     "l"(from), "r"(is_there ? 16 : 0), "l"(policy)
		     : "memory");
#else
	(void)policy;
	*to = is_there ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
#endif
}

/*
 * The same without a hint for L2. Of a hint, and an address in shared memory that is a register
 * and a uniform one, nvcc 13.0 makes an instruction that is illegal on sm_90 (LDGSTS [R+UR],
 * desc[UR] in SASS): where a ring is no dynamic shared memory this is the one to use.
 */
__device__ inline void ring_copy_past_l1(void *to, const void *from, bool is_there)
{
#ifdef __CUDA_ARCH__
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
			     (unsigned)__cvta_generic_to_shared(to)),
		     "l"(from), "r"(is_there ? 16 : 0)
		     : "memory");
#else
	*(uint4 *)to = is_there ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
#endif
}

/* 16 bytes that other warps read too, through L1; or as many zeros. */
__device__ inline void ring_copy(uint4 *to, const void *from, bool is_there)
{
#ifdef __CUDA_ARCH__
	asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(
			     (unsigned)__cvta_generic_to_shared(to)),
		     "l"(from), "r"(is_there ? 16 : 0)
		     : "memory");
#else
	*to = is_there ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
#endif
}

/* The copies of this lane since the last call become a group, may there be none. */
__device__ inline void ring_end_group()
{
#ifdef __CUDA_ARCH__
	asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Until all groups of this lane have arrived but the newest PENDING. */
template <int PENDING> __device__ inline void ring_wait()
{
#ifdef __CUDA_ARCH__
	asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

#endif
