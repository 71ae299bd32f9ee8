/*
 * <cuda.h>, and what the headers of older toolkits (from CUDA 11.8) lack of what kprof names.
 *
 * The library meets the driver at run time, whatever headers it was built with: a hook of a
 * function that this toolkit does not know must still pass its arguments on. Only the types that
 * stand in prototypes, and the constants of the driver's interface, are declared here.
 */
#ifndef KP_INJECT_CUDA_API_H
#define KP_INJECT_CUDA_API_H

#include <cuda.h>

#if CUDA_VERSION < 12000
typedef enum { KP_GET_PROC_ADDRESS_SUCCESS } CUdriverProcAddressQueryResult;
typedef struct {
	cuuint64_t flags;
	CUstream hUploadStream;
	CUgraphNode hErrNode_out;
	int result_out;
} CUDA_GRAPH_INSTANTIATE_PARAMS;
#define CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH 4
#endif

#if CUDA_VERSION < 12030
typedef struct CUgraphEdgeData_st CUgraphEdgeData;
#define CU_GRAPH_NODE_TYPE_CONDITIONAL 13
#endif

#endif
