/*
 * Synchronous copies: every step computes scores, copies them to pageable memory by cudaMemcpy, and
 * the host looks for the best one before it launches the next step. Meanwhile the GPU has nothing
 * to do.
 *
 * The remedy copies to pinned memory and does not wait: the host looks at a step's scores while the
 * GPU computes the next ones. The best of each step is the same.
 *
 * score_kernel: scores[count]; `rounds` rounds of integer arithmetic each. Exact.
 */
#include "timing.h"

#include <string.h>

enum { THREADS = 256, BLOCKS_PER_SM = 4, KERNEL_US = 400, ROUNDS = 1000, CHECKED_STRIDE = 97 };

struct work {
	bool overlapped;
	int rounds, count;
	uint32_t *scores;      /* on the device, [count] */
	uint32_t *read[2];     /* on the host, likewise; only [0] where nothing overlaps */
	cudaEvent_t copied[2]; /* into read[] */
	int64_t launched, seen;
	uint32_t first_best; /* of step 0 */
	uint32_t *first;     /* its scores, on the host */
};

static __host__ __device__ uint32_t score_of(uint32_t step, uint32_t i, int rounds)
{
	uint32_t x = timing_hash(step) + i;

	for (int round = 0; round < rounds; round++)
		x = timing_hash(x);
	return x;
}

static __global__ void score_kernel(uint32_t *scores, uint32_t step, int rounds)
{
	uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	scores[i] = score_of(step, i, rounds);
}

static void launch(const struct work *work, int64_t step)
{
	score_kernel<<<work->count / THREADS, THREADS>>>(work->scores, (uint32_t)step,
							 work->rounds);
	CUDA_CHECK(cudaGetLastError());
}

/* The place of the largest score. */
static uint32_t best_of(const uint32_t *scores, int count)
{
	int best = 0;

	for (int i = 1; i < count; i++)
		best = scores[i] > scores[best] ? i : best;
	return (uint32_t)best;
}

static void look(struct work *work, const uint32_t *scores)
{
	uint32_t best = best_of(scores, work->count);

	if (work->seen++ > 0)
		return;
	work->first_best = best;
	memcpy(work->first, scores, work->count * sizeof(uint32_t));
}

/* The scores of the oldest step that was not looked at yet. */
static void look_behind(struct work *work)
{
	int turn = (int)(work->seen % 2);

	CUDA_CHECK(cudaEventSynchronize(work->copied[turn]));
	look(work, work->read[turn]);
}

static void iterate_overlapped(struct work *work)
{
	int turn = (int)(work->launched % 2);

	launch(work, work->launched++);
	CUDA_CHECK(cudaMemcpyAsync(work->read[turn], work->scores, work->count * sizeof(uint32_t),
				   cudaMemcpyDeviceToHost, 0));
	CUDA_CHECK(cudaEventRecord(work->copied[turn], 0));
	if (work->launched - work->seen == 2)
		look_behind(work);
}

static void iterate(void *context)
{
	struct work *work = (struct work *)context;

	if (work->overlapped) {
		iterate_overlapped(work);
		return;
	}
	launch(work, work->launched++);
	CUDA_CHECK(cudaMemcpy(work->read[0], work->scores, work->count * sizeof(uint32_t),
			      cudaMemcpyDeviceToHost));
	look(work, work->read[0]);
}

/* So many rounds that the kernel takes KERNEL_US on this GPU. */
static int rounds_of(struct work *work)
{
	float best_ms = 1e9f;
	cudaEvent_t begin, end;

	CUDA_CHECK(cudaEventCreate(&begin));
	CUDA_CHECK(cudaEventCreate(&end));
	work->rounds = ROUNDS;
	for (int i = 0; i < 5; i++) {
		float ms;

		CUDA_CHECK(cudaEventRecord(begin, 0));
		launch(work, i);
		CUDA_CHECK(cudaEventRecord(end, 0));
		CUDA_CHECK(cudaEventSynchronize(end));
		CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
		best_ms = ms < best_ms ? ms : best_ms;
	}
	CUDA_CHECK(cudaEventDestroy(begin));
	CUDA_CHECK(cudaEventDestroy(end));
	int rounds = (int)(ROUNDS * 1e-3f * KERNEL_US / best_ms);
	return rounds < 1 ? 1 : rounds;
}

static uint32_t *host_memory(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		check_fail("out of memory", "malloc", __FILE__, __LINE__);
	return (uint32_t *)memory;
}

static void set_up(struct work *work)
{
	size_t bytes;

	work->count = timing_attribute(cudaDevAttrMultiProcessorCount) * BLOCKS_PER_SM * THREADS;
	bytes = work->count * sizeof(uint32_t);
	work->scores = timing_allocate<uint32_t>(work->count);
	work->first = host_memory(bytes);
	for (int i = 0; i < 2; i++) {
		CUDA_CHECK(cudaEventCreateWithFlags(&work->copied[i], cudaEventDisableTiming));
		if (work->overlapped)
			CUDA_CHECK(cudaMallocHost((void **)&work->read[i], bytes));
		else
			work->read[i] = host_memory(bytes);
	}
	work->rounds = rounds_of(work);
}

/* Some of the first step's scores, and its best one, computed by the host. */
static bool is_right(const struct work *work)
{
	bool right = work->first_best == best_of(work->first, work->count);

	for (int i = 0; i < work->count; i += CHECKED_STRIDE)
		right &= work->first[i] == score_of(0, (uint32_t)i, work->rounds);
	return right;
}

int main(int argc, char **argv)
{
	struct timing timing;
	struct work work = {};

	timing_parse(&timing, argc, argv, "synchronous_copies",
		     "Results that the host waits for in every step.",
		     "copy to pinned memory, and look at a step's results during the next");
	work.overlapped = timing.remedy;
	set_up(&work);
	timing_run(&timing, iterate, &work);
	while (work.seen < work.launched)
		look_behind(&work);
	return timing_verdict(is_right(&work));
}
