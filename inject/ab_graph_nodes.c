/* A candidate in the place of nodes of a graph; see ab_graph_state.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_graph_state.h"

#include <string.h>

#include "inject/hooks_gates.h"

/* Not a number in all headers: CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, and the port that goes with
 * it. */
#define PROGRAMMATIC 1

_Thread_local struct kp_ab_graph_into *kp_ab_graph_into __attribute__((tls_model("initial-exec")));

/* ---- a launch as a node ---- */

static bool begins_early(const CUlaunchConfig *config)
{
	for (unsigned i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
			return config->attrs[i].value.programmaticStreamSerializationAllowed != 0;
	return false;
}

/* Behind the candidate's own last one it may begin early, where it asks for that. */
static CUresult connect(struct kp_ab_graph_into *into, CUgraphNode node, bool early)
{
	const struct kp_ab_edge edge = {.from_port = PROGRAMMATIC, .type = PROGRAMMATIC};

	return kp_ab_graph_driver()->connect(into->graph, &into->last, &node, early ? &edge : NULL,
					     1);
}

static CUresult set_attributes(const CUlaunchConfig *config, CUgraphNode node)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; result == CUDA_SUCCESS && i < config->numAttrs; i++)
		if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
			result = kp_ab_graph_driver()->set_attribute(
				node, (unsigned)config->attrs[i].id, &config->attrs[i].value);
	return result;
}

CUresult kp_ab_graph_add(const CUlaunchConfig *config, CUfunction function, void **arguments)
{
	struct kp_ab_graph_into *into = kp_ab_graph_into;
	const struct kp_ab_kernel_node kernel = {
		.function = function,
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.shared_bytes = config->sharedMemBytes,
		.parameters = arguments,
	};
	bool first = into->last == NULL;
	CUgraphNode node;
	CUresult result = kp_ab_graph_driver()->add(&node, into->graph, first ? into->after : NULL,
						    first ? into->count : 0, &kernel);

	if (result == CUDA_SUCCESS)
		result = set_attributes(config, node);
	if (result == CUDA_SUCCESS && !first)
		result = connect(into, node, begins_early(config));
	if (result == CUDA_SUCCESS)
		into->last = node;
	return result;
}

/* ---- a candidate ---- */

/* A library of the user's launches in its own way: into a capture, whose graph becomes a node. */
static enum kp_ab_reason add_captured(struct kp_ab_context *context, struct kp_ab_job *job)
{
	const struct kp_ab_graph_driver *driver = kp_ab_graph_driver();
	struct kp_ab_graph_into *into = kp_ab_graph_into;
	enum kp_ab_reason reason;
	CUgraph made = NULL;
	size_t count = 0;

	if ((!context->captures &&
	     driver->stream(&context->captures, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) ||
	    driver->begin(context->captures, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS)
		return KP_AB_REASON_FAILED;
	job->stream = context->captures;
	atomic_fetch_add(&kp_hooks_captures, 1);
	reason = kp_ab_candidate_run(context, job, job->values, true);
	atomic_fetch_sub(&kp_hooks_captures, 1);
	if (driver->end(context->captures, &made) != CUDA_SUCCESS || !made)
		return KP_AB_REASON_FAILED;
	/* What has run at once is in no graph. */
	if (reason == KP_AB_REASON_COUNT &&
	    (driver->nodes(made, NULL, &count) != CUDA_SUCCESS || count == 0 ||
	     driver->add_child(&into->last, into->graph, into->after, into->count, made) !=
		     CUDA_SUCCESS))
		reason = KP_AB_REASON_FAILED;
	driver->destroy(made);
	return reason;
}

static enum kp_ab_reason add_candidate(struct kp_ab_context *context,
				       const struct kp_ab_graph_part *part,
				       struct kp_ab_graph_into *into)
{
	struct kp_ab_job job = part->job;
	enum kp_ab_reason reason;

	kp_ab_graph_into = into;
	reason = job.rule->replace == KP_AB_REPLACE_LIBRARY
			 ? add_captured(context, &job)
			 : kp_ab_candidate_run(context, &job, job.values, true);
	kp_ab_graph_into = NULL;
	return reason == KP_AB_REASON_COUNT && !into->last ? KP_AB_REASON_FAILED : reason;
}

/* What stands before and behind the nodes; within, each has but the next. */
struct borders {
	CUgraphNode before[KP_AB_EDGES_MOST], behind[KP_AB_EDGES_MOST];
	size_t before_count, behind_count;
};

/* Asked with room for one more than may be: edges may have data, which cannot be left out. */
static bool find_all(kp_ab_graph_neighbours ask, CUgraphNode node, CUgraphNode *out, size_t *count)
{
	CUgraphNode found[KP_AB_EDGES_MOST + 1];
	struct kp_ab_edge edges[KP_AB_EDGES_MOST + 1];

	*count = KP_AB_EDGES_MOST + 1;
	if (ask(node, found, edges, count) != CUDA_SUCCESS || *count > KP_AB_EDGES_MOST)
		return false;
	memcpy(out, found, *count * sizeof(found[0]));
	return true;
}

/* Whether a node has but one neighbour on a side, and that is this. */
static bool has_only(kp_ab_graph_neighbours ask, CUgraphNode node, CUgraphNode neighbour)
{
	CUgraphNode found[KP_AB_EDGES_MOST];
	size_t count;

	return find_all(ask, node, found, &count) && count == 1 && found[0] == neighbour;
}

static bool find_borders(const CUgraphNode *nodes, uint32_t count, struct borders *out)
{
	const struct kp_ab_graph_driver *driver = kp_ab_graph_driver();

	for (uint32_t i = 0; i + 1 < count; i++)
		if (!has_only(driver->behind, nodes[i], nodes[i + 1]) ||
		    !has_only(driver->before, nodes[i + 1], nodes[i]))
			return false;
	return find_all(driver->before, nodes[0], out->before, &out->before_count) &&
	       find_all(driver->behind, nodes[count - 1], out->behind, &out->behind_count);
}

enum kp_ab_reason kp_ab_graph_replace(struct kp_ab_context *context, CUgraph graph,
				      const struct kp_ab_graph_part *part,
				      CUgraphNode nodes[KP_AB_CHAIN_MOST])
{
	const struct kp_ab_graph_driver *driver = kp_ab_graph_driver();
	struct kp_ab_graph_into into = {.graph = graph};
	CUgraphNode from[KP_AB_EDGES_MOST];
	enum kp_ab_reason reason;
	struct borders borders;

	if (!find_borders(nodes, part->count, &borders))
		return KP_AB_REASON_GRAPH;
	for (uint32_t i = 0; i < part->count; i++)
		if (driver->remove(nodes[i]) != CUDA_SUCCESS)
			return KP_AB_REASON_GRAPH;
	into.after = borders.before;
	into.count = borders.before_count;
	reason = add_candidate(context, part, &into);
	if (reason != KP_AB_REASON_COUNT || borders.behind_count == 0)
		return reason;
	for (size_t i = 0; i < borders.behind_count; i++)
		from[i] = into.last;
	return driver->connect(graph, from, borders.behind, NULL, borders.behind_count) ==
			       CUDA_SUCCESS
		       ? KP_AB_REASON_COUNT
		       : KP_AB_REASON_GRAPH;
}
