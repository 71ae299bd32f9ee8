/*
 * Expressions of A/B rules as postfix code: what the launcher compiles and the program evaluates at
 * its launches, without allocation.
 *
 * A value is 64 bits: a whole number, or a double's bits. The compiler knows which is which and
 * never mixes them. An evaluation fails where a load lies outside of its parameter, at a division
 * by zero and at an overflow: then the rule does not apply. Nothing is skipped: both sides of &&
 * and
 * || are evaluated.
 */
#ifndef KP_TRACE_AB_CODE_H
#define KP_TRACE_AB_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, values taken): each leaves one. LOAD reads a parameter, NAME a symbol. */
#define KP_AB_OPS(X)                                                                               \
	X(CONSTANT, 0)                                                                             \
	X(SYMBOL, 0)                                                                               \
	X(LOAD, 0)                                                                                 \
	X(TO_FLOAT, 1)                                                                             \
	X(NEGATE, 1)                                                                               \
	X(NOT, 1)                                                                                  \
	X(ADD, 2)                                                                                  \
	X(SUBTRACT, 2)                                                                             \
	X(MULTIPLY, 2)                                                                             \
	X(DIVIDE, 2)                                                                               \
	X(REMAINDER, 2)                                                                            \
	X(MIN, 2)                                                                                  \
	X(MAX, 2)                                                                                  \
	X(CEILDIV, 2)                                                                              \
	X(EQUAL, 2)                                                                                \
	X(LESS, 2)                                                                                 \
	X(LESS_EQUAL, 2)                                                                           \
	X(FLOAT_EQUAL, 2)                                                                          \
	X(FLOAT_LESS, 2)                                                                           \
	X(FLOAT_LESS_EQUAL, 2)                                                                     \
	X(AND, 2)                                                                                  \
	X(OR, 2)

enum kp_ab_op_code {
#define KP_AB_OP_ENUM(name, taken) KP_AB_OP_##name,
	KP_AB_OPS(KP_AB_OP_ENUM)
#undef KP_AB_OP_ENUM
		KP_AB_OP_COUNT
};

/* X(NAME, name, bytes, float): types of loads; a float becomes a double. */
#define KP_AB_LOADS(X)                                                                             \
	X(U8, "u8", 1, false)                                                                      \
	X(U16, "u16", 2, false)                                                                    \
	X(U32, "u32", 4, false)                                                                    \
	X(U64, "u64", 8, false)                                                                    \
	X(I8, "i8", 1, false)                                                                      \
	X(I16, "i16", 2, false)                                                                    \
	X(I32, "i32", 4, false)                                                                    \
	X(I64, "i64", 8, false)                                                                    \
	X(PTR, "ptr", 8, false)                                                                    \
	X(F32, "f32", 4, true)                                                                     \
	X(F64, "f64", 8, true)

enum kp_ab_load {
#define KP_AB_LOAD_ENUM(NAME, name, bytes, is_float) KP_AB_LOAD_##NAME,
	KP_AB_LOADS(KP_AB_LOAD_ENUM)
#undef KP_AB_LOAD_ENUM
		KP_AB_LOAD_COUNT
};

/*
 * X(NAME, name, float, of launches, of calls, what it is): what a rule can ask by name; what is of
 * neither is of recognised sequences. Types are cudaDataType + 1, transposes and compute types
 * likewise + 1, as in trace/library_call.h.
 */
#define KP_AB_SYMBOLS(X)                                                                           \
	X(GRID_X, "grid_x", false, true, false, "blocks along x")                                  \
	X(GRID_Y, "grid_y", false, true, false, "blocks along y")                                  \
	X(GRID_Z, "grid_z", false, true, false, "blocks along z")                                  \
	X(BLOCK_X, "block_x", false, true, false, "threads of a block along x")                    \
	X(BLOCK_Y, "block_y", false, true, false, "threads of a block along y")                    \
	X(BLOCK_Z, "block_z", false, true, false, "threads of a block along z")                    \
	X(SHARED, "shared", false, true, false, "bytes of dynamic shared memory of a block")       \
	X(M, "m", false, false, true, "rows of D, which is column-major")                          \
	X(N, "n", false, false, true, "columns of D")                                              \
	X(K, "k", false, false, true, "columns of op(A)")                                          \
	X(BATCH, "batch", false, false, true, "matrices of a batch; 1: there is none")             \
	X(A, "a", false, false, true, "address of A")                                              \
	X(B, "b", false, false, true, "address of B")                                              \
	X(C, "c", false, false, true, "address of C, which is read where beta is not 0")           \
	X(D, "d", false, false, true, "address of D, which is written")                            \
	X(BIAS, "bias", false, false, true, "address of the epilogue's bias; 0: none")             \
	X(ALPHA, "alpha", true, false, true, "factor of the product")                              \
	X(BETA, "beta", true, false, true, "factor of C")                                          \
	X(LDA, "lda", false, false, true, "leading dimension of A, elements")                      \
	X(LDB, "ldb", false, false, true, "leading dimension of B, elements")                      \
	X(LDC, "ldc", false, false, true, "leading dimension of C, elements")                      \
	X(LDD, "ldd", false, false, true, "leading dimension of D, elements")                      \
	X(A_TYPE, "a_type", false, false, true, "type of A's elements: bf16, fp16, fp32, …")       \
	X(B_TYPE, "b_type", false, false, true, "type of B's elements")                            \
	X(C_TYPE, "c_type", false, false, true, "type of C's elements")                            \
	X(D_TYPE, "d_type", false, false, true, "type of D's elements")                            \
	X(COMPUTE, "compute", false, false, true, "compute_32f, …")                                \
	X(TRANS_A, "trans_a", false, false, true, "normal, transposed or conjugated")              \
	X(TRANS_B, "trans_b", false, false, true, "likewise")                                      \
	X(EPILOGUE, "epilogue", false, false, true,                                                \
	  "cublasLtEpilogue_t: no_epilogue, bias_epilogue")                                        \
	X(ROW_MAJOR, "row_major", false, false, true, "bits: 1 A, 2 B, 4 C, 8 D")                  \
	X(ROWS, "rows", false, false, false, "rows of a recognised sequence")                      \
	X(COLUMNS, "columns", false, false, false, "elements of a row")                            \
	X(DTYPE, "dtype", false, false, false, "type of its result")                               \
	X(EPS, "eps", true, false, false, "added to the mean square")                              \
	X(SCALE, "scale", true, false, false, "factor of the scores; 1: none")                     \
	X(OPERAND_0, "", false, false, false, "addresses, by the names that the kind gives")       \
	X(OPERAND_1, "", false, false, false, "")                                                  \
	X(OPERAND_2, "", false, false, false, "")                                                  \
	X(OPERAND_3, "", false, false, false, "of outputs")                                        \
	X(OPERAND_4, "", false, false, false, "")                                                  \
	X(ROW_0, "", false, false, false, "elements from a row to the next, likewise")             \
	X(ROW_1, "", false, false, false, "")                                                      \
	X(ROW_2, "", false, false, false, "")                                                      \
	X(ROW_3, "", false, false, false, "")                                                      \
	X(ROW_4, "", false, false, false, "")

enum kp_ab_symbol {
#define KP_AB_SYMBOL_ENUM(NAME, name, is_float, launches, calls, what) KP_AB_SYMBOL_##NAME,
	KP_AB_SYMBOLS(KP_AB_SYMBOL_ENUM)
#undef KP_AB_SYMBOL_ENUM
		KP_AB_SYMBOL_COUNT
};

/* One step. CONSTANT: value. SYMBOL: index. LOAD: type, parameter `index`, byte `value`. */
struct kp_ab_op {
	uint8_t code, type;
	uint16_t index;
	uint32_t reserved;
	int64_t value;
};

#define KP_AB_STACK_MOST 32
#define KP_AB_PARAMETERS_MOST 64
#define KP_AB_PARAMETER_BYTES_MOST 32768

/* What an evaluation sees. */
struct kp_ab_view {
	const int64_t *symbols; /* by enum kp_ab_symbol */
	const void *const *parameters;
	const uint32_t *parameter_bytes;
	uint32_t parameter_count;
};

/* The double of a value, and back. */
double kp_ab_double(int64_t value);
int64_t kp_ab_bits(double value);
/* Whether code is sound: known steps, the stack within its bounds, one value left. */
bool kp_ab_code_check(const struct kp_ab_op *ops, size_t count);
/* Evaluates checked code. False: it fails, see above. */
bool kp_ab_evaluate(const struct kp_ab_op *ops, size_t count, const struct kp_ab_view *view,
		    int64_t *out);

#endif
