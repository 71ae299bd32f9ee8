/*
 * A libcublasLt.so.13: cublasLtMatmul and its descriptors, as cublasLt.h has them. Attributes that
 * were not set have the defaults of the real library.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake_gpu/library/launch.h"

#define EXPORT __attribute__((visibility("default")))

enum { TYPE, ORDER, ROWS, COLUMNS, LD, BATCH, STRIDE, LAYOUT_COUNT };
enum {
	COMPUTE_TYPE,
	SCALE_TYPE,
	POINTER_MODE,
	TRANSPOSE_A,
	TRANSPOSE_B,
	EPILOGUE = 7,
	MATMUL_COUNT
};

struct layout {
	uint64_t values[LAYOUT_COUNT];
};

struct matmul {
	uint64_t values[MATMUL_COUNT];
};

EXPORT int cublasLtMatrixLayoutCreate(struct layout **out, int type, uint64_t rows,
				      uint64_t columns, int64_t ld);
EXPORT int cublasLtMatrixLayoutDestroy(struct layout *layout);
EXPORT int cublasLtMatrixLayoutSetAttribute(struct layout *layout, int attribute, const void *value,
					    size_t bytes);
EXPORT int cublasLtMatrixLayoutGetAttribute(const struct layout *layout, int attribute, void *value,
					    size_t bytes, size_t *written);
EXPORT int cublasLtMatmulDescCreate(struct matmul **out, int compute_type, int scale_type);
EXPORT int cublasLtMatmulDescDestroy(struct matmul *matmul);
EXPORT int cublasLtMatmulDescSetAttribute(struct matmul *matmul, int attribute, const void *value,
					  size_t bytes);
EXPORT int cublasLtMatmulDescGetAttribute(const struct matmul *matmul, int attribute, void *value,
					  size_t bytes, size_t *written);
EXPORT int cublasLtMatmul(void *handle, const struct matmul *matmul, const void *alpha,
			  const void *a, const struct layout *a_layout, const void *b,
			  const struct layout *b_layout, const void *beta, const void *c,
			  const struct layout *c_layout, void *d, const struct layout *d_layout,
			  const void *algorithm, void *workspace, size_t workspace_bytes,
			  CUstream stream);

static int set(uint64_t *values, int count, int attribute, const void *value, size_t bytes)
{
	if (attribute < 0 || attribute >= count || !value || bytes > sizeof(*values))
		return FAKE_INVALID_VALUE;
	values[attribute] = 0;
	memcpy(&values[attribute], value, bytes);
	return FAKE_SUCCESS;
}

static int get(const uint64_t *values, int count, int wide_from, int attribute, void *value,
	       size_t bytes, size_t *written)
{
	size_t needed = attribute >= wide_from && attribute != BATCH ? 8 : 4;

	if (attribute < 0 || attribute >= count || !value || bytes < needed)
		return FAKE_INVALID_VALUE;
	memcpy(value, &values[attribute], needed);
	if (written)
		*written = needed;
	return FAKE_SUCCESS;
}

int cublasLtMatrixLayoutCreate(struct layout **out, int type, uint64_t rows, uint64_t columns,
			       int64_t ld)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return FAKE_EXECUTION_FAILED;
	(*out)->values[TYPE] = (uint64_t)type;
	(*out)->values[ROWS] = rows;
	(*out)->values[COLUMNS] = columns;
	(*out)->values[LD] = (uint64_t)ld;
	(*out)->values[BATCH] = 1;
	return FAKE_SUCCESS;
}

int cublasLtMatrixLayoutDestroy(struct layout *layout)
{
	free(layout);
	return FAKE_SUCCESS;
}

int cublasLtMatrixLayoutSetAttribute(struct layout *layout, int attribute, const void *value,
				     size_t bytes)
{
	return set(layout->values, LAYOUT_COUNT, attribute, value, bytes);
}

int cublasLtMatrixLayoutGetAttribute(const struct layout *layout, int attribute, void *value,
				     size_t bytes, size_t *written)
{
	return get(layout->values, LAYOUT_COUNT, ROWS, attribute, value, bytes, written);
}

int cublasLtMatmulDescCreate(struct matmul **out, int compute_type, int scale_type)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return FAKE_EXECUTION_FAILED;
	(*out)->values[COMPUTE_TYPE] = (uint64_t)compute_type;
	(*out)->values[SCALE_TYPE] = (uint64_t)scale_type;
	(*out)->values[EPILOGUE] = 1;
	return FAKE_SUCCESS;
}

int cublasLtMatmulDescDestroy(struct matmul *matmul)
{
	free(matmul);
	return FAKE_SUCCESS;
}

int cublasLtMatmulDescSetAttribute(struct matmul *matmul, int attribute, const void *value,
				   size_t bytes)
{
	return set(matmul->values, MATMUL_COUNT, attribute, value, bytes);
}

int cublasLtMatmulDescGetAttribute(const struct matmul *matmul, int attribute, void *value,
				   size_t bytes, size_t *written)
{
	return get(matmul->values, MATMUL_COUNT, MATMUL_COUNT, attribute, value, bytes, written);
}

int cublasLtMatmul(void *handle, const struct matmul *matmul, const void *alpha, const void *a,
		   const struct layout *a_layout, const void *b, const struct layout *b_layout,
		   const void *beta, const void *c, const struct layout *c_layout, void *d,
		   const struct layout *d_layout, const void *algorithm, void *workspace,
		   size_t workspace_bytes, CUstream stream)
{
	(void)handle, (void)alpha, (void)a, (void)b, (void)b_layout, (void)beta, (void)c;
	(void)c_layout, (void)d, (void)algorithm, (void)workspace, (void)workspace_bytes;
	if (!matmul || !a_layout || !d_layout)
		return FAKE_INVALID_VALUE;
	return kp_fake_gemm(stream, (int64_t)d_layout->values[ROWS],
			    (int64_t)d_layout->values[COLUMNS],
			    (int64_t)a_layout->values[matmul->values[TRANSPOSE_A] ? ROWS : COLUMNS],
			    (int64_t)d_layout->values[BATCH]);
}
