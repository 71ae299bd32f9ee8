/*
 * What is kept of a GPU's launches and samples until they are attributed: private to report*.c.
 *
 * Nothing is kept where a trace has no samples. Each launch takes 24 bytes and each sample 12 and
 * four for each metric; beyond KP_COUNTERS_KEPT_MAX of either, the first count.
 */
#ifndef KP_ANALYZERS_REPORT_COUNTERS_H
#define KP_ANALYZERS_REPORT_COUNTERS_H

#include "analyzers/report_build.h"

#define KP_COUNTERS_KEPT_MAX 12000000U

/* What a class is: a kernel's row and its shape, or a kind of memory operation. */
struct kp_class_key {
	uint32_t row; /* UINT32_MAX: grid[0] is an enum kp_memop_kind */
	uint32_t grid[3], block[3];
};

struct kp_build_counters {
	struct kp_attribution_launch *launches;
	size_t launch_count, launch_capacity;
	uint64_t *begin_ns;
	uint32_t *length_ns;
	float *values[KP_METRIC_COUNT];
	size_t sample_count, sample_capacity;
	struct kp_intern classes; /* of struct kp_class_key */
	uint64_t *class_calls;    /* of each, once solved */
	double *class_ns;
	uint32_t *by_row;            /* classes, in order of their rows */
	bool lacks[KP_METRIC_COUNT]; /* a session has no such metric */
	struct kp_gpu_traffic traffic;
	struct kp_attribution *attribution;
	struct kp_attribution_metric *metrics[KP_METRIC_COUNT];
};

/* report_counters.c. Before reading; what is read; after all. */
void kp_build_counters_begin(struct kp_builder *builder);
enum kp_status kp_build_counters_launch(struct kp_builder *builder,
					const struct kp_launch_config *config,
					const struct kp_launch *launch, struct kp_build_slot *slot);
enum kp_status kp_build_counters_memop(struct kp_builder *builder, uint32_t gpu, uint32_t kind,
				       uint64_t start_ns, uint64_t end_ns);
enum kp_status kp_build_counters_samples(struct kp_builder *builder, const struct kp_event *event);
void kp_build_counters_end(struct kp_build_counters *counters);

/* report_traffic.c. When all is read; a row, several as one, then operators and shapes; when the
 * ranking stands. */
enum kp_status kp_build_traffic_begin(struct kp_builder *builder);
void kp_build_traffic_row(struct kp_builder *builder, uint32_t row, size_t operator_index,
			  struct kp_row_traffic *out);
void kp_build_traffic_rows(struct kp_builder *builder, const uint32_t *rows, size_t count,
			   struct kp_row_traffic *out);
void kp_build_traffic_operator(struct kp_builder *builder, size_t operator_index,
			       struct kp_row_traffic *out);
enum kp_status kp_build_traffic_shapes(struct kp_builder *builder, uint32_t row,
				       struct kp_kernel_row *kernel);

struct kp_class_key kp_counters_class(const struct kp_build_counters *counters, uint32_t class);
/* The classes of a row: by_row[*first] and so many behind it. Once solved. */
size_t kp_counters_of_row(const struct kp_build_counters *counters, uint32_t row, size_t *first);
/* Attributes what was read. Errors: KP_NO_MEMORY. */
enum kp_status kp_counters_solve(struct kp_build_counters *counters);

#endif
