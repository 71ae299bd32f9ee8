/* What a product of the fake cuBLAS computes, where there is data; see product.h. */
#include "tests/fake_gpu/library/product.h"

#include <stdint.h>

#include "tests/fake_gpu/common/bf16.h"

#define BF16 14 /* of cudaDataType */
#define TRANSPOSED 1

void kp_fake_product(CUstream stream, const struct kp_fake_product *of)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (!of->a || !of->b || !of->c || of->type != BF16 || of->ta != TRANSPOSED || of->tb ||
	    cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
	    status != CU_STREAM_CAPTURE_STATUS_NONE)
		return;
	for (int j = 0; j < of->n; j++)
		for (int i = 0; i < of->m; i++) {
			float sum = of->beta == 0
					    ? 0
					    : of->beta * bf16_load(of->c, j * (int64_t)of->ldc + i);

			for (int l = 0; l < of->k; l++)
				sum += of->alpha * bf16_load(of->a, i * (int64_t)of->lda + l) *
				       bf16_load(of->b, j * (int64_t)of->ldb + l);
			bf16_store(of->c, j * (int64_t)of->ldc + i, sum);
		}
}
