/* What the parts of inject/ab_graph*.c share. Private to them. */
#ifndef KP_INJECT_AB_GRAPH_STATE_H
#define KP_INJECT_AB_GRAPH_STATE_H

#include "inject/ab_graph.h"
#include "inject/ab_graph_driver.h"
#include "inject/ab_state.h"

/* Nodes that one call of a library becomes. */
#define KP_AB_CHAIN_MOST 6
#define KP_AB_EDGES_MOST 64
/* Executable graphs beside one of the program's: all rules, and each alone. */
#define KP_AB_FORMS_MOST 5
/* So often one is built anew. */
#define KP_AB_BUILDS_MOST 16

/* One launch or call that a rule fits, in a graph: nodes one behind the other. */
struct kp_ab_graph_part {
	struct kp_ab_job job;
	CUgraphNode nodes[KP_AB_CHAIN_MOST];
	uint32_t count;
	bool is_call;            /* known from its capture; else from what its node says */
	uint64_t print;          /* of a call: a hash of what its kernels are launched with */
	enum kp_ab_reason stuck; /* why it cannot be replaced; KP_AB_REASON_COUNT: it can */
	enum kp_ab_reason left;  /* why it is not, in the forms that stand; likewise */
};

/* Memory of the device. */
struct kp_ab_block {
	uint64_t memory;
	size_t bytes;
	bool used; /* by a part, in the forms that stand */
};

/* A further executable graph. */
struct kp_ab_graph_form {
	CUgraphExec exec; /* NULL: none */
	uint32_t rules;   /* that are replaced in it, as bits */
	uint32_t replaced[KP_AB_RULES_MOST];
};

struct kp_ab_graph {
	struct kp_ab_graph *next; /* in its bucket */
	CUgraphExec exec;         /* the program's */
	CUcontext context;
	uint64_t flags;
	CUgraph copy; /* of its graph, changed as it was; NULL: there is none */
	struct kp_ab_graph_part *parts;
	size_t count, capacity;
	uint32_t rules, eligible[KP_AB_RULES_MOST];
	uint32_t ready[KP_AB_RULES_MOST], left[KP_AB_RULES_MOST][KP_AB_REASON_COUNT];
	struct kp_ab_graph_form forms[KP_AB_FORMS_MOST]; /* the first: all rules */
	uint32_t form_count;
	uint32_t builds;
	uint32_t wrong, off; /* rules that were so when the forms were built */
	bool stale, growing; /* the forms are of other parameters; a part may yet be verified */
	bool device_changes; /* a node's parameters are the device's to change */
	enum kp_ab_reason given_up; /* KP_AB_REASON_COUNT: it is not */
	struct kp_ab_block *blocks; /* memory that its candidates work in */
	size_t block_count, block_capacity;
	uint64_t launches;
	uint64_t number; /* of all such, from 1 on */
	_Atomic uint32_t samples;
	_Atomic bool lost; /* its context has gone */
	CUevent order;     /* the end of its last launch, in `stream` */
	CUstream stream;
	uint32_t streams; /* that had gone then: the handle may be another's now */
	bool ordered;
};

/*
 * ab_graph_parts.c: fills copy and parts of a graph, for its own part list. False: nothing in it is
 * any rule's.
 */
bool kp_ab_graph_collect(struct kp_ab_graph *graph, CUgraph of);
/* The same again, of the copy, after it was changed. */
void kp_ab_graph_collect_again(struct kp_ab_graph *graph);
/* ab_graph_forms.c, with the mutex, in relaxed mode: the forms anew, by what is verified now. */
void kp_ab_graph_build(struct kp_ab_graph *graph, struct kp_ab_context *context, CUstream stream);
/* Ends the forms. `lost`: their context has gone, and all with it. */
void kp_ab_graph_unbuild(struct kp_ab_graph *graph, bool lost);
/* Whether a part is verified that was not. */
bool kp_ab_graph_has_grown(const struct kp_ab_graph *graph);

/*
 * Where launches of this thread become nodes, one behind the other, instead of running: after these
 * at first, then after the last.
 */
struct kp_ab_graph_into {
	CUgraph graph;
	CUgraphNode *after;
	size_t count;
	CUgraphNode last;
};
extern _Thread_local struct kp_ab_graph_into *kp_ab_graph_into
	__attribute__((tls_model("initial-exec")));
/* ab_graph_nodes.c: a launch as a node. */
CUresult kp_ab_graph_add(const CUlaunchConfig *config, CUfunction function, void **arguments);
/* Takes these nodes, one behind the other, out of a graph, and puts a candidate in their place. */
enum kp_ab_reason kp_ab_graph_replace(struct kp_ab_context *context, CUgraph graph,
				      const struct kp_ab_graph_part *part,
				      CUgraphNode nodes[KP_AB_CHAIN_MOST]);

#endif
