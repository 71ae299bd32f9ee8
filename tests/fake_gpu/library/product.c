/* What a product of the fake cuBLAS computes, where there is data; see product.h. */
#include "tests/fake_gpu/library/product.h"

#include <stdint.h>
#include <string.h>

#define BF16 14 /* of cudaDataType */
#define TRANSPOSED 1

static float load(const void *at, int64_t i)
{
	uint32_t bits = (uint32_t)((const uint16_t *)at)[i] << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void store(void *at, int64_t i, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	((uint16_t *)at)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

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
					    : of->beta * load(of->c, j * (int64_t)of->ldc + i);

			for (int l = 0; l < of->k; l++)
				sum += of->alpha * load(of->a, i * (int64_t)of->lda + l) *
				       load(of->b, j * (int64_t)of->ldb + l);
			store(of->c, j * (int64_t)of->ldc + i, sum);
		}
}
