/* What a product of the fake cuBLAS computes, where there is data; see product.h. */
#include "tests/fake_gpu/library/product.h"

#include <stdint.h>

#include "tests/fake_gpu/common/bf16.h"
#include "tests/fake_gpu/common/image.h"
#include "tests/fake_gpu/library/launch.h"

#define BF16 14 /* of cudaDataType */
#define TRANSPOSED 1

static void multiply(const struct kp_fake_product *of)
{
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

static void compute(const uint32_t grid[3], void **arguments)
{
	(void)grid;
	multiply(arguments[0]);
}

/* A node of its own, which computes when the graph is launched. */
static void capture(CUstream stream, const struct kp_fake_product *of)
{
	static const struct kp_fake_kernel kernel = {.name = "product",
						     .duration_ns = 20000,
						     .compute = compute,
						     .parameter_count = 1,
						     .parameter_bytes = {sizeof(*of)}};
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernel};
	struct kp_fake_product copy = *of;
	void *arguments[] = {&copy};
	CUfunction function;
	CUmodule module;

	if (kp_fake_load(&module, &image) == CUDA_SUCCESS &&
	    cuModuleGetFunction(&function, module, kernel.name) == CUDA_SUCCESS)
		cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

void kp_fake_product(CUstream stream, const struct kp_fake_product *of)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (!of->a || !of->b || !of->c || of->type != BF16 || of->ta != TRANSPOSED || of->tb ||
	    cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS)
		return;
	if (status == CU_STREAM_CAPTURE_STATUS_NONE)
		multiply(of);
	else
		capture(stream, of);
}
