/* C = alpha Aᵀ B + beta C of bf16 in device memory, which is host memory here. In a capture a
 * kernel of its own computes it, when the graph is launched. */
#ifndef KP_FAKE_GPU_LIBRARY_PRODUCT_H
#define KP_FAKE_GPU_LIBRARY_PRODUCT_H

#include <cuda.h>

struct kp_fake_product {
	int ta, tb, m, n, k, type, lda, ldb, ldc;
	const void *a, *b;
	void *c;
	float alpha, beta;
};

/* Other forms, and products without data, compute nothing. */
void kp_fake_product(CUstream stream, const struct kp_fake_product *of);

#endif
