/*
 * Matrix instructions of a warpgroup (wgmma, sm_90a only): the one way to Hopper's full rate.
 *
 * A block has two warpgroups, and shared memory holds 4 stages: for each, a tile of A (64 × 128
 * bytes) a warpgroup and one of B (256 × 128 bytes) for both, K along the rows, in the 128-byte
 * swizzle. An iteration multiplies all 4 stages, 4 steps of 32 bytes along K each: 16 instructions
 * m64n256 a warpgroup on 64 × 256 accumulators, 128 a thread. Contract as in
 * ceilings_arithmetic.cuh.
 */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define WG_STAGES 4
#define WG_A_BYTES (64 * 128)
#define WG_B_BYTES (256 * 128)
#define WG_STAGE_BYTES (2 * WG_A_BYTES + WG_B_BYTES)

/* Rows of 128 bytes, groups of 8 rows 1024 bytes apart, 128-byte swizzle. */
__device__ inline unsigned long long describe_tile(const void *tile)
{
	unsigned long long address = (unsigned)__cvta_generic_to_shared(tile);

	return (address & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

#define TEN(t)                                                                                     \
	"%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t     \
	"8, %" #t "9, "
#define SUMS_TEXT                                                                                  \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, " TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6)       \
		TEN(7) TEN(8) TEN(9) TEN(10)                                                       \
			TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127"
#define SUM_1(constraint, i) "+" constraint(c[i])
#define SUMS_4(constraint, i)                                                                      \
	SUM_1(constraint, i), SUM_1(constraint, i + 1), SUM_1(constraint, i + 2),                  \
		SUM_1(constraint, i + 3)
#define SUMS_16(constraint, i)                                                                     \
	SUMS_4(constraint, i), SUMS_4(constraint, i + 4), SUMS_4(constraint, i + 8),               \
		SUMS_4(constraint, i + 12)
#define SUMS_128(constraint)                                                                       \
	SUMS_16(constraint, 0), SUMS_16(constraint, 16), SUMS_16(constraint, 32),                  \
		SUMS_16(constraint, 48), SUMS_16(constraint, 64), SUMS_16(constraint, 80),         \
		SUMS_16(constraint, 96), SUMS_16(constraint, 112)

/* c += A · B; `rest` are the operands behind scale-d. */
#define WGMMA(name, text, rest, type, constraint)                                                  \
	struct name {                                                                              \
		typedef type sum;                                                                  \
		static __device__ inline void multiply(sum *c, unsigned long long a,               \
						       unsigned long long b)                       \
		{                                                                                  \
			asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, 0, 0;\n"                    \
				     "wgmma.mma_async.sync.aligned." text " {" SUMS_TEXT           \
				     "}, %128, %129, p" rest ";\n}"                                \
				     : SUMS_128(constraint)                                        \
				     : "l"(a), "l"(b));                                            \
		}                                                                                  \
	}

WGMMA(wgmma_bf16, "m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0", float, "f");
WGMMA(wgmma_fp16, "m64n256k16.f32.f16.f16", ", 1, 1, 0, 0", float, "f");
WGMMA(wgmma_tf32, "m64n256k8.f32.tf32.tf32", ", 1, 1", float, "f");
WGMMA(wgmma_fp8, "m64n256k32.f32.e4m3.e4m3", ", 1, 1", float, "f");
WGMMA(wgmma_int8, "m64n256k32.s32.s8.s8", "", int, "r");

template <typename wgmma>
__device__ inline void multiply_tiles(const uint4 *in, double *out, unsigned iterations)
{
	extern __shared__ char shared[];
	char *tiles = (char *)(((size_t)shared + 1023) & ~(size_t)1023);
	typename wgmma::sum c[128];
	double total = 0;

	for (unsigned i = threadIdx.x; i < WG_STAGES * WG_STAGE_BYTES / 16; i += blockDim.x)
		((uint4 *)tiles)[i] = in[i];
#pragma unroll
	for (int i = 0; i < 128; i++)
		c[i] = 0;
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	unsigned long long a = describe_tile(tiles + threadIdx.x / 128 * WG_A_BYTES);
	unsigned long long b = describe_tile(tiles + 2 * WG_A_BYTES);
	for (unsigned iteration = 0; iteration < iterations; iteration++) {
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
		for (int stage = 0; stage < WG_STAGES; stage++) {
#pragma unroll
			for (int step = 0; step < 4; step++) {
				int offset = (stage * WG_STAGE_BYTES + step * 32) >> 4;

				wgmma::multiply(c, a + offset, b + offset);
			}
		}
		asm volatile("wgmma.commit_group.sync.aligned;\n"
			     "wgmma.wait_group.sync.aligned 1;" ::
				     : "memory");
	}
	asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
	for (int i = 0; i < 128; i++)
		total += c[i];
	out[grid_thread()] = total;
}

#define WGMMA_KERNEL(type)                                                                         \
	extern "C" __global__ void __launch_bounds__(256, 1) kp_wgmma_##type(                      \
		const uint4 *in, double *out, unsigned long long, unsigned iterations)             \
	{                                                                                          \
		multiply_tiles<wgmma_##type>(in, out, iterations);                                 \
	}

WGMMA_KERNEL(bf16)
WGMMA_KERNEL(fp16)
WGMMA_KERNEL(tf32)
WGMMA_KERNEL(fp8)
WGMMA_KERNEL(int8)

#endif
