/*
 * Options of prog_launch, in one table (options.def) that feeds the parser and --help.
 */
#ifndef KP_FAKE_GPU_OPTIONS_H
#define KP_FAKE_GPU_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define KP_PROG_NAMES 32

struct kp_prog_options {
#define NUMBER(name, initial, what) uint64_t name;
#define TEXT(name, what) const char *name;
#define FLAG(name, what) bool name;
#include "tests/fake_gpu/programs/options.def"
#undef NUMBER
#undef TEXT
#undef FLAG
	uint64_t graph_nodes, graph_replays;  /* of --graph */
	const char *names[KP_PROG_NAMES];     /* of --name, in order */
	uint64_t durations_ns[KP_PROG_NAMES]; /* of --duration-ns, in order */
	unsigned int name_count, duration_count;
};

/* Reads the command line; ends the program with status 2 and a line where it cannot. */
void kp_prog_parse(struct kp_prog_options *options, int argc, char **argv);

#endif
