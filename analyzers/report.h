/*
 * The ranking: where a trace's GPU time went, by operator and by kernel.
 *
 * kp_report_build reads a whole trace and returns a plain structure that the printers (text, YAML,
 * JSON, TUI) walk. It does no I/O but through the reader, knows no clock and no terminal. All of a
 * report lives in one arena and goes with kp_report_destroy.
 *
 * Definitions
 *   kernel time   the sum of the durations of all timed kernels. Overlap counts twice here.
 *   busy time     the time in which at least one kernel ran, per GPU, added over GPUs (union).
 *   span          from the first timed kernel, memory copy or set to the last one's end, per
 *                 GPU, added over GPUs. Where all that used a GPU was recorded in windows: the
 *                 length of these, for nothing is known of the time between them.
 * A GPU is one timeline: processes of one host that share a device (same UUID; MIG slices have
 * their own) share it, unless their clocks show that the host was started anew in between. A device
 * without a known UUID is one timeline for each process. Only GPUs with records have a row.
 * The three shares of a row, in percent, are never mixed:
 *   of kernel time   its summed durations ÷ kernel time
 *   of busy time     its part of busy time ÷ busy time; each instant is divided equally among the
 *                    kernels running on that GPU then, so that the rows add up to 100
 *   of the span      the same part ÷ span
 */
#ifndef KP_ANALYZERS_REPORT_H
#define KP_ANALYZERS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/clocks.h"
#include "analyzers/findings.h"
#include "analyzers/fusion.h"
#include "analyzers/library_ties.h"
#include "analyzers/operators.h"
#include "analyzers/overview.h"
#include "analyzers/ranges.h"
#include "analyzers/report_counts.h"
#include "analyzers/report_host.h"
#include "analyzers/report_kernels.h"
#include "analyzers/report_process.h"
#include "analyzers/report_ranks.h"
#include "analyzers/report_times.h"
#include "analyzers/report_traffic.h"
#include "analyzers/report_windows.h"
#include "analyzers/timeline.h"
#include "trace/reader.h"
#include "trace/status.h"

struct kp_memop_row {
	enum kp_memop_kind kind;
	const char *name; /* "copy host to device", … */
	uint64_t calls, bytes;
	struct kp_durations durations;
};

struct kp_gpu_row {
	const struct kp_device_info *info; /* borrowed from the reader; NULL: not described there */
	const struct kp_process *process;  /* the first that used it, borrowed likewise */
	uint32_t device;                   /* its CUDA ordinal in that process */
	uint64_t kernels;
	uint64_t kernel_ns, busy_ns, span_ns;
	uint64_t communication_ns;  /* of kernel_ns: of the operator of that name */
	uint64_t first_ns, last_ns; /* of the span, on the trace's clock; 0: nothing was timed */
	struct kp_clocks_summary clocks;
	const struct kp_gpu_traffic *traffic; /* NULL: its counters were not sampled */
};

struct kp_report_options {
	double threshold_pct; /* of kernel time; rows above it are marked. 30 by default */
	bool busy_shares;     /* compute busy_pct and span_pct of the rows; else they are 0 */
	bool ranges;          /* find out what NVTX ranges own; else NULL, */
	bool callers;         /* and in which each kernel was launched; else none */
	bool timeline;        /* compute the timeline and exclusive times; else NULL and 0 */
	bool no_iterations;   /* of the timeline leave out iterations and phases, */
	bool no_fusion;       /* and candidates of fusion */
	bool step_parts;      /* compute timeline->parts; else NULL */
	bool overview;        /* compute it; else it is empty */
	bool process_times;   /* compute busy_ns of the processes; else they are 0 */
	const struct kp_ceilings_finder *ceilings; /* who knows more of GPUs; NULL: nobody;
						      the report does not keep it */
	const char *iterations; /* the NVTX ranges that are; NULL: what repeats */
	struct kp_findings_options findings;
	/* What names kernels, borrowed until the report is built; NULL: the built-in rules. */
	const struct kp_operators *operators;
	/* Called after each batch with how far the reader is; what it returns but KP_OK ends the
	 * building. NULL: nobody asks. Neither is kept. */
	enum kp_status (*progress)(void *context, struct kp_reader_place place);
	void *progress_context;
	unsigned threads; /* the caller's included; 0: as many as it is worth. Reports are equal. */
};

struct kp_report {
	struct kp_report_options options;
	struct kp_report_counts counts;
	struct kp_report_windows windows;
	struct kp_report_host host;
	struct kp_report_traffic traffic;
	struct kp_report_fusion fusion;
	bool library_any;                        /* a process has launches within library calls */
	struct kp_library_account library;       /* of all of them */
	uint64_t kernel_ns, busy_ns, span_ns;    /* as defined above, over all GPUs */
	const struct kp_operator_row *operators; /* by time, largest first */
	size_t operator_count;
	const struct kp_variant_row *variants; /* grouped by operator likewise, by time within */
	size_t variant_count;
	const struct kp_kernel_row
		*kernels; /* grouped by operator in the same order, by time within */
	size_t kernel_count;
	size_t distinct_kernels;              /* of these: rows of one kernel count once */
	const size_t *kernels_by_time;        /* indices into kernels[], largest first */
	const struct kp_whole_kernel *wholes; /* kernels, one a mangled name, by time */
	size_t whole_count;
	const struct kp_memop_row *memops; /* by time */
	size_t memop_count;
	const struct kp_gpu_row *gpus;
	size_t gpu_count;
	const struct kp_process_row *processes;
	size_t process_count;
	struct kp_report_ranks ranks;
	struct kp_overview overview;
	const struct kp_timeline *timeline;    /* NULL: not asked for */
	uint64_t range_count;                  /* NVTX ranges in the trace */
	const struct kp_report_ranges *ranges; /* NULL: there are none, or not asked for */
	struct kp_findings findings;
	const char *advice; /* the first finding and its remedy, or why there is none */
	const struct kp_gate_outcome *gates; /* see gates.h; NULL: none was asked for */
	size_t gate_count;
	struct kp_arena *arena;
};

/*
 * Reads `reader` to its end and ranks. The report borrows from the reader, which must outlive it.
 * Errors: KP_NO_MEMORY, KP_IO, those of options->progress. A trace without kernels gives a report
 * with empty tables and an advice that says so.
 */
enum kp_status kp_report_build(struct kp_reader *reader, const struct kp_report_options *options,
			       struct kp_report **out);
void kp_report_destroy(struct kp_report *report);

#endif
