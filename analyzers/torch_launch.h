/*
 * What a launch of one of PyTorch's own kernels does, told by its name and its parameters:
 * operation, operands with addresses, types and strides, and scalars. docs/torch-launches.md.
 *
 * Two steps, so that a launch path can keep the first by function: kp_torch_launch_classify()
 * reads the name and the sizes of the parameters, kp_torch_launch_decode() the bytes of one launch.
 * Both are pure: no allocation, no lock, time bounded by the length of the name and the tables.
 * What the tables do not know, or what is not as they say, is not decoded: false, never a guess.
 * Any bytes may be given, as long as every parameter has the size that was classified.
 */
#ifndef KP_ANALYZERS_TORCH_LAUNCH_H
#define KP_ANALYZERS_TORCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Dimensions after PyTorch has joined what it can; tensors, outputs included. More: not decoded. */
#define KP_TORCH_DIMS 6
#define KP_TORCH_TENSORS 6

/*
 * X(NAME, c10::ScalarType, bytes, mangled). Classes' mangled names are without the c10:: that
 * may be a substitution.
 */
#define KP_TORCH_TYPES(X)                                                                          \
	X(U8, 0, 1, "h")                                                                           \
	X(I8, 1, 1, "a")                                                                           \
	X(I16, 2, 2, "s")                                                                          \
	X(I32, 3, 4, "i")                                                                          \
	X(I64, 4, 8, "l")                                                                          \
	X(F16, 5, 2, "4Half")                                                                      \
	X(F32, 6, 4, "f")                                                                          \
	X(F64, 7, 8, "d")                                                                          \
	X(BOOL, 11, 1, "b")                                                                        \
	X(BF16, 15, 2, "8BFloat16")

enum kp_torch_type {
#define KP_TORCH_TYPE_ENUM(NAME, code, bytes, mangled) KP_TORCH_##NAME = (code),
	KP_TORCH_TYPES(KP_TORCH_TYPE_ENUM)
#undef KP_TORCH_TYPE_ENUM
		KP_TORCH_OPAQUE = 192 /* + bytes of an element, which is only moved */
};

/* X(NAME, key, scalars, what it computes of its inputs a, b, c and scalars s, t) */
#define KP_TORCH_OPS(X)                                                                            \
	X(NONE, "none", 0, "")                                                                     \
	X(ADD, "add", 1, "a + s b")                                                                \
	X(ADD_SCALAR, "add scalar", 2, "a + t s")                                                  \
	X(SCALAR_ADD, "scalar add", 2, "s + t a")                                                  \
	X(MUL, "mul", 0, "a b")                                                                    \
	X(MUL_SCALAR, "mul scalar", 1, "a s")                                                      \
	X(DIV, "div", 0, "a / b")                                                                  \
	X(POW, "pow", 1, "a to the power of s")                                                    \
	X(RSQRT, "rsqrt", 0, "1 / square root of a")                                               \
	X(SQRT, "sqrt", 0, "square root of a")                                                     \
	X(RECIPROCAL, "reciprocal", 0, "1 / a")                                                    \
	X(NEG, "neg", 0, "-a")                                                                     \
	X(ABS, "abs", 0, "|a|")                                                                    \
	X(EXP, "exp", 0, "e to the power of a")                                                    \
	X(LOG, "log", 0, "natural logarithm of a")                                                 \
	X(SIN, "sin", 0, "sine of a")                                                              \
	X(COS, "cos", 0, "cosine of a")                                                            \
	X(TANH, "tanh", 0, "hyperbolic tangent of a")                                              \
	X(SIGMOID, "sigmoid", 0, "1 / (1 + e to the power of -a)")                                 \
	X(SILU, "silu", 0, "a sigmoid(a)")                                                         \
	X(GELU, "gelu", 0, "a Phi(a), by erf")                                                     \
	X(GELU_TANH, "gelu tanh", 0, "a Phi(a), by tanh")                                          \
	X(COPY, "copy", 0, "a, as the type of the output")                                         \
	X(FILL, "fill", 1, "s")                                                                    \
	X(WHERE, "where", 0, "b where a, else c")                                                  \
	X(MASKED_FILL, "masked fill", 1, "s where b, else a")                                      \
	X(ADDCMUL, "addcmul", 1, "a + s b c")                                                      \
	X(MEAN, "mean", 1, "s times the sum over the first `reduced` dimensions")                  \
	X(SUM, "sum", 0, "sum over the first `reduced` dimensions")                                \
	X(AMAX, "amax", 0, "largest over the first `reduced` dimensions")                          \
	X(SOFTMAX, "softmax", 0, "softmax over the first dimension")                               \
	X(LOG_SOFTMAX, "log softmax", 0, "its logarithm")                                          \
	X(LAYER_NORM, "layer norm", 1, "a normalised over the first dimension, eps s, b, c")       \
	X(RMS_NORM, "rms norm", 1, "a over its root mean square, eps s, times b")                  \
	X(CAT, "cat", 0, "inputs, one behind the other along dimension `along`")                   \
	X(GATHER, "gather rows", 0, "rows of a, by the numbers b")

enum kp_torch_op {
#define KP_TORCH_OP_ENUM(NAME, key, scalars, what) KP_TORCH_##NAME,
	KP_TORCH_OPS(KP_TORCH_OP_ENUM)
#undef KP_TORCH_OP_ENUM
		KP_TORCH_OP_COUNT
};

/* How well a layout or a function is known; the least of a launch's parts holds for the whole. */
enum kp_torch_seen {
	KP_TORCH_SEEN_HOST, /* in what PyTorch's own host code hands to a runtime without a GPU */
	KP_TORCH_SEEN_GPU   /* in launches on a GPU */
};

/* One operand. Dimensions fastest first, in elements; strides in bytes, 0 where it is broadcast. */
struct kp_torch_tensor {
	uint64_t address; /* 0: there is none */
	uint8_t type, dims;
	uint32_t sizes[KP_TORCH_DIMS];
	uint64_t strides[KP_TORCH_DIMS];
};

struct kp_torch_launch {
	uint8_t op, seen;
	uint8_t compute;         /* the type that the function takes; COPY's is one of both */
	uint8_t vector;          /* elements in one access; 1: each by itself, or not known */
	uint8_t outputs, inputs; /* outputs come first among the tensors */
	uint8_t reduced, along;  /* of reductions and CAT */
	double scalars[2];
	struct kp_torch_tensor tensors[KP_TORCH_TENSORS];
};

/* What a function is, to be kept. Zero: of no use. */
struct kp_torch_kind {
	const struct kp_torch_kernel *kernel;
	const struct kp_torch_functor *functor;
	uint8_t seen;
	uint16_t numbers[4];             /* that the name has */
	uint8_t types[KP_TORCH_TENSORS]; /* without a function: of the output and of the input */
};

/* `name` is the function's, mangled; `sizes`, in bytes, are those of all of its parameters. */
bool kp_torch_launch_classify(const char *name, const size_t *sizes, size_t count,
			      struct kp_torch_kind *out);

/* Its enum kp_torch_op. */
uint8_t kp_torch_kind_op(const struct kp_torch_kind *kind);
/* By the name alone, where sizes are not at hand; NONE: it is not known. */
uint8_t kp_torch_name_op(const char *name);

/* `grid` may be NULL: what has its rows there is not decoded then. Parameters may be unaligned. */
bool kp_torch_launch_decode(const struct kp_torch_kind *kind, const void *const *params,
			    const uint32_t grid[3], struct kp_torch_launch *out);

/* Both, without a grid. */
bool kp_torch_launch_read(const char *name, const void *const *params, const size_t *sizes,
			  size_t count, struct kp_torch_launch *out);

#endif
