/*
 * How each GPU spent its span, at a glance: kernel time of each operator in equal stretches.
 *
 * Streaming, in memory that does not depend on the trace: stretches double whenever the span
 * outgrows them. A part of report.h, where it was asked for.
 */
#ifndef KP_ANALYZERS_OVERVIEW_H
#define KP_ANALYZERS_OVERVIEW_H

#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

#define KP_OVERVIEW_BINS 256
/* GPUs beyond have no overview. */
#define KP_OVERVIEW_GPUS_MOST 64

struct kp_overview_line {
	uint64_t origin_ns; /* of the first stretch, on the trace's clock */
	uint64_t bin_ns;    /* of each stretch; 0: nothing was added */
	size_t bins;        /* up to the last that holds something */
	size_t operators;
	/* [operator * KP_OVERVIEW_BINS + bin]: kernel time, ns; where kernels overlap, it adds up
	 * to more than the stretch. */
	double *time_ns;
};

struct kp_overview {
	struct kp_overview_line *lines; /* of the report's first GPUs */
	size_t count;
};

struct kp_builder;

/* A timed launch of an operator, by its index in the rules. Errors: KP_NO_MEMORY. */
enum kp_status kp_overview_add(struct kp_overview_line *line, size_t operators, size_t index,
			       uint64_t start_ns, uint64_t end_ns);
void kp_overview_line_fini(struct kp_overview_line *line);

/* report_overview.c: a timed launch of a row; into the report, by its operators; the end. */
enum kp_status kp_build_overview_launch(struct kp_builder *builder, uint32_t gpu, uint32_t row,
					uint64_t start_ns, uint64_t end_ns);
enum kp_status kp_build_overview_put(struct kp_builder *builder);
void kp_build_overview_end(struct kp_builder *builder);

#endif
