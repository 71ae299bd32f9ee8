/* The executable graphs beside one of the program's; see ab_graph_state.h. With the mutex. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_graph_state.h"

#include <stdlib.h>
#include <string.h>

#include "inject/hooks.h"
#include "trace/vector.h"

/* Flags that mean the same for another executable graph: CUDA_GRAPH_INSTANTIATE_FLAG_…
 * AUTO_FREE_ON_LAUNCH and USE_NODE_PRIORITY. */
#define KEPT_FLAGS 9U

/* By the hooks, which count a graph's kernels and keep out of the way of CUPTI. */
static CUresult instantiate(CUgraphExec *out, CUgraph graph, uint64_t flags)
{
	return ((CUresult(CUDAAPI *)(CUgraphExec *, CUgraph, unsigned long long))
			kp_wrapper_cuGraphInstantiateWithFlags)(out, graph, flags & KEPT_FLAGS);
}

static void destroy(CUgraphExec exec)
{
	((CUresult(CUDAAPI *)(CUgraphExec))kp_wrapper_cuGraphExecDestroy)(exec);
}

static bool is_verified(const struct kp_ab_graph_part *part)
{
	const struct kp_ab_variant *variant = kp_ab_variant(part->job.shape);

	return variant && atomic_load(&variant->passed) >= KP_AB_PASSES;
}

bool kp_ab_graph_has_grown(const struct kp_ab_graph *graph)
{
	for (size_t i = 0; i < graph->count; i++)
		if (graph->parts[i].left == KP_AB_REASON_CAPTURED && is_verified(&graph->parts[i]))
			return true;
	return false;
}

/* Memory of the graph's that no part uses, or more of the context's. */
static bool lend(struct kp_ab_graph *graph, struct kp_ab_context *context, size_t bytes,
		 struct kp_ab_job *job)
{
	struct kp_ab_block block = {.bytes = bytes, .used = true};
	size_t i = 0;

	while (i < graph->block_count && (graph->blocks[i].used || graph->blocks[i].bytes < bytes))
		i++;
	if (i == graph->block_count) {
		if (!kp_vector_grow((void **)&graph->blocks, i, &graph->block_capacity,
				    sizeof(block)))
			return false;
		block.memory = kp_ab_context_take(context, &kp_ab.driver, bytes, &block.bytes);
		if (!block.memory)
			return false;
		graph->blocks[i] = block;
		graph->block_count++;
	}
	graph->blocks[i].used = true;
	job->workspace = graph->blocks[i].memory;
	job->workspace_bytes = graph->blocks[i].bytes;
	return true;
}

/* KP_AB_REASON_COUNT: it is to be replaced. */
static enum kp_ab_reason look(struct kp_ab_graph *graph, struct kp_ab_context *context,
			      struct kp_ab_graph_part *part)
{
	struct kp_ab_job *job = &part->job;
	size_t bytes = 0;

	if (part->stuck != KP_AB_REASON_COUNT)
		return part->stuck;
	if (!graph->copy)
		return KP_AB_REASON_GRAPH;
	if (graph->wrong >> job->number & 1)
		return KP_AB_REASON_WRONG;
	if (graph->off >> job->number & 1)
		return KP_AB_REASON_OFF;
	if (!is_verified(part))
		return KP_AB_REASON_CAPTURED;
	if (!context || !kp_ab_candidate_is_loaded(context, job))
		return KP_AB_REASON_NOT_LOADED;
	if (!kp_ab_job_is_known(job))
		return KP_AB_REASON_ADDRESS;
	job->workspace = job->workspace_bytes = 0;
	if (job->rule->replace == KP_AB_REPLACE_BUILTIN)
		bytes = kp_ab.candidates->workspace(&context->set, job->rule->builtin, job->values);
	if (bytes && !lend(graph, context, bytes, job))
		return KP_AB_REASON_NO_MEMORY;
	return KP_AB_REASON_COUNT;
}

static uint32_t classify(struct kp_ab_graph *graph, struct kp_ab_context *context)
{
	uint32_t rules = 0;

	memset(graph->ready, 0, sizeof(graph->ready));
	memset(graph->left, 0, sizeof(graph->left));
	graph->growing = false;
	for (size_t i = 0; i < graph->block_count; i++)
		graph->blocks[i].used = false;
	for (size_t i = 0; i < graph->count; i++) {
		struct kp_ab_graph_part *part = &graph->parts[i];
		uint32_t rule = part->job.number;

		part->left = look(graph, context, part);
		graph->growing |= part->left == KP_AB_REASON_CAPTURED;
		if (part->left == KP_AB_REASON_COUNT) {
			rules |= 1U << rule;
			graph->ready[rule]++;
		} else {
			graph->left[rule][part->left]++;
		}
	}
	return rules;
}

/* A replacement that cannot be launched cannot be in any of its rule's parts. */
static void mark_stuck(struct kp_ab_graph *graph, struct kp_ab_graph_part *part,
		       enum kp_ab_reason reason)
{
	part->stuck = reason;
	for (size_t i = 0; reason != KP_AB_REASON_GRAPH && i < graph->count; i++)
		if (graph->parts[i].job.number == part->job.number)
			graph->parts[i].stuck = reason;
}

/* The graph with these rules' parts replaced. False: one of them is stuck, and marked. */
static bool replace_parts(struct kp_ab_graph *graph, struct kp_ab_context *context, CUgraph in,
			  struct kp_ab_graph_form *form)
{
	for (size_t i = 0; i < graph->count; i++) {
		struct kp_ab_graph_part *part = &graph->parts[i];
		CUgraphNode nodes[KP_AB_CHAIN_MOST];
		enum kp_ab_reason reason = KP_AB_REASON_COUNT;

		if (part->left != KP_AB_REASON_COUNT || !(form->rules >> part->job.number & 1))
			continue;
		for (uint32_t j = 0; j < part->count; j++)
			if (kp_ab_graph_driver()->find(&nodes[j], part->nodes[j], in) !=
			    CUDA_SUCCESS)
				reason = KP_AB_REASON_GRAPH;
		if (reason == KP_AB_REASON_COUNT)
			reason = kp_ab_graph_replace(context, in, part, nodes);
		if (reason != KP_AB_REASON_COUNT) {
			mark_stuck(graph, part, reason);
			return false;
		}
		form->replaced[part->job.number]++;
	}
	return true;
}

/* False: a part is stuck, and known to be; or, where none is, the whole graph. */
static bool make_form(struct kp_ab_graph *graph, struct kp_ab_context *context, uint32_t rules,
		      struct kp_ab_graph_form *out)
{
	struct kp_ab_graph_form form = {.rules = rules};
	CUgraph made;
	bool good;

	if (kp_ab_graph_driver()->clone(&made, graph->copy) != CUDA_SUCCESS) {
		graph->given_up = KP_AB_REASON_GRAPH;
		return false;
	}
	good = replace_parts(graph, context, made, &form);
	if (good && instantiate(&form.exec, made, graph->flags) != CUDA_SUCCESS) {
		form.exec = NULL;
		graph->given_up = KP_AB_REASON_GRAPH;
	}
	kp_ab_graph_driver()->destroy(made);
	if (!form.exec)
		return false;
	*out = form;
	return true;
}

/* One with all rules, and, to tell what each brings, one with each alone. */
static bool make_forms(struct kp_ab_graph *graph, struct kp_ab_context *context, uint32_t rules)
{
	bool good = make_form(graph, context, rules, &graph->forms[0]);
	uint32_t count = (uint32_t)__builtin_popcount(rules);

	graph->form_count = good;
	if (kp_ab.plan.header->mode != KP_AB_MEASURE || count < 2 || count >= KP_AB_FORMS_MOST)
		return good;
	for (; good && rules; rules &= rules - 1) {
		good = make_form(graph, context, rules & -rules, &graph->forms[graph->form_count]);
		graph->form_count += good;
	}
	return good;
}

void kp_ab_graph_unbuild(struct kp_ab_graph *graph, bool lost)
{
	for (uint32_t i = 0; !lost && i < graph->form_count; i++)
		destroy(graph->forms[i].exec);
	graph->form_count = 0;
}

static void upload(const struct kp_ab_graph *graph, CUstream stream)
{
	for (uint32_t i = 0; i < graph->form_count; i++)
		((CUresult(CUDAAPI *)(CUgraphExec, CUstream))kp_wrapper_cuGraphUpload)(
			graph->forms[i].exec, stream);
}

void kp_ab_graph_build(struct kp_ab_graph *graph, struct kp_ab_context *context, CUstream stream)
{
	uint32_t rules;
	bool good;

	kp_ab_graph_unbuild(graph, false);
	/* What a switch asks for does not count: people are slow. */
	graph->builds += !graph->builds || graph->off == (atomic_load(&kp_ab.off) & graph->rules);
	graph->wrong = atomic_load(&kp_ab.wrong) & graph->rules;
	graph->off = atomic_load(&kp_ab.off) & graph->rules;
	/* Each turn finds one more part that is stuck. */
	for (uint32_t tries = 0; tries < KP_AB_BUILDS_MOST; tries++) {
		rules = classify(graph, context);
		good = rules == 0 || make_forms(graph, context, rules);
		if (good || graph->given_up != KP_AB_REASON_COUNT)
			break;
		kp_ab_graph_unbuild(graph, false);
	}
	if (!good) {
		kp_ab_graph_unbuild(graph, false);
		graph->given_up = KP_AB_REASON_GRAPH;
	}
	graph->stale = false;
	upload(graph, stream);
}
