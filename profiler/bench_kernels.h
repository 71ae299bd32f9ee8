/*
 * kprof bench OPERATOR: an operator of libkprof_kernels on a GPU, checked, then timed.
 *
 * Everything is enqueued through graphs, so that the host's launches are not what is timed. Cold:
 * each launch has buffers of its own, together KP_BENCH_COLD_L2 times the L2 cache or
 * KP_BENCH_SETS_MOST sets. Hot: one set. A plain kernel that moves the same bytes over the same
 * buffers stands beside it, timed in the same minute in the order ABBA: a copy, or, where nearly
 * all is read, one that reads.
 */
#ifndef KP_PROFILER_BENCH_KERNELS_H
#define KP_PROFILER_BENCH_KERNELS_H

#include <stdio.h>

#include "profiler/bench_against.h"
#include "profiler/bench_buffers.h"
#include "profiler/bench_timing.h"
#include "profiler/format.h"
#include "profiler/settings.h"

#define KP_BENCH_SETS_MOST 512U
#define KP_BENCH_COLD_L2 4U

struct kp_bench_result {
	const struct kp_bench_operator *operator;
	const struct kp_bench_form *form;
	struct kp_bench_shape shape;
	enum kp_dtype dtype;
	struct kp_kernel_plan plan; /* of the first launch */
	uint64_t bytes;             /* a launch reads and writes, each once */
	uint32_t sets, nodes;       /* of buffers; of a graph */
	uint32_t checked_units;     /* compared with the reference */
	double error_ulp;           /* the largest, in units of the last place */
	double error_pct;           /* the largest, of what is allowed */
	/* The chains are of dependent launches; plain: a copy, or reading. */
	struct kp_bench_time cold, cold_chain, hot, hot_chain, plain;
	double ceiling_gbps; /* of reading, measured before; 0: not of this operator */
	struct kp_bench_references references;
};

/* Memory for all sets of a shape; what goes wrong is said. */
struct kp_bench_work {
	const struct kp_gpu *gpu;
	const struct kp_kernels *kernels;
	struct kp_bench_buffers buffers;
	void *stream;
	uint64_t memory;                 /* of all sets, then of what plain kernels write */
	uint64_t set_bytes, plain_bytes; /* of a set; of what a plain kernel writes for it */
	uint32_t sets;
};

bool kp_bench_work_open(struct kp_bench_work *work, uint64_t l2_bytes);
void kp_bench_work_close(struct kp_bench_work *work);
/* One launch on a set. */
bool kp_bench_work_enqueue(const struct kp_bench_work *work, uint32_t set, bool dependent);
/*
 * Runs it on the poisoned outputs of two sets and compares units with the reference, and both with
 * each other; says so if one is wrong.
 */
bool kp_bench_work_check(const struct kp_bench_work *work, struct kp_bench_result *out);

/* Where a buffer of a set is, on the device. */
uint64_t kp_bench_work_address(const struct kp_bench_work *work, uint32_t set, size_t buffer);

/* Checks and times one shape; says what goes wrong and returns false. */
bool kp_bench_measure(struct kp_timer *timer, struct kp_bench_work *work,
		      struct kp_bench_result *out);

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
