/*
 * The host's side of a report; see report_host.h for what it says and host_ties.h for how calls are
 * tied to kernels. Memory: what is not settled, a tally a kernel, and a number for each thread and
 * for each pair of kernel and thread.
 */
#include "analyzers/report_build.h"

#include <stdlib.h>

#include "analyzers/host_ties.h"
#include "analyzers/report_host_build.h"
#include "analyzers/report_ranges.h"
#include "analyzers/report_timeline.h"
#include "trace/vector.h"

#define P99 0.99
/* Pairs of kernel and thread beyond this are not told apart: threads are then that many at least.
 */
#define PAIR_LIMIT (1U << 20)

struct host_row {
	uint64_t tied;
	struct kp_duration_tally call, queue;
	uint32_t threads;
};

struct kp_build_host {
	struct kp_ties **ties; /* one a process; NULL: it has no calls */
	struct host_row *rows; /* by number of the kernel's row */
	size_t row_count, row_capacity;
	struct kp_duration_tally call; /* of all calls */
	struct kp_intern thread_keys;  /* (process, thread) */
	struct kp_host_thread *threads;
	size_t thread_count, thread_capacity;
	struct kp_intern pairs;  /* (row, number of the thread) */
	struct kp_arena *arena;  /* of the histograms */
	uint64_t damaged_chunks; /* so far */
};

enum kp_status kp_build_host_begin(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);
	bool any = false;

	for (size_t i = 0; i < processes; i++)
		any |= kp_build_process_at(builder, i)->promised_host_calls > 0;
	if (!any)
		return KP_OK;
	builder->host = calloc(1, sizeof(*builder->host));
	if (!builder->host)
		return KP_NO_MEMORY;
	builder->host->ties = calloc(processes, sizeof(struct kp_ties *));
	builder->host->arena = kp_arena_create();
	if (!builder->host->ties || !builder->host->arena)
		return KP_NO_MEMORY;
	builder->report->host.any = true;
	builder->host->damaged_chunks = kp_reader_damage(builder->reader).damaged_chunks;
	for (size_t i = 0; i < processes; i++) {
		const struct kp_process *process = kp_build_process_at(builder, i);

		if (!process->promised_host_calls)
			continue;
		builder->host->ties[i] = kp_ties_create(process);
		if (!builder->host->ties[i])
			return KP_NO_MEMORY;
	}
	return KP_OK;
}

void kp_build_host_end(struct kp_builder *builder)
{
	struct kp_build_host *host = builder->host;
	size_t processes = kp_reader_process_count(builder->reader);

	if (!host)
		return;
	for (size_t i = 0; host->ties && i < processes; i++)
		kp_ties_destroy(host->ties[i]);
	free(host->ties);
	kp_arena_destroy(host->arena);
	free(host->rows);
	free(host->threads);
	kp_intern_fini(&host->thread_keys);
	kp_intern_fini(&host->pairs);
	free(host);
	builder->host = NULL;
}

/* ---- reading ---- */

enum kp_status kp_build_host_launch(struct kp_builder *builder, const struct kp_process *process,
				    uint32_t row, const struct kp_launch *launch)
{
	struct kp_ties *ties = builder->host ? builder->host->ties[process->index] : NULL;

	return ties ? kp_ties_add_launch(ties, launch, row) : KP_OK;
}

/* The number of a thread, and a row for it when it is first seen. */
static enum kp_status find_thread(struct kp_build_host *host, const struct kp_process *process,
				  uint32_t thread, uint32_t *number)
{
	uint32_t key[2] = {process->index, thread};
	enum kp_status status;
	bool added;

	if (kp_intern_find(&host->thread_keys, key, sizeof(key), number))
		return KP_OK;
	if (host->thread_count >= KP_HOST_THREADS_MOST)
		key[1] = 0;
	status = kp_intern_put(&host->thread_keys, key, sizeof(key), number, &added);
	if (status != KP_OK || !added)
		return status;
	if (!kp_vector_grow((void **)&host->threads, host->thread_count, &host->thread_capacity,
			    sizeof(*host->threads)))
		return KP_NO_MEMORY;
	host->threads[host->thread_count++] =
		(struct kp_host_thread){.process = process, .thread = key[1]};
	return KP_OK;
}

static bool is_timed(const struct kp_host_call *call)
{
	return kp_time_quality(call->start_ns, call->end_ns) == KP_TIME_VALID;
}

static enum kp_status read_call(struct kp_builder *builder, const struct kp_process *process,
				const struct kp_host_call *call)
{
	struct kp_build_host *host = builder->host;
	uint32_t number = 0;
	enum kp_status status = find_thread(host, process, call->thread, &number);

	if (status != KP_OK)
		return status;
	builder->report->host.calls++;
	builder->report->host.graph_calls += call->kind == KP_HOST_GRAPH;
	host->threads[number].calls++;
	if (is_timed(call)) {
		uint64_t took_ns = call->end_ns - call->start_ns;

		host->threads[number].total_ns =
			kp_add_saturating(host->threads[number].total_ns, took_ns);
		status = kp_durations_add(&host->call, took_ns, builder->host->arena);
	}
	if (status != KP_OK)
		return status;
	return kp_ties_add_call(host->ties[process->index], call);
}

enum kp_status kp_build_host_calls(struct kp_builder *builder, const struct kp_event *event)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < event->count; i++)
		status = read_call(builder, event->process, &event->calls[i]);
	return status;
}

/* ---- settling ---- */

/* What a visit needs. */
struct visit {
	struct kp_builder *builder;
	const struct kp_process *process;
};

/* The tallies of a row; NULL without memory. Rows come into being in order. */
static struct host_row *find_row(struct kp_build_host *host, uint32_t row)
{
	while (host->row_count <= row) {
		if (!kp_vector_grow((void **)&host->rows, host->row_count, &host->row_capacity,
				    sizeof(*host->rows)))
			return NULL;
		host->rows[host->row_count++] = (struct host_row){0};
	}
	return &host->rows[row];
}

static enum kp_status note_thread(struct kp_build_host *host, const struct visit *visit,
				  const struct kp_host_call *call, uint32_t number,
				  struct host_row *row)
{
	uint32_t pair[2] = {number, 0}, unused;
	bool added = false;
	enum kp_status status = find_thread(host, visit->process, call->thread, &pair[1]);

	if (status == KP_OK && (host->pairs.count < PAIR_LIMIT ||
				kp_intern_find(&host->pairs, pair, sizeof(pair), &unused)))
		status = kp_intern_put(&host->pairs, pair, sizeof(pair), &unused, &added);
	row->threads += added;
	return status;
}

/* Launch and queue time of one record. */
static enum kp_status add_times(struct kp_builder *builder, struct host_row *row,
				const struct kp_tie_record *record, const struct kp_host_call *call,
				bool first)
{
	uint64_t waited_ns = record->start_ns > call->end_ns ? record->start_ns - call->end_ns : 0;
	enum kp_status status = KP_OK;

	if (!is_timed(call))
		return KP_OK;
	if (call->kernels && call->kernels != KP_HOST_UNKNOWN)
		status = kp_durations_add(&row->call,
					  (call->end_ns - call->start_ns) / call->kernels,
					  builder->host->arena);
	if (status == KP_OK && first && record->start_ns && waited_ns <= KP_DURATION_MAX_NS)
		status = kp_durations_add(&row->queue, waited_ns, builder->host->arena);
	return status;
}

static enum kp_status tied(void *context, const struct kp_tie_record *record,
			   const struct kp_host_call *call, bool first)
{
	const struct visit *visit = context;
	struct kp_report_host *totals = &visit->builder->report->host;
	struct host_row *row = find_row(visit->builder->host, record->row);
	enum kp_status status;

	if (!row)
		return KP_NO_MEMORY;
	status = kp_build_ranges_tied(visit->builder, visit->process, record, call);
	if (status != KP_OK)
		return status;
	if (!call) {
		totals->kernels_untied++;
		return KP_OK;
	}
	totals->kernels_tied++;
	totals->calls_tied += first;
	row->tied++;
	status = note_thread(visit->builder->host, visit, call, record->row, row);
	if (status == KP_OK)
		status = kp_build_timeline_tied(visit->builder, visit->process, record, call);
	return status == KP_OK ? add_times(visit->builder, row, record, call, first) : status;
}

/* Whose the unreadable part is cannot be told here, nor what was in it. */
static void look_for_damage(struct kp_builder *builder, uint64_t damaged)
{
	size_t processes = kp_reader_process_count(builder->reader);

	if (damaged == builder->host->damaged_chunks)
		return;
	builder->host->damaged_chunks = damaged;
	for (size_t i = 0; i < processes; i++)
		if (builder->host->ties[i])
			kp_ties_distrust(builder->host->ties[i]);
}

static enum kp_status settle(struct kp_builder *builder, uint64_t watermark_ns, uint64_t damaged)
{
	size_t processes = kp_reader_process_count(builder->reader);
	enum kp_status status = KP_OK;

	if (builder->host)
		look_for_damage(builder, damaged);
	for (size_t i = 0; builder->host && status == KP_OK && i < processes; i++) {
		struct visit visit = {builder, kp_build_process_at(builder, i)};
		const struct kp_tie_visitor visitor = {&visit, tied};

		if (builder->host->ties[i])
			status = kp_ties_settle(builder->host->ties[i], watermark_ns, &visitor);
	}
	return status;
}

enum kp_status kp_build_host_settle(struct kp_builder *builder, const struct kp_event *event)
{
	return event->watermark_ns == UINT64_MAX
		       ? KP_OK
		       : settle(builder, event->watermark_ns, event->damaged_chunks);
}

/* ---- results ---- */

static int compare_threads(const void *left, const void *right)
{
	const struct kp_host_thread *a = left, *b = right;
	int order = kp_build_order(b->total_ns, a->total_ns);

	if (!order)
		order = kp_build_order(b->calls, a->calls);
	if (!order)
		order = kp_build_order(a->process->index, b->process->index);
	return order ? order : kp_build_order(a->thread, b->thread);
}

static enum kp_status put_threads(struct kp_builder *builder)
{
	struct kp_build_host *host = builder->host;
	struct kp_report_host *out = &builder->report->host;
	struct kp_host_thread *threads =
		kp_arena_alloc(builder->report->arena, (host->thread_count + 1) * sizeof(*threads));

	if (!threads)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < host->thread_count; i++)
		threads[i] = host->threads[i];
	qsort(threads, host->thread_count, sizeof(*threads), compare_threads);
	out->threads = threads;
	out->thread_count = host->thread_count;
	return KP_OK;
}

enum kp_status kp_build_host_finish(struct kp_builder *builder)
{
	struct kp_report_host *out = &builder->report->host;
	size_t processes = kp_reader_process_count(builder->reader);
	enum kp_status status =
		settle(builder, UINT64_MAX, kp_reader_damage(builder->reader).damaged_chunks);

	if (!builder->host || status != KP_OK)
		return status;
	out->call = kp_durations_result(&builder->host->call);
	out->call_p99_ns = kp_durations_quantile(&builder->host->call, P99);
	for (size_t i = 0; i < processes; i++) {
		const struct kp_counts *counts = &kp_build_process_at(builder, i)->counts;

		out->calls_lost = kp_add_saturating(out->calls_lost, counts->host_calls_lost);
		out->calls_unwritten =
			kp_add_saturating(out->calls_unwritten, counts->host_calls_unwritten);
	}
	return put_threads(builder);
}

static struct kp_host_times result(const struct host_row *row)
{
	return (struct kp_host_times){
		.tied = row->tied,
		.call = kp_durations_result(&row->call),
		.queue = kp_durations_result(&row->queue),
		.call_p99_ns = kp_durations_quantile(&row->call, P99),
		.queue_p99_ns = kp_durations_quantile(&row->queue, P99),
		.threads = row->threads,
	};
}

struct kp_host_times kp_build_host_row(const struct kp_builder *builder, uint32_t row)
{
	static const struct host_row none;
	const struct kp_build_host *host = builder->host;

	return result(host && row < host->row_count ? &host->rows[row] : &none);
}

/* How many threads launched each group; `group_of`: by number of the kernel's row. */
static enum kp_status count_threads(const struct kp_build_host *host, const size_t *group_of,
				    struct host_row *groups)
{
	struct kp_intern seen = {0};
	enum kp_status status = KP_OK;

	for (uint32_t i = 0; status == KP_OK && i < host->pairs.count; i++) {
		uint32_t pair[2], unused;
		size_t length;
		bool added = false;

		memcpy(pair, kp_intern_bytes(&host->pairs, i, &length), sizeof(pair));
		pair[0] = (uint32_t)group_of[pair[0]];
		status = kp_intern_put(&seen, pair, sizeof(pair), &unused, &added);
		groups[pair[0]].threads += added;
	}
	kp_intern_fini(&seen);
	return status;
}

/* Joins the rows of each group. */
static enum kp_status join_rows(struct kp_builder *builder, const size_t *group_of,
				struct host_row *groups)
{
	const struct kp_build_host *host = builder->host;

	for (size_t i = 0; i < builder->row_count && i < host->row_count; i++) {
		struct host_row *to = &groups[group_of[i]];

		to->tied += host->rows[i].tied;
		if (kp_durations_merge(&to->call, &host->rows[i].call, builder->host->arena) !=
			    KP_OK ||
		    kp_durations_merge(&to->queue, &host->rows[i].queue, builder->host->arena) !=
			    KP_OK)
			return KP_NO_MEMORY;
	}
	return count_threads(host, group_of, groups);
}

enum kp_status kp_build_host_groups(struct kp_builder *builder, const size_t *group_of,
				    size_t groups, struct kp_host_times *out)
{
	struct host_row *joined;
	enum kp_status status;

	if (!builder->host)
		return KP_OK;
	joined = calloc(groups + 1, sizeof(*joined));
	status = joined ? join_rows(builder, group_of, joined) : KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < groups; i++)
		out[i] = result(&joined[i]);
	free(joined);
	return status;
}

enum kp_status kp_build_host_operators(struct kp_builder *builder,
				       const struct kp_build_draft *drafts,
				       struct kp_host_times *out)
{
	size_t *operator_of = calloc(builder->row_count + 1, sizeof(*operator_of));
	enum kp_status status = KP_NO_MEMORY;

	for (size_t i = 0; operator_of && i < builder->row_count; i++)
		operator_of[drafts[i].number] = drafts[i].row.operator_index;
	if (operator_of)
		status = kp_build_host_groups(builder, operator_of,
					      kp_operators_count(builder->operators), out);
	free(operator_of);
	return status;
}
