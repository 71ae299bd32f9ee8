/*
 * What a graph of cuDNN's backend does: from its operations to one call of a library.
 *
 * The first that fits says what the graph is: attention (one operation, or two products with a
 * softmax between), convolution or a gradient of one, one product of matrices; else it is something
 * else, with its operations in words and the extents of its largest tensor.
 */
#ifndef KP_INJECT_DNN_GRAPH_H
#define KP_INJECT_DNN_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/library_call.h"

/* CUDNN_DIM_MAX; spatial extents of a convolution; tensors of an operation that are kept. */
#define KP_DNN_RANK 8
#define KP_DNN_SPATIAL 3
#define KP_DNN_TENSORS 8
/* Operations of a graph that are looked at. */
#define KP_DNN_OPERATIONS 64

struct kp_dnn_tensor {
	uint32_t rank, type;   /* type: cudaDataType + 1; 0: unknown */
	bool internal, scalar; /* internal: it is not in memory; scalar: given by value */
	int64_t extents[KP_DNN_RANK], strides[KP_DNN_RANK];
};

struct kp_dnn_convolution {
	uint32_t rank;
	int64_t before[KP_DNN_SPATIAL], behind[KP_DNN_SPATIAL]; /* padding */
	int64_t strides[KP_DNN_SPATIAL], dilations[KP_DNN_SPATIAL];
};

/* One operation, with all that it refers to. */
struct kp_dnn_operation {
	uint32_t type; /* cudnnBackendDescriptorType_t */
	uint32_t mode; /* of pointwise operations and reductions, + 1; 0: unknown */
	struct kp_dnn_convolution convolution;
	uint32_t tensor_count;
	uint32_t attributes[KP_DNN_TENSORS]; /* which tensor of the operation it is */
	struct kp_dnn_tensor tensors[KP_DNN_TENSORS];
};

/* cudnnBackendDescriptorType_t, as far as it is looked at. */
enum kp_dnn_type {
	KP_DNN_POINTWISE = 0,
	KP_DNN_CONVOLUTION = 1,
	KP_DNN_ENGINE = 2,
	KP_DNN_ENGINE_CONFIG = 3,
	KP_DNN_HEURISTICS = 4,
	KP_DNN_PLAN = 5,
	KP_DNN_CONVOLVE = 10,
	KP_DNN_CONVOLVE_WEIGHTS = 11, /* gradients */
	KP_DNN_CONVOLVE_DATA = 12,
	KP_DNN_APPLY = 13, /* pointwise */
	KP_DNN_GRAPH = 15,
	KP_DNN_VARIANT = 16,
	KP_DNN_TENSOR = 17,
	KP_DNN_MULTIPLY = 19,
	KP_DNN_REDUCTION = 21,
	KP_DNN_REDUCE = 22,
	KP_DNN_ATTEND = 41,
	KP_DNN_ATTEND_BACKWARD = 43
};

/* cudaDataType + 1 of a cudnnDataType_t; 0: there is none. */
uint32_t kp_dnn_type_code(int64_t type);
/* The call of a graph; `entry` is left to the caller. False: it has no operation. */
bool kp_dnn_describe(const struct kp_dnn_operation *const *operations, size_t count,
		     struct kp_library_call *call);

#endif
