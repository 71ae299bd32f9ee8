/*
 * Memory traffic in reports: the keys of YAML, JSON and CSV, and lines of text. All of it is there
 * only where a trace holds samples of hardware counters. No state.
 */
#ifndef KP_PROFILER_TRAFFIC_H
#define KP_PROFILER_TRAFFIC_H

#include "analyzers/report.h"
#include "profiler/emit.h"

/* The keys of one row or shape, as members of the open map. */
void kp_traffic_emit(struct kp_emit *emit, const struct kp_row_traffic *traffic);
/* The keys, or one row, each behind a comma. */
void kp_traffic_csv_header(FILE *file);
void kp_traffic_csv(FILE *file, const struct kp_row_traffic *traffic);

/* The member «shapes» of a kernel, and «traffic» of a GPU (null without samples). */
void kp_traffic_emit_shapes(struct kp_emit *emit, const struct kp_kernel_row *kernel);
void kp_traffic_emit_gpu(struct kp_emit *emit, const struct kp_gpu_row *gpu);

/* What was sampled on a GPU, and whose it is: one sentence for people. */
void kp_traffic_describe(char *out, size_t size, const struct kp_gpu_traffic *traffic);

#endif
