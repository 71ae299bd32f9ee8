/* Loads the code of libkprof_kernels and launches it; see kernels.h and launch.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/attention_prepare.h"
#include "kernels/image.h"
#include "kernels/launch.h"
#include "kernels/linear_skinny.h"

#define STORAGE_TYPES 2 /* the first of enum kp_dtype */
#define LOGITS_TYPES 3
#define LIBRARIES_MOST KP_KERNEL_COUNT
#define DEPENDENT_SINCE 90U /* compute capability */
#define CODE_SINCE 80U
#define HOPPER 90U

/* Numbers of the driver's interface. */
enum { CU_SUCCESS, CU_ATTRIBUTE_SMS = 16, CU_ATTRIBUTE_MAJOR = 75, CU_ATTRIBUTE_MINOR = 76 };
enum { CU_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6 };
enum { CU_FUNCTION_DYNAMIC_SHARED_BYTES = 8 };

/* CUlaunchAttribute and CUlaunchConfig, as cuda.h has had them since CUDA 11.8. */
struct launch_attribute {
	int id;
	int padding;
	union {
		char bytes[64];
		int allowed;
	} value;
};

struct launch_config {
	unsigned grid[3], block[3];
	unsigned shared_bytes;
	void *stream;
	struct launch_attribute *attributes;
	unsigned attribute_count;
};

struct kp_kernels {
	void *driver_library; /* from dlopen; NULL: the caller's functions */
	struct kp_kernels_driver driver;
	struct kp_kernel_device device;
	void *libraries[LIBRARIES_MOST]; /* that of each kernel's image, at the first one of it */
	void *functions[KP_KERNEL_COUNT][LOGITS_TYPES];
};

static const struct {
	const char *name;
	struct kp_kernel_image (*image)(void);
	int types;
} kernels_of[KP_KERNEL_COUNT] = {
#define KERNEL(image, name) {#name, kp_kernel_image_##image, STORAGE_TYPES},
#define KERNEL_LOGITS(image, name) {#name, kp_kernel_image_##image, LOGITS_TYPES},
#include "kernels/kernels.def"
};

static const struct {
	const char *name;
	size_t bytes;
} dtypes[KP_DTYPE_COUNT] = {
	[KP_DTYPE_BF16] = {"bf16", 2}, [KP_DTYPE_FP16] = {"fp16", 2}, [KP_DTYPE_FP32] = {"fp32", 4},
	[KP_DTYPE_E4M3] = {"e4m3", 1}, [KP_DTYPE_INT8] = {"int8", 1},
};

size_t kp_dtype_bytes(enum kp_dtype dtype)
{
	return (unsigned)dtype < KP_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

const char *kp_dtype_name(enum kp_dtype dtype)
{
	return (unsigned)dtype < KP_DTYPE_COUNT ? dtypes[dtype].name : "unknown";
}

bool kp_is_aligned(const void *pointer, size_t vector_bytes, size_t bytes, const int64_t *strides,
		   size_t count)
{
	if (!pointer)
		return true;
	if ((uintptr_t)pointer % vector_bytes)
		return false;
	for (size_t i = 0; i < count; i++)
		if ((uint64_t)strides[i] * bytes % vector_bytes)
			return false;
	return true;
}

void kp_kernel_symbol(enum kp_kernel_id kernel, enum kp_dtype dtype, char *out, size_t size)
{
	snprintf(out, size, "kp_%s_%s", kernels_of[kernel].name, kp_dtype_name(dtype));
}

static enum kp_status bind(struct kp_kernels *kernels)
{
	struct kp_kernels_driver *driver = &kernels->driver;
	const struct {
		void **function;
		const char *symbol;
	} rows[] = {
		{(void **)&driver->library_load, "cuLibraryLoadData"},
		{(void **)&driver->library_unload, "cuLibraryUnload"},
		{(void **)&driver->library_kernel, "cuLibraryGetKernel"},
		{(void **)&driver->kernel_function, "cuKernelGetFunction"},
		{(void **)&driver->launch, "cuLaunchKernelEx"},
		{(void **)&driver->context_device, "cuCtxGetDevice"},
		{(void **)&driver->device_attribute, "cuDeviceGetAttribute"},
		{(void **)&driver->function_attribute, "cuFuncSetAttribute"},
	};

	kernels->driver_library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!kernels->driver_library)
		return KP_NOT_FOUND;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*rows[i].function = dlsym(kernels->driver_library, rows[i].symbol);
		if (!*rows[i].function)
			return KP_NOT_FOUND;
	}
	/* There is another way where this is missing. */
	*(void **)&driver->encode_map = dlsym(kernels->driver_library, "cuTensorMapEncodeTiled");
	return KP_OK;
}

static enum kp_status describe(struct kp_kernels *kernels, int *error)
{
	const struct kp_kernels_driver *driver = &kernels->driver;
	int device = 0, major = 0, minor = 0, sms = 0;

	*error = driver->context_device(&device);
	if (!*error)
		*error = driver->device_attribute(&major, CU_ATTRIBUTE_MAJOR, device);
	if (!*error)
		*error = driver->device_attribute(&minor, CU_ATTRIBUTE_MINOR, device);
	if (!*error)
		*error = driver->device_attribute(&sms, CU_ATTRIBUTE_SMS, device);
	if (*error)
		return KP_IO;
	kernels->device.compute_capability = (uint32_t)(10 * major + minor);
	kernels->device.sm_count = (uint32_t)sms;
	return kernels->device.compute_capability < CODE_SINCE ? KP_UNSUPPORTED : KP_OK;
}

/* The library of a kernel's image: the one that an earlier kernel of that image has loaded, or new.
 */
static enum kp_status library_of(struct kp_kernels *kernels, int kernel, void **out, int *error)
{
	struct kp_kernel_image image = kernels_of[kernel].image();

	if (!image.bytes)
		return KP_UNSUPPORTED;
	for (int i = 0; i < kernel; i++) {
		if (kernels_of[i].image != kernels_of[kernel].image)
			continue;
		*out = kernels->libraries[i];
		return KP_OK;
	}
	*error = kernels->driver.library_load(&kernels->libraries[kernel], image.bytes, NULL, NULL,
					      0, NULL, NULL, 0);
	*out = kernels->libraries[kernel];
	return *error ? KP_IO : KP_OK;
}

/* Shared memory beyond what every kernel may have, for GPUs that run the version. */
static int allow_shared(const struct kp_kernels *kernels, int kernel, void *function)
{
	uint32_t bytes = kp_attention_prefill_shared_bytes((enum kp_kernel_id)kernel) +
			 kp_linear_skinny_shared_bytes((enum kp_kernel_id)kernel);

	if (bytes == 0 || kernels->device.compute_capability != HOPPER)
		return CU_SUCCESS;
	return kernels->driver.function_attribute(function, CU_FUNCTION_DYNAMIC_SHARED_BYTES,
						  (int)bytes);
}

/* The functions of a version, loaded into the context: no launch loads anything later. */
static enum kp_status load(struct kp_kernels *kernels, int kernel, int *error)
{
	void *library, *handle;
	enum kp_status status = library_of(kernels, kernel, &library, error);
	char symbol[64];

	for (int dtype = 0; status == KP_OK && dtype < kernels_of[kernel].types; dtype++) {
		kp_kernel_symbol((enum kp_kernel_id)kernel, (enum kp_dtype)dtype, symbol,
				 sizeof(symbol));
		*error = kernels->driver.library_kernel(&handle, library, symbol);
		if (!*error)
			*error = kernels->driver.kernel_function(&kernels->functions[kernel][dtype],
								 handle);
		if (!*error)
			*error = allow_shared(kernels, kernel, kernels->functions[kernel][dtype]);
		if (*error)
			status = KP_IO;
	}
	return status;
}

enum kp_status kp_kernels_create(const struct kp_kernels_driver *driver, struct kp_kernels **out,
				 int *driver_error)
{
	struct kp_kernels *kernels = calloc(1, sizeof(*kernels));
	enum kp_status status = KP_OK;
	int error = 0;

	*out = NULL;
	*driver_error = 0;
	if (!kernels)
		return KP_NO_MEMORY;
	if (driver)
		kernels->driver = *driver;
	else
		status = bind(kernels);
	if (status == KP_OK)
		status = describe(kernels, &error);
	for (int i = 0; status == KP_OK && i < KP_KERNEL_COUNT; i++)
		status = load(kernels, i, &error);
	if (status == KP_OK) {
		*out = kernels;
		return KP_OK;
	}
	*driver_error = error;
	kp_kernels_destroy(kernels);
	return status;
}

void kp_kernels_destroy(struct kp_kernels *kernels)
{
	if (!kernels)
		return;
	for (int i = 0; i < LIBRARIES_MOST; i++)
		if (kernels->libraries[i])
			kernels->driver.library_unload(kernels->libraries[i]);
	if (kernels->driver_library)
		dlclose(kernels->driver_library);
	free(kernels);
}

const struct kp_kernel_device *kp_kernels_device(const struct kp_kernels *kernels)
{
	return &kernels->device;
}

kp_encode_map kp_kernels_encode_map(const struct kp_kernels *kernels)
{
	return kernels->driver.encode_map;
}

enum kp_status kp_kernels_launch(const struct kp_kernels *kernels,
				 const struct kp_kernel_plan *plan, const void *args, void *stream,
				 bool dependent)
{
	struct launch_attribute early = {.id = CU_LAUNCH_PROGRAMMATIC_SERIALIZATION,
					 .value.allowed = 1};
	struct launch_config config = {
		.grid = {plan->grid_x, plan->grid_y, 1},
		.block = {plan->threads, 1, 1},
		.shared_bytes = plan->shared_bytes,
		.stream = stream,
		.attributes = &early,
		.attribute_count =
			dependent && kernels->device.compute_capability >= DEPENDENT_SINCE,
	};
	/* The driver copies what the arguments point to. */
	void *arguments[] = {(void *)(uintptr_t)args};

	if (plan->grid_x == 0 || plan->grid_y == 0)
		return KP_OK;
	return kernels->driver.launch(&config, kernels->functions[plan->kernel][plan->dtype],
				      arguments, NULL) == CU_SUCCESS
		       ? KP_OK
		       : KP_IO;
}

enum kp_status kp_kernels_launch_both(const struct kp_kernels *kernels,
				      const struct kp_kernel_plan plans[2], const void *args,
				      void *stream, bool dependent)
{
	enum kp_status status = kp_kernels_launch(kernels, &plans[0], args, stream, dependent);

	return status == KP_OK ? kp_kernels_launch(kernels, &plans[1], args, stream, true) : status;
}
