/* Buffers of an operator on the GPU, and the check of its results; see bench_kernels.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/reference/number.h"
#include "profiler/bench_kernels.h"
#include "profiler/say.h"

#define ALIGNMENT 256U
#define PATTERN_BYTES (4U << 20)
#define POISON 0xffffffffU /* NaN in every type */
#define SAMPLES 5U
#define SLACK 0x1p-16 /* of the largest of a row: fp32 against float64 */

static bool is_shared(const struct kp_bench_buffer *buffer)
{
	return buffer->role == KP_BENCH_WEIGHT || buffer->role == KP_BENCH_TABLE;
}

static bool is_output(const struct kp_bench_buffer *buffer)
{
	return buffer->role == KP_BENCH_OUTPUT || buffer->role == KP_BENCH_CHECKED;
}

static uint64_t row_bytes(const struct kp_bench_buffer *buffer)
{
	return buffer->elements * buffer->element_bytes;
}

static uint64_t buffer_bytes(const struct kp_bench_work *work, const struct kp_bench_buffer *buffer)
{
	return row_bytes(buffer) * (is_shared(buffer) ? 1 : work->shape.rows);
}

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

uint64_t kp_bench_work_address(const struct kp_bench_work *work, uint32_t set, size_t buffer)
{
	uint64_t at = work->memory + set * work->set_bytes;

	for (size_t i = 0; i < buffer; i++)
		at += aligned(buffer_bytes(work, &work->layout.buffers[i]));
	return at;
}

/* A launch reads of a table what its positions say, at most a row each. */
static void add_up(struct kp_bench_work *work)
{
	work->set_bytes = work->bytes = 0;
	for (size_t i = 0; i < work->layout.count; i++) {
		const struct kp_bench_buffer *buffer = &work->layout.buffers[i];
		uint64_t bytes = buffer_bytes(work, buffer), rows = work->shape.rows;

		work->set_bytes += aligned(bytes);
		if (buffer->role == KP_BENCH_TABLE && rows < KP_BENCH_TABLE_POSITIONS)
			bytes = bytes / KP_BENCH_TABLE_POSITIONS * rows;
		work->bytes += bytes;
	}
	/* As many bytes read and written. Sets are as long at least, and both a multiple of 16. */
	work->copy_bytes = (work->bytes / 2 + 15) / 16 * 16;
}

static float random_number(uint64_t *state)
{
	double sum = 0;

	for (int i = 0; i < 4; i++) {
		*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
		sum += (double)(*state >> 33) * 0x1p-31;
	}
	return (float)((sum - 2) * 1.7); /* near enough to a normal distribution of 1 */
}

/* Numbers of a role; the period is odd, so that neighbouring rows differ. */
static void fill_pattern(enum kp_bench_role role, enum kp_dtype dtype, void *pattern, size_t bytes)
{
	uint64_t state = 42;

	if (role == KP_BENCH_POSITIONS || role == KP_BENCH_SLOTS) {
		uint64_t *numbers = pattern;

		for (size_t i = 0; i < bytes / 8; i++)
			numbers[i] = role == KP_BENCH_SLOTS
					     ? i
					     : i * 2654435761U % KP_BENCH_TABLE_POSITIONS;
		return;
	}
	if (role == KP_BENCH_TABLE)
		dtype = KP_DTYPE_FP32;
	for (size_t i = 0; i < bytes / kp_dtype_bytes(dtype); i++)
		kp_number_store(pattern, dtype, (int64_t)i, (double)random_number(&state));
}

/* The pattern once from the host, then doubled on the device. */
static bool fill_buffer(const struct kp_bench_work *work, uint64_t to,
			const struct kp_bench_buffer *buffer, void *pattern)
{
	const struct kp_driver *driver = work->gpu->driver;
	uint64_t bytes = buffer_bytes(work, buffer), done = PATTERN_BYTES - 128;

	if (is_output(buffer))
		return kp_gpu_check(driver,
				    driver->memory_set(to, POISON, (bytes + 3) / 4, work->stream),
				    "cuMemsetD32Async");
	if (bytes < done || buffer->role == KP_BENCH_SLOTS)
		done = bytes;
	fill_pattern(buffer->role, work->dtype, pattern, done);
	if (!kp_gpu_check(driver, driver->copy_to(to, pattern, done), "cuMemcpyHtoD"))
		return false;
	for (; done < bytes; done *= 2)
		if (!kp_gpu_check(driver,
				  driver->copy_within(to + done, to,
						      bytes - done < done ? bytes - done : done,
						      work->stream),
				  "cuMemcpyDtoDAsync"))
			return false;
	return true;
}

/* The first set, and the others as copies of it. */
static bool fill(const struct kp_bench_work *work)
{
	const struct kp_driver *driver = work->gpu->driver;
	/* Slots are written whole. */
	uint64_t slots = work->shape.rows * sizeof(uint64_t);
	void *pattern = malloc(slots > PATTERN_BYTES ? slots : PATTERN_BYTES);
	bool done = pattern != NULL;

	if (!done)
		kp_fail("out of memory");
	for (size_t i = 0; done && i < work->layout.count; i++)
		done = fill_buffer(work, kp_bench_work_address(work, 0, i),
				   &work->layout.buffers[i], pattern);
	free(pattern);
	for (uint32_t set = 1; done && set < work->sets; set++)
		done = kp_gpu_check(driver,
				    driver->copy_within(work->memory + set * work->set_bytes,
							work->memory, work->set_bytes,
							work->stream),
				    "cuMemcpyDtoDAsync");
	return done && kp_gpu_check(driver, driver->synchronize(), "cuCtxSynchronize");
}

bool kp_bench_work_open(struct kp_bench_work *work, uint64_t l2_bytes)
{
	const struct kp_driver *driver = work->gpu->driver;
	size_t free_bytes = 0, total_bytes = 0;
	uint64_t wanted;

	memset(&work->layout, 0, sizeof(work->layout));
	work->memory = 0;
	work->stream = NULL;
	work->operator->layout(&work->shape, &work->layout);
	add_up(work);
	if (work->set_bytes == 0 ||
	    !kp_gpu_check(driver, driver->memory_info(&free_bytes, &total_bytes), "cuMemGetInfo"))
		return false;
	wanted = (KP_BENCH_COLD_L2 * l2_bytes + work->set_bytes - 1) / work->set_bytes;
	work->sets =
		wanted < 2 ? 2
			   : (uint32_t)(wanted < KP_BENCH_SETS_MOST ? wanted : KP_BENCH_SETS_MOST);
	wanted = work->sets * (work->set_bytes + work->copy_bytes);
	if (wanted > free_bytes / 10 * 9) {
		kp_fail("%s of %u x %u needs more memory than the GPU has free",
			work->operator->name, work->shape.rows, work->shape.columns);
		return false;
	}
	return kp_gpu_check(driver, driver->stream_create(&work->stream, 0), "cuStreamCreate") &&
	       kp_gpu_check(driver, driver->memory_alloc(&work->memory, wanted), "cuMemAlloc") &&
	       fill(work);
}

void kp_bench_work_close(struct kp_bench_work *work)
{
	if (work->memory)
		work->gpu->driver->memory_free(work->memory);
	if (work->stream)
		work->gpu->driver->stream_destroy(work->stream);
	work->memory = 0;
	work->stream = NULL;
}

static struct kp_bench_call call_of(const struct kp_bench_work *work, uint32_t set,
				    void *buffers[KP_BENCH_BUFFERS_MOST], bool dependent)
{
	for (size_t i = 0; i < work->layout.count; i++)
		buffers[i] = (void *)(uintptr_t)kp_bench_work_address(work, set, i);
	return (struct kp_bench_call){work->shape, work->dtype, buffers, dependent, work->stream};
}

bool kp_bench_work_enqueue(const struct kp_bench_work *work, uint32_t set, bool dependent)
{
	void *buffers[KP_BENCH_BUFFERS_MOST];
	struct kp_bench_call call = call_of(work, set, buffers, dependent);
	enum kp_status status = work->operator->enqueue(work->kernels, &call);

	if (status != KP_OK)
		kp_fail("%s cannot be launched: %s", work->operator->name,
			kp_status_message(status));
	return status == KP_OK;
}

/* ---- the check ---- */

struct sample {
	void *buffers[KP_BENCH_BUFFERS_MOST];
	uint64_t rows[SAMPLES];
	uint32_t count;
	double *expected;
	size_t checked; /* the buffer that the reference gives */
};

/* The first and last rows and some between, each once. */
static void choose_rows(const struct kp_bench_work *work, struct sample *sample)
{
	uint64_t last = work->shape.rows - 1,
		 wanted[SAMPLES] = {0, 1, last / 3, last - last / 4, last};

	sample->count = 0;
	for (size_t i = 0; i < SAMPLES; i++)
		if (wanted[i] <= last && (i == 0 || wanted[i] > sample->rows[sample->count - 1]))
			sample->rows[sample->count++] = wanted[i];
}

/* The rows of the sample, side by side; of a shared buffer all. */
static bool fetch(const struct kp_bench_work *work, struct sample *sample, size_t i)
{
	const struct kp_driver *driver = work->gpu->driver;
	const struct kp_bench_buffer *buffer = &work->layout.buffers[i];
	uint64_t from = kp_bench_work_address(work, 0, i), bytes = row_bytes(buffer);
	uint32_t count = is_shared(buffer) ? 1 : sample->count;

	sample->buffers[i] = malloc(bytes * count);
	if (!sample->buffers[i]) {
		kp_fail("out of memory");
		return false;
	}
	for (uint32_t row = 0; row < count; row++) {
		uint64_t at = is_shared(buffer) ? 0 : sample->rows[row] * bytes;

		if (!kp_gpu_check(driver,
				  driver->copy_from((char *)sample->buffers[i] + row * bytes,
						    from + at, bytes),
				  "cuMemcpyDtoH"))
			return false;
	}
	return true;
}

/* Compares a row; says what is wrong. */
static bool compare_row(const struct kp_bench_work *work, const struct sample *sample, uint64_t row,
			double *error_ulp)
{
	uint64_t elements = work->layout.buffers[sample->checked].elements;
	const double *expected = sample->expected + row * elements;
	double most = 0;

	for (uint64_t i = 0; i < elements; i++)
		most = fmax(most, fabs(expected[i]));
	for (uint64_t i = 0; i < elements; i++) {
		double got = kp_number_load(sample->buffers[sample->checked], work->dtype,
					    (int64_t)(row * elements + i));
		double ulp = kp_number_ulp(work->dtype, expected[i]);
		double error = fabs(got - expected[i]);

		if (!(error <= 0.5 * ulp + SLACK * most)) {
			kp_fail("%s of %u x %u is wrong in row %llu, element %llu: %g instead of "
				"%g",
				work->operator->name, work->shape.rows, work->shape.columns,
				(unsigned long long)sample->rows[row], (unsigned long long)i, got,
				expected[i]);
			return false;
		}
		*error_ulp = fmax(*error_ulp, error / ulp);
	}
	return true;
}

static bool compare(const struct kp_bench_work *work, const struct sample *sample,
		    struct kp_bench_result *out)
{
	out->checked_rows = sample->count;
	for (uint64_t row = 0; row < sample->count; row++)
		if (!compare_row(work, sample, row, &out->error_ulp))
			return false;
	return true;
}

static bool check_sample(const struct kp_bench_work *work, struct sample *sample,
			 struct kp_bench_result *out)
{
	struct kp_bench_call call = {
		{sample->count, work->shape.columns}, work->dtype, sample->buffers, false, NULL};

	for (size_t i = 0; i < work->layout.count; i++) {
		if (work->layout.buffers[i].role == KP_BENCH_CHECKED)
			sample->checked = i;
		if (!fetch(work, sample, i))
			return false;
	}
	sample->expected = malloc(work->layout.buffers[sample->checked].elements * sample->count *
				  sizeof(double));
	if (!sample->expected) {
		kp_fail("out of memory");
		return false;
	}
	/* The reference writes the other outputs, into memory that is not looked at again. */
	work->operator->reference(&call, sample->expected);
	return compare(work, sample, out);
}

bool kp_bench_work_check(const struct kp_bench_work *work, struct kp_bench_result *out)
{
	void *buffers[KP_BENCH_BUFFERS_MOST];
	struct kp_bench_call call = call_of(work, 0, buffers, false);
	struct sample sample = {0};
	bool done;

	work->operator->plan(&call, kp_kernels_device(work->kernels), &out->plan);
	choose_rows(work, &sample);
	done = kp_bench_work_enqueue(work, 0, false) &&
	       kp_gpu_check(work->gpu->driver, work->gpu->driver->synchronize(),
			    "what was launched") &&
	       check_sample(work, &sample, out);
	for (size_t i = 0; i < work->layout.count; i++)
		free(sample.buffers[i]);
	free(sample.expected);
	return done;
}
