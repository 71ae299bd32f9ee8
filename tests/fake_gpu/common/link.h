/*
 * The private interface between the fake libcuda and the fake libcupti.
 *
 * libcuda exports one struct of functions, `kp_fake_gpu_v1`; libcupti gives it a listener. The
 * listener is called on the thread that made the CUDA call, with no lock of the driver held, so it
 * may call CUDA itself.
 */
#ifndef KP_FAKE_GPU_LINK_H
#define KP_FAKE_GPU_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "tests/fake_gpu/common/image.h"

enum kp_fake_op_kind { KP_FAKE_OP_KERNEL, KP_FAKE_OP_MEMCPY, KP_FAKE_OP_MEMSET };

/* One operation on the GPU, with the times at which it runs on the GPU's own clock. */
struct kp_fake_op {
	enum kp_fake_op_kind kind;
	uint64_t start_ns, end_ns;
	uint32_t device, context, stream;
	uint32_t correlation; /* of the API call; all nodes of one graph launch share it */
	uint32_t graph;       /* 0: not launched by a graph */
	uint64_t graph_node;
	/* kernels */
	const struct kp_fake_kernel *kernel;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t dynamic_shared_bytes;
	bool cooperative;
	/* memory operations */
	uint64_t bytes;
	uint32_t copy_kind; /* CUpti_ActivityMemcpyKind */
	uint32_t value;     /* of a set */
	bool async;
	/* what libcupti records of calls; the driver leaves these empty */
	const struct kp_fake_api_call *call;
	uint32_t external_kind;
	uint64_t external_id;
};

/* One call of the driver's API, as CUPTI's callbacks see it. */
struct kp_fake_call {
	uint32_t cbid; /* CUpti_driver_api_trace_cbid */
	const char *name;
	const void *params; /* struct <name>_params of generated_cuda_meta.h */
	const char *symbol; /* kernel name of a launch, else NULL */
	CUcontext context;
	uint32_t correlation;
	uint64_t data;     /* the client's, between enter and exit */
	uint64_t begun_ns; /* libcupti's, likewise: when it was entered, on its client's clock */
	bool counted;      /* libcupti's: it is a launch of a graph that has been seen to begin */
	CUresult result;
};

struct kp_fake_listener {
	void (*op)(const struct kp_fake_op *op);
	void (*call)(struct kp_fake_call *call, bool exit);
	/* cbid is a CUpti_CallbackIdResource; descriptor a CUpti_GraphData or NULL */
	void (*resource)(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor);
};

struct kp_fake_gpu {
	/* NULL: nobody listens any more. The listener must stay valid for good. */
	void (*listen)(const struct kp_fake_listener *listener);
	uint64_t (*now_ns)(void);      /* the GPU's clock */
	void (*fail)(CUresult result); /* from now on every call fails so */
	void (*take_lock)(void);       /* that of launches of graphs; and leaves it */
	/* Identities, 0 where the handle is none. A NULL stream is the context's default stream. */
	uint32_t (*context_id)(CUcontext context);
	uint32_t (*context_device)(CUcontext context);
	uint32_t (*stream_id)(CUcontext context, CUstream stream);
	uint64_t (*node_id)(CUgraphNode node);
	uint32_t (*graph_id)(CUgraph graph);
	uint32_t (*exec_id)(CUgraphExec exec);
};

#endif
