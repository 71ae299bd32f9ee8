/*
 * What the rows of a report say of memory traffic and of what limits a kernel, where hardware
 * counters were sampled beside the launches; see attribution.h for how samples become launches'.
 */
#ifndef KP_ANALYZERS_REPORT_TRAFFIC_H
#define KP_ANALYZERS_REPORT_TRAFFIC_H

#include "analyzers/attribution.h"
#include "analyzers/ceilings.h"
#include "trace/metrics.h"

/* X(NAME, name, about): what keeps a kernel from being faster. */
#define KP_BOUNDS(X)                                                                               \
	X(UNKNOWN, "unknown", "too little is known")                                               \
	X(MEMORY, "memory", "device memory works at 60 % of its ceiling or more")                  \
	X(COMPUTE, "compute", "tensor pipes work 60 % of the time or more, and more than memory")  \
	X(LAUNCH, "launch", "half of the duration goes by before memory is used and after")        \
	X(LATENCY, "latency", "none of these: waiting, or work that is counted nowhere")

enum kp_bound {
#define KP_BOUND_ROW(NAME, name, about) KP_BOUND_##NAME,
	KP_BOUNDS(KP_BOUND_ROW)
#undef KP_BOUND_ROW
};

const char *kp_bound_name(enum kp_bound bound);
/* "absent" (NULL stands for it too), "estimated", "measured". */
const char *kp_traffic_source_name(enum kp_traffic_source source);
/* For tables: the first letter of it, and what the letters mean. */
char kp_traffic_source_letter(enum kp_traffic_source source);
#define KP_TRAFFIC_LETTERS "m measured, e estimated"

/* One row, or one shape of a kernel. Of what is not known doubles are NaN. */
struct kp_row_traffic {
	struct kp_traffic metrics[KP_METRIC_COUNT]; /* of a launch */
	enum kp_traffic_source source;              /* of bytes: read and written */
	double bytes, bytes_ci95; /* of a launch: half the width of the interval */
	double gbps, gbps_ci95;   /* 1e9 bytes a second of kernel time */
	double peak_gbps;         /* of memory, for this mix of reads and writes */
	enum kp_ceiling_source peak_source;
	double peak_pct;
	double tensor_pct;    /* of the time that tensor pipes worked, at the highest SM clock */
	double flop_per_byte; /* modelled: as if all tensor work were of 16-bit floats */
	enum kp_bound bound;
	double headroom; /* duration ÷ that at the nearer ceiling */
	/* Nothing is told, for it lies above the ceiling by more than its error: so much of it. */
	double claimed_pct;
};

/* A grid and block of a kernel. */
struct kp_shape_row {
	uint32_t grid[3], block[3];
	uint64_t calls;
	double mean_ns;
	struct kp_row_traffic traffic;
};

struct kp_gpu_traffic {
	uint64_t samples;
	uint64_t left_out;    /* samples that cannot be: out of order, overlapping, or endless */
	bool cut;             /* more launches or samples than are kept: the first of them count */
	uint64_t interval_ns; /* 0: unknown */
	bool has[KP_METRIC_COUNT];
	struct kp_attribution_totals totals[KP_METRIC_COUNT];
	struct kp_ceilings ceilings;
};

struct kp_report_traffic {
	bool any;              /* a GPU has samples, and rows may have traffic */
	struct kp_text absent; /* why one has none; empty: no reason is known */
};

#endif
