/*
 * See torch_kernels.h. Launches are written here, and read here, by offsets of their own: what the
 * tables of analyzers/ have wrong shows as another result. Every kernel reads all before it writes.
 */
#include "tests/fake_gpu/programs/torch_kernels.h"

#include <stdbool.h>
#include <string.h>

#include "tests/fake_gpu/programs/torch_values.h"

/* Of OffsetCalculator, a list of 25 dimensions; of ReduceOp; of the closure of a strided kernel. */
enum { SIZES = 4, STRIDES = 304, BF16 = 15, F32 = 6 };
enum { CONFIG = 8, REDUCED = 72, KEPT = 476, ENDS = 984 };
enum { CLOSURE_DATA = 608 };

static uint64_t get64(const void *from, size_t at)
{
	uint64_t value;

	memcpy(&value, (const char *)from + at, sizeof(value));
	return value;
}

static uint32_t get32(const void *from, size_t at)
{
	uint32_t value;

	memcpy(&value, (const char *)from + at, sizeof(value));
	return value;
}

static float get_float(const void *from, size_t at)
{
	float value;

	memcpy(&value, (const char *)from + at, sizeof(value));
	return value;
}

static void put(void *to, size_t at, const void *value, size_t bytes)
{
	memcpy((char *)to + at, value, bytes);
}

static void put32(void *to, size_t at, uint32_t value)
{
	put(to, at, &value, sizeof(value));
}

static void put64(void *to, size_t at, uint64_t value)
{
	put(to, at, &value, sizeof(value));
}

static void put_float(void *to, size_t at, float value)
{
	put(to, at, &value, sizeof(value));
}

/* ---- what they compute ---- */

static void *memory(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static float load(uint64_t address, bool narrow, uint32_t i)
{
	float value;

	if (narrow)
		return bf16_load(memory(address), i);
	memcpy(&value, (const char *)memory(address) + (size_t)4 * i, sizeof(value));
	return value;
}

static void store_all(uint64_t address, bool narrow, const float *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (narrow)
			bf16_store(memory(address), i, values[i]);
		else
			memcpy((char *)memory(address) + (size_t)4 * i, &values[i], 4);
}

static uint32_t limited(uint32_t count)
{
	return count < TORCH_ELEMENTS ? count : TORCH_ELEMENTS;
}

/* (n, function, addresses) of one or two operands, all of one type. */
static void compute_plain(void **a, bool narrow, bool two,
			  float (*function)(float, float, const void *))
{
	uint32_t count = limited(get32(a[0], 0));
	float results[TORCH_ELEMENTS];

	for (uint32_t i = 0; i < count; i++)
		results[i] = function(load(get64(a[2], 8), narrow, i),
				      two ? load(get64(a[2], 16), narrow, i) : 0, a[1]);
	store_all(get64(a[2], 0), narrow, results, count);
}

static float square(float x, float unused, const void *function)
{
	(void)unused, (void)function;
	return x * x;
}

static float add_scalar(float x, float unused, const void *function)
{
	(void)unused;
	return x + get_float(function, 4) * get_float(function, 0);
}

static float rsqrt_of(float x, float unused, const void *function)
{
	(void)unused, (void)function;
	return torch_rsqrt(x);
}

static float add(float x, float y, const void *function)
{
	return torch_add(x, y, get_float(function, 0));
}

static float silu(float x, float unused, const void *function)
{
	(void)unused, (void)function;
	return torch_silu(x);
}

static float times(float x, float y, const void *function)
{
	(void)function;
	return x * y;
}

#define PLAIN(name, narrow, two, function)                                                         \
	static void name(const uint32_t grid[3], void **a)                                         \
	{                                                                                          \
		(void)grid;                                                                        \
		compute_plain(a, narrow, two, function);                                           \
	}
PLAIN(compute_square, false, false, square)
PLAIN(compute_add_eps, false, false, add_scalar)
PLAIN(compute_rsqrt, false, false, rsqrt_of)
PLAIN(compute_add, true, true, add)
PLAIN(compute_silu, true, false, silu)
PLAIN(compute_mul, true, true, times)

/* Types of the operand and of the result are numbers among the parameters, or known. */
static void compute_cast(void **a, bool from_narrow, bool to_narrow)
{
	uint32_t count = limited(get32(a[0], 0));
	float results[TORCH_ELEMENTS];

	for (uint32_t i = 0; i < count; i++)
		results[i] = load(get64(a[2], 8), from_narrow, i);
	store_all(get64(a[2], 0), to_narrow, results, count);
}

static void compute_widen(const uint32_t grid[3], void **a)
{
	(void)grid;
	compute_cast(a, *(const unsigned char *)a[5] == BF16, *(const unsigned char *)a[6] == BF16);
}

static void compute_narrow(const uint32_t grid[3], void **a)
{
	(void)grid;
	compute_cast(a, false, true);
}

static void compute_mean(const uint32_t grid[3], void **a)
{
	const unsigned char *from = a[0];
	uint32_t columns = get32(from, REDUCED + SIZES), rows = get32(from, KEPT + SIZES);
	float results[TORCH_ELEMENTS], values[TORCH_ELEMENTS];

	(void)grid;
	for (uint32_t row = 0; row < rows && columns * rows <= TORCH_ELEMENTS; row++) {
		for (uint32_t i = 0; i < columns; i++)
			values[i] = load(get64(from, ENDS) +
						 (uint64_t)row * get32(from, KEPT + STRIDES + 4),
					 false, i);
		results[row] = torch_mean(values, columns, get_float(from, 0));
	}
	store_all(get64(from, ENDS + 8), false, results, rows < TORCH_ELEMENTS ? rows : 0);
}

/* Two dimensions, three operands. */
static void compute_strided(void **a, bool narrow)
{
	const unsigned char *from = a[1];
	uint32_t columns = get32(from, SIZES), rows = get32(from, SIZES + 12),
		 size = narrow ? 2 : 4;
	float results[TORCH_ELEMENTS];

	if (columns * rows > TORCH_ELEMENTS)
		return;
	for (uint32_t i = 0; i < rows * columns; i++) {
		float values[2];

		for (uint32_t k = 1; k <= 2; k++) {
			uint32_t at = i % columns * get32(from, STRIDES + 4 * k) +
				      i / columns * get32(from, STRIDES + 12 + 4 * k);

			values[k - 1] =
				load(get64(from, CLOSURE_DATA + (size_t)8 * k), narrow, at / size);
		}
		results[i] = values[0] * values[1];
	}
	store_all(get64(from, CLOSURE_DATA), narrow, results, rows * columns);
}

static void compute_mul_rows(const uint32_t grid[3], void **a)
{
	(void)grid;
	compute_strided(a, false);
}

static void compute_mul_columns(const uint32_t grid[3], void **a)
{
	(void)grid;
	compute_strided(a, true);
}

/* (to, from, bytes) */
static void compute_shift(const uint32_t grid[3], void **a)
{
	unsigned char bytes[4 * TORCH_ELEMENTS];
	uint32_t count = get32(a[2], 0) < sizeof(bytes) ? get32(a[2], 0) : sizeof(bytes);

	(void)grid;
	memcpy(bytes, memory(get64(a[1], 0)), count);
	for (uint32_t i = 0; i < count; i += 2)
		bytes[i] ^= 0x15;
	memcpy(memory(get64(a[0], 0)), bytes, count);
}

const struct kp_fake_kernel torch_kernels[TORCH_KERNEL_COUNT] = {
#define KERNEL(kernel, function, text, ...)                                                        \
	[TORCH_##kernel] = {.name = text,                                                          \
			    .duration_ns = 100,                                                    \
			    .compute = function,                                                   \
			    .parameter_count = sizeof((uint32_t[]){__VA_ARGS__}) / 4,              \
			    .parameter_bytes = {__VA_ARGS__}},
#include "tests/fake_gpu/programs/torch_kernels.def"
#undef KERNEL
};

/* ---- their parameters ---- */

/* A size, and what divides by it. */
static void put_size(unsigned char *to, size_t at, uint32_t size)
{
	uint32_t shift = 0;

	while (1ULL << shift < size)
		shift++;
	put32(to, at, size);
	put32(to, at + 4, (uint32_t)((((1ULL << shift) - size) << 32) / size + 1));
	put32(to, at + 8, shift);
}

static void make_plain(const struct torch_work *work, size_t operands, struct torch_call *out)
{
	put32(out->bytes[0], 0, work->rows * work->columns);
	for (size_t i = 0; i < operands; i++)
		put64(out->bytes[2], 8 * i, work->operands[i]);
}

static void make_widen(const struct torch_work *work, struct torch_call *out)
{
	make_plain(work, 2, out);
	out->bytes[5][0] = BF16;
	put32(out->bytes[5], 4, 2);
	out->bytes[6][0] = F32;
	put32(out->bytes[6], 4, 4);
}

static void make_mean(const struct torch_work *work, struct torch_call *out)
{
	unsigned char *to = out->bytes[0];

	put_float(to, 0, 1.0f / (float)work->columns);
	put32(to, CONFIG, 4);
	put32(to, CONFIG + 4, work->columns);
	put32(to, CONFIG + 8, work->rows);
	put32(to, CONFIG + 20, 1);
	put32(to, REDUCED, 1);
	put_size(to, REDUCED + SIZES, work->columns);
	put32(to, REDUCED + STRIDES, 4);
	put32(to, KEPT, 1);
	put_size(to, KEPT + SIZES, work->rows);
	put32(to, KEPT + STRIDES, 4);
	put32(to, KEPT + STRIDES + 4, 4 * work->columns);
	put64(to, ENDS, work->operands[1]);
	put64(to, ENDS + 8, work->operands[0]);
	to[ENDS + 57] = 1;
	put32(to, ENDS + 60, 1);
}

/* The last operand has one number a row, or one a column. */
static void make_strided(const struct torch_work *work, bool of_rows, struct torch_call *out)
{
	unsigned char *to = out->bytes[1];
	uint32_t bytes = of_rows ? 4 : 2;

	put32(out->bytes[0], 0, work->rows * work->columns);
	put32(to, 0, 2);
	put_size(to, SIZES, work->columns);
	put_size(to, SIZES + 12, work->rows);
	for (uint32_t i = 0; i < 2; i++) {
		put32(to, STRIDES + 4 * i, bytes);
		put32(to, STRIDES + 12 + 4 * i, bytes * work->columns);
	}
	put32(to, STRIDES + 8, of_rows ? 0 : bytes);
	put32(to, STRIDES + 20, of_rows ? bytes : 0);
	for (size_t i = 0; i < 3; i++)
		put64(to, CLOSURE_DATA + 8 * i, work->operands[i]);
}

static void make_shift(const struct torch_work *work, struct torch_call *out)
{
	put64(out->bytes[0], 0, work->operands[0]);
	put64(out->bytes[1], 0, work->operands[1]);
	put32(out->bytes[2], 0, 2 * work->rows * work->columns);
}

void torch_call_make(const struct torch_work *work, struct torch_call *out)
{
	memset(out, 0, sizeof(*out));
	for (int i = 0; i < TORCH_PARAMS; i++)
		out->parameters[i] = out->bytes[i];
	switch (work->kernel) {
	case TORCH_WIDEN:
		make_widen(work, out);
		break;
	case TORCH_MEAN:
		make_mean(work, out);
		break;
	case TORCH_MUL_ROWS:
	case TORCH_MUL_COLUMNS:
		make_strided(work, work->kernel == TORCH_MUL_ROWS, out);
		break;
	case TORCH_SHIFT:
		make_shift(work, out);
		break;
	case TORCH_ADD:
	case TORCH_MUL:
		put_float(out->bytes[1], 0, work->kernel == TORCH_ADD ? 1 : 0);
		make_plain(work, 3, out);
		break;
	default:
		put_float(out->bytes[1], 0, work->scalar);
		put_float(out->bytes[1], 4, 1);
		make_plain(work, 2, out);
	}
}
