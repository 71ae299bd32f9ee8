/*
 * A trace of another tool on its way into a .kprof: what all sources share.
 *
 * A source says which processes it has, and gives records with their names; import.c interns them,
 * counts, and writes a whole trace at the end. What a source does not have is left out, never 0:
 * counts of what was issued or dropped, for one, are absent. The first thing that is wrong is said
 * in `complaint`, and everything stops. Not thread-safe.
 */
#ifndef KP_PROFILER_IMPORT_H
#define KP_PROFILER_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/assembly.h"
#include "trace/arena.h"
#include "trace/intern.h"

/*
 * Times of a source are from 0 on, or even a little below, while 0 is no time in a trace: all are
 * this much later there. The clock record says so.
 */
#define KP_IMPORT_SHIFT_NS 1000000000LL

/* X(NAME, name, what it is, and what it is if kprof exported it): the kinds of source, told by
 * content. */
#define KP_IMPORT_KINDS(X)                                                                         \
	X(NSYS, nsys, "SQLite export of Nsight Systems", "SQLite export of kprof")                 \
	X(CHROME, chrome, "Chrome trace", "Chrome trace of kprof")

/* A note: such an operation counts with 0 bytes. */
#define KP_IMPORT_NO_BYTES                                                                         \
	"the source has memory operations without a size: sums of their bytes are too small"

struct kp_import_totals {
	uint64_t kernels, untimed, memops, ranges, calls;
};

/* One process of the source. */
struct kp_import_process {
	uint64_t key; /* the source's */
	struct kp_process_info info;
	struct kp_clock_info clock;
	struct kp_device_info *devices;
	size_t device_count, device_capacity;
	struct kp_counts counts; /* that the source has, if kprof made it */
	struct kp_import_totals totals;
	uint64_t first_ns, last_ns; /* of valid times; 0: none */
};

struct kp_import {
	const char *path; /* of the source; borrowed */
	struct kp_assembly *assembly;
	struct kp_arena *arena; /* texts of processes and devices, and notes */
	uint64_t identity;      /* of the source: processes have identities that follow from it */
	bool own;               /* kprof exported it */
	const char *source;     /* in words */
	struct kp_intern keys;
	struct kp_import_process *processes;
	size_t process_count, process_capacity;
	const char **notes; /* what the source lacks, one sentence each */
	size_t note_count, note_capacity;
	char complaint[512]; /* "": nothing is wrong */
};

/* A launch with its name instead of a configuration's number. */
struct kp_import_launch {
	struct kp_text name;
	struct kp_launch_config config;
	struct kp_launch launch;
};

/* `fd` is the trace's, `folder` that of temporary files. Errors: KP_NO_MEMORY. */
enum kp_status kp_import_init(struct kp_import *import, const char *path, int fd,
			      const char *folder);
void kp_import_fini(struct kp_import *import);

/* Says what is wrong with the source; returns KP_CORRUPT. */
__attribute__((format(printf, 2, 3))) enum kp_status kp_import_fail(struct kp_import *import,
								    const char *format, ...);
/* One sentence for the trace and the user, said once. Errors: KP_NO_MEMORY. */
__attribute__((format(printf, 2, 3))) enum kp_status kp_import_note(struct kp_import *import,
								    const char *format, ...);

/* The number of the process with that key, which is new as a rule only once. */
enum kp_status kp_import_process(struct kp_import *import, uint64_t key, uint32_t *number);
/* A copy in the arena; without bytes where there is no memory. */
struct kp_text kp_import_text(struct kp_import *import, const char *bytes, size_t length);
enum kp_status kp_import_device(struct kp_import *import, uint32_t process,
				const struct kp_device_info *device);

/* The time of a trace that stands for the source's; 0 where it cannot be one. */
uint64_t kp_import_time(int64_t source_ns);

/* Records with times of the trace. Errors: KP_NO_MEMORY, KP_IO. */
enum kp_status kp_import_launch(struct kp_import *import, uint32_t process,
				struct kp_import_launch *launch);
enum kp_status kp_import_memop(struct kp_import *import, uint32_t process,
			       const struct kp_memop *memop);
enum kp_status kp_import_range(struct kp_import *import, uint32_t process, struct kp_text domain,
			       struct kp_text name, struct kp_range *range);
enum kp_status kp_import_call(struct kp_import *import, uint32_t process,
			      const struct kp_host_call *call);
/*
 * Whether a call of this name launches kernels, and how: enum kp_host_kind. Names of CUDA's runtime
 * and driver, with whatever suffix a version has.
 */
bool kp_import_launches(struct kp_text name, uint32_t *kind);

/* Writes the trace. Errors: KP_NO_MEMORY, KP_IO. */
enum kp_status kp_import_finish(struct kp_import *import);
/* Of all processes. */
struct kp_import_totals kp_import_totals(const struct kp_import *import);

/* The sources: each reads all of import->path. Errors: KP_CORRUPT (see complaint), KP_NO_MEMORY,
 * KP_IO (errno). */
enum kp_status kp_import_nsys(struct kp_import *import);
enum kp_status kp_import_chrome(struct kp_import *import);

#endif
