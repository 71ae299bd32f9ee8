/* The rows of a report's processes; see report.h. */
#ifndef KP_ANALYZERS_REPORT_PROCESS_H
#define KP_ANALYZERS_REPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"

enum kp_process_fate {
	KP_FATE_ENDED,       /* in an orderly way */
	KP_FATE_ENDED_EARLY, /* likewise, while kernels were still running */
	KP_FATE_REPLACED,    /* it became another program, which may have a row of its own */
	KP_FATE_KILLED,      /* no end record, and the launcher saw it dead */
	KP_FATE_UNFINISHED,  /* no end record, and nobody saw it dead: killed, or still running */
	KP_FATE_REFUSED,     /* it used CUDA, but nothing could be collected: see reason */
	KP_FATE_UNTRACED,    /* a program that kprof cannot see into: see reason */
	KP_FATE_COUNT
};

struct kp_process_row {
	const struct kp_process *process; /* borrowed from the reader */
	uint64_t kernels, kernel_ns;
	uint64_t busy_ns; /* in which any of its kernels ran, added over GPUs; see process_times */
	/* Between its own kernels, in which its GPUs ran those of others, added over GPUs; with a
	 * timeline. */
	uint64_t others_ns;
	/* Launches; see report_losses.h. */
	uint64_t lost;      /* in damaged parts of the file, as far as that is known */
	uint64_t missing;   /* issued, and neither in the trace nor in a count of losses */
	uint64_t absent;    /* issued, and not in the trace: missing, lost, unwritten or dropped */
	bool missing_known; /* and absent */
	enum kp_process_fate fate;
	struct kp_text reason; /* of refused and untraced ones; else empty */
	const uint32_t *gpus;  /* that it used: indices into the report's gpus */
	size_t gpu_count;
};

#endif
