/*
 * Writes the parameters of every kernel that a program launches, as tests/recorded/torch_launches
 * has them: an injection library (CUDA_INJECTION64_PATH), to the file TORCH_PARAMETERS. A measuring
 * device, not a tool: what it does costs the program time, and it says on stderr where it fails.
 *
 * Threading: launches of any thread, one at a time. The file is written where the program ends.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "inject/cupti.h"
#include "inject/hooks.h"

__attribute__((visibility("default"))) int InitializeInjection(void);
__attribute__((visibility("default"))) void torch_parameters_case(const char *name);

static struct kp_cupti cupti;
static CUpti_SubscriberHandle subscriber;
static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUresult(CUDAAPI *function_parameter)(CUfunction, size_t, size_t *, size_t *);
static CUresult(CUDAAPI *kernel_parameter)(CUkernel, size_t, size_t *, size_t *);

/* kprof looks CUPTI's functions up past its own hooks; here there are none. */
void *kp_hooks_lookup(void *handle, const char *name)
{
	return dlsym(handle, name);
}

/* A launch names a function or a kernel; either may be given where the other is meant. */
static CUresult ask(CUfunction function, size_t i, size_t *size)
{
	size_t offset;
	CUresult result = function_parameter(function, i, &offset, size);

	return result == CUDA_ERROR_INVALID_HANDLE
		       ? kernel_parameter((CUkernel)function, i, &offset, size)
		       : result;
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

static void write_launch(const char *name, CUfunction function, void *const *parameters,
			 const unsigned grid[3])
{
	size_t size;

	pthread_mutex_lock(&lock);
	fprintf(out, "KERNEL %s\nGRID %u %u %u\n", name ? name : "?", grid[0], grid[1], grid[2]);
	for (size_t i = 0; parameters && ask(function, i, &size) == CUDA_SUCCESS; i++) {
		fputs("P ", out);
		write_bytes(parameters[i], size);
		fputc('\n', out);
	}
	pthread_mutex_unlock(&lock);
}

static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			     const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)user;
	(void)domain;
	if (call->callbackSite != CUPTI_API_ENTER)
		return;
	if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
		const cuLaunchKernel_params *p = call->functionParams;
		const unsigned grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ};

		write_launch(call->symbolName, p->f, p->kernelParams, grid);
	} else {
		const cuLaunchKernelEx_params *p = call->functionParams;
		const unsigned grid[3] = {p->config->gridDimX, p->config->gridDimY,
					  p->config->gridDimZ};

		write_launch(call->symbolName, p->f, p->kernelParams, grid);
	}
}

void torch_parameters_case(const char *name)
{
	if (!out)
		return;
	pthread_mutex_lock(&lock);
	fprintf(out, "CASE %s\n", name);
	pthread_mutex_unlock(&lock);
}

static void finish(void)
{
	pthread_mutex_lock(&lock);
	fclose(out);
	pthread_mutex_unlock(&lock);
}

static bool bind(void)
{
	const char *only = getenv("KPROF_CUPTI"), *path = getenv("TORCH_PARAMETERS");
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	char candidate[PATH_MAX];
	bool bound = false;

	for (unsigned i = 0; !bound && kp_cupti_candidate(i, only ? only : "", candidate); i++)
		bound = kp_cupti_bind(&cupti, candidate);
	if (!bound || !driver || !path)
		return false;
	function_parameter = dlsym(driver, "cuFuncGetParamInfo");
	kernel_parameter = dlsym(driver, "cuKernelGetParamInfo");
	out = function_parameter && kernel_parameter ? fopen(path, "w") : NULL;
	if (out)
		fputs("CASE before any\n", out);
	return out != NULL;
}

int InitializeInjection(void)
{
	static const CUpti_CallbackId calls[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
						 CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx};
	static _Atomic bool started;
	CUptiResult result;

	if (atomic_exchange(&started, true))
		return 1;
	if (!bind()) {
		fputs("torch_parameters: no libcupti, no driver from 12.4 on or no file\n", stderr);
		return 1;
	}
	result = cupti.Subscribe(&subscriber, on_call, NULL);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && result == CUPTI_SUCCESS; i++)
		result = cupti.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, calls[i]);
	if (result != CUPTI_SUCCESS)
		fprintf(stderr, "torch_parameters: %s\n", kp_cupti_word(&cupti, result));
	atexit(finish);
	return 1;
}
