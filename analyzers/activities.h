/*
 * What one GPU did, in order of time: kernels and memory operations of all processes and streams.
 *
 * Streaming, as the sweep is: activities are added as the trace has them and visited in order of
 * their start up to a watermark, below which none comes later. Memory holds what lies beyond it.
 * Of files that break that promise some are visited late: visitors take what starts before the
 * one they saw last as if it started with that. Not thread-safe.
 */
#ifndef KP_ANALYZERS_ACTIVITIES_H
#define KP_ANALYZERS_ACTIVITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

enum kp_activity_kind { KP_ACTIVITY_KERNEL, KP_ACTIVITY_MEMORY };

/* Of what no stream's order depends on. */
#define KP_ACTIVITY_NO_LANE UINT32_MAX

struct kp_activity {
	uint64_t start_ns, end_ns; /* start_ns <= end_ns <= KP_TIME_MAX_NS */
	uint32_t use;              /* of the GPU by a process: the report's number of it */
	uint32_t row;              /* of the kernel in the report */
	uint32_t operator_index;   /* of the kernel, in the rules */
	uint32_t symbol;           /* of the kernel in its use, see repetition.h */
	uint32_t config;           /* of the kernel in its process */
	uint32_t lane;        /* number of its process, context and stream; of a memory set none */
	uint32_t correlation; /* 0: unknown */
	uint8_t kind;         /* enum kp_activity_kind */
	bool graph;           /* launched by a CUDA graph */
	bool to_host;         /* a copy from the GPU to the host, */
	bool synchronous;     /* or one that the call waited for */
};

struct kp_activities;

/* Beyond a watermark waiting_most wait at most, see kp_limits_waiting; of more the older half is
 * visited early. NULL without memory. */
struct kp_activities *kp_activities_create(size_t waiting_most);
void kp_activities_destroy(struct kp_activities *activities);

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_activities_add(struct kp_activities *activities, const struct kp_activity *item);
/* The same without copies: where the next ones are to be written, `count` at most, NULL without
 * memory; then keep those that were. */
struct kp_activity *kp_activities_next(struct kp_activities *activities, size_t count);
void kp_activities_keep(struct kp_activities *activities, size_t count);

/* Some that follow each other. */
typedef enum kp_status kp_activity_visit(void *context, const struct kp_activity *items,
					 size_t count);

/*
 * Visits what starts before watermark_ns, in runs; UINT64_MAX: all. Equal starts come in order of
 * end, then of row, so that the order does not depend on the file's. Errors: KP_NO_MEMORY, the
 * visitor's.
 */
enum kp_status kp_activities_settle(struct kp_activities *activities, uint64_t watermark_ns,
				    kp_activity_visit *visit, void *context);

#endif
