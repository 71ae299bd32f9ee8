/*
 * Which library call each launch of a report belongs to: library_ties.h finds that out, here it is
 * added up by launch configuration and call. Memory grows with these, not with launches.
 */
#include "analyzers/report_calls.h"

#include <stdlib.h>

#include "analyzers/library_ties.h"
#include "trace/vector.h"

struct kp_build_calls {
	struct kp_library_ties **ties; /* of each process; NULL: it has no calls */
	size_t process_count;
	uint64_t damaged_chunks; /* so far */
	struct kp_intern keys;   /* (process, configuration, call) */
	struct kp_build_called *called;
	size_t count, capacity;
};

/* What a visitor is told of: a tie is of one process. */
struct visit {
	struct kp_build_calls *calls;
	uint32_t process;
};

static enum kp_status find_called(struct kp_build_calls *calls, const uint32_t key[3],
				  struct kp_build_called **out)
{
	uint32_t number;
	bool added;
	enum kp_status status = kp_intern_put(&calls->keys, key, 3 * sizeof(*key), &number, &added);

	if (status != KP_OK)
		return status;
	if (added) {
		if (!kp_vector_grow((void **)&calls->called, calls->count, &calls->capacity,
				    sizeof(*calls->called)))
			return KP_NO_MEMORY;
		calls->called[calls->count++] = (struct kp_build_called){
			.process = key[0], .config = key[1], .call = key[2]};
	}
	*out = &calls->called[number];
	return KP_OK;
}

static enum kp_status count_tie(void *context, const struct kp_library_tie *tie)
{
	const struct visit *visit = context;
	const uint32_t key[3] = {visit->process, tie->config, tie->call};
	struct kp_build_called *called;
	enum kp_status status;

	if (tie->call == KP_LIBRARY_NO_CALL)
		return KP_OK;
	status = find_called(visit->calls, key, &called);
	if (status != KP_OK)
		return status;
	called->launches++;
	called->graph_launches += tie->graph;
	called->calls += tie->part == 0;
	called->total_ns = kp_add_saturating(called->total_ns, tie->duration_ns);
	return KP_OK;
}

enum kp_status kp_build_calls_begin(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);
	struct kp_build_calls *calls = calloc(1, sizeof(*calls));

	builder->calls = calls;
	if (!calls)
		return KP_NO_MEMORY;
	calls->ties = calloc(processes + 1, sizeof(struct kp_library_ties *));
	if (!calls->ties)
		return KP_NO_MEMORY;
	calls->process_count = processes;
	for (size_t i = 0; i < processes; i++) {
		const struct kp_process *process = kp_build_process_at(builder, i);

		if (!kp_library_ties_any(process))
			continue;
		calls->ties[i] = kp_library_ties_create(process);
		if (!calls->ties[i])
			return KP_NO_MEMORY;
	}
	return KP_OK;
}

bool kp_build_calls_wanted(const struct kp_builder *builder, const struct kp_process *process)
{
	return builder->calls->ties[process->index] != NULL;
}

enum kp_status kp_build_calls_launch(struct kp_builder *builder, const struct kp_process *process,
				     uint32_t row, const struct kp_launch *launch)
{
	struct kp_library_ties *ties = builder->calls->ties[process->index];

	return ties ? kp_library_ties_add_launch(ties, launch, row) : KP_OK;
}

enum kp_status kp_build_calls_library(struct kp_builder *builder, const struct kp_event *event)
{
	struct kp_library_ties *ties = builder->calls->ties[event->process->index];
	enum kp_status status = KP_OK;

	for (size_t i = 0; ties && status == KP_OK && i < event->count; i++)
		status = kp_library_ties_add_library(ties, &event->library[i]);
	return status;
}

static enum kp_status settle(struct kp_build_calls *calls, uint32_t process, bool all)
{
	struct visit visit = {calls, process};
	const struct kp_library_visitor visitor = {&visit, count_tie};
	struct kp_library_ties *ties = calls->ties[process];

	return ties ? kp_library_ties_settle(ties, all, &visitor) : KP_OK;
}

/* Where the trace turns out to be broken, records may be missing from here on. */
static void look_for_damage(struct kp_build_calls *calls, uint64_t damaged)
{
	if (damaged == calls->damaged_chunks)
		return;
	calls->damaged_chunks = damaged;
	for (size_t i = 0; i < calls->process_count; i++)
		if (calls->ties[i])
			kp_library_ties_distrust(calls->ties[i]);
}

enum kp_status kp_build_calls_settle(struct kp_builder *builder, const struct kp_event *event)
{
	if (!kp_build_calls_wanted(builder, event->process))
		return KP_OK;
	look_for_damage(builder->calls, event->damaged_chunks);
	return settle(builder->calls, event->process->index, false);
}

static void account(struct kp_report *report, const struct kp_library_ties *ties)
{
	const struct kp_library_account one = kp_library_ties_account(ties);
	struct kp_library_account *all = &report->library;

	report->library_any = true;
	all->calls = kp_add_saturating(all->calls, one.calls);
	all->launches = kp_add_saturating(all->launches, one.launches);
	all->launches_tied = kp_add_saturating(all->launches_tied, one.launches_tied);
	all->launches_lost = kp_add_saturating(all->launches_lost, one.launches_lost);
	all->graph_nodes = kp_add_saturating(all->graph_nodes, one.graph_nodes);
	all->graph_launches = kp_add_saturating(all->graph_launches, one.graph_launches);
	all->kernels_untied = kp_add_saturating(all->kernels_untied, one.kernels_untied);
}

enum kp_status kp_build_calls_finish(struct kp_builder *builder)
{
	struct kp_build_calls *calls = builder->calls;
	enum kp_status status = KP_OK;

	look_for_damage(calls, kp_reader_damage(builder->reader).damaged_chunks);
	for (uint32_t i = 0; status == KP_OK && i < calls->process_count; i++) {
		if (!calls->ties[i])
			continue;
		status = settle(calls, i, true);
		account(builder->report, calls->ties[i]);
	}
	return status;
}

const struct kp_build_called *kp_build_calls_all(const struct kp_builder *builder, size_t *count)
{
	*count = builder->calls->count;
	return builder->calls->called;
}

void kp_build_calls_end(struct kp_builder *builder)
{
	struct kp_build_calls *calls = builder->calls;

	if (!calls)
		return;
	for (size_t i = 0; calls->ties && i < calls->process_count; i++)
		kp_library_ties_destroy(calls->ties[i]);
	free(calls->ties);
	kp_intern_fini(&calls->keys);
	free(calls->called);
	free(calls);
	builder->calls = NULL;
}
