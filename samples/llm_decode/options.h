/*
 * The options of llm_decode: defaults, reading, and the rules between them. Plain C, no CUDA.
 */
#ifndef LLM_DECODE_OPTIONS_H
#define LLM_DECODE_OPTIONS_H

#include "args.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest head that the naive fused attention kernel holds in registers. */
#define MAX_HEAD_DIM 256

enum attention_kind {
	ATTENTION_MATH,        /* matrix products and a softmax kernel */
	ATTENTION_NAIVE_FLASH, /* one kernel, online softmax */
};

struct options {
	int64_t layers, width, heads, vocab;
	int64_t batch;  /* sequences of one stream */
	int64_t prompt; /* tokens of each sequence before decode */
	int64_t steps;  /* decode steps: each adds one token to each sequence */
	int64_t streams;
	int64_t seed;
	int attention; /* enum attention_kind */
	bool graph, no_cublas, nvtx;
};

/* Fills *options with the defaults and then argv. On ARGS_BAD one line is on stderr. */
enum args_result options_parse(struct options *options, int argc, char **argv);

/* The name of an enum attention_kind, as the option takes it. */
const char *options_attention_name(int attention);

#ifdef __cplusplus
}
#endif

#endif
