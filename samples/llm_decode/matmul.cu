/*
 * Row-major matrix products in bf16 with float sums: cuBLAS, or one plain kernel in its place.
 * cuBLAS is column-major: it is asked for the transposed product, with a and b changed over.
 */
#include "matmul.h"

#define CUBLAS_CHECK(call) cublas_check((call), #call, __FILE__, __LINE__)

enum {
	TILE = 16,
	WORKSPACE_BYTES = 32 << 20, /* what cuBLAS advises for Hopper */
};

static void cublas_check(cublasStatus_t status, const char *call, const char *file, int line)
{
	if (status != CUBLAS_STATUS_SUCCESS)
		check_fail(cublasGetStatusString(status), call, file, line);
}

/* The handle's stream is set before its workspace: setting a stream resets the workspace. */
void matmul_engine_init(struct matmul_engine *engine, struct launcher *launcher, bool use_cublas)
{
	engine->cublas = NULL;
	engine->workspace = NULL;
	if (!use_cublas)
		return;
	CUDA_CHECK(cudaMalloc(&engine->workspace, WORKSPACE_BYTES));
	CUBLAS_CHECK(cublasCreate(&engine->cublas));
	CUBLAS_CHECK(cublasSetStream(engine->cublas, launcher->stream));
	CUBLAS_CHECK(cublasSetWorkspace(engine->cublas, engine->workspace, WORKSPACE_BYTES));
}

void matmul_engine_fini(struct matmul_engine *engine)
{
	if (!engine->cublas)
		return;
	CUBLAS_CHECK(cublasDestroy(engine->cublas));
	CUDA_CHECK(cudaFree(engine->workspace));
}

/*
 * grid (columns / TILE, rows / TILE, products), TILE x TILE threads, one element of c a thread.
 * Each tile of a and of b is read once a block: about 2 * m * n * k * (2 / TILE) bytes in all.
 */
static __global__ void matmul_kernel(struct matmul p)
{
	__shared__ float a_tile[TILE][TILE + 1]; /* [row][k] */
	__shared__ float b_tile[TILE][TILE + 1]; /* [column][k] */
	const bf16 *a = p.a + blockIdx.z * p.a_stride;
	const bf16 *b = p.b + blockIdx.z * p.b_stride;
	int x = threadIdx.x, y = threadIdx.y;
	int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
	int b_column = blockIdx.x * TILE + (p.b_transposed ? y : x);
	float sum = 0;

	for (int k = 0; k < p.k; k += TILE) {
		int b_k = k + (p.b_transposed ? x : y);
		size_t b_at = p.b_transposed ? (size_t)b_column * p.k + b_k
					     : (size_t)b_k * p.n + b_column;
		bool a_inside = row < p.m && k + x < p.k;
		bool b_inside = b_column < p.n && b_k < p.k;
		float b_value = b_inside ? __bfloat162float(b[b_at]) : 0;

		a_tile[y][x] = a_inside ? __bfloat162float(a[(size_t)row * p.k + k + x]) : 0;
		if (p.b_transposed)
			b_tile[y][x] = b_value;
		else
			b_tile[x][y] = b_value;
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += a_tile[y][i] * b_tile[x][i];
		__syncthreads();
	}
	if (row < p.m && column < p.n)
		p.c[blockIdx.z * p.c_stride + (size_t)row * p.n + column] = __float2bfloat16(sum);
}

static void run_own(struct launcher *launcher, const struct matmul *p)
{
	dim3 grid((p->n + TILE - 1) / TILE, (p->m + TILE - 1) / TILE, p->count);
	dim3 block(TILE, TILE);

	LAUNCH(launcher, matmul_kernel, grid, block, *p);
}

static void run_cublas(cublasHandle_t cublas, struct launcher *launcher, const struct matmul *p)
{
	const float one = 1, zero = 0;
	cublasOperation_t b_op = p->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
	int b_rows = p->b_transposed ? p->k : p->n;

	if (p->count == 1)
		CUBLAS_CHECK(cublasGemmEx(cublas, b_op, CUBLAS_OP_N, p->n, p->m, p->k, &one, p->b,
					  CUDA_R_16BF, b_rows, p->a, CUDA_R_16BF, p->k, &zero, p->c,
					  CUDA_R_16BF, p->n, CUBLAS_COMPUTE_32F,
					  CUBLAS_GEMM_DEFAULT));
	else
		CUBLAS_CHECK(cublasGemmStridedBatchedEx(
			cublas, b_op, CUBLAS_OP_N, p->n, p->m, p->k, &one, p->b, CUDA_R_16BF,
			b_rows, p->b_stride, p->a, CUDA_R_16BF, p->k, p->a_stride, &zero, p->c,
			CUDA_R_16BF, p->n, p->c_stride, p->count, CUBLAS_COMPUTE_32F,
			CUBLAS_GEMM_DEFAULT));
	launcher->tally.library_calls++;
}

void matmul_run(const struct matmul_engine *engine, struct launcher *launcher,
		const struct matmul *product)
{
	if (engine->cublas)
		run_cublas(engine->cublas, launcher, product);
	else
		run_own(launcher, product);
}
