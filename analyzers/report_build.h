/*
 * What kp_report_build keeps while it reads: private to report*.c.
 *
 * Rows are numbered in order of appearance (kp_intern over mangled names). A launch finds its row
 * and GPU by (process, launch configuration) in an array: nothing is hashed for each launch.
 */
#ifndef KP_ANALYZERS_REPORT_BUILD_H
#define KP_ANALYZERS_REPORT_BUILD_H

#include "analyzers/durations.h"
#include "analyzers/operators.h"
#include "analyzers/report.h"
#include "analyzers/report_guess.h"
#include "analyzers/report_labels.h"
#include "analyzers/report_uses.h"
#include "analyzers/sweep.h"
#include "trace/arena.h"
#include "trace/intern.h"

/* One launch configuration of one process. */
struct kp_build_slot {
	uint32_t row_plus_one; /* 0: no launch yet */
	uint32_t gpu, use;
	uint32_t class_plus_one; /* of the attribution; 0: none yet */
	uint64_t calls, graph_calls, total_ns;
	uint64_t first; /* kernels of the process before the first launch */
};

struct kp_build_process {
	struct kp_build_slot *slots; /* one a configuration; NULL: no launch yet */
	uint32_t *names;             /* of each configuration: number of a kp_build_name */
	uint32_t *sequences; /* of each: the variant that sequences say, 0: none; NULL: of none */
	const struct kp_process *copy; /* of report_written.c; NULL: none */
	uint32_t *written;             /* with it: of each, the variant that it is, 0: its name's */
	struct kp_build_trials *trials; /* report_trials.c; NULL: there are none */
	uint64_t kernels, kernel_ns;
	uint32_t boot; /* processes of one start of one host share a number */
};

struct kp_build_row {
	struct kp_text mangled; /* borrowed from the reader */
	const char *full;
	struct kp_label label;
	uint64_t calls, graph_calls;
	struct kp_duration_tally tally;
};

struct kp_build_gpu {
	struct kp_gpu_row row;
	struct kp_sweep *sweep;             /* NULL: the timeline does what it would */
	struct kp_build_counters *counters; /* NULL: nothing to attribute */
};

struct kp_builder {
	struct kp_reader *reader;
	unsigned threads;             /* that read it */
	unsigned pass, passes;        /* how often it has been read, and will be at most */
	size_t batches_most;          /* of each reading; 0: all */
	const struct kp_guess *guess; /* borrowed */
	struct kp_report *report;
	struct kp_arena *scratch;         /* histograms */
	struct kp_build_sorting *sorting; /* of batches; NULL: none yet */
	const struct kp_operators *operators;
	struct kp_operators *own_operators; /* NULL: they are the caller's */
	struct kp_build_process *processes;
	struct kp_intern name_texts;
	struct kp_build_name *names;
	size_t name_count, name_capacity;
	struct kp_build_written *written; /* report_written.c; NULL: not yet */
	struct kp_build_finder *finder;   /* of sequences; NULL: there are none to find */
	struct kp_intern row_keys;        /* (name, variant by sequence) */
	struct kp_build_row *rows;
	size_t row_count, row_capacity;
	size_t *kernel_of_row;    /* in the report's kernels[], once the ranking stands; scratch */
	struct kp_intern devices; /* (process, device) */
	uint32_t *gpu_of_device;
	size_t device_capacity;
	struct kp_intern gpu_keys;
	struct kp_build_gpu *gpus;
	size_t gpu_count, gpu_capacity;
	struct kp_intern use_keys; /* (process, GPU) */
	struct kp_build_use *uses;
	size_t use_count, use_capacity;
	struct kp_sweep_parts parts;
	struct kp_duration_tally memop_tallies[KP_MEMOP_KIND_COUNT];
	struct kp_intern clock_keys; /* (process, device) of readings of clocks */
	struct kp_clocks_tally **clocks;
	size_t clocks_capacity;
	struct kp_build_windows *windows;   /* NULL: everything was recorded from start to end */
	struct kp_build_host *host;         /* NULL: no process has calls */
	struct kp_build_timeline *timeline; /* NULL: not asked for */
	struct kp_build_fusion *fusion;     /* the same */
	struct kp_build_ranges *ranges;     /* NULL: no process has ranges, or not asked for */
	struct kp_build_ranks *ranks;       /* NULL: there are no several ranks */
	struct kp_overview_line *overview;  /* by GPU; NULL: not asked for */
	size_t overview_capacity;
	uint64_t memop_bytes[KP_MEMOP_KIND_COUNT], memop_calls[KP_MEMOP_KIND_COUNT];
	struct kp_build_calls *calls;   /* report_calls.c */
	struct kp_build_shapes *shapes; /* report_shapes.c; NULL: not yet */
	bool counted;                   /* hardware counters were sampled */
	size_t *traffic_operators;      /* in the rules, of each row */
	uint32_t *traffic_classes;      /* scratch */
};

/* report_totals.c: GPUs, processes, memory operations, counts, and the totals of all. */
enum kp_status kp_build_totals(struct kp_builder *builder);

/* report_windows.c. Before reading; for each launch of a row, and each timed interval besides;
 * after reading; the span of a GPU; estimates. */
enum kp_status kp_build_windows_begin(struct kp_builder *builder);
enum kp_status kp_build_windows_launch(struct kp_builder *builder, const struct kp_process *process,
				       uint32_t row, const struct kp_launch *launch);
void kp_build_windows_see(struct kp_builder *builder, const struct kp_process *process,
			  uint64_t start_ns, uint64_t end_ns);
void kp_build_windows_finish(struct kp_builder *builder);
enum kp_status kp_build_windows_span(const struct kp_builder *builder, size_t gpu,
				     struct kp_gpu_row *row);
struct kp_estimate kp_build_windows_row(const struct kp_builder *builder, uint32_t row);
struct kp_estimate kp_build_windows_operator(const struct kp_builder *builder, size_t operator);
struct kp_estimate kp_build_windows_variant(const struct kp_builder *builder, size_t variant);
void kp_build_windows_end(struct kp_builder *builder);

/* A kernel on its way into the report: everything but its place. */
struct kp_build_draft {
	struct kp_kernel_row row; /* operator_index, variant_index: in the rules */
	struct kp_text mangled;
	uint32_t number; /* of its kp_build_row */
};

/* report_rows.c: all kernels in order of name, on the heap. Totals must stand. */
enum kp_status kp_build_drafts(struct kp_builder *builder, struct kp_build_draft **out);
/* By full name, then by the bytes of the mangled one: the order that breaks all ties. */
int kp_build_compare_names(const void *left, const void *right);

/* report_ranking.c, report_wholes.c: operators and kernels; kernels as wholes, after that. */
enum kp_status kp_build_ranking(struct kp_builder *builder);
enum kp_status kp_build_wholes(struct kp_builder *builder);

/* report_findings.c: what GPUs spent on communication; findings, when all else stands;
 * the closing advice (report_advice.c), in the arena; NULL without memory. */
void kp_build_communication(const struct kp_builder *builder, struct kp_gpu_row *rows);
enum kp_status kp_build_findings(struct kp_builder *builder);
const char *kp_build_advice(const struct kp_report *report);

/* report.c: for qsort; the busy time of a row; shares, which are 0 where the whole is. */
int kp_build_order(uint64_t a, uint64_t b);
double kp_build_part(const struct kp_builder *builder, uint32_t number);
struct kp_shares kp_build_shares(const struct kp_builder *builder, uint64_t total_ns,
				 double part_ns);
#endif
