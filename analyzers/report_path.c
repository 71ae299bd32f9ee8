/*
 * The critical paths of a report's GPUs (path.h), along their timelines; see timeline_build.h.
 *
 * Where calls say what gaps are, that is known only when the trace is read again, and the paths are
 * found then; else, or where it is not read again, they are found along with the gaps.
 */
#include "analyzers/timeline_build.h"

enum kp_status kp_line_path(const struct kp_builder *builder, struct kp_line_gpu *gpu,
			    const struct kp_activity *item, const struct kp_gap *gap, bool again)
{
	struct kp_path_times *times = &builder->timeline->path;
	enum kp_status status = KP_OK;

	if (again != (builder->host && !builder->report->options.no_iterations))
		return KP_OK;
	if (!gpu->path)
		gpu->path = kp_path_create();
	if (!gpu->path)
		return KP_NO_MEMORY;
	if (gap)
		status = kp_path_gap(gpu->path, gap->cause, gap->end_ns, times);
	return status == KP_OK ? kp_path_add(gpu->path, item) : status;
}

enum kp_status kp_line_path_end(struct kp_build_timeline *line)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < line->gpu_count && status == KP_OK; i++)
		if (line->gpus[i].path)
			status = kp_path_finish(line->gpus[i].path, &line->path);
	return status;
}

/* Idle time by cause tells copies apart only in gaps that it looked at as a whole, not in those
 * that a window cuts: what the path does not hold is the rest in these, too. */
void kp_line_path_put(const struct kp_line_gpu *gpu, uint64_t span_ns, struct kp_idle_row *row)
{
	const struct kp_path_parts *path = &row->path;
	uint64_t ran_ns;

	if (gpu->path)
		row->path = kp_path_result(gpu->path);
	ran_ns = path->kernel_ns + path->memory_ns + path->others_ns + path->hidden_ns;
	row->path_idle_ns = span_ns > ran_ns ? span_ns - ran_ns : 0;
}

uint64_t kp_build_path_row(const struct kp_builder *builder, uint32_t row)
{
	const struct kp_build_timeline *line = builder->timeline;

	return line && row < line->path.row_count ? line->path.row_ns[row] : 0;
}

uint64_t kp_build_path_operator(const struct kp_builder *builder, size_t operator_index)
{
	const struct kp_build_timeline *line = builder->timeline;

	return line && operator_index < line->path.operator_count
		       ? line->path.operator_ns[operator_index]
		       : 0;
}
