/* The kernels of kernels/ceilings.cu in C, and the operators; see emulate.h. Threading: one launch
 * at a time. */
#include "tests/fake_gpu/driver/emulate.h"

#include <string.h>

#include "kernels/control.h"
#include "tests/fake_gpu/common/faults.h"
#include "tests/kernels/cpu_kernels.h"

#define FATBIN_MAGIC 0xba55ed50U
#define VECTOR_WORDS 4
#define READ_SLOTS 4096
/* What a launch of an operator takes. */
#define OPERATOR_NS 2000
#define BLOCK_NS 10
#define ROUND_NS 2

struct work {
	const uint32_t *in;
	uint32_t *out;
	uint64_t count; /* vectors of 16 bytes */
	uint32_t iterations;
};

static struct work work_of(void **arguments)
{
	return (struct work){*(const uint32_t **)arguments[0], *(uint32_t **)arguments[1],
			     *(uint64_t *)arguments[2], *(uint32_t *)arguments[3]};
}

static uint64_t time_ns(double amount, double rate)
{
	return (uint64_t)(amount / rate);
}

static uint64_t run_fill(const struct kp_fake_emulation *row, uint64_t threads, void **arguments)
{
	struct work work = work_of(arguments);

	(void)threads;
	for (uint64_t i = 0; i < work.count * VECTOR_WORDS; i++) {
		uint32_t word = (uint32_t)i;

		word = (word ^ word >> 16) * 0x21f0aaadU;
		word = (word ^ word >> 15) * 0x735a2d97U;
		work.out[i] = word ^ word >> 15;
	}
	return time_ns((double)work.count * 16, row->rate);
}

/* The exclusive or of all words, in one of the slots. */
static uint64_t run_read(const struct kp_fake_emulation *row, uint64_t threads, void **arguments)
{
	struct work work = work_of(arguments);
	uint32_t folded = 0;

	for (uint64_t i = 0; i < work.count * VECTOR_WORDS; i++)
		folded ^= work.in[i];
	work.out[threads % READ_SLOTS] ^= folded;
	return time_ns((double)work.count * 16, row->rate);
}

static uint64_t run_copy(const struct kp_fake_emulation *row, uint64_t threads, void **arguments)
{
	struct work work = work_of(arguments);

	(void)threads;
	memcpy(work.out, work.in, work.count * 16);
	return time_ns((double)work.count * 32, row->rate);
}

static uint64_t run_write(const struct kp_fake_emulation *row, uint64_t threads, void **arguments)
{
	static const uint32_t steps[] = {0x9e3779b1U, 0x85ebca77U, 0xc2b2ae3dU, 0x27d4eb2fU};
	struct work work = work_of(arguments);

	(void)threads;
	for (uint64_t i = 0; i < work.count * VECTOR_WORDS; i++)
		work.out[i] = work.in[i % VECTOR_WORDS] +
			      (uint32_t)(i / VECTOR_WORDS) * steps[i % VECTOR_WORDS];
	return time_ns((double)work.count * 16, row->rate);
}

/* With operands of one every multiply-add adds one; other sums are not computed, and left 0. */
static uint64_t run_rate(const struct kp_fake_emulation *row, uint64_t threads, void **arguments)
{
	struct work work = work_of(arguments);
	double sum = 0, *sums = (double *)(void *)work.out;
	uint64_t operand = 0;

	memcpy(&operand, work.in, row->one_bytes);
	if (operand == row->one)
		sum = (double)row->multiply_adds * work.iterations;
	for (uint64_t i = 0; i < threads; i++)
		sums[i] = sum;
	return time_ns((double)row->multiply_adds * work.iterations * (double)threads, row->rate);
}

#define FP64 8, 0x3ff0000000000000ULL
#define FP32 4, 0x3f800000ULL
#define FP16 2, 0x3c00ULL
#define BF16 2, 0x3f80ULL
#define FP8 1, 0x38ULL
#define INT8 1, 1ULL
#define NO_CONTROL 0, 0, false
/* A warpgroup of 128 threads does 16 instructions of m64n256 an iteration. */
#define WARPGROUP(k) (16 * 64 * 256 * (k) / 128)

// clang-format off
const struct kp_fake_emulation kp_fake_emulations[] = {
	{"kp_fill", run_fill, 100, 0, 0, 0, NO_CONTROL},
	{"kp_read_4", run_read, 410, 0, 0, 0, NO_CONTROL},
	{"kp_read_8", run_read, 420, 0, 0, 0, NO_CONTROL},
	{"kp_read_bulk", run_read, 430, 0, 0, 0, NO_CONTROL},
	{"kp_write_4", run_write, 400, 0, 0, 0, NO_CONTROL},
	{"kp_copy_1", run_copy, 370, 0, 0, 0, NO_CONTROL},
	{"kp_copy_4", run_copy, 390, 0, 0, 0, NO_CONTROL},
	{"kp_copy_8", run_copy, 380, 0, 0, 0, NO_CONTROL},
	{"kp_copy_bulk", run_copy, 385, 0, 0, 0, NO_CONTROL},
	{"kp_fma_fp64", run_rate, 500, 128, FP64, NO_CONTROL},
	{"kp_fma_fp32", run_rate, 1000, 128, FP32, NO_CONTROL},
	{"kp_mma_fp64", run_rate, 1100, 8 * 16 * 8 * 16 / 32, FP64, NO_CONTROL},
	{"kp_wgmma_tf32", run_rate, 8000, WARPGROUP(8), FP32, NO_CONTROL},
	{"kp_wgmma_fp16", run_rate, 16000, WARPGROUP(16), FP16, NO_CONTROL},
	{"kp_wgmma_bf16", run_rate, 16500, WARPGROUP(16), BF16, NO_CONTROL},
	{"kp_wgmma_fp8", run_rate, 32000, WARPGROUP(32), FP8, NO_CONTROL},
	{"kp_wgmma_int8", run_rate, 33000, WARPGROUP(32), INT8, NO_CONTROL},
#define KERNEL(image, kernel) \
	{.name = "kp_" #kernel "_bf16"}, \
	{.name = "kp_" #kernel "_fp16"},
#define KERNEL_LOGITS(image, kernel) \
	KERNEL(image, kernel) {.name = "kp_" #kernel "_fp32"},
#include "kernels/kernels.def"
	{.name = "kp_compare_pass_kernel"},
	{.name = "kp_compare_copy_kernel"},
	{.name = "kp_compare_checksum_kernel"},
	{.name = "kp_compare_guard_kernel"},
#define CONTROL(late) \
	.parameter_bytes = sizeof(struct kp_control_args), \
	.has_rounds = true, .is_late = (late)
	{.name = "kp_control_original", CONTROL(false)},
	{.name = "kp_control_replacement", CONTROL(false)},
	{.name = "kp_control_late", CONTROL(true)},
	{.name = "kp_control_fill",
	 .parameter_bytes = sizeof(struct kp_control_fill_args)},
};
// clang-format on
const size_t kp_fake_emulation_count = sizeof(kp_fake_emulations) / sizeof(kp_fake_emulations[0]);

static void run_operator(const struct kp_fake_emulation *row, const uint32_t grid[3],
			 uint32_t threads, uint32_t shared_bytes, void *args)
{
#ifdef KP_FAKE_OPERATORS
	kp_cpu_kernel_run(row->name, grid, threads, shared_bytes, args,
			  row->parameter_bytes ? KP_FIBERS_ALONE : KP_FIBERS_UP);
#endif
}

/* What waits on another stream has ended when the next one of its control is launched. */
static void run_late(const struct kp_fake_emulation *row, const uint32_t grid[3], uint32_t threads,
		     const void *args)
{
	static struct kp_control_args waiting;
	static uint32_t blocks[3], block;

	if (block && waiting.number == ((const struct kp_control_args *)args)->number)
		run_operator(row, blocks, block, 0, &waiting);
	waiting = *(const struct kp_control_args *)args;
	memcpy(blocks, grid, sizeof(blocks));
	block = threads;
}

/*
 * Rounds take their time, which is never quite the same for originals (those that a rule has not
 * replaced): half a percent more or less, by the multiples of the golden ratio, any of which that
 * follow each other are spread evenly. So there is something to be uncertain of, while a mean is
 * what it should be, however samples are drawn: what is tested with it can be certain.
 */
static uint64_t time_of_rounds(const struct kp_fake_emulation *row, const void *args)
{
	static uint64_t originals;
	const struct kp_control_args *control = args;
	double noise_pct = 0;

	if (!row->has_rounds || !control)
		return 0;
	if (!control->kept)
		noise_pct = (double)(++originals * 0x9e3779b97f4a7c15ULL) * 0x1p-64 - 0.5;
	return (uint64_t)((double)control->rounds * ROUND_NS * (1 + noise_pct / 100));
}

uint64_t kp_fake_emulate_operator(const struct kp_fake_emulation *row, const uint32_t grid[3],
				  uint32_t threads, uint32_t shared_bytes, void **arguments)
{
	static uint64_t launches;

	if (arguments && ++launches != kp_fake_faults()->wrong) {
		if (row->is_late)
			run_late(row, grid, threads, arguments[0]);
		else
			run_operator(row, grid, threads, shared_bytes, arguments[0]);
	}
	return OPERATOR_NS + BLOCK_NS * ((uint64_t)grid[0] * grid[1]) +
	       time_of_rounds(row, arguments ? arguments[0] : NULL);
}

static struct {
	const struct kp_fake_emulation *row;
	struct work work;
	uint64_t duration_ns;
} last;

void kp_fake_emulate_anew(void)
{
	last.row = NULL;
}

bool kp_fake_is_fatbin(const void *image)
{
	return *(const uint32_t *)image == FATBIN_MAGIC;
}

/* The fault «wrong»: one word of what the N-th launch computes is off. */
static void spoil(const struct work *work)
{
	static uint64_t launches;

	if (++launches == kp_fake_faults()->wrong)
		work->out[5] ^= 4;
}

uint64_t kp_fake_emulate(const struct kp_fake_emulation *row, uint64_t threads, void **arguments)
{
	struct work work = work_of(arguments);
	bool again = last.row == row && last.work.in == work.in && last.work.out == work.out &&
		     last.work.count == work.count && last.work.iterations == work.iterations;

	if (again)
		return last.duration_ns;
	last.duration_ns = row->run(row, threads, arguments);
	last.row = row;
	last.work = work;
	spoil(&work);
	return last.duration_ns;
}
