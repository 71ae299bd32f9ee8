/*
 * Row-major matrix products in bf16 with float sums: cuBLAS, or one plain kernel in its place.
 * A matmul_engine belongs to one stream; results repeat from run to run.
 */
#ifndef LLM_DECODE_MATMUL_H
#define LLM_DECODE_MATMUL_H

#include "kernels.h"

#include <cublas_v2.h>

struct matmul_engine {
	cublasHandle_t cublas; /* NULL: the plain kernel */
	void *workspace;       /* of cublas; the engine's own, so that streams do not share one */
};

/* `count` products c[m][n] = a[m][k] * b, b being [n][k] if b_transposed, else [k][n]. */
struct matmul {
	int m, n, k;
	int count;
	bool b_transposed;
	const bf16 *a, *b;
	bf16 *c;
	int64_t a_stride, b_stride, c_stride; /* elements from one product to the next */
};

void matmul_engine_init(struct matmul_engine *engine, struct launcher *launcher, bool use_cublas);
void matmul_engine_fini(struct matmul_engine *engine);

/* One library call (cublasGemmEx, or the strided batched one if count > 1) or one own launch. */
void matmul_run(const struct matmul_engine *engine, struct launcher *launcher,
		const struct matmul *product);

#endif
