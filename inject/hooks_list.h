/* The driver's functions that are hooked; see hooks.h. */
#ifndef KP_INJECT_HOOKS_LIST_H
#define KP_INJECT_HOOKS_LIST_H

/* X(name): every driver function that is hooked; the wrappers stand in hooks_launch.c,
 * hooks_capture.c, hooks_graph.c, hooks_graph_change.c, hooks_profiler.c and hooks_context.c; where
 * the host's side is asked for, those of hooks_host.c come in their place, and where there are
 * rules of replacement, other ones of hooks_launch.c, and those of hooks_modules.c. The ends of
 * streams stand in hooks_host.c, too. */
#define KP_DRIVER_HOOKS(X)                                                                         \
	X(cuGetProcAddress)                                                                        \
	X(cuGetProcAddress_v2)                                                                     \
	X(cuLaunchKernel)                                                                          \
	X(cuLaunchKernel_ptsz)                                                                     \
	X(cuLaunchKernelEx)                                                                        \
	X(cuLaunchKernelEx_ptsz)                                                                   \
	X(cuLaunchCooperativeKernel)                                                               \
	X(cuLaunchCooperativeKernel_ptsz)                                                          \
	X(cuLaunch)                                                                                \
	X(cuLaunchGrid)                                                                            \
	X(cuLaunchGridAsync)                                                                       \
	X(cuGraphInstantiate)                                                                      \
	X(cuGraphInstantiate_v2)                                                                   \
	X(cuGraphInstantiateWithFlags)                                                             \
	X(cuGraphInstantiateWithParams)                                                            \
	X(cuGraphInstantiateWithParams_ptsz)                                                       \
	X(cuGraphExecDestroy)                                                                      \
	X(cuGraphDestroy)                                                                          \
	X(cuGraphNodeSetEnabled)                                                                   \
	X(cuGraphUpload)                                                                           \
	X(cuGraphUpload_ptsz)                                                                      \
	X(cuGraphExecUpdate)                                                                       \
	X(cuGraphExecUpdate_v2)                                                                    \
	X(cuGraphExecKernelNodeSetParams)                                                          \
	X(cuGraphExecKernelNodeSetParams_v2)                                                       \
	X(cuGraphExecMemcpyNodeSetParams)                                                          \
	X(cuGraphExecMemsetNodeSetParams)                                                          \
	X(cuGraphExecHostNodeSetParams)                                                            \
	X(cuGraphExecChildGraphNodeSetParams)                                                      \
	X(cuGraphExecEventRecordNodeSetEvent)                                                      \
	X(cuGraphExecEventWaitNodeSetEvent)                                                        \
	X(cuGraphExecNodeSetParams)                                                                \
	X(cuGraphExecBatchMemOpNodeSetParams)                                                      \
	X(cuGraphExecExternalSemaphoresSignalNodeSetParams)                                        \
	X(cuGraphExecExternalSemaphoresWaitNodeSetParams)                                          \
	X(cuGraphLaunch)                                                                           \
	X(cuGraphLaunch_ptsz)                                                                      \
	X(cuStreamBeginCapture)                                                                    \
	X(cuStreamBeginCapture_ptsz)                                                               \
	X(cuStreamBeginCapture_v2)                                                                 \
	X(cuStreamBeginCapture_v2_ptsz)                                                            \
	X(cuStreamBeginCaptureToGraph)                                                             \
	X(cuStreamBeginCaptureToGraph_ptsz)                                                        \
	X(cuStreamEndCapture)                                                                      \
	X(cuStreamEndCapture_ptsz)                                                                 \
	X(cuProfilerStart)                                                                         \
	X(cuProfilerStop)                                                                          \
	X(cuCtxCreate)                                                                             \
	X(cuCtxCreate_v2)                                                                          \
	X(cuCtxCreate_v3)                                                                          \
	X(cuCtxCreate_v4)                                                                          \
	X(cuDevicePrimaryCtxRetain)                                                                \
	X(cuStreamDestroy)                                                                         \
	X(cuStreamDestroy_v2)                                                                      \
	X(cuCtxDestroy)                                                                            \
	X(cuCtxDestroy_v2)                                                                         \
	X(cuDevicePrimaryCtxReset)                                                                 \
	X(cuDevicePrimaryCtxReset_v2)                                                              \
	X(cuDevicePrimaryCtxRelease)                                                               \
	X(cuDevicePrimaryCtxRelease_v2)                                                            \
	X(cuModuleLoad)                                                                            \
	X(cuModuleLoadData)                                                                        \
	X(cuModuleLoadDataEx)                                                                      \
	X(cuModuleLoadFatBinary)                                                                   \
	X(cuLibraryLoadData)                                                                       \
	X(cuLibraryLoadFromFile)                                                                   \
	X(cuModuleUnload)                                                                          \
	X(cuLibraryUnload)

#endif
