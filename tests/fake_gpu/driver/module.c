/*
 * Modules, libraries, kernels and functions of the fake driver; the image is struct kp_fake_image,
 * or a fatbin (emulate.h).
 *
 * As with the real driver, a launch accepts a CUkernel in place of a CUfunction, and only a
 * CUfunction has a name by cuFuncGetName.
 */
#include "tests/fake_gpu/driver/function.h"

#include <string.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/driver/call.h"
#include "tests/fake_gpu/driver/emulate.h"
#include "tests/fake_gpu/driver/parameters.h"

static struct CUmod_st *modules; /* all that there ever were; with the lock */

/* With the lock; where handles are to be used again, the place of one that has gone. */
static struct CUmod_st *find_place(size_t functions)
{
	struct CUmod_st *module = kp_fake_faults()->reuse ? modules : NULL;

	while (module && (module->tag != KP_FAKE_DEAD || module->function_count != functions))
		module = module->next;
	if (!module) {
		module = kp_fake_alloc(sizeof(*module) + functions * sizeof(module->functions[0]));
		module->function_count = functions;
		module->next = modules;
		modules = module;
	}
	return module;
}

static void fill(struct CUmod_st *module, size_t i, const struct kp_fake_kernel *kernel)
{
	struct CUfunc_st *function = &module->functions[i];
	size_t length = strlen(kernel->name);
	char *name = kp_fake_alloc(length + 1);

	memcpy(name, kernel->name, length);
	function->tag = KP_FAKE_FUNCTION;
	function->kernel = *kernel;
	function->kernel.name = name;
	function->emulation = NULL;
	function->module = module;
	function->handle.tag = KP_FAKE_KERNEL;
	function->handle.function = function;
}

static struct CUmod_st *load(const struct kp_fake_image *image, enum kp_fake_tag tag,
			     const struct CUctx_st *context)
{
	struct CUmod_st *module;

	kp_fake_lock();
	module = find_place(image->kernel_count);
	module->context = context;
	for (size_t i = 0; i < image->kernel_count; i++)
		fill(module, i, &image->kernels[i]);
	module->tag = tag;
	kp_fake_unlock();
	return module;
}

static void unload(struct CUmod_st *module)
{
	for (size_t i = 0; i < module->function_count; i++)
		module->functions[i].tag = module->functions[i].handle.tag = KP_FAKE_DEAD;
	module->tag = KP_FAKE_DEAD;
}

void kp_fake_modules_end(const struct CUctx_st *context)
{
	kp_fake_lock();
	for (struct CUmod_st *module = modules; module; module = module->next)
		if (module->tag == KP_FAKE_MODULE && module->context == context)
			unload(module);
	kp_fake_unlock();
}

static struct kp_fake_kernel kernel_of(const struct kp_fake_emulation *emulation)
{
	uint32_t bytes = emulation->parameter_bytes ? emulation->parameter_bytes
						    : kp_fake_struct_bytes(emulation->name);

	return (struct kp_fake_kernel){
		.name = emulation->name, .parameter_count = bytes != 0, .parameter_bytes = {bytes}};
}

/* A fatbin: its kernels are those that can be computed here. */
static struct CUmod_st *load_fatbin(enum kp_fake_tag tag, const struct CUctx_st *context)
{
	struct kp_fake_kernel *kernels = kp_fake_alloc(kp_fake_emulation_count * sizeof(*kernels));
	const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, kp_fake_emulation_count, kernels};
	struct CUmod_st *module;

	for (size_t i = 0; i < kp_fake_emulation_count; i++)
		kernels[i] = kernel_of(&kp_fake_emulations[i]);
	module = load(&image, tag, context);
	for (size_t i = 0; i < kp_fake_emulation_count; i++)
		module->functions[i].emulation = &kp_fake_emulations[i];
	return module;
}

static struct CUfunc_st *find_kernel(struct CUmod_st *module, const char *name)
{
	for (size_t i = 0; i < module->function_count; i++)
		if (strcmp(module->functions[i].kernel.name, name) == 0)
			return &module->functions[i];
	return NULL;
}

static const struct kp_fake_image *unwrapped(const void *data)
{
	const struct kp_fake_wrapper *wrapper = data;

	return wrapper && wrapper->magic == KP_FAKE_WRAPPER_MAGIC ? wrapper->image : data;
}

struct CUfunc_st *kp_fake_function(CUfunction handle)
{
	if (kp_fake_is(handle, KP_FAKE_FUNCTION))
		return handle;
	if (kp_fake_is(handle, KP_FAKE_KERNEL))
		return ((struct CUkern_st *)(void *)handle)->function;
	return NULL;
}

KP_FAKE_EXPORT CUresult cuModuleLoadData(CUmodule *out, const void *data)
{
	const struct kp_fake_image *image = unwrapped(data);
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_is_fatbin(image) && image->magic != KP_FAKE_IMAGE_MAGIC)
		return CUDA_ERROR_INVALID_IMAGE;
	result = kp_fake_unsafe();
	if (result != CUDA_SUCCESS)
		return result;
	*out = kp_fake_is_fatbin(image) ? load_fatbin(KP_FAKE_MODULE, context)
					: load(image, KP_FAKE_MODULE, context);
	kp_fake_announce_resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, context, NULL, NULL);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuModuleLoadDataEx(CUmodule *out, const void *data, unsigned int count,
					   CUjit_option *options, void **values)
{
	(void)count;
	(void)options;
	(void)values;
	return cuModuleLoadData(out, data);
}

KP_FAKE_EXPORT CUresult cuModuleUnload(CUmodule module)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(module, KP_FAKE_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	kp_fake_lock();
	unload(module);
	kp_fake_unlock();
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_is(module, KP_FAKE_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	*out = find_kernel(module, name);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

KP_FAKE_EXPORT CUresult cuLibraryLoadData(CUlibrary *out, const void *data, CUjit_option *options,
					  void **values, unsigned int count,
					  CUlibraryOption *library_options, void **library_values,
					  unsigned int library_count)
{
	const struct kp_fake_image *image = unwrapped(data);
	CUresult result = kp_fake_ready();

	(void)options;
	(void)values;
	(void)count;
	(void)library_options;
	(void)library_values;
	(void)library_count;
	if (result != CUDA_SUCCESS)
		return result;
	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_is_fatbin(image) && image->magic != KP_FAKE_IMAGE_MAGIC)
		return CUDA_ERROR_INVALID_IMAGE;
	*out = (CUlibrary)(void *)(kp_fake_is_fatbin(image) ? load_fatbin(KP_FAKE_LIBRARY, NULL)
							    : load(image, KP_FAKE_LIBRARY, NULL));
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuLibraryUnload(CUlibrary library)
{
	struct CUmod_st *module = (struct CUmod_st *)(void *)library;
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(library, KP_FAKE_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	kp_fake_lock();
	unload(module);
	kp_fake_unlock();
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name)
{
	CUresult result = kp_fake_ready();
	struct CUfunc_st *function;

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_is(library, KP_FAKE_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	function = find_kernel((struct CUmod_st *)(void *)library, name);
	*out = function ? &function->handle : NULL;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

KP_FAKE_EXPORT CUresult cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_is(kernel, KP_FAKE_KERNEL))
		return CUDA_ERROR_INVALID_HANDLE;
	*out = kernel->function;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_is(kernel, KP_FAKE_KERNEL))
		return CUDA_ERROR_INVALID_HANDLE;
	*name = kernel->function->kernel.name;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuFuncGetName(const char **name, CUfunction function)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_is(function, KP_FAKE_FUNCTION))
		return CUDA_ERROR_INVALID_HANDLE;
	*name = function->kernel.name;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuFuncGetModule(CUmodule *module, CUfunction function)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_is(function, KP_FAKE_FUNCTION))
		return CUDA_ERROR_INVALID_HANDLE;
	*module = function->module;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!library)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_is(kernel, KP_FAKE_KERNEL))
		return CUDA_ERROR_INVALID_HANDLE;
	*library = (CUlibrary)(void *)kernel->function->module;
	return CUDA_SUCCESS;
}

/* Parameters lie one behind the other, each at a multiple of its size, as far as that is a power of
 * two up to 8. Kernels of fatbins have one, a struct. */
size_t kp_fake_parameter_offset(const struct CUfunc_st *function, size_t index)
{
	size_t at = 0;

	for (size_t i = 0; i <= index; i++) {
		size_t size = function->kernel.parameter_bytes[i];
		size_t align = size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : 1;

		at = (at + align - 1) / align * align + (i < index ? size : 0);
	}
	return at;
}

KP_FAKE_EXPORT CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset,
					   size_t *bytes)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!offset || !kp_fake_is(function, KP_FAKE_FUNCTION) ||
	    index >= function->kernel.parameter_count)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = kp_fake_parameter_offset(function, index);
	if (bytes)
		*bytes = function->kernel.parameter_bytes[index];
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset,
					     size_t *bytes)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(kernel, KP_FAKE_KERNEL))
		return CUDA_ERROR_INVALID_HANDLE;
	return cuFuncGetParamInfo(kernel->function, index, offset, bytes);
}

/* Of every kernel the same. */
KP_FAKE_EXPORT CUresult cuFuncGetAttribute(int *out, CUfunction_attribute attribute,
					   CUfunction handle)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_function(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!out || (attribute != CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK &&
		     attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES))
		return CUDA_ERROR_INVALID_VALUE;
	*out = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 49152;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute,
					   int value)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_function(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value > 227 << 10)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* By threads and shared memory alone. */
KP_FAKE_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle,
								    int threads,
								    size_t shared_bytes)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!blocks || threads < 1 || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_function(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	*blocks = 2048 / threads;
	if (shared_bytes && (size_t)*blocks > (228U << 10) / (shared_bytes + 1024))
		*blocks = (int)((228U << 10) / (shared_bytes + 1024));
	return CUDA_SUCCESS;
}
