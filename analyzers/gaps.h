/*
 * The gaps between the kernels of one GPU, by cause; timeline.h says what the causes are.
 *
 * Activities come in order of their start. Before a kernel is taken in, kp_gaps_reach settles the
 * gap before it, so that a caller can look at the totals in between: at the start of an iteration
 * the gap belongs to the one before. Private to report_timeline*.c and iterations.c. Not
 * thread-safe.
 */
#ifndef KP_ANALYZERS_GAPS_H
#define KP_ANALYZERS_GAPS_H

#include "analyzers/activities.h"
#include "analyzers/durations.h"
#include "analyzers/timeline.h"

/* A gap that has just been settled. */
struct kp_gap {
	uint64_t begin_ns, end_ns;
	uint64_t memory_ns;      /* in which memory operations ran */
	enum kp_gap_cause cause; /* of the rest */
	bool inferred;
	/* Between launches without a graph of one process, and not for a synchronisation: a graph
	 * could close it. */
	bool closable;
	uint32_t before, behind; /* rows of kernels; UINT32_MAX: none */
};

struct kp_gaps {
	uint64_t busy_ns;
	struct kp_gap_part parts[KP_GAP_CAUSE_COUNT];
	uint64_t synchronous_ns; /* of the part of memory operations: those that calls waited for */
	struct kp_arena *arena;  /* of the histograms, borrowed */
	uint64_t first_ns;       /* of the first activity */
	uint64_t end_ns;         /* where the kernels' union ends; 0: no kernel yet */
	uint64_t memory_end_ns;  /* where memory operations end so far */
	uint64_t memory_ns;      /* of them behind end_ns */
	uint64_t blocked_ns;     /* of these, those that their calls waited for */
	bool waited;             /* one of them makes the host wait */
	struct kp_activity last; /* the kernel that ends at end_ns */
	uint32_t recent;         /* bit of each launch without a graph: it waited */
	struct kp_duration_tally node_gaps;
	struct kp_gap longest[KP_GAP_LONGEST];
	size_t longest_count;
	uint64_t gaps;
	struct {
		uint64_t gaps, total_ns;
	} bins[KP_GAP_BIN_COUNT];
};

/*
 * Settles the gap before a kernel. `window_ns`: when the window of its process began in which it
 * started, 0 without windows; what began before was not looked at as a whole and is left out.
 * `first`: its process ran none on this GPU before. True: there was one, in *out.
 */
bool kp_gaps_reach(struct kp_gaps *gaps, const struct kp_activity *kernel, uint64_t window_ns,
		   bool first, struct kp_gap *out);
/* Takes the kernel in. Errors: KP_NO_MEMORY. */
enum kp_status kp_gaps_run(struct kp_gaps *gaps, const struct kp_activity *kernel);
/* Takes a memory operation in. */
void kp_gaps_memory(struct kp_gaps *gaps, const struct kp_activity *memory);
/* Behind the last kernel, to the end of the span. */
void kp_gaps_finish(struct kp_gaps *gaps, uint64_t span_end_ns);

/* Busy time up to an instant that no kernel that is still to come starts before. */
uint64_t kp_gaps_busy_until(const struct kp_gaps *gaps, uint64_t at_ns);

#endif
