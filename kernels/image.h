/*
 * Device code that kprof carries as data: fatbins that nvcc made, for the driver to load. Nothing
 * of it runs by itself, and libkprof_inject.so carries none.
 */
#ifndef KP_KERNELS_IMAGE_H
#define KP_KERNELS_IMAGE_H

#include <stddef.h>

struct kp_kernel_image {
	const unsigned char *bytes; /* for cuModuleLoadData; NULL: kprof was built without nvcc */
	size_t length;
};

/* Of kernels/ceilings.cu. */
struct kp_kernel_image kp_kernel_image_ceilings(void);

#endif
