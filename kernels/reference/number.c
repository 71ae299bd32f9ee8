/* bf16, fp16, fp32 and e4m3 by the description of their bits, and int8; see number.h. */
#include "kernels/reference/number.h"

#include <math.h>
#include <string.h>

/* Of a sign, `exponent` and `mantissa` bits. */
static const struct format {
	int exponent, mantissa, bias;
	double most;       /* the largest finite value */
	bool has_infinity; /* else one pattern is NaN, and what is too large becomes `most` */
} formats[KP_DTYPE_COUNT] = {
	[KP_DTYPE_BF16] = {8, 7, 127, 0x1.fep127, true},
	[KP_DTYPE_FP16] = {5, 10, 15, 65504, true},
	[KP_DTYPE_FP32] = {8, 23, 127, 0x1.fffffep127, true},
	[KP_DTYPE_E4M3] = {4, 3, 7, 448, false},
};

static uint32_t bits_at(const void *array, enum kp_dtype dtype, int64_t at)
{
	size_t bytes = kp_dtype_bytes(dtype);
	uint32_t bits = 0;

	memcpy(&bits, (const char *)array + at * (int64_t)bytes, bytes);
	return bits;
}

double kp_number_load(const void *array, enum kp_dtype dtype, int64_t at)
{
	const struct format *format = &formats[dtype];
	uint32_t bits = bits_at(array, dtype, at), ones = (1U << format->exponent) - 1;
	uint32_t mantissa = bits & ((1U << format->mantissa) - 1);
	uint32_t exponent = bits >> format->mantissa & ones;
	double sign = bits >> (format->mantissa + format->exponent) & 1 ? -1 : 1;

	if (dtype == KP_DTYPE_INT8)
		return (int8_t)bits;
	if (exponent == ones && format->has_infinity)
		return mantissa ? NAN : sign * INFINITY;
	if (exponent == ones && mantissa == (1U << format->mantissa) - 1)
		return NAN;
	if (exponent == 0)
		return sign * ldexp(mantissa, 1 - format->bias - format->mantissa);
	return sign * ldexp(mantissa | 1U << format->mantissa,
			    (int)exponent - format->bias - format->mantissa);
}

double kp_number_ulp(enum kp_dtype dtype, double value)
{
	const struct format *format = &formats[dtype];
	int exponent = 1 - format->bias;

	if (dtype == KP_DTYPE_INT8)
		return 1;
	if (value != 0 && isfinite(value) && ilogb(value) > exponent)
		exponent = ilogb(value);
	if (fabs(value) > format->most)
		exponent = ilogb(format->most);
	return ldexp(1, exponent - format->mantissa);
}

double kp_number_rounded(enum kp_dtype dtype, double value)
{
	const struct format *format = &formats[dtype];
	double ulp = kp_number_ulp(dtype, value), rounded;

	if (dtype == KP_DTYPE_INT8)
		return isnan(value) ? 0 : nearbyint(fmax(-128, fmin(127, value)));
	if (isnan(value) || (isinf(value) && format->has_infinity))
		return value;
	if (isinf(value))
		return copysign(format->most, value);
	rounded = nearbyint(value / ulp) * ulp;
	if (fabs(rounded) <= format->most)
		return rounded;
	return copysign(format->has_infinity ? INFINITY : format->most, value);
}

static uint32_t bits_of(const struct format *format, double rounded)
{
	uint32_t sign = signbit(rounded) ? 1U << (format->exponent + format->mantissa) : 0;
	uint32_t ones = (1U << format->exponent) - 1;
	double size = fabs(rounded);
	int exponent = size > 0 && isfinite(size) ? ilogb(size) : 0;

	if (isnan(rounded))
		return sign | ones << format->mantissa | ((1U << format->mantissa) - 1);
	if (isinf(rounded))
		return sign | ones << format->mantissa;
	if (size < ldexp(1, 1 - format->bias))
		return sign | (uint32_t)ldexp(size, format->bias - 1 + format->mantissa);
	return sign | ((uint32_t)(exponent + format->bias) << format->mantissa) |
	       ((uint32_t)ldexp(size, format->mantissa - exponent) &
		((1U << format->mantissa) - 1));
}

void kp_number_store(void *array, enum kp_dtype dtype, int64_t at, double value)
{
	size_t bytes = kp_dtype_bytes(dtype);
	double rounded = kp_number_rounded(dtype, value);
	uint32_t bits = dtype == KP_DTYPE_INT8 ? (uint32_t)(int32_t)rounded
					       : bits_of(&formats[dtype], rounded);

	memcpy((char *)array + at * (int64_t)bytes, &bits, bytes);
}
