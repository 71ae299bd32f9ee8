/* Sizes and contents of an operator's buffers, and its reference; see bench_buffers.h. */
#include "profiler/bench_buffers.h"

#include <math.h>
#include <string.h>

#include "kernels/reference/number.h"

#define ALIGNED 256U      /* an address that is aligned to anything, for plans without memory */
#define SCALE_MOST 0x1p-6 /* the largest scale */
#define INT8_SPREAD 32.0  /* the standard deviation of int8 */
#define SLACK 0x1p-16     /* of the largest of a row: fp32 against float64 */
#define PRIME 2654435761U

bool kp_bench_is_shared(const struct kp_bench_buffer *buffer)
{
	return buffer->role == KP_BENCH_WEIGHT || buffer->role == KP_BENCH_TABLE ||
	       buffer->role == KP_BENCH_WORKSPACE;
}

bool kp_bench_is_output(const struct kp_bench_buffer *buffer)
{
	return buffer->role == KP_BENCH_OUTPUT || buffer->role == KP_BENCH_WORKSPACE ||
	       kp_bench_is_checked(buffer);
}

bool kp_bench_is_checked(const struct kp_bench_buffer *buffer)
{
	return buffer->role == KP_BENCH_CHECKED || buffer->role == KP_BENCH_INDICES;
}

bool kp_bench_is_whole(const struct kp_bench_buffer *buffer)
{
	return buffer->role == KP_BENCH_PAGES;
}

uint64_t kp_bench_unit_bytes(const struct kp_bench_buffer *buffer)
{
	return buffer->elements * buffer->element_bytes;
}

uint64_t kp_bench_buffer_bytes(const struct kp_bench_buffers *buffers, size_t which)
{
	const struct kp_bench_buffer *buffer = &buffers->layout.buffers[which];
	uint64_t units = kp_bench_is_shared(buffer) ? 1 : buffers->units;

	return kp_bench_unit_bytes(buffer) * units * buffer->planes;
}

/* A launch reads of a table what its positions say, at most a row each. */
static uint64_t moved(const struct kp_bench_buffers *buffers, size_t which)
{
	const struct kp_bench_buffer *buffer = &buffers->layout.buffers[which];
	uint64_t bytes = kp_bench_buffer_bytes(buffers, which), units = buffers->units;

	if (buffer->role == KP_BENCH_WORKSPACE)
		return 0;
	if (buffer->role == KP_BENCH_TABLE && units < KP_BENCH_TABLE_POSITIONS)
		return bytes / KP_BENCH_TABLE_POSITIONS * units;
	if (buffer->by_length)
		return bytes / units / buffers->shape.keys * kp_bench_lengths(&buffers->shape);
	return bytes;
}

/* A call whose buffers are nowhere, but aligned. */
static struct kp_bench_call call_of(const struct kp_bench_buffers *buffers,
				    void *pointers[KP_BENCH_BUFFERS_MOST])
{
	for (size_t i = 0; i < KP_BENCH_BUFFERS_MOST; i++)
		pointers[i] = (void *)(uintptr_t)ALIGNED;
	return (struct kp_bench_call){buffers->shape, buffers->dtype, pointers, false, NULL};
}

const char *kp_bench_buffers_init(struct kp_bench_buffers *out,
				  const struct kp_bench_operator *operator,
				  const struct kp_bench_shape * shape,
				  const struct kp_kernel_device *device)
{
	void *pointers[KP_BENCH_BUFFERS_MOST];
	struct kp_bench_call call;
	const char *trouble;

	memset(out, 0, sizeof(*out));
	out->operator= operator;
	out->form = kp_bench_form_of(operator);
	out->shape = *shape;
	out->dtype = KP_DTYPE_BF16;
	out->units = kp_bench_units(out->form, shape);
	call = call_of(out, pointers);
	trouble = operator->trouble ? operator->trouble(&call) : NULL;
	if (trouble)
		return trouble;
	operator->layout(shape, &out->layout);
	for (size_t i = 0; i < out->layout.count; i++) {
		if (out->layout.buffers[i].role == KP_BENCH_WORKSPACE)
			out->layout.buffers[i].elements = operator->workspace(&call, device);
		out->moved_bytes += moved(out, i);
	}
	return NULL;
}

struct kp_bench_buffers kp_bench_buffers_of(const struct kp_bench_buffers *all, uint32_t units)
{
	struct kp_bench_buffers some = *all;

	some.units = units;
	kp_bench_size_set(all->form, &some.shape, all->form->unit, units);
	return some;
}

/* ---- contents ---- */

uint64_t kp_bench_fill_bytes(const struct kp_bench_buffers *buffers, size_t which)
{
	enum kp_bench_role role = buffers->layout.buffers[which].role;
	uint64_t bytes = kp_bench_buffer_bytes(buffers, which);
	bool is_all = role == KP_BENCH_SLOTS || role == KP_BENCH_LENGTHS || role == KP_BENCH_PAGES;

	return is_all || bytes < KP_BENCH_PATTERN_BYTES ? bytes : KP_BENCH_PATTERN_BYTES;
}

static double random_number(uint64_t *state)
{
	double sum = 0;

	for (int i = 0; i < 4; i++) {
		*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
		sum += (double)(*state >> 33) * 0x1p-31;
	}
	return (sum - 2) * 1.7; /* near enough to a normal distribution of 1 */
}

static void fill_numbers(enum kp_dtype dtype, uint64_t seed, void *host, uint64_t bytes)
{
	double factor = dtype == KP_DTYPE_INT8 ? INT8_SPREAD : 1;
	uint64_t state = seed;

	for (uint64_t i = 0; i < bytes / kp_dtype_bytes(dtype); i++)
		kp_number_store(host, dtype, (int64_t)i, factor * random_number(&state));
}

static void fill_scales(float *scales, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		scales[i] = (float)((i * PRIME % 1024 + 1) / 1024.0 * SCALE_MOST);
}

static void fill_uniforms(float *numbers, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		numbers[i] = (float)((i + 1) * PRIME % (1U << 24)) * 0x1p-24F;
}

/* Page j of sequence s: pages of all sequences take turns, as when tokens come one by one. A prime
 * above their number scatters them. */
static void fill_pages(const struct kp_bench_buffers *buffers, uint64_t pages, int32_t *out)
{
	for (uint64_t s = 0; s < buffers->units; s++)
		for (uint64_t j = 0; j < pages; j++)
			*out++ = (int32_t)(j * PRIME % pages * buffers->units + s);
}

void kp_bench_fill(const struct kp_bench_buffers *buffers, size_t which, void *host)
{
	const struct kp_bench_buffer *buffer = &buffers->layout.buffers[which];
	uint64_t bytes = kp_bench_fill_bytes(buffers, which), *numbers = host;
	int32_t *lengths = host;

	switch (buffer->role) {
	case KP_BENCH_POSITIONS:
	case KP_BENCH_SLOTS:
		for (uint64_t i = 0; i < bytes / sizeof(*numbers); i++)
			numbers[i] = buffer->role == KP_BENCH_SLOTS
					     ? i
					     : i * PRIME % KP_BENCH_TABLE_POSITIONS;
		break;
	case KP_BENCH_LENGTHS:
		for (uint64_t i = 0; i < bytes / sizeof(*lengths); i++)
			lengths[i] = (int32_t)kp_bench_length(&buffers->shape, (uint32_t)i);
		break;
	case KP_BENCH_PAGES:
		fill_pages(buffers, buffer->elements, host);
		break;
	case KP_BENCH_SCALES:
		fill_scales(host, bytes / sizeof(float));
		break;
	case KP_BENCH_UNIFORMS:
		fill_uniforms(host, bytes / sizeof(float));
		break;
	default:
		fill_numbers(buffer->role == KP_BENCH_TABLE    ? KP_DTYPE_FP32
			     : buffer->role == KP_BENCH_NARROW ? buffers->shape.narrow
							       : buffers->dtype,
			     which + 1, host, bytes);
	}
}

/* ---- the reference ---- */

uint32_t kp_bench_sample(const struct kp_bench_buffers *buffers,
			 uint32_t units[KP_BENCH_SAMPLES_MOST])
{
	uint64_t last = buffers->units - 1, most = buffers->form->samples;
	uint32_t count = 0;

	for (uint64_t i = 0; i < most; i++) {
		uint64_t wanted = i < 2 ? i : last * (i - 1) / (most - 2);

		if (wanted <= last && (count == 0 || wanted > units[count - 1]))
			units[count++] = (uint32_t)wanted;
	}
	return count;
}

static const struct kp_bench_buffer *checked(const struct kp_bench_buffers *buffers)
{
	size_t i = 0;

	while (!kp_bench_is_checked(&buffers->layout.buffers[i]))
		i++;
	return &buffers->layout.buffers[i];
}

/* For operators on rows: of the largest result of each. */
static void slack_of_rows(const double *expected, uint64_t rows, uint64_t columns, double *slack)
{
	for (uint64_t row = 0; row < rows; row++) {
		double most = 0;

		for (uint64_t i = 0; i < columns; i++)
			most = fmax(most, fabs(expected[row * columns + i]));
		for (uint64_t i = 0; i < columns; i++)
			slack[row * columns + i] = SLACK * most;
	}
}

void kp_bench_reference(const struct kp_bench_buffers *buffers, void *const *host, double *expected,
			double *slack)
{
	const struct kp_bench_operator *operator= buffers->operator;
	struct kp_bench_call call = {buffers->shape, buffers->dtype, host, false, NULL};

	if (operator->bounded) {
		operator->bounded(&call, expected, slack);
		return;
	}
	operator->reference(&call, expected);
	slack_of_rows(expected, buffers->units, checked(buffers)->elements, slack);
}
