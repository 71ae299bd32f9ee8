/*
 * What «kprof ctl» and the collector in a program say to each other: one request, one answer, over
 * a local socket of whole packets.
 *
 * The socket's name is abstract (nothing lies in a file system, nothing stays behind) and follows
 * from the process's number and the time of its start, so that a number that is used again means
 * another name. Both sides check who the other is: the collector serves its own user and root.
 */
#ifndef KP_TRACE_CONTROL_H
#define KP_TRACE_CONTROL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "trace/board_rules.h"

/* What the environment of a program may carry, the NUL included: --range, --kernels. */
#define KP_RANGE_MAX_BYTES 1024
#define KP_PATTERNS_MAX_BYTES 4096

/*
 * X(NAME, name, metrics, default_us, least_us, drain_ms): what may be sampled, as --counter-set has
 * it: the number of metrics of trace/metrics.h, from the first on; the interval between samples, as
 * it is unless asked for and as it is at least; and how often the hardware's buffer is drained.
 *
 * On H200s CUPTI's work on a sample of memory took 10 to 14 µs of CPU, 14 % of a core at 100 µs; at
 * the least interval its buffer would fill. With the tensor pipes the hardware fills it whatever
 * the interval is: 300 µs a sample of all.
 */
#define KP_COUNTER_SETS(X)                                                                         \
	X(MEMORY, memory, 2, 200, 20, 400)                                                         \
	X(ALL, all, 5, 1000, 1000, 20)

enum kp_counter_set {
#define KP_COUNTER_SET_ROW(NAME, name, metrics, default_us, least_us, drain_ms)                    \
	KP_COUNTER_SET_##NAME,
	KP_COUNTER_SETS(KP_COUNTER_SET_ROW)
#undef KP_COUNTER_SET_ROW
};

/* --counters: whether hardware counters are sampled. Auto: where they can be. */
enum kp_counter_mode { KP_COUNTERS_AUTO, KP_COUNTERS_ON, KP_COUNTERS_OFF };
/* What it is unless asked for, and its name. */
#define KP_COUNTERS_DEFAULT KP_COUNTERS_OFF
#define KP_COUNTERS_DEFAULT_NAME "off"

#define KP_CONTROL_MAGIC 0x324c5443504bULL /* «KPCTL2» */

enum kp_control_verb {
	KP_CONTROL_STATUS = 0,
	KP_CONTROL_START = 1,
	KP_CONTROL_STOP = 2,
	KP_CONTROL_SNAPSHOT = 3,
	KP_CONTROL_WATCH = 4,  /* with it comes the descriptor of a room: trace/board.h */
	KP_CONTROL_AB_OFF = 5, /* replace nothing from now on, by the rule or by any */
	KP_CONTROL_AB_ON = 6,
	KP_CONTROL_VERBS = 7
};

enum kp_control_result {
	KP_CONTROL_DONE = 0,
	KP_CONTROL_FORBIDDEN = 1, /* of another user */
	KP_CONTROL_UNKNOWN = 2,   /* a request of another kprof */
	KP_CONTROL_FAILED = 3     /* see the message */
};

struct kp_control_request {
	uint64_t magic;
	uint32_t verb;
	uint32_t reserved;
	char rule[KP_BOARD_RULE_NAME_BYTES]; /* of AB_ON and AB_OFF; empty: all rules */
};

struct kp_control_answer {
	uint64_t magic;
	uint32_t result;
	uint32_t recording; /* 1: records are on */
	uint32_t duty;      /* 1: in windows of --duty */
	uint32_t issued_known;
	uint64_t windows; /* so far, an open one included */
	uint64_t kernels_issued, kernels_recorded, kernels_filtered, kernels_out_of_window;
	uint64_t trace_bytes; /* complete in the file */
	char message[256];    /* why it failed, or what the collector has to say; may be empty */
	char trace[PATH_MAX]; /* absolute */
};

/*
 * The address of a process's socket, by its number in its own namespace and the start time that
 * /proc/PID/stat gives (field 22).
 */
void kp_control_address(uint64_t pid, uint64_t start_ticks, struct sockaddr_un *out,
			socklen_t *length);
/* Field 22 of the text of /proc/PID/stat. False where it has none. */
bool kp_control_start_ticks(const char *stat, uint64_t *out);

#endif
