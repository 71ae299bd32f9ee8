/* What analyzers/report.h promises of the report of any trace. */
#include "promise.h"

#include <math.h>
#include <stdbool.h>

#include "analyzers/durations.h"
#include "analyzers/report.h"

static bool is_share(double value)
{
	return isfinite(value) && value >= 0 && value <= 100.0001;
}

/* NaN is «not known»; all else lies where it can. */
static void check_traffic(const struct kp_row_traffic *traffic, const struct kp_report *report)
{
	if (!report->traffic.any)
		return;
	REQUIRE(traffic->source == KP_TRAFFIC_UNKNOWN || traffic->bytes >= 0);
	REQUIRE(!(traffic->gbps < 0) && !isinf(traffic->gbps) && !(traffic->gbps_ci95 < 0));
	REQUIRE(!(traffic->peak_pct < 0) && !(traffic->peak_pct > 100));
	REQUIRE(!(traffic->headroom < 1) && !(traffic->tensor_pct > 100));
	for (int i = 0; i < KP_METRIC_COUNT; i++)
		REQUIRE(traffic->metrics[i].source == KP_TRAFFIC_UNKNOWN ||
			(isfinite(traffic->metrics[i].mean) && isfinite(traffic->metrics[i].ci95)));
}

static void check_kernel_row(const struct kp_kernel_row *row, const struct kp_report *report)
{
	REQUIRE(row->mangled && row->full && row->shortened);
	REQUIRE(row->operator_index < report->operator_count);
	REQUIRE(row->durations.timed <= row->calls && row->graph_calls <= row->calls);
	REQUIRE(row->durations.min_ns <= row->durations.max_ns);
	REQUIRE(isfinite(row->durations.mean_ns) && isfinite(row->durations.stddev_ns));
	REQUIRE(isfinite(row->durations.median_ns) && row->durations.stddev_ns >= 0);
	check_traffic(&row->traffic, report);
	for (size_t i = 0; i < row->shape_count; i++)
		check_traffic(&row->shapes[i].traffic, report);
	REQUIRE(is_share(row->shares.kernel_pct) && is_share(row->shares.busy_pct) &&
		is_share(row->shares.span_pct));
}

static void check_host(const struct kp_report *report)
{
	const struct kp_report_host *host = &report->host;
	uint64_t tied = 0, calls = 0;

	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_host_times *times = &report->kernels[i].host;

		tied += times->tied;
		REQUIRE(times->tied <= report->kernels[i].calls);
		REQUIRE(times->call.timed <= times->tied && times->queue.timed <= times->tied);
		REQUIRE(isfinite(times->call_p99_ns) && isfinite(times->queue_p99_ns));
		REQUIRE((times->threads > 0) == (times->tied > 0));
	}
	REQUIRE(tied == host->kernels_tied);
	REQUIRE(host->kernels_tied + host->kernels_untied <= report->counts.kernels);
	REQUIRE(host->calls_tied <= host->calls && host->calls_tied <= host->kernels_tied);
	tied = 0;
	for (size_t i = 0; i < report->operator_count; i++)
		tied += report->operators[i].host.tied;
	REQUIRE(tied == host->kernels_tied);
	for (size_t i = 0; i < host->thread_count; i++)
		calls += host->threads[i].calls;
	REQUIRE(calls == host->calls && (host->any || calls == 0));
}

static void check_report(const struct kp_report *report, uint64_t launches)
{
	uint64_t calls = 0, time_ns = 0;
	size_t rows = 0;

	REQUIRE(report->counts.kernels == launches);
	REQUIRE(report->counts.kernels_timed + report->counts.kernels_untimed +
			report->counts.kernels_invalid ==
		launches);
	for (size_t i = 0; i < report->kernel_count; i++) {
		check_kernel_row(&report->kernels[i], report);
		calls += report->kernels[i].calls;
		time_ns += report->kernels[i].durations.total_ns;
		REQUIRE(report->kernels_by_time[i] < report->kernel_count);
	}
	for (size_t i = 0; i < report->operator_count; i++) {
		REQUIRE(report->operators[i].first_kernel == rows);
		REQUIRE(is_share(report->operators[i].shares.kernel_pct));
		rows += report->operators[i].kernel_count;
	}
	REQUIRE(rows == report->kernel_count);
	REQUIRE(calls == launches && time_ns == report->kernel_ns);
	REQUIRE(report->busy_ns <= report->kernel_ns && report->busy_ns <= report->span_ns);
	REQUIRE(report->advice && *report->advice);
	check_host(report);
}

static void check_iterations(const struct kp_iteration_row *row)
{
	REQUIRE(row->outliers_shown <= KP_OUTLIER_MAX && row->outlier_count <= row->count);
	REQUIRE(isfinite(row->wall.mean) && row->wall.min <= row->wall.max);
	REQUIRE(row->wall.p5 <= row->wall.median && row->wall.median <= row->wall.p95);
	REQUIRE(isfinite(row->launch_ns) && isfinite(row->gain.high_ns));
	REQUIRE(row->gain.low_ns >= 0 && row->gain.low_ns <= row->gain.high_ns);
}

/* Causes add up to idle time, and nothing is alone for longer than it ran. */
static void check_timeline(const struct kp_report *report)
{
	const struct kp_timeline *timeline = report->timeline;

	REQUIRE(timeline);
	for (size_t i = 0; i < report->gpu_count; i++) {
		const struct kp_idle_row *row = &timeline->idle[i];
		uint64_t idle_ns = report->gpus[i].span_ns - report->gpus[i].busy_ns, sum_ns = 0;

		for (unsigned k = 0; k < KP_GAP_CAUSE_COUNT; k++) {
			REQUIRE(row->parts[k].inferred_ns <= row->parts[k].total_ns);
			sum_ns += row->parts[k].total_ns;
		}
		REQUIRE(sum_ns == row->idle_ns && sum_ns >= idle_ns);
		REQUIRE(sum_ns == idle_ns || report->windows.any || report->counts.displaced);
	}
	for (size_t i = 0; i < report->kernel_count; i++)
		REQUIRE(report->kernels[i].alone_ns <= report->kernels[i].durations.total_ns);
	for (size_t i = 0; i < timeline->iteration_count; i++)
		check_iterations(&timeline->iterations[i]);
}

/* Gains lie between nothing and what a chain takes; chains recur, of kernels that there are. */
static void check_fusion(const struct kp_report *report)
{
	const struct kp_report_fusion *fusion = &report->fusion;
	uint64_t time_ns = 0;

	REQUIRE(fusion->count <= KP_FUSION_ROWS_MAX);
	REQUIRE(is_share(fusion->gain_low_pct) && is_share(fusion->gain_high_pct));
	for (size_t i = 0; i < fusion->count; i++) {
		const struct kp_fusion_row *row = &fusion->rows[i];
		double most_ns = (double)row->kernel_ns + (double)row->gap_ns;

		REQUIRE(row->runs >= KP_FUSION_RUNS_LEAST && row->graph_runs <= row->runs);
		REQUIRE(row->id && row->name && row->member_count);
		REQUIRE(row->gain.low >= 0 && row->gain.low <= row->gain.high + 1e-3);
		REQUIRE(row->gain.high <= most_ns * (1 + 1e-9) + 1e-3);
		REQUIRE(is_share(row->alone_pct) && row->graph_gap_ns <= row->gap_ns);
		for (size_t k = 0; k < row->member_count; k++)
			REQUIRE(row->members[k].kernel < report->kernel_count &&
				row->members[k].step);
		time_ns = kp_add_saturating(time_ns, row->kernel_ns);
	}
	REQUIRE(time_ns <= report->kernel_ns);
}

/* Read once: that takes longer than a small input. */
static const struct kp_operators *built_in_rules(void)
{
	static struct kp_operators *rules;

	if (!rules)
		REQUIRE(kp_operators_builtin(&rules) == KP_OK);
	return rules;
}

static void check_with(struct kp_reader *reader, uint64_t launches, const char *iterations)
{
	const struct kp_report_options options = {.threshold_pct = 30,
						  .operators = built_in_rules(),
						  .busy_shares = true,
						  .timeline = true,
						  .step_parts = true,
						  .iterations = iterations};
	struct kp_report *report = NULL;

	REQUIRE(kp_report_build(reader, &options, &report) == KP_OK);
	check_report(report, launches);
	check_timeline(report);
	check_fusion(report);
	promise_diff(report);
	kp_report_destroy(report);
}

void fuzz_check_report(struct kp_reader *reader, uint64_t launches)
{
	check_with(reader, launches, NULL);
	check_with(reader, launches, "decode"); /* which the seeds have */
}
