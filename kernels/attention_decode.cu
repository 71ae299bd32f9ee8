/* The versions of attention_decode; attention_decode.h says what they compute, attention_decode.c
 * which one runs. */
#include "kernels/attention_any.cuh"
#include "kernels/attention_decode.cuh"

/* Four rings of 48 KB are more shared memory than a multiprocessor has before Hopper. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define BLOCKS_128 3
#else
#define BLOCKS_128 4
#endif

/* One version, for both storage types; `blocks` of them stay on a multiprocessor. */
#define KERNEL(name, threads, blocks, ...)                                                         \
	extern "C" __global__ void __launch_bounds__(threads, blocks)                              \
		kp_##name##_bf16(const __grid_constant__ struct kp_attention_decode_args args)     \
	{                                                                                          \
		using T = __nv_bfloat16;                                                           \
		__VA_ARGS__;                                                                       \
	}                                                                                          \
	extern "C" __global__ void __launch_bounds__(threads, blocks)                              \
		kp_##name##_fp16(const __grid_constant__ struct kp_attention_decode_args args)     \
	{                                                                                          \
		using T = __half;                                                                  \
		__VA_ARGS__;                                                                       \
	}

KERNEL(attention_64_8_w16, 128, 4, attention_tile<T, T, 64, 1>(args))
KERNEL(attention_64_8_e4m3, 128, 4, attention_tile<T, e4m3, 64, 1>(args))
KERNEL(attention_64_16_w16, 128, 3, attention_tile<T, T, 64, 2>(args))
KERNEL(attention_64_16_e4m3, 128, 3, attention_tile<T, e4m3, 64, 2>(args))
KERNEL(attention_96_8_w16, 128, 3, attention_tile<T, T, 96, 1>(args))
KERNEL(attention_96_8_e4m3, 128, 3, attention_tile<T, e4m3, 96, 1>(args))
KERNEL(attention_128_8_w16, 128, BLOCKS_128, attention_tile<T, T, 128, 1>(args))
KERNEL(attention_128_8_e4m3, 128, BLOCKS_128, attention_tile<T, e4m3, 128, 1>(args))
KERNEL(attention_128_16_w16, 128, 2, attention_tile<T, T, 128, 2>(args))
KERNEL(attention_128_16_e4m3, 128, 2, attention_tile<T, e4m3, 128, 2>(args))
KERNEL(attention_256_8_w16, 128, 2, attention_tile<T, T, 256, 1>(args))
KERNEL(attention_256_8_e4m3, 128, 2, attention_tile<T, e4m3, 256, 1>(args))
KERNEL(attention_any, 128, 4, attention_any<T>(args))
KERNEL(attention_finish, 256, 1, attention_finish<T>(args))

#undef BLOCKS_128
#undef KERNEL
