/* What the code of a rule can ask by name; see ab_code.h. */
#ifndef KP_TRACE_AB_SYMBOLS_H
#define KP_TRACE_AB_SYMBOLS_H

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

#endif
