/* The kernels of the null controls; see control.h. */
#include "kernels/control.h"
#include "kernels/numbers.cuh"

__device__ inline float element(const void *data, unsigned long long at, unsigned dtype)
{
	if (dtype == KP_CONTROL_FP32)
		return ((const float *)data)[at];
	if (dtype == KP_CONTROL_FP16)
		return to_float(((const __half *)data)[at]);
	return to_float(((const __nv_bfloat16 *)data)[at]);
}

__device__ inline void set_element(void *data, unsigned long long at, unsigned dtype, float value)
{
	if (dtype == KP_CONTROL_FP32)
		((float *)data)[at] = value;
	else if (dtype == KP_CONTROL_FP16)
		from_float(value, (__half *)data + at);
	else
		from_float(value, (__nv_bfloat16 *)data + at);
}

__device__ inline float product(const struct kp_control_args &args, unsigned row, unsigned column,
				unsigned k)
{
	return element(args.x, (unsigned long long)row * args.depth + k, args.dtype) *
	       element(args.w, (unsigned long long)column * args.depth + k, args.dtype);
}

/* The sum that the original has. */
__device__ inline float in_order(const struct kp_control_args &args, unsigned row, unsigned column)
{
	float sum = 0;

	for (unsigned k = 0; k < args.depth; k++)
		sum += product(args, row, column, k);
	return sum;
}

/* From the back, in parts of 64. */
__device__ inline float in_other_order(const struct kp_control_args &args, unsigned row,
				       unsigned column)
{
	float sum = 0, part = 0;

	for (unsigned k = args.depth; k > 0; k--) {
		part += product(args, row, column, k - 1);
		if (k % 64 == 1) {
			sum += part;
			part = 0;
		}
	}
	return sum + part;
}

__device__ inline float in_half(const struct kp_control_args &args, unsigned row, unsigned column)
{
	float sum = 0;

	for (unsigned k = 0; k < args.depth; k++)
		sum = rounded<__half>(sum + product(args, row, column, k));
	return sum;
}

/*
 * Takes its time: each multiply-add waits for the one before. That the sum is positive ptxas cannot
 * know; what is not used it would leave out.
 */
__device__ inline void spend(const struct kp_control_args &args)
{
#ifdef __CUDA_ARCH__
	float value = 1;

	for (unsigned i = 0; i < args.rounds; i++)
		asm volatile("fma.rn.f32 %0, %0, 0f3F000000, 0f3F800000;" : "+f"(value));
	if (value < 0)
		set_element(args.y, 0, args.dtype, value);
#else
	(void)args; /* the fake driver has its time from the arguments */
#endif
}

struct control_place {
	unsigned row, column;
	unsigned long long at;
	bool is_inside;
};

__device__ inline control_place place_of_thread(const struct kp_control_args &args)
{
	control_place place;

	place.at = (unsigned long long)blockIdx.x * KP_CONTROL_THREADS + threadIdx.x;
	place.is_inside = place.at < (unsigned long long)args.rows * args.columns;
	place.row = (unsigned)(place.at / args.columns);
	place.column = (unsigned)(place.at % args.columns);
	return place;
}

/* What was right in the call before; in the first one, what is right now. */
__device__ inline float stale(const struct kp_control_args &args, const control_place &place,
			      float right)
{
	float *kept = (float *)args.kept + place.at, before = *kept;

	*kept = right;
	return args.call ? before : right;
}

/* What control.def says of a planted fault, where all is right but the place or the value. */
__device__ inline float misplaced(const struct kp_control_args &args, const control_place &place)
{
	unsigned row = place.row, column = place.column;

	if (args.control == KP_CONTROL_WRONG_ROW && row == args.seed % args.rows)
		row = (row + 1) % args.rows;
	if (args.control == KP_CONTROL_OFF_BY_A_TILE)
		column = (column + KP_CONTROL_TILE) % args.columns;
	if (args.control == KP_CONTROL_LAST_COLUMNS && column + KP_CONTROL_TAIL >= args.columns)
		column -= KP_CONTROL_TAIL;
	return in_order(args, row, column);
}

__device__ inline float computed(const struct kp_control_args &args, const control_place &place)
{
	float right = misplaced(args, place);
	unsigned long long spot = args.seed % (args.rows * args.columns);

	switch (args.control) {
	case KP_CONTROL_ZEROS:
		return 0;
	case KP_CONTROL_STALE:
		return stale(args, place, right);
	case KP_CONTROL_NOT_A_NUMBER:
		return place.at == spot ? __uint_as_float(0x7fffffffu) : right;
	case KP_CONTROL_FIRST_CALL_ONLY:
		return args.call ? 0.9f * right : right;
	case KP_CONTROL_HALF_SUMS:
		return in_half(args, place.row, place.column);
	case KP_CONTROL_OTHER_ORDER:
		return in_other_order(args, place.row, place.column);
	default:
		return right;
	}
}

__device__ inline void replace(const struct kp_control_args &args)
{
	control_place place = place_of_thread(args);

	if (place.is_inside)
		set_element(args.y, place.at, args.dtype, computed(args, place));
	if (args.control == KP_CONTROL_CHANGES_INPUT && place.at == 0) {
		unsigned long long at = args.seed % (args.rows * args.depth);

		set_element(args.x, at, args.dtype, element(args.x, at, args.dtype) + 1);
	}
}

extern "C" __global__ void __launch_bounds__(KP_CONTROL_THREADS)
	kp_control_original(const __grid_constant__ struct kp_control_args args)
{
	control_place place = place_of_thread(args);

	if (place.is_inside)
		set_element(args.y, place.at, args.dtype, in_order(args, place.row, place.column));
	spend(args);
}

/* Launched as what a rule has in the original's place. */
extern "C" __global__ void __launch_bounds__(KP_CONTROL_THREADS)
	kp_control_replacement(const __grid_constant__ struct kp_control_args args)
{
	replace(args);
	spend(args);
}

/* The same, behind the wait: its results come when nobody looks any more. */
extern "C" __global__ void __launch_bounds__(KP_CONTROL_THREADS)
	kp_control_late(const __grid_constant__ struct kp_control_args args)
{
	spend(args);
	replace(args);
}

/* A sum of four uniform numbers: of a variance of 1, and never far off. */
__device__ inline float drawn(unsigned long long at, unsigned long long seed)
{
	unsigned long long bits = (at + 1) * 0x9e3779b97f4a7c15ULL ^ seed;
	float sum = 0;

	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ULL;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebULL;
	bits ^= bits >> 31;
	for (int i = 0; i < 4; i++)
		sum += (float)(bits >> 16 * i & 0xffff) / 65536.0f - 0.5f;
	return 1.7320508f * sum;
}

/* Any number of threads: each goes on by the whole grid. */
extern "C" __global__ void __launch_bounds__(KP_CONTROL_THREADS)
	kp_control_fill(const __grid_constant__ struct kp_control_fill_args args)
{
	unsigned long long at = (unsigned long long)blockIdx.x * KP_CONTROL_THREADS + threadIdx.x;

	for (; at < args.count; at += (unsigned long long)gridDim.x * KP_CONTROL_THREADS)
		set_element(args.data, at, args.dtype, drawn(at, args.seed));
}
