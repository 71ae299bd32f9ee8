/* Labels launch by launch, by the means of a report that is never built; see
 * report_launch_labels.h. */
#include "analyzers/report_launch_labels.h"

#include <stdlib.h>

#include "analyzers/report_build.h"
#include "analyzers/report_written.h"

struct kp_launch_labels {
	struct kp_builder builder;
	struct kp_guess none;
};

enum kp_status kp_launch_labels_create(struct kp_reader *reader,
				       const struct kp_operators *operators,
				       struct kp_launch_labels **out)
{
	struct kp_launch_labels *labels = calloc(1, sizeof(*labels));
	enum kp_status status = KP_NO_MEMORY;
	struct kp_builder *builder;

	*out = NULL;
	if (!labels)
		return KP_NO_MEMORY;
	builder = &labels->builder;
	builder->reader = reader;
	builder->operators = operators;
	builder->guess = &labels->none;
	builder->threads = kp_relay_threads(reader);
	builder->report = calloc(1, sizeof(*builder->report));
	builder->processes =
		calloc(kp_reader_process_count(reader) + 1, sizeof(*builder->processes));
	if (builder->report)
		builder->report->arena = kp_arena_create();
	if (builder->report && builder->report->arena && builder->processes)
		status = kp_build_labels(builder);
	if (status != KP_OK) {
		kp_launch_labels_destroy(labels);
		return status;
	}
	*out = labels;
	return KP_OK;
}

void kp_launch_labels_destroy(struct kp_launch_labels *labels)
{
	struct kp_builder *builder;

	if (!labels)
		return;
	builder = &labels->builder;
	kp_build_sequences_end(builder);
	kp_build_labels_fini(builder);
	kp_build_written_end(builder);
	free(builder->processes);
	kp_report_destroy(builder->report);
	free(labels);
}

const struct kp_process *kp_launch_labels_process(const struct kp_launch_labels *labels,
						  size_t index)
{
	return kp_build_process_at(&labels->builder, index);
}

struct kp_label kp_launch_labels_of(const struct kp_launch_labels *labels, size_t process,
				    uint32_t config)
{
	return kp_build_label_of(&labels->builder, process, config);
}

void kp_launch_labels_rewind(struct kp_launch_labels *labels)
{
	kp_build_written_rewind(&labels->builder);
}

void kp_launch_labels_amend(struct kp_launch_labels *labels, struct kp_event *event)
{
	kp_build_written_amend(&labels->builder, event);
}
