/* Loads the code of compare.cu and launches it; see compare.h. */
#include "kernels/compare.h"

#include <stdlib.h>

#include "kernels/image.h"

enum { PASS, COPY, CHECKSUM, GUARD, COUNT };

static const char *const symbols[COUNT] = {
	"kp_compare_pass_kernel",
	"kp_compare_copy_kernel",
	"kp_compare_checksum_kernel",
	"kp_compare_guard_kernel",
};

/* CUlaunchConfig, as cuda.h has had it since CUDA 11.8. */
struct launch_config {
	unsigned grid[3], block[3];
	unsigned shared_bytes;
	void *stream;
	void *attributes;
	unsigned attribute_count;
};

struct kp_compare {
	struct kp_kernels_driver driver;
	void *library;
	void *functions[COUNT];
};

enum kp_status kp_compare_create(const struct kp_kernels_driver *driver, struct kp_compare **out,
				 int *driver_error)
{
	struct kp_kernel_image image = kp_kernel_image_compare();
	struct kp_compare *compare = calloc(1, sizeof(*compare));
	void *kernel;

	*out = NULL;
	*driver_error = 0;
	if (!compare || !image.bytes) {
		free(compare);
		return image.bytes ? KP_NO_MEMORY : KP_UNSUPPORTED;
	}
	compare->driver = *driver;
	*driver_error =
		driver->library_load(&compare->library, image.bytes, NULL, NULL, 0, NULL, NULL, 0);
	for (int i = 0; !*driver_error && i < COUNT; i++) {
		*driver_error = driver->library_kernel(&kernel, compare->library, symbols[i]);
		if (!*driver_error)
			*driver_error = driver->kernel_function(&compare->functions[i], kernel);
	}
	if (*driver_error) {
		kp_compare_destroy(compare);
		return KP_IO;
	}
	*out = compare;
	return KP_OK;
}

void kp_compare_destroy(struct kp_compare *compare)
{
	if (compare && compare->library)
		compare->driver.library_unload(compare->library);
	free(compare);
}

static bool is_known(const struct kp_matrix *matrix)
{
	return matrix->dtype == KP_DTYPE_BF16 || matrix->dtype == KP_DTYPE_FP16 ||
	       matrix->dtype == KP_DTYPE_FP32;
}

static uint64_t elements_of(const struct kp_matrix *matrix)
{
	return matrix->rows * matrix->columns;
}

static enum kp_status launch(const struct kp_compare *compare, int which, const void *args,
			     uint64_t elements, void *stream)
{
	const struct launch_config config = {
		.grid = {kp_compare_blocks(elements), 1, 1},
		.block = {KP_COMPARE_THREADS, 1, 1},
		.stream = stream,
	};
	void *arguments[] = {(void *)(uintptr_t)args};

	return compare->driver.launch(&config, compare->functions[which], arguments, NULL) ? KP_IO
											   : KP_OK;
}

enum kp_status kp_compare_pass(const struct kp_compare *compare, const struct kp_compare_args *args,
			       void *stream)
{
	return is_known(&args->original)
		       ? launch(compare, PASS, args, elements_of(&args->original), stream)
		       : KP_INVALID;
}

enum kp_status kp_compare_copy(const struct kp_compare *compare, const struct kp_copy_args *args,
			       void *stream)
{
	return is_known(&args->from) ? launch(compare, COPY, args, elements_of(&args->from), stream)
				     : KP_INVALID;
}

enum kp_status kp_compare_checksum(const struct kp_compare *compare,
				   const struct kp_checksum_args *args, void *stream)
{
	return is_known(&args->matrix)
		       ? launch(compare, CHECKSUM, args, elements_of(&args->matrix), stream)
		       : KP_INVALID;
}

enum kp_status kp_compare_guard(const struct kp_compare *compare, const struct kp_guard_args *args,
				void *stream)
{
	return launch(compare, GUARD, args, 0, stream);
}
