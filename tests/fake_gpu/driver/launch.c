/*
 * Launches of kernels: every door of the driver by which a kernel reaches a stream.
 *
 * The legacy and the per-thread (_ptsz) variants differ in what a NULL stream means.
 */
#include "tests/fake_gpu/driver/call.h"

#include <stdatomic.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/driver/emulate.h"
#include "tests/fake_gpu/driver/function.h"
#include "tests/fake_gpu/driver/graph.h"
#include "tests/fake_gpu/driver/order.h"

struct launch {
	CUfunction function;
	CUstream stream;
	bool per_thread;
	void **arguments, **extra;
	void *unpacked[KP_FAKE_PARAMETERS_MOST]; /* what was in one buffer */
	struct kp_fake_op op;                    /* what it does, without times */
};

struct size {
	unsigned int x, y, z;
};

static struct kp_fake_op describe(struct size grid, struct size block, unsigned int shared_bytes)
{
	return (struct kp_fake_op){
		.kind = KP_FAKE_OP_KERNEL,
		.grid = {grid.x, grid.y, grid.z},
		.block = {block.x, block.y, block.z},
		.dynamic_shared_bytes = shared_bytes,
	};
}

static bool has_size(const struct kp_fake_op *op)
{
	return op->grid[0] && op->grid[1] && op->grid[2] && op->block[0] && op->block[1] &&
	       op->block[2];
}

/* Does what a kernel of a fatbin does, and tells how long that takes; others only take their time.
 */
static uint64_t compute(const struct launch *launch, const struct CUfunc_st *function,
			bool is_captured)
{
	const struct kp_fake_op *op = &launch->op;
	uint64_t blocks = (uint64_t)op->grid[0] * op->grid[1] * op->grid[2];
	uint64_t threads = (uint64_t)op->block[0] * op->block[1] * op->block[2];

	if (function->kernel.compute && launch->arguments && !is_captured)
		function->kernel.compute(op->grid, launch->arguments);
	if (!function->emulation || !launch->arguments)
		return function->kernel.duration_ns;
	if (!function->emulation->run)
		return kp_fake_emulate_operator(function->emulation, op->grid, op->block[0],
						op->dynamic_shared_bytes,
						is_captured ? NULL : launch->arguments);
	return kp_fake_emulate(function->emulation, blocks * threads, launch->arguments);
}

static CUresult submit(struct launch *launch, const struct CUfunc_st *function,
		       struct CUctx_st *context, uint32_t correlation)
{
	static _Atomic uint64_t launches;
	struct CUstream_st *stream;

	stream = kp_fake_stream_resolve(context, launch->stream, launch->per_thread);
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (kp_fake_every(atomic_fetch_add(&launches, 1) + 1, kp_fake_faults()->launch_fail))
		return CUDA_ERROR_LAUNCH_FAILED;
	launch->op.kernel = &function->kernel;
	launch->op.correlation = correlation;
	if (!stream->capture)
		kp_fake_order_kernel(stream, &function->kernel, launch->arguments);
	kp_fake_submit(stream, compute(launch, function, stream->capture != NULL), &launch->op);
	kp_fake_lock();
	if (stream->capture)
		kp_fake_graph_set_arguments(stream->capture_tail, function, launch->arguments);
	kp_fake_unlock();
	kp_fake_interrupt();
	return CUDA_SUCCESS;
}

/* All parameters in one buffer, which must be as large as they are. */
static CUresult unpack(struct launch *launch, const struct CUfunc_st *function)
{
	void **arguments = launch->unpacked;
	unsigned char *buffer = NULL;
	size_t bytes = 0, count = function->kernel.parameter_count;

	for (void **at = launch->extra; at && at[0] != CU_LAUNCH_PARAM_END; at += 2) {
		if (at[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = at[1];
		if (at[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			bytes = *(size_t *)at[1];
	}
	if (launch->arguments || !buffer || !bytes)
		return launch->arguments && launch->extra ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	for (size_t i = 0; i < count; i++)
		arguments[i] = buffer + kp_fake_parameter_offset(function, i);
	if (count &&
	    (unsigned char *)arguments[count - 1] + function->kernel.parameter_bytes[count - 1] >
		    buffer + bytes)
		return CUDA_ERROR_INVALID_VALUE;
	launch->arguments = arguments;
	return CUDA_SUCCESS;
}

static CUresult run(struct launch *launch, struct kp_fake_call *call)
{
	const struct CUfunc_st *function = kp_fake_function(launch->function);
	struct CUctx_st *context;

	call->symbol = function ? function->kernel.name : NULL;
	kp_fake_call_enter(call);
	call->result = kp_fake_ready_context(&context);
	if (call->result == CUDA_SUCCESS && !function)
		call->result = CUDA_ERROR_INVALID_HANDLE;
	if (call->result == CUDA_SUCCESS && !has_size(&launch->op))
		call->result = CUDA_ERROR_INVALID_VALUE;
	if (call->result == CUDA_SUCCESS)
		call->result = unpack(launch, function);
	if (call->result == CUDA_SUCCESS)
		call->result = submit(launch, function, context, call->correlation);
	return kp_fake_call_exit(call);
}

KP_FAKE_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned int grid_x, unsigned int grid_y,
				       unsigned int grid_z, unsigned int block_x,
				       unsigned int block_y, unsigned int block_z,
				       unsigned int shared_bytes, CUstream stream, void **arguments,
				       void **extra)
{
	cuLaunchKernel_params params = {f,       grid_x,       grid_y, grid_z,    block_x, block_y,
					block_z, shared_bytes, stream, arguments, extra};
	struct kp_fake_call call = KP_FAKE_CALL(cuLaunchKernel, &params);
	struct launch launch = {
		.function = f, .stream = stream, .arguments = arguments, .extra = extra};

	launch.op = describe((struct size){grid_x, grid_y, grid_z},
			     (struct size){block_x, block_y, block_z}, shared_bytes);
	return run(&launch, &call);
}

KP_FAKE_EXPORT CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int grid_x, unsigned int grid_y,
					    unsigned int grid_z, unsigned int block_x,
					    unsigned int block_y, unsigned int block_z,
					    unsigned int shared_bytes, CUstream stream,
					    void **arguments, void **extra)
{
	cuLaunchKernel_ptsz_params params = {f,       grid_x,    grid_y,  grid_z,
					     block_x, block_y,   block_z, shared_bytes,
					     stream,  arguments, extra};
	struct kp_fake_call call = KP_FAKE_CALL(cuLaunchKernel_ptsz, &params);
	struct launch launch = {.function = f,
				.stream = stream,
				.per_thread = true,
				.arguments = arguments,
				.extra = extra};

	launch.op = describe((struct size){grid_x, grid_y, grid_z},
			     (struct size){block_x, block_y, block_z}, shared_bytes);
	return run(&launch, &call);
}

/* Reads a launch configuration with its attributes. */
static bool read_config(const CUlaunchConfig *config, struct launch *launch)
{
	if (!config || (config->numAttrs && !config->attrs))
		return false;
	launch->stream = config->hStream;
	launch->op =
		describe((struct size){config->gridDimX, config->gridDimY, config->gridDimZ},
			 (struct size){config->blockDimX, config->blockDimY, config->blockDimZ},
			 config->sharedMemBytes);
	for (unsigned int i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *attribute = &config->attrs[i];

		if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			launch->op.cooperative = attribute->value.cooperative != 0;
		if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			launch->op.cluster[0] = attribute->value.clusterDim.x;
			launch->op.cluster[1] = attribute->value.clusterDim.y;
			launch->op.cluster[2] = attribute->value.clusterDim.z;
		}
	}
	return true;
}

KP_FAKE_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f,
					 void **arguments, void **extra)
{
	cuLaunchKernelEx_params params = {config, f, arguments, extra};
	struct kp_fake_call call = KP_FAKE_CALL(cuLaunchKernelEx, &params);
	struct launch launch = {.function = f, .arguments = arguments, .extra = extra};

	if (!read_config(config, &launch))
		return CUDA_ERROR_INVALID_VALUE;
	return run(&launch, &call);
}

KP_FAKE_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f,
					      void **arguments, void **extra)
{
	cuLaunchKernelEx_ptsz_params params = {config, f, arguments, extra};
	struct kp_fake_call call = KP_FAKE_CALL(cuLaunchKernelEx_ptsz, &params);
	struct launch launch = {
		.function = f, .per_thread = true, .arguments = arguments, .extra = extra};

	if (!read_config(config, &launch))
		return CUDA_ERROR_INVALID_VALUE;
	return run(&launch, &call);
}

KP_FAKE_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int grid_x,
						  unsigned int grid_y, unsigned int grid_z,
						  unsigned int block_x, unsigned int block_y,
						  unsigned int block_z, unsigned int shared_bytes,
						  CUstream stream, void **arguments)
{
	cuLaunchCooperativeKernel_params params = {f,       grid_x,   grid_y,  grid_z,
						   block_x, block_y,  block_z, shared_bytes,
						   stream,  arguments};
	struct kp_fake_call call = KP_FAKE_CALL(cuLaunchCooperativeKernel, &params);
	struct launch launch = {.function = f, .stream = stream, .arguments = arguments};

	launch.op = describe((struct size){grid_x, grid_y, grid_z},
			     (struct size){block_x, block_y, block_z}, shared_bytes);
	launch.op.cooperative = true;
	return run(&launch, &call);
}

KP_FAKE_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int grid_x,
						       unsigned int grid_y, unsigned int grid_z,
						       unsigned int block_x, unsigned int block_y,
						       unsigned int block_z,
						       unsigned int shared_bytes, CUstream stream,
						       void **arguments)
{
	cuLaunchCooperativeKernel_ptsz_params params = {f,       grid_x,   grid_y,  grid_z,
							block_x, block_y,  block_z, shared_bytes,
							stream,  arguments};
	struct kp_fake_call call = KP_FAKE_CALL(cuLaunchCooperativeKernel_ptsz, &params);
	struct launch launch = {
		.function = f, .stream = stream, .per_thread = true, .arguments = arguments};

	launch.op = describe((struct size){grid_x, grid_y, grid_z},
			     (struct size){block_x, block_y, block_z}, shared_bytes);
	launch.op.cooperative = true;
	return run(&launch, &call);
}
