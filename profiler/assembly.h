/*
 * A trace that is put together from records in any order: what kprof import and kprof merge write.
 *
 * Each process has a writer, on which the caller interns its names and configurations and writes
 * its descriptive records, the process record first, before kp_assembly_finish. Launches, memory
 * operations, ranges and calls are added with the numbers that interning gave; they come out in
 * order of their starts. Memory is bounded (four spools); what does not fit goes to a file without
 * a name in `folder`. Not thread-safe.
 */
#ifndef KP_PROFILER_ASSEMBLY_H
#define KP_PROFILER_ASSEMBLY_H

#include "trace/writer.h"

/* More processes than a trace may have here: each has a writer. */
#define KP_ASSEMBLY_PROCESSES_MOST 1024

/* X(NAME, type): what is put in order. */
#define KP_ASSEMBLY_KINDS(X)                                                                       \
	X(LAUNCH, struct kp_launch)                                                                \
	X(MEMOP, struct kp_memop)                                                                  \
	X(RANGE, struct kp_range)                                                                  \
	X(CALL, struct kp_host_call)

enum kp_assembly_kind {
#define KP_ASSEMBLY_ENUM(NAME, type) KP_ASSEMBLY_##NAME,
	KP_ASSEMBLY_KINDS(KP_ASSEMBLY_ENUM)
#undef KP_ASSEMBLY_ENUM
		KP_ASSEMBLY_KIND_COUNT
};

/* A range whose depth follows from those around it in its thread and domain. */
#define KP_ASSEMBLY_NESTED (UINT32_MAX - 1)

/* A time that is moved; what is no time stays, and what cannot be one becomes a sentinel. */
static inline uint64_t kp_assembly_moved(uint64_t at_ns, int64_t by_ns)
{
	int64_t moved = (int64_t)at_ns + by_ns;

	if (by_ns == 0 || at_ns == 0 || at_ns > KP_TIME_MAX_NS)
		return at_ns;
	return moved > 0 && moved <= (int64_t)KP_TIME_MAX_NS ? (uint64_t)moved : UINT64_MAX;
}

struct kp_assembly;

/* Writes to `fd`, which is borrowed, as is `folder`. Errors: KP_NO_MEMORY. */
enum kp_status kp_assembly_create(int fd, const char *folder, struct kp_assembly **out);
void kp_assembly_destroy(struct kp_assembly *assembly);

/*
 * A new process with the identity `id`; they are numbered 0, 1, … . Errors: KP_NO_MEMORY,
 * KP_UNSUPPORTED (too many).
 */
enum kp_status kp_assembly_process(struct kp_assembly *assembly, uint64_t id,
				   struct kp_writer **writer);
struct kp_writer *kp_assembly_writer(const struct kp_assembly *assembly, uint32_t process);

/* All records of the process are moved by that much when they are written: 2^62 at most. */
void kp_assembly_move(struct kp_assembly *assembly, uint32_t process, int64_t by_ns);

/* Adds a record of `kind`, of its type. Errors: KP_NO_MEMORY, KP_IO (errno). */
enum kp_status kp_assembly_add(struct kp_assembly *assembly, enum kp_assembly_kind kind,
			       uint32_t process, const void *record);
/* Writes all that was added. Errors: KP_NO_MEMORY, KP_IO (errno). */
enum kp_status kp_assembly_finish(struct kp_assembly *assembly);

#endif
