/*
 * Ranges on their way into a report; see ranges.h for what it says, run_ties.h and host_ties.h for
 * how launches are tied, and report_ranges_own.c for what owns them.
 */
#include "analyzers/ranges_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/demangle.h"
#include "trace/vector.h"

/* Kernels of a process that are given to ranges together, so that they are in order of time. */
#define BATCH_LEAST 16384

const char *const kp_ownership_keys[] = {
#define KEY(name, key, words) key,
	KP_OWNERSHIPS(KEY)
#undef KEY
};
const char *const kp_ownership_words[] = {
#define WORDS(name, key, words) words,
	KP_OWNERSHIPS(WORDS)
#undef WORDS
};

/* ---- before reading ---- */

static enum kp_status begin_process(struct kp_ranges_process *own, const struct kp_process *process)
{
	kp_range_index_init(&own->index);
	if (!process->promised_ranges)
		return KP_OK;
	own->any = true;
	own->calls = process->promised_host_calls > 0;
	own->texts = calloc(process->string_count + 1, sizeof(*own->texts));
	own->phases = calloc(process->string_count + 1, sizeof(*own->phases));
	if (!own->texts || !own->phases)
		return KP_NO_MEMORY;
	if (own->calls)
		return KP_OK;
	own->doubt = kp_run_ties_doubt(process);
	if (!own->doubt)
		own->runs = kp_run_ties_create(process);
	return own->doubt || own->runs ? KP_OK : KP_NO_MEMORY;
}

static size_t rows_most(const struct kp_reader *reader)
{
	uint64_t most = kp_reader_bytes(reader) / KP_RANGE_ROW_BYTES;

	if (most < KP_RANGE_ROWS_LEAST)
		return KP_RANGE_ROWS_LEAST;
	return most < KP_RANGE_ROWS_MOST ? (size_t)most : KP_RANGE_ROWS_MOST;
}

enum kp_status kp_build_ranges_begin(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);
	enum kp_status status = KP_OK;
	bool any = false;

	for (size_t i = 0; i < processes; i++)
		any |= kp_build_process_at(builder, i)->promised_ranges > 0;
	if (!any || !builder->report->options.ranges)
		return KP_OK;
	builder->ranges = calloc(1, sizeof(*builder->ranges));
	if (!builder->ranges)
		return KP_NO_MEMORY;
	builder->ranges->rows_most = rows_most(builder->reader);
	builder->ranges->wants_callers = builder->report->options.callers;
	builder->ranges->damaged_chunks = kp_reader_damage(builder->reader).damaged_chunks;
	builder->ranges->processes = calloc(processes, sizeof(*builder->ranges->processes));
	if (!builder->ranges->processes)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < processes; i++) {
		enum kp_status began = begin_process(&builder->ranges->processes[i],
						     kp_build_process_at(builder, i));

		status = began == KP_OK ? status : began;
	}
	return status;
}

void kp_build_ranges_end(struct kp_builder *builder)
{
	struct kp_build_ranges *ranges = builder->ranges;
	size_t processes = kp_reader_process_count(builder->reader);

	if (!ranges)
		return;
	for (size_t i = 0; ranges->processes && i < processes; i++) {
		struct kp_ranges_process *own = &ranges->processes[i];

		kp_run_ties_destroy(own->runs);
		kp_range_index_fini(&own->index);
		free(own->texts);
		free(own->phases);
		free(own->batch);
		free(own->left);
	}
	free(ranges->processes);
	free(ranges->rows);
	free(ranges->phases);
	kp_intern_fini(&ranges->texts);
	kp_intern_fini(&ranges->row_keys);
	kp_intern_fini(&ranges->caller_keys);
	free(ranges->callers);
	free(ranges);
	builder->ranges = NULL;
}

/* ---- reading ---- */

static struct kp_ranges_process *process_of(const struct kp_builder *builder,
					    const struct kp_process *process)
{
	struct kp_ranges_process *own;

	if (!builder->ranges)
		return NULL;
	own = &builder->ranges->processes[process->index];
	return own->any ? own : NULL;
}

static enum kp_status add_range(struct kp_build_ranges *ranges, struct kp_ranges_process *own,
				const struct kp_range *range)
{
	ranges->ranges++;
	if (kp_time_quality(range->start_ns, range->end_ns) != KP_TIME_VALID ||
	    ranges->kept == KP_RANGES_MOST) {
		ranges->left_out++;
		return KP_OK;
	}
	ranges->kept++;
	return kp_range_index_add(&own->index, range);
}

enum kp_status kp_build_ranges_event(struct kp_builder *builder, const struct kp_event *event)
{
	struct kp_ranges_process *own = process_of(builder, event->process);
	enum kp_status status = KP_OK;

	if (!own)
		return KP_OK;
	for (size_t i = 0; status == KP_OK && i < event->count; i++) {
		if (event->kind == KP_EVENT_RANGES)
			status = add_range(builder->ranges, own, &event->ranges[i]);
		else if (event->kind == KP_EVENT_RUNS && own->runs)
			status = kp_run_ties_add_run(own->runs, &event->runs[i]);
	}
	return status;
}

static enum kp_status add_kernel(struct kp_ranges_process *own,
				 const struct kp_ranges_kernel *kernel)
{
	if (!kp_vector_grow((void **)&own->batch, own->batch_count, &own->batch_capacity,
			    sizeof(*own->batch)))
		return KP_NO_MEMORY;
	own->batch[own->batch_count++] = *kernel;
	return KP_OK;
}

/* Launches of which only the time is known. */
static enum kp_status add_launches(struct kp_ranges_process *own, const struct kp_build_slot *slots,
				   const struct kp_event *event)
{
	struct kp_ranges_kernel *kernel;

	if (!kp_vector_reserve((void **)&own->batch, own->batch_count + event->count,
			       &own->batch_capacity, sizeof(*own->batch)))
		return KP_NO_MEMORY;
	kernel = own->batch + own->batch_count;
	for (size_t i = 0; i < event->count; i++, kernel++) {
		const struct kp_launch *launch = &event->launches[i];
		bool valid = kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID;

		kernel->start_ns = kernel->at_ns = valid ? launch->start_ns : 0;
		kernel->end_ns = valid ? launch->end_ns : 0;
		kernel->thread = 0;
		kernel->use = slots[launch->config].use;
		kernel->row = slots[launch->config].row_plus_one - 1;
		kernel->known = valid;
	}
	own->batch_count += event->count;
	return KP_OK;
}

enum kp_status kp_build_ranges_launches(struct kp_builder *builder, const struct kp_event *event)
{
	struct kp_ranges_process *own = process_of(builder, event->process);
	const struct kp_build_slot *slots = builder->processes[event->process->index].slots;
	enum kp_status status = KP_OK;

	if (!own || own->calls)
		return KP_OK;
	if (!own->runs)
		return add_launches(own, slots, event);
	for (size_t i = 0; status == KP_OK && i < event->count; i++) {
		const struct kp_launch *launch = &event->launches[i];

		status = kp_run_ties_add_launch(own->runs, launch,
						slots[launch->config].row_plus_one - 1);
	}
	return status;
}

/* A record whose launch is known to be of a thread, at a time; or not. */
static enum kp_status add_tied(struct kp_builder *builder, const struct kp_process *process,
			       const struct kp_tie_record *record, bool known, uint32_t thread,
			       uint64_t at_ns)
{
	const struct kp_build_slot *slot =
		&builder->processes[process->index].slots[record->config - process->configs];
	const struct kp_ranges_kernel kernel = {
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.at_ns = at_ns,
		.thread = thread,
		.use = slot->use,
		.row = slot->row_plus_one - 1,
		.known = known,
	};

	return add_kernel(&builder->ranges->processes[process->index], &kernel);
}

enum kp_status kp_build_ranges_tied(struct kp_builder *builder, const struct kp_process *process,
				    const struct kp_tie_record *record,
				    const struct kp_host_call *call)
{
	const struct kp_ranges_process *own = process_of(builder, process);

	if (!own || !own->calls)
		return KP_OK;
	return add_tied(builder, process, record, call != NULL, call ? call->thread : 0,
			call ? call->start_ns : 0);
}

/* What a visit needs. */
struct visit {
	struct kp_builder *builder;
	const struct kp_process *process;
};

static enum kp_status tied_to_run(void *context, const struct kp_tie_record *record,
				  const struct kp_launch_run *run)
{
	const struct visit *visit = context;

	return add_tied(visit->builder, visit->process, record, run != NULL, run ? run->thread : 0,
			run ? run->start_ns : 0);
}

static enum kp_status settle_process(struct kp_builder *builder, const struct kp_process *process,
				     uint64_t watermark_ns)
{
	struct kp_ranges_process *own = &builder->ranges->processes[process->index];
	struct visit visit = {builder, process};
	const struct kp_run_visitor visitor = {&visit, tied_to_run};
	struct kp_ranges_link link = {builder->ranges, process};
	enum kp_status status = KP_OK;

	if (own->runs)
		status = kp_run_ties_settle(own->runs, watermark_ns, &visitor);
	if (status != KP_OK || (own->batch_count < BATCH_LEAST && watermark_ns != UINT64_MAX))
		return status;
	status = kp_range_index_link(&own->index, watermark_ns, kp_ranges_linked, &link);
	return status == KP_OK ? kp_ranges_own(builder, process, watermark_ns) : status;
}

/* Whose the unreadable part is cannot be told here, nor what was in it. */
static void look_for_damage(struct kp_builder *builder, uint64_t damaged)
{
	struct kp_build_ranges *ranges = builder->ranges;

	if (damaged == ranges->damaged_chunks)
		return;
	ranges->damaged_chunks = damaged;
	for (size_t i = 0; i < kp_reader_process_count(builder->reader); i++)
		if (ranges->processes[i].runs)
			kp_run_ties_distrust(ranges->processes[i].runs);
}

static enum kp_status settle(struct kp_builder *builder, uint64_t watermark_ns, uint64_t damaged)
{
	size_t processes = kp_reader_process_count(builder->reader);
	enum kp_status status = KP_OK;

	if (builder->ranges)
		look_for_damage(builder, damaged);
	for (size_t i = 0; builder->ranges && status == KP_OK && i < processes; i++)
		if (builder->ranges->processes[i].any)
			status = settle_process(builder, kp_build_process_at(builder, i),
						watermark_ns);
	return status;
}

enum kp_status kp_build_ranges_settle(struct kp_builder *builder, const struct kp_event *event)
{
	return event->watermark_ns == UINT64_MAX
		       ? KP_OK
		       : settle(builder, event->watermark_ns, event->damaged_chunks);
}

enum kp_status kp_build_ranges_finish(struct kp_builder *builder)
{
	return settle(builder, UINT64_MAX, kp_reader_damage(builder->reader).damaged_chunks);
}

const struct kp_owned_phase *kp_build_ranges_phase(const struct kp_builder *builder, size_t use,
						   enum kp_phase phase)
{
	const struct kp_build_ranges *ranges = builder->ranges;

	if (!ranges || use >= ranges->phase_count ||
	    ranges->processes[builder->uses[use].process].doubt)
		return NULL;
	return &ranges->phases[use][phase];
}
