/*
 * The calls of libraries that a process has made, each once: open addressing, without a lock.
 *
 * Any thread adds; nothing is ever removed. Two threads that add the same at once may both do: the
 * worker, which gives calls their numbers in the trace, gives both the same.
 */
#ifndef KP_INJECT_LIBRARY_TABLE_H
#define KP_INJECT_LIBRARY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/library_call.h"
#include "trace/writer.h"

#define KP_LIBRARY_NO_PLACE UINT32_MAX

/* Makes room, once. Without memory nothing is ever found. */
void kp_library_table_start(void);
/* In a forked child: a table of its own, with the next start. */
void kp_library_table_forget(void);
/*
 * The place of a call, added if need be; KP_LIBRARY_NO_PLACE where the table is full. Those of
 * kernels' parameters, of which a growing length makes many, get half of it at most.
 */
uint32_t kp_library_table_put(const struct kp_library_call *call);
/* Whether the call at a place, or at none, is the entry's with these sizes by name. */
bool kp_library_table_is(uint32_t place, uint64_t entry, uint64_t causal, const uint64_t *sizes,
			 size_t count);
/* The trace's number of the call at a place. Worker only. False: it cannot be had. */
bool kp_library_table_number(struct kp_writer *writer, uint32_t place, uint32_t *number);

#endif
