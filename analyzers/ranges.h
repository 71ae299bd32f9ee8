/*
 * NVTX ranges and the kernels that they own, as a report has them.
 *
 * A range owns what was launched in it: a kernel belongs to the ranges that were open on the
 * launching thread when the call that launched it was made, whenever the kernel ran; all kernels of
 * a graph launch belong to those in which the graph was launched. Each domain has ranges of its
 * own. A range that is pushed and popped owns launches of its thread alone. One that is started and
 * ended belongs to the process: it owns launches of all threads, stands beside the others and is
 * not among those which enclose them; where several of one name are open, the one that began last
 * owns the launch.
 *
 * Which call launched a kernel follows from the calls of --host or from the runs of launches (see
 * trace/launch_run.h). Where a process has neither, or they are not complete, its ranges own the
 * kernels that start while they are open (KP_OWNED_BY_TIME), and what may be of two threads' ranges
 * is not attributed.
 */
#ifndef KP_ANALYZERS_RANGES_H
#define KP_ANALYZERS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ranges of a trace beyond this are left out, and rows beyond one for KP_RANGE_ROW_BYTES of the
 * files, but for so many in any case, and never more. */
#define KP_RANGES_MOST ((size_t)1 << 20)
#define KP_RANGE_ROWS_LEAST ((size_t)1 << 13)
#define KP_RANGE_ROWS_MOST ((size_t)1 << 16)
#define KP_RANGE_ROW_BYTES 16
#define KP_RANGE_CALLERS_MOST ((size_t)1 << 16)

#define KP_RANGE_NO_PARENT SIZE_MAX

struct kp_report;

/* X(NAME, key, words): how it is known which range owns a kernel. */
#define KP_OWNERSHIPS(X)                                                                           \
	X(NONE, "none", "there are no kernels of processes with ranges")                           \
	X(LAUNCH, "launch", "by the thread's calls")                                               \
	X(TIME, "time", "by time")                                                                 \
	X(MIXED, "mixed", "of some processes by the thread's calls, of others by time")

enum kp_ownership {
#define KP_OWNERSHIP_ROW(name, key, words) KP_OWNED_BY_##name,
	KP_OWNERSHIPS(KP_OWNERSHIP_ROW)
#undef KP_OWNERSHIP_ROW
};
extern const char *const kp_ownership_keys[], *const kp_ownership_words[];

/* All ranges of one name in one domain that are enclosed by ranges of the same names. */
struct kp_range_row {
	const char *name, *domain;  /* printable; the default domain is "" */
	size_t parent;              /* the row of those that enclose it; KP_RANGE_NO_PARENT: none */
	unsigned depth;             /* 0: outermost */
	bool of_process;            /* started and ended, not pushed and popped */
	uint64_t calls;             /* how many ranges */
	uint64_t host_ns;           /* how long they were open, added up */
	uint64_t first_ns, last_ns; /* begin of the first and end of the last; CLOCK_REALTIME where
				       the trace knows it */
	uint64_t kernels, kernel_ns;         /* launched in them */
	uint64_t own_kernels, own_kernel_ns; /* of these: in no range further in */
	uint64_t busy_ns;  /* in which a kernel of theirs ran, each range by itself, added up */
	uint64_t idle_ns;  /* from the first to the last of a range's kernels, when none ran */
	double kernel_pct; /* of the report's kernel time */
};

/* What one kernel was launched in: the innermost ranges of each domain. */
struct kp_range_caller {
	size_t kernel, range; /* rows of the report */
	uint64_t calls, total_ns;
};

struct kp_report_ranges {
	const struct kp_range_row *rows; /* each before those it encloses, largest first */
	size_t row_count;
	uint64_t ranges, left_out; /* all there are; of these: too many, or with impossible times */
	enum kp_ownership by;
	bool of_process; /* some are started and ended */
	/* Of processes that have ranges: kernels in a range, in none, and those nobody knows of. */
	uint64_t owned, outside, unattributed;
	uint64_t owned_ns, outside_ns, unattributed_ns;
	const char *why_time; /* why by time: one sentence; NULL: it is not */
	/* By kernel, then longest first; no more than KP_RANGE_CALLERS_MOST. */
	const struct kp_range_caller *callers;
	size_t caller_count; /* 0: not asked for, or there are none */
};

/* How often ranges of a name came. */
struct kp_range_count {
	uint64_t count;
	uint64_t first_ns, last_ns; /* from the begin of the first to the end of the last */
	double per_second;          /* over that time; NAN: none, or no time */
};

/*
 * Counts the ranges of a name, in any domain, thread and process; with a * at its end, of all names
 * that begin so. False: there is none. The report was built with options.ranges.
 */
bool kp_ranges_count(const struct kp_report *report, const char *name, struct kp_range_count *out);

#endif
