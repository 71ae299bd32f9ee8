/*
 * Collective operations of NCCL, one list a process: what ranks do together.
 *
 * Those are taken in which every rank's result depends on every rank's data (all-reduce,
 * all-gather, reduce-scatter), so that no rank's kernel ends before every rank's has begun. The
 * k-th operation of a name in one process is taken for the k-th of that name in another, if both
 * have as many: NCCL needs the same order on all ranks of a communicator, and says nothing of
 * which one an operation belongs to. Memory: 24 bytes an operation, KP_COLLECTIVES_MOST a process.
 */
#ifndef KP_ANALYZERS_COLLECTIVES_H
#define KP_ANALYZERS_COLLECTIVES_H

#include "trace/intern.h"
#include "trace/reader.h"

/* The first of each process; later ones are not looked at. */
#define KP_COLLECTIVES_MOST ((size_t)1 << 18)

struct kp_collective {
	uint64_t start_ns, end_ns;
	uint32_t name; /* in `names` */
};

struct kp_collectives_process {
	struct kp_collective *list; /* in order of name, then of start, once sorted */
	size_t count, capacity;
	uint8_t *configs; /* of each launch configuration: 0 not known yet, 1 no, 2 yes */
	uint32_t *names;  /* of those that are */
};

struct kp_collectives {
	struct kp_intern names;
	struct kp_collectives_process *processes; /* by index */
	size_t process_count;
};

/* Whether a kernel of that name is one. */
bool kp_is_collective(struct kp_text name);

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_collectives_init(struct kp_collectives *collectives,
				   const struct kp_reader *reader);
void kp_collectives_fini(struct kp_collectives *collectives);
/* A launch, whatever it is. Errors: KP_NO_MEMORY. */
enum kp_status kp_collectives_add(struct kp_collectives *collectives,
				  const struct kp_process *process, const struct kp_launch *launch);
/* Once all are added. */
void kp_collectives_sort(struct kp_collectives *collectives);
/* Those of a process with that name, in order of time; NULL and 0: none. */
const struct kp_collective *kp_collectives_of(const struct kp_collectives_process *process,
					      uint32_t name, size_t *count);

#endif
