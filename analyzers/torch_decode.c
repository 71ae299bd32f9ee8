/*
 * One launch's parameters, read by the layout that its kernel has; see torch_launch.h. Every
 * number that is there twice is compared, so that another layout is seen as such.
 */
#include <string.h>

#include "analyzers/torch_decode.h"
#include "analyzers/torch_kernels.h"
#include "analyzers/torch_launch.h"
#include "analyzers/torch_tensor.h"

uint32_t kp_torch_load32(const void *from, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const unsigned char *)from + offset, sizeof(value));
	return value;
}

uint64_t kp_torch_load64(const void *from, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const unsigned char *)from + offset, sizeof(value));
	return value;
}

static uint8_t load8(const void *from, size_t offset)
{
	return ((const unsigned char *)from)[offset];
}

static float load_float(const void *from, size_t offset)
{
	float value;

	memcpy(&value, (const unsigned char *)from + offset, sizeof(value));
	return value;
}

static double half_to_double(uint16_t bits)
{
	uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
	double value = exponent ? 1024 + fraction : fraction;

	if (exponent == 31)
		value = fraction ? __builtin_nan("") : __builtin_inf();
	for (; exponent > 25 && exponent < 31; exponent--)
		value *= 2;
	for (exponent = exponent ? exponent : 1; exponent < 25; exponent++)
		value /= 2;
	return bits >> 15 ? -value : value;
}

/* NaN: of a type whose scalars are not read. */
static double load_value(const void *from, size_t offset, uint8_t type)
{
	uint16_t half;
	uint32_t wide;
	float value;

	switch (type) {
	case KP_TORCH_F32:
		return load_float(from, offset);
	case KP_TORCH_F16:
	case KP_TORCH_BF16:
		memcpy(&half, (const unsigned char *)from + offset, sizeof(half));
		wide = (uint32_t)half << 16;
		memcpy(&value, &wide, sizeof(value));
		return type == KP_TORCH_F16 ? half_to_double(half) : (double)value;
	case KP_TORCH_BOOL:
	case KP_TORCH_U8:
		return load8(from, offset);
	case KP_TORCH_I32:
		return (int32_t)kp_torch_load32(from, offset);
	case KP_TORCH_I64:
		return (double)(int64_t)kp_torch_load64(from, offset);
	default:
		return __builtin_nan("");
	}
}

/* ---- elementwise ---- */

static void set_scalars(const struct kp_torch_kind *kind, const void *functor,
			struct kp_torch_launch *out)
{
	for (int i = 0; i < 2; i++) {
		int8_t value = kind->functor->scalars[i].value;

		switch (kind->functor->scalars[i].kind) {
		case KP_TORCH_SCALAR_AT:
			out->scalars[i] = load_float(functor, (size_t)value);
			break;
		case KP_TORCH_SCALAR_OF:
			out->scalars[i] = load_value(functor, (size_t)value, kind->types[0]);
			break;
		case KP_TORCH_SCALAR_IS:
			out->scalars[i] = value;
			break;
		default:
			break;
		}
	}
}

/* Tensors by address, of the types that the function has. */
static void set_operands(const struct kp_torch_kind *kind, const void *addresses,
			 struct kp_torch_launch *out)
{
	uint8_t count = (uint8_t)strlen(kind->functor->tensors);

	out->op = kind->functor->op;
	out->outputs = 1;
	out->inputs = count - 1;
	out->compute = kind->types[count > 1];
	for (uint8_t i = 0; i < count; i++) {
		out->tensors[i].address = kp_torch_load64(addresses, 8UL * i);
		out->tensors[i].type = kind->types[i];
	}
}

static bool set_lengths(struct kp_torch_launch *out, uint32_t elements)
{
	for (uint8_t i = 0; i < out->outputs + out->inputs; i++) {
		struct kp_torch_tensor *tensor = &out->tensors[i];

		tensor->dims = 1;
		tensor->sizes[0] = elements;
		tensor->strides[0] = kp_torch_type_bytes(tensor->type);
	}
	return elements > 0 && elements <= INT32_MAX;
}

static bool decode_vectorized(const struct kp_torch_kind *kind, const void *const *params,
			      struct kp_torch_launch *out)
{
	set_operands(kind, params[2], out);
	set_scalars(kind, params[1], out);
	out->vector =
		kind->kernel->layout == KP_TORCH_LAYOUT_VECTORIZED ? (uint8_t)kind->numbers[0] : 1;
	return set_lengths(out, kp_torch_load32(params[0], 0));
}

/* Types that are known at run time only: each with the bytes that belong to it. */
static bool decode_cast(const struct kp_torch_kind *kind, const void *const *params,
			struct kp_torch_launch *out)
{
	uint8_t inputs;

	set_operands(kind, params[2], out);
	set_scalars(kind, params[1], out);
	inputs = out->inputs;
	for (uint8_t i = 0; i < inputs; i++) {
		uint8_t type = load8(params[5], i);

		if (kp_torch_load32(params[5], kp_torch_align(inputs, 4) + 4UL * i) !=
		    kp_torch_type_bytes(type))
			return false;
		out->tensors[1 + i].type = type;
	}
	out->tensors[0].type = load8(params[6], 0);
	return kp_torch_load32(params[6], 4) == kp_torch_type_bytes(out->tensors[0].type) &&
	       set_lengths(out, kp_torch_load32(params[0], 0));
}

/* A size, and what divides by it with a multiplication: the least shift, and its factor. */
static bool is_divider(const void *from, size_t offset)
{
	uint64_t size = kp_torch_load32(from, offset);
	uint32_t shift = 0;

	if (size == 0 || size > INT32_MAX)
		return false;
	while ((uint64_t)1 << shift < size)
		shift++;
	return kp_torch_load32(from, offset + 8) == shift &&
	       kp_torch_load32(from, offset + 4) ==
		       (uint32_t)(((((uint64_t)1 << shift) - size) << 32) / size + 1);
}

bool kp_torch_decode_calculator(const void *from, size_t offset, uint8_t first,
				struct kp_torch_tensor *const *tensors, uint8_t count)
{
	uint32_t dims = kp_torch_load32(from, offset);

	if (dims > KP_TORCH_DIMS - (uint32_t)first)
		return false;
	for (uint32_t i = 0; i < dims; i++) {
		size_t size = offset + 4 + 12UL * i;
		size_t strides = offset + KP_TORCH_CALCULATOR_STRIDES + 4UL * count * i;

		if (!is_divider(from, size))
			return false;
		for (uint8_t t = 0; t < count; t++) {
			tensors[t]->sizes[first + i] = kp_torch_load32(from, size);
			tensors[t]->strides[first + i] = kp_torch_load32(from, strides + 4UL * t);
			tensors[t]->dims = (uint8_t)(first + i + 1);
		}
	}
	return true;
}

static bool decode_strided(const struct kp_torch_kind *kind, const void *const *params,
			   struct kp_torch_launch *out)
{
	bool casts = kind->kernel->layout == KP_TORCH_LAYOUT_STRIDED_CAST;
	uint8_t count = (uint8_t)strlen(kind->functor->tensors);
	const struct kp_torch_closure closure = kp_torch_closure_of(
		count, kp_torch_functor_bytes(kind), kind->functor->align, casts);
	const unsigned char *from = params[1];
	struct kp_torch_tensor *tensors[KP_TORCH_TENSORS];

	set_operands(kind, from + closure.data, out);
	set_scalars(kind, from + closure.functor, out);
	for (uint8_t i = 0; i < count; i++) {
		tensors[i] = &out->tensors[i];
		if (casts)
			tensors[i]->type = load8(from, closure.types + i);
	}
	return kp_torch_decode_calculator(from, 0, 0, tensors, count) &&
	       kp_torch_tensor_elements(&out->tensors[0]) == kp_torch_load32(params[0], 0) &&
	       kp_torch_load32(params[0], 0) <= INT32_MAX;
}

/* ---- all ---- */

/* Every operand has a place and an extent; of norms, some may be absent. */
static bool is_sound(const struct kp_torch_launch *launch)
{
	bool may_lack = launch->op == KP_TORCH_LAYER_NORM || launch->op == KP_TORCH_RMS_NORM;

	for (uint8_t i = 0; i < launch->outputs + launch->inputs; i++) {
		const struct kp_torch_tensor *tensor = &launch->tensors[i];
		uint64_t begin, end;

		if (may_lack && tensor->address == 0)
			continue;
		if (kp_torch_type_bytes(tensor->type) == 0 ||
		    !kp_torch_tensor_range(tensor, &begin, &end))
			return false;
	}
	return true;
}

static bool read_layout(const struct kp_torch_kind *kind, const void *const *params,
			const uint32_t *grid, struct kp_torch_launch *out)
{
	switch (kind->kernel->layout) {
	case KP_TORCH_LAYOUT_VECTORIZED:
	case KP_TORCH_LAYOUT_UNROLLED:
		return decode_vectorized(kind, params, out);
	case KP_TORCH_LAYOUT_UNROLLED_CAST:
		return decode_cast(kind, params, out);
	case KP_TORCH_LAYOUT_STRIDED:
	case KP_TORCH_LAYOUT_STRIDED_CAST:
		return decode_strided(kind, params, out);
	default:
		return kp_torch_decode_rows(kind, params, grid, out);
	}
}

bool kp_torch_launch_decode(const struct kp_torch_kind *kind, const void *const *params,
			    const uint32_t grid[3], struct kp_torch_launch *out)
{
	memset(out, 0, sizeof(*out));
	if (!kind->kernel || !params)
		return false;
	for (uint8_t i = 0; i < kind->kernel->params; i++)
		if (!params[i])
			return false;
	out->op = kind->kernel->op;
	out->seen = kind->seen;
	out->vector = 1;
	return read_layout(kind, params, grid, out) && is_sound(out);
}
