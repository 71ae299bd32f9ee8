/*
 * What a sample of hardware counters may hold, and how a session says which of them it does.
 *
 * A session's `metrics` is text, one line a value of its samples, in their order:
 *
 *     key SPACE CUPTI's name SPACE unit NEWLINE
 *
 * where the key is a name of the table below. A value whose key is unknown keeps its place.
 */
#ifndef KP_TRACE_METRICS_H
#define KP_TRACE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most values of a sample. */
#define KP_SAMPLE_VALUES 8

/*
 * X(NAME, key, unit, title): the metrics, the same on every chip. All are sums over the GPU: cycles
 * of all SMs (or of their tensor pipes) together, bytes and sectors of all memory channels or L2
 * slices.
 */
#define KP_METRICS(X)                                                                              \
	X(DRAM_READ, dram_read_bytes, "byte", "read from device memory")                           \
	X(DRAM_WRITE, dram_write_bytes, "byte", "written to device memory")                        \
	X(L2_SECTORS, l2_sectors, "sector", "32-byte sectors through L2")                          \
	X(TENSOR_ACTIVE, tensor_active_cycles, "cycle", "in which tensor pipes worked")            \
	X(SM_ACTIVE, sm_active_cycles, "cycle", "in which SMs had work")

enum kp_metric {
#define KP_METRIC_ROW(NAME, key, unit, title) KP_METRIC_##NAME,
	KP_METRICS(KP_METRIC_ROW)
#undef KP_METRIC_ROW
		KP_METRIC_COUNT /* none of these */
};

struct kp_text;

/* One line of a session's metrics. The texts are borrowed and not terminated. */
struct kp_metric_line {
	const char *key, *source, *unit;
	size_t key_length, source_length, unit_length;
	enum kp_metric metric; /* KP_METRIC_COUNT: a key that this kprof does not know */
};

/*
 * Reads a session's metrics. Returns how many lines there are, 0 if any is malformed or there are
 * more than KP_SAMPLE_VALUES.
 */
size_t kp_metrics_parse(const struct kp_text *metrics, struct kp_metric_line out[KP_SAMPLE_VALUES]);
/* The place of a metric in a session's samples; false where they do not hold it. */
bool kp_metrics_place(const struct kp_text *metrics, enum kp_metric metric, size_t *out);

/* Name and unit of a metric. */
const char *kp_metric_key(enum kp_metric metric);
const char *kp_metric_unit(enum kp_metric metric);

#endif
