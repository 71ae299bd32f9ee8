/* cuProfilerStart and cuProfilerStop: what cudaProfilerStart and -Stop come to; see hooks.h. */
#include <cuda.h>

#include "inject/hooks.h"
#include "inject/windows.h"

typedef CUresult(CUDAAPI *profiler_function)(void);

static CUresult CUDAAPI hook_cuProfilerStart(void)
{
	CUresult result = KP_REAL(cuProfilerStart, profiler_function)();

	kp_windows_capture(true);
	return result;
}
KP_WRAPPER(cuProfilerStart);

static CUresult CUDAAPI hook_cuProfilerStop(void)
{
	kp_windows_capture(false);
	return KP_REAL(cuProfilerStop, profiler_function)();
}
KP_WRAPPER(cuProfilerStop);
