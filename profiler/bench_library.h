/*
 * libkprof_bench.so: operators by name for bench_references.py, which calls it through ctypes.
 *
 * Buffers, their contents, launches and references are those of kprof bench (bench_buffers.h). The
 * caller keeps the buffers, on the device for kprof_bench_call, on the host for the others.
 */
#ifndef KP_PROFILER_BENCH_LIBRARY_H
#define KP_PROFILER_BENCH_LIBRARY_H

#include <stdint.h>

struct kp_kernels;
struct kprof_bench;

/* What there is to know of a buffer; flags are 0 or 1, as bench_buffers.h has them. */
struct kprof_bench_buffer {
	uint64_t bytes, unit_bytes, fill_bytes;
	uint32_t planes, element_bytes;
	int32_t is_shared, is_output, is_checked, is_whole;
};

/* The kernels for the current context; NULL: they cannot be loaded. Never freed. */
struct kp_kernels *kprof_bench_kernels(void);

/* An operator at a shape; `sms`: multiprocessors of the GPU. NULL: there is none such. */
struct kprof_bench *kprof_bench_create(const char *name, const char *shape, uint32_t sms);
/* The same for some of its units. */
struct kprof_bench *kprof_bench_some(const struct kprof_bench *all, uint32_t units);
void kprof_bench_destroy(struct kprof_bench *bench);

/* How many buffers, how many units; bytes that a launch moves. */
uint32_t kprof_bench_buffers(const struct kprof_bench *bench);
uint32_t kprof_bench_units(const struct kprof_bench *bench);
uint64_t kprof_bench_moved_bytes(const struct kprof_bench *bench);
void kprof_bench_describe(const struct kprof_bench *bench, uint32_t buffer,
			  struct kprof_bench_buffer *out);
/* A size of the shape, by its key, as in tokens; also page_tokens, varied, causal, and as enum
 * kp_dtype narrow. 0: it has none. */
uint32_t kprof_bench_size(const struct kprof_bench *bench, const char *key);

/* The first fill_bytes of a buffer; the rest repeats them. */
void kprof_bench_fill(const struct kprof_bench *bench, uint32_t buffer, void *host);
/* Which units kprof bench checks, ascending; returns how many, at most 64. */
uint32_t kprof_bench_sample(const struct kprof_bench *bench, uint32_t units[64]);
/* In float64: as many numbers as the checked buffer has elements. */
void kprof_bench_reference(const struct kprof_bench *bench, void *const *host, double *expected,
			   double *slack);
/* Enqueues a launch; 0, or a kp_status. */
int kprof_bench_call(const struct kprof_bench *bench, const struct kp_kernels *kernels,
		     void *const *buffers, int dependent, void *stream);

#endif
