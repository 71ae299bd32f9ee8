/* The processes of a report: which GPUs each used, how long it kept them busy, how it ended. */
#include "analyzers/report_build.h"
#include "analyzers/report_losses.h"
#include "analyzers/report_timeline.h"

#include <stdlib.h>

#include "trace/limits.h"

bool kp_build_uses_timed(const struct kp_builder *builder)
{
	return builder->report->options.process_times &&
	       kp_reader_process_count(builder->reader) > 1;
}

static uint64_t busy_ns_of(const struct kp_builder *builder, const struct kp_build_use *use)
{
	if (use->sweep)
		return kp_sweep_busy_ns(use->sweep);
	return builder->report->options.process_times ? kp_build_gpu_busy(builder, use->gpu) : 0;
}

static enum kp_status add_use(struct kp_builder *builder, uint32_t process, uint32_t gpu)
{
	struct kp_build_use *use;

	if (builder->use_count == builder->use_capacity) {
		size_t capacity = builder->use_capacity ? builder->use_capacity * 2 : 8;
		struct kp_build_use *uses = realloc(builder->uses, capacity * sizeof(*uses));

		if (!uses)
			return KP_NO_MEMORY;
		builder->uses = uses;
		builder->use_capacity = capacity;
	}
	use = &builder->uses[builder->use_count++];
	*use = (struct kp_build_use){
		.process = process, .gpu = gpu, .info = kp_build_process_at(builder, process)};
	if (!kp_build_uses_timed(builder))
		return KP_OK;
	return kp_sweep_create(NULL, kp_limits_waiting(kp_reader_bytes(builder->reader)),
			       &use->sweep);
}

enum kp_status kp_build_use_of(struct kp_builder *builder, const struct kp_process *process,
			       uint32_t gpu, uint32_t *use)
{
	const uint32_t key[2] = {process->index, gpu};
	enum kp_status status;
	bool added;

	status = kp_intern_put(&builder->use_keys, key, sizeof(key), use, &added);
	return status == KP_OK && added ? add_use(builder, process->index, gpu) : status;
}

enum kp_status kp_build_uses_settle(struct kp_builder *builder, uint64_t watermark_ns)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < builder->use_count; i++)
		if (builder->uses[i].sweep)
			status = kp_sweep_settle(builder->uses[i].sweep, watermark_ns);
	return status;
}

void kp_build_uses_fini(struct kp_builder *builder)
{
	for (size_t i = 0; i < builder->use_count; i++)
		kp_sweep_destroy(builder->uses[i].sweep);
	free(builder->uses);
	kp_intern_fini(&builder->use_keys);
}

/* A process whose collector did not start says no version of CUPTI, and a note says why. */
static bool was_refused(const struct kp_process *process)
{
	return process->info.has && !KP_HAS(&process->info, PROCESS, cupti_version) &&
	       !KP_HAS(&process->info, PROCESS, source) && process->note_count;
}

/* Counts without an end are the launcher's, which appends them when it has seen a process dead. */
static enum kp_process_fate fate_of(const struct kp_process *process)
{
	const struct kp_end *end = &process->end;

	if (KP_HAS(&process->info, PROCESS, untraced))
		return KP_FATE_UNTRACED;
	if (was_refused(process))
		return KP_FATE_REFUSED;
	if (end->has == 0)
		return process->counts.has & ~(1ULL << KP_COUNTS_kernels_lost) ? KP_FATE_KILLED
									       : KP_FATE_UNFINISHED;
	if (KP_HAS(end, END, way) && end->way == KP_END_EXEC)
		return KP_FATE_REPLACED;
	return KP_HAS(end, END, forced) && end->forced ? KP_FATE_ENDED_EARLY : KP_FATE_ENDED;
}

static struct kp_text reason_of(const struct kp_process *process, enum kp_process_fate fate)
{
	bool has_reason = fate == KP_FATE_UNTRACED || fate == KP_FATE_REFUSED;

	if (!has_reason || process->note_count == 0)
		return (struct kp_text){"", 0};
	return process->notes[0].text;
}

enum kp_status kp_build_process_row(struct kp_builder *builder, size_t number,
				    struct kp_process_row *row)
{
	const struct kp_process *process = kp_build_process_at(builder, number);
	uint32_t *gpus;

	*row = (struct kp_process_row){
		.process = process,
		.kernels = builder->processes[number].kernels,
		.kernel_ns = builder->processes[number].kernel_ns,
		.fate = fate_of(process),
	};
	row->reason = reason_of(process, row->fate);
	row->others_ns = kp_build_timeline_others(builder, number);
	kp_losses_count(row);
	for (size_t i = 0; i < builder->use_count; i++)
		row->gpu_count += builder->uses[i].process == number;
	gpus = kp_arena_alloc(builder->report->arena, (row->gpu_count + 1) * sizeof(*gpus));
	if (!gpus)
		return KP_NO_MEMORY;
	row->gpus = gpus;
	for (size_t i = 0; i < builder->use_count; i++) {
		const struct kp_build_use *use = &builder->uses[i];

		if (use->process != number)
			continue;
		*gpus++ = use->gpu;
		row->busy_ns += busy_ns_of(builder, use);
	}
	return KP_OK;
}
