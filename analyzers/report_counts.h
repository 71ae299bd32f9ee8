/* What is in a trace, and what is missing from it: a part of the report, see report.h. */
#ifndef KP_ANALYZERS_REPORT_COUNTS_H
#define KP_ANALYZERS_REPORT_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/reader.h"

/* Counts that must never be silent. */
struct kp_report_counts {
	uint64_t kernels; /* in the trace */
	uint64_t kernels_timed, kernels_untimed, kernels_invalid;
	uint64_t graph_kernels; /* launched by CUDA graphs */
	uint64_t dropped;       /* by CUPTI */
	bool dropped_known;     /* false: at least one process could not tell */
	uint64_t unwritten;     /* delivered, but not written (disk full) */
	uint64_t lost;          /* in damaged parts of the file, where that is known */
	uint64_t unknown_records;
	uint64_t filtered;      /* delivered, and left out by the user's patterns */
	uint64_t out_of_window; /* issued while nothing was recorded */
	uint64_t displaced; /* kernels out of order in a broken file: busy times are approximate */
	uint32_t processes_refused; /* in which nothing could be collected; their notes say why */
	uint32_t
		processes_untraced; /* programs that kprof could not see into: their rows say why */
	uint32_t processes_unfinished; /* collected, but no end record: killed, or still running */
	struct kp_damage damage;
};

#endif
