/* What prog_dnn calls of the fake libcudnn; the real header's prototypes with plain types. */
#ifndef KP_FAKE_GPU_LIBRARY_CUDNN_H
#define KP_FAKE_GPU_LIBRARY_CUDNN_H

#include <stdint.h>

#include <cuda.h>

/* X(function, parameters): all that is called. */
#define KP_FAKE_CUDNN(X)                                                                           \
	X(cudnnCreate, (void **))                                                                  \
	X(cudnnSetStream, (void *, CUstream))                                                      \
	X(cudnnBackendCreateDescriptor, (int, void **))                                            \
	X(cudnnBackendDestroyDescriptor, (void *))                                                 \
	X(cudnnBackendSetAttribute, (void *, int, int, int64_t, const void *))                     \
	X(cudnnBackendGetAttribute, (void *, int, int, int64_t, int64_t *, void *))                \
	X(cudnnBackendFinalize, (void *))                                                          \
	X(cudnnBackendExecute, (void *, void *, void *))

#define KP_FAKE_CUDNN_DECLARE(name, parameters) int name parameters;
KP_FAKE_CUDNN(KP_FAKE_CUDNN_DECLARE)
#undef KP_FAKE_CUDNN_DECLARE

#endif
