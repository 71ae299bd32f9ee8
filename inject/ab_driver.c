/* The driver's functions; see ab_driver.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_driver.h"

#include "inject/ab_graph_state.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"

static CUresult(CUDAAPI *launch)(const CUlaunchConfig *, CUfunction, void **, void **);

const char *kp_ab_driver_find(struct kp_ab_driver *driver)
{
#define FIND(symbol, member, parameters)                                                           \
	*(void **)&driver->member = kp_hooks_driver_symbol(#symbol);                               \
	if (!driver->member)                                                                       \
		return #symbol;
	KP_AB_DRIVER(FIND)
#undef FIND
	launch = driver->launch;
	return NULL;
}

int kp_ab_driver_launch(const void *config, void *function, void **arguments, void **extra)
{
	const CUlaunchConfig *known = config;
	CUresult result;

	if (kp_ab_graph_into)
		return (int)kp_ab_graph_add(known, function, arguments);
	kp_hooks_launch_begins();
	result = launch(known, function, arguments, extra);
	if (result == CUDA_SUCCESS && kp_hooks_runs_now(known->hStream, false))
		kp_hooks_issued(1);
	kp_hooks_launch_ends();
	return (int)result;
}

struct kp_kernels_driver kp_ab_driver_for_kernels(const struct kp_ab_driver *driver)
{
	struct kp_kernels_driver out = {.launch = kp_ab_driver_launch};

	/* The same functions with handles as plain pointers, as kernels.h has them. */
	*(void **)&out.library_load = *(void *const *)(const void *)&driver->library_load;
	*(void **)&out.library_unload = *(void *const *)(const void *)&driver->library_unload;
	*(void **)&out.library_kernel = *(void *const *)(const void *)&driver->library_kernel;
	*(void **)&out.kernel_function = *(void *const *)(const void *)&driver->kernel_function;
	*(void **)&out.function_attribute =
		*(void *const *)(const void *)&driver->function_attribute;
	*(void **)&out.context_device = *(void *const *)(const void *)&driver->device;
	*(void **)&out.device_attribute = *(void *const *)(const void *)&driver->device_attribute;
	return out;
}
