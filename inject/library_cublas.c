/*
 * The wrappers of cuBLAS: a matrix product's shape is in its parameters. One macro a family of
 * functions, see library_entries.def. Handles, scalars and data are only handed on; the types are
 * cuBLAS's as the calling convention has them: enumerations are int, complex scalars pointers.
 */
#include <stddef.h>
#include <stdint.h>

#include "inject/ab.h"
#include "inject/library.h"
#include "inject/library_doors.h"

_Static_assert(sizeof(int) == 4 && sizeof(long long) == 8, "as cuBLAS has them");

/* enum kp_data_code of inputs and outputs. */
struct types {
	int in, out;
};
#define TYPES_F32 ((struct types){KP_DATA_F32, KP_DATA_F32})
#define TYPES_F64 ((struct types){KP_DATA_F64, KP_DATA_F64})
#define TYPES_C32 ((struct types){KP_DATA_C32, KP_DATA_C32})
#define TYPES_C64 ((struct types){KP_DATA_C64, KP_DATA_C64})
#define TYPES_F16 ((struct types){KP_DATA_F16, KP_DATA_F16})
#define TYPES_F16_TO_F32 ((struct types){KP_DATA_F16, KP_DATA_F32})
#define TYPES_BF16 ((struct types){KP_DATA_BF16, KP_DATA_BF16})
#define TYPES_BF16_TO_F32 ((struct types){KP_DATA_BF16, KP_DATA_F32})

/* A size as the record has it: what is negative is an error of the program's, and no size. */
static uint64_t size(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

/* An enumeration's value + 1; 0 where it is none. */
static uint64_t code(int value)
{
	return value >= 0 ? (uint64_t)value + 1 : 0;
}

/* What all products of matrices have. */
struct product {
	int transpose_a, transpose_b;
	int64_t m, n, k, lda, ldb, ldc, batch;
	uint64_t a_type, b_type, c_type, compute_type;
	bool strided;
	int64_t stride_a, stride_b, stride_c;
	uint64_t groups;
};

/* What rules of replacement need beside it. */
struct product_data {
	void *handle, *c;
	const void *alpha, *beta, *a, *b;
};

/*
 * The stream and the kind of scalars of a handle, by the library's own functions. False: they
 * cannot be had.
 */
static bool ask_handle(void *handle, CUstream *stream, bool *host_scalars)
{
	static int (*_Atomic stream_function)(void *, CUstream *);
	static int (*_Atomic mode_function)(void *, int *);
	int mode = 0;

	if (!atomic_load(&stream_function) || !atomic_load(&mode_function)) {
		atomic_store(&stream_function, (int (*)(void *, CUstream *))kp_library_doors_symbol(
						       "cublasGetStream_v2"));
		atomic_store(&mode_function, (int (*)(void *, int *))kp_library_doors_symbol(
						     "cublasGetPointerMode_v2"));
	}
	if (!atomic_load(&stream_function) || !atomic_load(&mode_function) ||
	    atomic_load(&stream_function)(handle, stream) != 0 ||
	    atomic_load(&mode_function)(handle, &mode) != 0)
		return false;
	*host_scalars = mode == 0;
	return true;
}

/* cublasComputeType_t + 1 with scalars of 32 bits, for data that is not of 64: CUBLAS_COMPUTE_32F
 * and its fast forms. */
static bool has_single_scalars(const struct product *of)
{
	return (of->compute_type == 69 || of->compute_type == 70 ||
		(of->compute_type >= 75 && of->compute_type <= 78)) &&
	       of->a_type != KP_DATA_C32 && of->a_type != KP_DATA_C64;
}

static __attribute__((noinline)) bool replace(const struct product *of,
					      const struct product_data *data,
					      const struct kp_library_call *call)
{
	struct kp_ab_product product = {
		.call = call,
		.a = data->a,
		.b = data->b,
		.c = data->c,
		.d = data->c,
	};

	if (!ask_handle(data->handle, &product.stream, &product.host_scalars))
		return false;
	if (has_single_scalars(of)) {
		product.alpha = product.host_scalars ? data->alpha : NULL;
		product.beta = product.host_scalars ? data->beta : NULL;
	}
	return kp_ab_product_begins(&product);
}

/* `data`: for rules of replacement; NULL: there are none. True: one of them has done it. */
static bool describe_gemm(uint64_t entry, const struct product *of, const struct product_data *data)
{
	struct kp_library_call call = {
		.entry = entry,
		.kind = KP_LIBRARY_GEMM,
		.m = size(of->m),
		.n = size(of->n),
		.k = size(of->k),
		.batch = size(of->batch),
		.a_type = of->a_type,
		.b_type = of->b_type,
		.c_type = of->c_type,
		.d_type = of->c_type,
		.compute_type = of->compute_type,
		.transpose_a = code(of->transpose_a),
		.transpose_b = code(of->transpose_b),
		.epilogue = 1,
		.lda = size(of->lda),
		.ldb = size(of->ldb),
		.ldc = size(of->ldc),
		.ldd = size(of->ldc),
		.groups = of->groups,
	};

	if (of->strided) {
		call.stride_a = (uint64_t)of->stride_a + 1;
		call.stride_b = (uint64_t)of->stride_b + 1;
		call.stride_c = (uint64_t)of->stride_c + 1;
	}
	kp_library_describe(&call);
	return data && replace(of, data, &call);
}

/* One wrapper: its parameters, the same as they are handed on, and what it asks for. */
#define WRAP(name, parameters, arguments, describe)                                                \
	static int wrap_##name parameters                                                          \
	{                                                                                          \
		struct kp_library_frame frame;                                                     \
		int result;                                                                        \
                                                                                                   \
		if (kp_library_enter(&frame))                                                      \
			describe;                                                                  \
		result = KP_LIBRARY_REAL(name, int(*) parameters) arguments;                       \
		kp_library_leave(&frame);                                                          \
		return result;                                                                     \
	}

/* A second one for programs with rules of replacement; `ruled` describes it with its data. */
#define WRAP_RULED(name, parameters, arguments, describe, ruled)                                   \
	WRAP(name, parameters, arguments, describe)                                                \
	static int ruled_##name parameters                                                         \
	{                                                                                          \
		struct kp_library_frame frame;                                                     \
		bool replaced = false;                                                             \
		int result = 0;                                                                    \
                                                                                                   \
		if (kp_library_enter(&frame)) {                                                    \
			kp_ab_call_begins();                                                       \
			replaced = ruled;                                                          \
		}                                                                                  \
		if (!replaced)                                                                     \
			do                                                                         \
				result = KP_LIBRARY_REAL(name, int(*) parameters) arguments;       \
			while (frame.outermost && kp_ab_again(KP_AB_OPEN_CALL, result == 0));      \
		kp_library_leave(&frame);                                                          \
		return result;                                                                     \
	}

/* ---- products of matrices ---- */

#define PRODUCT(name, ...) describe_gemm(KP_LIBRARY_##name, &SIZES(__VA_ARGS__), NULL)
#define RULED(name, ...)                                                                           \
	describe_gemm(KP_LIBRARY_##name, &SIZES(__VA_ARGS__),                                      \
		      &(struct product_data){handle, c, alpha, beta, a, b})
#define SIZES(...)                                                                                 \
	(struct product)                                                                           \
	{                                                                                          \
		.transpose_a = ta, .transpose_b = tb, .m = m, .n = n, .k = k, .lda = lda,          \
		.ldb = ldb, .ldc = ldc, __VA_ARGS__                                                \
	}
#define OF_TYPE(type)                                                                              \
	.a_type = (uint64_t)TYPES_##type.in, .b_type = (uint64_t)TYPES_##type.in,                  \
	.c_type = (uint64_t)TYPES_##type.out
#define OF_TYPES .a_type = code(at), .b_type = code(bt), .c_type = code(ct)
#define STRIDES .strided = true, .stride_a = sa, .stride_b = sb, .stride_c = sc

#define WRAP_GEMM(name, integer, type)                                                             \
	WRAP(name,                                                                                 \
	     (void *handle, int ta, int tb, integer m, integer n, integer k, const void *alpha,    \
	      const void *a, integer lda, const void *b, integer ldb, const void *beta, void *c,   \
	      integer ldc),                                                                        \
	     (handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                       \
	     PRODUCT(name, .batch = 1, OF_TYPE(type)))

#define WRAP_GEMM_BATCHED(name, integer, type)                                                     \
	WRAP(name,                                                                                 \
	     (void *handle, int ta, int tb, integer m, integer n, integer k, const void *alpha,    \
	      const void *a, integer lda, const void *b, integer ldb, const void *beta, void *c,   \
	      integer ldc, integer batch),                                                         \
	     (handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch),                \
	     PRODUCT(name, .batch = batch, OF_TYPE(type)))

#define WRAP_GEMM_STRIDED(name, integer, type)                                                     \
	WRAP(name,                                                                                 \
	     (void *handle, int ta, int tb, integer m, integer n, integer k, const void *alpha,    \
	      const void *a, integer lda, long long sa, const void *b, integer ldb, long long sb,  \
	      const void *beta, void *c, integer ldc, long long sc, integer batch),                \
	     (handle, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, batch),    \
	     PRODUCT(name, .batch = batch, OF_TYPE(type), STRIDES))

#define WRAP_GEMM_TYPED(name, integer)                                                             \
	WRAP_RULED(name,                                                                           \
		   (void *handle, int ta, int tb, integer m, integer n, integer k,                 \
		    const void *alpha, const void *a, int at, integer lda, const void *b, int bt,  \
		    integer ldb, const void *beta, void *c, int ct, integer ldc),                  \
		   (handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc),     \
		   PRODUCT(name, .batch = 1, OF_TYPES), RULED(name, .batch = 1, OF_TYPES))

#define WRAP_GEMM_EX(name, integer)                                                                \
	WRAP_RULED(name,                                                                           \
		   (void *handle, int ta, int tb, integer m, integer n, integer k,                 \
		    const void *alpha, const void *a, int at, integer lda, const void *b, int bt,  \
		    integer ldb, const void *beta, void *c, int ct, integer ldc, int compute,      \
		    int algorithm),                                                                \
		   (handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc,      \
		    compute, algorithm),                                                           \
		   PRODUCT(name, .batch = 1, OF_TYPES, .compute_type = code(compute)),             \
		   RULED(name, .batch = 1, OF_TYPES, .compute_type = code(compute)))

#define WRAP_GEMM_BATCHED_EX(name, integer)                                                        \
	WRAP(name,                                                                                 \
	     (void *handle, int ta, int tb, integer m, integer n, integer k, const void *alpha,    \
	      const void *a, int at, integer lda, const void *b, int bt, integer ldb,              \
	      const void *beta, void *c, int ct, integer ldc, integer batch, int compute,          \
	      int algorithm),                                                                      \
	     (handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, batch,     \
	      compute, algorithm),                                                                 \
	     PRODUCT(name, .batch = batch, OF_TYPES, .compute_type = code(compute)))

#define WRAP_GEMM_STRIDED_EX(name, integer)                                                        \
	WRAP_RULED(                                                                                \
		name,                                                                              \
		(void *handle, int ta, int tb, integer m, integer n, integer k, const void *alpha, \
		 const void *a, int at, integer lda, long long sa, const void *b, int bt,          \
		 integer ldb, long long sb, const void *beta, void *c, int ct, integer ldc,        \
		 long long sc, integer batch, int compute, int algorithm),                         \
		(handle, ta, tb, m, n, k, alpha, a, at, lda, sa, b, bt, ldb, sb, beta, c, ct, ldc, \
		 sc, batch, compute, algorithm),                                                   \
		PRODUCT(name, .batch = batch, OF_TYPES, STRIDES, .compute_type = code(compute)),   \
		RULED(name, .batch = batch, OF_TYPES, STRIDES, .compute_type = code(compute)))

/* ---- grouped products: a list of sizes, in the program's memory ---- */

#define DESCRIBE_GROUPS(integer)                                                                   \
	static void describe_groups_##integer(                                                     \
		uint64_t entry, const int *ta, const int *tb, const integer *m, const integer *n,  \
		const integer *k, integer groups, const integer *sizes, struct product product)    \
	{                                                                                          \
		if (groups <= 0 || !ta || !tb || !m || !n || !k || !sizes)                         \
			return;                                                                    \
		product.transpose_a = ta[0];                                                       \
		product.transpose_b = tb[0];                                                       \
		product.m = m[0];                                                                  \
		product.n = n[0];                                                                  \
		product.k = k[0];                                                                  \
		product.groups = (uint64_t)groups;                                                 \
		for (integer i = 0; i < groups; i++) {                                             \
			product.batch += sizes[i];                                                 \
			product.m = m[i] == m[0] ? product.m : 0;                                  \
			product.n = n[i] == n[0] ? product.n : 0;                                  \
			product.k = k[i] == k[0] ? product.k : 0;                                  \
			product.transpose_a = ta[i] == ta[0] ? product.transpose_a : -1;           \
			product.transpose_b = tb[i] == tb[0] ? product.transpose_b : -1;           \
		}                                                                                  \
		describe_gemm(entry, &product, NULL);                                              \
	}
DESCRIBE_GROUPS(int)
DESCRIBE_GROUPS(int64_t)

#define WRAP_GEMM_GROUPED(name, integer, type)                                                     \
	WRAP(name,                                                                                 \
	     (void *handle, const int *ta, const int *tb, const integer *m, const integer *n,      \
	      const integer *k, const void *alpha, const void *a, const integer *lda,              \
	      const void *b, const integer *ldb, const void *beta, void *c, const integer *ldc,    \
	      integer groups, const integer *sizes),                                               \
	     (handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, sizes),        \
	     describe_groups_##integer(KP_LIBRARY_##name, ta, tb, m, n, k, groups, sizes,          \
				       (struct product){OF_TYPE(type)}))

#define WRAP_GEMM_GROUPED_EX(name, integer)                                                        \
	WRAP(name,                                                                                 \
	     (void *handle, const int *ta, const int *tb, const integer *m, const integer *n,      \
	      const integer *k, const void *alpha, const void *a, int at, const integer *lda,      \
	      const void *b, int bt, const integer *ldb, const void *beta, void *c, int ct,        \
	      const integer *ldc, integer groups, const integer *sizes, int compute),              \
	     (handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, groups,    \
	      sizes, compute),                                                                     \
	     describe_groups_##integer(KP_LIBRARY_##name, ta, tb, m, n, k, groups, sizes,          \
				       (struct product){OF_TYPES, .compute_type = code(compute)}))

/* ---- products of a matrix and a vector ---- */

struct vector_product {
	int transpose;
	int64_t m, n, lda, batch;
	struct types types;
	bool strided;
	int64_t stride_a, stride_x, stride_y;
};

static void describe_gemv(uint64_t entry, const struct vector_product *of)
{
	struct kp_library_call call = {
		.entry = entry,
		.kind = KP_LIBRARY_GEMV,
		.m = size(of->m),
		.n = size(of->n),
		.batch = size(of->batch),
		.a_type = (uint64_t)of->types.in,
		.b_type = (uint64_t)of->types.in,
		.c_type = (uint64_t)of->types.out,
		.d_type = (uint64_t)of->types.out,
		.transpose_a = code(of->transpose),
		.epilogue = 1,
		.lda = size(of->lda),
	};

	if (of->strided) {
		call.stride_a = (uint64_t)of->stride_a + 1;
		call.stride_b = (uint64_t)of->stride_x + 1;
		call.stride_c = (uint64_t)of->stride_y + 1;
	}
	kp_library_describe(&call);
}

#define VECTOR_PRODUCT(name, type, ...)                                                            \
	describe_gemv(KP_LIBRARY_##name, &(struct vector_product){.transpose = ta,                 \
								  .m = m,                          \
								  .n = n,                          \
								  .lda = lda,                      \
								  .types = TYPES_##type,           \
								  __VA_ARGS__})

#define WRAP_GEMV(name, integer, type)                                                             \
	WRAP(name,                                                                                 \
	     (void *handle, int ta, integer m, integer n, const void *alpha, const void *a,        \
	      integer lda, const void *x, integer incx, const void *beta, void *y, integer incy),  \
	     (handle, ta, m, n, alpha, a, lda, x, incx, beta, y, incy),                            \
	     VECTOR_PRODUCT(name, type, .batch = 1))

#define WRAP_GEMV_BATCHED(name, integer, type)                                                     \
	WRAP(name,                                                                                 \
	     (void *handle, int ta, integer m, integer n, const void *alpha, const void *a,        \
	      integer lda, const void *x, integer incx, const void *beta, void *y, integer incy,   \
	      integer batch),                                                                      \
	     (handle, ta, m, n, alpha, a, lda, x, incx, beta, y, incy, batch),                     \
	     VECTOR_PRODUCT(name, type, .batch = batch))

#define WRAP_GEMV_STRIDED(name, integer, type)                                                     \
	WRAP(name,                                                                                 \
	     (void *handle, int ta, integer m, integer n, const void *alpha, const void *a,        \
	      integer lda, long long sa, const void *x, integer incx, long long sx,                \
	      const void *beta, void *y, integer incy, long long sy, integer batch),               \
	     (handle, ta, m, n, alpha, a, lda, sa, x, incx, sx, beta, y, incy, sy, batch),         \
	     VECTOR_PRODUCT(name, type, .batch = batch, .strided = true, .stride_a = sa,           \
			    .stride_x = sx, .stride_y = sy))

#define E(family, name, integer) WRAP_##family(name, integer)
#define T(family, name, integer, type) WRAP_##family(name, integer, type)
#include "inject/library_entries.def"

void *const kp_library_cublas_wrappers[KP_LIBRARY_cublasLtMatmul] = {
#define E(family, name, integer) (void *)wrap_##name,
#define T(family, name, integer, type) (void *)wrap_##name,
#include "inject/library_entries.def"
};

void *const kp_library_ruled_wrappers[KP_LIBRARY_cublasLtMatmul] = {
#define NOT_RULED(name) NULL
#define RULED_GEMM(name) NOT_RULED(name)
#define RULED_GEMM_BATCHED(name) NOT_RULED(name)
#define RULED_GEMM_STRIDED(name) NOT_RULED(name)
#define RULED_GEMM_TYPED(name) (void *)ruled_##name
#define RULED_GEMM_EX(name) (void *)ruled_##name
#define RULED_GEMM_BATCHED_EX(name) NOT_RULED(name)
#define RULED_GEMM_STRIDED_EX(name) (void *)ruled_##name
#define RULED_GEMM_GROUPED(name) NOT_RULED(name)
#define RULED_GEMM_GROUPED_EX(name) NOT_RULED(name)
#define RULED_GEMV(name) NOT_RULED(name)
#define RULED_GEMV_BATCHED(name) NOT_RULED(name)
#define RULED_GEMV_STRIDED(name) NOT_RULED(name)
#define E(family, name, integer) RULED_##family(name),
#define T(family, name, integer, type) RULED_##family(name),
#include "inject/library_entries.def"
};
