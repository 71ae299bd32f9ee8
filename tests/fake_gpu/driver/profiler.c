/* cuProfilerStart and cuProfilerStop, which do nothing to the GPU but are seen by CUPTI. */
#include "tests/fake_gpu/driver/call.h"

#include <cudaProfiler.h>

static CUresult answer(struct kp_fake_call *call)
{
	struct CUctx_st *context;

	kp_fake_call_enter(call);
	call->result = kp_fake_ready_context(&context);
	return kp_fake_call_exit(call);
}

KP_FAKE_EXPORT CUresult cuProfilerStart(void)
{
	struct kp_fake_call call = KP_FAKE_CALL(cuProfilerStart, NULL);

	return answer(&call);
}

KP_FAKE_EXPORT CUresult cuProfilerStop(void)
{
	struct kp_fake_call call = KP_FAKE_CALL(cuProfilerStop, NULL);

	return answer(&call);
}
