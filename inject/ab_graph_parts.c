/* What of a graph is any rule's: its kernel nodes, and calls that were captured into it. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_graph_calls.h"

#include <stdlib.h>
#include <string.h>

#include "inject/ab_match.h"
#include "inject/hooks.h"
#include "trace/vector.h"

#define DEEPEST_CHILD 32
#define PARAMETERS_MOST 256U

/* First asked at the start, before there are threads that could. */
const struct kp_ab_graph_driver *kp_ab_graph_driver(void)
{
	static struct kp_ab_graph_driver driver;
	static _Atomic int known; /* 1: it is there; 2: it is not */

	if (!atomic_load(&known)) {
		struct kp_ab_graph_driver found = {0};
		bool all = true;

#define FIND(symbol, member, parameters)                                                           \
	*(void **)&found.member = kp_hooks_driver_symbol(#symbol);                                 \
	all &= found.member != NULL;
		KP_AB_GRAPH_DRIVER(FIND)
#undef FIND
		if (all)
			driver = found;
		atomic_store(&known, all ? 1 : 2);
	}
	return atomic_load(&known) == 1 ? &driver : NULL;
}

/* ---- what a kernel is launched with ---- */

static void mix(uint64_t *hash, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < count; i++)
		*hash = (*hash ^ at[i]) * 0x100000001b3ULL;
}

/* False: the driver does not say. */
static bool print_kernel(CUgraphNode node, uint64_t *hash)
{
	struct kp_ab_kernel_node kernel = {0};
	CUfunction function;
	size_t offset, bytes;

	if (kp_ab_graph_driver()->kernel(node, &kernel) != CUDA_SUCCESS)
		return false;
	function = kernel.function;
	if (!function && kp_ab.driver.kernel_function(&function, kernel.kernel) != CUDA_SUCCESS)
		return false;
	mix(hash, &function, sizeof(function));
	mix(hash, kernel.grid, sizeof(kernel.grid));
	mix(hash, kernel.block, sizeof(kernel.block));
	mix(hash, &kernel.shared_bytes, sizeof(kernel.shared_bytes));
	for (size_t i = 0; kernel.parameters && i < PARAMETERS_MOST; i++) {
		if (kp_ab.driver.parameter_info(function, i, &offset, &bytes) != CUDA_SUCCESS)
			break;
		mix(hash, kernel.parameters[i], bytes);
	}
	return true;
}

bool kp_ab_graph_print(const struct kp_ab_graph_part *part, uint64_t *out)
{
	*out = 0xcbf29ce484222325ULL;
	for (uint32_t i = 0; i < part->count; i++) {
		CUgraphNodeType type;

		if (kp_ab_graph_driver()->type(part->nodes[i], &type) != CUDA_SUCCESS)
			return false;
		mix(out, &type, sizeof(type));
		if (type == CU_GRAPH_NODE_TYPE_KERNEL && !print_kernel(part->nodes[i], out))
			return false;
	}
	return true;
}

/* ---- collecting ---- */

/* Not a number in all headers: CU_LAUNCH_ATTRIBUTE_… */
enum { COOPERATIVE = 2, MEMORY_DOMAIN = 10, DEVICE_UPDATABLE = 13 };

/* An attribute whose value begins with a number; 0: it is not set, or this driver has none. */
static int attribute_of(CUgraphNode node, unsigned attribute)
{
	union {
		int number;
		char bytes[64]; /* as large as any */
	} value = {0};

	return kp_ab_graph_driver()->attribute(node, attribute, &value) == CUDA_SUCCESS
		       ? value.number
		       : 0;
}

static bool add_part(struct kp_ab_graph *graph, const struct kp_ab_graph_part *part)
{
	if (!kp_vector_grow((void **)&graph->parts, graph->count, &graph->capacity, sizeof(*part)))
		return false;
	graph->parts[graph->count++] = *part;
	return true;
}

static bool is_of_call(const struct kp_ab_graph *graph, CUgraphNode node)
{
	for (size_t i = 0; i < graph->count && graph->parts[i].is_call; i++)
		for (uint32_t j = 0; j < graph->parts[i].count; j++)
			if (graph->parts[i].nodes[j] == node)
				return true;
	return false;
}

/* A kernel's node: the part of the first rule that fits. */
static void consider(struct kp_ab_graph *graph, CUgraphNode node, enum kp_ab_reason stuck)
{
	struct kp_ab_graph_part part = {.nodes = {node}, .count = 1, .stuck = stuck};
	struct kp_ab_kernel_node kernel = {0};
	const struct kp_ab_layout *layout;
	struct kp_ab_launch launch;
	uint32_t rules;

	if (kp_ab_graph_driver()->kernel(node, &kernel) != CUDA_SUCCESS)
		return;
	launch = (struct kp_ab_launch){
		.function = kernel.function ? kernel.function : (CUfunction)kernel.kernel,
		.grid = {kernel.grid[0], kernel.grid[1], kernel.grid[2]},
		.block = {kernel.block[0], kernel.block[1], kernel.block[2]},
		.shared_bytes = kernel.shared_bytes,
		.parameters = kernel.parameters,
		.extra = kernel.extra,
	};
	rules = kp_ab_match(launch.function, &layout);
	if (!rules || attribute_of(node, COOPERATIVE) || attribute_of(node, MEMORY_DOMAIN) ||
	    !kp_ab_launch_job(&launch, rules, layout, &part.job))
		return;
	add_part(graph, &part);
}

static CUgraphNode *nodes_of(CUgraph graph, size_t *count)
{
	const struct kp_ab_graph_driver *driver = kp_ab_graph_driver();
	CUgraphNode *nodes;

	*count = 0;
	if (driver->nodes(graph, NULL, count) != CUDA_SUCCESS)
		return NULL;
	nodes = calloc(*count + 1, sizeof(*nodes));
	if (nodes && driver->nodes(graph, nodes, count) != CUDA_SUCCESS) {
		free(nodes);
		return NULL;
	}
	return nodes;
}

/* Parts of child graphs are known, and left alone: a node of theirs cannot be found in a copy. */
static void walk(struct kp_ab_graph *graph, CUgraph of, unsigned depth)
{
	const struct kp_ab_graph_driver *driver = kp_ab_graph_driver();
	enum kp_ab_reason stuck = depth ? KP_AB_REASON_GRAPH : KP_AB_REASON_COUNT;
	size_t count;
	CUgraphNode *nodes = nodes_of(of, &count);
	CUgraphNodeType type;
	CUgraph child;

	for (size_t i = 0; nodes && i < count; i++) {
		if (driver->type(nodes[i], &type) != CUDA_SUCCESS)
			continue;
		if (type == CU_GRAPH_NODE_TYPE_KERNEL)
			graph->device_changes |= attribute_of(nodes[i], DEVICE_UPDATABLE) != 0;
		if (type == CU_GRAPH_NODE_TYPE_KERNEL && !is_of_call(graph, nodes[i]))
			consider(graph, nodes[i], stuck);
		else if (type == CU_GRAPH_NODE_TYPE_GRAPH && depth < DEEPEST_CHILD &&
			 driver->child(nodes[i], &child) == CUDA_SUCCESS)
			walk(graph, child, depth + 1);
	}
	free(nodes);
}

/* Calls whose kernels are launched with what they were captured with. */
static void add_calls(struct kp_ab_graph *graph, struct kp_ab_graph_part *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t print;

		if (kp_ab_graph_print(&calls[i], &print) && print == calls[i].print)
			add_part(graph, &calls[i]);
	}
}

static void count_parts(struct kp_ab_graph *graph)
{
	graph->rules = 0;
	memset(graph->eligible, 0, sizeof(graph->eligible));
	for (size_t i = 0; i < graph->count; i++) {
		graph->rules |= 1U << graph->parts[i].job.number;
		graph->eligible[graph->parts[i].job.number]++;
	}
}

/* Nodes become those of the copy. False: one is not there. */
static bool find_in_copy(struct kp_ab_graph *graph)
{
	for (size_t i = 0; i < graph->count; i++)
		for (uint32_t j = 0; j < graph->parts[i].count; j++) {
			CUgraphNode *node = &graph->parts[i].nodes[j];

			if (graph->parts[i].stuck == KP_AB_REASON_COUNT &&
			    kp_ab_graph_driver()->find(node, *node, graph->copy) != CUDA_SUCCESS)
				return false;
		}
	return true;
}

static int by_handle(const void *left, const void *right)
{
	const CUgraphNode a = *(const CUgraphNode *)left, b = *(const CUgraphNode *)right;

	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* Those whose nodes are still in the graph: of others nothing may be asked. */
static size_t keep_present(CUgraph of, struct kp_ab_graph_part *calls, size_t count)
{
	size_t left = 0, node_count = 0;
	CUgraphNode *nodes = count ? nodes_of(of, &node_count) : NULL;

	if (nodes)
		qsort(nodes, node_count, sizeof(*nodes), by_handle);
	for (size_t i = 0; nodes && i < count; i++) {
		bool present = true;

		for (uint32_t j = 0; j < calls[i].count; j++)
			present &= bsearch(&calls[i].nodes[j], nodes, node_count, sizeof(*nodes),
					   by_handle) != NULL;
		if (present)
			calls[left++] = calls[i];
	}
	free(nodes);
	return left;
}

bool kp_ab_graph_collect(struct kp_ab_graph *graph, CUgraph of)
{
	struct kp_ab_graph_part *calls;
	size_t count = kp_ab_graph_calls(of, &calls);

	count = keep_present(of, calls, count);
	graph->count = 0;
	graph->device_changes = false;
	add_calls(graph, calls, count);
	free(calls);
	walk(graph, of, 0);
	count_parts(graph);
	if (graph->count == 0)
		return false;
	if (graph->device_changes ||
	    kp_ab_graph_driver()->clone(&graph->copy, of) != CUDA_SUCCESS) {
		graph->copy = NULL;
		return true;
	}
	if (!find_in_copy(graph)) {
		kp_ab_graph_driver()->destroy(graph->copy);
		graph->copy = NULL;
	}
	return true;
}

void kp_ab_graph_collect_again(struct kp_ab_graph *graph)
{
	struct kp_ab_graph_part *before = graph->parts;
	size_t count = graph->count, calls = 0;

	while (calls < count && before[calls].is_call)
		calls++;
	graph->parts = NULL;
	graph->count = graph->capacity = 0;
	add_calls(graph, before, calls);
	free(before);
	walk(graph, graph->copy, 0);
	count_parts(graph);
}
