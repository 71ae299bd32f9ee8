/* All kernels of libkprof_kernels on the CPU, by the names of their symbols; see cpu_kernels.h. */
#include "tests/kernels/cpu_kernels.h"

#include "tests/kernels/cpu.cuh"

#include "kernels/activation.cu"
#include "kernels/argmax.cu"
#include "kernels/attention_decode.cu"
#include "kernels/attention_prefill.cu"
#include "kernels/compare.cu"
#include "kernels/control.cu"
#include "kernels/linear_skinny.cu"
#include "kernels/norm.cu"
#include "kernels/rope.cu"
#include "kernels/softmax.cu"
#include "kernels/topk_topp_sample.cu"

typedef void (*runner)(const struct kp_kernel_plan *plan, const void *args,
		       enum kp_fiber_order order);

template <class Args, void (*KERNEL_FUNCTION)(Args)>
static void run(const struct kp_kernel_plan *plan, const void *args, enum kp_fiber_order order)
{
	cpu_launch(plan, KERNEL_FUNCTION, (const Args *)args, order);
}

// clang-format off
#define norm_ARGS kp_norm_args
#define activation_ARGS kp_activation_args
#define rope_ARGS kp_rope_args
#define softmax_ARGS kp_softmax_args
#define linear_skinny_ARGS kp_linear_skinny_args
#define attention_decode_ARGS kp_attention_decode_args
#define argmax_ARGS kp_argmax_args
#define topk_topp_sample_ARGS kp_topk_topp_sample_args
#define attention_prefill_ARGS kp_attention_call

static const struct {
	const char *symbol;
	runner run;
} rows[] = {
#define KERNEL(image, name) \
	{"kp_" #name "_bf16", run<struct image##_ARGS, kp_##name##_bf16>}, \
	{"kp_" #name "_fp16", run<struct image##_ARGS, kp_##name##_fp16>},
#define KERNEL_LOGITS(image, name) \
	KERNEL(image, name) {"kp_" #name "_fp32", run<struct image##_ARGS, kp_##name##_fp32>},
#include "kernels/kernels.def"
	{"kp_compare_pass_kernel", run<struct kp_compare_args, kp_compare_pass_kernel>},
	{"kp_compare_copy_kernel", run<struct kp_copy_args, kp_compare_copy_kernel>},
	{"kp_compare_checksum_kernel", run<struct kp_checksum_args, kp_compare_checksum_kernel>},
	{"kp_compare_guard_kernel", run<struct kp_guard_args, kp_compare_guard_kernel>},
	{"kp_control_original", run<struct kp_control_args, kp_control_original>},
	{"kp_control_replacement", run<struct kp_control_args, kp_control_replacement>},
	{"kp_control_late", run<struct kp_control_args, kp_control_late>},
	{"kp_control_fill", run<struct kp_control_fill_args, kp_control_fill>},
};
// clang-format on

bool kp_cpu_kernel_run(const char *symbol, const unsigned grid[2], unsigned threads,
		       unsigned shared_bytes, const void *args, enum kp_fiber_order order)
{
	struct kp_kernel_plan plan = {};

	plan.grid_x = grid[0];
	plan.grid_y = grid[1];
	plan.threads = threads;
	plan.shared_bytes = shared_bytes;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].symbol, symbol) == 0) {
			rows[i].run(&plan, args, order);
			return true;
		}
	return false;
}
