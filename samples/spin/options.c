/*
 * The options of spin: defaults and reading. Plain C, no CUDA.
 */
#include "options.h"

static const struct options defaults = {
	.spin_us = 100,
	.graph_threads = 1,
	.replays = 10,
	.node_cycles = 4000,
};

enum { SPIN_COUNT_ALONE = 10 };

enum args_result options_parse(struct options *options, int argc, char **argv)
{
	struct options *o = options;
	const struct arg args[] = {
		{"spin-us", ARG_NUMBER, &o->spin_us, 0, 10000000, NULL,
		 "how long each spinning kernel runs by the GPU's %globaltimer"},
		{"spin-count", ARG_NUMBER, &o->spin_count, 0, 1000000, NULL,
		 "spinning kernels; 10 if nothing else is asked for"},
		{"graph-nodes", ARG_NUMBER, &o->graph_nodes, 0, 1000000, NULL,
		 "kernels of a graph, one after the other"},
		{"graph-threads", ARG_NUMBER, &o->graph_threads, 1, GRAPH_THREADS_MOST, NULL,
		 "threads that replay a graph of their own each, without a pause; with 1 each "
		 "replay is timed"},
		{"replays", ARG_NUMBER, &o->replays, 1, 1000000, NULL, "replays of the graph"},
		{"node-cycles", ARG_NUMBER, &o->node_cycles, 0, 1000000000, NULL,
		 "SM cycles that a kernel of the graph runs; 0: empty"},
		{"empty", ARG_NUMBER, &o->empty, 0, 1000000000, NULL,
		 "empty kernels launched one after the other"},
	};
	const struct args_program program = {
		.name = "spin",
		.purpose = "Kernels of known length, to check a profiler's times and its cost.",
		.args = args,
		.count = sizeof(args) / sizeof(args[0]),
	};

	*options = defaults;

	enum args_result result = args_parse(&program, argc, argv);

	if (!options->spin_count && !options->graph_nodes && !options->empty)
		options->spin_count = SPIN_COUNT_ALONE;
	return result;
}
