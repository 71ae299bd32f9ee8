/*
 * The weights of a small Llama-like transformer, random, made on the device from a seed.
 */
#include "model.h"

static bf16 *make_tensor(struct model *model, struct launcher *launcher, size_t count, float centre,
			 float spread)
{
	void *tensor;

	CUDA_CHECK(cudaMalloc(&tensor, count * sizeof(bf16)));
	kernels_fill(launcher, (bf16 *)tensor, count, (model->seed << 20) + model->tensors_made++,
		     centre, spread);
	return (bf16 *)tensor;
}

/* Keeps the variance: uniform in +-spread has variance spread^2 / 3. */
static bf16 *make_linear(struct model *model, struct launcher *launcher, int out, int in)
{
	return make_tensor(model, launcher, (size_t)out * in, 0, sqrtf(3.0f / in));
}

static bf16 *make_norm(struct model *model, struct launcher *launcher)
{
	return make_tensor(model, launcher, model->width, 1, 0.25f);
}

static void make_layer(struct model *model, struct launcher *launcher, struct layer *layer)
{
	int width = model->width, ffn = model->ffn;

	layer->attention_norm = make_norm(model, launcher);
	layer->query = make_linear(model, launcher, width, width);
	layer->key = make_linear(model, launcher, width, width);
	layer->value = make_linear(model, launcher, width, width);
	layer->attention_out = make_linear(model, launcher, width, width);
	layer->ffn_norm = make_norm(model, launcher);
	layer->gate = make_linear(model, launcher, ffn, width);
	layer->up = make_linear(model, launcher, ffn, width);
	layer->down = make_linear(model, launcher, width, ffn);
}

void model_init(struct model *model, const struct options *options, struct launcher *launcher)
{
	*model = {};
	model->width = (int)options->width;
	model->heads = (int)options->heads;
	model->head_dim = model->width / model->heads;
	model->vocab = (int)options->vocab;
	model->ffn = (model->width * 8 / 3 + 255) / 256 * 256;
	model->layer_count = (int)options->layers;
	model->seed = (uint64_t)options->seed;
	model->layers = (struct layer *)calloc(model->layer_count, sizeof(*model->layers));
	if (!model->layers)
		check_fail("out of memory", "calloc", __FILE__, __LINE__);

	model->embedding = make_tensor(model, launcher, (size_t)model->vocab * model->width, 0, 1);
	for (int i = 0; i < model->layer_count; i++)
		make_layer(model, launcher, &model->layers[i]);
	model->final_norm = make_norm(model, launcher);
	model->head = make_linear(model, launcher, model->vocab, model->width);
}

static void free_layer(struct layer *layer)
{
	bf16 *tensors[] = {
		layer->attention_norm, layer->query, layer->key, layer->value, layer->attention_out,
		layer->ffn_norm,       layer->gate,  layer->up,  layer->down};

	for (bf16 *tensor : tensors)
		CUDA_CHECK(cudaFree(tensor));
}

void model_fini(struct model *model)
{
	for (int i = 0; i < model->layer_count; i++)
		free_layer(&model->layers[i]);
	free(model->layers);
	CUDA_CHECK(cudaFree(model->embedding));
	CUDA_CHECK(cudaFree(model->final_norm));
	CUDA_CHECK(cudaFree(model->head));
}
