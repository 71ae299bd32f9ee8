/* Calls of NVIDIA's libraries on their way into a merged trace; see trace/library_call.h. */
#ifndef KP_PROFILER_MERGE_LIBRARY_H
#define KP_PROFILER_MERGE_LIBRARY_H

#include "trace/reader.h"
#include "trace/writer.h"

/*
 * Gives the calls and nodes of a process to its new writer; *calls has the new number of each call,
 * the caller's to free. Errors: KP_NO_MEMORY, KP_IO.
 */
enum kp_status kp_merge_library_tables(const struct kp_process *process, struct kp_writer *writer,
				       uint32_t **calls);
/* One launch in a call, moved in time. Errors: KP_IO. */
enum kp_status kp_merge_library_launch(const struct kp_process *process, struct kp_writer *writer,
				       const uint32_t *calls, int64_t by_ns,
				       const struct kp_library_launch *launch);

#endif
