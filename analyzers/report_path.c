/*
 * The critical paths of a report's GPUs (path.h), along their timelines; see timeline_build.h.
 *
 * Where calls say what gaps are, that is known only when the trace is read again, and the paths are
 * found then; else, or where it is not read again, they are found behind the gaps (along.h).
 */
#include "analyzers/timeline_build.h"

enum kp_status kp_line_path(struct kp_build_timeline *line, size_t gpu,
			    const struct kp_activity *item, const struct kp_gap *gap)
{
	struct kp_along_gpu *own = kp_along_gpu(&line->along, gpu);
	enum kp_status status = KP_OK;

	if (!line->along.no_path)
		return KP_OK;
	if (own && !own->path)
		own->path = kp_path_create();
	if (!own || !own->path)
		return KP_NO_MEMORY;
	if (gap)
		status = kp_path_gap(own->path, gap->cause, gap->end_ns, &line->along.path_times);
	return status == KP_OK ? kp_path_add(own->path, item) : status;
}

/* Idle time by cause tells copies apart only in gaps that it looked at as a whole, not in those
 * that a window cuts: what the path does not hold is the rest in these, too. */
void kp_line_path_put(const struct kp_build_timeline *line, size_t gpu, uint64_t span_ns,
		      struct kp_idle_row *row)
{
	const struct kp_path_parts *path = &row->path;
	uint64_t ran_ns;

	if (gpu < line->along.gpu_count && line->along.gpus[gpu].path)
		row->path = kp_path_result(line->along.gpus[gpu].path);
	ran_ns = path->kernel_ns + path->memory_ns + path->others_ns + path->hidden_ns;
	row->path_idle_ns = span_ns > ran_ns ? span_ns - ran_ns : 0;
}

uint64_t kp_build_path_row(const struct kp_builder *builder, uint32_t row)
{
	const struct kp_build_timeline *line = builder->timeline;

	return line && row < line->along.path_times.row_count ? line->along.path_times.row_ns[row]
							      : 0;
}

uint64_t kp_build_path_operator(const struct kp_builder *builder, size_t operator_index)
{
	const struct kp_build_timeline *line = builder->timeline;

	return line && operator_index < line->along.path_times.operator_count
		       ? line->along.path_times.operator_ns[operator_index]
		       : 0;
}
