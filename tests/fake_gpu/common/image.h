/*
 * What a program gives the fake driver in place of a cubin: the kernels by name and duration.
 *
 * cuModuleLoadData and cuLibraryLoadData take a pointer to one of these. The driver copies what it
 * needs. Names may hold any bytes but NUL.
 */
#ifndef KP_FAKE_GPU_IMAGE_H
#define KP_FAKE_GPU_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#define KP_FAKE_IMAGE_MAGIC 0x31454b41464b4cULL
#define KP_FAKE_PARAMETERS_MOST 16

struct kp_fake_kernel {
	const char *name;
	uint64_t duration_ns;
	uint32_t registers;           /* a thread */
	uint32_t static_shared_bytes; /* a block */
	uint32_t local_bytes;         /* a thread */
	/* Where the program wants it: what it computes, and its parameters' sizes. */
	void (*compute)(const uint32_t grid[3], void **arguments);
	uint32_t parameter_count;
	uint32_t parameter_bytes[KP_FAKE_PARAMETERS_MOST];
	uint32_t reads, writes; /* bits of parameters that are addresses of what it uses */
};

struct kp_fake_image {
	uint64_t magic;
	size_t kernel_count;
	const struct kp_fake_kernel *kernels;
};

/*
 * The same as nvcc hands fatbins to the runtime: a wrapper, whose fatbin is but bytes here, and
 * whose last pointer, which is not used where there is one fatbin, is to the image.
 */
#define KP_FAKE_WRAPPER_MAGIC 0x466243b1U
#define KP_FAKE_FATBIN_MAGIC 0xba55ed50U
struct kp_fake_fatbin {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes; /* of what follows */
	char code[8];
};
struct kp_fake_wrapper {
	uint32_t magic, version;
	const struct kp_fake_fatbin *fatbin;
	const struct kp_fake_image *image;
};

#endif
