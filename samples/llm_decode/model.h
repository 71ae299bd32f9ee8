/*
 * The weights of a small Llama-like transformer, random, made on the device from a seed.
 */
#ifndef LLM_DECODE_MODEL_H
#define LLM_DECODE_MODEL_H

#include "kernels.h"
#include "options.h"

/* A linear layer's weight is [out][in]: y[tokens][out] = x[tokens][in] * weight transposed. */
struct layer {
	bf16 *attention_norm;                      /* [width] */
	bf16 *query, *key, *value, *attention_out; /* [width][width] */
	bf16 *ffn_norm;                            /* [width] */
	bf16 *gate, *up;                           /* [ffn][width] */
	bf16 *down;                                /* [width][ffn] */
};

struct model {
	int width, heads, head_dim, vocab;
	int ffn; /* 8/3 of the width, rounded up to a multiple of 256, as Llama does */
	int layer_count;
	struct layer *layers;
	bf16 *embedding;  /* [vocab][width] */
	bf16 *final_norm; /* [width] */
	bf16 *head;       /* [vocab][width] */
	uint64_t seed;
	uint64_t tensors_made; /* gives each tensor its own random numbers */
};

/* One own launch a tensor: 9 a layer and 3. Done when the launcher's stream is. */
void model_init(struct model *model, const struct options *options, struct launcher *launcher);
void model_fini(struct model *model);

#endif
