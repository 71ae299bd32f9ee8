/*
 * Code as it comes, for rules of replacement that ask where a kernel is from; see ab_modules.h.
 * Without rules these functions are not hooked at all.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab.h"
#include "inject/ab_modules.h"
#include "inject/hooks.h"

#define NOT_HOOKED(name) void *const kp_wrapper_##name = NULL

typedef CUresult(CUDAAPI *load_function)(void **, const void *);
#define LOAD(name, noted)                                                                          \
	static CUresult CUDAAPI ruled_##name(void **out, const void *what)                         \
	{                                                                                          \
		CUresult result = KP_REAL(name, load_function)(out, what);                         \
                                                                                                   \
		if (result == CUDA_SUCCESS)                                                        \
			noted(*out, what);                                                         \
		return result;                                                                     \
	}                                                                                          \
	NOT_HOOKED(name)
LOAD(cuModuleLoad, kp_ab_modules_loaded_file);
LOAD(cuModuleLoadData, kp_ab_modules_loaded);
LOAD(cuModuleLoadFatBinary, kp_ab_modules_loaded);

typedef CUresult(CUDAAPI *load_with_function)(void **, const void *, unsigned, void *, void **);
static CUresult CUDAAPI ruled_cuModuleLoadDataEx(void **out, const void *image, unsigned count,
						 void *options, void **values)
{
	CUresult result =
		KP_REAL(cuModuleLoadDataEx, load_with_function)(out, image, count, options, values);

	if (result == CUDA_SUCCESS)
		kp_ab_modules_loaded(*out, image);
	return result;
}
NOT_HOOKED(cuModuleLoadDataEx);

typedef CUresult(CUDAAPI *library_function)(void **, const void *, void *, void **, unsigned,
					    void *, void **, unsigned);
#define LOAD_LIBRARY(name, noted)                                                                  \
	static CUresult CUDAAPI ruled_##name(void **out, const void *what, void *options,          \
					     void **values, unsigned count, void *library_options, \
					     void **library_values, unsigned library_count)        \
	{                                                                                          \
		CUresult result = KP_REAL(name, library_function)(out, what, options, values,      \
								  count, library_options,          \
								  library_values, library_count);  \
                                                                                                   \
		if (result == CUDA_SUCCESS)                                                        \
			noted(*out, what);                                                         \
		return result;                                                                     \
	}                                                                                          \
	NOT_HOOKED(name)
LOAD_LIBRARY(cuLibraryLoadData, kp_ab_modules_loaded);
LOAD_LIBRARY(cuLibraryLoadFromFile, kp_ab_modules_loaded_file);

void *kp_ab_wrapper_of_modules(size_t hook)
{
	switch (hook) {
#define RULED(name)                                                                                \
	case KP_HOOK_##name:                                                                       \
		return (void *)ruled_##name;
		RULED(cuModuleLoad)
		RULED(cuModuleLoadData)
		RULED(cuModuleLoadDataEx)
		RULED(cuModuleLoadFatBinary)
		RULED(cuLibraryLoadData)
		RULED(cuLibraryLoadFromFile)
	default:
		return NULL;
	}
}
