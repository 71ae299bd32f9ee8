/*
 * CUDA graphs at the driver's door: how many kernels a launch of one issues; see hooks.h.
 *
 * Kernel nodes are counted when a graph is instantiated, child graphs included, and looked up when
 * it is launched. What cannot be counted from outside (conditional nodes, graphs that the device
 * launches, nodes switched off later) makes the count of issued kernels unknown.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "inject/ab_graph.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"
#include "inject/host.h"
#include "inject/runs.h"

typedef CUresult(CUDAAPI *get_nodes_function)(CUgraph, CUgraphNode *, size_t *);
typedef CUresult(CUDAAPI *get_type_function)(CUgraphNode, CUgraphNodeType *);
typedef CUresult(CUDAAPI *get_child_function)(CUgraphNode, CUgraph *);

#define UNCOUNTABLE UINT64_MAX
#define DEEPEST_CHILD 32

/* ---- the kernels of each executable graph: open addressing, one lock ---- */

static struct {
	pthread_mutex_t lock;
	struct entry {
		CUgraphExec graph; /* NULL: free; a removed one keeps its place with kernels = 0 */
		uint64_t kernels;
	} * entries;
	size_t used, size;              /* size is a power of two, at least twice used */
	_Atomic uint64_t changes, most; /* most: kernels of a graph, ever */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What this thread looked up last: most threads replay one graph. */
static _Thread_local struct {
	struct entry entry;
	uint64_t changes; /* of the table, before that */
} last __attribute__((tls_model("initial-exec")));

static struct entry *find(struct entry *entries, size_t size, CUgraphExec graph)
{
	size_t at = ((uintptr_t)graph >> 4) * 0x9e3779b97f4a7c15ULL >> 20 & (size - 1);

	while (entries[at].graph && entries[at].graph != graph)
		at = (at + 1) & (size - 1);
	return &entries[at];
}

/* Graphs that were not removed. */
static size_t count_live(void)
{
	size_t live = 0;

	for (size_t i = 0; i < table.size; i++)
		live += table.entries[i].graph && table.entries[i].kernels;
	return live;
}

/* Removed graphs are left behind; twice the room, if that is not enough. */
static bool grow(void)
{
	size_t size = table.size ? table.size << (count_live() * 4 >= table.size) : 64;
	struct entry *entries = calloc(size, sizeof(*entries));

	if (!entries)
		return false;
	table.used = 0;
	for (size_t i = 0; i < table.size; i++)
		if (table.entries[i].graph && table.entries[i].kernels) {
			*find(entries, size, table.entries[i].graph) = table.entries[i];
			table.used++;
		}
	free(table.entries);
	table.entries = entries;
	table.size = size;
	return true;
}

static void remember(CUgraphExec graph, uint64_t kernels)
{
	struct entry *entry;

	pthread_mutex_lock(&table.lock);
	if ((table.used + 1) * 2 > table.size && !grow()) {
		pthread_mutex_unlock(&table.lock);
		kp_hooks_lose_count();
		return;
	}
	entry = find(table.entries, table.size, graph);
	table.used += entry->graph == NULL;
	*entry = (struct entry){graph, kernels};
	if (kernels != UNCOUNTABLE && kernels > atomic_load(&table.most))
		atomic_store(&table.most, kernels);
	atomic_fetch_add(&table.changes, 1);
	pthread_mutex_unlock(&table.lock);
}

/* How many kernels a launch of the graph issues; UNCOUNTABLE where it was never seen. */
static uint64_t recall(CUgraphExec graph)
{
	uint64_t changes = atomic_load(&table.changes), kernels = UNCOUNTABLE;

	if (last.entry.graph == graph && last.changes == changes)
		return last.entry.kernels;
	pthread_mutex_lock(&table.lock);
	if (table.size) {
		const struct entry *entry = find(table.entries, table.size, graph);

		if (entry->graph)
			kernels = entry->kernels;
	}
	pthread_mutex_unlock(&table.lock);
	last.entry = (struct entry){graph, kernels};
	last.changes = changes;
	return kernels;
}

/* ---- the gate ---- */

struct kp_gate kp_hooks_graph_gate = {.passage = KP_PASSAGE_GRAPH};

uint64_t kp_hooks_graph_uncounted(void)
{
	return kp_gate_inside(&kp_hooks_graph_gate) * atomic_load(&table.most);
}

static _Atomic bool graphs_made;

bool kp_hooks_have_graphs(void)
{
	return atomic_load(&graphs_made);
}

void kp_hooks_graph_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&table, 0, sizeof(table));
	table.lock = fresh;
	last.entry.graph = NULL;
	atomic_store(&graphs_made, false);
	kp_gate_forget(&kp_hooks_graph_gate);
}

/* ---- counting nodes ---- */

struct questions {
	get_nodes_function nodes;
	get_type_function type;
	get_child_function child;
};

static uint64_t count_kernels(const struct questions *ask, CUgraph graph, unsigned depth);

/* The kernels of one node. */
static uint64_t count_node(const struct questions *ask, CUgraphNode node, unsigned depth)
{
	CUgraphNodeType type;
	CUgraph child;

	if (ask->type(node, &type) != CUDA_SUCCESS)
		return UNCOUNTABLE;
	switch ((int)type) { /* not every toolkit has all kinds in its enumeration */
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return 1;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		if (depth == DEEPEST_CHILD || ask->child(node, &child) != CUDA_SUCCESS)
			return UNCOUNTABLE;
		return count_kernels(ask, child, depth + 1);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return UNCOUNTABLE;
	default:
		return 0;
	}
}

static uint64_t count_kernels(const struct questions *ask, CUgraph graph, unsigned depth)
{
	size_t count = 0;
	uint64_t kernels = 0;
	CUgraphNode *nodes;

	if (ask->nodes(graph, NULL, &count) != CUDA_SUCCESS)
		return UNCOUNTABLE;
	nodes = calloc(count + 1, sizeof(*nodes));
	if (!nodes || ask->nodes(graph, nodes, &count) != CUDA_SUCCESS)
		kernels = UNCOUNTABLE;
	for (size_t i = 0; i < count && kernels != UNCOUNTABLE; i++) {
		uint64_t more = count_node(ask, nodes[i], depth);

		kernels = more == UNCOUNTABLE ? UNCOUNTABLE : kernels + more;
	}
	free(nodes);
	return kernels;
}

/* That there are graphs is known before the gate may be closed again. */
static CUresult instantiated(CUresult result, const CUgraphExec *exec, CUgraph graph,
			     cuuint64_t flags)
{
	struct questions ask;
	uint64_t kernels;

	if (result == CUDA_SUCCESS)
		atomic_store(&graphs_made, true);
	kp_hooks_graph_leave(result);
	if (result != CUDA_SUCCESS || !exec)
		return result;
	ask.nodes = (get_nodes_function)kp_hooks_driver_symbol("cuGraphGetNodes");
	ask.type = (get_type_function)kp_hooks_driver_symbol("cuGraphNodeGetType");
	ask.child = (get_child_function)kp_hooks_driver_symbol("cuGraphChildGraphNodeGetGraph");
	kernels = ask.nodes && ask.type && ask.child ? count_kernels(&ask, graph, 0) : UNCOUNTABLE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		kernels = UNCOUNTABLE;
	remember(*exec, kernels);
	kp_library_graphs_instantiated(*exec, graph, kernels);
	if (kp_ab_is_on())
		kp_ab_graph_instantiated(*exec, graph, flags);
	return result;
}

uint64_t kp_hooks_graph_launched(CUgraphExec graph)
{
	uint64_t kernels = recall(graph), issued;

	if (kernels == UNCOUNTABLE) {
		kp_hooks_lose_count();
		return kernels;
	}
	issued = kp_hooks_issued(kernels);
	if (kp_library_graphs_care())
		kp_library_graphs_launched(graph, issued);
	return kernels;
}

/* A graph without kernels gives no record of one, and is in no run. */
static CUresult launched(struct kp_run_open *run, CUresult result, CUgraphExec graph)
{
	uint64_t kernels = result == CUDA_SUCCESS ? kp_hooks_graph_launched(graph) : 0;

	if (kernels)
		kp_runs_leave(run, KP_HOST_GRAPH,
			      kernels < KP_HOST_UNKNOWN ? (uint32_t)kernels : KP_HOST_UNKNOWN, 0);
	else
		kp_runs_discard(run);
	return result;
}

/* ---- wrappers ---- */

typedef CUresult(CUDAAPI *instantiate_function)(CUgraphExec *, CUgraph, CUgraphNode *, char *,
						size_t);
#define INSTANTIATE(name)                                                                          \
	static CUresult CUDAAPI hook_##name(CUgraphExec *exec, CUgraph graph, CUgraphNode *node,   \
					    char *log, size_t log_bytes)                           \
	{                                                                                          \
		kp_hooks_graph_enter();                                                            \
		return instantiated(                                                               \
			KP_REAL(name, instantiate_function)(exec, graph, node, log, log_bytes),    \
			exec, graph, 0);                                                           \
	}                                                                                          \
	KP_WRAPPER(name)
INSTANTIATE(cuGraphInstantiate);
INSTANTIATE(cuGraphInstantiate_v2);

typedef CUresult(CUDAAPI *instantiate_flags_function)(CUgraphExec *, CUgraph, unsigned long long);
static CUresult CUDAAPI hook_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
							 unsigned long long flags)
{
	kp_hooks_graph_enter();
	return instantiated(KP_REAL(cuGraphInstantiateWithFlags,
				    instantiate_flags_function)(exec, graph, flags),
			    exec, graph, flags);
}
KP_WRAPPER(cuGraphInstantiateWithFlags);

typedef CUresult(CUDAAPI *instantiate_params_function)(CUgraphExec *, CUgraph,
						       CUDA_GRAPH_INSTANTIATE_PARAMS *);
#define INSTANTIATE_PARAMS(name)                                                                   \
	static CUresult CUDAAPI hook_##name(CUgraphExec *exec, CUgraph graph,                      \
					    CUDA_GRAPH_INSTANTIATE_PARAMS *params)                 \
	{                                                                                          \
		kp_hooks_graph_enter();                                                            \
		return instantiated(                                                               \
			KP_REAL(name, instantiate_params_function)(exec, graph, params), exec,     \
			graph, params ? params->flags : 0);                                        \
	}                                                                                          \
	KP_WRAPPER(name)
INSTANTIATE_PARAMS(cuGraphInstantiateWithParams);
INSTANTIATE_PARAMS(cuGraphInstantiateWithParams_ptsz);

typedef CUresult(CUDAAPI *destroy_function)(CUgraphExec);
static CUresult CUDAAPI hook_cuGraphExecDestroy(CUgraphExec graph)
{
	if (kp_ab_is_on())
		kp_ab_graph_exec_destroyed(graph);
	remember(graph, 0); /* before: another thread may get the same handle at once */
	kp_library_graphs_exec_destroy(graph);
	kp_hooks_graph_enter();
	return kp_hooks_graph_leave(KP_REAL(cuGraphExecDestroy, destroy_function)(graph));
}
KP_WRAPPER(cuGraphExecDestroy);

typedef CUresult(CUDAAPI *destroy_graph_function)(CUgraph);
static CUresult CUDAAPI hook_cuGraphDestroy(CUgraph graph)
{
	kp_library_graphs_destroy(graph); /* before, likewise */
	if (kp_ab_is_on())
		kp_ab_graph_destroyed(graph);
	return KP_REAL(cuGraphDestroy, destroy_graph_function)(graph);
}
KP_WRAPPER(cuGraphDestroy);

typedef CUresult(CUDAAPI *set_enabled_function)(CUgraphExec, CUgraphNode, unsigned);
static CUresult CUDAAPI hook_cuGraphNodeSetEnabled(CUgraphExec graph, CUgraphNode node,
						   unsigned enabled)
{
	CUresult result;

	kp_hooks_graph_enter();
	result = kp_hooks_graph_leave(
		KP_REAL(cuGraphNodeSetEnabled, set_enabled_function)(graph, node, enabled));
	if (result == CUDA_SUCCESS)
		remember(graph, UNCOUNTABLE);
	if (result == CUDA_SUCCESS && kp_ab_is_on())
		kp_ab_graph_changed(graph, node, NULL, NULL);
	return result;
}
KP_WRAPPER(cuGraphNodeSetEnabled);

typedef CUresult(CUDAAPI *graph_launch_function)(CUgraphExec, CUstream);
/* Where there are rules, another graph may be launched in its place. */
static __attribute__((noinline)) CUresult launch_by_rules(graph_launch_function real,
							  CUgraphExec graph, CUstream stream,
							  bool per_thread)
{
	struct kp_ab_replay replay;
	CUgraphExec taken = kp_ab_graph_launches(&replay, graph, stream, per_thread);
	uint64_t begin_ns = kp_hooks_graph_launch_begins();
	struct kp_run_open run;
	CUresult result;

	kp_runs_enter(&run, stream, per_thread);
	result = launched(&run, real(taken, stream), taken);
	kp_hooks_graph_launch_ends(result, begin_ns);
	kp_ab_graph_launched(&replay, result == CUDA_SUCCESS);
	return result;
}

#define GRAPH_LAUNCH(name, per_thread)                                                             \
	static CUresult CUDAAPI hook_##name(CUgraphExec graph, CUstream stream)                    \
	{                                                                                          \
		struct kp_run_open run;                                                            \
		uint64_t begin_ns;                                                                 \
		CUresult result;                                                                   \
                                                                                                   \
		if (kp_ab_is_on())                                                                 \
			return launch_by_rules(KP_REAL(name, graph_launch_function), graph,        \
					       stream, per_thread);                                \
		begin_ns = kp_hooks_graph_launch_begins();                                         \
		kp_runs_enter(&run, stream, per_thread);                                           \
		result = launched(&run, KP_REAL(name, graph_launch_function)(graph, stream),       \
				  graph);                                                          \
		return kp_hooks_graph_launch_ends(result, begin_ns);                               \
	}                                                                                          \
	KP_WRAPPER(name)
GRAPH_LAUNCH(cuGraphLaunch, false);
GRAPH_LAUNCH(cuGraphLaunch_ptsz, true);
