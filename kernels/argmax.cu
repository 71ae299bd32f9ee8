/* The versions of argmax; argmax.h says what they compute, argmax.c which one runs. */
#include "kernels/argmax.h"
#include "kernels/logits.cuh"

template <class T>
__device__ inline void argmax_store(const struct kp_argmax_args &args, unsigned row,
				    logits_best best)
{
	logits_store_index(args, row, best.index);
	if (args.value)
		from_float(best.value, (T *)args.value + row * args.value_row);
}

/* A block has a part of a row: x counts rows, y parts. */
template <class T, bool VECTOR>
__device__ inline void argmax_part(const struct kp_argmax_args &args)
{
	__shared__ logits_best parts[LOGITS_WARPS];
	logits_row<T, VECTOR> row;
	logits_best best;

	row.find(args.x, blockIdx.x, args.x_row, args.x_column, args.columns);
	let_next_launch_begin();
	wait_for_launch_in_front();
	best = logits_best_of(row, logits_part_of(blockIdx.y, args.chunk, row.end));
	best = logits_best_of_block(best, parts);
	if (threadIdx.x != 0)
		return;
	if (args.splits == 1)
		argmax_store<T>(args, blockIdx.x, best);
	else
		((logits_best *)args.workspace)[(size_t)blockIdx.x * args.splits + blockIdx.y] =
			best;
}

/* A warp has a row. */
template <class T> __device__ inline void argmax_finish(const struct kp_argmax_args &args)
{
	unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
	logits_best best = {-INFINITY, 0};

	let_next_launch_begin();
	wait_for_launch_in_front();
	if (row >= args.rows)
		return;
	for (unsigned i = threadIdx.x % WARP; i < args.splits; i += WARP)
		best.merge(((const logits_best *)args.workspace)[(size_t)row * args.splits + i]);
	best.merge_warp();
	if (threadIdx.x % WARP == 0)
		argmax_store<T>(args, row, best);
}

#define KERNEL(name, threads, ...) LOGITS_KERNEL(name, argmax, threads, 1, __VA_ARGS__)

KERNEL(argmax_vector, KP_LOGITS_THREADS, argmax_part<T, true>(args))
KERNEL(argmax_any, KP_LOGITS_THREADS, argmax_part<T, false>(args))
KERNEL(argmax_finish, 128, argmax_finish<T>(args))

#undef KERNEL
