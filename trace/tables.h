/*
 * The tables of the processes of a trace, as the reader fills them from descriptive chunks.
 *
 * Memory is bounded by a budget, so that a small hostile file cannot unfold into a large one.
 */
#ifndef KP_TRACE_TABLES_H
#define KP_TRACE_TABLES_H

#include "trace/arena.h"
#include "trace/chunk.h"
#include "trace/lanes.h"
#include "trace/limits.h"
#include "trace/reader.h"

/* So many entries of a table may be missing in front of a chunk: more than a chunk can hold. */
#define KP_TABLES_MISSING_MOST KP_CHUNK_MAX_RECORDS

/* A process under construction: `view` points into the vectors here. */
struct kp_process_tables {
	struct kp_process view;
	struct kp_device_info *devices;
	struct kp_text *strings;
	struct kp_launch_config *configs;
	struct kp_note *notes;
	struct kp_window_info *windows;
	struct kp_counters_info *counters;
	struct kp_library_call *library_calls;
	struct kp_library_node *library_nodes;
	size_t device_capacity, string_capacity, config_capacity, note_capacity, window_capacity;
	size_t counters_capacity, library_call_capacity, library_node_capacity;
	struct kp_process whole; /* the view, where that is cut to a part of the trace */
	bool cut;
	struct kp_lanes lanes;
	uint64_t numbered_chunks;                         /* seen */
	uint64_t next_sequence;                           /* largest seen + 1 */
	uint64_t lost_at_opening, lost_chunks_at_opening; /* of the view's */
};

struct kp_tables {
	struct kp_process_tables **processes; /* in order of appearance */
	size_t count, capacity;
	struct kp_intern identities; /* index by process identity */
	struct kp_arena *arena;      /* texts */
	size_t used_bytes, budget_bytes;
	struct kp_limits limits;
};

/* For a trace of so many bytes. Errors: KP_NO_MEMORY. */
enum kp_status kp_tables_init(struct kp_tables *tables, uint64_t trace_bytes);
void kp_tables_fini(struct kp_tables *tables);

/*
 * The tables of a process, created at its first chunk. Errors: KP_NO_MEMORY, KP_CORRUPT (more
 * processes than the budget allows).
 */
enum kp_status kp_tables_process(struct kp_tables *tables, uint64_t process,
				 struct kp_process_tables **out);
/*
 * Takes in one descriptive chunk. Errors: KP_CORRUPT (damaged, or beyond the budget), KP_NO_MEMORY,
 * KP_UNSUPPORTED (of another kind).
 */
enum kp_status kp_tables_add(struct kp_tables *tables, const struct kp_chunk_header *header,
			     struct kp_cursor *payload);
/*
 * Adds the next string: a copy of a text, or a name that stands in for one that was lost.
 * Errors: KP_CORRUPT (it is beyond the budget), KP_NO_MEMORY.
 */
enum kp_status kp_tables_add_string(struct kp_tables *tables, struct kp_process_tables *process,
				    const struct kp_text *text);
enum kp_status kp_tables_add_lost(struct kp_tables *tables, struct kp_process_tables *process);
/*
 * tables_settle.c. Once all chunks are in: names what was lost and configurations refer to, each
 * differently, so that different kernels stay different. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_tables_name_lost(struct kp_tables *tables, struct kp_process_tables *process);
/*
 * Then: cuts the texts beyond the limits, and gives all kernels beyond them one name. Errors:
 * KP_NO_MEMORY.
 */
enum kp_status kp_tables_limit(struct kp_tables *tables, struct kp_process_tables *process);

#endif
