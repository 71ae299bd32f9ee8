/*
 * What all these samples share: the two options, the measured time of an iteration, and the verdict
 * on the output. Single-threaded.
 *
 * An iteration is what a program does again and again: a call of `iterate`, which launches and may
 * wait. They run in parts of PART_MS, behind each of which the device is waited for; the time of an
 * iteration is the median over the parts of their mean. stdout:
 *
 *   remedy yes|no
 *   iterations N       all that ran, the first ones included
 *   iteration_ns N     measured
 *   output right|wrong
 */
#ifndef PATHOLOGIES_TIMING_H
#define PATHOLOGIES_TIMING_H

#include "args.h"
#include "check.h"

#include <inttypes.h>
#include <time.h>

enum { WARM_UP = 3, PART_MS = 50, PARTS_MOST = 1024 };

struct timing {
	bool remedy;
	int64_t milliseconds; /* how long iterations run, about */
	int64_t iterations;   /* that ran so far */
};

static inline double timing_now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Reads the command line; the program ends here for --help, and where it is wrong. */
static inline void timing_parse(struct timing *timing, int argc, char **argv, const char *name,
				const char *purpose, const char *remedy)
{
	timing->remedy = false;
	timing->milliseconds = 2000;
	timing->iterations = 0;

	const struct arg args[] = {
		{"remedy", ARG_FLAG, &timing->remedy, 0, 0, NULL, remedy},
		{"milliseconds", ARG_NUMBER, &timing->milliseconds, 1, 50000, NULL,
		 "how long iterations run"},
	};
	const struct args_program program = {name, purpose, args, sizeof(args) / sizeof(args[0])};
	enum args_result result = args_parse(&program, argc, argv);

	if (result != ARGS_OK)
		exit(result == ARGS_HELP ? 0 : 2);
}

/* Runs `count` iterations to their end; returns seconds. */
static inline double timing_part(struct timing *timing, void (*iterate)(void *), void *context,
				 int64_t count)
{
	double begin_s = timing_now_s();

	for (int64_t i = 0; i < count; i++)
		iterate(context);
	CUDA_CHECK(cudaDeviceSynchronize());
	timing->iterations += count;
	return timing_now_s() - begin_s;
}

static inline int timing_compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Runs iterations as long as was asked for, and prints how many there were and what one takes. */
static inline void timing_run(struct timing *timing, void (*iterate)(void *), void *context)
{
	static double means_s[PARTS_MOST];
	double end_s = timing_now_s() + 1e-3 * (double)timing->milliseconds;
	int64_t count = 1;
	size_t parts = 0;

	timing_part(timing, iterate, context, WARM_UP);
	while (timing_part(timing, iterate, context, count) < 1e-3 * PART_MS && count < 1 << 20)
		count *= 2;
	do {
		means_s[parts++] = timing_part(timing, iterate, context, count) / (double)count;
	} while (parts < PARTS_MOST && timing_now_s() < end_s);
	qsort(means_s, parts, sizeof(means_s[0]), timing_compare);
	printf("remedy %s\niterations %" PRId64 "\niteration_ns %.0f\n",
	       timing->remedy ? "yes" : "no", timing->iterations, 1e9 * means_s[parts / 2]);
}

/* Says whether the output was right; returns the exit status. */
static inline int timing_verdict(bool right)
{
	printf("output %s\n", right ? "right" : "wrong");
	return fflush(stdout) == 0 && right ? 0 : 1;
}

/* Device memory for `count` elements. */
template <typename T> static T *timing_allocate(size_t count)
{
	void *memory;

	CUDA_CHECK(cudaMalloc(&memory, count * sizeof(T)));
	return (T *)memory;
}

static inline int timing_attribute(enum cudaDeviceAttr attribute)
{
	int value;

	CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, 0));
	return value;
}

/* A number for each index, the same on both sides. */
static inline __host__ __device__ uint32_t timing_hash(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352du;
	x = (x ^ x >> 15) * 0x846ca68bu;
	return x ^ x >> 16;
}

#endif
