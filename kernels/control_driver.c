/* The driver of the null controls; see control_driver.h. */
#include "kernels/control_driver.h"

#include <dlfcn.h>

#include "kernels/image.h"

#define STREAM_NON_BLOCKING 1U

static struct kp_control_driver driver;
static const struct kp_control_driver *opened;

static const char *const symbols[KP_CONTROL_KERNEL_COUNT] = {
	"kp_control_original",
	"kp_control_replacement",
	"kp_control_late",
	"kp_control_fill",
};

/* NULL, or the name of what is missing. */
static const char *find_functions(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return "libcuda.so.1";
#define FIND(symbol, member, parameters)                                                           \
	*(void **)&driver.member = dlsym(library, #symbol);                                        \
	if (!driver.member)                                                                        \
		return #symbol;
	KP_CONTROL_DRIVER(FIND)
#undef FIND
	return NULL;
}

static const char *load_kernels(void)
{
	struct kp_kernel_image image = kp_kernel_image_control();
	void *module;

	if (!image.bytes)
		return "device code: kprof was built without nvcc";
	if (driver.load(&module, image.bytes))
		return "cuModuleLoadData";
	for (int i = 0; i < KP_CONTROL_KERNEL_COUNT; i++)
		if (driver.function(&driver.kernels[i], module, symbols[i]))
			return symbols[i];
	return NULL;
}

const char *kp_control_driver_open(void)
{
	const char *missing = find_functions();
	void *context;

	if (missing)
		return missing;
	if (driver.init(0) || driver.retain(&context, 0) || driver.use(context))
		return "a GPU";
	missing = load_kernels();
	if (missing)
		return missing;
	if (driver.stream(&driver.side_stream, STREAM_NON_BLOCKING))
		return "cuStreamCreate";
	opened = &driver;
	return NULL;
}

const struct kp_control_driver *kp_control_driver(void)
{
	return opened;
}

bool kp_control_launch(enum kp_control_kernel kernel, uint64_t threads, void *args, void *stream)
{
	uint64_t blocks = (threads + KP_CONTROL_THREADS - 1) / KP_CONTROL_THREADS;
	void *arguments[] = {args};

	return driver.launch(driver.kernels[kernel], (unsigned)blocks, 1, 1, KP_CONTROL_THREADS, 1,
			     1, 0, stream, arguments, NULL) == 0;
}
