/* What a trace holds, counted: the input of kprof info. */
#ifndef KP_PROFILER_CONTENTS_H
#define KP_PROFILER_CONTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzers/library_ties.h"
#include "trace/reader.h"

struct kp_tally {
	uint64_t launches, memops, ranges, calls, samples, clocks;
	uint64_t tied, untied; /* launches with and without a call, of processes that have calls */
	bool has_library;      /* the trace has calls of libraries */
	struct kp_library_account library;
	uint64_t first_ns, last_ns; /* of valid times; 0: none */
};

struct kp_contents {
	const struct kp_reader *reader; /* borrowed */
	struct kp_tally *tallies;       /* one a process */
	struct kp_tally total;
	struct kp_damage damage;
};

/* Reads to the end and counts. Errors: KP_NO_MEMORY, KP_IO. */
enum kp_status kp_contents_init(struct kp_contents *contents, struct kp_reader *reader);
void kp_contents_fini(struct kp_contents *contents);

/* Bytes of all files ÷ launches; NaN without launches. */
double kp_contents_bytes_per_launch(const struct kp_contents *contents);

#endif
