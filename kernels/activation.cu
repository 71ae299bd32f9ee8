/* The versions of the activations; activation.h says what they compute, activation.c which one
 * runs. */
#include "kernels/activation.h"
#include "kernels/numbers.cuh"

#define GELU_SLOPE 0.7978845608028654f /* √(2/π) */
#define GELU_CUBE 0.044715f
#define HALF_ROOT 0.7071067811865476f

/* v · sigmoid(u) */
__device__ inline float times_sigmoid(float v, float u)
{
	return __fdividef(v, 1 + __expf(-u));
}

template <int ACTIVATION> __device__ inline float activate(float v)
{
	if (ACTIVATION == KP_ACTIVATION_SILU)
		return times_sigmoid(v, v);
	if (ACTIVATION == KP_ACTIVATION_GELU_TANH)
		return times_sigmoid(v, 2 * GELU_SLOPE * (v + GELU_CUBE * v * v * v));
	return 0.5f * v * (1 + erff(v * HALF_ROOT));
}

template <class T, int ACTIVATION>
__device__ inline float activated(const struct kp_activation_args &args, float x, float up)
{
	float value = activate<ACTIVATION>(x);

	if (!args.up)
		return value;
	return (args.round_like_eager ? rounded<T>(value) : value) * up;
}

/* Where a block works: tile `blockIdx.x` of its row `blockIdx.y`, or a later row. */
template <class T, int ACTIVATION, int VECTORS>
__device__ inline void activation_tile(const struct kp_activation_args &args, long long row)
{
	const T *x = (const T *)args.x + row * args.x_row;
	const T *up = (const T *)args.up + row * args.up_row;
	T *y = (T *)args.y + row * args.y_row;
	unsigned vectors = args.columns / WIDTH;
	unsigned first = blockIdx.x * blockDim.x * VECTORS + threadIdx.x;
	uint4 gates[VECTORS], ups[VECTORS] = {};

#pragma unroll
	for (int i = 0; i < VECTORS; i++)
		if (first + i * blockDim.x < vectors) {
			gates[i] = load_once(x + (first + i * blockDim.x) * (size_t)WIDTH);
			if (args.up)
				ups[i] = load_once(up + (first + i * blockDim.x) * (size_t)WIDTH);
		}
#pragma unroll
	for (int i = 0; i < VECTORS; i++) {
		float values[WIDTH], factors[WIDTH];

		if (first + i * blockDim.x >= vectors)
			continue;
		unpack<T>(gates[i], values);
		unpack<T>(ups[i], factors);
#pragma unroll
		for (int j = 0; j < WIDTH; j++)
			values[j] = activated<T, ACTIVATION>(args, values[j], factors[j]);
		*(uint4 *)(y + (first + i * blockDim.x) * (size_t)WIDTH) = pack<T>(values);
	}
}

template <class T, int ACTIVATION>
__device__ inline void activation_elements(const struct kp_activation_args &args, long long row)
{
	const T *x = (const T *)args.x + row * args.x_row;
	const T *up = (const T *)args.up + row * args.up_row;
	T *y = (T *)args.y + row * args.y_row;
	unsigned column = blockIdx.x * blockDim.x + threadIdx.x;

	if (column < args.columns)
		from_float(activated<T, ACTIVATION>(args, to_float(x[column]),
						    args.up ? to_float(up[column]) : 0),
			   &y[column]);
}

/* VECTORS 0: by elements. */
template <class T, int ACTIVATION, int VECTORS>
__device__ inline void activation_rows(const struct kp_activation_args &args)
{
	for (long long row = blockIdx.y; row < args.rows; row += gridDim.y) {
		if constexpr (VECTORS == 0)
			activation_elements<T, ACTIVATION>(args, row);
		else
			activation_tile<T, ACTIVATION, VECTORS>(args, row);
	}
}

template <class T, int VECTORS>
__device__ inline void activation(const struct kp_activation_args &args)
{
	let_next_launch_begin();
	wait_for_launch_in_front();
	if (args.activation == KP_ACTIVATION_SILU)
		activation_rows<T, KP_ACTIVATION_SILU, VECTORS>(args);
	else if (args.activation == KP_ACTIVATION_GELU_TANH)
		activation_rows<T, KP_ACTIVATION_GELU_TANH, VECTORS>(args);
	else
		activation_rows<T, KP_ACTIVATION_GELU_ERF, VECTORS>(args);
}

#define KERNEL(name, vectors)                                                                      \
	extern "C" __global__ void __launch_bounds__(256)                                          \
		kp_##name##_bf16(const __grid_constant__ struct kp_activation_args args)           \
	{                                                                                          \
		activation<__nv_bfloat16, vectors>(args);                                          \
	}                                                                                          \
	extern "C" __global__ void __launch_bounds__(256)                                          \
		kp_##name##_fp16(const __grid_constant__ struct kp_activation_args args)           \
	{                                                                                          \
		activation<__half, vectors>(args);                                                 \
	}

KERNEL(activation_vector_1, 1)
KERNEL(activation_vector_2, 2)
KERNEL(activation_any, 0)

#undef KERNEL
