/*
 * Storage types and vectors of 16 bytes: eight elements of bf16 or fp16 as floats and back.
 *
 * Also compiled for the CPU by tests/kernels, so that nothing here is inline PTX without a branch
 * for it.
 */
#ifndef KP_KERNELS_NUMBERS_CUH
#define KP_KERNELS_NUMBERS_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define WIDTH 8 /* elements of a vector */

__device__ inline float to_float(__nv_bfloat16 value)
{
	return __bfloat162float(value);
}

__device__ inline float to_float(__half value)
{
	return __half2float(value);
}

__device__ inline float to_float(float value)
{
	return value;
}

__device__ inline void from_float(float value, __nv_bfloat16 *out)
{
	*out = __float2bfloat16_rn(value);
}

__device__ inline void from_float(float value, __half *out)
{
	*out = __float2half_rn(value);
}

/* Rounds to the storage type. */
template <class T> __device__ inline float rounded(float value)
{
	T stored;

	from_float(value, &stored);
	return to_float(stored);
}

__device__ inline float2 unpack_pair(unsigned word, __nv_bfloat16)
{
	return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u));
}

__device__ inline float2 unpack_pair(unsigned word, __half)
{
	return __half22float2(*(const __half2 *)&word);
}

__device__ inline unsigned pack_pair(float low, float high, __nv_bfloat16)
{
	__nv_bfloat162 pair = __floats2bfloat162_rn(low, high);

	return *(const unsigned *)&pair;
}

__device__ inline unsigned pack_pair(float low, float high, __half)
{
	__half2 pair = __floats2half2_rn(low, high);

	return *(const unsigned *)&pair;
}

template <class T> __device__ inline void unpack(uint4 vector, float out[WIDTH])
{
	const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};

#pragma unroll
	for (int i = 0; i < 4; i++) {
		float2 pair = unpack_pair(words[i], T());

		out[2 * i] = pair.x;
		out[2 * i + 1] = pair.y;
	}
}

template <class T> __device__ inline uint4 pack(const float in[WIDTH])
{
	return make_uint4(pack_pair(in[0], in[1], T()), pack_pair(in[2], in[3], T()),
			  pack_pair(in[4], in[5], T()), pack_pair(in[6], in[7], T()));
}

/* The sums of two vectors, rounded. */
template <class T> __device__ inline uint4 add(uint4 a, uint4 b)
{
	float first[WIDTH], second[WIDTH];

	unpack<T>(a, first);
	unpack<T>(b, second);
#pragma unroll
	for (int i = 0; i < WIDTH; i++)
		first[i] += second[i];
	return pack<T>(first);
}

/* Eight elements of e4m3. */
__device__ inline uint2 pack_e4m3(const float in[WIDTH])
{
	unsigned words[2] = {0, 0};

#pragma unroll
	for (int i = 0; i < WIDTH; i += 2)
		words[i / 4] |= (unsigned)__nv_cvt_float2_to_fp8x2(make_float2(in[i], in[i + 1]),
								   __NV_SATFINITE, __NV_E4M3)
				<< 16 * (i / 2 % 2);
	return make_uint2(words[0], words[1]);
}

/* Tells nvcc what it does not find out where a pointer is one of several, or none. */
__device__ inline void assume_global(const void *pointer)
{
#ifdef __CUDA_ARCH__
	__builtin_assume(__isGlobal(pointer));
#else
	(void)pointer;
#endif
}

/* Loads that are made once: the line need not stay in the caches. */
__device__ inline uint4 load_once(const void *from)
{
	return __ldcs((const uint4 *)from);
}

/* Waits for the launch in front, where this one was allowed to begin early; lets the next begin. */
__device__ inline void wait_for_launch_in_front()
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ inline void let_next_launch_begin()
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#endif
