/*
 * A lane's memory, its graph, and its reading back. The pass itself is in forward.cu.
 */
#include "lane.h"

#include "forward.h"

static int round_up_8(int64_t count)
{
	return (int)((count + 7) / 8 * 8);
}

static bf16 *make_array(size_t count)
{
	void *array;

	CUDA_CHECK(cudaMalloc(&array, count * sizeof(bf16)));
	return (bf16 *)array;
}

static int *make_ids(size_t count)
{
	void *array;

	CUDA_CHECK(cudaMalloc(&array, count * sizeof(int)));
	return (int *)array;
}

static void make_scratch(struct lane *lane, const struct model *model)
{
	struct scratch *s = &lane->scratch;
	size_t tokens = (size_t)lane->batch * lane->prompt, rows = tokens * model->width;
	size_t prefill = (size_t)lane->prompt * round_up_8(lane->prompt);
	size_t scores = prefill > (size_t)lane->capacity ? prefill : lane->capacity;
	void *inverse_rms;

	s->x = make_array(rows);
	s->normed = make_array(rows);
	CUDA_CHECK(cudaMalloc(&inverse_rms, tokens * sizeof(float)));
	s->inverse_rms = (float *)inverse_rms;
	s->query = make_array(rows);
	s->key = make_array(rows);
	s->value = make_array(rows);
	s->split_query = make_array(rows);
	s->split_out = make_array(rows);
	s->attended = make_array(rows);
	s->projected = make_array(rows);
	s->gate = make_array(tokens * model->ffn);
	s->up = make_array(tokens * model->ffn);
	if (lane->attention == ATTENTION_MATH)
		s->scores = make_array(scores * lane->batch * model->heads);
	s->last = make_array((size_t)lane->batch * model->width);
	s->logits = make_array((size_t)lane->batch * model->vocab);
}

static void free_scratch(struct scratch *s)
{
	bf16 *arrays[] = {s->x,           s->normed,    s->query,    s->key,       s->value,
			  s->split_query, s->split_out, s->attended, s->projected, s->gate,
			  s->up,          s->scores,    s->last,     s->logits};

	for (bf16 *array : arrays)
		CUDA_CHECK(cudaFree(array));
	CUDA_CHECK(cudaFree(s->inverse_rms));
}

/* Small primes keep the prompts of sequences, lanes and seeds apart. */
static void make_prompt(struct lane *lane, const struct model *model, int number)
{
	size_t count = (size_t)lane->batch * lane->prompt;
	uint64_t state = model->seed * 1000003 + (uint64_t)number * 7919 + 1;
	int *ids = (int *)malloc(count * sizeof(*ids));

	if (!ids)
		check_fail("out of memory", "malloc", __FILE__, __LINE__);
	for (size_t i = 0; i < count; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		ids[i] = (int)((state >> 33) % (uint64_t)model->vocab);
	}
	launcher_copy(&lane->launcher, lane->prompt_ids, ids, count * sizeof(*ids));
	CUDA_CHECK(cudaStreamSynchronize(lane->launcher.stream));
	free(ids);
}

void lane_init(struct lane *lane, const struct model *model, const struct options *options,
	       int number)
{
	void *host_ids;

	*lane = {};
	CUDA_CHECK(cudaStreamCreateWithFlags(&lane->launcher.stream, cudaStreamNonBlocking));
	matmul_engine_init(&lane->engine, &lane->launcher, !options->no_cublas);
	lane->attention = options->attention;
	lane->batch = (int)options->batch;
	lane->prompt = (int)options->prompt;
	lane->capacity = round_up_8(options->prompt + options->steps);
	make_scratch(lane, model);

	size_t cache = (size_t)model->layer_count * lane->batch * lane->capacity * model->width;

	lane->key_cache = make_array(cache);
	lane->value_cache = make_array(cache);
	lane->position = make_ids(1);
	lane->prompt_ids = make_ids((size_t)lane->batch * lane->prompt);
	lane->next_ids = make_ids(lane->batch);
	CUDA_CHECK(cudaMallocHost(&host_ids, lane->batch * sizeof(int)));
	lane->host_ids = (int *)host_ids;
	launcher_clear(&lane->launcher, lane->key_cache, cache * sizeof(bf16));
	launcher_clear(&lane->launcher, lane->value_cache, cache * sizeof(bf16));
	launcher_clear(&lane->launcher, lane->position, sizeof(int));
	make_prompt(lane, model, number);
}

void lane_fini(struct lane *lane)
{
	if (lane->graph)
		CUDA_CHECK(cudaGraphExecDestroy(lane->graph));
	free_scratch(&lane->scratch);
	CUDA_CHECK(cudaFree(lane->key_cache));
	CUDA_CHECK(cudaFree(lane->value_cache));
	CUDA_CHECK(cudaFree(lane->position));
	CUDA_CHECK(cudaFree(lane->prompt_ids));
	CUDA_CHECK(cudaFree(lane->next_ids));
	CUDA_CHECK(cudaFreeHost(lane->host_ids));
	matmul_engine_fini(&lane->engine);
	CUDA_CHECK(cudaStreamDestroy(lane->launcher.stream));
}

void lane_prefill(struct lane *lane, const struct model *model)
{
	forward_pass(lane, model, lane->prompt_ids, lane->prompt, round_up_8(lane->prompt));
}

void lane_decode(struct lane *lane, const struct model *model)
{
	if (!lane->graph) {
		forward_pass(lane, model, lane->next_ids, 1, lane->capacity);
		return;
	}
	CUDA_CHECK(cudaGraphLaunch(lane->graph, lane->launcher.stream));
	lane->launcher.tally.graph_replays++;
	lane->launcher.tally.graph_kernels += lane->graph_kernels;
}

/* Kernel nodes of the graph and of graphs inside it. */
static uint64_t count_kernels(cudaGraph_t graph)
{
	size_t count = 0;
	uint64_t kernels = 0;

	CUDA_CHECK(cudaGraphGetNodes(graph, NULL, &count));

	cudaGraphNode_t *nodes = (cudaGraphNode_t *)calloc(count, sizeof(*nodes));

	if (!nodes)
		check_fail("out of memory", "calloc", __FILE__, __LINE__);
	CUDA_CHECK(cudaGraphGetNodes(graph, nodes, &count));
	for (size_t i = 0; i < count; i++) {
		enum cudaGraphNodeType type;
		cudaGraph_t child;

		CUDA_CHECK(cudaGraphNodeGetType(nodes[i], &type));
		if (type == cudaGraphNodeTypeKernel)
			kernels++;
		if (type == cudaGraphNodeTypeGraph) {
			CUDA_CHECK(cudaGraphChildGraphNodeGetGraph(nodes[i], &child));
			kernels += count_kernels(child);
		}
	}
	free(nodes);
	return kernels;
}

/* What the capture counted did not run: the tally is put back. */
void lane_capture(struct lane *lane, const struct model *model)
{
	cudaStream_t stream = lane->launcher.stream;
	struct tally before = lane->launcher.tally;
	cudaGraph_t graph;

	CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	lane_decode(lane, model);
	CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
	lane->graph_kernels = count_kernels(graph);

	uint64_t captured = lane->launcher.tally.own_kernels - before.own_kernels;

	if (!lane->engine.cublas && captured != lane->graph_kernels)
		check_fail("not as many kernel nodes as launches", "lane_capture", __FILE__,
			   __LINE__);
	lane->launcher.tally = before;
	CUDA_CHECK(cudaGraphInstantiateWithFlags(&lane->graph, graph, 0));
	CUDA_CHECK(cudaGraphDestroy(graph));
}

void lane_read(struct lane *lane, int *ids)
{
	size_t bytes = lane->batch * sizeof(*ids);

	launcher_copy(&lane->launcher, lane->host_ids, lane->next_ids, bytes);
	CUDA_CHECK(cudaStreamSynchronize(lane->launcher.stream));
	memcpy(ids, lane->host_ids, bytes);
}
