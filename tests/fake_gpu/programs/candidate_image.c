/* Device code for tests: an empty fatbin, in whose place the fake driver has what it emulates. */
#include "kernels/image.h"

#include <stdint.h>

static const uint32_t fatbin[16] = {0xba55ed50U};

#define IMAGE(name)                                                                                \
	struct kp_kernel_image kp_kernel_image_##name(void)                                        \
	{                                                                                          \
		return (struct kp_kernel_image){(const unsigned char *)fatbin, sizeof(fatbin)};    \
	}
KP_KERNEL_IMAGES(IMAGE)
