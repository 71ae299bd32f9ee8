/* The one state of the A/B engine, and what its parts ask of each other. Private to inject/ab*.c.
 */
#ifndef KP_INJECT_AB_STATE_H
#define KP_INJECT_AB_STATE_H

#include <pthread.h>

#include "inject/ab.h"
#include "inject/ab_context.h"
#include "inject/ab_match.h"
#include "inject/output.h"

#define KP_AB_VARIANTS 2048U /* a power of two */
/* Comparisons, one with each poison, that must be right before the program sees a candidate. */
#define KP_AB_PASSES 2

/* What is known of one rule with one shape. Free where the shape is 0. */
struct kp_ab_variant {
	_Atomic uint64_t shape;
	_Atomic uint32_t tried, passed;
	_Atomic bool tried_elsewhere; /* its trial has passed, or need not be */
	_Atomic uint64_t launches;
	_Atomic uint32_t samples;
};

/* Where the next node of a capture would stand: behind these. */
#define KP_AB_PLACE_MOST 16
struct kp_ab_graph_place {
	CUgraph graph;
	CUgraphNode nodes[KP_AB_PLACE_MOST];
	size_t count;
};

typedef int (*kp_ab_entry)(const int64_t *arguments, uint32_t count, void *stream);

struct kp_ab_state {
	struct kp_ab_plan plan;
	struct kp_ab_driver driver;
	const struct kp_candidates *candidates;
	kp_ab_entry entries[KP_AB_RULES_MOST]; /* of libraries of the user's */
	struct kp_ab_variant *variants;
	_Atomic uint64_t (*counts)[KP_AB_COUNT_COUNT];   /* by rule; never NULL while A/B is on */
	_Atomic uint64_t (*reasons)[KP_AB_REASON_COUNT]; /* likewise */
	_Atomic uint32_t wrong;                          /* rules that were rolled back, as bits */
	_Atomic uint32_t off;                            /* that were switched off, likewise */
	uint64_t switched_ns[KP_AB_RULES_MOST];          /* when; 0: never. The worker's */
	pthread_mutex_t rare; /* guards slots, samples, workspaces, results; only tried for */
	struct kp_output results;
};
extern struct kp_ab_state kp_ab;

/* ab.c: the first of these rules that fits a product. True: the candidate has run. */
bool kp_ab_product_looked_at(uint32_t rules, const int64_t *symbols, CUstream stream,
			     bool host_scalars);

/*
 * ab.c: of a sequence that may be replaced; `launch` is its originals. *replaced: they were not
 * made. With the lock of sequences.
 */
CUresult kp_ab_sequence_turn(const struct kp_ab_job *job, CUresult (*launch)(void), bool *replaced);

/* ab_counts.c: where to count, by the path of the plan; the launcher may see it at any time. */
void kp_ab_counts_open(const char *plan);
/* Whether it does: then nothing need be written at the end. */
bool kp_ab_counts_are_shared(void);

/* ab.c: what the first of these rules that fits makes of a launch. False: none fits. */
bool kp_ab_launch_job(const struct kp_ab_launch *launch, uint32_t rules,
		      const struct kp_ab_layout *layout, struct kp_ab_job *out);
/* ab_shadow.c: whether all declared data is in memory that the driver knows. */
bool kp_ab_job_is_known(const struct kp_ab_job *job);

/* The variant of a shape; NULL: there are too many. */
struct kp_ab_variant *kp_ab_variant(uint64_t shape);

/* ab_candidate.c: whether its code could be loaded. */
bool kp_ab_candidate_is_loaded(const struct kp_ab_context *context, const struct kp_ab_job *job);
/* KP_AB_REASON_COUNT: one that is loaded was launched; else why not. `locked`: with the mutex. */
enum kp_ab_reason kp_ab_candidate_run(struct kp_ab_context *context, const struct kp_ab_job *job,
				      const int64_t *values, bool locked);

/* ab_shadow.c, with the mutex: the candidate into scratch. KP_AB_REASON_SHADOW: *out; else why not.
 */
enum kp_ab_reason kp_ab_shadow_begin(struct kp_ab_context *context, const struct kp_ab_job *job,
				     uint32_t tried, struct kp_ab_slot **out);
/* After the original. True: it has to run again. */
bool kp_ab_shadow_end(struct kp_ab_context *context, struct kp_ab_slot *slot, bool succeeded);

/* ab_judge.c, with the mutex: what has come of comparisons. */
void kp_ab_judge(void);
/* One that is under way is judged when another one has been; `before` may be NULL. */
void kp_ab_judge_first(struct kp_ab_slot *slot, struct kp_ab_slot *before);

/* ab_turns.c */
enum kp_ab_turn { KP_AB_TURN_ORIGINAL, KP_AB_TURN_CANDIDATE, KP_AB_TURN_SHADOW };
struct kp_ab_choice {
	enum kp_ab_turn turn;
	enum kp_ab_reason reason; /* of an original */
	bool sample;
	uint32_t number; /* of the sample, among those of its variant */
};
/* Whose turn it is, of a variant and a job that are eligible. */
struct kp_ab_choice kp_ab_turns_choose(struct kp_ab_variant *variant, struct kp_ab_context *context,
				       const struct kp_ab_job *job);
/*
 * The same of a launch of a graph with so many eligible ones in it. Choices by which it is timed
 * have numbers of `samples`, its own, and are of so many rules by turns. `locked`: with the mutex.
 */
struct kp_ab_choice kp_ab_turns_replay(struct kp_ab_context *context, CUstream stream,
				       uint64_t shape, uint32_t launches, _Atomic uint32_t *samples,
				       uint32_t rules, bool locked);

/*
 * ab_times.c, with the mutex but for the end, in relaxed mode. Times what runs between the two;
 * `what` but for its state and events. NULL: there is no room.
 */
struct kp_ab_sample *kp_ab_times_begin(struct kp_ab_context *context,
				       const struct kp_ab_sample *what, CUstream stream);
void kp_ab_times_end(struct kp_ab_sample *sample, CUstream stream);
/* What is launched next begins a stretch; `what` but for its event. */
void kp_ab_times_boundary(struct kp_ab_context *context, const struct kp_ab_boundary *what,
			  CUstream stream);
/* Writes what the GPU has come by. */
void kp_ab_times_harvest(struct kp_ab_context *context);

/*
 * ab_write.c: lines of results, which any thread adds with the mutex, to memory; the worker puts
 * them into the file.
 */
void kp_ab_write_open(const char *path);
void kp_ab_write_flush(void);
__attribute__((format(printf, 1, 2))) void kp_ab_write(const char *format, ...);
/* A number as JSON has it: null for what is none. */
struct kp_ab_number {
	char text[32];
};
struct kp_ab_number kp_ab_number(double value);
void kp_ab_write_counts(void);

#endif
