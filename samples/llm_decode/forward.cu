/*
 * One pass of the transformer: a launch for every step of every layer, in the order of the maths.
 */
#include "forward.h"

#include "attention.h"

/* What the steps of one pass have in common. */
struct pass {
	struct lane *lane;
	struct launcher *launcher;
	const struct model *model;
	struct layout layout;
	int tokens;
	int keys;
};

/* y[tokens][out] = x[tokens][in] * weight[out][in] transposed */
static void linear(const struct pass *pass, bf16 *y, const bf16 *x, const bf16 *weight, int tokens,
		   int out, int in)
{
	struct matmul product = {};

	product.m = tokens;
	product.n = out;
	product.k = in;
	product.count = 1;
	product.b_transposed = true;
	product.a = x;
	product.b = weight;
	product.c = y;
	matmul_run(&pass->lane->engine, pass->launcher, &product);
}

static void rmsnorm(const struct pass *pass, bf16 *out, const bf16 *x, const bf16 *weight,
		    int tokens)
{
	float *inverse_rms = pass->lane->scratch.inverse_rms;
	int width = pass->model->width;

	kernels_inverse_rms(pass->launcher, inverse_rms, x, tokens, width);
	kernels_scale(pass->launcher, out, x, inverse_rms, weight, tokens, width);
}

static void attend(const struct pass *pass, const bf16 *key_cache, const bf16 *value_cache)
{
	struct lane *lane = pass->lane;
	struct attention attention = {};

	attention.layout = pass->layout;
	attention.keys = pass->keys;
	attention.queries = lane->scratch.split_query;
	attention.key_cache = key_cache;
	attention.value_cache = value_cache;
	attention.position = lane->position;
	attention.scores = lane->scratch.scores;
	attention.out = lane->scratch.split_out;
	if (lane->attention == ATTENTION_MATH)
		attention_math(&lane->engine, pass->launcher, &attention);
	else
		attention_naive_flash(pass->launcher, &attention);
}

/* x += attention(rmsnorm(x)) */
static void attention_block(const struct pass *pass, int index)
{
	struct lane *lane = pass->lane;
	struct scratch *s = &lane->scratch;
	struct launcher *launcher = pass->launcher;
	const struct layer *layer = &pass->model->layers[index];
	const struct layout *layout = &pass->layout;
	int tokens = pass->tokens, width = pass->model->width;
	size_t cache_at = (size_t)index * lane->batch * lane->capacity * width;
	bf16 *key_cache = lane->key_cache + cache_at;
	bf16 *value_cache = lane->value_cache + cache_at;

	rmsnorm(pass, s->normed, s->x, layer->attention_norm, tokens);
	linear(pass, s->query, s->normed, layer->query, tokens, width, width);
	linear(pass, s->key, s->normed, layer->key, tokens, width, width);
	linear(pass, s->value, s->normed, layer->value, tokens, width, width);
	kernels_rope(launcher, s->query, lane->position, layout);
	kernels_rope(launcher, s->key, lane->position, layout);
	kernels_cache_append(launcher, key_cache, s->key, lane->position, layout);
	kernels_cache_append(launcher, value_cache, s->value, lane->position, layout);
	kernels_split_heads(launcher, s->split_query, s->query, layout);
	attend(pass, key_cache, value_cache);
	kernels_merge_heads(launcher, s->attended, s->split_out, layout);
	linear(pass, s->projected, s->attended, layer->attention_out, tokens, width, width);
	kernels_add(launcher, s->x, s->projected, (size_t)tokens * width);
}

/* x += down(silu(gate(rmsnorm(x))) * up(rmsnorm(x))) */
static void ffn_block(const struct pass *pass, int index)
{
	struct scratch *s = &pass->lane->scratch;
	struct launcher *launcher = pass->launcher;
	const struct layer *layer = &pass->model->layers[index];
	int tokens = pass->tokens, width = pass->model->width, ffn = pass->model->ffn;

	rmsnorm(pass, s->normed, s->x, layer->ffn_norm, tokens);
	linear(pass, s->gate, s->normed, layer->gate, tokens, ffn, width);
	linear(pass, s->up, s->normed, layer->up, tokens, ffn, width);
	kernels_silu(launcher, s->gate, (size_t)tokens * ffn);
	kernels_mul(launcher, s->gate, s->up, (size_t)tokens * ffn);
	linear(pass, s->projected, s->gate, layer->down, tokens, width, ffn);
	kernels_add(launcher, s->x, s->projected, (size_t)tokens * width);
}

/* next_ids = argmax(head(rmsnorm(x))), for the last token of each sequence only */
static void choose(const struct pass *pass)
{
	struct lane *lane = pass->lane;
	struct scratch *s = &lane->scratch;
	const struct model *model = pass->model;

	kernels_last_rows(pass->launcher, s->last, s->x, lane->batch, pass->layout.seq,
			  model->width);
	rmsnorm(pass, s->last, s->last, model->final_norm, lane->batch);
	linear(pass, s->logits, s->last, model->head, lane->batch, model->vocab, model->width);
	kernels_argmax(pass->launcher, lane->next_ids, s->logits, lane->batch, model->vocab);
}

void forward_pass(struct lane *lane, const struct model *model, const int *ids, int seq, int keys)
{
	struct pass pass = {};

	pass.lane = lane;
	pass.launcher = &lane->launcher;
	pass.model = model;
	pass.layout = {lane->batch, seq, model->heads, model->head_dim, lane->capacity};
	pass.tokens = lane->batch * seq;
	pass.keys = keys;

	kernels_embedding(pass.launcher, lane->scratch.x, model->embedding, ids, pass.tokens,
			  model->width);
	for (int i = 0; i < model->layer_count; i++) {
		attention_block(&pass, i);
		ffn_block(&pass, i);
	}
	choose(&pass);
	kernels_advance(pass.launcher, lane->position, seq);
}
