/* Compares what an operator gives on the GPU with its reference; see bench_kernels.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/reference/number.h"
#include "profiler/bench_kernels.h"
#include "profiler/say.h"

/* Some units of a set, side by side on the host. */
struct sample {
	struct kp_bench_buffers buffers;
	void *host[KP_BENCH_BUFFERS_MOST];
	void *again; /* the checked output of another set */
	uint32_t units[KP_BENCH_SAMPLES_MOST];
	double *expected, *slack;
	size_t checked; /* the buffer that the reference gives */
};

static bool copy(const struct kp_bench_work *work, void *to, uint64_t from, uint64_t bytes)
{
	const struct kp_driver *driver = work->gpu->driver;

	return bytes == 0 ||
	       kp_gpu_check(driver, driver->copy_from(to, from, bytes), "cuMemcpyDtoH");
}

/* The units of the sample; of a shared buffer all. */
static bool fetch(const struct kp_bench_work *work, const struct sample *sample, uint32_t set,
		  size_t which, void *to)
{
	const struct kp_bench_buffer *buffer = &work->buffers.layout.buffers[which];
	uint64_t from = kp_bench_work_address(work, set, which), at;
	uint64_t bytes = kp_bench_unit_bytes(buffer), units = sample->buffers.units;

	if (kp_bench_is_shared(buffer))
		return copy(work, to, from, bytes);
	for (uint64_t i = 0; i < buffer->planes * units; i++) {
		at = i / units * work->buffers.units + sample->units[i % units];
		if (!copy(work, (char *)to + i * bytes, from + at * bytes, bytes))
			return false;
	}
	return true;
}

static void *room(uint64_t bytes)
{
	void *memory = malloc(bytes ? bytes : 1);

	if (!memory)
		kp_fail("out of memory");
	return memory;
}

static bool fetch_all(const struct kp_bench_work *work, struct sample *sample)
{
	const struct kp_bench_buffers *some = &sample->buffers;

	for (size_t i = 0; i < some->layout.count; i++) {
		const struct kp_bench_buffer *buffer = &some->layout.buffers[i];

		if (kp_bench_is_checked(buffer))
			sample->checked = i;
		sample->host[i] = room(kp_bench_buffer_bytes(some, i));
		if (!sample->host[i])
			return false;
		if (kp_bench_is_whole(buffer))
			kp_bench_fill(some, i, sample->host[i]);
		else if (!fetch(work, sample, 0, i, sample->host[i]))
			return false;
	}
	sample->again = room(kp_bench_buffer_bytes(some, sample->checked));
	return sample->again && fetch(work, sample, 1, sample->checked, sample->again);
}

/* Says where the result is wrong: element `at` of the sample. */
static void complain(const struct kp_bench_work *work, const struct sample *sample, uint64_t at,
		     double got)
{
	const struct kp_bench_buffers *all = &work->buffers;
	uint64_t elements = all->layout.buffers[sample->checked].elements;
	uint64_t part = at / elements, units = sample->buffers.units;
	unsigned long long element = part / units * elements + at % elements;
	char shape[KP_BENCH_SHAPE_TEXT];

	kp_bench_shape_write(all->form, &all->shape, shape);
	kp_fail("%s of %s is wrong in %s %u, element %llu: %g instead of %g", all->operator->name,
		shape, all->form->unit_word, sample->units[part % units], element, got,
		sample->expected[at]);
}

/* An element of the checked output, and what its last place is worth. */
static double element(const struct sample *sample, uint64_t at, double *ulp)
{
	enum kp_dtype dtype = sample->buffers.dtype;
	const void *from = sample->host[sample->checked];
	int32_t index;

	if (sample->buffers.layout.buffers[sample->checked].role != KP_BENCH_INDICES) {
		*ulp = kp_number_ulp(dtype, sample->expected[at]);
		return kp_number_load(from, dtype, (int64_t)at);
	}
	memcpy(&index, (const char *)from + at * sizeof(index), sizeof(index));
	*ulp = 1;
	return index;
}

static bool compare(const struct kp_bench_work *work, const struct sample *sample, uint64_t count,
		    struct kp_bench_result *out)
{
	for (uint64_t i = 0; i < count; i++) {
		double ulp, got = element(sample, i, &ulp);
		double error = fabs(got - sample->expected[i]);
		double allowed = 0.5 * ulp + sample->slack[i];

		if (isinf(allowed))
			continue;
		if (!(error <= allowed)) {
			complain(work, sample, i, got);
			return false;
		}
		out->error_ulp = fmax(out->error_ulp, error / ulp);
		out->error_pct = fmax(out->error_pct, 100 * error / allowed);
	}
	return true;
}

static bool check_sample(const struct kp_bench_work *work, struct sample *sample,
			 struct kp_bench_result *out)
{
	uint64_t bytes, count;

	if (!fetch_all(work, sample))
		return false;
	bytes = kp_bench_buffer_bytes(&sample->buffers, sample->checked);
	count = bytes / sample->buffers.layout.buffers[sample->checked].element_bytes;
	sample->expected = room(count * sizeof(double));
	sample->slack = room(count * sizeof(double));
	if (!sample->expected || !sample->slack)
		return false;
	/* The reference writes the other outputs, into memory that is not looked at again. */
	kp_bench_reference(&sample->buffers, sample->host, sample->expected, sample->slack);
	if (!compare(work, sample, count, out))
		return false;
	if (memcmp(sample->host[sample->checked], sample->again, bytes) == 0)
		return true;
	kp_fail("%s gives other bits the second time", work->buffers.operator->name);
	return false;
}

bool kp_bench_work_check(const struct kp_bench_work *work, struct kp_bench_result *out)
{
	const struct kp_driver *driver = work->gpu->driver;
	struct sample sample = {0};
	bool done;

	out->checked_units = kp_bench_sample(&work->buffers, sample.units);
	sample.buffers = kp_bench_buffers_of(&work->buffers, out->checked_units);
	done = kp_bench_work_enqueue(work, 0, false) && kp_bench_work_enqueue(work, 1, false) &&
	       kp_gpu_check(driver, driver->synchronize(), "what was launched") &&
	       check_sample(work, &sample, out);
	for (size_t i = 0; i < sample.buffers.layout.count; i++)
		free(sample.host[i]);
	free(sample.again);
	free(sample.expected);
	free(sample.slack);
	return done;
}
