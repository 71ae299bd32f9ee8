/*
 * cuGetProcAddress: entry points by base name, CUDA version and default-stream flag.
 *
 * One table. Rows of one name stand from old to new; the newest that the asked version reaches is
 * the answer. The addresses are this library's own (linked with -Bsymbolic), whoever interposes.
 */
#include "tests/fake_gpu/driver/gpu.h"

#include <string.h>

#include <cudaProfiler.h>

struct entry {
	const char *name;
	int version;               /* the first CUDA version, 1000 * major + 10 * minor */
	void *legacy, *per_thread; /* NULL: none of its own */
};

#define ONE(name, version, function)                                                               \
	{                                                                                          \
#name, version, (void *)(function), NULL                                           \
	}
#define TWO(name, version, function, thread)                                                       \
	{                                                                                          \
#name, version, (void *)(function), (void *)(thread)                               \
	}

/* Version 1 of this call has no status argument. */
static CUresult get_proc_address(const char *symbol, void **out, int version, cuuint64_t flags);

/* clang-format off */
static const struct entry entries[] = {
	ONE(cuInit, 2000, cuInit),
	ONE(cuDriverGetVersion, 2020, cuDriverGetVersion),
	ONE(cuGetErrorName, 6000, cuGetErrorName),
	ONE(cuGetErrorString, 6000, cuGetErrorString),
	ONE(cuDeviceGet, 2000, cuDeviceGet),
	ONE(cuDeviceGetCount, 2000, cuDeviceGetCount),
	ONE(cuDeviceGetName, 2000, cuDeviceGetName),
	ONE(cuDeviceGetUuid, 9020, cuDeviceGetUuid),
	ONE(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2),
	ONE(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute),
	ONE(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2),
	ONE(cuDeviceGetPCIBusId, 4010, cuDeviceGetPCIBusId),
	ONE(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain),
	ONE(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2),
	ONE(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2),
	ONE(cuCtxCreate, 2000, cuCtxCreate),
	ONE(cuCtxCreate, 3020, cuCtxCreate_v2),
	ONE(cuCtxCreate, 11040, cuCtxCreate_v3),
	ONE(cuCtxCreate, 12050, cuCtxCreate_v4),
	ONE(cuCtxDestroy, 4000, cuCtxDestroy_v2),
	ONE(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2),
	ONE(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2),
	ONE(cuCtxSetCurrent, 4000, cuCtxSetCurrent),
	ONE(cuCtxGetCurrent, 4000, cuCtxGetCurrent),
	ONE(cuCtxGetDevice, 2000, cuCtxGetDevice),
	ONE(cuCtxGetId, 12000, cuCtxGetId),
	ONE(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState),
	ONE(cuCtxSynchronize, 2000, cuCtxSynchronize),
	ONE(cuStreamCreate, 2000, cuStreamCreate),
	ONE(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority),
	TWO(cuStreamSynchronize, 2000, cuStreamSynchronize, cuStreamSynchronize_ptsz),
	ONE(cuStreamGetCtx, 9020, cuStreamGetCtx),
	ONE(cuStreamQuery, 2000, cuStreamQuery),
	ONE(cuStreamDestroy, 4000, cuStreamDestroy_v2),
	TWO(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz),
	TWO(cuStreamEndCapture, 10000, cuStreamEndCapture, cuStreamEndCapture_ptsz),
	TWO(cuStreamIsCapturing, 10000, cuStreamIsCapturing, cuStreamIsCapturing_ptsz),
	TWO(cuStreamGetCaptureInfo, 11030, cuStreamGetCaptureInfo_v2,
	    cuStreamGetCaptureInfo_v2_ptsz),
	TWO(cuStreamGetCaptureInfo, 12030, cuStreamGetCaptureInfo_v3,
	    cuStreamGetCaptureInfo_v3_ptsz),
	ONE(cuModuleLoadData, 2000, cuModuleLoadData),
	ONE(cuModuleLoadDataEx, 2010, cuModuleLoadDataEx),
	ONE(cuModuleUnload, 2000, cuModuleUnload),
	ONE(cuModuleGetFunction, 2000, cuModuleGetFunction),
	ONE(cuLibraryLoadData, 12000, cuLibraryLoadData),
	ONE(cuLibraryUnload, 12000, cuLibraryUnload),
	ONE(cuLibraryGetKernel, 12000, cuLibraryGetKernel),
	ONE(cuKernelGetFunction, 12000, cuKernelGetFunction),
	ONE(cuKernelGetName, 12030, cuKernelGetName),
	ONE(cuFuncGetName, 12030, cuFuncGetName),
	ONE(cuFuncGetParamInfo, 12040, cuFuncGetParamInfo),
	ONE(cuKernelGetParamInfo, 12040, cuKernelGetParamInfo),
	ONE(cuFuncGetModule, 11000, cuFuncGetModule),
	ONE(cuKernelGetLibrary, 12050, cuKernelGetLibrary),
	TWO(cuLaunchKernel, 4000, cuLaunchKernel, cuLaunchKernel_ptsz),
	TWO(cuLaunchKernelEx, 11060, cuLaunchKernelEx, cuLaunchKernelEx_ptsz),
	TWO(cuLaunchCooperativeKernel, 9000, cuLaunchCooperativeKernel,
	    cuLaunchCooperativeKernel_ptsz),
	ONE(cuProfilerStart, 4000, cuProfilerStart),
	ONE(cuProfilerStop, 4000, cuProfilerStop),
	ONE(cuGraphCreate, 10000, cuGraphCreate),
	ONE(cuGraphAddKernelNode, 10000, cuGraphAddKernelNode),
	ONE(cuGraphAddKernelNode, 12000, cuGraphAddKernelNode_v2),
	ONE(cuGraphAddChildGraphNode, 10000, cuGraphAddChildGraphNode),
	ONE(cuGraphClone, 10000, cuGraphClone),
	ONE(cuGraphNodeFindInClone, 10000, cuGraphNodeFindInClone),
	ONE(cuGraphDestroyNode, 10000, cuGraphDestroyNode),
	ONE(cuGraphAddDependencies, 12030, cuGraphAddDependencies_v2),
	ONE(cuGraphNodeGetDependencies, 12030, cuGraphNodeGetDependencies_v2),
	ONE(cuGraphNodeGetDependentNodes, 12030, cuGraphNodeGetDependentNodes_v2),
	ONE(cuGraphKernelNodeGetParams, 12000, cuGraphKernelNodeGetParams_v2),
	ONE(cuGraphKernelNodeSetParams, 10000, cuGraphKernelNodeSetParams),
	ONE(cuGraphKernelNodeSetParams, 12000, cuGraphKernelNodeSetParams_v2),
	ONE(cuGraphKernelNodeGetAttribute, 11000, cuGraphKernelNodeGetAttribute),
	ONE(cuGraphKernelNodeSetAttribute, 11000, cuGraphKernelNodeSetAttribute),
	ONE(cuGraphExecKernelNodeSetParams, 10010, cuGraphExecKernelNodeSetParams),
	ONE(cuGraphExecKernelNodeSetParams, 12000, cuGraphExecKernelNodeSetParams_v2),
	ONE(cuGraphExecUpdate, 10020, cuGraphExecUpdate),
	ONE(cuGraphExecUpdate, 12000, cuGraphExecUpdate_v2),
	ONE(cuGraphNodeSetEnabled, 11060, cuGraphNodeSetEnabled),
	ONE(cuGraphConditionalHandleCreate, 12030, cuGraphConditionalHandleCreate),
	ONE(cuGraphAddNode, 12030, cuGraphAddNode_v2),
	ONE(cuGraphGetNodes, 10000, cuGraphGetNodes),
	ONE(cuGraphNodeGetType, 10000, cuGraphNodeGetType),
	ONE(cuGraphChildGraphNodeGetGraph, 10000, cuGraphChildGraphNodeGetGraph),
	ONE(cuGraphInstantiate, 10000, cuGraphInstantiate),
	ONE(cuGraphInstantiate, 11000, cuGraphInstantiate_v2),
	ONE(cuGraphInstantiate, 12000, cuGraphInstantiateWithFlags),
	ONE(cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags),
	TWO(cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams,
	    cuGraphInstantiateWithParams_ptsz),
	TWO(cuGraphLaunch, 10000, cuGraphLaunch, cuGraphLaunch_ptsz),
	ONE(cuGraphUpload, 11010, cuGraphUpload),
	ONE(cuGraphDestroy, 10000, cuGraphDestroy),
	ONE(cuGraphExecDestroy, 10000, cuGraphExecDestroy),
	ONE(cuMemGetInfo, 3020, cuMemGetInfo_v2),
	ONE(cuMemsetD32Async, 3020, cuMemsetD32Async),
	ONE(cuFuncGetAttribute, 2020, cuFuncGetAttribute),
	ONE(cuFuncSetAttribute, 9000, cuFuncSetAttribute),
	ONE(cuPointerGetAttribute, 4000, cuPointerGetAttribute),
	ONE(cuMemGetAddressRange, 3020, cuMemGetAddressRange_v2),
	ONE(cuMemHostAlloc, 2020, cuMemHostAlloc),
	ONE(cuMemAllocManaged, 6000, cuMemAllocManaged),
	ONE(cuMemAllocAsync, 11020, cuMemAllocAsync),
	ONE(cuMemFreeAsync, 11020, cuMemFreeAsync),
	ONE(cuMemAddressReserve, 10020, cuMemAddressReserve),
	ONE(cuMemAddressFree, 10020, cuMemAddressFree),
	ONE(cuMemCreate, 10020, cuMemCreate),
	ONE(cuMemRelease, 10020, cuMemRelease),
	ONE(cuMemMap, 10020, cuMemMap),
	ONE(cuMemSetAccess, 10020, cuMemSetAccess),
	ONE(cuMemUnmap, 10020, cuMemUnmap),
	ONE(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050,
	    cuOccupancyMaxActiveBlocksPerMultiprocessor),
	ONE(cuStreamWaitEvent, 3020, cuStreamWaitEvent),
	ONE(cuEventCreate, 2000, cuEventCreate),
	ONE(cuEventRecord, 2000, cuEventRecord),
	ONE(cuEventQuery, 2000, cuEventQuery),
	ONE(cuEventSynchronize, 2000, cuEventSynchronize),
	ONE(cuEventElapsedTime, 2000, cuEventElapsedTime),
	ONE(cuEventElapsedTime, 12080, cuEventElapsedTime_v2),
	ONE(cuEventDestroy, 4000, cuEventDestroy_v2),
	ONE(cuMemAlloc, 3020, cuMemAlloc_v2),
	ONE(cuMemFree, 3020, cuMemFree_v2),
	TWO(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds),
	TWO(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds),
	TWO(cuMemcpyDtoD, 3020, cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds),
	TWO(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz),
	TWO(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz),
	TWO(cuMemcpyDtoDAsync, 3020, cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz),
	ONE(cuMemsetD8, 3020, cuMemsetD8_v2),
	TWO(cuMemsetD8Async, 3020, cuMemsetD8Async, cuMemsetD8Async_ptsz),
	ONE(cuGetProcAddress, 11030, get_proc_address),
	ONE(cuGetProcAddress, 12000, cuGetProcAddress_v2),
};
/* clang-format on */

KP_FAKE_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version,
					    cuuint64_t flags,
					    CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	const struct entry *best = NULL;

	if (!symbol || !out || version > KP_FAKE_DRIVER_VERSION)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (strcmp(entries[i].name, symbol) != 0)
			continue;
		found = best ? found : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		if (entries[i].version > version)
			continue;
		best = &entries[i];
		found = CU_GET_PROC_ADDRESS_SUCCESS;
	}
	if (status)
		*status = found;
	*out = NULL;
	if (!best)
		return status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
	*out = best->per_thread && (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		       ? best->per_thread
		       : best->legacy;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGetProcAddress(const char *symbol, void **out, int version,
					 cuuint64_t flags)
{
	return get_proc_address(symbol, out, version, flags);
}

static CUresult get_proc_address(const char *symbol, void **out, int version, cuuint64_t flags)
{
	return cuGetProcAddress_v2(symbol, out, version, flags, NULL);
}

/* The newest of a base name, past whatever hooks there are: what a program must not do. */
KP_FAKE_EXPORT void *kp_fake_raw(const char *symbol);
void *kp_fake_raw(const char *symbol)
{
	void *out = NULL;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (strcmp(entries[i].name, symbol) == 0)
			out = entries[i].legacy;
	return out;
}
