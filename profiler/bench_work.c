/* Buffers of an operator on the GPU; see bench_kernels.h. */
#include <stdlib.h>

#include "profiler/bench_kernels.h"
#include "profiler/say.h"

#define ALIGNMENT 256U
#define POISON 0xffffffffU          /* NaN in every type */
#define READ_SLOT_BYTES (4096U * 4) /* what plain reading leaves behind */

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

uint64_t kp_bench_work_address(const struct kp_bench_work *work, uint32_t set, size_t buffer)
{
	uint64_t at = work->memory + set * work->set_bytes;

	for (size_t i = 0; i < buffer; i++)
		at += aligned(kp_bench_buffer_bytes(&work->buffers, i));
	return at;
}

static void add_up(struct kp_bench_work *work)
{
	work->set_bytes = 0;
	for (size_t i = 0; i < work->buffers.layout.count; i++)
		work->set_bytes += aligned(kp_bench_buffer_bytes(&work->buffers, i));
	/* A copy reads and writes as many. Sets are as long at least, and both a multiple of 16. */
	work->plain_bytes = work->buffers.form->reads
				    ? READ_SLOT_BYTES
				    : (work->buffers.moved_bytes / 2 + 15) / 16 * 16;
}

/* The pattern once from the host, then doubled on the device. */
static bool fill_buffer(const struct kp_bench_work *work, size_t which, void *pattern)
{
	const struct kp_driver *driver = work->gpu->driver;
	uint64_t to = kp_bench_work_address(work, 0, which);
	uint64_t bytes = kp_bench_buffer_bytes(&work->buffers, which);
	uint64_t done = kp_bench_fill_bytes(&work->buffers, which);

	if (bytes == 0)
		return true;
	if (kp_bench_is_output(&work->buffers.layout.buffers[which]))
		return kp_gpu_check(driver,
				    driver->memory_set(to, POISON, (bytes + 3) / 4, work->stream),
				    "cuMemsetD32Async");
	kp_bench_fill(&work->buffers, which, pattern);
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
	uint64_t most = 1;
	void *pattern;
	bool done;

	for (size_t i = 0; i < work->buffers.layout.count; i++)
		if (kp_bench_fill_bytes(&work->buffers, i) > most)
			most = kp_bench_fill_bytes(&work->buffers, i);
	pattern = malloc(most);
	done = pattern != NULL;
	if (!done)
		kp_fail("out of memory");
	for (size_t i = 0; done && i < work->buffers.layout.count; i++)
		done = fill_buffer(work, i, pattern);
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
	char shape[KP_BENCH_SHAPE_TEXT];
	uint64_t wanted;

	work->memory = 0;
	work->stream = NULL;
	add_up(work);
	if (work->set_bytes == 0 ||
	    !kp_gpu_check(driver, driver->memory_info(&free_bytes, &total_bytes), "cuMemGetInfo"))
		return false;
	wanted = (KP_BENCH_COLD_L2 * l2_bytes + work->set_bytes - 1) / work->set_bytes;
	work->sets =
		wanted < 2 ? 2
			   : (uint32_t)(wanted < KP_BENCH_SETS_MOST ? wanted : KP_BENCH_SETS_MOST);
	wanted = work->sets * (work->set_bytes + work->plain_bytes);
	if (wanted > free_bytes / 10 * 9) {
		kp_bench_shape_write(work->buffers.form, &work->buffers.shape, shape);
		kp_fail("%s of %s needs more memory than the GPU has free",
			work->buffers.operator->name, shape);
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

bool kp_bench_work_enqueue(const struct kp_bench_work *work, uint32_t set, bool dependent)
{
	void *pointers[KP_BENCH_BUFFERS_MOST];
	struct kp_bench_call call = {work->buffers.shape, work->buffers.dtype, pointers, dependent,
				     work->stream};
	enum kp_status status;

	for (size_t i = 0; i < work->buffers.layout.count; i++)
		pointers[i] = (void *)(uintptr_t)kp_bench_work_address(work, set, i);
	status = work->buffers.operator->enqueue(work->kernels, &call);
	if (status != KP_OK)
		kp_fail("%s cannot be launched: %s", work->buffers.operator->name,
			kp_status_message(status));
	return status == KP_OK;
}
