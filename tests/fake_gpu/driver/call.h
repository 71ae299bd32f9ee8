/*
 * Tells the listener of the driver's calls, operations and resources. Threading: any; without the
 * lock. Every traced call is bracketed so that CUPTI's clients see its entry and exit:
 *
 *	struct kp_fake_call call = KP_FAKE_CALL(cuLaunchKernel, &params);
 *	kp_fake_call_enter(&call);
 *	call.result = …;
 *	return kp_fake_call_exit(&call);
 */
#ifndef KP_FAKE_GPU_CALL_H
#define KP_FAKE_GPU_CALL_H

#include "tests/fake_gpu/driver/gpu.h"

#include <cupti_activity.h>
#include <cupti_driver_cbid.h>
#include <generated_cuda_meta.h>

#define KP_FAKE_CALL(function, arguments)                                                          \
	{                                                                                          \
		.cbid = CUPTI_DRIVER_TRACE_CBID_##function, .name = #function,                     \
		.params = (arguments)                                                              \
	}

/* Gives the call its correlation id and announces it. */
void kp_fake_call_enter(struct kp_fake_call *call);
/* Announces its end; returns its result. */
CUresult kp_fake_call_exit(struct kp_fake_call *call);

/* Counts an operation and announces it. */
void kp_fake_announce_op(const struct kp_fake_op *op);
void kp_fake_announce_resource(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor);

#endif
