/*
 * The functions of the driver that are no reason to launch what is held, and those that are more
 * than that; see ab_sequence_names.h. All others are MEMORY: what is not known is safe.
 */
#include "inject/ab_sequence_names.h"

#include <stdbool.h>
#include <stddef.h>

#include "inject/words.h"

struct row {
	const char *name; /* without _v2, _ptsz and _ptds */
	enum kp_ab_sequence_kind kind;
};

#define QUERY(name)                                                                                \
	{                                                                                          \
#name, KP_AB_SEQUENCE_QUERY                                                        \
	}
#define ORDERED(name)                                                                              \
	{                                                                                          \
#name, KP_AB_SEQUENCE_ORDERED                                                      \
	}
#define ENDS(name)                                                                                 \
	{                                                                                          \
#name, KP_AB_SEQUENCE_ENDS                                                         \
	}

/* clang-format off */
static const struct row rows[] = {
	/* They read what the driver knows, and nothing that a launch changes. */
	QUERY(cuCtxGetApiVersion), QUERY(cuCtxGetCurrent), QUERY(cuCtxGetDevice),
	QUERY(cuCtxGetFlags), QUERY(cuCtxGetId), QUERY(cuCtxGetLimit),
	QUERY(cuCtxGetStreamPriorityRange), QUERY(cuDeviceCanAccessPeer), QUERY(cuDeviceGet),
	QUERY(cuDeviceGetAttribute), QUERY(cuDeviceGetByPCIBusId), QUERY(cuDeviceGetCount),
	QUERY(cuDeviceGetLuid), QUERY(cuDeviceGetName), QUERY(cuDeviceGetP2PAttribute),
	QUERY(cuDeviceGetPCIBusId), QUERY(cuDeviceGetUuid), QUERY(cuDevicePrimaryCtxGetState),
	QUERY(cuDeviceTotalMem), QUERY(cuDriverGetVersion), QUERY(cuFuncGetAttribute),
	QUERY(cuFuncGetName), QUERY(cuFuncGetParamInfo), QUERY(cuGetErrorName),
	QUERY(cuGetErrorString), QUERY(cuGetExportTable), QUERY(cuGetProcAddress), QUERY(cuInit),
	QUERY(cuKernelGetAttribute), QUERY(cuKernelGetName), QUERY(cuKernelGetParamInfo),
	QUERY(cuOccupancyMaxActiveBlocksPerMultiprocessor),
	QUERY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags),
	QUERY(cuStreamGetCaptureInfo), QUERY(cuStreamGetCtx), QUERY(cuStreamGetDevice),
	QUERY(cuStreamGetFlags), QUERY(cuStreamGetId), QUERY(cuStreamGetPriority),
	QUERY(cuStreamIsCapturing), QUERY(cuThreadExchangeStreamCaptureMode),
	/* An event that has been recorded is behind all that it was recorded behind. */
	QUERY(cuEventElapsedTime), QUERY(cuEventQuery),
	/* What is frequent, and gives no memory back. */
	ORDERED(cuCtxPopCurrent), ORDERED(cuCtxPushCurrent), ORDERED(cuCtxSetCurrent),
	ORDERED(cuCtxSynchronize), ORDERED(cuEventCreate), ORDERED(cuEventDestroy),
	ORDERED(cuEventRecord), ORDERED(cuEventRecordWithFlags), ORDERED(cuEventSynchronize),
	ORDERED(cuGraphLaunch), ORDERED(cuLaunchCooperativeKernel), ORDERED(cuLaunchKernel),
	ORDERED(cuLaunchKernelEx), ORDERED(cuMemAlloc), ORDERED(cuMemcpyAsync), ORDERED(cuMemcpy),
	ORDERED(cuMemcpyDtoD), ORDERED(cuMemcpyDtoDAsync), ORDERED(cuMemcpyDtoH),
	ORDERED(cuMemcpyDtoHAsync), ORDERED(cuMemcpyHtoD), ORDERED(cuMemcpyHtoDAsync),
	ORDERED(cuMemsetD8), ORDERED(cuMemsetD8Async), ORDERED(cuMemsetD16),
	ORDERED(cuMemsetD16Async), ORDERED(cuMemsetD32), ORDERED(cuMemsetD32Async),
	ORDERED(cuStreamCreate), ORDERED(cuStreamCreateWithPriority), ORDERED(cuStreamDestroy),
	ORDERED(cuStreamQuery), ORDERED(cuStreamSynchronize), ORDERED(cuStreamWaitEvent),
	/* What is held may give this memory back. */
	{"cuMemGetAddressRange", KP_AB_SEQUENCE_ASKS},
	{"cuPointerGetAttribute", KP_AB_SEQUENCE_ASKS_POINTER},
	{"cuPointerGetAttributes", KP_AB_SEQUENCE_ASKS_FOURTH},
	/* In the order of a stream. */
	{"cuMemFreeAsync", KP_AB_SEQUENCE_FREES},
	{"cuMemAllocAsync", KP_AB_SEQUENCE_ALLOCATES},
	{"cuMemMap", KP_AB_SEQUENCE_MAPS},
	{"cuMemRelease", KP_AB_SEQUENCE_RELEASES},
	/* From then on the GPU may wait for the host, */
	ENDS(cuGraphAddBatchMemOpNode), ENDS(cuGraphAddExternalSemaphoresWaitNode),
	ENDS(cuGraphAddHostNode), ENDS(cuGraphAddNode), ENDS(cuLaunchHostFunc),
	ENDS(cuStreamAddCallback), ENDS(cuStreamBatchMemOp), ENDS(cuStreamWaitValue32),
	ENDS(cuStreamWaitValue64), ENDS(cuWaitExternalSemaphoresAsync),
	/* or others see this GPU's memory. */
	ENDS(cuGraphicsMapResources),
	ENDS(cuImportExternalMemory), ENDS(cuIpcGetEventHandle), ENDS(cuIpcGetMemHandle),
	ENDS(cuIpcOpenEventHandle), ENDS(cuIpcOpenMemHandle), ENDS(cuMemExportToShareableHandle),
	ENDS(cuMemGetHandleForAddressRange), ENDS(cuMemImportFromShareableHandle),
	ENDS(cuMemPoolExportPointer), ENDS(cuMemPoolExportToShareableHandle),
	ENDS(cuMemPoolImportFromShareableHandle), ENDS(cuMemPoolImportPointer),
	ENDS(cuMulticastBindAddr), ENDS(cuMulticastBindMem),
	/* or memory may have more than one address. */
	ENDS(cuMemMapArrayAsync), ENDS(cuMemRetainAllocationHandle),
};
/* clang-format on */

/* Whether `rest` is but what tells versions of one function apart. */
static bool is_version(const char *rest)
{
	if (rest[0] == '_' && rest[1] == 'v' && rest[2] >= '1' && rest[2] <= '9')
		rest += 3;
	return !*rest || kp_word_equal(rest, "_ptsz") || kp_word_equal(rest, "_ptds");
}

enum kp_ab_sequence_kind kp_ab_sequence_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t length = 0;

		while (rows[i].name[length])
			length++;
		if (kp_word_begins(name, rows[i].name) && is_version(name + length))
			return rows[i].kind;
	}
	return KP_AB_SEQUENCE_MEMORY;
}
