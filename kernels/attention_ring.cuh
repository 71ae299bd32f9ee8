/*
 * Tiles of a cache on their way: a ring of slots in shared memory for each warp, which it fills
 * with asynchronous copies and reads as fragments of mma (matrix.cuh). No other warp takes part.
 *
 * A slot is 16 keys by a part of the head, in rows of CHUNKS times 16 bytes. Chunks of a row change
 * places by its number, so that the eight rows that ldmatrix reads at once lie in all banks.
 */
#ifndef KP_KERNELS_ATTENTION_RING_CUH
#define KP_KERNELS_ATTENTION_RING_CUH

#include "kernels/attention_range.cuh"
#include "kernels/ring.cuh"

#define ATTENTION_RING_BYTES 12288 /* of a warp: four have what a block gets without asking */

/* Four matrices of 8 rows of 16 bytes; lane 8 · m + r names row r of matrix m. As in A and B. */
template <bool TRANSPOSED> __device__ inline void load_matrices(const void *row, unsigned out[4])
{
#ifdef __CUDA_ARCH__
	unsigned at = (unsigned)__cvta_generic_to_shared(row);

	if (TRANSPOSED)
		asm volatile(
			"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
			: "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
			: "r"(at)
			: "memory");
	else
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
			     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
			     : "r"(at)
			     : "memory");
#else
	static const unsigned short *rows[WARPS_MOST][WARP];
	unsigned lane = threadIdx.x % WARP, line = lane / 4, pair = lane % 4 * 2;
	const unsigned short **all = rows[threadIdx.x / WARP];

	all[lane] = (const unsigned short *)row;
	__syncwarp();
	for (unsigned i = 0; i < 4; i++)
		out[i] = TRANSPOSED ? all[i * 8 + pair][line] |
					      (unsigned)all[i * 8 + pair + 1][line] << 16
				    : all[i * 8 + line][pair] |
					      (unsigned)all[i * 8 + line][pair + 1] << 16;
	__syncwarp();
#endif
}

/* Where a chunk of 16 bytes lies in a slot. */
template <int CHUNKS> __device__ inline unsigned tile_place(unsigned row, unsigned chunk)
{
	unsigned turn = CHUNKS % 8 == 0 ? row % 8 : CHUNKS % 4 == 0 ? row / 2 % 4 : row / 4 % 2;

	return (row * CHUNKS + (chunk ^ turn)) * 16;
}

/* Starts the copy of 16 rows, `stride` bytes apart, of which so many are there. */
template <int CHUNKS>
__device__ inline void tile_fill(char *slot, const char *from, long long stride, int rows)
{
	unsigned lane = threadIdx.x % WARP;

#pragma unroll
	for (int i = 0; i < ATTENTION_TILE * CHUNKS / WARP; i++) {
		unsigned row = (lane + i * WARP) / CHUNKS, chunk = (lane + i * WARP) % CHUNKS;
		bool is_there = (int)row < rows;

		ring_copy_past_l1(slot + tile_place<CHUNKS>(row, chunk),
				  is_there ? from + row * stride + chunk * 16 : from, is_there);
	}
}

/* Chunks 2 · step and the next of keys, as A: rows are keys. */
template <int CHUNKS> __device__ inline void tile_keys(const char *slot, int step, unsigned out[4])
{
	unsigned lane = threadIdx.x % WARP;

	load_matrices<false>(slot + tile_place<CHUNKS>(lane % 16, step * 2 + lane / 16), out);
}

/* The same of values, as A: rows are elements of the head. */
template <int CHUNKS>
__device__ inline void tile_values(const char *slot, int step, unsigned out[4])
{
	unsigned lane = threadIdx.x % WARP;

	load_matrices<true>(
		slot + tile_place<CHUNKS>(lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2), out);
}

#endif
