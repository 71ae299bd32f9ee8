/* Reports made by hand; see findings_report.h. */
#include "tests/unit/findings_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void made_begin(struct made *made)
{
	*made = (struct made){.arena = kp_arena_create()};
	if (!made->arena)
		abort();
	KP_SET(&made->device, DEVICE, sm_count, 132);
	KP_SET(&made->device, DEVICE, threads_per_sm, 2048);
	KP_SET(&made->device, DEVICE, blocks_per_sm, 32);
	KP_SET(&made->device, DEVICE, registers_per_sm, 65536);
	KP_SET(&made->device, DEVICE, shared_bytes_per_sm, 233472);
	KP_SET(&made->device, DEVICE, compute_major, 9);
	KP_SET(&made->device, DEVICE, name, ((struct kp_text){"NVIDIA H200", 11}));
	made->report.options.threshold_pct = 30;
	made->report.gpu_count = 1;
}

void made_end(struct made *made)
{
	kp_arena_destroy(made->arena);
}

static struct kp_row_traffic made_no_traffic(void)
{
	return (struct kp_row_traffic){.bytes = NAN,
				       .gbps = NAN,
				       .peak_gbps = NAN,
				       .peak_pct = NAN,
				       .tensor_pct = NAN,
				       .headroom = NAN,
				       .claimed_pct = NAN};
}

/* What counters say of a row; NaN: nothing. */
struct kp_row_traffic made_traffic(double peak_pct, double tensor_pct)
{
	struct kp_row_traffic traffic = made_no_traffic();

	traffic.source = KP_TRAFFIC_MEASURED;
	traffic.peak_pct = peak_pct;
	traffic.tensor_pct = tensor_pct;
	traffic.headroom = 100 / fmax(peak_pct, tensor_pct);
	return traffic;
}

/* A kernel of an operator: 1056 blocks of 128 threads with 32 registers, half of a full wave. */
struct kp_kernel_row *made_kernel(struct made *made, const char *operator_name, const char *name,
				  uint64_t calls, uint64_t mean_ns)
{
	size_t number = made->report.kernel_count++;
	size_t of = made->report.operator_count;
	struct kp_kernel_row *kernel = &made->kernels[number];

	if (!of || strcmp(made->operators[of - 1].name, operator_name) != 0) {
		of = ++made->report.operator_count;
		made->operators[of - 1].name = operator_name;
		made->operators[of - 1].first_kernel = number;
		made->operators[of - 1].traffic = made_no_traffic();
		made->operators[of - 1].stability = &made->shapes[of - 1];
		made->shapes[of - 1] = (struct kp_stability){
			.verdict = KP_SHAPES_SINGLE, .count = 1, .versions = 1, .top_pct = 100};
	}
	made->operators[of - 1].kernel_count++;
	*kernel = (struct kp_kernel_row){.mangled = name,
					 .full = name,
					 .shortened = name,
					 .operator_index = of - 1,
					 .calls = calls,
					 .config_count = 1,
					 .grid = {1056, 1, 1},
					 .block = {128, 1, 1},
					 .registers = 32,
					 .stability = &made->shapes[of - 1],
					 .traffic = made_no_traffic()};
	kernel->durations.timed = calls;
	kernel->durations.total_ns = calls * mean_ns;
	kernel->durations.mean_ns = (double)mean_ns;
	kernel->alone_ns = kernel->durations.total_ns;
	return kernel;
}

static void made_add_up(struct made *made)
{
	struct kp_report *report = &made->report;

	for (size_t i = 0; i < report->kernel_count; i++) {
		struct kp_kernel_row *kernel = &made->kernels[i];
		struct kp_operator_row *row = &made->operators[kernel->operator_index];

		report->kernel_ns += kernel->durations.total_ns;
		report->counts.kernels += kernel->calls;
		report->counts.kernels_timed += kernel->calls;
		row->durations.total_ns += kernel->durations.total_ns;
		row->durations.timed += kernel->calls;
		row->alone_ns += kernel->alone_ns;
		row->calls += kernel->calls;
		made->by_time[i] = i;
		for (size_t k = i;
		     k > 0 && made->kernels[made->by_time[k - 1]].durations.total_ns <
				      made->kernels[made->by_time[k]].durations.total_ns;
		     k--) {
			size_t swapped = made->by_time[k];
			made->by_time[k] = made->by_time[k - 1];
			made->by_time[k - 1] = swapped;
		}
	}
}

static void made_share(struct made *made)
{
	struct kp_report *report = &made->report;

	for (size_t i = 0; i < report->kernel_count; i++) {
		struct kp_kernel_row *kernel = &made->kernels[i];

		kernel->shares.kernel_pct =
			100 * (double)kernel->durations.total_ns / (double)report->kernel_ns;
		kernel->above_threshold = kernel->shares.kernel_pct > report->options.threshold_pct;
	}
	for (size_t i = 0; i < report->operator_count; i++) {
		struct kp_operator_row *row = &made->operators[i];

		row->shares.kernel_pct =
			100 * (double)row->durations.total_ns / (double)report->kernel_ns;
		row->above_threshold = row->shares.kernel_pct > report->options.threshold_pct;
	}
}

/* Looks for findings where kernels ran for busy_pct of the time, one after the other. */
void made_find(struct made *made, double busy_pct)
{
	struct kp_report *report = &made->report;

	made_add_up(made);
	made_share(made);
	report->busy_ns = report->kernel_ns;
	report->span_ns = (uint64_t)((double)report->kernel_ns * 100 / busy_pct + 0.5);
	for (size_t i = 0; i < report->gpu_count; i++)
		made->gpus[i].info = &made->device;
	made->timeline.idle = made->idle;
	made->timeline.iterations = made->iterations;
	report->timeline = &made->timeline;
	report->gpus = made->gpus;
	report->kernels = made->kernels;
	report->kernels_by_time = made->by_time;
	report->operators = made->operators;
	report->processes = &made->process;
	report->process_count = 1;
	if (kp_findings_find(report, &made->options, made->arena, &made->found) != KP_OK)
		abort();
}

/* What is told of an id; NULL: nothing. */
const struct kp_finding *told(const struct made *made, enum kp_finding_id id)
{
	for (size_t i = 0; i < made->found.count; i++)
		if (made->found.items[i].id == id)
			return &made->found.items[i];
	return NULL;
}

const struct kp_finding_held *held(const struct made *made, enum kp_finding_id id)
{
	for (size_t i = 0; i < made->found.held_count; i++)
		if (made->found.held[i].finding.id == id)
			return &made->found.held[i];
	return NULL;
}

/* Whether it was found at all. */
bool found(const struct made *made, enum kp_finding_id id)
{
	return told(made, id) || held(made, id);
}

bool near_to(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-6 * fmax(1, fabs(wanted));
}
