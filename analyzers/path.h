/*
 * The critical path of one GPU: what of its time a faster kernel, copy or launch could shorten.
 *
 * Each instant of a stretch in which anything runs (kernels and memory operations of all processes
 * and streams) belongs to one of
 *   a kernel or memory operation on the path,
 *   others     something ran, but what the path waited for is not in the trace,
 *   hidden     what ran there is no part of the path, unless the host waited for each launch: the
 *              host was, for it launched too late.
 * The rest of the span is idle time, all of which is on the path; gap_causes.h says why.
 *
 * The path goes backwards from what ends last. What an activity waited for is, in this order:
 *   the one before it on its stream, if that still ran (programmatic dependent launch; kernels of
 *   graphs are left out, for their branches share a stream) or ended within KP_GAP_OWN_NS before;
 *   else what ended last before it began, on any stream, within that time: an event or a copy;
 *   else the kernel that ends next, of those that have run for half of their time or longer, which
 *   has no more blocks to start and so gives room: those of two waves do at half of their time;
 *   else what ended last. The time between is `others`: the trace has no waits for events, nor
 *   buffers that one kernel writes and another reads.
 * Of several that end together, it is the one that began last.
 *
 * Between gaps work is pending. A gap whose launch came too late says that the host was not waiting
 * for the GPU: had the kernels before been faster, the gap would be longer, so what is pending is
 * hidden. Gaps of the GPU's own, within graphs and for waits on it decide nothing. Any other gap
 * says, or may mean, that the host waited for what is pending: it is on the path. So does a launch
 * that came too late, but only just, behind a long kernel (KP_PATH_SOON_NS). A program that waits
 * for the GPU after each launch, without a copy, otherwise looks as if it launched too late: what
 * is hidden is so only if it does not, and on the path at most if it does.
 *
 * The times of a GPU add up to the time in which anything ran on it. Streaming: memory holds one
 * stretch without a pause, of KP_PATH_ITEMS activities at most; in longer ones the path is found
 * piece by piece (`cuts`). Activities are added in order of their start. Not thread-safe.
 */
#ifndef KP_ANALYZERS_PATH_H
#define KP_ANALYZERS_PATH_H

#include "analyzers/activities.h"
#include "analyzers/gap_causes.h"

#define KP_PATH_ITEMS 65536U
/* That run at once; of more, those that end first count as ended. */
#define KP_PATH_RUNNING 256U

/* A launch that comes so soon behind a kernel that ran so many times as long as the gap was waiting
 * for it, be it in the host or in a queue: a host with a pace of its own would hardly meet the end.
 */
#define KP_PATH_SOON_NS 5000U
#define KP_PATH_LONG_TIMES 8U

/* Nanoseconds on the path by row and by operator. Zeroed: none. Several GPUs may add to one. */
struct kp_path_times {
	uint64_t *row_ns, *operator_ns;
	size_t row_count, operator_count; /* beyond: none */
};

/* Of one GPU. */
struct kp_path_parts {
	uint64_t kernel_ns, memory_ns; /* on the path */
	uint64_t others_ns, hidden_ns;
	uint64_t cuts;
};

struct kp_path;

/* NULL without memory. */
struct kp_path *kp_path_create(void);
void kp_path_destroy(struct kp_path *path); /* NULL is allowed */

/* Before the kernel behind a gap is added: why that was, and where it ended. Errors of all:
 * KP_NO_MEMORY. */
enum kp_status kp_path_gap(struct kp_path *path, enum kp_gap_cause cause, uint64_t end_ns,
			   struct kp_path_times *times);
enum kp_status kp_path_add(struct kp_path *path, const struct kp_activity *from);
/* After the last. */
enum kp_status kp_path_finish(struct kp_path *path, struct kp_path_times *times);

struct kp_path_parts kp_path_result(const struct kp_path *path);
void kp_path_times_fini(struct kp_path_times *times);

#endif
