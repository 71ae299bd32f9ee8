/* Where kernels stand beneath the roof; see roofline.h. Pure. */
#include "profiler/roofline.h"

#include <math.h>

static void add_point(struct kp_roof *roof, const struct kp_kernel_row *kernel)
{
	const struct kp_row_traffic *traffic = &kernel->traffic;
	struct kp_roof_point *point = &roof->points[roof->count];

	*point = (struct kp_roof_point){.kernel = kernel,
					.letter = (char)('a' + roof->count),
					.flop_per_byte = NAN,
					.tflops = NAN};
	if (isfinite(traffic->flop_per_byte) && traffic->flop_per_byte > 0 &&
	    roof->tensor.value > 0) {
		point->flop_per_byte = traffic->flop_per_byte;
		point->tflops = traffic->flop_per_byte * traffic->gbps / 1e3;
		roof->placed += point->tflops > 0;
	}
	roof->count++;
}

/* Whole decades around the ridge and all points. */
static void set_edges(struct kp_roof *roof)
{
	double low = roof->ridge, high = low, bottom = roof->tensor.value;

	for (size_t i = 0; i < roof->count; i++) {
		const struct kp_roof_point *point = &roof->points[i];
		if (!(point->tflops > 0))
			continue;
		low = fmin(low, point->flop_per_byte);
		high = fmax(high, point->flop_per_byte);
		bottom = fmin(bottom, point->tflops);
	}
	roof->low = pow(10, floor(log10(fmax(low / 2, 1e-3))));
	roof->high = pow(10, ceil(log10(fmin(high * 2, 1e6))));
	roof->bottom = pow(10, floor(log10(fmax(bottom / 2, 1e-6))));
	roof->top = pow(10, ceil(log10(roof->tensor.value * 1.2)));
	roof->high = fmax(roof->high, 10 * roof->low);
	roof->top = fmax(roof->top, 10 * roof->bottom);
}

static bool is_other(const struct kp_roof *roof, const struct kp_gpu_row *gpu)
{
	const struct kp_ceiling *of = gpu->traffic->ceilings.of;

	return of[KP_CEILING_READ].value != roof->memory.value ||
	       of[KP_CEILING_TENSOR_BF16].value != roof->tensor.value;
}

bool kp_roof_of(const struct kp_report *report, struct kp_roof *out)
{
	*out = (struct kp_roof){.ridge = NAN};
	for (size_t i = 0; i < report->gpu_count && !out->gpu; i++) {
		if (report->gpus[i].traffic)
			out->gpu = &report->gpus[i];
	}
	if (!out->gpu)
		return false;
	out->memory = out->gpu->traffic->ceilings.of[KP_CEILING_READ];
	out->tensor = out->gpu->traffic->ceilings.of[KP_CEILING_TENSOR_BF16];
	for (size_t i = 0; i < report->gpu_count; i++)
		out->others |= report->gpus[i].traffic && is_other(out, &report->gpus[i]);
	if (out->memory.source == KP_CEILING_ABSENT || !(out->memory.value > 0))
		return false;
	if (out->tensor.source == KP_CEILING_ABSENT || !(out->tensor.value > 0))
		out->tensor = (struct kp_ceiling){0};
	else
		out->ridge = out->tensor.value * 1e3 / out->memory.value;
	for (size_t i = 0; i < report->kernel_count && out->count < KP_ROOF_POINTS_MAX; i++) {
		const struct kp_kernel_row *kernel = &report->kernels[report->kernels_by_time[i]];
		if (kernel->traffic.source != KP_TRAFFIC_UNKNOWN)
			add_point(out, kernel);
	}
	if (out->tensor.value > 0)
		set_edges(out);
	return true;
}

double kp_roof_at(const struct kp_roof *roof, double flop_per_byte)
{
	return fmin(roof->memory.value * flop_per_byte / 1e3, roof->tensor.value);
}
