/* The figures that rules about a report look at; see gates.h. Pure. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzers/gates_rule.h"
#include "analyzers/report_losses.h"

/* Rows that a rule is about, together. */
struct sum {
	size_t rows;
	uint64_t calls, timed, total_ns;
	double bytes, bytes_ns;
};

static void add(struct sum *sum, const struct kp_report *report, uint64_t calls,
		const struct kp_durations *durations, const struct kp_row_traffic *traffic)
{
	sum->rows++;
	sum->calls += calls;
	sum->timed += durations->timed;
	sum->total_ns += durations->total_ns;
	if (report->traffic.any && traffic->source != KP_TRAFFIC_UNKNOWN &&
	    !isnan(traffic->bytes)) {
		sum->bytes += traffic->bytes * (double)calls;
		sum->bytes_ns += (double)durations->total_ns;
	}
}

static struct sum sum_of(const struct kp_gate *gate, const struct kp_report *report)
{
	struct sum sum = {0};

	for (size_t i = 0; gate->subject == KP_GATE_OPERATOR && i < report->operator_count; i++) {
		const struct kp_operator_row *row = &report->operators[i];

		if (strcmp(row->name, gate->name) == 0)
			add(&sum, report, row->calls, &row->durations, &row->traffic);
	}
	for (size_t i = 0; gate->subject == KP_GATE_KERNEL && i < report->kernel_count; i++) {
		const struct kp_kernel_row *row = &report->kernels[i];

		if (kp_gate_fits(gate, row->mangled, row->full, row->shortened))
			add(&sum, report, row->calls, &row->durations, &row->traffic);
	}
	return sum;
}

static void comment(struct kp_gate_figure *figure, const char *text)
{
	snprintf(figure->comment, sizeof(figure->comment), "%s", text);
}

static void judge_rows(const struct kp_gate *gate, const struct kp_report *report,
		       struct kp_gate_figure *figure)
{
	struct sum sum = sum_of(gate, report);
	bool untimed = sum.calls && !sum.timed;

	if (!sum.rows)
		comment(figure, gate->subject == KP_GATE_OPERATOR ? "the operator is absent"
								  : "no kernel fits");
	else if (untimed)
		comment(figure, "none of its launches has times");
	else if (gate->subject == KP_GATE_KERNEL && sum.rows > 1)
		snprintf(figure->comment, sizeof(figure->comment), "%zu kernels", sum.rows);
	switch (gate->field) {
	case KP_GATE_FIELD_CALLS:
		figure->value = (double)sum.calls;
		break;
	case KP_GATE_FIELD_TIME:
		figure->value = untimed ? NAN : (double)sum.total_ns;
		break;
	case KP_GATE_FIELD_SHARE:
		figure->value = untimed || !report->kernel_ns
					? NAN
					: 100 * (double)sum.total_ns / (double)report->kernel_ns;
		break;
	case KP_GATE_FIELD_AVERAGE:
		figure->value = sum.timed ? (double)sum.total_ns / (double)sum.timed : NAN;
		break;
	case KP_GATE_FIELD_BANDWIDTH:
		figure->value = sum.bytes_ns > 0 ? sum.bytes / sum.bytes_ns : NAN;
		if (sum.rows && isnan(figure->value))
			comment(figure, "its bytes were not measured: record with --counters");
		break;
	default:
		break;
	}
}

static double busy_or_idle(const struct kp_gate *gate, uint64_t busy_ns, uint64_t span_ns)
{
	double part_ns = (double)busy_ns;

	if (gate->field == KP_GATE_FIELD_SPAN)
		return (double)span_ns;
	if (!span_ns)
		return NAN;
	if (gate->field == KP_GATE_FIELD_IDLE)
		part_ns = span_ns > busy_ns ? (double)(span_ns - busy_ns) : 0;
	return gate->kind == KP_GATE_PCT ? 100 * part_ns / (double)span_ns : part_ns;
}

/* The worst, or the one that is asked for. */
static void judge_gpu(const struct kp_gate *gate, const struct kp_report *report,
		      struct kp_gate_figure *figure)
{
	bool highest = gate->order == KP_GATE_ABOVE || gate->order == KP_GATE_FROM;

	comment(figure, gate->has_gpu ? "the trace has no such GPU" : "the trace has no GPU");
	for (size_t i = 0; i < report->gpu_count; i++) {
		const struct kp_gpu_row *gpu = &report->gpus[i];
		double value = busy_or_idle(gate, gpu->busy_ns, gpu->span_ns);

		if ((gate->has_gpu && gate->gpu != i) ||
		    (!isnan(figure->value) &&
		     (highest ? value <= figure->value : value >= figure->value)))
			continue;
		figure->value = value;
		snprintf(figure->comment, sizeof(figure->comment), "GPU %zu", i);
	}
}

/* The slowest of the processes and GPUs that have iterations. */
static void judge_iteration(const struct kp_report *report, struct kp_gate_figure *figure)
{
	const struct kp_timeline *timeline = report->timeline;

	comment(figure, "the trace has no iterations");
	for (size_t i = 0; timeline && i < timeline->iteration_count; i++) {
		const struct kp_iteration_row *row = &timeline->iterations[i];

		if (!row->count || (!isnan(figure->value) && row->wall.median <= figure->value))
			continue;
		figure->value = row->wall.median;
		snprintf(figure->comment, sizeof(figure->comment), "median of %" PRIu64,
			 row->count);
	}
}

static void judge_total(const struct kp_gate *gate, const struct kp_report *report,
			struct kp_gate_figure *figure)
{
	switch (gate->field) {
	case KP_GATE_FIELD_TIME:
		figure->value = (double)report->kernel_ns;
		break;
	case KP_GATE_FIELD_CALLS:
		figure->value = (double)report->counts.kernels;
		break;
	case KP_GATE_FIELD_ITERATION:
		judge_iteration(report, figure);
		break;
	default:
		figure->value = busy_or_idle(gate, report->busy_ns, report->span_ns);
		break;
	}
}

enum kp_status kp_gates_judge_report(const struct kp_gate *const *gates, size_t count,
				     struct kp_report *report)
{
	struct kp_gate_outcome *outcomes =
		kp_arena_alloc(report->arena, (count + 1) * sizeof(*outcomes));
	struct kp_losses losses = kp_losses_of(report);
	enum kp_status status = outcomes ? KP_OK : KP_NO_MEMORY;

	for (size_t i = 0; status == KP_OK && i < count; i++) {
		struct kp_gate_figure figure = {.value = NAN};

		if (gates[i]->subject == KP_GATE_GPU)
			judge_gpu(gates[i], report, &figure);
		else if (gates[i]->subject == KP_GATE_TOTAL)
			judge_total(gates[i], report, &figure);
		else
			judge_rows(gates[i], report, &figure);
		if (kp_losses_weigh(&losses))
			kp_losses_describe(&losses, figure.lacks, sizeof(figure.lacks));
		status = kp_gate_settle(gates[i], &figure, report->arena, &outcomes[i]);
	}
	report->gates = outcomes;
	report->gate_count = count;
	return status;
}
