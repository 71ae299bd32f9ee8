/*
 * What rules have counted, where it outlives a program that is killed: a file beside the plan (its
 * name with KP_AB_COUNTS_SUFFIX), which the launcher makes, every process maps, and each takes a
 * place of. The launcher adds up what is there. Who finds no place keeps its own, and leaves lines.
 */
#ifndef KP_TRACE_AB_COUNTS_H
#define KP_TRACE_AB_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

#include "trace/ab_plan.h"
#include "trace/ab_results.h"

#define KP_AB_COUNTS_SUFFIX ".counts"
#define KP_AB_COUNTS_MAGIC 0x544e554f43424bULL
#define KP_AB_PROCESSES_MOST 64U

/* Of one process. */
struct kp_ab_counted {
	_Atomic uint32_t pid; /* 0: nobody's */
	uint32_t reserved;
	_Atomic uint64_t counts[KP_AB_RULES_MOST][KP_AB_COUNT_COUNT];
	_Atomic uint64_t reasons[KP_AB_RULES_MOST][KP_AB_REASON_COUNT];
};

struct kp_ab_counts_file {
	uint64_t magic;
	_Atomic uint32_t taken; /* places; may exceed how many there are */
	uint32_t reserved;
	struct kp_ab_counted processes[KP_AB_PROCESSES_MOST];
};

#endif
