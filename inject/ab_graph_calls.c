/* Calls of libraries that are captured: which nodes are a call's; see ab_graph_state.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_graph_calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

/* Of all graphs that live. */
#define CALLS_MOST ((size_t)1 << 16)

struct call {
	CUgraph graph;
	struct kp_ab_graph_part part;
};

static struct {
	pthread_mutex_t lock;
	struct call *calls;
	size_t count, capacity;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What the next node of a capture would depend on. */
static bool ask(CUstream stream, struct kp_ab_graph_place *out)
{
	const struct kp_ab_graph_driver *driver = kp_ab_graph_driver();
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	const struct kp_ab_edge *edges = NULL;
	const CUgraphNode *nodes = NULL;
	cuuint64_t id;

	if (!driver ||
	    driver->info(stream, &status, &id, &out->graph, &nodes, &edges, &out->count) !=
		    CUDA_SUCCESS ||
	    status != CU_STREAM_CAPTURE_STATUS_ACTIVE || out->count > KP_AB_PLACE_MOST)
		return false;
	if (out->count)
		memcpy(out->nodes, nodes, out->count * sizeof(nodes[0]));
	return true;
}

bool kp_ab_graph_call_begins(const struct kp_ab_job *job, struct kp_ab_graph_place *place)
{
	return ask(job->stream, place);
}

static bool has(const struct kp_ab_graph_place *place, CUgraphNode node)
{
	for (size_t i = 0; i < place->count; i++)
		if (place->nodes[i] == node)
			return true;
	return false;
}

static bool same(const struct kp_ab_graph_place *place, const CUgraphNode *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!has(place, nodes[i]))
			return false;
	return count == place->count;
}

/* From the last node back to where the call began, one behind the other; false: it is no chain. */
static bool find_chain(const struct kp_ab_graph_driver *driver,
		       const struct kp_ab_graph_place *before, CUgraphNode last,
		       struct kp_ab_graph_part *part)
{
	CUgraphNode back[KP_AB_CHAIN_MOST], node = last, needs[KP_AB_PLACE_MOST + 1];
	struct kp_ab_edge edges[KP_AB_PLACE_MOST + 1];
	uint32_t length = 0;

	while (length < KP_AB_CHAIN_MOST) {
		size_t count = KP_AB_PLACE_MOST + 1;

		back[length++] = node;
		if (driver->before(node, needs, edges, &count) != CUDA_SUCCESS)
			return false;
		if (same(before, needs, count)) {
			for (uint32_t i = 0; i < length; i++)
				part->nodes[i] = back[length - 1 - i];
			part->count = length;
			return true;
		}
		if (count != 1)
			return false;
		node = needs[0];
	}
	return false;
}

static bool keep(const struct call *call)
{
	bool kept;

	pthread_mutex_lock(&all.lock);
	kept = all.count < CALLS_MOST &&
	       kp_vector_grow((void **)&all.calls, all.count, &all.capacity, sizeof(*call));
	if (kept)
		all.calls[all.count++] = *call;
	pthread_mutex_unlock(&all.lock);
	return kept;
}

bool kp_ab_graph_call_ends(const struct kp_ab_job *job, const struct kp_ab_graph_place *before)
{
	const struct kp_ab_graph_driver *driver = kp_ab_graph_driver();
	struct call call = {.graph = before->graph,
			    .part = {.job = *job, .is_call = true, .stuck = KP_AB_REASON_COUNT}};
	struct kp_ab_graph_place after;

	if (!ask(job->stream, &after) || after.graph != before->graph || after.count != 1 ||
	    has(before, after.nodes[0]) ||
	    !find_chain(driver, before, after.nodes[0], &call.part) ||
	    !kp_ab_graph_print(&call.part, &call.part.print))
		return false;
	return keep(&call);
}

size_t kp_ab_graph_calls(CUgraph graph, struct kp_ab_graph_part **out)
{
	size_t count = 0, capacity = 0;

	*out = NULL;
	pthread_mutex_lock(&all.lock);
	for (size_t i = 0; i < all.count; i++)
		if (all.calls[i].graph == graph &&
		    kp_vector_grow((void **)out, count, &capacity, sizeof(**out)))
			(*out)[count++] = all.calls[i].part;
	pthread_mutex_unlock(&all.lock);
	return count;
}

void kp_ab_graph_calls_forget(CUgraph graph)
{
	size_t left = 0;

	pthread_mutex_lock(&all.lock);
	for (size_t i = 0; i < all.count; i++)
		if (all.calls[i].graph != graph)
			all.calls[left++] = all.calls[i];
	all.count = left;
	pthread_mutex_unlock(&all.lock);
}

void kp_ab_graph_calls_reset(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&all, 0, sizeof(all));
	all.lock = fresh;
}
