/*
 * The mapping that launcher and collectors share while a program runs: one slot a process.
 *
 * It outlives a killed process, so that the launcher can say exactly what was lost. The launcher
 * creates the file (beside the trace), each process that uses CUDA takes a slot, and the launcher
 * reads all slots when the program has ended and removes the file; processes that outlive it go on
 * with the mapping that they have. All counters are monotonic and are written with relaxed atomics
 * by the owner of the slot; `process` is written last when a slot is taken (release), so a slot
 * with process = 0 is free or being filled.
 *
 * Programs that were started and that kprof cannot see into stand in a list of their own, one entry
 * a program file and kind, so that a script that starts thousands of them takes no slot.
 *
 * The hardware counters of a GPU have one reader at a time. Which process of the recording that is
 * stands here too.
 */
#ifndef KP_TRACE_LIVE_H
#define KP_TRACE_LIVE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

#include "trace/program.h"

#define KP_LIVE_MAGIC 0x354556494c50524bULL /* "KRPLIVE5" */
#define KP_LIVE_SLOTS 2048
#define KP_LIVE_MESSAGE_BYTES 368
#define KP_LIVE_UNTRACED 128
#define KP_LIVE_PROGRAM_BYTES 480
#define KP_LIVE_GPUS 64

enum kp_live_state {
	KP_LIVE_FREE = 0,
	KP_LIVE_RUNNING = 1,  /* the collector is on */
	KP_LIVE_DISABLED = 2, /* it could not start or gave up: see message */
	KP_LIVE_ENDED = 3     /* everything is written, the end record included */
};

struct kp_live_slot {
	_Atomic uint64_t process; /* identity, as in the trace; 0: free */
	_Atomic uint32_t pid;
	_Atomic uint32_t state;          /* enum kp_live_state */
	_Atomic uint64_t kernels_issued; /* at the driver's door, if issued_known */
	_Atomic uint64_t issued_known;   /* 0: they are not counted, or cannot be exactly */
	_Atomic uint64_t kernels_recorded, records_dropped, kernels_invalid, kernels_untimed;
	_Atomic uint64_t kernels_written; /* in chunks that are complete on disk */
	_Atomic uint64_t write_errno;
	_Atomic uint64_t kernels_filtered;      /* delivered, and left out by the user's patterns */
	_Atomic uint64_t kernels_out_of_window; /* issued while nothing was recorded, or kept */
	_Atomic uint64_t kernels_unsampled;     /* of these: between the windows of --duty */
	_Atomic uint64_t kernels_at_edges;      /* issued while records went on or off */
	char message[KP_LIVE_MESSAGE_BYTES];    /* one line with the remedy; empty: none */
	_Atomic uint64_t host_calls, host_calls_lost; /* as in the counts; 0 without --host */
	_Atomic uint64_t kernels_told;  /* issued, before its last counts were written */
	_Atomic uint64_t pid_namespace; /* that pid is a number of, as its inode; 0: unknown */
};

enum kp_live_entry { KP_LIVE_ENTRY_FREE = 0, KP_LIVE_ENTRY_FILLING = 1, KP_LIVE_ENTRY_FILLED = 2 };

/* A program that ran without kprof. What is not atomic is written while the entry is being filled.
 */
struct kp_live_untraced {
	_Atomic uint32_t entry;   /* enum kp_live_entry */
	uint32_t kind;            /* enum kp_program_kind */
	uint32_t pid, parent_pid; /* of the first process that ran it */
	_Atomic uint64_t times;   /* how many ran it; 0: none after all */
	uint64_t reserved;
	char program[KP_LIVE_PROGRAM_BYTES]; /* the file that was started, perhaps cut */
};

/* A GPU whose hardware counters are, or were, sampled. */
struct kp_live_sampler {
	_Atomic uint64_t gpu; /* hash of its identity; 0: free */
	_Atomic uint32_t pid; /* of the process that samples it; 0: none does now */
	uint32_t reserved;
};

struct kp_live {
	uint64_t magic;
	_Atomic uint32_t slots_taken; /* may exceed KP_LIVE_SLOTS: then some processes have none */
	_Atomic uint32_t untraced_unlisted; /* starts of programs that found no free entry */
	uint32_t reserved[12];
	struct kp_live_slot slots[KP_LIVE_SLOTS];
	struct kp_live_untraced untraced[KP_LIVE_UNTRACED];
	struct kp_live_sampler samplers[KP_LIVE_GPUS];
};

/*
 * How many of the launches at the edges of windows were recorded: what records there are beyond
 * the launches that surely lay inside. The others were issued out of window.
 */
static inline uint64_t kp_live_edges_recorded(uint64_t issued, uint64_t out_of_window,
					      uint64_t at_edges, uint64_t delivered)
{
	/* A launch at an edge may count on both sides: its record may be discarded as outside. */
	uint64_t known = out_of_window + at_edges + delivered;
	uint64_t beyond = known > issued ? known - issued : 0;

	return beyond < at_edges ? beyond : at_edges;
}

_Static_assert(sizeof(struct kp_live_slot) == 512, "slots are 512 bytes");
_Static_assert(sizeof(struct kp_live_untraced) == 512, "entries are 512 bytes");

/*
 * Lists a start of such a program, or counts one more. Async-signal-safe; any number of processes
 * at the same time.
 */
void kp_live_list(struct kp_live *live, enum kp_program_kind kind, const char *program,
		  uint32_t pid, uint32_t parent_pid);
/*
 * Makes a process the one that samples a GPU (`gpu` is not 0). Returns its pid, or that of another
 * which does so and is alive; 0: there is no room, so nobody knows. Any number of processes at
 * once.
 */
uint32_t kp_live_claim(struct kp_live *live, uint64_t gpu, uint32_t pid);
/* It does so no more. */
void kp_live_release(struct kp_live *live, uint64_t gpu, uint32_t pid);

/* Takes one start back. Async-signal-safe. */
void kp_live_unlist(struct kp_live *live, enum kp_program_kind kind, const char *program);

#endif
