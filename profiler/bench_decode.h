/*
 * linear_skinny and attention_decode (bench_decode.c), attention_prefill (bench_prefill.c), argmax
 * and topk_topp_sample (bench_logits.c) for the table of bench_operators.c; see bench_operators.h.
 */
#ifndef KP_PROFILER_BENCH_DECODE_H
#define KP_PROFILER_BENCH_DECODE_H

#include "profiler/bench_operators.h"

/* X(name): each has these functions. */
#define KP_BENCH_DECODE(X) X(linear) X(attention) X(prefill) X(argmax) X(sampling)

#define KP_BENCH_DECODE_DECLARE(name)                                                              \
	extern const struct kp_bench_form kp_bench_##name##_form;                                  \
	void kp_bench_##name##_layout(const struct kp_bench_shape *shape,                          \
				      struct kp_bench_layout *out);                                \
	enum kp_status kp_bench_##name##_plan(const struct kp_bench_call *call,                    \
					      const struct kp_kernel_device *device,               \
					      struct kp_kernel_plan *out);                         \
	enum kp_status kp_bench_##name(const struct kp_kernels *kernels,                           \
				       const struct kp_bench_call *call);                          \
	void kp_bench_##name##_bounded(const struct kp_bench_call *call, double *expected,         \
				       double *slack);                                             \
	const char *kp_bench_##name##_trouble(const struct kp_bench_call *call);                   \
	size_t kp_bench_##name##_workspace(const struct kp_bench_call *call,                       \
					   const struct kp_kernel_device *device);
KP_BENCH_DECODE(KP_BENCH_DECODE_DECLARE)
#undef KP_BENCH_DECODE_DECLARE

/*
 * What only hands a call on: enqueue, trouble and workspace of operator `kernel`, whose arguments
 * `args_of` makes of the call. Last, if its workspace depends on the GPU: device.
 */
#define KP_BENCH_DECODE_CALLS(name, kernel, args_of, ...)                                          \
	enum kp_status kp_bench_##name(const struct kp_kernels *kernels,                           \
				       const struct kp_bench_call *call)                           \
	{                                                                                          \
		struct kp_##kernel##_args args = args_of(call);                                    \
                                                                                                   \
		return kp_##kernel(kernels, &args);                                                \
	}                                                                                          \
	const char *kp_bench_##name##_trouble(const struct kp_bench_call *call)                    \
	{                                                                                          \
		struct kp_##kernel##_args args = args_of(call);                                    \
		const char *reason = NULL;                                                         \
                                                                                                   \
		kp_##kernel##_supports(&args, &reason);                                            \
		return reason;                                                                     \
	}                                                                                          \
	size_t kp_bench_##name##_workspace(const struct kp_bench_call *call,                       \
					   const struct kp_kernel_device *device)                  \
	{                                                                                          \
		struct kp_##kernel##_args args = args_of(call);                                    \
                                                                                                   \
		(void)device;                                                                      \
		return kp_##kernel##_workspace(&args, ##__VA_ARGS__);                              \
	}

/* Of a shape; causal, half of them. */
double kp_bench_prefill_flops(const struct kp_bench_shape *shape);

/* All of a row but its name, words and shapes. */
#define KP_BENCH_DECODE_ROW(name)                                                                  \
	.layout = kp_bench_##name##_layout, .plan = kp_bench_##name##_plan,                        \
	.enqueue = kp_bench_##name, .form = &kp_bench_##name##_form,                               \
	.bounded = kp_bench_##name##_bounded, .trouble = kp_bench_##name##_trouble,                \
	.workspace = kp_bench_##name##_workspace

#endif
