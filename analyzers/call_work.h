/*
 * The work that a library, or a kernel, was asked for: floating-point operations, and the fewest
 * bytes that it can move. All of this is modelled from the call, never measured.
 *
 *   GEMM    D = epilogue(alpha · op(A) · op(B) + beta · C), batch times, op(A) m × k, op(B) k × n
 *           FLOPs   2 · m · n · k · batch: a multiplication and an addition each
 *           bytes   A and B read once and D written once, and what the epilogue adds: a bias of m
 *                   numbers, and a matrix like D (of one bit an element with ReLU) that forward
 *                   passes with AUX write and gradients read
 *   GEMV    y = alpha · op(A) · x + beta · y, batch times, A m × n
 *           FLOPs   2 · m · n · batch
 *           bytes   A and x read once, y written once
 *   CONVOLUTION, and its gradients
 *           FLOPs   2 · n · k · extents of y · channels of x in a group · extents of w
 *           bytes   x, w and y once each
 *   ATTENTION
 *           FLOPs   2 · b · h · pairs of query and key · (d + dv): the two products, not the
 * softmax; causal: sq · (sq + 1) ÷ 2 pairs where there are as many keys as queries, else unknown,
 * as it depends on which end is aligned bytes   q, k and v read once and o written once of complex
 * numbers 8 instead of 2: four multiplications and four additions an operand with the same address
 * throughout a batch (stride 0) is read once
 *
 * after «Matrix Multiplication Background», NVIDIA Deep Learning Performance documentation
 * (docs.nvidia.com/deeplearning/performance), which counts likewise, and cublasLtEpilogue_t in
 * cublasLt.h. Whether C is read (beta ≠ 0) is not recorded, so C is left out, and so are scale
 * factors of narrow types: the bytes are a lower bound. What lies in L2 already is not read from
 * memory, so that fewer may be measured.
 */
#ifndef KP_ANALYZERS_CALL_WORK_H
#define KP_ANALYZERS_CALL_WORK_H

#include "trace/library_call.h"

struct kp_work {
	double flops, least_bytes; /* of one call, all of its batch; NaN: not known */
};

/* The work of a call; NaN for other calls, unknown types and empty or unknown sizes. */
struct kp_work kp_call_work(const struct kp_library_call *call);

#endif
