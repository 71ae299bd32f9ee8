/*
 * What prog_launch does on the GPU: kernels, graphs and memory operations as the options say.
 * Threading: each thread has its own streams; counts are added up under a lock.
 */
#ifndef KP_FAKE_GPU_WORK_H
#define KP_FAKE_GPU_WORK_H

#include "tests/fake_gpu/programs/options.h"

struct kp_prog_counts {
	uint64_t kernels; /* launched one by one */
	uint64_t failed;  /* launches that returned an error */
	uint64_t graph_kernels, memops;
};

/* cuInit, a context, the kernels; ends the program with status 3 where CUDA gives an error. */
void kp_prog_begin(const struct kp_prog_options *options);
/* All the work, by all threads; adds to *counts. */
void kp_prog_work(const struct kp_prog_options *options, struct kp_prog_counts *counts);

#endif
