/*
 * Device code that kprof carries as data: fatbins that nvcc made, for the driver to load. Nothing
 * of it runs by itself, and libkprof_inject.so carries none.
 */
#ifndef KP_KERNELS_IMAGE_H
#define KP_KERNELS_IMAGE_H

#include <stddef.h>

/* X(name): kernels/NAME.cu, as kp_kernel_image_NAME(). The null controls (control.h) have their
 * own. */
#ifdef KP_CONTROL_IMAGES
#define KP_KERNEL_IMAGES(X) X(control)
#else
#define KP_KERNEL_IMAGES(X)                                                                        \
	X(ceilings)                                                                                \
	X(norm)                                                                                    \
	X(activation)                                                                              \
	X(rope)                                                                                    \
	X(softmax)                                                                                 \
	X(linear_skinny)                                                                           \
	X(attention_decode) X(attention_prefill) X(argmax) X(topk_topp_sample) X(compare)
#endif

struct kp_kernel_image {
	/* For cuModuleLoadData or cuLibraryLoadData; NULL: kprof was built without nvcc. */
	const unsigned char *bytes;
	size_t length;
};

#define KP_KERNEL_IMAGE(name) struct kp_kernel_image kp_kernel_image_##name(void);
KP_KERNEL_IMAGES(KP_KERNEL_IMAGE)
#undef KP_KERNEL_IMAGE

#endif
