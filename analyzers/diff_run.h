/* One run, as a comparison sees it: what diff.h keeps of a report. Immutable once created. */
#ifndef KP_ANALYZERS_DIFF_RUN_H
#define KP_ANALYZERS_DIFF_RUN_H

#include "analyzers/report.h"
#include "analyzers/report_losses.h"
#include "analyzers/step_parts.h"

#define KP_RUN_NONE UINT32_MAX

/* What is compared: whole runs, or iterations. */
enum kp_run_unit { KP_UNIT_RUN, KP_UNIT_STEP, KP_UNIT_COUNT };

/* One kernel; all its processes and GPUs together. */
struct kp_run_row {
	const char *mangled; /* any bytes, as in a report */
	const char *full, *shortened;
	const char *variant, *dtype; /* NULL: not known */
	const char *operator_name;
	uint64_t calls[KP_UNIT_COUNT];
	uint64_t part_ns[KP_UNIT_COUNT]; /* of the length of all units; see diff.h */
	uint64_t total_ns;               /* durations of all launches that were timed */
	double median_ns;                /* likewise; NaN: none was */
	double bytes;                    /* to and from memory, of all of them; NaN: not known */
	uint32_t before, behind;         /* rows of neighbours; KP_RUN_NONE: none */
};

/* All units of a run; the length is the sum of the rows' parts and these. */
struct kp_run_length {
	uint64_t count; /* 0: there are none */
	uint64_t length_ns;
	int64_t others_ns; /* kernels of other processes in iterations of one */
	int64_t rest_ns;   /* idle time without a cause */
	uint64_t cause_ns[KP_GAP_CAUSE_COUNT];
};

struct kp_run {
	const char *name;     /* of the file */
	const char *command;  /* of the first process that ran kernels; NULL: not recorded */
	const char *gpus;     /* "2 x NVIDIA H200"; "": none is described */
	const char *driver;   /* NULL: not recorded */
	double sm_mhz;        /* median under load, mean over GPUs; NaN: not known */
	double throttled_pct; /* NaN: not known */
	bool windows;         /* not recorded from start to end; */
	bool sampled;         /* by --duty */
	bool host, counted;   /* with timed calls; with hardware counters */
	uint64_t filtered;    /* kernels */
	struct kp_losses losses;
	uint32_t unfinished;                            /* processes without an end */
	uint64_t *identities;                           /* of its processes, sorted */
	size_t identity_count;                          /* of them */
	uint64_t kernel_ns, busy_ns, span_ns, launches; /* everything */
	struct kp_run_length lengths[KP_UNIT_COUNT];
	bool by_range;           /* what iterations are, as in kp_iteration_row; */
	const char *anchor;      /* NULL: a graph */
	struct kp_run_row *rows; /* by mangled name, operator, variant */
	size_t row_count;
	double *walls_ns; /* of iterations in order of time, mean over processes and GPUs */
	size_t wall_count;
	struct kp_arena *arena;
};

/*
 * Takes what a comparison needs from a report, which was built with its timeline, its busy shares
 * and its step parts, and may go afterwards. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_run_create(const struct kp_report *report, const char *name, struct kp_run **out);
void kp_run_destroy(struct kp_run *run); /* NULL is allowed */

#endif
