/* The work of calls, modelled; see call_work.h. */
#include "analyzers/call_work.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Bits of cublasLtEpilogue_t. */
#define EPILOGUE_RELU (2U | 8U) /* RELU, DRELU: the auxiliary matrix is a mask */
#define EPILOGUE_VECTOR                                                                            \
	(4U | 16U | 256U | 512U) /* BIAS is read; BGRAD, BGRADA, BGRADB are written */
#define EPILOGUE_AUXILIARY 128U

/* Of a stride code: one matrix for all of a batch. */
#define SAME_MATRIX 1

static double matrices(double batch, uint64_t stride)
{
	return stride == SAME_MATRIX ? 1 : batch;
}

/* The complex ones among cudaDataType, CUDA_C_32F = 4 to CUDA_C_64U = 27: part of CUDA's ABI. */
static bool is_complex(uint64_t code)
{
	const uint32_t complex_types = 0x0AAAAAF0;

	return code >= 1 && code <= 32 && (complex_types >> (code - 1) & 1U);
}

/* NaN: not known. */
static double bits_of(uint64_t code)
{
	const struct kp_data_type *type = kp_data_type(code);

	return type && type->bits ? type->bits : NAN;
}

static double epilogue_bits(const struct kp_library_call *call, double result_bits)
{
	double m = (double)call->m, n = (double)call->n, bits = 0;

	if (call->epilogue & EPILOGUE_VECTOR)
		bits += m * result_bits;
	if (call->epilogue & EPILOGUE_AUXILIARY)
		bits += m * n * (call->epilogue & EPILOGUE_RELU ? 1 : result_bits);
	return bits;
}

static double gemm_bits(const struct kp_library_call *call)
{
	double m = (double)call->m, n = (double)call->n, k = (double)call->k;
	double batch = (double)call->batch;
	double result_bits = bits_of(call->d_type ? call->d_type : call->c_type);

	return m * k * bits_of(call->a_type) * matrices(batch, call->stride_a) +
	       k * n * bits_of(call->b_type) * matrices(batch, call->stride_b) +
	       (m * n * result_bits + epilogue_bits(call, result_bits)) * batch;
}

/* A is m × n as it is stored: transposed, x has m numbers and y has n. */
static double gemv_bits(const struct kp_library_call *call)
{
	double m = (double)call->m, n = (double)call->n, batch = (double)call->batch;
	bool transposed = call->transpose_a > KP_TRANSPOSE_NONE;
	double result_bits = bits_of(call->d_type ? call->d_type : call->c_type);

	return m * n * bits_of(call->a_type) * matrices(batch, call->stride_a) +
	       (transposed ? m : n) * bits_of(call->b_type) * matrices(batch, call->stride_b) +
	       (transposed ? n : m) * result_bits * batch;
}

static bool are_known(const uint64_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!sizes[i])
			return false;
	return true;
}

static struct kp_work attention_work(const struct kp_library_call *call)
{
	enum { B, H, HK, SQ, SK, D, DV, COUNT };
	const uint64_t *size = kp_library_sizes(call);
	struct kp_work work = {NAN, NAN};

	if (!are_known(size, COUNT))
		return work;
	double b = (double)size[B], h = (double)size[H], hk = (double)size[HK];
	double sq = (double)size[SQ], sk = (double)size[SK];
	double lengths = (double)size[D] + (double)size[DV];
	double pairs = call->causal ? sq * (sq + 1) / 2 : sq * sk;
	double result_bits = bits_of(call->d_type ? call->d_type : call->a_type);

	if (!call->causal || size[SQ] == size[SK])
		work.flops = 2 * b * h * pairs * lengths;
	work.least_bytes = b *
			   (h * sq *
				    ((double)size[D] * bits_of(call->a_type) +
				     (double)size[DV] * result_bits) +
			    hk * sk * lengths * bits_of(call->b_type)) /
			   8;
	return work;
}

static double product_of(const uint64_t *sizes, size_t count)
{
	double product = 1;

	for (size_t i = 0; i < count; i++)
		product *= (double)sizes[i];
	return product;
}

static struct kp_work convolution_work(const struct kp_library_call *call)
{
	enum { N, C, EXTENTS };
	const uint64_t *size = kp_library_sizes(call);
	size_t dims = are_known(size, 12) ? 3 : are_known(size, 9) ? 2 : 1;
	const uint64_t *x = &size[EXTENTS], *k = x + dims, *w = k + 1, *y = w + dims;
	double groups = call->groups ? (double)call->groups : 1;

	if (!are_known(size, 3 * dims + 3))
		return (struct kp_work){NAN, NAN};
	double n = (double)size[N], channels = (double)size[C];
	double weights = (double)*k * channels / groups * product_of(w, dims);
	double bits = n * channels * product_of(x, dims) * bits_of(call->a_type) +
		      weights * bits_of(call->b_type) +
		      n * (double)*k * product_of(y, dims) *
			      bits_of(call->d_type ? call->d_type : call->a_type);
	return (struct kp_work){2 * n * product_of(y, dims) * weights, bits / 8};
}

static struct kp_work product_work(const struct kp_library_call *call)
{
	struct kp_work work = {NAN, NAN};
	bool gemm = call->kind == KP_LIBRARY_GEMM;
	double sizes = (double)call->m * (double)call->n * (double)call->batch *
		       (gemm ? (double)call->k : 1);

	if ((!gemm && call->kind != KP_LIBRARY_GEMV) || !(sizes > 0))
		return work;
	work.flops = (is_complex(call->a_type) || is_complex(call->b_type) ? 8 : 2) * sizes;
	work.least_bytes = (gemm ? gemm_bits(call) : gemv_bits(call)) / 8;
	return work;
}

struct kp_work kp_call_work(const struct kp_library_call *call)
{
	switch (call->kind) {
	case KP_LIBRARY_ATTENTION:
		return attention_work(call);
	case KP_LIBRARY_CONVOLUTION:
		return convolution_work(call);
	default:
		return product_work(call);
	}
}
