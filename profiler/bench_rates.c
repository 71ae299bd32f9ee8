/*
 * Rates of arithmetic: multiply-adds from registers and shared memory, on random operands, for they
 * draw more power than constant ones and clocks follow power. See bench_ceilings.h and
 * kernels/ceilings_arithmetic.cuh.
 *
 * A kernel is first run on ones: the sum of its accumulators is then the number of multiply-adds
 * that it did, and must be the number that its rate is computed from.
 */
#include <math.h>
#include <stdlib.h>

#include "profiler/bench_ceilings.h"
#include "profiler/say.h"
#include "trace/scatter.h"

#define OPERAND_BYTES (256U << 10)
#define CHECK_ITERATIONS 2U
#define TRIAL_ITERATIONS 64U
#define LAUNCH_S 0.01
#define WARM_S 0.3

struct row {
	enum kp_ceiling_kind kind;
	const char *kernel, *what;
	unsigned chips, multiply_adds, threads, shared_bytes;
};

// clang-format off
static const struct row rows[] = {
#define RATE(kind, kernel, what, chips, multiply_adds, threads, shared) \
	{KP_CEILING_##kind, kernel, what, chips, multiply_adds, threads, shared},
#include "kernels/ceilings.def"
};

/* The operands of each kind, as IEEE 754 lays numbers out; no exponent: whole numbers. */
static const struct format {
	unsigned bytes, exponent_bits, mantissa_bits;
} formats[KP_CEILING_COUNT] = {
	[KP_CEILING_FP64] = {8, 11, 52},
	[KP_CEILING_FP32] = {4, 8, 23},
	[KP_CEILING_TENSOR_FP64] = {8, 11, 52},
	[KP_CEILING_TENSOR_TF32] = {4, 8, 23},
	[KP_CEILING_TENSOR_FP16] = {2, 5, 10},
	[KP_CEILING_TENSOR_BF16] = {2, 8, 7},
	[KP_CEILING_TENSOR_FP8] = {1, 4, 3},
	[KP_CEILING_TENSOR_INT8] = {1, 0, 7},
};
// clang-format on

struct job {
	const struct kp_gpu *gpu;
	void *function;
	const struct row *row;
	uint64_t in, out;
	unsigned blocks, iterations;
};

static uint64_t one(const struct format *format)
{
	uint64_t bias = format->exponent_bits ? (1ULL << (format->exponent_bits - 1)) - 1 : 0;

	return format->exponent_bits ? bias << format->mantissa_bits : 1;
}

/* A number of any sign and mantissa between 1/16 and 1; of a whole number, any bits. */
static uint64_t random_number(const struct format *format, uint64_t *state)
{
	uint64_t bits = kp_scatter_next(state), mantissa = (1ULL << format->mantissa_bits) - 1;
	uint64_t sign = (bits >> 63) << (format->bytes * 8 - 1);

	if (!format->exponent_bits)
		return sign | (bits & mantissa);
	return sign | (one(format) - ((1 + (bits >> 61 & 3)) << format->mantissa_bits)) |
	       (bits & mantissa);
}

/* Fills the operands on the device with ones, or with random numbers. */
static bool put_operands(const struct job *job, bool ones)
{
	const struct format *format = &formats[job->row->kind];
	unsigned char *host = malloc(OPERAND_BYTES);
	uint64_t state = 1;
	bool done;

	if (!host) {
		kp_fail("out of memory");
		return false;
	}
	for (unsigned at = 0; at < OPERAND_BYTES; at += format->bytes) {
		uint64_t number = ones ? one(format) : random_number(format, &state);

		for (unsigned byte = 0; byte < format->bytes; byte++)
			host[at + byte] = (unsigned char)(number >> 8 * byte);
	}
	done = kp_gpu_check(job->gpu->driver,
			    job->gpu->driver->copy_to(job->in, host, OPERAND_BYTES),
			    "cuMemcpyHtoD");
	free(host);
	return done;
}

static bool launch(void *context)
{
	struct job *job = context;
	uint64_t none = 0;
	void *arguments[] = {&job->in, &job->out, &none, &job->iterations};

	return kp_gpu_launch(job->gpu, job->function, job->blocks, job->row->threads,
			     job->row->shared_bytes, arguments);
}

/* Whether each thread did as many multiply-adds as its row says. */
static bool check(struct job *job)
{
	const struct kp_driver *driver = job->gpu->driver;
	size_t threads = (size_t)job->blocks * job->row->threads;
	double expected = (double)job->row->multiply_adds * CHECK_ITERATIONS;
	double *sums = malloc(threads * sizeof(*sums));
	bool done = sums != NULL;

	if (!sums)
		kp_fail("out of memory");
	job->iterations = CHECK_ITERATIONS;
	done = done && put_operands(job, true) &&
	       kp_gpu_check(driver, driver->memory_set(job->out, ~0U, threads * 2, NULL),
			    "cuMemsetD32Async") &&
	       launch(job) &&
	       kp_gpu_check(driver, driver->copy_from(sums, job->out, threads * sizeof(*sums)),
			    "cuMemcpyDtoH");
	for (size_t i = 0; done && i < threads; i++) {
		if (sums[i] == expected)
			continue;
		kp_fail("%s computes %.17g, not %.17g: the GPU or kprof is broken",
			job->row->kernel, sums[i], expected);
		done = false;
	}
	free(sums);
	return done;
}

/* As many iterations as take LAUNCH_S. */
static bool choose_iterations(struct kp_timer *timer, struct job *job)
{
	double seconds = 0, iterations;

	job->iterations = TRIAL_ITERATIONS;
	for (int i = 0; i < 2; i++) /* the first may load the code */
		if (!kp_timer_once(timer, launch, job, &seconds))
			return false;
	iterations = seconds > 0 ? TRIAL_ITERATIONS * LAUNCH_S / seconds : TRIAL_ITERATIONS;
	job->iterations = iterations < TRIAL_ITERATIONS ? TRIAL_ITERATIONS
			  : iterations < 1e9            ? (unsigned)iterations
							: 1000000000U;
	return true;
}

/* A grid that fills the GPU once. */
static bool choose_blocks(struct job *job)
{
	const struct kp_driver *driver = job->gpu->driver;
	const struct row *row = job->row;
	int blocks = 0;

	if (!kp_gpu_check(driver,
			  driver->function_set(job->function, KP_CU_FUNCTION_MAX_DYNAMIC_SHARED,
					       (int)row->shared_bytes),
			  "cuFuncSetAttribute") ||
	    !kp_gpu_check(
		    driver,
		    driver->occupancy(&blocks, job->function, (int)row->threads, row->shared_bytes),
		    "cuOccupancyMaxActiveBlocksPerMultiprocessor"))
		return false;
	if (blocks < 1) {
		kp_fail("%s does not fit on a multiprocessor of %s", row->kernel, job->gpu->name);
		return false;
	}
	job->blocks = (unsigned)blocks * (unsigned)job->gpu->info.sm_count;
	return true;
}

static bool measure(struct kp_timer *timer, const struct row *row, struct kp_measured *out)
{
	const struct kp_driver *driver = timer->gpu->driver;
	struct job job = {.gpu = timer->gpu, .row = row};
	struct kp_timing timing;
	bool done = false;

	job.function = kp_gpu_function(timer->gpu, row->kernel);
	if (!job.function)
		return true; /* not for this chip */
	if (!choose_blocks(&job) ||
	    !kp_gpu_check(driver, driver->memory_alloc(&job.in, OPERAND_BYTES), "cuMemAlloc") ||
	    !kp_gpu_check(driver,
			  driver->memory_alloc(&job.out, (size_t)job.blocks * row->threads * 8),
			  "cuMemAlloc"))
		goto out;
	done = check(&job) && put_operands(&job, false) && choose_iterations(timer, &job) &&
	       kp_timer_run(timer, launch, &job, WARM_S, &timing);
	if (done)
		kp_measured_take(out, row->kind, row->what,
				 2.0 * row->multiply_adds * row->threads * job.blocks *
					 job.iterations,
				 1e12, &timing);
out:
	if (job.in)
		driver->memory_free(job.in);
	if (job.out)
		driver->memory_free(job.out);
	return done;
}

bool kp_bench_rates(struct kp_timer *timer, struct kp_measured *out)
{
	uint64_t major = timer->gpu->info.compute_major;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (major < 32 && (rows[i].chips >> major & 1) && !measure(timer, &rows[i], out))
			return false;
	return true;
}
