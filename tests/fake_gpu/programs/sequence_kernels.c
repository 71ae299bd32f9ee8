/* The kernels of prog_sequence; see sequence_kernels.h. */
#include "tests/fake_gpu/programs/sequence_kernels.h"

#include "tests/fake_gpu/programs/sequence_game.h"

/* (out, in, bytes, salt) */
static void compute_one(const uint32_t grid[3], void **a)
{
	(void)grid;
	sequence_mix_all(*(float **)a[0], *(float **)a[1], NULL, *(uint64_t *)a[2],
			 *(uint32_t *)a[3]);
}

/* (out, in, other, bytes, salt) */
static void compute_two(const uint32_t grid[3], void **a)
{
	(void)grid;
	sequence_mix_all(*(float **)a[0], *(float **)a[1], *(float **)a[2], *(uint64_t *)a[3],
			 *(uint32_t *)a[4]);
}

/* (inout, bytes) */
#define IN_PLACE(name, salt)                                                                       \
	static void name(const uint32_t grid[3], void **a)                                         \
	{                                                                                          \
		(void)grid;                                                                        \
		sequence_mix_all(*(float **)a[0], *(float **)a[0], NULL, *(uint64_t *)a[1], salt); \
	}
IN_PLACE(compute_maybe, 3)
IN_PLACE(compute_scale, 5)
IN_PLACE(compute_shift, 6)

#define ONE(text)                                                                                  \
	{                                                                                          \
		.name = text, .duration_ns = 100, .compute = compute_one, .parameter_count = 4,    \
		.parameter_bytes = {8, 8, 8, 4}, .reads = 2, .writes = 1                           \
	}
#define UPDATE(text, function)                                                                     \
	{                                                                                          \
		.name = text, .duration_ns = 100, .compute = function, .parameter_count = 2,       \
		.parameter_bytes = {8, 8}, .reads = 1, .writes = 1                                 \
	}
const struct kp_fake_kernel sequence_kernels[KERNELS] = {
	[FIRST] = ONE("seq_first"),
	[MAYBE] = UPDATE("seq_maybe", compute_maybe),
	[SECOND] = {.name = "seq_second",
		    .duration_ns = 100,
		    .compute = compute_two,
		    .parameter_count = 5,
		    .parameter_bytes = {8, 8, 8, 8, 4},
		    .reads = 6,
		    .writes = 1},
	[THIRD] = ONE("seq_third"),
	[SCALE] = UPDATE("seq_scale", compute_scale),
	[SHIFT] = UPDATE("seq_shift", compute_shift),
	[OTHER] = ONE("seq_other"),
};
