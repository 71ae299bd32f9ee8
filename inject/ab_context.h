/*
 * What A/B has in a context of the program's: the candidates' code, and memory of its own.
 *
 * Made at the first launch that needs it, by the launching thread, in the driver's relaxed capture
 * mode. Nothing is given back before the context goes; then all of it is forgotten, untouched.
 */
#ifndef KP_INJECT_AB_CONTEXT_H
#define KP_INJECT_AB_CONTEXT_H

#include <stdatomic.h>

#include "inject/ab_driver.h"
#include "inject/ab_job.h"

#define KP_AB_CONTEXTS_MOST 16
#define KP_AB_SLOTS 4
#define KP_AB_SAMPLES 1024
#define KP_AB_BOUNDARIES 256
#define KP_AB_WORKSPACES 32
/* All that is taken in one context. */
#define KP_AB_MEMORY_MOST ((size_t)1 << 30)

/* What the device says of one output. */
struct kp_ab_output_result {
	struct kp_compare_part parts[2][KP_COMPARE_BLOCKS]; /* both passes of the comparison */
	struct kp_compare_part noise[KP_COMPARE_BLOCKS];    /* original against original */
	uint64_t guard;
};

/* Of one comparison. Checksums: before the candidate, and after it. */
struct kp_ab_result {
	uint64_t sums[2][KP_AB_TENSORS_MOST][KP_COMPARE_BLOCKS];
	struct kp_ab_output_result outputs[KP_AB_TENSORS_MOST];
};

/* One comparison under way. Its owner is who set `busy`, then the GPU, then who judges. */
struct kp_ab_slot {
	_Atomic uint32_t busy;
	uint32_t turn;   /* what *told becomes when the results are there */
	uint64_t memory; /* for outputs; device */
	size_t memory_bytes;
	uint64_t device;           /* struct kp_ab_result, then the turn; device */
	struct kp_ab_result *host; /* the same, pinned: memory of kprof's that outlives contexts */
	const volatile uint32_t *told;
	/* What is compared. */
	struct kp_ab_job job;
	uint32_t poison;
	bool strayed;  /* the candidate worked on another stream */
	bool noise;    /* the original is to run twice, */
	bool repeated; /* and has run once */
	uint64_t scratch[KP_AB_TENSORS_MOST], again[KP_AB_TENSORS_MOST];
	struct kp_ab_piece pieces[KP_AB_PIECES];
	uint32_t extra; /* 1 + enum kp_ab_extra: with other inputs; 0: the launch itself */
	struct kp_ab_slot *before; /* the same launch with other inputs, judged first; or NULL */
	uint32_t before_turn;
	char *pieces_memory; /* pinned; NULL: none yet */
};

/* One launch that is timed, or one of a whole graph; ab_times.c has the states. */
struct kp_ab_sample {
	_Atomic uint32_t state;
	bool candidate, replay;
	bool host_bound;       /* the GPU may have waited for the host in between */
	uint32_t rule, number; /* 2 k and 2 k + 1 of a shape are a pair */
	uint64_t shape;
	uint32_t replaced, launches; /* of a graph: this rule's that are replaced, all eligible */
	CUevent begin, end;
};

/* Where a phase, or a pause between phases, begins. */
struct kp_ab_boundary {
	uint64_t sequence; /* of both */
	uint64_t number;   /* of phases */
	uint64_t eligible; /* launches before it */
	uint64_t units;    /* the same, or ranges that had begun, where phases count by them */
	bool is_phase, candidate;
	CUevent event;
};

/* Memory that a graph which is gone has left, for others behind its last launch. */
#define KP_AB_SPARES 256
struct kp_ab_spare {
	uint64_t memory;
	size_t bytes;
	CUevent behind;
};

struct kp_ab_context {
	_Atomic(CUcontext) handle;
	_Atomic uint32_t state; /* enum in ab_context.c */
	uint64_t id;            /* never another's, as the handle may be */
	CUdevice device;
	struct kp_candidates_set set;
	CUfunction functions[KP_AB_RULES_MOST]; /* of modules of the user's */
	_Atomic size_t taken;
	struct kp_ab_slot slots[KP_AB_SLOTS];
	struct kp_ab_workspace {
		uint64_t stream; /* a key of ab_context.c's */
		uint32_t missed; /* streams that had gone unseen when it was taken */
		uint64_t memory;
		size_t bytes;
	} workspaces[KP_AB_WORKSPACES];
	uint32_t workspace_count;
	/* Memory for other inputs, and the comparison that has used it last; ab_extra.c. */
	struct {
		uint64_t memory, bytes;
		const struct kp_ab_slot *slot;
		uint32_t turn;
	} extra;
	struct kp_ab_spare spares[KP_AB_SPARES];
	uint32_t spare_count;
	CUstream captures; /* of kprof's own, for candidates that are captured */
	struct kp_ab_sample samples[KP_AB_SAMPLES]; /* rings, with the mutex */
	uint32_t sample_first, sample_count;
	struct kp_ab_boundary boundaries[KP_AB_BOUNDARIES];
	uint32_t boundary_first, boundary_count;
};

/* That of the current context, made if need be; NULL: there is none, or it cannot be had. */
struct kp_ab_context *kp_ab_context_get(const struct kp_ab_plan *plan,
					const struct kp_candidates *candidates,
					const struct kp_ab_driver *driver);
/* That of a context, if it is ready; NULL: it is not. */
struct kp_ab_context *kp_ab_context_find(CUcontext handle);
/* The i-th that is ready; NULL: it is not. */
struct kp_ab_context *kp_ab_context_at(size_t i);
/* Device memory; 0: there is none. */
uint64_t kp_ab_context_memory(struct kp_ab_context *context, const struct kp_ab_driver *driver,
			      size_t bytes);
/*
 * Memory that work on this stream may use in turn. With the mutex, until all of that work has been
 * enqueued: another thread's on the same stream must not come in its midst.
 */
bool kp_ab_context_workspace(struct kp_ab_context *context, const struct kp_ab_driver *driver,
			     CUstream stream, size_t bytes, uint64_t *out);
/* Memory that nobody else uses until it is given back; *got: how much. 0: there is none. */
uint64_t kp_ab_context_take(struct kp_ab_context *context, const struct kp_ab_driver *driver,
			    size_t bytes, size_t *got);
/* Behind an event, that is kprof's from then on; NULL: at once. */
void kp_ab_context_give(struct kp_ab_context *context, uint64_t memory, size_t bytes,
			CUevent behind);
/* A slot that nobody uses, with room for `bytes`; NULL: there is none. */
struct kp_ab_slot *kp_ab_context_slot(struct kp_ab_context *context,
				      const struct kp_ab_driver *driver, size_t bytes);
/* How many streams have gone so far: a handle from before may be another's. */
uint32_t kp_ab_streams_gone(void);
void kp_ab_contexts_forget(void);

#endif
