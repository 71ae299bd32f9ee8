/*
 * A CUDA runtime (libcudart.so.13) without a GPU, as far as PyTorch needs it to launch kernels:
 * memory is the host's, nothing is computed, and every launch is written down with the bytes of its
 * parameters, as tests/recorded/torch_launches has them. The sizes of parameters come from
 * layouts.py's file. What is not here is a function that returns 0, made by run.
 *
 * LAYOUTS and TORCH_PARAMETERS in the environment name what is read and written. Launches count
 * from the first torch_parameters_case() on. One thread.
 */
#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <driver_types.h>
#include <vector_types.h>

#define KERNELS_MOST 65536
#define PARAMETERS_MOST 64
#define ALIGNMENT ((size_t)2 << 20)
#define DEVICE_BYTES ((size_t)139 << 30)

struct layout {
	size_t count, sizes[PARAMETERS_MOST];
};

struct kernel {
	const void *host;
	const char *name;
};

static struct hsearch_data layouts;
static struct kernel kernels[KERNELS_MOST];
static size_t kernel_count;
static bool sorted;
static FILE *out;

/* ---- what is launched ---- */

static void add_layout(char *line)
{
	struct layout *layout = calloc(1, sizeof(*layout));
	char *rest, *name = strtok_r(line, " \n", &rest), *word;
	ENTRY entry = {.key = name ? strdup(name) : NULL, .data = layout}, *found;

	while (layout && (word = strtok_r(NULL, " \n", &rest)) && layout->count < PARAMETERS_MOST)
		layout->sizes[layout->count++] = strtoul(strchr(word, ':') + 1, NULL, 10);
	if (entry.key && layout)
		hsearch_r(entry, ENTER, &found, &layouts);
}

static void load(void)
{
	const char *layout_path = getenv("LAYOUTS"), *out_path = getenv("TORCH_PARAMETERS");
	FILE *file = layout_path ? fopen(layout_path, "r") : NULL;
	size_t size = 0;
	char *line = NULL;

	if (!file || !out_path || !hcreate_r((size_t)2 * KERNELS_MOST, &layouts)) {
		fputs("stand_in: LAYOUTS and TORCH_PARAMETERS must name files\n", stderr);
		exit(1);
	}
	while (getline(&line, &size, file) > 0)
		add_layout(line);
	free(line);
	fclose(file);
	out = fopen(out_path, "w");
}

void torch_parameters_case(const char *name);
void torch_parameters_case(const char *name)
{
	if (!out)
		load();
	fprintf(out, "CASE %s\n", name);
	fflush(out);
}

static int compare(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	return (x->host > y->host) - (x->host < y->host);
}

static const char *name_of(const void *host)
{
	struct kernel key = {.host = host};
	const struct kernel *found;

	if (!sorted)
		qsort(kernels, kernel_count, sizeof(kernels[0]), compare);
	sorted = true;
	found = bsearch(&key, kernels, kernel_count, sizeof(kernels[0]), compare);
	return found ? found->name : "?";
}

/* Two digits a byte; four bytes of 0 or more as [their number]. */
static void write_bytes(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size;) {
		size_t zeros = 0;

		while (i + zeros < size && bytes[i + zeros] == 0)
			zeros++;
		if (zeros >= 4)
			fprintf(out, "[%zu]", zeros);
		else
			fprintf(out, "%02x", bytes[i]);
		i += zeros >= 4 ? zeros : 1;
	}
}

static void write_launch(const void *function, dim3 grid, void **arguments)
{
	const char *name = name_of(function);
	ENTRY key = {.key = (char *)(uintptr_t)name}, *found = NULL;
	const struct layout *layout;

	if (!out)
		return;
	fprintf(out, "KERNEL %s\nGRID %u %u %u\n", name, grid.x, grid.y, grid.z);
	if (!hsearch_r(key, FIND, &found, &layouts))
		return;
	layout = found->data;
	for (size_t i = 0; i < layout->count; i++) {
		fputs("P ", out);
		write_bytes(arguments[i], layout->sizes[i]);
		fputc('\n', out);
	}
}

/* ---- what nvcc's code calls ---- */

void **__cudaRegisterFatBinary(void *wrapper)
{
	(void)wrapper;
	return calloc(1, sizeof(void *));
}

char __cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit, uint3 *thread, uint3 *block, dim3 *block_size, dim3 *grid,
			    int *warp)
{
	(void)handle, (void)device, (void)limit, (void)thread, (void)block, (void)block_size;
	(void)grid, (void)warp;
	if (kernel_count < KERNELS_MOST)
		kernels[kernel_count++] = (struct kernel){host, name};
	sorted = false;
}

int __cudaGetKernel(void **kernel, const void *host)
{
	*kernel = (void *)(uintptr_t)host;
	return 0;
}

/* <<<…>>> pushes, the function's stub pops. */
static struct {
	dim3 grid, block;
	size_t bytes;
	void *stream;
} configuration;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t bytes, void *stream)
{
	configuration.grid = grid;
	configuration.block = block;
	configuration.bytes = bytes;
	configuration.stream = stream;
	return 0;
}

int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *bytes, void *stream)
{
	*grid = configuration.grid;
	*block = configuration.block;
	*bytes = configuration.bytes;
	*(void **)stream = configuration.stream;
	return 0;
}

int __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **arguments, size_t bytes,
		       void *stream)
{
	(void)block, (void)bytes, (void)stream;
	write_launch(kernel, grid, arguments);
	return 0;
}

int cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments)
{
	write_launch(function, config->gridDim, arguments);
	return 0;
}

/* ---- the device: what decides how kernels are launched ---- */

int cudaGetDeviceCount(int *count)
{
	*count = 1;
	return 0;
}

int cudaGetDevice(int *device)
{
	*device = 0;
	return 0;
}

int cudaDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

int cudaRuntimeGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

int cudaGetDeviceProperties(struct cudaDeviceProp *out_properties, int device)
{
	const struct cudaDeviceProp properties = {.name = "stand-in",
						  .major = 9,
						  .multiProcessorCount = 132,
						  .maxThreadsPerMultiProcessor = 2048,
						  .maxThreadsPerBlock = 1024,
						  .maxBlocksPerMultiProcessor = 32,
						  .warpSize = 32,
						  .totalGlobalMem = DEVICE_BYTES,
						  .sharedMemPerBlock = 49152,
						  .sharedMemPerBlockOptin = 232448,
						  .sharedMemPerMultiprocessor = 233472,
						  .regsPerBlock = 65536,
						  .regsPerMultiprocessor = 65536,
						  .l2CacheSize = 62914560,
						  .textureAlignment = 512,
						  .maxGridSize = {2147483647, 65535, 65535},
						  .maxThreadsDim = {1024, 1024, 64}};

	(void)device;
	*out_properties = properties;
	return 0;
}

int cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	static const struct {
		enum cudaDeviceAttr attribute;
		int value;
	} values[] = {{cudaDevAttrComputeCapabilityMajor, 9},
		      {cudaDevAttrMultiProcessorCount, 132},
		      {cudaDevAttrWarpSize, 32},
		      {cudaDevAttrMaxThreadsPerBlock, 1024},
		      {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
		      {cudaDevAttrMaxSharedMemoryPerBlock, 49152},
		      {cudaDevAttrMaxSharedMemoryPerBlockOptin, 232448}};

	(void)device;
	*value = 0;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (values[i].attribute == attribute)
			*value = values[i].value;
	return 0;
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return 0;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
							   int size, size_t bytes, unsigned flags)
{
	(void)function, (void)bytes, (void)flags;
	*blocks = size < 64 ? 32 : 2048 / size;
	return 0;
}

int cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
	(void)function;
	memset(attributes, 0, sizeof(*attributes));
	attributes->maxThreadsPerBlock = 1024;
	attributes->numRegs = 32;
	attributes->binaryVersion = 90;
	return 0;
}

/* ---- memory, streams, events ---- */

int cudaMalloc(void **address, size_t size)
{
	*address = aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
	return *address ? 0 : cudaErrorMemoryAllocation;
}

int cudaHostAlloc(void **address, size_t size, unsigned flags)
{
	(void)flags;
	return cudaMalloc(address, size);
}

int cudaMemGetInfo(size_t *unused, size_t *all)
{
	*unused = *all = DEVICE_BYTES;
	return 0;
}

int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)
{
	(void)kind, (void)stream;
	memmove(to, from, size);
	return 0;
}

int cudaMemsetAsync(void *to, int value, size_t size, void *stream)
{
	(void)stream;
	memset(to, value, size);
	return 0;
}

int cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
	memset(attributes, 0, sizeof(*attributes));
	attributes->type = cudaMemoryTypeDevice;
	attributes->devicePointer = (void *)(uintptr_t)address;
	return 0;
}

static int new_handle(void **handle)
{
	static uintptr_t last = 1 << 20;

	*handle = (void *)(last += 64);
	return 0;
}

int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
	(void)flags, (void)priority;
	return new_handle(stream);
}

int cudaEventCreateWithFlags(void **event, unsigned flags)
{
	(void)flags;
	return new_handle(event);
}

int cudaStreamIsCapturing(void *stream, int *status)
{
	(void)stream;
	*status = 0;
	return 0;
}

int cudaStreamGetCaptureInfo(void *stream, int *status)
{
	return cudaStreamIsCapturing(stream, status);
}

const char *cudaGetErrorString(int error)
{
	(void)error;
	return "an error of the stand-in";
}

const char *cudaGetErrorName(int error)
{
	return cudaGetErrorString(error);
}
