/*
 * Attention over a cache of keys and values, causal, in two ways: matrix products with a softmax
 * kernel between them, or one naive fused kernel.
 */
#ifndef LLM_DECODE_ATTENTION_H
#define LLM_DECODE_ATTENTION_H

#include "matmul.h"

/*
 * Query i of a sequence stands at *position + i and sees keys up to its own position.
 * All arrays are in device memory and the caller's.
 */
struct attention {
	struct layout layout;
	int keys;              /* cache rows that the products cover; the softmax masks the rest */
	const bf16 *queries;   /* [batch][heads][seq][head_dim] */
	const bf16 *key_cache; /* [batch][heads][capacity][head_dim], finite everywhere */
	const bf16 *value_cache; /* the same */
	const int *position;
	bf16 *scores; /* [batch][heads][seq][keys], used by attention_math only */
	bf16 *out;    /* [batch][heads][seq][head_dim] */
};

/* Two matrix products and one kernel. */
void attention_math(const struct matmul_engine *engine, struct launcher *launcher,
		    const struct attention *attention);

/* One kernel; head_dim is at most MAX_HEAD_DIM. */
void attention_naive_flash(struct launcher *launcher, const struct attention *attention);

#endif
