/*
 * kprof bench --against: the same work by other libraries, measured by bench_references.py.
 *
 * That is a program of its own, because PyTorch is. It gets the operator and its shapes, runs
 * kprof's kernels (bench_library.h) and the others' on the same buffers in one process, in the
 * order ABBA, and prints one line of JSON a shape.
 */
#ifndef KP_PROFILER_BENCH_AGAINST_H
#define KP_PROFILER_BENCH_AGAINST_H

#include "profiler/bench_operators.h"

#define KP_BENCH_REFERENCES_MOST 8
#define KP_BENCH_REFERENCE_NAME 32

/* Microseconds a launch: the median of all repetitions, and the extremes of either run. */
struct kp_bench_time {
	double median_us, least_us, most_us; /* most: 0: not measured */
};

/* How many times as fast kprof's kernel is, in one run: the median of its rounds and the extremes.
 */
struct kp_bench_ratio {
	double median, least, most; /* most: 0: not measured */
};

/* What was measured of a shape; count 0: nothing. */
struct kp_bench_references {
	struct kp_bench_time ours_cold, ours_hot; /* kprof's kernel in that process */
	double ours_error;                        /* relative, of the whole result's length */
	struct kp_bench_reference {
		char name[KP_BENCH_REFERENCE_NAME], group[KP_BENCH_REFERENCE_NAME];
		struct kp_bench_time cold, hot;
		struct kp_bench_ratio cold_ratio, hot_ratio;
		double error; /* of the same units as ours, against float64 */
	} rows[KP_BENCH_REFERENCES_MOST];
	size_t count;
};

/*
 * Whether there is a Python (KPROF_PYTHON, else python3) with PyTorch, and the list, as in
 * torch,cublas, names something that the operator can be compared with; says what is missing.
 */
bool kp_bench_against_check(const struct kp_bench_operator *operator, const char * list);

/*
 * Runs them for `count` shapes of an operator on a device; results come in the same order. Says
 * what goes wrong and returns false.
 */
bool kp_bench_against(const struct kp_bench_operator *operator, const char * list, uint64_t device,
		      const struct kp_bench_shape *shapes, size_t count,
		      struct kp_bench_references **out);

/* Reads a line that bench_references.py printed; false: it is none of this shape. */
bool kp_bench_against_parse(const char *line, const char *shape, struct kp_bench_references *out);

#endif
