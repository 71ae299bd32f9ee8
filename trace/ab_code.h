/*
 * Expressions of A/B rules as postfix code: what the launcher compiles and the program evaluates at
 * its launches, without allocation.
 *
 * A value is 64 bits: a whole number, or a double's bits. The compiler knows which is which and
 * never mixes them. An evaluation fails where a load lies outside of its parameter, at a division
 * by zero and at an overflow: then the rule does not apply. Nothing is skipped: both sides of &&
 * and || are evaluated.
 */
#ifndef KP_TRACE_AB_CODE_H
#define KP_TRACE_AB_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ab_symbols.h"

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
