/* Nodes of captured graphs; see library_graphs.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/library_graphs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "inject/cuda_api.h"
#include "inject/hooks_number.h"
#include "inject/library.h"
#include "inject/library_table.h"
#include "trace/vector.h"

typedef CUresult(CUDAAPI *info_v2_function)(CUstream, CUstreamCaptureStatus *, cuuint64_t *,
					    CUgraph *, const CUgraphNode **, size_t *);
typedef CUresult(CUDAAPI *info_v3_function)(CUstream, CUstreamCaptureStatus *, cuuint64_t *,
					    CUgraph *, const CUgraphNode **,
					    const CUgraphEdgeData **, size_t *);
typedef CUresult(CUDAAPI *get_nodes_function)(CUgraph, CUgraphNode *, size_t *);

/* A node that was captured in a call; of kp_library_node, `call` is a place in the table. */
struct captured {
	CUgraph graph;
	CUgraphNode node;
	struct kp_library_node what;
};

/* An executable graph with such nodes. */
struct executable {
	CUgraphExec exec;
	uint32_t number;
	unsigned launches; /* that are still to be noted */
};

static struct {
	pthread_mutex_t lock;
	struct captured *captured;
	size_t captured_count, captured_capacity;
	struct executable *executables;
	size_t executable_count, executable_capacity;
	struct kp_library_node *nodes; /* for the worker */
	size_t node_count, node_capacity;
	uint32_t numbers; /* given so far */
} graphs = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Atomic uint32_t kp_library_graphs_watched;

void kp_library_graphs_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&graphs, 0, sizeof(graphs));
	graphs.lock = fresh;
	atomic_store(&kp_library_graphs_watched, 0);
}

/* ---- capture ---- */

/* The graph that a stream is captured into, and the one node that the next would depend on. */
static bool newest_node(const struct kp_library_pending *pending, CUgraph *graph, CUgraphNode *node)
{
	static const char *const names[2][2] = {
		{"cuStreamGetCaptureInfo_v3", "cuStreamGetCaptureInfo_v3_ptsz"},
		{"cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo_v2_ptsz"}};
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	const CUgraphEdgeData *edges = NULL;
	const CUgraphNode *nodes = NULL;
	void *v3 = kp_hooks_driver_symbol(names[0][pending->per_thread]);
	void *v2 = v3 ? NULL : kp_hooks_driver_symbol(names[1][pending->per_thread]);
	CUresult result = CUDA_ERROR_NOT_FOUND;
	size_t count = 0;
	cuuint64_t id;

	if (v3)
		result = ((info_v3_function)v3)(pending->stream, &status, &id, graph, &nodes,
						&edges, &count);
	else if (v2)
		result = ((info_v2_function)v2)(pending->stream, &status, &id, graph, &nodes,
						&count);
	if (result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_ACTIVE || count != 1 ||
	    !nodes)
		return false;
	*node = nodes[0];
	return true;
}

void kp_library_graphs_capture(void)
{
	const struct kp_library_now now = kp_library_now();
	struct captured captured = {.what = {.call = now.call, .part = now.part}};
	int error = errno;

	memcpy(captured.what.grid, now.pending->grid, sizeof(captured.what.grid));
	memcpy(captured.what.block, now.pending->block, sizeof(captured.what.block));
	if (newest_node(now.pending, &captured.graph, &captured.node)) {
		pthread_mutex_lock(&graphs.lock);
		if (graphs.captured_count < KP_LIBRARY_NODES_MOST &&
		    kp_vector_grow((void **)&graphs.captured, graphs.captured_count,
				   &graphs.captured_capacity, sizeof(captured)))
			graphs.captured[graphs.captured_count++] = captured;
		pthread_mutex_unlock(&graphs.lock);
	}
	errno = error;
}

void kp_library_graphs_destroy(CUgraph graph)
{
	size_t left = 0;

	pthread_mutex_lock(&graphs.lock);
	for (size_t i = 0; i < graphs.captured_count; i++)
		if (graphs.captured[i].graph != graph)
			graphs.captured[left++] = graphs.captured[i];
	graphs.captured_count = left;
	pthread_mutex_unlock(&graphs.lock);
}

/* ---- instantiation ---- */

static int by_handle(const void *left, const void *right)
{
	const struct captured *a = left, *b = right;

	return (a->node > b->node) - (a->node < b->node);
}

/* The nodes of a graph that were captured in calls, by handle. NULL: none, or no memory. */
static struct captured *captured_of(CUgraph graph, size_t *count)
{
	struct captured *found = NULL;
	size_t capacity = 0;

	*count = 0;
	pthread_mutex_lock(&graphs.lock);
	for (size_t i = 0; i < graphs.captured_count; i++)
		if (graphs.captured[i].graph == graph &&
		    kp_vector_grow((void **)&found, *count, &capacity, sizeof(*found)))
			found[(*count)++] = graphs.captured[i];
	pthread_mutex_unlock(&graphs.lock);
	if (found)
		qsort(found, *count, sizeof(*found), by_handle);
	return found;
}

/* All nodes of a graph in their order. NULL: they cannot be had. */
static CUgraphNode *nodes_of(CUgraph graph, size_t *count)
{
	get_nodes_function ask = (get_nodes_function)kp_hooks_driver_symbol("cuGraphGetNodes");
	CUgraphNode *nodes;

	if (!ask || ask(graph, NULL, count) != CUDA_SUCCESS)
		return NULL;
	nodes = calloc(*count + 1, sizeof(*nodes));
	if (nodes && ask(graph, nodes, count) != CUDA_SUCCESS) {
		free(nodes);
		return NULL;
	}
	return nodes;
}

/* The number of an executable graph, given now if it has none. With the lock. */
static bool number_of(CUgraphExec exec, uint32_t *number)
{
	size_t at = 0;

	while (at < graphs.executable_count && graphs.executables[at].exec != exec)
		at++;
	if (at == graphs.executable_count) {
		if (!kp_vector_grow((void **)&graphs.executables, at, &graphs.executable_capacity,
				    sizeof(*graphs.executables)))
			return false;
		graphs.executable_count++;
		graphs.executables[at] =
			(struct executable){exec, graphs.numbers++, KP_LIBRARY_GRAPH_LAUNCHES};
		atomic_fetch_add(&kp_library_graphs_watched, 1);
	}
	*number = graphs.executables[at].number;
	return true;
}

/* Leaves the nodes for the worker. */
static void leave_nodes(CUgraphExec exec, uint32_t kernels, const CUgraphNode *nodes, size_t count,
			const struct captured *captured, size_t captured_count)
{
	uint32_t number;

	pthread_mutex_lock(&graphs.lock);
	for (size_t i = 0; number_of(exec, &number) && i < count; i++) {
		const struct captured key = {.node = nodes[i]};
		const struct captured *found =
			bsearch(&key, captured, captured_count, sizeof(key), by_handle);

		if (!found || graphs.node_count >= KP_LIBRARY_NODES_MOST ||
		    !kp_vector_grow((void **)&graphs.nodes, graphs.node_count,
				    &graphs.node_capacity, sizeof(*graphs.nodes)))
			continue;
		graphs.nodes[graphs.node_count] = found->what;
		graphs.nodes[graphs.node_count].graph = number;
		graphs.nodes[graphs.node_count].index = (uint32_t)i;
		graphs.nodes[graphs.node_count++].kernels = kernels;
	}
	pthread_mutex_unlock(&graphs.lock);
}

void kp_library_graphs_instantiated(CUgraphExec exec, CUgraph graph, uint64_t kernels)
{
	int error = errno;
	size_t captured_count, count = 0;
	struct captured *captured = captured_of(graph, &captured_count);
	CUgraphNode *nodes = captured ? nodes_of(graph, &count) : NULL;

	if (nodes)
		leave_nodes(exec, kernels < UINT32_MAX ? (uint32_t)kernels : UINT32_MAX, nodes,
			    count, captured, captured_count);
	free(nodes);
	free(captured);
	errno = error;
}

/* ---- executable graphs ---- */

void kp_library_graphs_exec_destroy(CUgraphExec exec)
{
	pthread_mutex_lock(&graphs.lock);
	for (size_t i = 0; i < graphs.executable_count; i++) {
		if (graphs.executables[i].exec != exec)
			continue;
		if (graphs.executables[i].launches)
			atomic_fetch_sub(&kp_library_graphs_watched, 1);
		graphs.executables[i] = graphs.executables[--graphs.executable_count];
		break;
	}
	pthread_mutex_unlock(&graphs.lock);
}

/* Whether a launch is to be noted, and of which graph. */
static bool take_launch(CUgraphExec exec, uint32_t *number)
{
	bool take = false;

	pthread_mutex_lock(&graphs.lock);
	for (size_t i = 0; i < graphs.executable_count; i++) {
		struct executable *executable = &graphs.executables[i];

		if (executable->exec != exec || !executable->launches)
			continue;
		*number = executable->number;
		take = true;
		if (--executable->launches == 0)
			atomic_fetch_sub(&kp_library_graphs_watched, 1);
		break;
	}
	pthread_mutex_unlock(&graphs.lock);
	return take;
}

void kp_library_graphs_launched(CUgraphExec exec, uint64_t issued)
{
	uint32_t number;

	if (issued != UINT64_MAX && kp_hooks_may_be_recorded() && take_launch(exec, &number))
		kp_library_graph_launched(number, issued);
}

/* ---- the worker ---- */

void kp_library_graphs_write(struct kp_writer *writer)
{
	struct kp_library_node *nodes;
	size_t count;

	pthread_mutex_lock(&graphs.lock);
	nodes = graphs.nodes;
	count = graphs.node_count;
	graphs.nodes = NULL;
	graphs.node_count = graphs.node_capacity = 0;
	pthread_mutex_unlock(&graphs.lock);
	for (size_t i = 0; i < count; i++)
		if (kp_library_table_number(writer, nodes[i].call, &nodes[i].call))
			kp_writer_library_node(writer, &nodes[i]);
	free(nodes);
}
