/*
 * Why a GPU ran nothing.
 *
 * A gap is a stretch of a GPU's span in which no kernel of any process ran. Each has one cause, but
 * for the parts of it in which memory operations ran: those are «memory operation». The causes of a
 * GPU add up to its span less its busy time, nanosecond by nanosecond. A cause is measured where
 * records say so, and inferred where a rule below says what it most probably was:
 *   inside graph     both kernels belong to one graph launch (one correlation id)
 *   other process    the kernels before and behind belong to different processes
 *   synchronisation  inferred: a copy to the host, or one that its call waited for, ran in it, so
 *                    that the program probably waited for the result before it went on; not
 *                    where more than KP_GAP_SYNC_NS are left, for then it did something else
 *   back to back     inferred: at most KP_GAP_OWN_NS, what the GPU takes between queued launches
 *   launch-bound     the launch came too late. Measured where the trace has the calls that launch;
 *                    else inferred between launches without a graph that come in the rhythm of
 *                    a host that launches: their starts at most KP_GAP_LAUNCH_NS apart, and at
 *                    least KP_GAP_REGULAR of the KP_GAP_RECENT before them waited likewise
 *   host work        measured only: the thread launched nothing for longer than KP_GAP_LAUNCH_NS
 *   device wait      measured only: launched in time, and yet late: it waited for an event, a copy
 *                    elsewhere, or another GPU
 *   edge             before a process's first kernel on the GPU, and behind the last of all; at
 *                    the borders of windows
 *   unknown          nothing above: without host calls what the host did is not known
 */
#ifndef KP_ANALYZERS_GAP_CAUSES_H
#define KP_ANALYZERS_GAP_CAUSES_H

#define KP_GAP_OWN_NS 2000U
#define KP_GAP_SYNC_NS 1000000U
#define KP_GAP_LAUNCH_NS 100000U
#define KP_GAP_RECENT 16
#define KP_GAP_REGULAR 4

/* X(NAME, key, words for people) */
#define KP_GAP_CAUSES(X)                                                                           \
	X(MEMORY, "memory_operation", "a memory copy or set ran")                                  \
	X(GRAPH, "inside_graph", "between kernels of one graph launch")                            \
	X(OWN, "back_to_back", "the GPU itself, between queued launches")                          \
	X(LAUNCH, "launch_bound", "the launch came too late")                                      \
	X(SYNC, "synchronisation", "a copy to the host was waited for")                            \
	X(HOST, "host_work", "the host launched nothing")                                          \
	X(DEVICE, "device_wait", "launched in time, but waiting on the GPU")                       \
	X(PROCESS, "other_process", "from one process to another")                                 \
	X(EDGE, "edge", "before a process's first kernel, or behind the last")                     \
	X(UNKNOWN, "unknown", "not known")

enum kp_gap_cause {
#define KP_GAP_ENUM(name, key, words) KP_GAP_##name,
	KP_GAP_CAUSES(KP_GAP_ENUM)
#undef KP_GAP_ENUM
		KP_GAP_CAUSE_COUNT
};

#endif
