/*
 * What the handles of the fake driver point to. The header of CUDA only declares these structs.
 *
 * Threading: guarded by kp_fake_lock but for what is said to be immutable. Objects live until the
 * process ends, so that a stale handle is an error code and never a crash.
 */
#ifndef KP_FAKE_GPU_OBJECTS_H
#define KP_FAKE_GPU_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every version of an entry point under its own name, as the driver exports them. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "tests/fake_gpu/common/link.h"

/* What a handle points to, so that a wrong one is found out. */
enum kp_fake_tag {
	KP_FAKE_DEAD = 0x6b700000, /* destroyed */
	KP_FAKE_CONTEXT,
	KP_FAKE_STREAM,
	KP_FAKE_MODULE,
	KP_FAKE_LIBRARY,
	KP_FAKE_FUNCTION,
	KP_FAKE_KERNEL,
	KP_FAKE_GRAPH,
	KP_FAKE_NODE,
	KP_FAKE_EXEC,
	KP_FAKE_EVENT
};

/* How far each stream, and the host, had come: order.h. */
#define KP_FAKE_LINES 32
struct kp_fake_clock {
	uint32_t at[KP_FAKE_LINES];
};

struct CUctx_st {
	enum kp_fake_tag tag;
	uint32_t id;
	CUdevice device;
	uint64_t base_ns;            /* where its timelines begin */
	uint64_t floor_ns;           /* the host has synchronised with everything before this */
	uint64_t last_ns;            /* the end of its last operation */
	struct CUstream_st *streams; /* all, newest first; default_stream included */
	struct CUstream_st *default_stream;
	struct CUctx_st *next; /* made before it */
};

struct CUstream_st {
	enum kp_fake_tag tag;
	uint32_t id;
	bool blocking; /* ordered with the default stream */
	struct CUctx_st *context;
	uint64_t tail_ns;           /* the end of its last operation */
	struct CUgraph_st *capture; /* NULL: not capturing */
	struct CUgraphNode_st *capture_tail;
	CUstreamCaptureMode capture_mode;
	const void *capture_thread; /* that began it; an address of its own */
	bool capture_broken;
	struct CUstream_st *next;
	struct kp_fake_clock clock; /* order.h */
	unsigned line;              /* 0: none yet */
};

/* A kernel of a module or a library: CUfunction and CUkernel are two handles of the same. */
struct CUkern_st {
	enum kp_fake_tag tag;
	struct CUfunc_st *function;
};

struct CUfunc_st {
	enum kp_fake_tag tag;
	struct kp_fake_kernel kernel; /* immutable; the name lives as long as the process */
	const struct kp_fake_emulation *emulation; /* NULL: it computes nothing */
	struct CUkern_st handle;
	struct CUmod_st *module;
};

struct CUmod_st {
	enum kp_fake_tag
		tag; /* KP_FAKE_MODULE, or KP_FAKE_LIBRARY: then the handle is a CUlibrary */
	const struct CUctx_st *context; /* of a module: it goes with it */
	struct CUmod_st *next;          /* loaded before it, at first */
	size_t function_count;
	struct CUfunc_st functions[]; /* immutable */
};

struct CUgraphNode_st {
	enum kp_fake_tag tag;
	uint64_t id;
	struct CUgraph_st *graph;
	struct CUgraph_st *child; /* of a child graph or conditional node, else NULL */
	bool conditional;         /* of an executable graph: its nodes are the body's, unfolded */
	bool disabled;            /* only of an executable graph */
	struct kp_fake_op op;     /* what it does, without times */
	uint64_t duration_ns;
	uint64_t end_ns; /* in the launch that is being scheduled */
	size_t dependency_count;
	struct CUgraphNode_st **dependencies;
	uint8_t *edge_types; /* CU_GRAPH_DEPENDENCY_TYPE_…, one each */
	struct CUgraphNode_st *next;
	/* Of a kernel: what it was launched with, as its parameters' sizes say; NULL: not known. */
	const struct CUfunc_st *function;
	void **arguments;
	struct CUgraphNode_st *origin; /* whose copy it is */
};

struct CUgraph_st {
	enum kp_fake_tag tag;
	uint32_t id; /* the upper half of its nodes' ids; the lower is their place in it */
	size_t node_count;
	uint32_t nodes_made; /* those that were taken out, too */
	struct CUgraphNode_st *first, *last;
	struct CUgraph_st *origin; /* whose clone it is */
};

struct CUgraphExec_st {
	enum kp_fake_tag tag;
	uint32_t id;
	struct CUgraph_st *graph; /* its own copy, child graphs unfolded */
	struct CUctx_st *context;
	uint64_t end_ns; /* of its last launch, behind which the next begins, on whatever stream */
};

struct CUevent_st {
	enum kp_fake_tag tag;
	struct CUctx_st *context;
	uint64_t time_ns; /* when it is reached */
	bool recorded;
	struct kp_fake_clock clock; /* order.h */
};

/* Whether a handle is a live object of this kind (every object begins with its tag). */
static inline bool kp_fake_is(const void *handle, enum kp_fake_tag tag)
{
	return handle && *(const enum kp_fake_tag *)handle == tag;
}

#endif
