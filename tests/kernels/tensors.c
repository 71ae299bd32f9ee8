/* Arrays and comparisons for tests of kernels; see tensors.h. */
#include "tests/kernels/tensors.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/launch.h"

#define FAILURES_SHOWN 20

static struct {
	uint64_t random;
	unsigned long checks, failures;
	char name[256];
} state = {.random = 0x9e3779b97f4a7c15U};

static uint64_t next_random(void)
{
	state.random ^= state.random << 13;
	state.random ^= state.random >> 7;
	state.random ^= state.random << 17;
	return state.random;
}

uint32_t kp_random_below(uint32_t limit)
{
	return (uint32_t)(next_random() >> 16) % limit;
}

double kp_random_normal(void)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += (double)(next_random() >> 11) * 0x1p-53;
	return sum - 6;
}

static size_t element(const struct kp_tensor *tensor, uint32_t plane, uint32_t row, uint32_t column)
{
	return (size_t)(plane * tensor->plane + row * tensor->row + column);
}

struct kp_tensor kp_tensor_make(enum kp_dtype dtype, uint32_t planes, uint32_t rows,
				uint32_t columns, uint32_t gap, uint32_t shift)
{
	struct kp_tensor out = {dtype, planes, rows, columns, 0, columns + gap, NULL, NULL, 0};
	size_t count;

	out.plane = rows * out.row + gap;
	count = planes && rows && columns ? element(&out, planes - 1, rows - 1, columns - 1) + 1
					  : 0;
	out.bytes = (count + shift) * kp_dtype_bytes(dtype);
	/* No element lies behind the last. */
	out.block = kp_test_alloc(out.bytes);
	memset(out.block, KP_POISON_BYTE, out.bytes);
	out.data = (char *)out.block + shift * kp_dtype_bytes(dtype);
	return out;
}

void kp_tensor_free(struct kp_tensor *tensor)
{
	kp_test_free(tensor->block);
	memset(tensor, 0, sizeof(*tensor));
}

struct kp_tensor kp_tensor_copy(const struct kp_tensor *tensor)
{
	struct kp_tensor out = *tensor;

	out.block = kp_test_alloc(tensor->bytes);
	memcpy(out.block, tensor->block, tensor->bytes);
	out.data = (char *)out.block + ((char *)tensor->data - (char *)tensor->block);
	return out;
}

struct kp_tensor kp_tensor_make_indices(uint32_t rows, bool is_64)
{
	uint32_t words = is_64 ? 2 : 1;

	return kp_tensor_make(KP_DTYPE_FP32, 1, rows, words, words, 0);
}

int64_t kp_tensor_index(const struct kp_tensor *indices, uint32_t row)
{
	const int32_t *at = (const int32_t *)indices->data + row * indices->row;
	int64_t wide;

	if (indices->columns == 1)
		return *at;
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

unsigned kp_test_cases(unsigned wanted)
{
	const char *text = getenv("KP_TEST_CASES");
	unsigned long most = text ? strtoul(text, NULL, 10) : wanted;

	return most < wanted ? (unsigned)most : wanted;
}

static double special(double value)
{
	static const double values[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e-7, -60000};

	return kp_random_below(40) ? value
				   : values[kp_random_below(sizeof(values) / sizeof(values[0]))];
}

void kp_tensor_fill(struct kp_tensor *tensor, enum kp_fill fill, double scale)
{
	static const double factors[KP_FILLS] = {1, 0x1p13, 0x1p-12, 1};

	for (uint32_t plane = 0; plane < tensor->planes; plane++)
		for (uint32_t row = 0; row < tensor->rows; row++)
			for (uint32_t column = 0; column < tensor->columns; column++) {
				double value = kp_random_normal() * scale * factors[fill];

				if (fill == KP_FILL_SPECIAL)
					value = special(value);
				kp_number_store(tensor->data, tensor->dtype,
						(int64_t)element(tensor, plane, row, column),
						value);
			}
}

double kp_tensor_get(const struct kp_tensor *tensor, uint32_t plane, uint32_t row, uint32_t column)
{
	return kp_number_load(tensor->data, tensor->dtype,
			      (int64_t)element(tensor, plane, row, column));
}

void kp_case(const char *format, ...)
{
	va_list words;

	va_start(words, format);
	vsnprintf(state.name, sizeof(state.name), format, words);
	va_end(words);
}

void kp_expect(bool is_so, const char *format, ...)
{
	va_list words;

	state.checks++;
	if (is_so || state.failures++ >= FAILURES_SHOWN)
		return;
	fprintf(stderr, "%s: ", state.name);
	va_start(words, format);
	vfprintf(stderr, format, words);
	va_end(words);
	fputc('\n', stderr);
}

bool kp_is_close(double stored, double reference, enum kp_dtype dtype, double units, double slack)
{
	double rounded = kp_number_rounded(dtype, reference);

	if (isnan(reference) || isnan(stored))
		return isnan(reference) && isnan(stored);
	if (isinf(rounded) || isinf(stored))
		return rounded == stored ||
		       fabs(reference) >= 0.99 * fabs(kp_number_rounded(dtype, 65504));
	return fabs(stored - reference) <= (0.5 + units) * kp_number_ulp(dtype, reference) + slack;
}

/* Whether an element lies in no row. */
static bool is_gap(const struct kp_tensor *tensor, size_t at)
{
	size_t plane, row;

	plane = at / (size_t)tensor->plane;
	row = at % (size_t)tensor->plane / (size_t)tensor->row;
	return plane >= tensor->planes || row >= tensor->rows ||
	       at % (size_t)tensor->plane % (size_t)tensor->row >= tensor->columns;
}

void kp_expect_gaps(const struct kp_tensor *tensor, const char *name)
{
	size_t bytes = kp_dtype_bytes(tensor->dtype), count;
	const unsigned char *data = tensor->data;

	for (const unsigned char *at = tensor->block; at < data; at++)
		kp_expect(*at == KP_POISON_BYTE, "%s: written before the first element", name);
	if (tensor->plane == 0 || tensor->row == 0)
		return;
	count = (tensor->bytes - (size_t)(data - (unsigned char *)tensor->block)) / bytes;
	for (size_t i = 0; i < count; i++)
		for (size_t byte = 0; is_gap(tensor, i) && byte < bytes; byte++)
			kp_expect(data[i * bytes + byte] == KP_POISON_BYTE,
				  "%s: written between rows, at %zu", name, i);
}

void kp_expect_same(const struct kp_tensor *a, const struct kp_tensor *b, const char *name)
{
	kp_expect(a->bytes == b->bytes && memcmp(a->block, b->block, a->bytes) == 0,
		  "%s: other bytes", name);
}

int kp_checks_end(void)
{
	printf("%lu checks, %lu failures\n", state.checks, state.failures);
	return state.failures || !state.checks;
}
