/*
 * The records that come in batches: launches, memory operations, ranges, samples, clocks. What all
 * times are is in records.h.
 */
#ifndef KP_TRACE_BATCHES_H
#define KP_TRACE_BATCHES_H

#include <stdint.h>

#include "trace/metrics.h"

/*
 * Everything about a launch that repeats from one to the next, interned: a launch record carries
 * the number of one of these. `name` is the number of an interned string (the mangled name).
 */
struct kp_launch_config {
	uint32_t name;
	uint32_t device, context, stream;
	uint32_t grid[3];    /* blocks */
	uint32_t block[3];   /* threads */
	uint32_t cluster[3]; /* blocks; 0 where there are no clusters */
	uint32_t registers;  /* a thread */
	uint32_t static_shared_bytes, dynamic_shared_bytes; /* a block */
	uint32_t local_bytes;                               /* a thread */
	uint32_t launch_type; /* 0 regular, 1 cooperative, 2 cooperative multi-device, 3 CDP */
};

/* One execution of a kernel. Raw times: judge them with kp_time_quality. */
struct kp_launch {
	uint64_t start_ns, end_ns;
	uint64_t graph_node;  /* CUPTI's graph node id; 0: not launched by a graph */
	uint32_t config;      /* number of a kp_launch_config of the same process */
	uint32_t correlation; /* CUPTI's correlation id: one an API call; 0: unknown */
	uint32_t graph;       /* CUPTI's graph id; 0: not launched by a graph */
};

enum kp_memop_kind {
	KP_MEMOP_OTHER,
	KP_MEMOP_HOST_TO_DEVICE,
	KP_MEMOP_DEVICE_TO_HOST,
	KP_MEMOP_DEVICE_TO_DEVICE,
	KP_MEMOP_HOST_TO_HOST,
	KP_MEMOP_PEER_TO_PEER,
	KP_MEMOP_SET,
	KP_MEMOP_KIND_COUNT
};

/* One memory copy or set. */
struct kp_memop {
	uint64_t start_ns, end_ns;
	uint64_t bytes;
	uint64_t graph_node;
	uint32_t kind; /* enum kp_memop_kind */
	uint32_t device, context, stream;
	uint32_t correlation;
	uint32_t flags; /* bit 0: asynchronous */
};

/* One closed NVTX range of one thread and domain. */
struct kp_range {
	uint64_t start_ns, end_ns;
	uint32_t thread; /* system thread id */
	uint32_t domain; /* interned string; the default domain is the empty string */
	uint32_t name;   /* interned string */
	uint32_t depth;  /* 0: outermost of its thread and domain; ranges of start/end pairs:
			    UINT32_MAX */
};

/* One sample of the hardware counters of one GPU: what they counted from begin_ns to end_ns. */
struct kp_counter_sample {
	uint64_t begin_ns, end_ns;
	uint32_t session;                  /* number of a kp_counters_info of the same process */
	uint32_t flags;                    /* enum kp_sample_flag */
	uint64_t values[KP_SAMPLE_VALUES]; /* in the order of the session's metrics; 0 beyond */
};

enum kp_sample_flag {
	KP_SAMPLE_AFTER_GAP = 1 /* samples are missing between the one before and this one */
};

/* What NVML said of one GPU: asked at start_ns, answered by end_ns. */
struct kp_clocks {
	uint64_t start_ns, end_ns;
	uint32_t device; /* CUDA ordinal in this process */
	uint32_t has;    /* enum kp_clocks_has: which of these were known */
	uint32_t sm_mhz, memory_mhz;
	uint32_t power_mw, temperature_c;
	uint64_t throttle_reasons; /* NVML's mask of clocks event reasons */
};

enum kp_clocks_has {
	KP_CLOCKS_SM = 1,
	KP_CLOCKS_MEMORY = 2,
	KP_CLOCKS_POWER = 4,
	KP_CLOCKS_TEMPERATURE = 8,
	KP_CLOCKS_THROTTLE = 16
};

#endif
