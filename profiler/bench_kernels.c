/* kprof bench OPERATOR: graphs, times, and the run over its shapes; see bench_kernels.h. */
#include "profiler/bench_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/bench_ceilings.h"
#include "profiler/output.h"
#include "profiler/ranking.h"
#include "profiler/say.h"

#define GRAPH_S 500e-6 /* a graph takes about that, or all sets once */
#define NODES_LEAST 20U
#define NODES_MOST 512U
#define WARM_S 0.01
#define VECTOR_BYTES 16U
#define CAPTURE_THREAD_LOCAL 1

/* Plain kernels of kernels/ceilings_memory.cuh, by whether they read alone. */
static const struct plain {
	const char *kernel;
	unsigned threads, vectors;
} plains[] = {{"kp_copy_4", 256, 4}, {"kp_read_4", 512, 4}};

enum what { COLD, COLD_CHAIN, HOT, HOT_CHAIN, PLAIN, WHATS };

/* A graph of launches, and what it holds. */
struct graph {
	struct kp_bench_work *work;
	const struct plain *plain;
	void *exec, *function;
};

/* Reads the same bytes of a set, or copies its first half to a place of its own. */
static bool enqueue_plain(const struct graph *graph, uint32_t set)
{
	const struct kp_bench_work *work = graph->work;
	const struct kp_driver *driver = work->gpu->driver;
	uint64_t bytes = work->buffers.form->reads ? work->buffers.moved_bytes : work->plain_bytes;
	uint64_t count = bytes / VECTOR_BYTES, tile = graph->plain->threads * graph->plain->vectors;
	uint64_t from = work->memory + set * work->set_bytes;
	uint64_t to = work->memory + work->sets * work->set_bytes + set * work->plain_bytes;
	unsigned none = 0;
	void *arguments[] = {&from, &to, &count, &none};

	return kp_gpu_check(driver,
			    driver->launch(graph->function, (unsigned)((count + tile - 1) / tile),
					   1, 1, graph->plain->threads, 1, 1, 0, work->stream,
					   arguments, NULL),
			    "cuLaunchKernel");
}

static bool enqueue_all(const struct graph *graph, enum what what, uint32_t nodes)
{
	bool done = true;

	for (uint32_t i = 0; done && i < nodes; i++) {
		uint32_t set = what == HOT || what == HOT_CHAIN ? 0 : i % graph->work->sets;
		bool dependent = what == COLD_CHAIN || what == HOT_CHAIN;

		done = what == PLAIN ? enqueue_plain(graph, set)
				     : kp_bench_work_enqueue(graph->work, set, dependent);
	}
	return done;
}

static bool capture(struct graph *graph, enum what what, uint32_t nodes)
{
	const struct kp_driver *driver = graph->work->gpu->driver;
	void *captured = NULL, *stream = graph->work->stream;
	bool done;

	if (!kp_gpu_check(driver, driver->capture_begin(stream, CAPTURE_THREAD_LOCAL),
			  "cuStreamBeginCapture"))
		return false;
	done = enqueue_all(graph, what, nodes);
	done = kp_gpu_check(driver, driver->capture_end(stream, &captured), "cuStreamEndCapture") &&
	       done;
	done = done && kp_gpu_check(driver, driver->graph_instantiate(&graph->exec, captured, 0),
				    "cuGraphInstantiate");
	if (captured)
		driver->graph_destroy(captured);
	return done;
}

static bool launch_graph(void *context)
{
	const struct graph *graph = context;
	const struct kp_driver *driver = graph->work->gpu->driver;

	return kp_gpu_check(driver, driver->graph_launch(graph->exec, NULL), "cuGraphLaunch");
}

static bool launch_one(void *context)
{
	const struct graph *graph = context;

	return kp_bench_work_enqueue(graph->work, 0, false);
}

/* One run of one graph; a second one is averaged with the first. */
static bool time_graph(struct kp_timer *timer, struct graph *graph, enum what what, uint32_t nodes,
		       struct kp_bench_time *out)
{
	struct kp_timing timing;
	bool done = capture(graph, what, nodes) &&
		    kp_timer_run(timer, launch_graph, graph, WARM_S, &timing);
	double scale = 1e6 / nodes;

	if (graph->exec)
		timer->gpu->driver->exec_destroy(graph->exec);
	graph->exec = NULL;
	if (!done)
		return false;
	if (out->most_us > 0) {
		out->median_us = (out->median_us + timing.median_s * scale) / 2;
		out->least_us = fmin(out->least_us, timing.shortest_s * scale);
		out->most_us = fmax(out->most_us, timing.longest_s * scale);
		return true;
	}
	*out = (struct kp_bench_time){timing.median_s * scale, timing.shortest_s * scale,
				      timing.longest_s * scale};
	return true;
}

/* How many launches make a graph long enough: all sets at least. */
static uint32_t count_nodes(const struct kp_bench_work *work, double once_s)
{
	double wanted = once_s > 0 ? ceil(GRAPH_S / once_s) : NODES_MOST;
	uint32_t nodes = wanted < NODES_MOST ? (uint32_t)wanted : NODES_MOST;

	nodes = nodes < NODES_LEAST && once_s < GRAPH_S ? NODES_LEAST : nodes;
	return (nodes + work->sets - 1) / work->sets * work->sets;
}

/* How long a launch takes, the second time. */
static bool time_once(struct kp_timer *timer, struct graph *graph, double *once_s)
{
	void *stream = graph->work->stream;
	bool done = true;

	/* Events are of the default stream: what stands between two of them must be too. */
	graph->work->stream = NULL;
	for (int i = 0; done && i < 2; i++)
		done = kp_timer_once(timer, launch_one, graph, once_s);
	graph->work->stream = stream;
	return done;
}

bool kp_bench_measure(struct kp_timer *timer, struct kp_bench_work *work,
		      struct kp_bench_result *out)
{
	static const enum what order[] = {COLD,      PLAIN, COLD_CHAIN, HOT,   HOT_CHAIN,
					  HOT_CHAIN, HOT,   COLD_CHAIN, PLAIN, COLD};
	struct graph graph = {.work = work, .plain = &plains[work->buffers.form->reads]};
	struct kp_bench_time times[WHATS] = {0};
	double once_s;
	bool done;

	graph.function = kp_gpu_function(work->gpu, graph.plain->kernel);
	if (!graph.function) {
		kp_fail("the device code has no %s: build kprof anew", graph.plain->kernel);
		return false;
	}
	if (!kp_bench_work_check(work, out) || !time_once(timer, &graph, &once_s))
		return false;
	out->nodes = count_nodes(work, once_s);
	done = true;
	for (size_t i = 0; done && i < sizeof(order) / sizeof(order[0]); i++)
		done = time_graph(timer, &graph, order[i], out->nodes, &times[order[i]]);
	out->cold = times[COLD];
	out->cold_chain = times[COLD_CHAIN];
	out->hot = times[HOT];
	out->hot_chain = times[HOT_CHAIN];
	out->plain = times[PLAIN];
	return done;
}

/* ---- the command ---- */

/* The plan of the first launch, with the buffers of the first set. */
static void plan(const struct kp_bench_work *work, struct kp_bench_result *out)
{
	void *pointers[KP_BENCH_BUFFERS_MOST];
	struct kp_bench_call call = {work->buffers.shape, work->buffers.dtype, pointers, false,
				     NULL};

	for (size_t i = 0; i < work->buffers.layout.count; i++)
		pointers[i] = (void *)(uintptr_t)kp_bench_work_address(work, 0, i);
	work->buffers.operator->plan(&call, kp_kernels_device(work->kernels), &out->plan);
}

static bool measure_shape(struct kp_timer *timer, const struct kp_kernels *kernels,
			  const struct kp_bench_operator *operator,
			  const struct kp_bench_shape * shape, struct kp_bench_result *out)
{
	struct kp_bench_work work = {.gpu = timer->gpu, .kernels = kernels};
	const char *trouble =
		kp_bench_buffers_init(&work.buffers, operator, shape, kp_kernels_device(kernels));
	bool done;

	if (trouble) {
		kp_fail("%s cannot run: %s", operator->name, trouble);
		return false;
	}
	done = kp_bench_work_open(&work, timer->gpu->info.l2_bytes);
	*out = (struct kp_bench_result){.operator= operator,
					.form = work.buffers.form,
					.shape = *shape,
					.dtype = work.buffers.dtype,
					.bytes = work.buffers.moved_bytes,
					.sets = work.sets};
	if (done)
		plan(&work, out);
	done = done && kp_bench_measure(timer, &work, out);
	kp_bench_work_close(&work);
	return done;
}

static bool start_kernels(struct kp_kernels **out)
{
	int error = 0;
	enum kp_status status = kp_kernels_create(NULL, out, &error);

	if (status != KP_OK)
		kp_fail("the kernels cannot be loaded: %s (driver error %d)",
			kp_status_message(status), error);
	return status == KP_OK;
}

/* What reading reaches on this GPU, for operators that do little else. */
static bool measure_reading(struct kp_timer *timer, const struct kp_bench_operator *operator,
			    double * out)
{
	struct kp_measured *measured;
	const struct kp_try *best;
	bool done;

	*out = 0;
	if (!kp_bench_form_of(operator)->reads)
		return true;
	measured = calloc(1, sizeof(*measured));
	if (!measured) {
		kp_fail("out of memory");
		return false;
	}
	done = kp_bench_reading(timer, measured);
	best = kp_measured_best(measured, KP_CEILING_READ);
	if (best)
		*out = best->ceiling.value;
	free(measured);
	return done;
}

struct run {
	const struct kp_bench_operator *operator;
	struct kp_bench_shape shapes[KP_BENCH_SHAPES_MOST];
	struct kp_bench_result results[KP_BENCH_SHAPES_MOST];
	size_t count;
	uint64_t device;
};

/* A shape, or a list of them. */
static bool choose_shapes(struct run *run, const char *text)
{
	const struct kp_bench_form *form = kp_bench_form_of(run->operator);
	const char *at = text ? text : run->operator->shapes;

	run->count = 0;
	while (*at && run->count < KP_BENCH_SHAPES_MOST) {
		size_t length = strcspn(at, " ");

		if (!kp_bench_shape_parse(form, at, length, &run->shapes[run->count])) {
			kp_fail("--shape of %s is %s, each from 1 to %u%s", run->operator->name,
				form->words, KP_BENCH_SIZE_MOST,
				form->is_paged ? ", keys a multiple of the page" : "");
			return false;
		}
		run->count++;
		at += length + (at[length] == ' ');
		at += strspn(at, " ");
	}
	return run->count > 0;
}

static bool measure_all(const struct kp_gpu *gpu, struct run *run)
{
	struct kp_kernels *kernels = NULL;
	struct kp_timer timer;
	double ceiling_gbps = 0;
	bool done = kp_timer_init(&timer, gpu) && start_kernels(&kernels) &&
		    measure_reading(&timer, run->operator, & ceiling_gbps);

	for (size_t i = 0; done && i < run->count; i++) {
		done = measure_shape(&timer, kernels, run->operator, & run->shapes[i],
				     &run->results[i]);
		run->results[i].ceiling_gbps = ceiling_gbps;
	}
	kp_kernels_destroy(kernels);
	kp_timer_fini(&timer);
	return done;
}

/* What others take for the same, in a process of its own. */
static bool measure_others(struct run *run, const char *against)
{
	struct kp_bench_references *found = NULL;
	bool done;

	if (!against)
		return true;
	done = kp_bench_against(run->operator, against, run->device, run->shapes, run->count,
				&found);
	for (size_t i = 0; done && i < run->count; i++)
		run->results[i].references = found[i];
	free(found);
	return done;
}

static bool write_results(const struct kp_gpu *gpu, const struct run *run, enum kp_format format,
			  const struct kp_settings *settings)
{
	struct kp_output output;
	enum kp_status status = KP_OK;

	if (!kp_output_open(&output, settings->output))
		return false;
	if (format == KP_FORMAT_TEXT)
		kp_print_bench(kp_output_text(&output), gpu, run->results, run->count);
	else
		status = kp_document_bench(output.file, gpu, run->results, run->count, format);
	if (status != KP_OK)
		kp_fail("cannot write the result: %s", kp_status_message(status));
	return kp_output_close(&output) && status == KP_OK;
}

static bool measure_on(const struct kp_driver *driver, struct run *run, enum kp_format format,
		       const struct kp_settings *settings)
{
	struct kp_gpu gpu;
	bool done;

	if (run->device >= (uint64_t)driver->devices) {
		kp_fail("there is no device %llu: the last is %d", (unsigned long long)run->device,
			driver->devices - 1);
		return false;
	}
	if (!kp_gpu_describe(&gpu, driver, (int)run->device))
		return false;
	done = kp_gpu_open(&gpu, kp_kernel_image_ceilings()) && measure_all(&gpu, run);
	kp_gpu_close(&gpu);
	return done && measure_others(run, settings->against) &&
	       write_results(&gpu, run, format, settings);
}

int kp_bench_run_operator(const struct kp_bench_operator *operator,
			  const struct kp_settings * settings)
{
	enum kp_format format = kp_ranking_format(settings);
	struct kp_driver driver;
	struct run *run;
	bool done;

	if (format > KP_FORMAT_JSON)
		return kp_fail("the result is text, YAML or JSON; choose one with --format");
	if (settings->against && !kp_bench_against_check(operator, settings->against))
		return KP_EXIT_FAILURE;
	run = calloc(1, sizeof(*run));
	if (!run)
		return kp_fail("out of memory");
	run->operator= operator;
	run->device = settings->device == UINT64_MAX ? 0 : settings->device;
	done = choose_shapes(run, settings->shape) &&
	       (!settings->output || kp_output_check(settings->output)) &&
	       kp_driver_open(&driver) && measure_on(&driver, run, format, settings);
	free(run);
	return done ? 0 : KP_EXIT_FAILURE;
}
