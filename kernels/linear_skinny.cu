/* The versions of linear_skinny; linear_skinny.h says what they compute, linear_skinny.c which one
 * runs. */
#include "kernels/linear_ring.cuh"

/* One version, for both storage types; `blocks` of them stay on a multiprocessor. */
#define KERNEL(name, threads, blocks, ...)                                                         \
	extern "C" __global__ void __launch_bounds__(threads, blocks)                              \
		kp_##name##_bf16(const __grid_constant__ struct kp_linear_skinny_args args)        \
	{                                                                                          \
		using T = __nv_bfloat16;                                                           \
		__VA_ARGS__;                                                                       \
	}                                                                                          \
	extern "C" __global__ void __launch_bounds__(threads, blocks)                              \
		kp_##name##_fp16(const __grid_constant__ struct kp_linear_skinny_args args)        \
	{                                                                                          \
		using T = __half;                                                                  \
		__VA_ARGS__;                                                                       \
	}

KERNEL(linear_row_w16, 128, 6, linear_row<T, T, 2, 4>(args))
KERNEL(linear_row_e4m3, 128, 4, linear_row<T, e4m3, 4, 2>(args))
KERNEL(linear_row_int8, 128, 5, linear_row<T, int8, 4, 2>(args))
KERNEL(linear_tile_8_w16, 256, 2, linear_tile<T, T, 1, 1, 4>(args))
KERNEL(linear_tile_8_e4m3, 256, 2, linear_tile<T, e4m3, 1, 1, 4>(args))
KERNEL(linear_tile_8_int8, 256, 2, linear_tile<T, int8, 1, 1, 4>(args))
KERNEL(linear_tile_16_w16, 256, 2, linear_tile<T, T, 2, 2, 2>(args))
KERNEL(linear_tile_16_e4m3, 256, 2, linear_tile<T, e4m3, 2, 2, 2>(args))
KERNEL(linear_tile_16_int8, 256, 2, linear_tile<T, int8, 2, 2, 2>(args))
KERNEL(linear_any, 128, 1, linear_any<T>(args))
KERNEL(linear_finish, 128, 1, linear_finish<T>(args))

/* Rings need more shared memory than other GPUs have; this is no code for those. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
#define RING(name, warps, ...) KERNEL(name, (warps)*WARP, 1, (void)sizeof(T))
#else
#define RING(name, warps, ...) KERNEL(name, (warps)*WARP, 1, __VA_ARGS__)
#endif
#define RINGS(name, warps, body, ...)                                                              \
	RING(name##_w16, warps, body<T, T, __VA_ARGS__>(args))                                     \
	RING(name##_e4m3, warps, body<T, e4m3, __VA_ARGS__>(args))                                 \
	RING(name##_int8, warps, body<T, int8, __VA_ARGS__>(args))
#define ROWS(name, rows, kept, stages, warps)                                                      \
	RINGS(name, warps, linear_ring_row, rows, kept, stages, warps)
#define TILES(name, tiles, sides, kept, stages, warps)                                             \
	RINGS(name, warps, linear_ring_tile, tiles, sides, kept, stages, warps)
LINEAR_RINGS(ROWS, TILES)

#undef TILES
#undef ROWS
#undef RINGS
#undef RING
#undef KERNEL
