/*
 * The rows of «kprof top»: what the boards of processes (trace/board.h) say, summed over processes,
 * over a part of the time. Pure but for the names that it keeps; not thread-safe.
 *
 * The part of the time is so many complete seconds before what all running processes have settled,
 * or all since the begin or the last reset. What began later has a shorter one: rates are over the
 * time that there was. Where no second is complete so far, it is all.
 */
#ifndef KP_TUI_TOP_H
#define KP_TUI_TOP_H

#include "analyzers/operators.h"
#include "trace/arena.h"
#include "trace/board.h"
#include "trace/intern.h"
#include "trace/status.h"
#include "tui/top_view.h"

#define KP_TOP_HISTORY 60 /* seconds of a sparkline */
#define KP_TOP_ALL SIZE_MAX

enum kp_top_group { KP_TOP_KERNELS, KP_TOP_OPERATORS, KP_TOP_RANGES, KP_TOP_GROUPS };

struct kp_top_row {
	size_t key;              /* of its name, or operator; KP_TOP_ALL: what found no row */
	const char *name, *full; /* full: as demangled; of operators, what it is */
	size_t operator_index;   /* KP_TOP_ALL: none */
	uint64_t calls;
	double total_ns, calls_per_s, ns_per_s, mean_ns; /* mean NaN: none was timed */
	double share_pct;                                /* of all rows of the group */
	double least_ns, most_ns;                        /* since the begin; NaN: none was timed */
	double history[KP_TOP_HISTORY];                  /* ns of each second, the latest last */
	double calls_history[KP_TOP_HISTORY];
	size_t places; /* processes and GPUs that it is of */
};

struct kp_top_gpu {
	char name[64], uuid[48];
	uint32_t device;
	size_t process;  /* in the view; KP_TOP_ALL: of all that use it */
	double busy_pct; /* at most 100: where several processes share it, the sum is cut */
	double kernel_ns_per_s, calls_per_s;
	uint64_t calls;
	double history[KP_TOP_HISTORY]; /* percent busy */
};

struct kp_top_rate {
	bool known;
	bool of_range;
	double per_s, mean_ns;
	uint32_t period; /* launches, of what repeats */
	uint32_t pid;    /* whose; 0: of all */
};

/* What was chosen. */
struct kp_top_choice {
	unsigned seconds;      /* 0: since the begin, or the reset */
	uint32_t pid;          /* of a process; 0: all */
	uint32_t device;       /* KP_BOARD_NO_DEVICE: all */
	size_t operator_index; /* of kernels; KP_TOP_ALL: all */
};

struct kp_top_base;
struct kp_top_before;
struct kp_top_name;
struct kp_top_rule;

struct kp_top {
	struct kp_top_source source;
	struct kp_top_view view; /* zero: nothing was seen */
	struct kp_top_choice choice;
	bool paused, recording;
	enum kp_top_group shown_group; /* that of the page of one row */
	struct kp_intern mangled;
	struct kp_arena *arena; /* of names */
	struct kp_top_name *names;
	size_t name_count;
	char rule[KP_BOARD_RULE_NAME_BYTES]; /* of the page of one */
	struct kp_top_before *befores;       /* of switches: top_rules.c */
	size_t before_count, before_capacity;
	struct kp_top_base *bases; /* by process, of the last reset */
	size_t base_count;
	/* results, of kp_top_update */
	struct kp_top_row *rows[KP_TOP_GROUPS];
	size_t row_counts[KP_TOP_GROUPS], row_capacities[KP_TOP_GROUPS];
	struct kp_top_gpu *gpus; /* each GPU, then each process on it */
	size_t gpu_count, gpu_capacity;
	struct kp_top_rule *rules;
	size_t rule_count, rule_capacity;
	struct kp_top_rate rate;
	double span_s;      /* of the rows; 0: none */
	double calls_per_s; /* of kernels */
	uint64_t calls;
	uint64_t second; /* the first that is not complete, on the trace's clock; 0: none is */
	bool all_time;   /* the rows are of all the time, whatever was chosen */
};

void kp_top_init(struct kp_top *top, const struct kp_top_source *source);
void kp_top_fini(struct kp_top *top);
/* Makes the rows of what is in view. Errors: KP_NO_MEMORY. */
enum kp_status kp_top_update(struct kp_top *top);
/* Counts from now on. Errors: KP_NO_MEMORY. */
enum kp_status kp_top_reset(struct kp_top *top);
/* top_names.c: the number of a kernel's name, made up for people. Errors: KP_NO_MEMORY. */
struct kp_top_name {
	const char *full, *brief;
	size_t operator_index;
};
enum kp_status kp_top_name(struct kp_top *top, const char *bytes, size_t length, size_t *out);
void kp_top_names_fini(struct kp_top *top);

/* top_span.c: the time that rows are of. */
struct kp_top_span {
	bool all;              /* all since the begin or the reset */
	uint64_t first, last;  /* seconds, inclusive */
	double seconds;        /* how long it is; 0: nothing is known */
	uint64_t last_history; /* the second in which sparklines end */
};
struct kp_top_span kp_top_span_of(const struct kp_top *top);
/* Calls and time of a row of a process in it. */
void kp_top_span_sum(const struct kp_top *top, const struct kp_top_span *span, size_t process,
		     uint32_t row, uint64_t *calls, double *total_ns);
/* And the busy time of a GPU. */
double kp_top_span_busy(const struct kp_top *top, const struct kp_top_span *span, size_t process,
			uint32_t gpu);
/* Whether rows are of that process. */
bool kp_top_takes(const struct kp_top *top, size_t process);

/* top_rate.c: looks at how often a unit of the program comes. Errors: KP_NO_MEMORY. */
enum kp_status kp_top_find_rate(struct kp_top *top, const struct kp_top_span *span);

struct kp_top_base {
	uint64_t process; /* identity */
	uint64_t at_ns;
	uint32_t row_count, gpu_count;
	uint64_t calls[KP_BOARD_ROWS], total_ns[KP_BOARD_ROWS];
	uint64_t busy_ns[KP_BOARD_GPUS];
};
/* The base of a process; NULL: none. */
const struct kp_top_base *kp_top_base_of(const struct kp_top *top, size_t process);

#endif
