/*
 * Buffers of an operator: how large they are, and what is in them. Host memory only: kprof bench
 * and bench_references.py (through bench_library.h) fill the GPU's with the same numbers.
 */
#ifndef KP_PROFILER_BENCH_BUFFERS_H
#define KP_PROFILER_BENCH_BUFFERS_H

#include "profiler/bench_operators.h"

/* Numbers repeat after so many bytes. The period is odd, so that neighbouring rows differ. */
#define KP_BENCH_PATTERN_BYTES ((4U << 20) - 128)

/* A shape of an operator, with what follows from it. */
struct kp_bench_buffers {
	const struct kp_bench_operator *operator;
	const struct kp_bench_form *form;
	struct kp_bench_shape shape;
	struct kp_bench_layout layout;
	enum kp_dtype dtype;
	uint32_t units;
	uint64_t moved_bytes; /* that a launch reads and writes, each once */
};

/* `device`: the workspace depends on it. NULL, or why the operator cannot run so. */
const char *kp_bench_buffers_init(struct kp_bench_buffers *out,
				  const struct kp_bench_operator *operator,
				  const struct kp_bench_shape * shape,
				  const struct kp_kernel_device *device);
/* The same operator for some of its units. */
struct kp_bench_buffers kp_bench_buffers_of(const struct kp_bench_buffers *all, uint32_t units);

bool kp_bench_is_shared(const struct kp_bench_buffer *buffer);
bool kp_bench_is_output(const struct kp_bench_buffer *buffer);
bool kp_bench_is_checked(const struct kp_bench_buffer *buffer);
/* Whether its contents are said for so many units together: some units alone have others. */
bool kp_bench_is_whole(const struct kp_bench_buffer *buffer);

/* Of a plane and unit, and of all. */
uint64_t kp_bench_unit_bytes(const struct kp_bench_buffer *buffer);
uint64_t kp_bench_buffer_bytes(const struct kp_bench_buffers *buffers, size_t which);

/* Fills the first bytes, as many as kp_bench_fill_bytes says; the rest repeats them. */
uint64_t kp_bench_fill_bytes(const struct kp_bench_buffers *buffers, size_t which);
void kp_bench_fill(const struct kp_bench_buffers *buffers, size_t which, void *host);

/* Which units are compared with the reference, ascending: the first two, the last, some between. */
#define KP_BENCH_SAMPLES_MOST 64
uint32_t kp_bench_sample(const struct kp_bench_buffers *buffers,
			 uint32_t units[KP_BENCH_SAMPLES_MOST]);

/*
 * What the checked output must hold, and what it may be off besides half a unit in the last place;
 * of as many doubles as it has elements. The other outputs are written too.
 */
void kp_bench_reference(const struct kp_bench_buffers *buffers, void *const *host, double *expected,
			double *slack);

#endif
