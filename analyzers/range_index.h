/*
 * The NVTX ranges of one process: which were open at an instant, in which thread and domain.
 *
 * Ranges come in order of nothing, but none comes later that begins before the watermark. They are
 * linked up to it: each to the one that encloses it in its thread and domain. Memory holds all of
 * them. Not thread-safe.
 */
#ifndef KP_ANALYZERS_RANGE_INDEX_H
#define KP_ANALYZERS_RANGE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/intern.h"
#include "trace/records.h"
#include "trace/status.h"

#define KP_RANGE_NONE UINT32_MAX
/* Ranges further in belong to the one at this depth. */
#define KP_RANGE_DEPTH_MOST 64U
/* Ranges of the process that are looked at for one instant, from the one that began last. */
#define KP_RANGE_REACH 4096U

/* One range, and what ran in it. */
struct kp_range_node {
	uint64_t start_ns, end_ns;
	uint32_t parent; /* in the same stack; KP_RANGE_NONE */
	uint32_t name;   /* string of the process */
	uint32_t row;    /* the caller's; KP_RANGE_NONE: it has none */
	uint16_t depth;
	uint16_t said;                       /* depth that the record says */
	uint64_t first_ns, last_ns, busy_ns; /* of its kernels; the caller's */
};

/* The ranges of one thread and domain, or of the process and one domain. */
struct kp_range_stack {
	uint32_t thread, domain; /* domain: string of the process */
	bool of_process;
	uint32_t next; /* stack of the same thread; KP_RANGE_NONE */
	struct kp_range_node *nodes;
	size_t count, capacity, linked; /* linked: so many are in order, and have a parent */
	uint32_t found;                 /* the last that had begun, at the instant asked for last */
	uint64_t *latest_ns;            /* of the process: the latest end up to each */
	size_t latest_capacity;
};

struct kp_range_index {
	struct kp_intern stack_keys, thread_keys; /* (thread, domain, of_process); thread */
	struct kp_range_stack *stacks;
	size_t stack_count, stack_capacity;
	uint32_t *first_of; /* each thread's first stack */
	size_t first_capacity;
	uint32_t process_stacks; /* first of the process's; KP_RANGE_NONE */
};

void kp_range_index_init(struct kp_range_index *index);
void kp_range_index_fini(struct kp_range_index *index);

/* A range with valid times. Errors: KP_NO_MEMORY. */
enum kp_status kp_range_index_add(struct kp_range_index *index, const struct kp_range *range);
/*
 * Links what begins before the watermark, and tells the caller of each range, those that enclose it
 * first, which sets its row. Errors: KP_NO_MEMORY, the caller's.
 */
enum kp_status kp_range_index_link(struct kp_range_index *index, uint64_t watermark_ns,
				   enum kp_status (*linked)(void *context,
							    struct kp_range_stack *stack,
							    struct kp_range_node *node),
				   void *context);

/* A thread's first stack; KP_RANGE_NONE: it has no ranges. */
uint32_t kp_range_index_thread(const struct kp_range_index *index, uint32_t thread);
/* The innermost range of a stack that is open at an instant; KP_RANGE_NONE: none. */
uint32_t kp_range_stack_at(struct kp_range_stack *stack, uint64_t at_ns);
/*
 * Of a stack of the process: the range before `from` (the count, at first) that was open at the
 * instant, latest begin first; KP_RANGE_NONE: there is none.
 */
uint32_t kp_range_stack_before(const struct kp_range_stack *stack, uint32_t from, uint64_t at_ns);

/* Until when kp_range_stack_at, which has just been asked for an instant, would say the same. */
uint64_t kp_range_stack_until(const struct kp_range_stack *stack, uint32_t at, uint64_t at_ns);

#endif
