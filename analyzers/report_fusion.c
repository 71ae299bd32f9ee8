/* Fusion candidates of a report: from the timeline's activities to chains; see fusion.h. */
#include "analyzers/report_fusion.h"

#include <stdlib.h>

#include "analyzers/fusion_build.h"

struct kp_build_fusion {
	struct kp_fusion_finder *finder;
	uint16_t *words; /* of each kp_build_name */
};

enum kp_status kp_build_fusion_begin(struct kp_builder *builder)
{
	struct kp_build_fusion *fusion;
	enum kp_status status;

	if (!builder->timeline || builder->report->options.no_fusion)
		return KP_OK;
	fusion = calloc(1, sizeof(*fusion));
	builder->fusion = fusion;
	if (!fusion)
		return KP_NO_MEMORY;
	status = kp_fusion_finder_create(builder->operators, &fusion->finder);
	if (status != KP_OK)
		return status;
	fusion->words = malloc((builder->name_count + 1) * sizeof(*fusion->words));
	if (!fusion->words)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < builder->name_count; i++)
		fusion->words[i] = kp_fusion_finder_word(fusion->finder, &builder->names[i].label);
	return KP_OK;
}

void kp_build_fusion_end(struct kp_builder *builder)
{
	if (!builder->fusion)
		return;
	kp_fusion_finder_destroy(builder->fusion->finder);
	free(builder->fusion->words);
	free(builder->fusion);
}

static enum kp_status see(const struct kp_builder *builder, const struct kp_activity *item)
{
	const struct kp_build_fusion *fusion = builder->fusion;
	const struct kp_build_use *use = &builder->uses[item->use];
	const uint32_t *names = builder->processes[use->process].names;

	if (item->lane == KP_ACTIVITY_NO_LANE)
		return KP_OK;
	if (item->kind != KP_ACTIVITY_KERNEL)
		return kp_fusion_finder_break(fusion->finder, item->lane);
	return kp_fusion_finder_launch(fusion->finder, item->lane,
				       &(struct kp_fusion_launch){
					       .start_ns = item->start_ns,
					       .end_ns = item->end_ns,
					       .config = &use->info->configs[item->config],
					       .row = item->row,
					       .correlation = item->correlation,
					       .word = fusion->words[names[item->config]],
					       .graph = item->graph,
				       });
}

enum kp_status kp_build_fusion_see(struct kp_builder *builder, const struct kp_activity *items,
				   size_t count)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; builder->fusion && status == KP_OK && i < count; i++)
		status = see(builder, &items[i]);
	return status;
}

enum kp_status kp_build_fusion_put(struct kp_builder *builder)
{
	enum kp_status status;

	if (!builder->fusion)
		return KP_OK;
	status = kp_fusion_finder_end(builder->fusion->finder);
	if (status != KP_OK)
		return status;
	return kp_fusion_put(builder->fusion->finder, builder->operators, builder->kernel_of_row,
			     builder->report);
}
