/*
 * Trial launches: what a compiler runs to choose a kernel, hundreds of candidates in shapes that
 * the program itself never has. XLA puts kernels of its own around each (it fills the edges of
 * buffers, delays, compares results), so that a trial is known by what was launched just before it
 * in its process. Compilers that leave no such kernels are not seen.
 */
#include "analyzers/report_trials.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/durations.h"

/* A candidate is one kernel, or two where the sum of a split product is its own. */
#define CANDIDATE_MOST 2

struct kp_build_trials {
	struct kp_build_trial *of; /* each configuration */
	bool *autotunes;           /* the same: it is a kernel of the compiler's own */
	size_t count;
	unsigned left; /* so many launches from here are trials, if nothing else comes */
};

static bool is_autotuning(const struct kp_builder *builder, const struct kp_label *label)
{
	size_t number = kp_operators_variant(builder->operators, label->variant).operator_index;

	return strcmp(kp_operators_name(builder->operators, number), "autotuning") == 0;
}

static enum kp_status begin_process(struct kp_builder *builder, size_t number)
{
	size_t count = kp_build_process_at(builder, number)->config_count;
	struct kp_build_process *reading = &builder->processes[number];
	struct kp_build_trials *trials = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!is_autotuning(builder, &builder->names[reading->names[i]].label))
			continue;
		if (!trials) {
			trials = calloc(1, sizeof(*trials));
			reading->trials = trials;
			if (!trials)
				return KP_NO_MEMORY;
			trials->of = calloc(count, sizeof(*trials->of));
			trials->autotunes = calloc(count, sizeof(*trials->autotunes));
			trials->count = count;
		}
		if (!trials->of || !trials->autotunes)
			return KP_NO_MEMORY;
		trials->autotunes[i] = true;
	}
	return KP_OK;
}

enum kp_status kp_build_trials_begin(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < processes; i++)
		status = begin_process(builder, i);
	return status;
}

void kp_build_trials_see(struct kp_builder *builder, const struct kp_event *event)
{
	struct kp_build_trials *trials = builder->processes[event->process->index].trials;

	for (size_t i = 0; trials && i < event->count; i++) {
		const struct kp_launch *launch = &event->launches[i];
		struct kp_build_trial *trial = &trials->of[launch->config];

		if (trials->autotunes[launch->config]) {
			trials->left = CANDIDATE_MOST;
			continue;
		}
		if (!trials->left)
			continue;
		trials->left--;
		trial->launches++;
		trial->graph_launches += launch->graph || launch->graph_node;
		if (kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID)
			trial->total_ns = kp_add_saturating(trial->total_ns,
							    launch->end_ns - launch->start_ns);
	}
}

void kp_build_trials_end(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);

	for (size_t i = 0; builder->processes && i < processes; i++) {
		struct kp_build_trials *trials = builder->processes[i].trials;

		if (!trials)
			continue;
		free(trials->of);
		free(trials->autotunes);
		free(trials);
	}
}

struct kp_build_trial kp_build_trials_of(const struct kp_builder *builder, uint32_t process,
					 size_t config)
{
	const struct kp_build_trials *trials = builder->processes[process].trials;

	return trials && config < trials->count ? trials->of[config] : (struct kp_build_trial){0};
}
