/* kprof bench OPERATOR: graphs, times, and the run over its shapes; see bench_kernels.h. */
#include "profiler/bench_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output.h"
#include "profiler/ranking.h"
#include "profiler/say.h"

#define GRAPH_S 500e-6 /* a graph takes about that, or all sets once */
#define NODES_LEAST 20U
#define NODES_MOST 512U
#define WARM_S 0.01
#define COPY_KERNEL "kp_copy_4"
#define COPY_THREADS 256U
#define COPY_VECTORS 4U
#define VECTOR_BYTES 16U
#define CAPTURE_THREAD_LOCAL 1

enum what { COLD, HOT, DEPENDENT, COPY, WHATS };

/* A graph of launches, and what it holds. */
struct graph {
	struct kp_bench_work *work;
	void *exec, *copy;
};

/* A plain copy of the same bytes: the first half of a set to a place of its own. */
static bool enqueue_copy(const struct graph *graph, uint32_t set)
{
	const struct kp_bench_work *work = graph->work;
	const struct kp_driver *driver = work->gpu->driver;
	uint64_t count = work->copy_bytes / VECTOR_BYTES, tile = COPY_THREADS * COPY_VECTORS;
	uint64_t from = work->memory + set * work->set_bytes;
	uint64_t to = work->memory + work->sets * work->set_bytes + set * work->copy_bytes;
	unsigned none = 0;
	void *arguments[] = {&from, &to, &count, &none};

	return kp_gpu_check(driver,
			    driver->launch(graph->copy, (unsigned)((count + tile - 1) / tile), 1, 1,
					   COPY_THREADS, 1, 1, 0, work->stream, arguments, NULL),
			    "cuLaunchKernel");
}

static bool enqueue_all(const struct graph *graph, enum what what, uint32_t nodes)
{
	bool done = true;

	for (uint32_t i = 0; done && i < nodes; i++) {
		uint32_t set = what == COLD || what == COPY ? i % graph->work->sets : 0;

		done = what == COPY ? enqueue_copy(graph, set)
				    : kp_bench_work_enqueue(graph->work, set, what == DEPENDENT);
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

bool kp_bench_measure(struct kp_timer *timer, struct kp_bench_work *work,
		      struct kp_bench_result *out)
{
	static const enum what order[] = {COLD, COPY, HOT, DEPENDENT, DEPENDENT, HOT, COPY, COLD};
	struct graph graph = {work, NULL, kp_gpu_function(work->gpu, COPY_KERNEL)};
	struct kp_bench_time times[WHATS] = {0};
	void *stream = work->stream;
	double once_s;
	bool done;

	if (!graph.copy) {
		kp_fail("the device code has no %s: build kprof anew", COPY_KERNEL);
		return false;
	}
	if (!kp_bench_work_check(work, out))
		return false;
	/* Events are of the default stream: what stands between two of them must be too. */
	work->stream = NULL;
	done = true;
	for (int i = 0; done && i < 2; i++)
		done = kp_timer_once(timer, launch_one, &graph, &once_s);
	work->stream = stream;
	if (!done)
		return false;
	out->nodes = count_nodes(work, once_s);
	for (size_t i = 0; done && i < sizeof(order) / sizeof(order[0]); i++)
		done = time_graph(timer, &graph, order[i], out->nodes, &times[order[i]]);
	out->cold = times[COLD];
	out->hot = times[HOT];
	out->dependent = times[DEPENDENT];
	out->copy = times[COPY];
	return done;
}

/* ---- the command ---- */

const struct kp_bench_operator *kp_bench_find(const char *name)
{
	for (size_t i = 0; i < kp_bench_operator_count; i++)
		if (strcmp(kp_bench_operators[i].name, name) == 0)
			return &kp_bench_operators[i];
	return NULL;
}

/* ROWSxCOLUMNS; NULL: the operator's own list. */
static bool choose_shapes(const struct kp_bench_operator *operator, const char * text,
			  struct kp_bench_shape shapes[KP_BENCH_SHAPES_MOST], size_t *count)
{
	unsigned rows, columns;
	char rest;

	for (*count = 0; !text && *count < KP_BENCH_SHAPES_MOST && operator->shapes[*count].rows;
	     (*count)++)
		shapes[*count] = operator->shapes[*count];
	if (!text)
		return true;
	if (strspn(text, "0123456789x") != strlen(text) || strlen(text) > 20 ||
	    sscanf(text, "%ux%u%c", &rows, &columns, &rest) != 2 || rows == 0 || columns == 0 ||
	    rows > 1U << 24 || columns > 1U << 24) {
		kp_fail("--shape is ROWSxCOLUMNS, as in 4096x8192, each at most %u", 1U << 24);
		return false;
	}
	shapes[0] = (struct kp_bench_shape){rows, columns};
	*count = 1;
	return true;
}

static bool measure_shape(struct kp_timer *timer, const struct kp_kernels *kernels,
			  const struct kp_bench_operator *operator,
			  const struct kp_bench_shape * shape, struct kp_bench_result *out)
{
	struct kp_bench_work work = {.gpu = timer->gpu,
				     .kernels = kernels,
				     .operator= operator,
				     .shape = * shape,
				     .dtype = KP_DTYPE_BF16};
	bool done = kp_bench_work_open(&work, timer->gpu->info.l2_bytes);

	*out = (struct kp_bench_result){.operator= operator,
					.shape = * shape,
					.dtype = work.dtype,
					.bytes = work.bytes,
					.sets = work.sets};
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

static bool measure_all(const struct kp_gpu *gpu, const struct kp_bench_operator *operator,
			const struct kp_bench_shape * shapes, size_t count,
			struct kp_bench_result *results)
{
	struct kp_kernels *kernels = NULL;
	struct kp_timer timer;
	bool done = kp_timer_init(&timer, gpu) && start_kernels(&kernels);

	for (size_t i = 0; done && i < count; i++)
		done = measure_shape(&timer, kernels, operator, & shapes[i], &results[i]);
	kp_kernels_destroy(kernels);
	kp_timer_fini(&timer);
	return done;
}

static bool write_results(const struct kp_gpu *gpu, const struct kp_bench_result *results,
			  size_t count, enum kp_format format, const struct kp_settings *settings)
{
	struct kp_output output;
	enum kp_status status = KP_OK;

	if (!kp_output_open(&output, settings->output))
		return false;
	if (format == KP_FORMAT_TEXT)
		kp_print_bench(output.file, gpu, results, count);
	else
		status = kp_document_bench(output.file, gpu, results, count, format);
	if (status != KP_OK)
		kp_fail("cannot write the result: %s", kp_status_message(status));
	return kp_output_close(&output) && status == KP_OK;
}

int kp_bench_run_operator(const struct kp_bench_operator *operator,
			  const struct kp_settings * settings)
{
	enum kp_format format = kp_ranking_format(settings);
	struct kp_bench_result results[KP_BENCH_SHAPES_MOST];
	struct kp_bench_shape shapes[KP_BENCH_SHAPES_MOST];
	struct kp_driver driver;
	struct kp_gpu gpu;
	size_t count;
	uint64_t device = settings->device == UINT64_MAX ? 0 : settings->device;
	bool done;

	if (format > KP_FORMAT_JSON)
		return kp_fail("the result is text, YAML or JSON; choose one with --format");
	if (!choose_shapes(operator, settings->shape, shapes, &count) ||
	    (settings->output && !kp_output_check(settings->output)) || !kp_driver_open(&driver))
		return KP_EXIT_FAILURE;
	if (device >= (uint64_t)driver.devices)
		return kp_fail("there is no device %llu: the last is %d",
			       (unsigned long long)device, driver.devices - 1);
	if (!kp_gpu_describe(&gpu, &driver, (int)device))
		return KP_EXIT_FAILURE;
	done = kp_gpu_open(&gpu, kp_kernel_image_ceilings()) &&
	       measure_all(&gpu, operator, shapes, count, results) &&
	       write_results(&gpu, results, count, format, settings);
	kp_gpu_close(&gpu);
	return done ? 0 : KP_EXIT_FAILURE;
}
