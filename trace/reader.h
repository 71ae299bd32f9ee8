/*
 * Reads a trace: one or several processes, from one or several files, in bounded memory.
 *
 * Opening scans the chunk headers (64 bytes each) into an index. Next come the descriptive records
 * of every process, which fill its tables; then batches of launches, memory operations, ranges,
 * samples, clocks, calls and runs, a chunk at a time, in order of each chunk's first start. Damaged
 * parts are skipped and counted, never trusted: see kp_reader_damage. No function here prints or
 * exits. Not thread-safe.
 */
#ifndef KP_TRACE_READER_H
#define KP_TRACE_READER_H

#include <stdint.h>

#include "trace/host_call.h"
#include "trace/launch_run.h"
#include "trace/library_call.h"
#include "trace/library_launch.h"
#include "trace/reader_part.h"
#include "trace/records.h"
#include "trace/status.h"

/* A process as the trace describes it. Tables grow only while descriptive records are read. */
struct kp_process {
	uint64_t id;    /* random identity */
	uint32_t index; /* 0, 1, … in order of appearance */
	bool left_out;  /* nothing of it is delivered; see kp_reader_select */
	struct kp_process_info info;
	struct kp_counts counts; /* the last that was written; has = 0: none */
	struct kp_end end;       /* has = 0: it did not end in an orderly way */
	struct kp_clock_info first_clock, last_clock;
	const struct kp_device_info *devices;
	size_t device_count;
	const struct kp_text *strings;
	size_t string_count;
	const struct kp_launch_config *configs;
	size_t config_count;
	const struct kp_note *notes;
	size_t note_count;
	const struct kp_window_info
		*windows;    /* in order of begin_ns; all have begin_ns and end_ns */
	size_t window_count; /* 0: recorded from start to end */
	const struct kp_counters_info *counters; /* sessions of counters, in no order */
	size_t counters_count;
	const struct kp_library_call *library_calls; /* each once, by number */
	size_t library_call_count;
	const struct kp_library_node *library_nodes; /* call < library_call_count, always */
	size_t library_node_count;
	/* By the headers of readable chunks. */
	uint64_t promised_launches, promised_host_calls, promised_ranges, promised_runs;
	uint64_t promised_library_launches;
	uint64_t gpu_first_ns, gpu_last_ns; /* of launches and memory operations; 0: none has any */
	uint64_t missing_chunks;            /* gaps in its numbering */
	uint64_t lost_launches, lost_chunks; /* its part of kp_damage's, as far as is found */
};

enum kp_event_kind {
	KP_EVENT_LAUNCHES,
	KP_EVENT_MEMOPS,
	KP_EVENT_RANGES,
	KP_EVENT_SAMPLES,
	KP_EVENT_CLOCKS,
	KP_EVENT_HOST,
	KP_EVENT_RUNS,
	KP_EVENT_LIBRARY
};

/*
 * One batch. All but ranges are in order of their raw start_ns within it. No later
 * batch has a valid start before watermark_ns (UINT64_MAX: this is the last).
 */
struct kp_event {
	enum kp_event_kind kind;
	const struct kp_process *process;
	size_t count;
	union {
		const struct kp_launch *launches; /* config < process->config_count, always */
		const struct kp_memop *memops;
		const struct kp_range *ranges; /* domain, name < process->string_count, always */
		const struct kp_counter_sample
			*samples; /* of one session, which is known, always */
		const struct kp_clocks *clocks;
		const struct kp_host_call *calls;
		const struct kp_launch_run *runs;
		const struct kp_library_launch
			*library; /* call < process->library_call_count, or of a graph, always */
	};
	uint64_t watermark_ns;
	uint64_t damaged_chunks; /* found so far; see kp_damage */
};

/* Memory that holds a batch; zeroed: none yet. */
struct kp_batch {
	void *records;
	size_t bytes;
};

/* What was found broken. */
struct kp_damage {
	uint64_t damaged_chunks;  /* bad checksum, bad length, or undecodable */
	uint64_t damaged_bytes;   /* skipped between good chunks, a torn tail included */
	uint64_t missing_chunks;  /* gaps in a process's numbering */
	uint64_t repeated_chunks; /* of one process and number: a readable one was taken once */
	uint64_t unknown_chunks;  /* of a kind or major version that this kprof does not know */
	uint64_t lost_launches; /* launches that readable headers promise but that are unreadable */
	bool torn_tail;         /* a file ends within a chunk */
};

/*
 * Opens `count` files as one trace. On failure *out is NULL and *bad the index of the file at
 * fault. Errors: KP_NOT_FOUND, KP_IO (errno), KP_EMPTY, KP_NOT_A_TRACE, KP_NOT_SEEKABLE, KP_NEWER,
 * KP_CORRUPT (begins as a trace, but no chunk is readable), KP_NO_MEMORY.
 */
enum kp_status kp_reader_open(const char *const *paths, size_t count, struct kp_reader **out,
			      size_t *bad);
void kp_reader_close(struct kp_reader *reader);

/* The next batch; borrowed until the next call. KP_END after the last. Errors: KP_NO_MEMORY, KP_IO.
 */
enum kp_status kp_reader_next(struct kp_reader *reader, struct kp_event *out);
/* The same, but the batch lies in `memory`, the caller's, until that is used again or given up. */
enum kp_status kp_reader_next_into(struct kp_reader *reader, struct kp_batch *memory,
				   struct kp_event *out);
void kp_batch_fini(struct kp_batch *memory);
/* Starts again with the first batch. */
void kp_reader_rewind(struct kp_reader *reader);

/* The processes; complete after opening. Borrowed from the reader. */
size_t kp_reader_process_count(const struct kp_reader *reader);
const struct kp_process *kp_reader_process(const struct kp_reader *reader, size_t index);

/* Damage found so far: complete once kp_reader_next has returned KP_END. */
struct kp_damage kp_reader_damage(const struct kp_reader *reader);
/* Size of all files, bytes. */
uint64_t kp_reader_bytes(const struct kp_reader *reader);

/* The bytes of an interned string; «(lost name)» where its number is not in the table. */
struct kp_text kp_process_string(const struct kp_process *process, uint32_t number);
/* The session of that number; NULL: there is none. */
const struct kp_counters_info *kp_process_counters(const struct kp_process *process,
						   uint64_t number);

#endif
