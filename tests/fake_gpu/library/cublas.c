/*
 * A libcublas.so.13. cublasGemmEx and cublasSsyrk_v2 go on to cublasLtMatmul, by the library's own
 * slot, as the real one may.
 */
#include "tests/fake_gpu/library/cublas.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/fake_gpu/library/launch.h"
#include "tests/fake_gpu/library/lt.h"
#include "tests/fake_gpu/library/product.h"

#pragma GCC visibility push(default)

struct handle {
	CUstream stream;
};

int cublasCreate_v2(void **out)
{
	*out = calloc(1, sizeof(struct handle));
	return *out ? FAKE_SUCCESS : FAKE_EXECUTION_FAILED;
}

int cublasSetStream_v2(void *handle, CUstream stream)
{
	((struct handle *)handle)->stream = stream;
	return FAKE_SUCCESS;
}

int cublasGetStream_v2(void *handle, CUstream *stream)
{
	*stream = ((struct handle *)handle)->stream;
	return FAKE_SUCCESS;
}

/* Scalars are in the host's memory, as they are unless a program says otherwise. */
int cublasGetPointerMode_v2(void *handle, int *mode)
{
	(void)handle;
	*mode = 0;
	return FAKE_SUCCESS;
}

static CUstream stream_of(void *handle)
{
	return ((struct handle *)handle)->stream;
}

int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
		   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
		   int ldc)
{
	(void)ta, (void)tb, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb, (void)beta;
	(void)c, (void)ldc;
	return kp_fake_gemm(stream_of(handle), m, n, k, 1);
}

int cublasSgemm_v2_64(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k,
		      const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
		      const float *beta, float *c, int64_t ldc)
{
	return cublasSgemm_v2(handle, ta, tb, (int)m, (int)n, (int)k, alpha, a, (int)lda, b,
			      (int)ldb, beta, c, (int)ldc);
}

/* By cublasLtMatmul. */
static int multiply(void *handle, int ta, int m, int n, int k, int type)
{
	struct layout *a, *d;
	struct matmul *matmul;
	int result;

	if (m <= 0 || n <= 0 || k <= 0)
		return FAKE_INVALID_VALUE;
	cublasLtMatrixLayoutCreate(&a, type, (uint64_t)(ta ? k : m), (uint64_t)(ta ? m : k), m);
	cublasLtMatrixLayoutCreate(&d, type, (uint64_t)m, (uint64_t)n, m);
	cublasLtMatmulDescCreate(&matmul, 68, 0);
	cublasLtMatmulDescSetAttribute(matmul, 3, &ta, sizeof(ta));
	result = cublasLtMatmul(NULL, matmul, NULL, NULL, a, NULL, a, NULL, NULL, d, NULL, d, NULL,
				NULL, 0, stream_of(handle));
	cublasLtMatmulDescDestroy(matmul);
	cublasLtMatrixLayoutDestroy(a);
	cublasLtMatrixLayoutDestroy(d);
	return result;
}

int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
		 const void *a, int at, int lda, const void *b, int bt, int ldb, const void *beta,
		 void *c, int ct, int ldc, int compute, int algorithm)
{
	const struct kp_fake_product product = {ta,
						tb,
						m,
						n,
						k,
						at,
						lda,
						ldb,
						ldc,
						a,
						b,
						c,
						alpha ? *(const float *)alpha : 1,
						beta ? *(const float *)beta : 0};

	(void)bt, (void)ct, (void)compute, (void)algorithm;
	kp_fake_product(stream_of(handle), &product);
	return multiply(handle, ta, m, n, k, at);
}

int cublasGemmStridedBatchedEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
			       const void *a, int at, int lda, long long sa, const void *b, int bt,
			       int ldb, long long sb, const void *beta, void *c, int ct, int ldc,
			       long long sc, int batch, int compute, int algorithm)
{
	(void)ta, (void)tb, (void)alpha, (void)a, (void)at, (void)lda, (void)sa, (void)b, (void)bt;
	(void)ldb, (void)sb, (void)beta, (void)c, (void)ct, (void)ldc, (void)sc, (void)compute;
	(void)algorithm;
	return kp_fake_gemm(stream_of(handle), m, n, k, batch);
}

int cublasSgemmGroupedBatched(void *handle, const int *ta, const int *tb, const int *m,
			      const int *n, const int *k, const float *alpha, const float *const *a,
			      const int *lda, const float *const *b, const int *ldb,
			      const float *beta, float *const *c, const int *ldc, int groups,
			      const int *sizes)
{
	(void)ta, (void)tb, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda, (void)b;
	(void)ldb, (void)beta, (void)c, (void)ldc, (void)sizes;
	return groups > 0 ? kp_fake_kernel(stream_of(handle), "grouped") : FAKE_INVALID_VALUE;
}

int cublasSgemv_v2(void *handle, int ta, int m, int n, const float *alpha, const float *a, int lda,
		   const float *x, int incx, const float *beta, float *y, int incy)
{
	char name[64];

	(void)ta, (void)alpha, (void)a, (void)lda, (void)x, (void)incx, (void)beta, (void)y;
	(void)incy;
	snprintf(name, sizeof(name), "gemv_m%d_n%d_k0_b1_p0", m, n);
	return kp_fake_kernel(stream_of(handle), name);
}

int cublasSsyrk_v2(void *handle, int fill, int transpose, int n, int k, const float *alpha,
		   const float *a, int lda, const float *beta, float *c, int ldc)
{
	(void)fill, (void)transpose, (void)alpha, (void)a, (void)lda, (void)beta, (void)c;
	(void)ldc;
	return multiply(handle, 0, n, n, k, 0);
}
