/* What is kept of ranges while a report is built: private to report_ranges*.c. */
#ifndef KP_ANALYZERS_RANGES_BUILD_H
#define KP_ANALYZERS_RANGES_BUILD_H

#include "analyzers/range_index.h"
#include "analyzers/ranges.h"
#include "analyzers/report_ranges.h"
#include "analyzers/run_ties.h"

/* A kernel on its way to the ranges that own it. */
struct kp_ranges_kernel {
	uint64_t start_ns, end_ns; /* 0: unknown */
	uint64_t at_ns;            /* when it was launched; by time: when it started */
	uint32_t thread, use, row;
	bool known;
};

struct kp_ranges_process {
	bool any;                 /* it has ranges */
	const char *doubt;        /* why its ranges own by time; NULL: they do not */
	bool calls;               /* its launches are tied to calls */
	struct kp_run_ties *runs; /* to runs; NULL: not */
	struct kp_range_index index;
	uint32_t *texts; /* of each string: its number in `texts`, plus one; 0: none yet */
	uint8_t *phases; /* of each string: its phase, plus one; 0: not judged yet */
	struct kp_ranges_kernel *batch;
	size_t batch_count, batch_capacity;
	struct kp_ranges_kernel *left; /* scratch: what was left of the batch before */
	size_t left_count, left_capacity;
};

/* A row while it grows. */
struct kp_ranges_row {
	uint32_t parent, domain, name; /* texts */
	uint32_t depth;
	bool of_process;
	uint64_t calls, host_ns, first_ns, last_ns;
	uint64_t kernels, kernel_ns, own_kernels, own_kernel_ns, busy_ns, idle_ns;
};

struct kp_ranges_caller {
	uint64_t calls, total_ns;
};

struct kp_build_ranges {
	struct kp_ranges_process *processes;
	struct kp_intern texts;    /* names and domains */
	struct kp_intern row_keys; /* (parent, domain, name, of_process) */
	struct kp_ranges_row *rows;
	size_t row_count, row_capacity, rows_most;
	struct kp_owned_phase (*phases)[KP_PHASE_COUNT]; /* by use */
	size_t phase_count, phase_capacity;
	bool wants_callers;
	struct kp_intern caller_keys; /* (row of the kernel, row of the range) */
	struct kp_ranges_caller *callers;
	size_t caller_capacity;
	uint64_t ranges, left_out, kept;
	uint64_t damaged_chunks; /* so far */
	uint64_t owned, outside, unattributed;
	uint64_t owned_ns, outside_ns, unattributed_ns;
};

/* report_ranges_own.c: gives the kernels of a process that were launched before the watermark to
 * their ranges, and keeps the others. Errors: KP_NO_MEMORY. */
enum kp_status kp_ranges_own(struct kp_builder *builder, const struct kp_process *process,
			     uint64_t watermark_ns);
/* report_ranges_own.c: the row of a range whose parent has one. For kp_range_index_link. */
struct kp_ranges_link {
	struct kp_build_ranges *ranges;
	const struct kp_process *process;
};
enum kp_status kp_ranges_linked(void *context, struct kp_range_stack *stack,
				struct kp_range_node *node);
/* report_ranges_callers.c: notes the innermost range of a kernel; into the report, where each row
 * of ranges has its place. Errors: KP_NO_MEMORY. */
enum kp_status kp_ranges_call(struct kp_build_ranges *ranges, uint32_t range,
			      const struct kp_ranges_kernel *kernel);
enum kp_status kp_ranges_put_callers(struct kp_builder *builder, const size_t *place,
				     struct kp_report_ranges *out);

#endif
