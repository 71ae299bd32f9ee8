/* What prog_gemm calls of the fake libcublas; the real header's prototypes with plain types. */
#ifndef KP_FAKE_GPU_LIBRARY_CUBLAS_H
#define KP_FAKE_GPU_LIBRARY_CUBLAS_H

#include <stdint.h>

#include <cuda.h>

/* X(function, parameters): all that is called. */
#define KP_FAKE_CUBLAS(X)                                                                          \
	X(cublasCreate_v2, (void **))                                                              \
	X(cublasSetStream_v2, (void *, CUstream))                                                  \
	X(cublasGetStream_v2, (void *, CUstream *))                                                \
	X(cublasGetPointerMode_v2, (void *, int *))                                                \
	X(cublasSgemm_v2, (void *, int, int, int, int, int, const float *, const float *, int,     \
			   const float *, int, const float *, float *, int))                       \
	X(cublasSgemm_v2_64,                                                                       \
	  (void *, int, int, int64_t, int64_t, int64_t, const float *, const float *, int64_t,     \
	   const float *, int64_t, const float *, float *, int64_t))                               \
	X(cublasGemmEx, (void *, int, int, int, int, int, const void *, const void *, int, int,    \
			 const void *, int, int, const void *, void *, int, int, int, int))        \
	X(cublasGemmStridedBatchedEx,                                                              \
	  (void *, int, int, int, int, int, const void *, const void *, int, int, long long,       \
	   const void *, int, int, long long, const void *, void *, int, int, long long, int, int, \
	   int))                                                                                   \
	X(cublasSgemmGroupedBatched,                                                               \
	  (void *, const int *, const int *, const int *, const int *, const int *, const float *, \
	   const float *const *, const int *, const float *const *, const int *, const float *,    \
	   float *const *, const int *, int, const int *))                                         \
	X(cublasSgemv_v2, (void *, int, int, int, const float *, const float *, int,               \
			   const float *, int, const float *, float *, int))                       \
	X(cublasSsyrk_v2, (void *, int, int, int, int, const float *, const float *, int,          \
			   const float *, float *, int))

#define KP_FAKE_CUBLAS_DECLARE(name, parameters) int name parameters;
KP_FAKE_CUBLAS(KP_FAKE_CUBLAS_DECLARE)
#undef KP_FAKE_CUBLAS_DECLARE

#endif
