/*
 * How much faster an operator can get: by what counters say of memory and tensor pipes, by its
 * launches, none of which is shorter than an empty kernel, and by the arithmetic of its shapes; see
 * plan.h.
 */
#include <math.h>
#include <string.h>

#include "analyzers/plan_parts.h"

double kp_plan_launch_ns(const struct kp_report *report)
{
	double least_ns = KP_PLAN_LAUNCH_NS;

	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_durations *durations = &report->kernels[i].durations;

		if (durations->timed > 0)
			least_ns = fmin(least_ns, (double)durations->min_ns);
	}
	return least_ns;
}

/* From counters. Waiting for others has no limit of its own. */
static void limit_by_counters(const struct kp_report *report, struct kp_plan_card *card)
{
	const struct kp_row_traffic *traffic = card->row ? &card->row->traffic : NULL;

	if (!traffic || !report->traffic.any || !traffic->source || !(traffic->peak_pct > 0) ||
	    strcmp(card->name, KP_PLAN_COMMUNICATION) == 0)
		return;
	double least_gbps = traffic->gbps - (traffic->gbps_ci95 > 0 ? traffic->gbps_ci95 : 0);
	double memory = 100 / traffic->peak_pct * card->fewer_bytes;
	double tensor = traffic->tensor_pct > 0 ? 100 / traffic->tensor_pct : INFINITY;
	double most =
		least_gbps > 0 ? traffic->peak_gbps / least_gbps * card->fewer_bytes : INFINITY;
	double by_memory = fmax(memory, most);

	card->ceiling = fmax(fmin(by_memory, tensor), 1);
	card->ceiling_by = by_memory <= tensor ? KP_BOUND_MEMORY : KP_BOUND_COMPUTE;
	card->limit_source = traffic->source;
	if (!isfinite(traffic->headroom))
		return;
	card->limit = fmax(fmin(memory, tensor), 1);
	card->limited_by = memory <= tensor ? KP_BOUND_MEMORY : KP_BOUND_COMPUTE;
}

/* The speed-up at which launches, as many as now, are as short as an empty kernel; of the whole
 * with those that overlap now overlapping then. NaN: there is none to go by. */
static double by_launches(const struct kp_plan_build *build, const struct kp_plan_card *card)
{
	const struct kp_report *report = build->report;
	double least_ns = build->plan->launch_ns;

	if (card->row)
		return card->row->durations.timed > 0 ? card->row->durations.mean_ns / least_ns
						      : NAN;
	double launches_ns = least_ns * (double)report->counts.kernels_timed;
	double overlap = (double)report->busy_ns / (double)report->kernel_ns;
	return (double)report->span_ns / (launches_ns * overlap);
}

/* The most operations a second of any type and any GPU of the trace; endless: one is not known. */
static double most_flops(const struct kp_report *report)
{
	double most_tflops = 0;

	for (size_t i = 0; i < report->gpu_count; i++) {
		struct kp_ceilings ceilings;
		double best_tflops = 0;

		kp_ceilings_of_device(report->gpus[i].info, &ceilings);
		for (int k = KP_CEILING_FP64; k < KP_CEILING_COUNT; k++)
			if (ceilings.of[k].source == KP_CEILING_DATASHEET)
				best_tflops = fmax(best_tflops, ceilings.of[k].high);
		if (!(best_tflops > 0))
			return INFINITY;
		most_tflops = fmax(most_tflops, best_tflops);
	}
	return most_tflops * 1e12;
}

/* The speed-up at which the operations of its shapes, as far as they are known and listed, run at
 * that rate. NaN: none is known. */
static double by_arithmetic(const struct kp_plan_build *build, const struct kp_plan_card *card)
{
	const struct kp_operator_row *row = card->row;
	double flops = 0;

	if (!row || row->durations.timed != row->calls)
		return NAN;
	for (size_t i = 0; i < row->stability->shape_count; i++) {
		const struct kp_shape *shape = &row->stability->shapes[i];

		if (isfinite(shape->work.flops))
			flops += shape->work.flops * (double)shape->use.calls;
	}
	double least_ns = 1e9 * flops / most_flops(build->report);
	return least_ns > 0 ? (double)row->durations.total_ns / least_ns : NAN;
}

/* No further than that, where it is known. */
static void cap(struct kp_plan_card *card, double most, enum kp_bound by)
{
	if (!isfinite(most))
		return;
	most = fmax(most, 1);
	if (!(card->ceiling <= most)) {
		card->ceiling = most;
		card->ceiling_by = by;
		card->ceiling_modelled = true;
	}
	if (card->limit > most) {
		card->limit = most;
		card->limited_by = by;
		card->limit_modelled = true;
	}
}

void kp_plan_limit(const struct kp_plan_build *build, struct kp_plan_card *card)
{
	card->limit = card->ceiling = NAN;
	limit_by_counters(build->report, card);
	cap(card, by_launches(build, card) * card->fewer_launches, KP_BOUND_LAUNCH);
	cap(card, by_arithmetic(build, card), KP_BOUND_COMPUTE);
}
