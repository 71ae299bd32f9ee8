/*
 * What the command line said. One structure for all commands: each option of options.h fills one
 * member, and a command reads the members that its own options can fill.
 */
#ifndef KP_PROFILER_SETTINGS_H
#define KP_PROFILER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/plan_options.h"
#include "profiler/top_options.h"
#include "profiler/tui_options.h"

/* Values of the choices, in the order of their names in commands.c. */
enum kp_by { KP_BY_OPERATOR, KP_BY_KERNEL, KP_BY_PROCESS, KP_BY_VARIANT, KP_BY_RANGE };
enum kp_names { KP_NAMES_SHORT, KP_NAMES_FULL, KP_NAMES_MANGLED };
enum kp_color { KP_COLOR_AUTO, KP_COLOR_ALWAYS, KP_COLOR_NEVER };
enum kp_switch { KP_SWITCH_ON, KP_SWITCH_OFF };
enum kp_capture { KP_CAPTURE_NONE, KP_CAPTURE_CUDA_PROFILER };

/* The values of an option that may be given several times. */
#define KP_WORDS_MAX 64
struct kp_words {
	const char *items[KP_WORDS_MAX];
	size_t count;
};

struct kp_settings {
	bool help, version;
	bool quiet;
	int redact, clocks;     /* enum kp_switch */
	const char *output;     /* -o: the trace of run and record, the report of report and info */
	const char *report;     /* --report: NULL: none */
	int format;             /* enum kp_format; -1: by the output's extension */
	int by, names, color;   /* enum kp_by, kp_names, kp_color */
	bool shares;            /* show all three shares */
	bool roofline;          /* draw it */
	bool gaps;              /* show idle time in detail */
	bool fusion;            /* list candidates */
	bool shapes;            /* show them in detail */
	const char *operators;  /* file of rules; NULL: none */
	double threshold_pct;   /* of kernel time */
	bool findings;          /* all, with their evidence */
	double min_gain_pct;    /* of the span: findings below are left out */
	uint64_t silenced;      /* findings: bits 1 << enum kp_finding_id */
	uint64_t top;           /* rows at each level; 0: all */
	const char *iterations; /* in detail: "auto" or a range; NULL: in short */
	double delay_s, duration_s;         /* 0: none */
	bool host;                          /* time the calls that launch */
	int calls;                          /* enum kp_switch */
	double duty_pct;                    /* of the time; 0: all of it */
	const char *range;                  /* NAME[:N-M]; NULL: none */
	int capture_range;                  /* enum kp_capture */
	const char *from, *to;              /* of the part of a trace; NULL: all */
	struct kp_words pids;               /* of its processes */
	const char *kernels, *skip_kernels; /* patterns; NULL: none */
	int counters;                       /* enum kp_counter_mode */
	int counter_set;                    /* enum kp_counter_set */
	double counter_interval_us;         /* 0: the set's */
	bool all;                           /* whatever was tried, not the best alone */
	const char *shape;                  /* to measure; NULL: a list of them */
	const char *against;                /* other libraries; NULL: none */
	uint64_t device;                    /* to measure; UINT64_MAX: the first of each model */
	uint64_t limit;                     /* slices of an exported timeline; 0: all */
	struct kp_words fail_on;            /* rules of gates */
	const char *junit;                  /* file for what became of them; NULL: none */
	bool allow_not_comparable;
	double margin_pct; /* changes within are no difference */
	bool man, bash_completion;
	struct kp_plan_settings plan;
	struct kp_tui_options tui;
	struct kp_words ab_files, ab_rules; /* of rules, and their names */
	int ab_mode;                        /* enum kp_ab_mode */
	const char *ab_out, *ab_raw;        /* the report, and the lines it is made of */
	uint64_t ab_again, ab_phase;        /* launches; the second: UINT64_MAX: as usual */
	const char *ab_check,               /* of outputs; NULL: none */
		*ab_suggest, *ab_hotspot,   /* a trace, and a pattern of names; NULL: not asked */
		*ab_chain;                  /* of a chain: its id, or a pattern */
	bool ab_list, ab_self_test;
	const char *ab_unit;    /* the range by which phases count; NULL: by launches */
	bool ab_try, ab_no_try; /* both false: what is the user's is tried */
	double ab_try_limit_s;
	bool ab_other_inputs, ab_unseen;
	uint64_t ab_rounds; /* of the self-test */
	struct kp_top_options live;
	char **operands; /* borrowed from main's argv, ended by NULL */
	size_t operand_count;
	size_t operands_before; /* of these: before «--»; 0: there is none */
};

#endif
