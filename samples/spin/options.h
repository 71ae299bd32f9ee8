/*
 * The options of spin: defaults and reading. Plain C, no CUDA.
 */
#ifndef SPIN_OPTIONS_H
#define SPIN_OPTIONS_H

#include "args.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GRAPH_THREADS_MOST = 64 };

/* A count of 0 leaves its part out. */
struct options {
	int64_t spin_us, spin_count;
	int64_t graph_nodes, graph_threads, replays, node_cycles;
	int64_t empty;
};

/* Fills *options with the defaults and then argv. On ARGS_BAD one line is on stderr. */
enum args_result options_parse(struct options *options, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
