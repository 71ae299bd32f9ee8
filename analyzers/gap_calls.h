/*
 * What the calls that launch kernels say of the gaps before these: was the host late, and why.
 *
 * A call is tied to a kernel's record some time after the record was read (host_ties.h), so gaps
 * wait for it here, those of one process on one GPU in order of time. Each gap then has a verdict,
 * which is kept, a byte a gap, for when the trace is read again. By a call from `begin` to `end`
 * before a kernel whose gap begins at `from`:
 *   end <= from      the host was in time: back to back, or where longer, waiting on the GPU
 *   begin > from, and the thread launched nothing for KP_GAP_LAUNCH_NS before:
 *                    synchronisation where a copy to the host says so, else host work
 *   else             launch-bound
 * A gap whose kernel has no known call keeps what was inferred. Not thread-safe.
 */
#ifndef KP_ANALYZERS_GAP_CALLS_H
#define KP_ANALYZERS_GAP_CALLS_H

#include "analyzers/gaps.h"
#include "trace/host_call.h"

/* Up to that a launch that was in time may take to start by itself. */
#define KP_GAP_QUEUED_NS 5000U
/* Gaps that wait, and gaps with verdicts; those beyond keep what was inferred. */
#define KP_GAP_CALLS_WAITING ((size_t)1 << 20)
#define KP_GAP_CALLS_VERDICTS ((size_t)64 << 20)

struct kp_gap_waiting {
	uint64_t number;                      /* among the gaps of the GPU */
	uint64_t from_ns, kernel_ns, rest_ns; /* rest: without memory operations */
	uint32_t correlation;
	uint8_t cause; /* enum kp_gap_cause, inferred */
	bool inferred;
};

/* Zeroed: none. */
struct kp_gap_calls {
	struct kp_gap_waiting *waiting; /* in order of kernel_ns */
	size_t count, capacity;
};

/* A verdict is cause + 1; 0: none. */
struct kp_gap_verdicts {
	uint8_t *causes; /* by the number of the gap */
	size_t count;
};

#define KP_CALL_THREADS 64
/* The last calls of the threads of a process; of further threads nothing is known. */
struct kp_call_threads {
	struct {
		uint32_t thread;
		uint64_t begin_ns, end_ns; /* the last call */
		uint64_t before_ns;        /* the end of the one before; 0: none */
	} items[KP_CALL_THREADS];
	size_t count;
};

/* Whether a call could say more of a gap than the records do. */
bool kp_gap_calls_can_tell(const struct kp_gap *gap, const struct kp_activity *kernel);
/* A gap that waits for the call of `kernel`. Errors: KP_NO_MEMORY. */
enum kp_status kp_gap_calls_add(struct kp_gap_calls *calls, const struct kp_gap *gap,
				const struct kp_activity *kernel, uint64_t number);
/*
 * The call that launched the kernel which started at start_ns, in order of the calls of a thread.
 * Where a gap waits for it, that gets its verdict, and its time in `gaps` moves there. Errors:
 * KP_NO_MEMORY.
 */
enum kp_status kp_gap_calls_tie(struct kp_gap_calls *calls, struct kp_call_threads *threads,
				const struct kp_host_call *call, uint64_t start_ns,
				uint32_t correlation, struct kp_gaps *gaps,
				struct kp_gap_verdicts *verdicts);
/* Applies the verdict on a gap, when it is met again. */
void kp_gap_calls_recall(const struct kp_gap_verdicts *verdicts, uint64_t number,
			 struct kp_gap *gap);
void kp_gap_calls_fini(struct kp_gap_calls *calls);

#endif
