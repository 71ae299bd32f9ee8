/*
 * Tensor cores and streams: one inline function an instruction, each with a twin for the CPU
 * (tests/kernels compiles this for it).
 *
 * Fragments of mma m16n8k16, lane = 4 · g + t; two 16-bit elements a register, the lower k first:
 *
 *   A  a0 (row g, k 2t)  a1 (row g+8, k 2t)  a2 (row g, k 2t+8)  a3 (row g+8, k 2t+8)
 *   B  b0 (k 2t, column g)  b1 (k 2t+8, column g)
 *   D  d0 (row g, column 2t)  d1 (row g, column 2t+1)  d2, d3 (row g+8, the same)
 *
 * A sum over k may take its terms in any order, so long as A and B agree on it. So a lane's vector
 * of 16 bytes, elements 8t … 8t+7 of a row in device memory, serves as the k that two instructions
 * want of it, and needs no shared memory: words 0 and 1 for the first, 2 and 3 for the second.
 */
#ifndef KP_KERNELS_MATRIX_CUH
#define KP_KERNELS_MATRIX_CUH

#include "kernels/numbers.cuh"
#include "kernels/team.cuh"

/*
 * 16 bytes that are read once by the whole GPU: past L1, and the first to leave L2. Volatile, so
 * that none moves across the wait for the launch in front.
 */
__device__ inline uint4 load_streamed(const void *from)
{
#ifdef __CUDA_ARCH__
	unsigned long long policy;
	uint4 out;

	asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
	asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
		     : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
		     : "l"(from), "l"(policy));
	return out;
#else
	return *(const uint4 *)from;
#endif
}

/* The same for 8 bytes. */
__device__ inline uint2 load_streamed_half(const void *from)
{
#ifdef __CUDA_ARCH__
	unsigned long long policy;
	uint2 out;

	asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
	asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
		     : "=r"(out.x), "=r"(out.y)
		     : "l"(from), "l"(policy));
	return out;
#else
	return *(const uint2 *)from;
#endif
}

/* The lower and the upper halves of two words, as pairs. */
__device__ inline unsigned lower_halves(unsigned a, unsigned b)
{
	return (a & 0xffff) | b << 16;
}

__device__ inline unsigned upper_halves(unsigned a, unsigned b)
{
	return a >> 16 | (b & 0xffff0000u);
}

#ifdef __CUDA_ARCH__
__device__ inline void mma_instruction(float d[4], const unsigned a[4], const unsigned b[2],
				       __nv_bfloat16)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
	    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void mma_instruction(float d[4], const unsigned a[4], const unsigned b[2], __half)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
	    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#else
/* What the lanes of each warp bring to an instruction that all of them do. */
static unsigned matrix_words[WARPS_MOST][WARP][6];

/* The 16 elements of a row of A or a column of B, of which four lanes hold two words each. */
template <class T>
static inline void matrix_line(unsigned line, int low_word, int high_word, float out[16])
{
	for (unsigned i = 0; i < 8; i++) {
		const unsigned *words = matrix_words[threadIdx.x / WARP][line * 4 + i % 4];
		float2 pair = unpack_pair(words[i < 4 ? low_word : high_word], T());

		out[2 * i] = pair.x;
		out[2 * i + 1] = pair.y;
	}
}
#endif

/* d += A · B; the whole warp. */
template <class T>
__device__ inline void multiply_add(float d[4], const unsigned a[4], const unsigned b[2])
{
#ifdef __CUDA_ARCH__
	mma_instruction(d, a, b, T());
#else
	unsigned lane = threadIdx.x % WARP, *words = matrix_words[threadIdx.x / WARP][lane];
	float rows[2][16], columns[2][16];

	for (int i = 0; i < 4; i++)
		words[i] = a[i];
	words[4] = b[0];
	words[5] = b[1];
	__syncwarp();
	for (int i = 0; i < 2; i++) {
		matrix_line<T>(lane / 4, i, 2 + i, rows[i]);
		matrix_line<T>(lane % 4 * 2 + (unsigned)i, 4, 5, columns[i]);
	}
	for (int i = 0; i < 64; i++)
		d[i / 16] += rows[i / 32][i % 16] * columns[i / 16 % 2][i % 16];
	__syncwarp();
#endif
}

/* A matrix of 8 × 8 16-bit elements, row g in lanes 4g …, two elements each: transposed. */
__device__ inline unsigned transpose(unsigned word)
{
#ifdef __CUDA_ARCH__
	unsigned out;

	asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(word));
	return out;
#else
	unsigned lane = threadIdx.x % WARP, column = lane / 4, row = lane % 4 * 2;
	unsigned low = __shfl_sync(ALL_LANES, word, (int)(row * 4 + column / 2));
	unsigned high = __shfl_sync(ALL_LANES, word, (int)(row * 4 + 4 + column / 2));

	return (low >> column % 2 * 16 & 0xffff) | high >> column % 2 * 16 << 16;
#endif
}

/* 2^x, as near as the special function unit is: 2 units in the last place. */
__device__ inline float power_of_two(float x)
{
#ifdef __CUDA_ARCH__
	float out;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
	return out;
#else
	return exp2f(x);
#endif
}

/* ---- types that are stored in 8 bits and computed with in 16 ---- */

struct e4m3 {
	unsigned char bits;
};

struct int8 {
	signed char value;
};

__device__ inline float to_float(e4m3 value)
{
	return __half2float(__half(__nv_cvt_fp8_to_halfraw(value.bits, __NV_E4M3)));
}

__device__ inline float to_float(int8 value)
{
	return value.value;
}

__device__ inline float2 byte_pair(unsigned word, int pair, e4m3)
{
	__nv_fp8x2_storage_t bits = (__nv_fp8x2_storage_t)(word >> 16 * pair & 0xffff);

	return __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(bits, __NV_E4M3)));
}

/* The mantissa of 2²³ + (value + 128) holds the byte: an integer conversion, at the speed of an
 * addition. */
__device__ inline float byte_to_float(unsigned word, int byte)
{
	return __uint_as_float(0x4b000000u | (word >> 8 * byte & 0xff)) - (8388608.0f + 128.0f);
}

__device__ inline float2 byte_pair(unsigned word, int pair, int8)
{
	word ^= 0x80808080u;
	return make_float2(byte_to_float(word, 2 * pair), byte_to_float(word, 2 * pair + 1));
}

/* Four bytes as 16-bit elements, exactly: two words. */
template <class T, class Byte> __device__ inline uint2 widen(unsigned word)
{
	float2 low = byte_pair(word, 0, Byte()), high = byte_pair(word, 1, Byte());

	return make_uint2(pack_pair(low.x, low.y, T()), pack_pair(high.x, high.y, T()));
}

#endif
