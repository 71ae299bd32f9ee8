/*
 * llm_decode: greedy decoding with a small Llama-like model of random weights, to be profiled.
 * stdout holds what must be the same in every run with the same options: the tokens, and how many
 * kernels the program launched. Times go to stderr.
 */
#include "lane.h"
#include "ranges.h"

#include <inttypes.h>
#include <time.h>

enum { TOKENS_SHOWN = 8 };

struct run {
	struct options options;
	struct model model;
	struct launcher setup; /* makes the weights, on the default stream */
	struct lane *lanes;    /* [streams] */
	int *tokens;           /* host [1 + steps][streams][batch] */
};

static double now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *allocate(size_t count, size_t bytes)
{
	void *memory = calloc(count, bytes);

	if (!memory)
		check_fail("out of memory", "calloc", __FILE__, __LINE__);
	return memory;
}

static void set_up(struct run *run)
{
	const struct options *options = &run->options;

	CUDA_CHECK(cudaSetDevice(0));
	model_init(&run->model, options, &run->setup);
	run->lanes = (struct lane *)allocate(options->streams, sizeof(*run->lanes));
	run->tokens = (int *)allocate((1 + options->steps) * options->streams * options->batch,
				      sizeof(*run->tokens));
	for (int i = 0; i < options->streams; i++)
		lane_init(&run->lanes[i], &run->model, options, i);
	CUDA_CHECK(cudaDeviceSynchronize());
}

static void tear_down(struct run *run)
{
	for (int i = 0; i < run->options.streams; i++)
		lane_fini(&run->lanes[i]);
	model_fini(&run->model);
	free(run->lanes);
	free(run->tokens);
}

/* Reads token number `step` of every sequence back, as a server does to send it on. */
static void read_tokens(struct run *run, int64_t step)
{
	int64_t batch = run->options.batch, streams = run->options.streams;

	for (int64_t i = 0; i < streams; i++)
		lane_read(&run->lanes[i], run->tokens + (step * streams + i) * batch);
}

/* The prompts give token 0. Returns seconds. */
static double prefill(struct run *run)
{
	double begin_s = now_s();

	ranges_push(run->options.nvtx, "prefill");
	for (int i = 0; i < run->options.streams; i++)
		lane_prefill(&run->lanes[i], &run->model);
	read_tokens(run, 0);
	ranges_pop(run->options.nvtx);
	return now_s() - begin_s;
}

static void decode_step(struct run *run, int64_t step)
{
	ranges_push(run->options.nvtx, "token");
	for (int i = 0; i < run->options.streams; i++)
		lane_decode(&run->lanes[i], &run->model);
	read_tokens(run, step);
	ranges_pop(run->options.nvtx);
}

/* Step 1 warms up and is never in a graph; the seconds returned are those of the other steps. */
static double decode(struct run *run)
{
	ranges_push(run->options.nvtx, "decode");
	decode_step(run, 1);
	for (int i = 0; run->options.graph && i < run->options.streams; i++)
		lane_capture(&run->lanes[i], &run->model);

	double begin_s = now_s();

	for (int64_t step = 2; step <= run->options.steps; step++)
		decode_step(run, step);

	double seconds = now_s() - begin_s;

	ranges_pop(run->options.nvtx);
	return seconds;
}

/* FNV-1a over all tokens. */
static uint64_t checksum(const struct run *run)
{
	const struct options *o = &run->options;
	uint64_t hash = 0xcbf29ce484222325ull;

	for (int64_t i = 0; i < (1 + o->steps) * o->streams * o->batch; i++)
		hash = (hash ^ (uint32_t)run->tokens[i]) * 0x100000001b3ull;
	return hash;
}

static void print_tokens(const struct run *run)
{
	const struct options *o = &run->options;

	for (int64_t lane = 0; lane < o->streams; lane++) {
		printf("tokens stream %" PRId64 " sequence 0:", lane);
		for (int64_t step = 0; step <= o->steps && step < TOKENS_SHOWN; step++)
			printf(" %d", run->tokens[(step * o->streams + lane) * o->batch]);
		putchar('\n');
	}
	printf("tokens_generated %" PRId64 "\n", (1 + o->steps) * o->streams * o->batch);
	printf("tokens_checksum %016" PRIx64 "\n", checksum(run));
}

static void add_tally(struct tally *sum, const struct tally *tally)
{
	sum->own_kernels += tally->own_kernels;
	sum->library_calls += tally->library_calls;
	sum->copies += tally->copies;
	sum->clears += tally->clears;
	sum->graph_replays += tally->graph_replays;
	sum->graph_kernels += tally->graph_kernels;
}

static void print_counts(const struct run *run)
{
	struct tally sum = run->setup.tally;

	for (int i = 0; i < run->options.streams; i++)
		add_tally(&sum, &run->lanes[i].launcher.tally);
	printf("own_kernel_launches %" PRIu64 "\n", sum.own_kernels);
	printf("library_calls %" PRIu64 "\n", sum.library_calls);
	printf("graph_replays %" PRIu64 "\n", sum.graph_replays);
	printf("graph_kernel_nodes_launched %" PRIu64 "\n", sum.graph_kernels);
	printf("memory_copies %" PRIu64 "\n", sum.copies);
	printf("memory_sets %" PRIu64 "\n", sum.clears);
	if (run->options.no_cublas)
		printf("kernel_launches %" PRIu64 "\n", sum.own_kernels + sum.graph_kernels);
}

static void print_shape(const struct run *run)
{
	const struct options *o = &run->options;

	printf("model layers %d width %d heads %d ffn %d vocab %d\n", run->model.layer_count,
	       run->model.width, run->model.heads, run->model.ffn, run->model.vocab);
	printf("run batch %" PRId64 " prompt %" PRId64 " steps %" PRId64 " streams %" PRId64
	       " attention %s matmul %s graph %s seed %" PRId64 "\n",
	       o->batch, o->prompt, o->steps, o->streams, options_attention_name(o->attention),
	       o->no_cublas ? "own" : "cublas", o->graph ? "yes" : "no", o->seed);
}

static void print_times(const struct run *run, double prefill_s, double decode_s)
{
	double sequences = (double)(run->options.streams * run->options.batch);
	double prompt_tokens = sequences * (double)run->options.prompt;
	double steps = (double)(run->options.steps - 1);

	fprintf(stderr, "prefill: %.3f ms, %.0f tokens/s\n", prefill_s * 1e3,
		prompt_tokens / prefill_s);
	if (steps > 0)
		fprintf(stderr, "decode: %.3f ms a step over %.0f steps, %.0f tokens/s\n",
			decode_s * 1e3 / steps, steps, sequences * steps / decode_s);
}

int main(int argc, char **argv)
{
	struct run run = {};

	switch (options_parse(&run.options, argc, argv)) {
	case ARGS_HELP:
		return 0;
	case ARGS_BAD:
		return 2;
	case ARGS_OK:
		break;
	}
	set_up(&run);

	double prefill_s = prefill(&run);
	double decode_s = decode(&run);

	print_shape(&run);
	print_tokens(&run);
	print_counts(&run);
	print_times(&run, prefill_s, decode_s);
	tear_down(&run);
	return fflush(stdout) == 0 ? 0 : 1;
}
