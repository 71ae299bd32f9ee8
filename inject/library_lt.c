/*
 * The wrapper of cublasLtMatmul: what it multiplies is in descriptors, which are the library's.
 * They are read by its own public functions, those of the very library that is called.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "inject/ab.h"
#include "inject/library.h"
#include "inject/library_doors.h"

typedef int (*get_function)(const void *descriptor, int attribute, void *value, size_t bytes,
			    size_t *written);

/* Numbers of cublasLtMatrixLayoutAttribute_t and cublasLtMatmulDescAttributes_t. */
enum {
	LAYOUT_TYPE = 0,
	LAYOUT_ORDER = 1,
	LAYOUT_ROWS = 2,
	LAYOUT_COLUMNS = 3,
	LAYOUT_LD = 4,
	LAYOUT_BATCH = 5,
	LAYOUT_STRIDE = 6,
	MATMUL_COMPUTE_TYPE = 0,
	MATMUL_SCALE_TYPE = 1,
	MATMUL_POINTER_MODE = 2,
	MATMUL_TRANSPOSE_A = 3,
	MATMUL_TRANSPOSE_B = 4,
	MATMUL_EPILOGUE = 7,
	MATMUL_BIAS = 8,
	ORDER_ROW = 1 /* of cublasLtOrder_t */
};

/* An attribute of 4 bytes + 1; 0: it cannot be had. */
static uint64_t get_code(get_function get, const void *descriptor, int attribute)
{
	uint32_t value = 0;
	size_t written = 0;

	if (get(descriptor, attribute, &value, sizeof(value), &written) != 0 || value == UINT32_MAX)
		return 0;
	return (uint64_t)value + 1;
}

/* An attribute of 8 bytes; 0: it cannot be had. */
static uint64_t get_size(get_function get, const void *descriptor, int attribute)
{
	uint64_t value = 0;
	size_t written = 0;

	return get(descriptor, attribute, &value, sizeof(value), &written) == 0 ? value : 0;
}

/* What one matrix is like, as far as the record has room for it. */
struct matrix {
	uint64_t type, rows, columns, ld, stride, batch;
	bool row_major;
};

static struct matrix read_matrix(get_function get, const void *layout)
{
	struct matrix matrix = {0};

	if (!layout)
		return matrix;
	matrix.type = get_code(get, layout, LAYOUT_TYPE);
	matrix.row_major = get_code(get, layout, LAYOUT_ORDER) == ORDER_ROW + 1;
	matrix.rows = get_size(get, layout, LAYOUT_ROWS);
	matrix.columns = get_size(get, layout, LAYOUT_COLUMNS);
	matrix.ld = get_size(get, layout, LAYOUT_LD);
	matrix.batch = get_code(get, layout, LAYOUT_BATCH);
	matrix.batch = matrix.batch > 1 ? matrix.batch - 1 : 1;
	if (matrix.batch > 1)
		matrix.stride = get_size(get, layout, LAYOUT_STRIDE) + 1;
	return matrix;
}

/* What rules of replacement need beside the call. */
static bool replace(get_function get, const void *operation, const struct kp_library_call *call,
		    struct kp_ab_product *product)
{
	bool replaced;

	product->call = call;
	product->host_scalars = get_code(get, operation, MATMUL_POINTER_MODE) == 1;
	product->bias = (const void *)(uintptr_t)get_size(get, operation, MATMUL_BIAS);
	if (!product->host_scalars || call->scale_type != KP_DATA_F32)
		product->alpha = product->beta = NULL;
	replaced = kp_ab_product_begins(product);
	product->call = NULL; /* it does not live as long */
	return replaced;
}

/* `product`: with its data, for rules of replacement; NULL: there are none. True: one of them has
 * done it. */
static bool describe(const void *operation, const void *a_layout, const void *b_layout,
		     const void *c_layout, const void *d_layout, struct kp_ab_product *product)
{
	static _Atomic(get_function) layout_function, matmul_function;
	get_function layout = atomic_load(&layout_function);
	get_function matmul = atomic_load(&matmul_function);
	struct kp_library_call call = {.entry = KP_LIBRARY_cublasLtMatmul, .kind = KP_LIBRARY_GEMM};
	struct matrix a, b, c, d;

	if (!layout || !matmul) {
		layout = (get_function)kp_library_doors_lt_symbol(
			"cublasLtMatrixLayoutGetAttribute");
		matmul = (get_function)kp_library_doors_lt_symbol("cublasLtMatmulDescGetAttribute");
		if (!layout || !matmul)
			return false;
		atomic_store(&layout_function, layout);
		atomic_store(&matmul_function, matmul);
	}
	if (!operation)
		return false;
	a = read_matrix(layout, a_layout);
	b = read_matrix(layout, b_layout);
	c = read_matrix(layout, c_layout);
	d = d_layout == c_layout ? c : read_matrix(layout, d_layout);
	call.transpose_a = get_code(matmul, operation, MATMUL_TRANSPOSE_A);
	call.transpose_b = get_code(matmul, operation, MATMUL_TRANSPOSE_B);
	call.compute_type = get_code(matmul, operation, MATMUL_COMPUTE_TYPE);
	call.scale_type = get_code(matmul, operation, MATMUL_SCALE_TYPE);
	call.epilogue = get_code(matmul, operation, MATMUL_EPILOGUE);
	call.epilogue = call.epilogue ? call.epilogue - 1 : 0;
	call.m = d.rows;
	call.n = d.columns;
	call.k = call.transpose_a == KP_TRANSPOSE_NONE ? a.columns : a.rows;
	call.batch = d.batch;
	call.a_type = a.type;
	call.b_type = b.type;
	call.c_type = c.type;
	call.d_type = d.type;
	call.row_major = (uint64_t)a.row_major | (uint64_t)b.row_major << 1 |
			 (uint64_t)c.row_major << 2 | (uint64_t)d.row_major << 3;
	call.lda = a.ld;
	call.ldb = b.ld;
	call.ldc = c.ld;
	call.ldd = d.ld;
	call.stride_a = a.stride;
	call.stride_b = b.stride;
	call.stride_c = c.stride;
	kp_library_describe(&call);
	return product && replace(matmul, operation, &call, product);
}

#define MATMUL_PARAMETERS                                                                          \
	void *handle, const void *operation, const void *alpha, const void *a,                     \
		const void *a_layout, const void *b, const void *b_layout, const void *beta,       \
		const void *c, const void *c_layout, void *d, const void *d_layout,                \
		const void *algorithm, void *workspace, size_t workspace_bytes, void *stream
#define MATMUL_ARGUMENTS                                                                           \
	handle, operation, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,        \
		algorithm, workspace, workspace_bytes, stream

/* For programs with rules of replacement. */
static int ruled_cublasLtMatmul(MATMUL_PARAMETERS)
{
	struct kp_ab_product product = {
		.alpha = alpha, .beta = beta, .a = a, .b = b, .c = c, .d = d, .stream = stream};
	struct kp_library_frame frame;
	bool replaced = false;
	int result = 0;

	if (kp_library_enter(&frame)) {
		kp_ab_call_begins();
		replaced = describe(operation, a_layout, b_layout, c_layout, d_layout, &product);
	}
	if (!replaced)
		do
			result = KP_LIBRARY_REAL(cublasLtMatmul,
						 int (*)(MATMUL_PARAMETERS))(MATMUL_ARGUMENTS);
		while (frame.outermost && kp_ab_again(KP_AB_OPEN_CALL, result == 0));
	kp_library_leave(&frame);
	return result;
}

static int wrap_cublasLtMatmul(MATMUL_PARAMETERS)
{
	struct kp_library_frame frame;
	int result;

	if (kp_library_enter(&frame))
		describe(operation, a_layout, b_layout, c_layout, d_layout, NULL);
	result = KP_LIBRARY_REAL(cublasLtMatmul, int (*)(MATMUL_PARAMETERS))(MATMUL_ARGUMENTS);
	kp_library_leave(&frame);
	return result;
}
void *const kp_library_lt_wrapper = (void *)wrap_cublasLtMatmul;
void *const kp_library_lt_ruled_wrapper = (void *)ruled_cublasLtMatmul;
