/* Rows of the ranking: kernels, variants and operators; part of report.h, which defines the words.
 */
#ifndef KP_ANALYZERS_REPORT_KERNELS_H
#define KP_ANALYZERS_REPORT_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/operators.h"
#include "analyzers/report_host.h"
#include "analyzers/report_times.h"
#include "analyzers/report_traffic.h"
#include "analyzers/report_windows.h"
#include "analyzers/shapes.h"

/*
 * One kernel: one mangled name (its launches may differ in grid and block). Where the order of
 * launches says that some do the work of another operator, those have a row of their own.
 */
struct kp_kernel_row {
	const char *mangled;   /* as CUPTI gave it, any bytes: print through kp_demangle_escape */
	size_t mangled_length; /* its NULs are bytes like others */
	const char *full;      /* demangled, valid UTF-8, control bytes escaped */
	const char *shortened; /* function and the template arguments that tell variants apart */
	size_t operator_index;
	size_t variant_index;                  /* in variants[] */
	const char *variant, *library, *dtype; /* as in struct kp_label; NULL: not known */
	enum kp_label_source label_source;
	uint64_t calls; /* all launches, timed or not */
	struct kp_durations durations;
	struct kp_estimate estimate;
	struct kp_shares shares;
	uint64_t alone_ns;          /* nothing else ran meanwhile, see alone.h; as alone_pct */
	uint64_t path_ns;           /* on the critical path, see path.h; as path_pct */
	uint64_t graph_calls;       /* of calls: launched by a CUDA graph */
	uint32_t config_count;      /* distinct grid/block/shared-memory combinations */
	uint32_t grid[3], block[3]; /* of the combination with most time */
	uint32_t registers, static_shared_bytes, dynamic_shared_bytes; /* of the same */
	struct kp_host_times host;
	bool above_threshold;              /* its share of kernel time is above the threshold */
	struct kp_row_traffic traffic;     /* with report.traffic.any */
	const struct kp_shape_row *shapes; /* by time, 32 at most; the same */
	size_t shape_count;
	const struct kp_stability *stability; /* of its shapes; never NULL */
};

/*
 * A kernel, whatever its launches do: all rows of one mangled name. What is not a sum or does not
 * follow from all launches (configuration, shapes, label) is that of the row with most time.
 * Intervals of its estimate are those of its rows added up, which are no narrower than its own.
 * alone_ns is what its rows have, and no more than its own.
 */
struct kp_whole_kernel {
	struct kp_kernel_row row;
	const size_t *operators; /* places in operators[]: whose work it does, most time first */
	size_t operator_count;
};

struct kp_operator_row {
	const char *name; /* "attention", "gemm", … as in operators.yaml */
	uint64_t calls;
	struct kp_durations durations;
	uint64_t written_out_ns; /* of these: of kernels that the order of launches gave to it */
	struct kp_estimate estimate;
	struct kp_shares shares;
	uint64_t alone_ns; /* likewise: only kernels of this operator ran */
	uint64_t path_ns;
	size_t first_kernel, kernel_count;   /* its kernels are contiguous in kernels[] */
	size_t first_variant, variant_count; /* its variants are contiguous in variants[] */
	struct kp_host_times host;
	bool above_threshold;
	struct kp_row_traffic traffic;        /* with report.traffic.any */
	const struct kp_stability *stability; /* likewise; never NULL */
};

/* The kernels of an operator that belong together: of one kind, or of one number type. */
struct kp_variant_row {
	const char *name; /* NULL: their names do not tell */
	size_t operator_index;
	uint64_t calls;
	struct kp_durations durations;
	struct kp_estimate estimate;
	struct kp_shares shares;
	size_t kernel_count;
	bool above_threshold;
};

/* What stands behind an operator's name: a word where most of it is written out as kernels of other
 * kinds; else nothing. */
static inline const char *kp_operator_mark(const struct kp_operator_row *row)
{
	return row->written_out_ns * 2 > row->durations.total_ns ? ", written out" : "";
}

#endif
