/*
 * Bandwidth of device memory: reads, writes and copies of arrays far larger than the caches, of
 * random data. See bench_ceilings.h and kernels/ceilings_memory.cuh.
 *
 * Before a kernel is timed it works on a short array of an odd length, and every word of the result
 * is compared with what the reference here computes; behind the array nothing may have changed.
 * After it was timed, places along the long array are compared likewise.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/bench_ceilings.h"
#include "profiler/humanise.h"
#include "profiler/say.h"

#define VECTOR_BYTES 16U
#define WORDS (VECTOR_BYTES / 4)
#define SHORT_VECTORS 1000003U
#define GUARD_VECTORS 4096U
#define READ_SLOTS 4096U
#define POISON 0xdeadbeefU
#define SET_WORD 0x5a17c0deU
#define BUFFER_MOST (4ULL << 30)
#define BUFFER_L2 8U /* a buffer has at least so many times the bytes of L2 */
#define WARM_S 0.02

struct row {
	enum kp_ceiling_kind kind;
	const char *kernel, *what; /* kernel: NULL: the driver's own */
	unsigned threads, vectors, blocks, shared_bytes;
};

// clang-format off
static const struct row rows[] = {
#define MEMORY(kind, kernel, what, threads, vectors, blocks, shared) \
	{KP_CEILING_##kind, kernel, what, threads, vectors, blocks, shared},
#include "kernels/ceilings.def"
};
// clang-format on

struct job {
	const struct kp_gpu *gpu;
	const struct row *row;
	void *function;
	uint64_t in, out; /* buffers of `count` vectors; reading leaves READ_SLOTS words in out */
	uint64_t count;
};

struct buffers {
	uint64_t in, out;
	uint64_t vectors;  /* of each */
	unsigned *host;    /* of SHORT_VECTORS + GUARD_VECTORS vectors */
	bool folded_known; /* a kernel has read all of `in`: */
	unsigned folded;   /* the exclusive or of its words */
};

/* ---- the reference ---- */

static unsigned random_word(unsigned index)
{
	index ^= index >> 16;
	index *= 0x21f0aaadU;
	index ^= index >> 15;
	index *= 0x735a2d97U;
	return index ^ index >> 15;
}

/* Word `word` of vector `vector` as the kernels of this kind leave it. */
static unsigned expected_word(const struct row *row, uint64_t vector, unsigned word)
{
	static const unsigned steps[WORDS] = {0x9e3779b1U, 0x85ebca77U, 0xc2b2ae3dU, 0x27d4eb2fU};

	if (row->kind == KP_CEILING_COPY)
		return random_word((unsigned)vector * WORDS + word);
	return row->kernel ? random_word(word) + (unsigned)vector * steps[word] : SET_WORD;
}

static unsigned expected_fold(uint64_t vectors)
{
	unsigned folded = 0;

	for (uint64_t i = 0; i < vectors * WORDS; i++)
		folded ^= random_word((unsigned)i);
	return folded;
}

/* ---- launching ---- */

static bool launch(void *context)
{
	struct job *job = context;
	const struct row *row = job->row;
	const struct kp_driver *driver = job->gpu->driver;
	uint64_t tile = (uint64_t)row->threads * row->vectors, blocks;
	unsigned none = 0;
	void *arguments[] = {&job->in, &job->out, &job->count, &none};

	if (!row->kernel && row->kind == KP_CEILING_COPY)
		return kp_gpu_check(
			driver,
			driver->copy_within(job->out, job->in, job->count * VECTOR_BYTES, NULL),
			row->what);
	if (!row->kernel)
		return kp_gpu_check(
			driver, driver->memory_set(job->out, SET_WORD, job->count * WORDS, NULL),
			row->what);
	blocks = row->blocks ? row->blocks * job->gpu->info.sm_count
			     : (job->count + tile - 1) / tile;
	return kp_gpu_launch(job->gpu, job->function, (unsigned)blocks, row->threads,
			     row->shared_bytes, arguments);
}

static bool fill(const struct kp_gpu *gpu, uint64_t to, uint64_t vectors)
{
	void *function = kp_gpu_function(gpu, "kp_fill");
	uint64_t none = 0;
	unsigned iterations = 0;
	void *arguments[] = {&none, &to, &vectors, &iterations};

	if (!function) {
		kp_fail("the device code has no kp_fill: build kprof anew");
		return false;
	}
	return kp_gpu_launch(gpu, function, (unsigned)gpu->info.sm_count * 8, 256, 0, arguments);
}

static bool set_words(const struct kp_gpu *gpu, uint64_t at, unsigned word, uint64_t words)
{
	return kp_gpu_check(gpu->driver, gpu->driver->memory_set(at, word, words, NULL),
			    "cuMemsetD32Async");
}

static bool fetch(const struct kp_gpu *gpu, void *to, uint64_t from, size_t bytes)
{
	return kp_gpu_check(gpu->driver, gpu->driver->copy_from(to, from, bytes), "cuMemcpyDtoH");
}

/* ---- checking ---- */

static bool complain(const struct row *row, uint64_t vector)
{
	kp_fail("%s (%s) gives a wrong result at byte %llu: the GPU, its memory or kprof is broken",
		row->kernel ? row->kernel : "the driver", row->what,
		(unsigned long long)vector * VECTOR_BYTES);
	return false;
}

/* Whether `count` vectors from `first` on are as they must be, and `guard` behind them poisoned. */
static bool check_written(const struct job *job, unsigned *host, uint64_t first, uint64_t count,
			  uint64_t guard)
{
	uint64_t from = job->out + first * VECTOR_BYTES;

	if (!fetch(job->gpu, host, from, (count + guard) * VECTOR_BYTES))
		return false;
	for (uint64_t i = 0; i < (count + guard) * WORDS; i++) {
		unsigned word = i < count * WORDS
					? expected_word(job->row, first + i / WORDS, i % WORDS)
					: POISON;
		if (host[i] != word)
			return complain(job->row, first + i / WORDS);
	}
	return true;
}

/* The exclusive or that a kernel of the kind READ computes, launched once. */
static bool read_once(struct job *job, unsigned *host, unsigned *folded)
{
	if (!set_words(job->gpu, job->out, 0, READ_SLOTS) || !launch(job) ||
	    !fetch(job->gpu, host, job->out, READ_SLOTS * sizeof(*host)))
		return false;
	*folded = 0;
	for (unsigned i = 0; i < READ_SLOTS; i++)
		*folded ^= host[i];
	return true;
}

static bool check_short(struct job *job, struct buffers *buffers)
{
	unsigned folded;

	job->count = SHORT_VECTORS;
	if (job->row->kind == KP_CEILING_READ) {
		if (!read_once(job, buffers->host, &folded))
			return false;
		return folded == expected_fold(SHORT_VECTORS) || complain(job->row, 0);
	}
	return set_words(job->gpu, job->out, POISON, (SHORT_VECTORS + GUARD_VECTORS) * WORDS) &&
	       launch(job) && check_written(job, buffers->host, 0, SHORT_VECTORS, GUARD_VECTORS);
}

/* After the timing: all that was read gives one result, whoever reads it; what was written is there
 * from end to end. */
static bool check_long(struct job *job, struct buffers *buffers)
{
	uint64_t places[] = {0, job->count / 2, job->count - GUARD_VECTORS};
	unsigned folded;

	if (job->row->kind == KP_CEILING_READ) {
		if (!read_once(job, buffers->host, &folded))
			return false;
		if (buffers->folded_known && folded != buffers->folded)
			return complain(job->row, 0);
		buffers->folded_known = true;
		buffers->folded = folded;
		return true;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!check_written(job, buffers->host, places[i], GUARD_VECTORS, 0))
			return false;
	return true;
}

/* ---- measuring ---- */

static bool measure(struct kp_timer *timer, const struct row *row, struct buffers *buffers,
		    struct kp_measured *out)
{
	struct job job = {timer->gpu, row, NULL, buffers->in, buffers->out, 0};
	double passes = row->kind == KP_CEILING_COPY ? 2 : 1;
	struct kp_timing timing;

	if (row->kernel) {
		job.function = kp_gpu_function(timer->gpu, row->kernel);
		if (!job.function)
			return true; /* not for this chip */
	}
	if (!check_short(&job, buffers))
		return false;
	job.count = buffers->vectors;
	if (row->kind != KP_CEILING_READ && !set_words(job.gpu, job.out, POISON, job.count * WORDS))
		return false;
	if (!kp_timer_run(timer, launch, &job, WARM_S, &timing) || !check_long(&job, buffers))
		return false;
	kp_measured_take(out, row->kind, row->what, passes * (double)job.count * VECTOR_BYTES, 1e9,
			 &timing);
	return true;
}

/* A third of what is free for each of two buffers. */
static bool size_buffers(const struct kp_gpu *gpu, struct buffers *buffers)
{
	size_t free_bytes = 0, total_bytes = 0;
	uint64_t least = BUFFER_L2 * gpu->info.l2_bytes, bytes;

	if (!kp_gpu_check(gpu->driver, gpu->driver->memory_info(&free_bytes, &total_bytes),
			  "cuMemGetInfo"))
		return false;
	bytes = free_bytes / 3 < BUFFER_MOST ? free_bytes / 3 : BUFFER_MOST;
	buffers->vectors = bytes / VECTOR_BYTES;
	if (least < 2ULL * SHORT_VECTORS * VECTOR_BYTES)
		least = 2ULL * SHORT_VECTORS * VECTOR_BYTES;
	if (bytes >= least)
		return true;
	kp_fail("only %s of the memory of %s is free, and %s are needed: end what else uses it",
		kp_human_bytes(free_bytes, 3).text, gpu->name, kp_human_bytes(3 * least, 3).text);
	return false;
}

static bool measure_rows(struct kp_timer *timer, bool reading_alone, struct kp_measured *out)
{
	const struct kp_gpu *gpu = timer->gpu;
	const struct kp_driver *driver = gpu->driver;
	struct buffers buffers = {0};
	bool done = false;

	buffers.host = malloc((SHORT_VECTORS + GUARD_VECTORS) * (size_t)VECTOR_BYTES);
	if (!buffers.host) {
		kp_fail("out of memory");
		return false;
	}
	if (!size_buffers(gpu, &buffers) ||
	    !kp_gpu_check(driver, driver->memory_alloc(&buffers.in, buffers.vectors * VECTOR_BYTES),
			  "cuMemAlloc") ||
	    !kp_gpu_check(driver,
			  driver->memory_alloc(&buffers.out, buffers.vectors * VECTOR_BYTES),
			  "cuMemAlloc"))
		goto out;
	done = fill(gpu, buffers.in, buffers.vectors);
	for (size_t i = 0; done && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!reading_alone || rows[i].kind == KP_CEILING_READ)
			done = measure(timer, &rows[i], &buffers, out);
out:
	if (buffers.in)
		driver->memory_free(buffers.in);
	if (buffers.out)
		driver->memory_free(buffers.out);
	free(buffers.host);
	return done;
}

bool kp_bench_memory(struct kp_timer *timer, struct kp_measured *out)
{
	return measure_rows(timer, false, out);
}

bool kp_bench_reading(struct kp_timer *timer, struct kp_measured *out)
{
	return measure_rows(timer, true, out);
}
