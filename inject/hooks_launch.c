/*
 * The launch entry points of the driver, counted; see hooks.h.
 *
 * A launch counts when the driver has accepted it and its stream is not being captured: into a
 * capture it only adds a node. Whether a stream is being captured is asked only while some capture
 * is open somewhere.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

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
	} else if (result == CUDA_SUCCESS && kp_library_cares()) {
		kp_library_captured();
	}
	kp_hooks_launch_ends();
	if (kp_runs_entered(run))
		end_run(run, launched, kind, grid, block);
	return result;
}

typedef CUresult(CUDAAPI *launch_function)(CUfunction, unsigned, unsigned, unsigned, unsigned,
					   unsigned, unsigned, unsigned, CUstream, void **,
					   void **);
#define LAUNCH(name, per_thread)                                                                   \
	static CUresult CUDAAPI hook_##name(CUfunction function, unsigned grid_x, unsigned grid_y, \
					    unsigned grid_z, unsigned block_x, unsigned block_y,   \
					    unsigned block_z, unsigned shared_bytes,               \
					    CUstream stream, void **parameters, void **extra)      \
	{                                                                                          \
		struct kp_run_open run;                                                            \
		CUresult result;                                                                   \
                                                                                                   \
		KP_LIBRARY_BEGINS(stream, per_thread, grid_x, grid_y, grid_z, block_x, block_y,    \
				  block_z);                                                        \
		kp_runs_enter(&run, stream, per_thread);                                           \
		kp_hooks_launch_begins();                                                          \
		result = KP_REAL(name, launch_function)(function, grid_x, grid_y, grid_z, block_x, \
							block_y, block_z, shared_bytes, stream,    \
							parameters, extra);                        \
		return counted(&run, result, stream, per_thread, KP_HOST_LAUNCH, GRID_AND_BLOCK);  \
	}                                                                                          \
	KP_WRAPPER(name)
LAUNCH(cuLaunchKernel, false);
LAUNCH(cuLaunchKernel_ptsz, true);

typedef CUresult(CUDAAPI *launch_ex_function)(const CUlaunchConfig *, CUfunction, void **, void **);
#define LAUNCH_EX(name, per_thread)                                                                \
	static CUresult CUDAAPI hook_##name(const CUlaunchConfig *config, CUfunction function,     \
					    void **parameters, void **extra)                       \
	{                                                                                          \
		static const CUlaunchConfig none;                                                  \
		const CUlaunchConfig *known = config ? config : &none;                             \
		struct kp_run_open run;                                                            \
		CUresult result;                                                                   \
                                                                                                   \
		KP_LIBRARY_BEGINS(known->hStream, per_thread, known->gridDimX, known->gridDimY,    \
				  known->gridDimZ, known->blockDimX, known->blockDimY,             \
				  known->blockDimZ);                                               \
		kp_runs_enter(&run, known->hStream, per_thread);                                   \
		kp_hooks_launch_begins();                                                          \
		result = KP_REAL(name, launch_ex_function)(config, function, parameters, extra);   \
		return counted(                                                                    \
			&run, result, known->hStream, per_thread, KP_HOST_LAUNCH,                  \
			(const uint32_t[3]){known->gridDimX, known->gridDimY, known->gridDimZ},    \
			(const uint32_t[3]){known->blockDimX, known->blockDimY,                    \
					    known->blockDimZ});                                    \
	}                                                                                          \
	KP_WRAPPER(name)
LAUNCH_EX(cuLaunchKernelEx, false);
LAUNCH_EX(cuLaunchKernelEx_ptsz, true);

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
		KP_LIBRARY_BEGINS(stream, per_thread, grid_x, grid_y, grid_z, block_x, block_y,    \
				  block_z);                                                        \
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
