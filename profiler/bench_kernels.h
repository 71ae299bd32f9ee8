/*
 * kprof bench OPERATOR: an operator of libkprof_kernels on a GPU, checked, then timed.
 *
 * Everything is enqueued through graphs, so that the host's launches are not what is timed. Cold:
 * each launch has buffers of its own, together KP_BENCH_COLD_L2 times the L2 cache or
 * KP_BENCH_SETS_MOST sets. Hot: one set. A plain copy of the same bytes over the same buffers
 * stands beside it, timed in the same minute in the order ABBA.
 */
#ifndef KP_PROFILER_BENCH_KERNELS_H
#define KP_PROFILER_BENCH_KERNELS_H

#include <stdio.h>

#include "profiler/bench_operators.h"
#include "profiler/bench_timing.h"
#include "profiler/format.h"
#include "profiler/settings.h"

#define KP_BENCH_SETS_MOST 512U
#define KP_BENCH_COLD_L2 4U

/* Microseconds a launch: the mean of the medians of both runs, and the extremes of either. */
struct kp_bench_time {
	double median_us, least_us, most_us; /* most: 0: not measured */
};

struct kp_bench_result {
	const struct kp_bench_operator *operator;
	struct kp_bench_shape shape;
	enum kp_dtype dtype;
	struct kp_kernel_plan plan;
	uint64_t bytes;        /* a launch reads and writes, each once */
	uint32_t sets, nodes;  /* of buffers; of a graph */
	uint32_t checked_rows; /* compared with the reference */
	double error_ulp;      /* the largest, in units of the last place */
	struct kp_bench_time cold, hot, dependent, copy; /* dependent: hot, as a chain of them */
};

/* Memory for all sets of a shape; what goes wrong is said. */
struct kp_bench_work {
	const struct kp_gpu *gpu;
	const struct kp_kernels *kernels;
	const struct kp_bench_operator *operator;
	struct kp_bench_shape shape;
	struct kp_bench_layout layout;
	enum kp_dtype dtype;
	void *stream;
	uint64_t memory;                       /* of all sets, then of what they are copied to */
	uint64_t set_bytes, copy_bytes, bytes; /* of a set; of its copy; moved by a launch */
	uint32_t sets;
};

bool kp_bench_work_open(struct kp_bench_work *work, uint64_t l2_bytes);
void kp_bench_work_close(struct kp_bench_work *work);
/* One launch on a set. */
bool kp_bench_work_enqueue(const struct kp_bench_work *work, uint32_t set, bool dependent);
/* Runs it once on poisoned outputs and compares rows with the reference; says so if one is wrong.
 */
bool kp_bench_work_check(const struct kp_bench_work *work, struct kp_bench_result *out);

/* Where a buffer of a set is, on the device. */
uint64_t kp_bench_work_address(const struct kp_bench_work *work, uint32_t set, size_t buffer);

/* Checks and times one shape; says what goes wrong and returns false. */
bool kp_bench_measure(struct kp_timer *timer, struct kp_bench_work *work,
		      struct kp_bench_result *out);

const struct kp_bench_operator *kp_bench_find(const char *name);
/* kprof bench NAME. Returns the exit status. */
int kp_bench_run_operator(const struct kp_bench_operator *operator,
			  const struct kp_settings * settings);

void kp_print_bench(FILE *file, const struct kp_gpu *gpu, const struct kp_bench_result *results,
		    size_t count);
/* As YAML or JSON. Errors: KP_NO_MEMORY. */
enum kp_status kp_document_bench(FILE *file, const struct kp_gpu *gpu,
				 const struct kp_bench_result *results, size_t count,
				 enum kp_format format);

#endif
