/*
 * Tensor cores unused: matrix products in fp32 by cuBLAS, as it does them unless told otherwise.
 *
 * The remedy is one switch of the library: tf32 on tensor cores.
 *
 * c[SIZE][SIZE] = a * b, all column-major; 2 * SIZE^3 FLOPs, 12 * SIZE^2 bytes. Elements are whole
 * numbers between -8 and 7, which tf32 holds, and so are the sums in fp32: exact.
 */
#include "timing.h"

#include <cublas_v2.h>

enum { SIZE = 4096, CHECKED = 256 };

#define CUBLAS_CHECK(call) cublas_check((call), #call, __FILE__, __LINE__)

struct work {
	cublasHandle_t cublas;
	float *a, *b, *c;
};

static void cublas_check(cublasStatus_t status, const char *call, const char *file, int line)
{
	if (status != CUBLAS_STATUS_SUCCESS)
		check_fail(cublasGetStatusString(status), call, file, line);
}

static __host__ __device__ int value_of(uint32_t seed, size_t i)
{
	return (int)(timing_hash(seed + (uint32_t)i) & 15) - 8;
}

/* One element a thread. */
static __global__ void fill_matrix(float *matrix, uint32_t seed)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	matrix[i] = (float)value_of(seed, i);
}

static float *make_matrix(uint32_t seed)
{
	float *matrix = timing_allocate<float>((size_t)SIZE * SIZE);

	fill_matrix<<<SIZE *(SIZE / 256), 256>>>(matrix, seed);
	CUDA_CHECK(cudaGetLastError());
	return matrix;
}

static void iterate(void *context)
{
	const struct work *work = (const struct work *)context;
	const float one = 1, zero = 0;

	CUBLAS_CHECK(cublasSgemm(work->cublas, CUBLAS_OP_N, CUBLAS_OP_N, SIZE, SIZE, SIZE, &one,
				 work->a, SIZE, work->b, SIZE, &zero, work->c, SIZE));
}

static bool element_is_right(const struct work *work, size_t row, size_t column)
{
	int64_t sum = 0;
	float c;

	for (size_t k = 0; k < SIZE; k++)
		sum += value_of(1, k * SIZE + row) * value_of(2, column * SIZE + k);
	CUDA_CHECK(
		cudaMemcpy(&c, work->c + column * SIZE + row, sizeof(c), cudaMemcpyDeviceToHost));
	return c == (float)sum;
}

int main(int argc, char **argv)
{
	struct timing timing;
	struct work work = {};
	bool right = true;

	timing_parse(&timing, argc, argv, "tensor_cores_unused", "Matrix products in fp32.",
		     "allow cuBLAS tf32 on tensor cores");
	CUBLAS_CHECK(cublasCreate(&work.cublas));
	CUBLAS_CHECK(cublasSetMathMode(work.cublas, timing.remedy ? CUBLAS_TF32_TENSOR_OP_MATH
								  : CUBLAS_DEFAULT_MATH));
	work.a = make_matrix(1);
	work.b = make_matrix(2);
	work.c = make_matrix(3);
	timing_run(&timing, iterate, &work);
	for (uint32_t i = 0; i < CHECKED; i++)
		right &= element_is_right(&work, timing_hash(i) % SIZE, timing_hash(~i) % SIZE);
	CUBLAS_CHECK(cublasDestroy(work.cublas));
	return timing_verdict(right);
}
