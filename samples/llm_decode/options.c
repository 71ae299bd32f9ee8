/*
 * The options of llm_decode: defaults, reading, and the rules between them. Plain C, no CUDA.
 */
#include "options.h"

#include <inttypes.h>
#include <stdio.h>

/* Rows of one pass: the plain matrix product has at most 65535 tiles of 16 of them. */
enum { MAX_TOKENS = 65535 * 16 };

static const char *const attention_names[] = {"math", "naive-flash", NULL};

static const struct options defaults = {
	.layers = 16,
	.width = 2048,
	.heads = 16,
	.vocab = 32000,
	.batch = 4,
	.prompt = 128,
	.steps = 64,
	.streams = 1,
	.seed = 1,
	.attention = ATTENTION_MATH,
};

const char *options_attention_name(int attention)
{
	return attention_names[attention];
}

/* Rules that concern more than one option; the limits are those of the kernels. */
static enum args_result check(const struct options *options)
{
	int64_t head_dim = options->width / options->heads;

	if (options->width % options->heads || head_dim % 8 || head_dim > MAX_HEAD_DIM) {
		fprintf(stderr,
			"llm_decode: --width %" PRId64 " over --heads %" PRId64
			" must be a multiple of 8, at most %d\n",
			options->width, options->heads, MAX_HEAD_DIM);
		return ARGS_BAD;
	}
	if (options->vocab % 8) {
		fprintf(stderr, "llm_decode: --vocab must be a multiple of 8, not %" PRId64 "\n",
			options->vocab);
		return ARGS_BAD;
	}
	if (options->batch * options->heads > 65535) {
		fprintf(stderr, "llm_decode: --batch times --heads must be at most 65535\n");
		return ARGS_BAD;
	}
	if (options->batch * options->prompt > MAX_TOKENS) {
		fprintf(stderr, "llm_decode: --batch times --prompt must be at most %d\n",
			MAX_TOKENS);
		return ARGS_BAD;
	}
	return ARGS_OK;
}

enum args_result options_parse(struct options *options, int argc, char **argv)
{
	struct options *o = options;
	const struct arg args[] = {
		{"layers", ARG_NUMBER, &o->layers, 1, 1024, NULL, "transformer layers"},
		{"width", ARG_NUMBER, &o->width, 8, 65536, NULL, "model width"},
		{"heads", ARG_NUMBER, &o->heads, 1, 1024, NULL, "attention heads"},
		{"vocab", ARG_NUMBER, &o->vocab, 8, 1 << 20, NULL, "tokens in the vocabulary"},
		{"batch", ARG_NUMBER, &o->batch, 1, 4096, NULL, "sequences of one stream"},
		{"prompt", ARG_NUMBER, &o->prompt, 1, 1 << 17, NULL, "prompt length in tokens"},
		{"steps", ARG_NUMBER, &o->steps, 1, 1 << 20, NULL, "decode steps"},
		{"streams", ARG_NUMBER, &o->streams, 1, 64, NULL,
		 "batches that decode at once, each on its own CUDA stream"},
		{"seed", ARG_NUMBER, &o->seed, 0, INT64_MAX, NULL, "seed of weights and prompts"},
		{"attention", ARG_CHOICE, &o->attention, 0, 0, attention_names,
		 "how attention is computed"},
		{"graph", ARG_FLAG, &o->graph, 0, 0, NULL,
		 "capture a decode step in a CUDA graph and replay it"},
		{"no-cublas", ARG_FLAG, &o->no_cublas, 0, 0, NULL,
		 "own matrix product: every kernel launch is counted exactly"},
		{"nvtx", ARG_FLAG, &o->nvtx, 0, 0, NULL, "NVTX ranges: prefill, decode, token"},
	};
	const struct args_program program = {
		.name = "llm_decode",
		.purpose = "Greedy decoding with a small Llama-like model of random weights.",
		.args = args,
		.count = sizeof(args) / sizeof(args[0]),
	};

	*options = defaults;

	enum args_result result = args_parse(&program, argc, argv);

	return result == ARGS_OK ? check(options) : result;
}
