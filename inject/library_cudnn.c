/*
 * The wrappers of cuDNN's backend API: what a graph does is told when it is described, and is
 * executed by a plan; dnn_descriptors.h keeps the one for the other.
 */
#include <stdint.h>

#include "inject/dnn_descriptors.h"
#include "inject/library.h"
#include "inject/library_doors.h"

/* CUDNN_STATUS_SUCCESS */
#define SUCCESS 0

static int wrap_cudnnBackendCreateDescriptor(int type, void **descriptor)
{
	int result = KP_LIBRARY_REAL(cudnnBackendCreateDescriptor,
				     int (*)(int, void **))(type, descriptor);

	if (result == SUCCESS && descriptor)
		kp_dnn_created(*descriptor, type);
	return result;
}

/* Before: another thread may get the address at once. */
static int wrap_cudnnBackendDestroyDescriptor(void *descriptor)
{
	kp_dnn_destroyed(descriptor);
	return KP_LIBRARY_REAL(cudnnBackendDestroyDescriptor, int (*)(void *))(descriptor);
}

static int wrap_cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
					 const void *elements)
{
	int result = KP_LIBRARY_REAL(cudnnBackendSetAttribute,
				     int (*)(void *, int, int, int64_t, const void *))(
		descriptor, name, type, count, elements);

	if (result == SUCCESS && elements)
		kp_dnn_set(descriptor, name, type, count, elements);
	return result;
}

/* It fills descriptors that the program made: those inherit. */
static int wrap_cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t asked,
					 int64_t *count, void *elements)
{
	int result = KP_LIBRARY_REAL(cudnnBackendGetAttribute,
				     int (*)(void *, int, int, int64_t, int64_t *, void *))(
		descriptor, name, type, asked, count, elements);

	if (result == SUCCESS && elements)
		kp_dnn_got(descriptor, name, type, count && *count < asked ? *count : asked,
			   elements);
	return result;
}

static int wrap_cudnnBackendExecute(void *handle, void *plan, void *variant)
{
	struct kp_library_frame frame;
	struct kp_library_call call;
	int result;

	if (kp_library_enter(&frame) && kp_dnn_call(plan, variant, &call)) {
		call.entry = KP_LIBRARY_cudnnBackendExecute;
		kp_library_describe(&call);
	}
	result = KP_LIBRARY_REAL(cudnnBackendExecute, int (*)(void *, void *, void *))(handle, plan,
										       variant);
	kp_library_leave(&frame);
	return result;
}

void *const kp_library_cudnn_wrappers[] = {
#define D(name) (void *)wrap_##name,
	KP_LIBRARY_CUDNN(D)
#undef D
};
