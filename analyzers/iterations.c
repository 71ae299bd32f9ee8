/* Iterations; see iterations.h. */
#include "analyzers/iterations.h"

#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

static uint64_t span_between(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

void kp_iterations_gap(struct kp_iterations *iterations, const struct kp_gap *gap)
{
	uint64_t length_ns = gap->end_ns - gap->begin_ns;

	if (!iterations->open || length_ns <= iterations->longest_gap_ns)
		return;
	iterations->longest_gap_ns = length_ns;
	iterations->longest_gap_cause = gap->memory_ns * 2 > length_ns ? KP_GAP_MEMORY : gap->cause;
}

/* ---- what each kernel took ---- */

enum kp_status kp_iterations_reserve(struct kp_iterations *iterations, uint32_t symbol)
{
	struct kp_iteration_kernels *kernels = &iterations->kernels_taken;

	return kp_vector_reserve((void **)&kernels->slots, (size_t)symbol + 1, &kernels->slot_count,
				 sizeof(*kernels->slots)) &&
			       kp_vector_reserve((void **)&kernels->symbols,
						 kernels->slot_count + 1, &kernels->symbol_capacity,
						 sizeof(*kernels->symbols))
		       ? KP_OK
		       : KP_NO_MEMORY;
}

static void open_kernels(struct kp_iteration_kernels *kernels)
{
	kernels->count = 0;
	if (++kernels->open)
		return;
	if (kernels->slots) /* numbers begin anew: nothing is of any */
		memset(kernels->slots, 0, kernels->slot_count * sizeof(*kernels->slots));
	kernels->open = 1;
}

void kp_iterations_begin(struct kp_iterations *iterations, const struct kp_iteration_mark *mark)
{
	iterations->open = true;
	iterations->begin = *mark;
	open_kernels(&iterations->kernels_taken);
	iterations->longest_gap_ns = 0;
	iterations->longest_gap_cause = KP_GAP_UNKNOWN;
}

static void copy_open(const struct kp_iteration_kernels *kernels, struct kp_iteration_kernel *out)
{
	for (size_t i = 0; i < kernels->count; i++)
		out[i] = (struct kp_iteration_kernel){kernels->slots[kernels->symbols[i]].total_ns,
						      kernels->symbols[i]};
}

/* Gives a kept iteration a list of its own; where there is no room none of its kernels is told. */
static enum kp_status own_taken(struct kp_iterations *iterations, struct kp_iteration *iteration)
{
	const struct kp_iteration_kernel *from = iteration->taken;
	size_t count = iteration->taken_count;

	iteration->taken = NULL;
	iteration->taken_count = 0;
	if (!count || count > *iterations->room)
		return KP_OK;
	iteration->taken = malloc(count * sizeof(*from));
	if (!iteration->taken)
		return KP_NO_MEMORY;
	if (from)
		memcpy(iteration->taken, from, count * sizeof(*from));
	else
		copy_open(&iterations->kernels_taken, iteration->taken);
	iteration->taken_count = count;
	*iterations->room -= count;
	return KP_OK;
}

static void disown_taken(struct kp_iterations *iterations, struct kp_iteration *iteration)
{
	*iterations->room += iteration->taken_count;
	free(iteration->taken);
	iteration->taken = NULL;
	iteration->taken_count = 0;
}

void kp_iterations_fini(struct kp_iterations *iterations)
{
	for (size_t i = 0; i < KP_WARMUP_MAX; i++)
		disown_taken(iterations, &iterations->early[i]);
	for (size_t i = 0; i < iterations->top_count; i++)
		disown_taken(iterations, &iterations->top[i]);
	free(iterations->kernels_taken.slots);
	free(iterations->kernels_taken.symbols);
}

/* The kernel that took most more than usual. */
static void put_kernel(const struct kp_iteration *iteration, const double *usual_ns,
		       struct kp_iteration_outlier *out)
{
	for (size_t i = 0; i < iteration->taken_count; i++) {
		uint32_t symbol = iteration->taken[i].symbol;
		double more_ns = (double)iteration->taken[i].total_ns - usual_ns[symbol];

		if (more_ns < 1 || more_ns <= (double)out->kernel_more_ns)
			continue;
		out->kernel_symbol = symbol;
		out->kernel_more_ns = (uint64_t)more_ns;
	}
}

static enum kp_status keep_if_long(struct kp_iterations *iterations,
				   const struct kp_iteration *iteration)
{
	struct kp_iteration *top = iterations->top;
	size_t at = iterations->top_count;

	if (at == KP_OUTLIER_MAX && top[--at].wall_ns >= iteration->wall_ns)
		return KP_OK;
	if (at == iterations->top_count)
		iterations->top_count++;
	else
		disown_taken(iterations, &top[at]);
	for (; at && top[at - 1].wall_ns < iteration->wall_ns; at--)
		top[at] = top[at - 1];
	top[at] = *iteration;
	return own_taken(iterations, &top[at]);
}

/* Takes one into the statistics. */
static enum kp_status count(struct kp_iterations *iterations, const struct kp_iteration *iteration)
{
	enum kp_status status;

	status = kp_durations_add(&iterations->walls, iteration->wall_ns, iterations->arena);
	if (status == KP_OK)
		status = kp_durations_add(&iterations->busy, iteration->busy_ns, iterations->arena);
	if (status == KP_OK)
		status = kp_durations_add(&iterations->kernels, iteration->kernels,
					  iterations->arena);
	if (status == KP_OK)
		status = keep_if_long(iterations, iteration);
	iterations->eager_gaps += (double)iteration->eager_gaps;
	iterations->eager_ns += (double)iteration->eager_ns;
	iterations->launch_gaps += (double)iteration->launch_gaps;
	iterations->launch_ns += (double)iteration->launch_ns;
	return status;
}

/* Whether it has about as many launches as it should. */
static bool is_regular(const struct kp_iterations *iterations, uint64_t kernels)
{
	uint64_t period = iterations->period;

	return !period || (kernels >= period - period / 4 && kernels <= period + period / 4);
}

enum kp_status kp_iterations_end(struct kp_iterations *iterations,
				 const struct kp_iteration_mark *mark)
{
	const struct kp_iteration_mark *begin = &iterations->begin;
	struct kp_iteration iteration = {
		.number = iterations->found,
		.begin_ns = begin->at_ns,
		.wall_ns = span_between(begin->at_ns, mark->at_ns),
		.busy_ns = span_between(begin->busy_ns, mark->busy_ns),
		.kernels = span_between(begin->kernels, mark->kernels),
		.eager_gaps = span_between(begin->eager_gaps, mark->eager_gaps),
		.eager_ns = span_between(begin->eager_ns, mark->eager_ns),
		.launch_gaps = span_between(begin->launch_gaps, mark->launch_gaps),
		.launch_ns = span_between(begin->launch_ns, mark->launch_ns),
		.longest_gap_ns = iterations->longest_gap_ns,
		.longest_gap_cause = iterations->longest_gap_cause,
		.taken_count = iterations->kernels_taken.count,
	};
	enum kp_status status;

	if (!iterations->open)
		return KP_OK;
	iterations->open = false;
	if (!is_regular(iterations, iteration.kernels)) {
		iterations->irregular++;
		return KP_OK;
	}
	status = kp_durations_add(&iterations->all_walls, iteration.wall_ns, iterations->arena);
	if (status != KP_OK)
		return status;
	if (iterations->found >= KP_WARMUP_MAX) {
		iterations->found++;
		return count(iterations, &iteration);
	}
	status = own_taken(iterations, &iteration);
	iterations->early[iterations->found++] = iteration;
	return status;
}

static struct kp_spread spread_of(const struct kp_duration_tally *tally)
{
	struct kp_durations result = kp_durations_result(tally);

	return (struct kp_spread){
		.count = result.timed,
		.min = result.min_ns,
		.max = result.max_ns,
		.mean = result.mean_ns,
		.median = result.median_ns,
		.p5 = kp_durations_quantile(tally, 0.05),
		.p90 = kp_durations_quantile(tally, 0.90),
		.p95 = kp_durations_quantile(tally, 0.95),
		.p99 = kp_durations_quantile(tally, 0.99),
		.cv = result.mean_ns > 0 ? result.stddev_ns / result.mean_ns : 0,
	};
}

/* How many of the first are warm-up. */
static uint64_t warmup_of(const struct kp_iterations *iterations)
{
	double median_ns = kp_durations_result(&iterations->all_walls).median_ns;
	uint64_t most = iterations->found / 2, count = 0;

	most = most < KP_WARMUP_MAX ? most : KP_WARMUP_MAX;
	while (count < most &&
	       (double)iterations->early[count].wall_ns > KP_WARMUP_RATIO * median_ns)
		count++;
	return count < most ? count : 0; /* what does not settle is no warm-up */
}

static void put_outliers(const struct kp_iterations *iterations, const double *usual_ns,
			 struct kp_iteration_row *row)
{
	double from_ns = KP_OUTLIER_RATIO * row->wall.median;

	row->outlier_count = from_ns > 0 ? kp_durations_count_from(&iterations->walls, from_ns) : 0;
	for (size_t i = 0; i < iterations->top_count && i < row->outlier_count; i++) {
		const struct kp_iteration *from = &iterations->top[i];

		row->outliers[row->outliers_shown] = (struct kp_iteration_outlier){
			.number = from->number,
			.begin_ns = from->begin_ns,
			.wall_ns = from->wall_ns,
			.busy_ns = from->busy_ns,
			.kernels = from->kernels,
			.longest_gap_ns = from->longest_gap_ns,
			.longest_gap_cause = from->longest_gap_cause,
		};
		put_kernel(from, usual_ns, &row->outliers[row->outliers_shown++]);
	}
}

static void put_gain(const struct kp_iterations *iterations, struct kp_iteration_row *row)
{
	struct kp_graph_gain *gain = &row->gain;
	double number = (double)row->count;
	double low_ns = iterations->launch_ns - iterations->launch_gaps * gain->node_high_ns;
	double high_ns = iterations->eager_ns - iterations->eager_gaps * gain->node_low_ns;

	row->launch_ns = iterations->launch_ns / number;
	row->launch_bound = row->launch_ns * 100 >= KP_LAUNCH_BOUND_PCT * row->wall.mean;
	gain->gaps = (uint64_t)(iterations->eager_gaps / number + 0.5);
	gain->low_ns = low_ns > 0 ? low_ns / number : 0;
	gain->high_ns = high_ns > 0 ? high_ns / number : 0;
	if (gain->low_ns > gain->high_ns)
		gain->low_ns = gain->high_ns;
}

enum kp_status kp_iterations_finish(struct kp_iterations *iterations, const double *usual_ns,
				    struct kp_iteration_row *row)
{
	uint64_t early = iterations->found < KP_WARMUP_MAX ? iterations->found : KP_WARMUP_MAX;
	enum kp_status status = KP_OK;

	row->warmup = warmup_of(iterations);
	for (uint64_t i = row->warmup; status == KP_OK && i < early; i++)
		status = count(iterations, &iterations->early[i]);
	row->count = iterations->found - row->warmup;
	row->irregular = iterations->irregular;
	row->wall = spread_of(&iterations->walls);
	row->busy = spread_of(&iterations->busy);
	row->kernels = spread_of(&iterations->kernels);
	row->wall_total_ns = kp_durations_result(&iterations->walls).total_ns;
	put_outliers(iterations, usual_ns, row);
	if (row->count)
		put_gain(iterations, row);
	return status;
}
