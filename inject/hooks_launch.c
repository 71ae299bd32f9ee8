/*
 * The launch entry points of the driver, counted; see hooks.h.
 *
 * A launch counts when the driver has accepted it and its stream is not being captured: into a
 * capture it only adds a node. Whether a stream is being captured is asked only while some capture
 * is open somewhere.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include "inject/ab.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"
#include "inject/library.h"
#include "inject/runs.h"

typedef CUresult(CUDAAPI *is_capturing_function)(CUstream, CUstreamCaptureStatus *);

/* On the launch path: in line. */
static inline __attribute__((always_inline)) bool runs_now(CUstream stream, bool per_thread)
{
	static _Atomic(is_capturing_function) ask[2];
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (atomic_load_explicit(&kp_hooks_captures, memory_order_relaxed) == 0)
		return true;
	if (!atomic_load(&ask[per_thread])) {
		void *found = kp_hooks_driver_symbol(per_thread ? "cuStreamIsCapturing_ptsz"
								: "cuStreamIsCapturing");

		if (!found)
			return true;
		atomic_store(&ask[per_thread], (is_capturing_function)found);
	}
	return atomic_load(&ask[per_thread])(stream, &status) != CUDA_SUCCESS ||
	       status == CU_STREAM_CAPTURE_STATUS_NONE;
}

bool kp_hooks_runs_now(CUstream stream, bool per_thread)
{
	return runs_now(stream, per_thread);
}

/* What the launch is, for the run that it joins. */
#define GRID_AND_BLOCK                                                                             \
	(const uint32_t[3]){grid_x, grid_y, grid_z}, (const uint32_t[3])                           \
	{                                                                                          \
		block_x, block_y, block_z                                                          \
	}

/* Out of the way of programs without ranges. */
static __attribute__((noinline)) void end_run(struct kp_run_open *run, bool launched, uint32_t kind,
					      const uint32_t grid[3], const uint32_t block[3])
{
	if (launched)
		kp_runs_leave(run, kind, 1, kp_launch_run_shape(grid, block));
	else
		kp_runs_discard(run);
}

static __attribute__((noinline)) void not_launched(CUresult result)
{
	if (result == CUDA_SUCCESS)
		kp_library_captured();
	else
		kp_library_refused();
}

/* On the launch path: in line. */
static inline __attribute__((always_inline)) CUresult counted(struct kp_run_open *run,
							      CUresult result, CUstream stream,
							      bool per_thread, uint32_t kind,
							      const uint32_t grid[3],
							      const uint32_t block[3])
{
	bool launched = result == CUDA_SUCCESS && runs_now(stream, per_thread);

	if (launched) {
		uint64_t issued = kp_hooks_issued(1);

		if (kp_library_cares())
			kp_library_launched(issued);
	} else if (kp_library_cares()) {
		not_launched(result);
	}
	kp_hooks_launch_ends();
	if (kp_runs_entered(run))
		end_run(run, launched, kind, grid, block);
	return result;
}

typedef CUresult(CUDAAPI *launch_function)(CUfunction, unsigned, unsigned, unsigned, unsigned,
					   unsigned, unsigned, unsigned, CUstream, void **,
					   void **);
/*
 * Each launch has two bodies: the usual one, and one for programs with rules of replacement, which
 * asks them, and may run the original twice.
 */
#define LAUNCH_PARAMETERS                                                                          \
	CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
		unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,        \
		void **parameters, void **extra
#define LAUNCH_ARGUMENTS                                                                           \
	function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,         \
		parameters, extra

#define LAUNCH(name, per_thread)                                                                   \
	static CUresult CUDAAPI ruled_##name(LAUNCH_PARAMETERS)                                    \
	{                                                                                          \
		const struct kp_ab_launch launch = {function,                                      \
						    {grid_x, grid_y, grid_z},                      \
						    {block_x, block_y, block_z},                   \
						    shared_bytes,                                  \
						    stream,                                        \
						    per_thread,                                    \
						    parameters,                                    \
						    extra,                                         \
						    false};                                        \
		struct kp_run_open run;                                                            \
		CUresult result;                                                                   \
                                                                                                   \
		if (kp_ab_launch_begins(&launch, &result))                                         \
			return result;                                                             \
		KP_LIBRARY_BEGINS_WITH(function, parameters, extra, stream, per_thread, grid_x,    \
				       grid_y, grid_z, block_x, block_y, block_z);                 \
		kp_runs_enter(&run, stream, per_thread);                                           \
		kp_hooks_launch_begins();                                                          \
		do                                                                                 \
			result = KP_REAL(name, launch_function)(LAUNCH_ARGUMENTS);                 \
		while (kp_ab_again(KP_AB_OPEN_LAUNCH, result == CUDA_SUCCESS));                    \
		return counted(&run, result, stream, per_thread, KP_HOST_LAUNCH, GRID_AND_BLOCK);  \
	}                                                                                          \
	static CUresult CUDAAPI hook_##name(LAUNCH_PARAMETERS)                                     \
	{                                                                                          \
		struct kp_run_open run;                                                            \
		CUresult result;                                                                   \
                                                                                                   \
		KP_LIBRARY_BEGINS_WITH(function, parameters, extra, stream, per_thread, grid_x,    \
				       grid_y, grid_z, block_x, block_y, block_z);                 \
		kp_runs_enter(&run, stream, per_thread);                                           \
		kp_hooks_launch_begins();                                                          \
		result = KP_REAL(name, launch_function)(LAUNCH_ARGUMENTS);                         \
		return counted(&run, result, stream, per_thread, KP_HOST_LAUNCH, GRID_AND_BLOCK);  \
	}                                                                                          \
	KP_WRAPPER(name)
LAUNCH(cuLaunchKernel, false);
LAUNCH(cuLaunchKernel_ptsz, true);

#define CONFIG_SHAPE(config)                                                                       \
	(const uint32_t[3]){(config)->gridDimX, (config)->gridDimY, (config)->gridDimZ},           \
		(const uint32_t[3])                                                                \
	{                                                                                          \
		(config)->blockDimX, (config)->blockDimY, (config)->blockDimZ                      \
	}
#define CONFIG_BEGINS(config, per_thread)                                                          \
	KP_LIBRARY_BEGINS_WITH(function, parameters, extra, (config)->hStream, per_thread,         \
			       (config)->gridDimX, (config)->gridDimY, (config)->gridDimZ,         \
			       (config)->blockDimX, (config)->blockDimY, (config)->blockDimZ)

#define LAUNCH_EX(name, per_thread)                                                                \
	static __attribute__((noinline))                                                           \
	CUresult ruled_##name(const CUlaunchConfig *config, CUfunction function,                   \
			      void **parameters, void **extra)                                     \
	{                                                                                          \
		static const CUlaunchConfig none;                                                  \
		const CUlaunchConfig *known = config ? config : &none;                             \
		const struct kp_ab_launch launch = {                                               \
			function,                                                                  \
			{known->gridDimX, known->gridDimY, known->gridDimZ},                       \
			{known->blockDimX, known->blockDimY, known->blockDimZ},                    \
			known->sharedMemBytes,                                                     \
			known->hStream,                                                            \
			per_thread,                                                                \
			parameters,                                                                \
			extra,                                                                     \
			known->numAttrs > 0};                                                      \
		struct kp_run_open run;                                                            \
		CUresult result;                                                                   \
                                                                                                   \
		if (kp_ab_may_replace(known) ? kp_ab_launch_begins(&launch, &result)               \
					     : kp_ab_launch_interrupts(&result))                   \
			return result;                                                             \
		CONFIG_BEGINS(known, per_thread);                                                  \
		kp_runs_enter(&run, known->hStream, per_thread);                                   \
		kp_hooks_launch_begins();                                                          \
		do                                                                                 \
			result = kp_ab_launch_after(KP_REAL(name, kp_ab_launch_ex), config,        \
						    function, parameters, extra);                  \
		while (kp_ab_again(KP_AB_OPEN_LAUNCH, result == CUDA_SUCCESS));                    \
		return counted(&run, result, known->hStream, per_thread, KP_HOST_LAUNCH,           \
			       CONFIG_SHAPE(known));                                               \
	}                                                                                          \
	static CUresult CUDAAPI hook_##name(const CUlaunchConfig *config, CUfunction function,     \
					    void **parameters, void **extra)                       \
	{                                                                                          \
		static const CUlaunchConfig none;                                                  \
		const CUlaunchConfig *known = config ? config : &none;                             \
		struct kp_run_open run;                                                            \
		CUresult result;                                                                   \
                                                                                                   \
		CONFIG_BEGINS(known, per_thread);                                                  \
		kp_runs_enter(&run, known->hStream, per_thread);                                   \
		kp_hooks_launch_begins();                                                          \
		result = KP_REAL(name, kp_ab_launch_ex)(config, function, parameters, extra);      \
		return counted(&run, result, known->hStream, per_thread, KP_HOST_LAUNCH,           \
			       CONFIG_SHAPE(known));                                               \
	}                                                                                          \
	KP_WRAPPER(name)
LAUNCH_EX(cuLaunchKernelEx, false);
LAUNCH_EX(cuLaunchKernelEx_ptsz, true);

void *kp_ab_wrapper(size_t hook)
{
	switch (hook) {
	case KP_HOOK_cuLaunchKernel:
		return (void *)ruled_cuLaunchKernel;
	case KP_HOOK_cuLaunchKernel_ptsz:
		return (void *)ruled_cuLaunchKernel_ptsz;
	case KP_HOOK_cuLaunchKernelEx:
		return (void *)ruled_cuLaunchKernelEx;
	case KP_HOOK_cuLaunchKernelEx_ptsz:
		return (void *)ruled_cuLaunchKernelEx_ptsz;
	default:
		return kp_ab_wrapper_of_modules(hook);
	}
}

typedef CUresult(CUDAAPI *launch_cooperative_function)(CUfunction, unsigned, unsigned, unsigned,
						       unsigned, unsigned, unsigned, unsigned,
						       CUstream, void **);
#define LAUNCH_COOPERATIVE(name, per_thread)                                                       \
	static CUresult CUDAAPI hook_##name(CUfunction function, unsigned grid_x, unsigned grid_y, \
					    unsigned grid_z, unsigned block_x, unsigned block_y,   \
					    unsigned block_z, unsigned shared_bytes,               \
					    CUstream stream, void **parameters)                    \
	{                                                                                          \
		struct kp_run_open run;                                                            \
		CUresult result;                                                                   \
                                                                                                   \
		KP_LIBRARY_BEGINS_WITH(function, parameters, NULL, stream, per_thread, grid_x,     \
				       grid_y, grid_z, block_x, block_y, block_z);                 \
		kp_runs_enter(&run, stream, per_thread);                                           \
		kp_hooks_launch_begins();                                                          \
		result = KP_REAL(name, launch_cooperative_function)(                               \
			function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, \
			stream, parameters);                                                       \
		return counted(&run, result, stream, per_thread, KP_HOST_COOPERATIVE,              \
			       GRID_AND_BLOCK);                                                    \
	}                                                                                          \
	KP_WRAPPER(name)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false);
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true);

/*
 * The forms of CUDA 3, which some programs still use. The block is set by another call, so that
 * their shape is not known, and what is in a run with them is not taken for tied.
 */
static const uint32_t no_block[3] = {0};

typedef CUresult(CUDAAPI *launch_1_function)(CUfunction);
static CUresult CUDAAPI hook_cuLaunch(CUfunction function)
{
	struct kp_run_open run;
	CUresult result;

	KP_LIBRARY_BEGINS(NULL, false, 1, 1, 1, 0, 0, 0);
	kp_runs_enter(&run, NULL, false);
	kp_hooks_launch_begins();
	result = KP_REAL(cuLaunch, launch_1_function)(function);
	return counted(&run, result, NULL, false, KP_HOST_LAUNCH, (const uint32_t[3]){1, 1, 1},
		       no_block);
}
KP_WRAPPER(cuLaunch);

typedef CUresult(CUDAAPI *launch_grid_function)(CUfunction, int, int);
static CUresult CUDAAPI hook_cuLaunchGrid(CUfunction function, int width, int height)
{
	struct kp_run_open run;
	CUresult result;

	KP_LIBRARY_BEGINS(NULL, false, (unsigned)width, (unsigned)height, 1, 0, 0, 0);
	kp_runs_enter(&run, NULL, false);
	kp_hooks_launch_begins();
	result = KP_REAL(cuLaunchGrid, launch_grid_function)(function, width, height);
	return counted(&run, result, NULL, false, KP_HOST_LAUNCH,
		       (const uint32_t[3]){(uint32_t)width, (uint32_t)height, 1}, no_block);
}
KP_WRAPPER(cuLaunchGrid);

typedef CUresult(CUDAAPI *launch_grid_async_function)(CUfunction, int, int, CUstream);
static CUresult CUDAAPI hook_cuLaunchGridAsync(CUfunction function, int width, int height,
					       CUstream stream)
{
	struct kp_run_open run;
	CUresult result;

	KP_LIBRARY_BEGINS(stream, false, (unsigned)width, (unsigned)height, 1, 0, 0, 0);
	kp_runs_enter(&run, stream, false);
	kp_hooks_launch_begins();
	result = KP_REAL(cuLaunchGridAsync, launch_grid_async_function)(function, width, height,
									stream);
	return counted(&run, result, stream, false, KP_HOST_LAUNCH,
		       (const uint32_t[3]){(uint32_t)width, (uint32_t)height, 1}, no_block);
}
KP_WRAPPER(cuLaunchGridAsync);
