/*
 * Calls of NVIDIA's libraries that launched kernels: the records of LIBRARY_CALLS chunks. What they
 * launched: library_launch.h.
 *
 * A call is what the program asked of a library at its door, without the data: function, sizes,
 * types, transposes. Equal calls of a process are one entry of its table. Only the outermost call
 * counts: what cuBLAS asks of cuBLASLt is its own affair. A launch, or a node of a graph that is
 * captured, belongs to the call that its thread was in. A kernel that was launched in none, but
 * whose parameters are known by rule, is a call of its own: `from` tells.
 */
#ifndef KP_TRACE_LIBRARY_CALL_H
#define KP_TRACE_LIBRARY_CALL_H

#include <stddef.h>
#include <stdint.h>

/* X(NAME, number, what it is): what a call asks for. */
#define KP_LIBRARY_KINDS(X)                                                                        \
	X(OTHER, 0, "something else; `detail` says what")                                          \
	X(GEMM, 1, "D[m,n] = alpha op(A)[m,k] op(B)[k,n] + beta C, batch times")                   \
	X(GEMV, 2, "y = alpha op(A) x + beta y, batch times; A is m by n as it is stored")         \
	X(CONVOLUTION, 3, "y = x * w, or a gradient of it")                                        \
	X(ATTENTION, 4, "o = softmax(q k^T) v")

enum kp_library_kind {
#define KP_LIBRARY_ROW(name, number, what) KP_LIBRARY_##name = (number),
	KP_LIBRARY_KINDS(KP_LIBRARY_ROW)
#undef KP_LIBRARY_ROW
};

/* Of `transpose_a` and `transpose_b`: cublasOperation_t + 1; 0: unknown. */
enum kp_library_transpose {
	KP_TRANSPOSE_NONE = 1,
	KP_TRANSPOSE_YES = 2,
	KP_TRANSPOSE_CONJUGATE = 3
};

/* X(NAME, number): where a call was seen. */
#define KP_LIBRARY_FROMS(X)                                                                        \
	X(DOOR, 0)       /* of a library */                                                        \
	X(PARAMETERS, 1) /* of the kernel: its launch is the call */

enum kp_library_from {
#define KP_LIBRARY_ROW(name, number) KP_LIBRARY_FROM_##name = (number),
	KP_LIBRARY_FROMS(KP_LIBRARY_ROW)
#undef KP_LIBRARY_ROW
};

/* Sizes by name that a call has at most. */
#define KP_LIBRARY_SIZES 12

/*
 * One call. Absent or unknown is 0 throughout, so codes whose 0 means something have 1 added.
 * Matrices are column-major, as the libraries have them, unless `row_major` says otherwise.
 *
 * Calls that are no product have sizes by name. Those of two kinds are in this order:
 *   ATTENTION    b h hk sq sk d dv: batch, heads of q, heads of k and v, queries, keys, the length
 *                of a head of q and k, that of v; types: a q, b k and v, d o
 *   CONVOLUTION  n c, the extents of x, k, those of w, those of y: 6 sizes in one dimension, 9 in
 *                two, 12 in three; types: a x, b w, d y
 *
 * F(member, what it is): in the order of the file; a reader ignores members beyond those it knows.
 */
#define KP_LIBRARY_CALL_MEMBERS(F)                                                                 \
	F(library) /* interned string: «cuBLAS», «cuBLASLt», «cuDNN» */                      \
	F(entry)   /* interned string: the function, as in «cublasGemmEx» */                     \
	F(kind)    /* enum kp_library_kind */                                                      \
	F(detail)  /* interned string + 1: operation and tensors, as in «conv fwd …» */        \
	F(m)                                                                                       \
	F(n)                                                                                       \
	F(k)      /* of GEMV: 0 */                                                                 \
	F(batch)  /* matrices; 1 where there is no batch */                                        \
	F(a_type) /* cudaDataType + 1, see kp_data_type; of GEMV, x has the type b */              \
	F(b_type)                                                                                  \
	F(c_type)                                                                                  \
	F(d_type)                                                                                  \
	F(compute_type) /* cublasComputeType_t + 1 */                                              \
	F(scale_type)   /* cudaDataType + 1 */                                                     \
	F(transpose_a)  /* enum kp_library_transpose */                                            \
	F(transpose_b)                                                                             \
	F(epilogue)  /* cublasLtEpilogue_t; 0: unknown, 1: none */                                 \
	F(row_major) /* bit 0: A, 1: B, 2: C, 3: D */                                              \
	F(lda)       /* leading dimensions, elements */                                            \
	F(ldb)                                                                                     \
	F(ldc)                                                                                     \
	F(ldd)                                                                                     \
	F(stride_a) /* from one matrix of a batch to the next, elements + 1: 1 is the same */      \
	F(stride_b)                                                                                \
	F(stride_c)                                                                                \
	F(groups) /* of a grouped call: how many sizes; m, n, k are 0 if they differ; of a         \
		     convolution: of its channels */                                               \
	F(from)   /* enum kp_library_from */                                                       \
	F(causal) /* of attention: 1: no query sees a key behind it */                             \
	F(names)  /* interned string + 1: what the sizes are, as in «rows,n» */                  \
	F(size1)                                                                                   \
	F(size2)                                                                                   \
	F(size3)                                                                                   \
	F(size4)                                                                                   \
	F(size5)                                                                                   \
	F(size6)                                                                                   \
	F(size7)                                                                                   \
	F(size8)                                                                                   \
	F(size9)                                                                                   \
	F(size10)                                                                                  \
	F(size11)                                                                                  \
	F(size12)

struct kp_library_call {
#define KP_LIBRARY_MEMBER(name) uint64_t name;
	KP_LIBRARY_CALL_MEMBERS(KP_LIBRARY_MEMBER)
#undef KP_LIBRARY_MEMBER
};

/* The sizes by name, KP_LIBRARY_SIZES of them. */
static inline const uint64_t *kp_library_sizes(const struct kp_library_call *call)
{
	return (const uint64_t *)call + offsetof(struct kp_library_call, size1) / 8;
}

/* The same, to be set. */
static inline uint64_t *kp_library_sizes_to_set(struct kp_library_call *call)
{
	return (uint64_t *)call + offsetof(struct kp_library_call, size1) / 8;
}

/* How an element of a type is named and how many bits it has. */
struct kp_data_type {
	const char *name; /* as in «bf16» */
	uint32_t bits;    /* of complex types: both parts */
};

/* Codes of types, cudaDataType + 1; these are named where code asks for them. */
enum kp_data_code {
	KP_DATA_F32 = 1,
	KP_DATA_F64 = 2,
	KP_DATA_F16 = 3,
	KP_DATA_C32 = 5,
	KP_DATA_C64 = 6,
	KP_DATA_BF16 = 15
};
/* The type of a code; NULL: unknown. */
const struct kp_data_type *kp_data_type(uint64_t code);
/* The name of a compute type as above («f32», «tf32», …), an epilogue («bias+relu»); NULL: unknown.
 */
const char *kp_library_compute_name(uint64_t code);
const char *kp_library_epilogue_name(uint64_t code);

#endif
