/*
 * Along the iterations of a process on a GPU: where they begin and end; see timeline_build.h. The
 * same whether the trace is read the first time, with a guess, or once more.
 */
#include "analyzers/timeline_build.h"

#include <stdlib.h>

enum kp_status kp_line_watch(struct kp_build_timeline *line, struct kp_line_use *use,
			     uint32_t period)
{
	use->iterations = calloc(1, sizeof(*use->iterations));
	if (!use->iterations)
		return KP_NO_MEMORY;
	use->iterations->arena = line->arena;
	use->iterations->room = &line->taken_room;
	use->iterations->period = period;
	return KP_OK;
}

void kp_line_unwatch(struct kp_line_use *use)
{
	if (use->iterations)
		kp_iterations_fini(use->iterations);
	free(use->iterations);
	use->iterations = NULL;
	use->eager_gaps = use->eager_ns = use->launch_gaps = use->launch_ns = 0;
	use->launch_inferred_ns = 0;
	use->at_border = false;
}

/* ---- borders ---- */

uint64_t kp_line_next_border(const struct kp_line_walk *walk)
{
	if (!walk->stretches || walk->next == walk->stretches->count)
		return UINT64_MAX;
	return walk->inside ? walk->stretches->items[walk->next].end_ns
			    : walk->stretches->items[walk->next].begin_ns;
}

void kp_line_cross(struct kp_line_walk *walk)
{
	walk->next += walk->inside;
	walk->inside = !walk->inside;
}

static struct kp_iteration_mark mark_at(const struct kp_line_gpu *gpu,
					const struct kp_line_use *use, uint64_t at_ns)
{
	return (struct kp_iteration_mark){
		.at_ns = at_ns,
		.busy_ns = kp_gaps_busy_until(&gpu->gaps, at_ns),
		.kernels = use->position,
		.eager_gaps = use->eager_gaps,
		.eager_ns = use->eager_ns,
		.launch_gaps = use->launch_gaps,
		.launch_ns = use->launch_ns,
	};
}

/* Where the iterations of a use are looked at. */
struct place {
	struct kp_build_timeline *line;
	size_t gpu, use;
};

static enum kp_status begin(const struct place *at, const struct kp_iteration_mark *mark)
{
	kp_iterations_begin(at->line->uses[at->use].iterations, mark);
	return at->line->steps ? kp_steps_begin(at->line->steps, at->gpu, at->use, mark) : KP_OK;
}

static enum kp_status end(const struct place *at, const struct kp_iteration_mark *mark)
{
	struct kp_iterations *iterations = at->line->uses[at->use].iterations;
	uint64_t found = iterations->found;
	enum kp_status status = kp_iterations_end(iterations, mark);

	if (status != KP_OK || !at->line->steps)
		return status;
	return kp_steps_end(at->line->steps, at->gpu, at->use, mark, iterations->found > found);
}

enum kp_status kp_line_cross_steps(struct kp_build_timeline *line, size_t gpu, size_t number,
				   uint64_t until_ns)
{
	const struct place at = {line, gpu, number};
	struct kp_line_use *use = &line->uses[number];
	enum kp_status status = KP_OK;
	uint64_t at_ns;

	while (status == KP_OK && (at_ns = kp_line_next_border(&use->steps)) <= until_ns &&
	       at_ns != UINT64_MAX) {
		struct kp_iteration_mark mark = mark_at(&line->gpus[gpu], use, at_ns);

		status = use->steps.inside ? end(&at, &mark) : begin(&at, &mark);
		kp_line_cross(&use->steps);
		use->at_border = true;
	}
	return status;
}

/* ---- kernels ---- */

static void add_gap(struct kp_line_use *use, const struct kp_gap *gap)
{
	uint64_t rest_ns = gap->end_ns - gap->begin_ns - gap->memory_ns;

	if (!gap->closable || use->at_border)
		return;
	use->eager_gaps++;
	use->eager_ns += rest_ns;
	if (gap->cause == KP_GAP_LAUNCH) {
		use->launch_gaps++;
		use->launch_ns += rest_ns;
		use->launch_inferred_ns += gap->inferred ? rest_ns : 0;
	}
}

/* Where an iteration begins with a kernel: ends the one before. */
static enum kp_status step(const struct place *at, const struct kp_activity *kernel,
			   const struct kp_gap *gap)
{
	const struct kp_line_gpu *gpu = &at->line->gpus[at->gpu];
	struct kp_line_use *use = &at->line->uses[at->use];
	struct kp_iteration_mark mark = mark_at(gpu, use, kernel->start_ns);
	enum kp_status status = end(at, &mark);

	if (gap)
		add_gap(use, gap);
	mark = mark_at(gpu, use, kernel->start_ns);
	return status == KP_OK ? begin(at, &mark) : status;
}

enum kp_status kp_line_iterate(struct kp_build_timeline *line, size_t gpu,
			       const struct kp_activity *kernel, const struct kp_gap *gap,
			       const struct kp_symbol *graph)
{
	struct kp_line_use *use = &line->uses[kernel->use];
	enum kp_status status = KP_OK;

	if (gap && use->iterations)
		kp_iterations_gap(use->iterations, gap);
	if (use->iterations && use->found &&
	    (kernel->symbol == use->anchor ||
	     (graph && use->graph_symbol_plus_one == use->anchor + 1)))
		status = step(&(struct place){line, gpu, kernel->use}, kernel, gap);
	else if (gap)
		add_gap(use, gap);
	if (status == KP_OK && use->iterations)
		status = kp_iterations_kernel(use->iterations, kernel->symbol,
					      kernel->end_ns - kernel->start_ns);
	use->at_border = false;
	return status;
}
