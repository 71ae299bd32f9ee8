/*
 * A lane: one batch of sequences that is decoded on one stream, with its caches and scratch arrays.
 * Lanes share the model's weights and nothing else. Not thread-safe.
 */
#ifndef LLM_DECODE_LANE_H
#define LLM_DECODE_LANE_H

#include "matmul.h"
#include "model.h"

/* Device scratch for one pass over `tokens` = batch * prompt rows, the larger of the two passes. */
struct scratch {
	bf16 *x;                    /* [tokens][width], the residual stream */
	bf16 *normed;               /* [tokens][width] */
	float *inverse_rms;         /* [tokens] */
	bf16 *query, *key, *value;  /* [tokens][width] */
	bf16 *split_query;          /* [batch][heads][seq][head_dim] */
	bf16 *split_out;            /* the same */
	bf16 *attended, *projected; /* [tokens][width] */
	bf16 *gate, *up;            /* [tokens][ffn] */
	bf16 *scores;               /* [batch][heads][seq][keys]; NULL with naive-flash */
	bf16 *last, *logits;        /* [batch][width], [batch][vocab] */
};

struct lane {
	struct launcher launcher;
	struct matmul_engine engine;
	struct scratch scratch;
	int attention; /* enum attention_kind */
	int batch, prompt;
	int capacity;                  /* prompt + steps, rounded up to a multiple of 8 */
	bf16 *key_cache, *value_cache; /* [layers][batch][heads][capacity][head_dim] */
	int *position;                 /* device: tokens already in the cache */
	int *prompt_ids;               /* device [batch][prompt] */
	int *next_ids;                 /* device [batch]: the tokens chosen last */
	int *host_ids;                 /* pinned [batch]: where they are read back */
	cudaGraphExec_t graph;         /* a decode step, or NULL */
	uint64_t graph_kernels;        /* its kernel nodes */
};

/* Lane number `number` starts with its own random prompt on the device. */
void lane_init(struct lane *lane, const struct model *model, const struct options *options,
	       int number);
void lane_fini(struct lane *lane);

/* Takes the prompt in; the first new tokens are then in next_ids. Asynchronous. */
void lane_prefill(struct lane *lane, const struct model *model);

/* Takes next_ids in and replaces them by the tokens that follow. Asynchronous. */
void lane_decode(struct lane *lane, const struct model *model);

/* Captures a decode step; lane_decode replays it from then on. Nothing runs. */
void lane_capture(struct lane *lane, const struct model *model);

/* Copies next_ids to ids[batch] on the host, and waits for the stream. */
void lane_read(struct lane *lane, int *ids);

#endif
