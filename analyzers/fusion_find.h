/*
 * Chains of launches that recur, found in one pass: private to fusion*.c and report_fusion.c.
 *
 * Launches come in order of their start. Each stream has a window of its latest; what rules make of
 * it is settled when the stream breaks (a long gap, a copy, another graph launch, launches that
 * overlap within a graph) or the window is full. Rules are asked one after the other, each along
 * the whole window; what is left and works element by element is a chain of no rule. Memory is
 * bounded: so many windows, so many different chains, whatever the trace has. Not thread-safe.
 */
#ifndef KP_ANALYZERS_FUSION_FIND_H
#define KP_ANALYZERS_FUSION_FIND_H

#include "analyzers/fusion_rules.h"
#include "trace/arena.h"
#include "trace/batches.h"

#define KP_FUSION_NO_RULE UINT32_MAX

/* A launch as far as chains tell them apart. */
struct kp_fusion_launch {
	uint64_t start_ns, end_ns;
	const struct kp_launch_config *config; /* borrowed until all is found */
	uint32_t row;                          /* of the kernel in the report */
	uint32_t correlation;
	uint16_t word; /* kp_fusion_finder_word */
	bool graph;
	/* Plus one: the operator that a rule of the user's own says; 0: none does. It is no part of
	 * another one that is written out. */
	uint32_t own_operator;
};

/* One kernel of a chain, over all of its runs. */
struct kp_fusion_link {
	uint32_t row;
	uint16_t word;
	uint64_t total_ns;
	const struct kp_launch_config *config; /* that most runs have, if there is one such */
	uint64_t votes;
};

/* Launches of the same kernels in the same order. */
struct kp_fusion_chain {
	uint32_t rule; /* KP_FUSION_NO_RULE: none */
	uint32_t count;
	struct kp_fusion_link *links;
	uint64_t runs, graph_runs;
	uint64_t kernel_ns, gap_ns, graph_gap_ns;
	uint64_t own_gap_ns; /* of gap_ns: up to KP_FUSION_GAP_NS each */
	/* What one kernel takes for all runs, at least and at most; see fusion.h. */
	double least_ns, most_ns;
};

struct kp_fusion_finder;

/*
 * `operators` is borrowed. Errors: KP_NO_MEMORY.
 *
 * With `written_out` only rules are asked that say which operator a chain is, gaps end no chain,
 * and instead of counting chains the finder calls it, launch by launch, with the launch's place in
 * the chain.
 */
typedef void kp_fusion_written_out(void *context, const struct kp_fusion_rule *rule,
				   const struct kp_fusion_launch *launch, size_t place);
enum kp_status kp_fusion_finder_create_written(const struct kp_operators *operators,
					       kp_fusion_written_out *written_out, void *context,
					       struct kp_fusion_finder **out);
enum kp_status kp_fusion_finder_create(const struct kp_operators *operators,
				       struct kp_fusion_finder **out);
/* NULL is allowed. */
void kp_fusion_finder_destroy(struct kp_fusion_finder *finder);

/* The word for a label: its step or its operator. */
uint16_t kp_fusion_finder_word(const struct kp_fusion_finder *finder, const struct kp_label *label);
/* The number of a word's text; that of `unknown` if there is none. */
uint16_t kp_fusion_finder_number(const struct kp_fusion_finder *finder, const char *text);
const char *kp_fusion_finder_text(const struct kp_fusion_finder *finder, uint16_t word);
/* How many tensors it reads element by element; 0: it works otherwise. */
unsigned kp_fusion_finder_inputs(const struct kp_fusion_finder *finder, uint16_t word);

/* The next launch of a stream; something else on it that no chain holds; the end of all. Errors:
 * KP_NO_MEMORY. */
enum kp_status kp_fusion_finder_launch(struct kp_fusion_finder *finder, uint32_t lane,
				       const struct kp_fusion_launch *launch);
enum kp_status kp_fusion_finder_break(struct kp_fusion_finder *finder, uint32_t lane);
enum kp_status kp_fusion_finder_end(struct kp_fusion_finder *finder);

/* What was found; after the end. */
size_t kp_fusion_finder_count(const struct kp_fusion_finder *finder);
const struct kp_fusion_chain *kp_fusion_finder_chain(const struct kp_fusion_finder *finder,
						     size_t number);
/* Runs of chains that found no room. */
uint64_t kp_fusion_finder_left_out(const struct kp_fusion_finder *finder);

/*
 * How many kernels at the ends of a chain are one and the same: parts of one step, perhaps, since
 * libraries split what is too large for 32-bit indices, or the same for several tensors.
 */
struct kp_fusion_ends {
	uint32_t first, last; /* so many; the whole chain may be both */
};
struct kp_fusion_ends kp_fusion_ends(const struct kp_fusion_link *links, uint32_t count);

/*
 * The part of what kernel `i` of a chain reads and writes that one kernel for the chain does, too,
 * if each step reads one tensor that the one before it writes.
 */
double kp_fusion_part(unsigned inputs, uint32_t i, uint32_t count, struct kp_fusion_ends ends);
/* The shortest step that handles whole tensors, as one kernel must; shorter ones, as a root for
 * each row, do not. */
uint64_t kp_fusion_shortest_step(const uint64_t *steps_ns, uint32_t count, uint64_t longest_ns);

#endif
