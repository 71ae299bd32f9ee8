/* Postfix code: its check and its evaluation; see ab_code.h. No allocation, no state. */
#include "trace/ab_code.h"

#include <string.h>

static const uint8_t taken[KP_AB_OP_COUNT] = {
#define TAKEN(name, count) count,
	KP_AB_OPS(TAKEN)
#undef TAKEN
};

static const uint8_t load_bytes[KP_AB_LOAD_COUNT] = {
#define BYTES(NAME, name, bytes, is_float) bytes,
	KP_AB_LOADS(BYTES)
#undef BYTES
};

double kp_ab_double(int64_t value)
{
	double out;

	memcpy(&out, &value, sizeof(out));
	return out;
}

int64_t kp_ab_bits(double value)
{
	int64_t out;

	memcpy(&out, &value, sizeof(out));
	return out;
}

static bool is_sound(const struct kp_ab_op *op)
{
	if (op->code >= KP_AB_OP_COUNT)
		return false;
	if (op->code == KP_AB_OP_SYMBOL)
		return op->index < KP_AB_SYMBOL_COUNT;
	if (op->code != KP_AB_OP_LOAD)
		return true;
	return op->type < KP_AB_LOAD_COUNT && op->index < KP_AB_PARAMETERS_MOST && op->value >= 0 &&
	       op->value < KP_AB_PARAMETER_BYTES_MOST;
}

bool kp_ab_code_check(const struct kp_ab_op *ops, size_t count)
{
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_sound(&ops[i]) || depth < taken[ops[i].code])
			return false;
		depth = depth - taken[ops[i].code] + 1;
		if (depth > KP_AB_STACK_MOST)
			return false;
	}
	return depth == 1;
}

static bool load(const struct kp_ab_op *op, const struct kp_ab_view *view, int64_t *out)
{
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		int64_t i64;
		int16_t i16;
		int32_t i32;
		float f32;
	} raw = {.i64 = 0};
	size_t bytes = load_bytes[op->type];

	if (op->index >= view->parameter_count || !view->parameters[op->index] ||
	    (uint64_t)op->value + bytes > view->parameter_bytes[op->index])
		return false;
	memcpy(&raw, (const char *)view->parameters[op->index] + op->value, bytes);
	switch ((enum kp_ab_load)op->type) {
	case KP_AB_LOAD_I8:
		*out = raw.u8 < 128 ? raw.u8 : (int64_t)raw.u8 - 256;
		break;
	case KP_AB_LOAD_I16:
		*out = raw.i16;
		break;
	case KP_AB_LOAD_I32:
		*out = raw.i32;
		break;
	case KP_AB_LOAD_F32:
		*out = kp_ab_bits(raw.f32);
		break;
	default:
		*out = raw.i64;
		break;
	}
	return true;
}

static bool divide(int64_t a, int64_t b, int64_t *quotient, int64_t *rest)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	*quotient = a / b;
	*rest = a % b;
	return true;
}

/* Arithmetic that can fail. */
static bool compute(enum kp_ab_op_code code, int64_t a, int64_t b, int64_t *out)
{
	int64_t rest;

	switch (code) {
	case KP_AB_OP_ADD:
		return !__builtin_add_overflow(a, b, out);
	case KP_AB_OP_SUBTRACT:
		return !__builtin_sub_overflow(a, b, out);
	case KP_AB_OP_MULTIPLY:
		return !__builtin_mul_overflow(a, b, out);
	case KP_AB_OP_DIVIDE:
		return divide(a, b, out, &rest);
	case KP_AB_OP_REMAINDER:
		return divide(a, b, &rest, out);
	default: /* CEILDIV: of numbers that are not negative */
		if (a < 0 || b <= 0)
			return false;
		*out = a / b + (a % b != 0);
		return true;
	}
}

/* What cannot fail. */
static int64_t choose(enum kp_ab_op_code code, int64_t a, int64_t b)
{
	switch (code) {
	case KP_AB_OP_MIN:
		return a < b ? a : b;
	case KP_AB_OP_MAX:
		return a > b ? a : b;
	case KP_AB_OP_EQUAL:
		return a == b;
	case KP_AB_OP_LESS:
		return a < b;
	case KP_AB_OP_LESS_EQUAL:
		return a <= b;
	case KP_AB_OP_FLOAT_EQUAL:
		return kp_ab_double(a) == kp_ab_double(b);
	case KP_AB_OP_FLOAT_LESS:
		return kp_ab_double(a) < kp_ab_double(b);
	case KP_AB_OP_FLOAT_LESS_EQUAL:
		return kp_ab_double(a) <= kp_ab_double(b);
	case KP_AB_OP_AND:
		return a && b;
	default: /* OR */
		return a || b;
	}
}

static bool apply_one(enum kp_ab_op_code code, int64_t *value)
{
	if (code == KP_AB_OP_TO_FLOAT)
		*value = kp_ab_bits((double)*value);
	else if (code == KP_AB_OP_NOT)
		*value = !*value;
	else
		return !__builtin_sub_overflow((int64_t)0, *value, value);
	return true;
}

static bool push(const struct kp_ab_op *op, const struct kp_ab_view *view, int64_t *out)
{
	if (op->code == KP_AB_OP_LOAD)
		return load(op, view, out);
	*out = op->code == KP_AB_OP_SYMBOL ? view->symbols[op->index] : op->value;
	return true;
}

bool kp_ab_evaluate(const struct kp_ab_op *ops, size_t count, const struct kp_ab_view *view,
		    int64_t *out)
{
	int64_t stack[KP_AB_STACK_MOST] = {0};
	size_t depth = 0;
	bool good = true;

	for (size_t i = 0; i < count && good; i++) {
		enum kp_ab_op_code code = (enum kp_ab_op_code)ops[i].code;

		if (depth < taken[code] || depth == KP_AB_STACK_MOST) {
			good = false; /* never, of checked code */
		} else if (taken[code] == 0) {
			good = push(&ops[i], view, &stack[depth++]);
		} else if (taken[code] == 1) {
			good = apply_one(code, &stack[depth - 1]);
		} else {
			int64_t *a = &stack[depth - 2], b = stack[depth - 1];

			depth--;
			if (code >= KP_AB_OP_ADD &&
			    (code <= KP_AB_OP_REMAINDER || code == KP_AB_OP_CEILDIV))
				good = compute(code, *a, b, a);
			else
				*a = choose(code, *a, b);
		}
	}
	*out = good ? stack[0] : 0;
	return good;
}
