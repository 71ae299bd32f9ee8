/* The overview of a report's GPUs; see overview.h. */
#include "analyzers/overview.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/report_build.h"
#include "trace/vector.h"

enum kp_status kp_build_overview_launch(struct kp_builder *builder, uint32_t gpu, uint32_t row,
					uint64_t start_ns, uint64_t end_ns)
{
	struct kp_variant variant;

	if (!builder->report->options.overview || gpu >= KP_OVERVIEW_GPUS_MOST)
		return KP_OK;
	if (!kp_vector_reserve((void **)&builder->overview, (size_t)gpu + 1,
			       &builder->overview_capacity, sizeof *builder->overview))
		return KP_NO_MEMORY;
	variant = kp_operators_variant(builder->operators, builder->rows[row].label.variant);
	return kp_overview_add(&builder->overview[gpu], kp_operators_count(builder->operators),
			       variant.operator_index, start_ns, end_ns);
}

/* One GPU's line, by the report's operators instead of the rules'. */
static enum kp_status put_line(struct kp_builder *builder, const struct kp_overview_line *from,
			       struct kp_overview_line *to)
{
	struct kp_report *report = builder->report;

	*to = *from;
	to->operators = report->operator_count;
	to->time_ns = kp_arena_alloc(report->arena, (report->operator_count + 1) *
							    KP_OVERVIEW_BINS * sizeof(double));
	if (!to->time_ns)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < report->operator_count; i++) {
		for (size_t k = 0; k < from->operators; k++) {
			const char *name = kp_operators_name(builder->operators, k);

			if (strcmp(name, report->operators[i].name) != 0)
				continue;
			memcpy(to->time_ns + i * KP_OVERVIEW_BINS,
			       from->time_ns + k * KP_OVERVIEW_BINS,
			       KP_OVERVIEW_BINS * sizeof(double));
			break;
		}
	}
	return KP_OK;
}

enum kp_status kp_build_overview_put(struct kp_builder *builder)
{
	struct kp_report *report = builder->report;
	size_t count = builder->gpu_count < builder->overview_capacity ? builder->gpu_count
								       : builder->overview_capacity;
	struct kp_overview_line *lines;
	enum kp_status status = KP_OK;

	if (!builder->overview || count == 0)
		return KP_OK;
	lines = kp_arena_alloc(report->arena, count * sizeof *lines);
	if (!lines)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = put_line(builder, &builder->overview[i], &lines[i]);
	report->overview = (struct kp_overview){lines, count};
	return status;
}

void kp_build_overview_end(struct kp_builder *builder)
{
	for (size_t i = 0; i < builder->overview_capacity; i++)
		kp_overview_line_fini(&builder->overview[i]);
	free(builder->overview);
}
