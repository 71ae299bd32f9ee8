/* The versions of rmsnorm and layernorm; norm.h says what they compute, norm.c which one runs. */
#include "kernels/norm.cuh"

/* One version, for both storage types. At most `threads` a block: what is free decides registers.
 */
#define KERNEL(name, threads, ...)                                                                 \
	extern "C" __global__ void __launch_bounds__(threads)                                      \
		kp_##name##_bf16(const __grid_constant__ struct kp_norm_args args)                 \
	{                                                                                          \
		using T = __nv_bfloat16;                                                           \
		__VA_ARGS__;                                                                       \
	}                                                                                          \
	extern "C" __global__ void __launch_bounds__(threads)                                      \
		kp_##name##_fp16(const __grid_constant__ struct kp_norm_args args)                 \
	{                                                                                          \
		using T = __half;                                                                  \
		__VA_ARGS__;                                                                       \
	}

KERNEL(rmsnorm_team_1, 128, norm_in_registers<T, false, 1, false>(args))
KERNEL(rmsnorm_team_2, 128, norm_in_registers<T, false, 2, false>(args))
KERNEL(rmsnorm_team_4, 128, norm_in_registers<T, false, 4, false>(args))
KERNEL(rmsnorm_block_1, 1024, norm_in_registers<T, false, 1, true>(args))
KERNEL(rmsnorm_block_2, 1024, norm_in_registers<T, false, 2, true>(args))
KERNEL(rmsnorm_block_4, 512, norm_in_registers<T, false, 4, true>(args))
KERNEL(rmsnorm_block_8, 512, norm_in_registers<T, false, 8, true>(args))
KERNEL(rmsnorm_any, 256, norm_any<T, false>(args))
KERNEL(layernorm_team_1, 128, norm_in_registers<T, true, 1, false>(args))
KERNEL(layernorm_team_2, 128, norm_in_registers<T, true, 2, false>(args))
KERNEL(layernorm_team_4, 128, norm_in_registers<T, true, 4, false>(args))
KERNEL(layernorm_block_1, 1024, norm_in_registers<T, true, 1, true>(args))
KERNEL(layernorm_block_2, 1024, norm_in_registers<T, true, 2, true>(args))
KERNEL(layernorm_block_4, 512, norm_in_registers<T, true, 4, true>(args))
KERNEL(layernorm_block_8, 512, norm_in_registers<T, true, 8, true>(args))
KERNEL(layernorm_any, 256, norm_any<T, true>(args))

#undef KERNEL
