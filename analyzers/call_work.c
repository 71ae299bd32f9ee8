/* The work of a matrix product, modelled; see call_work.h. */
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

struct kp_work kp_call_work(const struct kp_library_call *call)
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
