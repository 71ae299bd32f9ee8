/* What prog_gemm and the fake cuBLAS call of the fake libcublasLt; see lt.c. */
#ifndef KP_FAKE_GPU_LIBRARY_LT_H
#define KP_FAKE_GPU_LIBRARY_LT_H

#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

struct layout;
struct matmul;

int cublasLtMatrixLayoutCreate(struct layout **out, int type, uint64_t rows, uint64_t columns,
			       int64_t ld);
int cublasLtMatrixLayoutDestroy(struct layout *layout);
int cublasLtMatrixLayoutSetAttribute(struct layout *layout, int attribute, const void *value,
				     size_t bytes);
int cublasLtMatmulDescCreate(struct matmul **out, int compute_type, int scale_type);
int cublasLtMatmulDescDestroy(struct matmul *matmul);
int cublasLtMatmulDescSetAttribute(struct matmul *matmul, int attribute, const void *value,
				   size_t bytes);
int cublasLtMatmul(void *handle, const struct matmul *matmul, const void *alpha, const void *a,
		   const struct layout *a_layout, const void *b, const struct layout *b_layout,
		   const void *beta, const void *c, const struct layout *c_layout, void *d,
		   const struct layout *d_layout, const void *algorithm, void *workspace,
		   size_t workspace_bytes, CUstream stream);

#endif
