/*
 * Skinny products: ROWS rows by weights of [DEPTH][WIDTH], LAYERS of them, in bf16 with float sums.
 * Such a product reads every weight once, so memory is its limit; the kernel for large products,
 * tile by tile, has too few bytes in flight, and 12 rows of its tiles are empty.
 *
 * The remedy is a kernel like a GEMV, and weights laid out as it reads them: [WIDTH][DEPTH].
 *
 *   y[ROWS][WIDTH] = x[ROWS][DEPTH] * w; 2 * DEPTH * WIDTH bytes of weights, 2 * ROWS as many FLOPs
 *   tolerance: 1e-3 of the sum of magnitudes, against float64 on the host for some columns
 */
#include "timing.h"

#include <cuda_bf16.h>
#include <math.h>

typedef __nv_bfloat16 bf16;

enum {
	ROWS = 4,
	DEPTH = 8192,
	WIDTH = 8192,
	LAYERS = 4, /* more weights than a cache holds */
	TILE = 16,
	WARP = 32,
	COLUMNS = 2,     /* of a warp */
	VECTOR = 8,      /* elements of a load */
	BLOCK_WARPS = 8, /* of the kernel like a GEMV */
	CHECKED = 64,    /* columns */
};

struct work {
	bool transposed;
	bf16 *x, *weights; /* [LAYERS] of w */
	float *y;          /* [LAYERS][ROWS][WIDTH] */
};

/* Multiples of 1/256 between -1/2 and 1/2, which bf16 holds exactly. */
static __host__ __device__ float value_of(uint32_t seed)
{
	return (float)(int)(timing_hash(seed) & 255) / 256 - 0.5f;
}

static __host__ __device__ float weight_of(int layer, int depth, int column)
{
	return value_of((uint32_t)layer * 0x9e3779b9u + (uint32_t)depth * WIDTH + column);
}

static __host__ __device__ float input_of(int row, int depth)
{
	return value_of(0x51ed270bu + (uint32_t)row * DEPTH + depth);
}

/* One element a thread. */
static __global__ void fill_inputs(bf16 *x)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	x[i] = __float2bfloat16(input_of(i / DEPTH, i % DEPTH));
}

static __global__ void fill_weights(bf16 *weights, bool transposed)
{
	int fast = blockIdx.x * blockDim.x + threadIdx.x, slow = blockIdx.y, layer = blockIdx.z;
	float weight = transposed ? weight_of(layer, fast, slow) : weight_of(layer, slow, fast);

	weights[((size_t)layer * DEPTH + slow) * WIDTH + fast] = __float2bfloat16(weight);
}

/* grid WIDTH / TILE, TILE x TILE threads, one element of a tile of y a thread; w[DEPTH][WIDTH]. */
static __global__ void gemm_16x16(const bf16 *x, const bf16 *w, float *y)
{
	__shared__ float x_tile[TILE][TILE + 1]; /* [row][depth] */
	__shared__ float w_tile[TILE][TILE + 1]; /* [depth][column] */
	int column = threadIdx.x, row = threadIdx.y;
	size_t first = (size_t)blockIdx.x * TILE;
	float sum = 0;

	for (int k = 0; k < DEPTH; k += TILE) {
		x_tile[row][column] =
			row < ROWS ? __bfloat162float(x[(size_t)row * DEPTH + k + column]) : 0;
		w_tile[row][column] =
			__bfloat162float(w[(size_t)(k + row) * WIDTH + first + column]);
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += x_tile[row][i] * w_tile[i][column];
		__syncthreads();
	}
	if (row < ROWS)
		y[(size_t)row * WIDTH + first + column] = sum;
}

static __device__ void load(const bf16 *from, float out[VECTOR])
{
	const uint4 bits = *(const uint4 *)from;
	const __nv_bfloat162 *pairs = (const __nv_bfloat162 *)&bits;

	for (int i = 0; i < VECTOR / 2; i++) {
		out[2 * i] = __low2float(pairs[i]);
		out[2 * i + 1] = __high2float(pairs[i]);
	}
}

/* All rows and a warp's columns, over the parts of the depth that are this lane's. */
static __device__ void add_products(const bf16 *x, const bf16 *w, float sums[COLUMNS][ROWS])
{
#pragma unroll 4
	for (int k = threadIdx.x % WARP * VECTOR; k < DEPTH; k += WARP * VECTOR) {
		float weights[COLUMNS][VECTOR], inputs[VECTOR];

		for (int c = 0; c < COLUMNS; c++)
			load(w + (size_t)c * DEPTH + k, weights[c]);
		for (int r = 0; r < ROWS; r++) {
			load(x + (size_t)r * DEPTH + k, inputs);
			for (int c = 0; c < COLUMNS; c++)
				for (int i = 0; i < VECTOR; i++)
					sums[c][r] += inputs[i] * weights[c][i];
		}
	}
}

/* grid WIDTH / (BLOCK_WARPS * COLUMNS), a warp COLUMNS columns of y; w[WIDTH][DEPTH]. */
static __global__ void gemv_rows(const bf16 *x, const bf16 *w, float *y)
{
	int first = (blockIdx.x * BLOCK_WARPS + threadIdx.x / WARP) * COLUMNS;
	float sums[COLUMNS][ROWS] = {};

	add_products(x, w + (size_t)first * DEPTH, sums);
	for (int c = 0; c < COLUMNS; c++) {
		for (int r = 0; r < ROWS; r++) {
			float sum = sums[c][r];

			for (int lane = WARP / 2; lane; lane /= 2)
				sum += __shfl_down_sync(~0u, sum, lane);
			if (threadIdx.x % WARP == 0)
				y[(size_t)r * WIDTH + first + c] = sum;
		}
	}
}

static void iterate(void *context)
{
	const struct work *work = (const struct work *)context;

	for (int layer = 0; layer < LAYERS; layer++) {
		const bf16 *w = work->weights + (size_t)layer * DEPTH * WIDTH;
		float *y = work->y + (size_t)layer * ROWS * WIDTH;

		if (work->transposed)
			gemv_rows<<<WIDTH / (BLOCK_WARPS * COLUMNS), BLOCK_WARPS * WARP>>>(work->x,
											   w, y);
		else
			gemm_16x16<<<WIDTH / TILE, dim3(TILE, TILE)>>>(work->x, w, y);
		CUDA_CHECK(cudaGetLastError());
	}
}

static bool column_is_right(const float *y, int layer, int column)
{
	bool right = true;

	for (int row = 0; row < ROWS; row++) {
		double sum = 0, magnitude = 0;

		for (int k = 0; k < DEPTH; k++) {
			double product = (double)input_of(row, k) * weight_of(layer, k, column);

			sum += product;
			magnitude += fabs(product);
		}
		right &= fabs(y[((size_t)layer * ROWS + row) * WIDTH + column] - sum) <=
			 1e-3 * magnitude;
	}
	return right;
}

static bool is_right(const struct work *work)
{
	static float y[LAYERS * ROWS * WIDTH];
	bool right = true;

	CUDA_CHECK(cudaMemcpy(y, work->y, sizeof(y), cudaMemcpyDeviceToHost));
	for (int layer = 0; layer < LAYERS; layer++)
		for (int i = 0; i < CHECKED; i++)
			right &= column_is_right(y, layer, (int)(timing_hash(i) % WIDTH));
	return right;
}

int main(int argc, char **argv)
{
	struct timing timing;
	struct work work = {};

	timing_parse(&timing, argc, argv, "skinny_gemm",
		     "Products of a few rows by a kernel for many.",
		     "a kernel like a GEMV, and weights laid out for it");
	work.transposed = timing.remedy;
	work.x = timing_allocate<bf16>(ROWS * DEPTH);
	work.weights = timing_allocate<bf16>((size_t)LAYERS * DEPTH * WIDTH);
	work.y = timing_allocate<float>(LAYERS * ROWS * WIDTH);
	fill_inputs<<<ROWS * DEPTH / 256, 256>>>(work.x);
	CUDA_CHECK(cudaGetLastError());
	fill_weights<<<dim3(WIDTH / 256, DEPTH, LAYERS), 256>>>(work.weights, work.transposed);
	CUDA_CHECK(cudaGetLastError());
	timing_run(&timing, iterate, &work);
	return timing_verdict(is_right(&work));
}
