/*
 * Runs and records; see run_ties.h.
 *
 * A run becomes as many calls as it has launches, whose thread is the number of the run; host_ties
 * ties these. The records of a run are kept until all are there, and then compared with it.
 */
#include "analyzers/run_ties.h"

#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

#define NONE UINT32_MAX
/* Kernels that were launched before the first run have started by so much later, and are at most so
 * many; else which they are is found out from those that are there. */
#define SETTLED_NS 10000000000ULL
#define HELD_MOST ((size_t)1 << 20)

const struct kp_launch_run kp_run_before = {0};

struct pending_run {
	struct kp_launch_run run;
	uint64_t shapes, kernels; /* of its records so far */
	uint32_t first, last;     /* of these; NONE: there is none */
	uint32_t next_free;
};

struct kept {
	struct kp_tie_record record;
	uint32_t next;
};

struct held {
	struct kp_launch launch;
	uint32_t row;
};

struct kp_run_ties {
	const struct kp_process *process;
	struct kp_ties *ties;
	uint64_t begin_ns; /* of the first run, or before */
	uint64_t before;   /* kernels launched before that which were not seen yet */
	struct held *held; /* what may be of these */
	size_t held_count, held_capacity;
	struct kp_launch_run
		*waiting; /* runs that have not become calls; from `waiting_first` on */
	size_t waiting_first, waiting_count, waiting_capacity;
	struct pending_run *runs;
	size_t run_count, run_capacity;
	struct kept *kept;
	size_t kept_count, kept_capacity;
	uint32_t free_run, free_kept;
	bool broken;
	const struct kp_run_visitor *visitor; /* while settling */
};

static bool lacks_records(const struct kp_process *process)
{
	const struct kp_counts *counts = &process->counts;

	return !process->end.has || !KP_HAS(counts, COUNTS, records_dropped) ||
	       counts->records_dropped || counts->kernels_unwritten ||
	       !KP_HAS(counts, COUNTS, kernels_recorded) ||
	       counts->kernels_recorded != process->promised_launches;
}

/*
 * Whether the kernels of the runs and those before make up the records, as far as it can be told.
 * A window leaves out what was launched in it and ran behind it: the last on each stream.
 */
static bool adds_up(const struct kp_process *process)
{
	const struct kp_counts *counts = &process->counts;

	if (process->window_count)
		return counts->runs_begin_ns <= process->windows[0].begin_ns &&
		       (counts->run_kernels == counts->kernels_recorded ||
			(process->window_count == 1 &&
			 counts->run_kernels > counts->kernels_recorded));
	return KP_HAS(counts, COUNTS, kernels_issued) &&
	       counts->kernels_issued == counts->kernels_recorded &&
	       counts->run_kernels <= counts->kernels_recorded &&
	       (counts->runs_begin_ns || counts->run_kernels == counts->kernels_recorded);
}

const char *kp_run_ties_doubt(const struct kp_process *process)
{
	const struct kp_counts *counts = &process->counts;

	if (process->window_count && process->windows[0].begin_reason == KP_WINDOW_BY_PART)
		return "only a part of the trace is looked at";
	if (process->end.has && !KP_HAS(counts, COUNTS, run_records))
		return "the trace does not say which thread launched what";
	if (counts->kernels_filtered)
		return "kernels were left out by --kernels or --skip-kernels: --host helps";
	if (lacks_records(process))
		return "records of kernels are missing: --host helps";
	if (counts->runs_lost || counts->runs_unwritten ||
	    counts->run_records != process->promised_runs)
		return "not all launches could be kept: --host helps";
	if (!KP_HAS(counts, COUNTS, run_kernels))
		return "it is not known how many kernels some graph has: --host helps";
	if (!adds_up(process))
		return "launches and records do not add up, as where recording began and ended "
		       "between them: --host helps";
	return NULL;
}

struct kp_run_ties *kp_run_ties_create(const struct kp_process *process)
{
	const struct kp_counts *counts = &process->counts;
	struct kp_run_ties *ties = calloc(1, sizeof(*ties));

	if (!ties)
		return NULL;
	ties->process = process;
	ties->free_run = ties->free_kept = NONE;
	ties->begin_ns = counts->runs_begin_ns;
	if (!process->window_count)
		ties->before = counts->kernels_recorded - counts->run_kernels;
	ties->ties = kp_ties_create_whole(process);
	if (!ties->ties) {
		free(ties);
		return NULL;
	}
	return ties;
}

void kp_run_ties_destroy(struct kp_run_ties *ties)
{
	if (!ties)
		return;
	kp_ties_destroy(ties->ties);
	free(ties->held);
	free(ties->waiting);
	free(ties->runs);
	free(ties->kept);
	free(ties);
}

void kp_run_ties_distrust(struct kp_run_ties *ties)
{
	ties->broken = true;
}

/* ---- adding ---- */

static enum kp_status take_run(struct kp_run_ties *ties, uint32_t *number)
{
	if (ties->free_run != NONE) {
		*number = ties->free_run;
		ties->free_run = ties->runs[*number].next_free;
		return KP_OK;
	}
	if (ties->run_count == NONE || !kp_vector_grow((void **)&ties->runs, ties->run_count,
						       &ties->run_capacity, sizeof(*ties->runs)))
		return KP_NO_MEMORY;
	*number = (uint32_t)ties->run_count++;
	return KP_OK;
}

/* The launches of a run beyond what a collector puts into one, as only a broken trace has them, are
 * left out. */
#define LAUNCHES_MOST 65536U

enum kp_status kp_run_ties_add_run(struct kp_run_ties *ties, const struct kp_launch_run *run)
{
	if (ties->waiting_first == ties->waiting_count)
		ties->waiting_first = ties->waiting_count = 0;
	if (!kp_vector_grow((void **)&ties->waiting, ties->waiting_count, &ties->waiting_capacity,
			    sizeof(*ties->waiting)))
		return KP_NO_MEMORY;
	ties->waiting[ties->waiting_count++] = *run;
	return KP_OK;
}

static int by_start(const void *left, const void *right)
{
	const struct kp_launch_run *a = left, *b = right;

	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static enum kp_status expand(struct kp_run_ties *ties, const struct kp_launch_run *run)
{
	struct kp_host_call call = {.start_ns = run->start_ns,
				    .end_ns = run->end_ns,
				    .kind = run->kind,
				    .context = run->context,
				    .stream = run->stream,
				    .kernels = run->kernels};
	uint32_t launches = run->launches < LAUNCHES_MOST ? run->launches : LAUNCHES_MOST;
	enum kp_status status = take_run(ties, &call.thread);

	if (status != KP_OK)
		return status;
	ties->runs[call.thread] = (struct pending_run){.run = *run, .first = NONE, .last = NONE};
	for (uint32_t i = 0; status == KP_OK && i < launches; i++)
		status = kp_ties_add_call(ties->ties, &call);
	return status;
}

/* Runs become calls no sooner than their records may come, for they may have many. */
static enum kp_status expand_until(struct kp_run_ties *ties, uint64_t watermark_ns)
{
	struct kp_launch_run *waiting = ties->waiting + ties->waiting_first;
	size_t count = ties->waiting_count - ties->waiting_first;
	enum kp_status status = KP_OK;

	for (size_t i = 1; i < count; i++)
		if (by_start(&waiting[i - 1], &waiting[i]) > 0) {
			qsort(waiting, count, sizeof(*waiting), by_start);
			break;
		}
	for (; status == KP_OK && count && waiting->start_ns < watermark_ns; count--)
		status = expand(ties, waiting++);
	ties->waiting_first = ties->waiting_count - count;
	return status;
}

enum kp_status kp_run_ties_add_launch(struct kp_run_ties *ties, const struct kp_launch *launch,
				      uint32_t row)
{
	if (!ties->before && !ties->held_count)
		return kp_ties_add_launch(ties->ties, launch, row);
	if (!kp_vector_grow((void **)&ties->held, ties->held_count, &ties->held_capacity,
			    sizeof(*ties->held)))
		return KP_NO_MEMORY;
	ties->held[ties->held_count++] = (struct held){*launch, row};
	return KP_OK;
}

/* ---- what was launched before the first run ---- */

static bool is_before(const struct kp_run_ties *ties, const struct kp_launch *launch)
{
	return kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID &&
	       launch->start_ns < ties->begin_ns;
}

/* That which surely was comes first, the rest in order of the calls. */
static int by_call(const void *left, const void *right, void *context)
{
	const struct kp_launch *a = &((const struct held *)left)->launch;
	const struct kp_launch *b = &((const struct held *)right)->launch;
	int sure = (int)is_before(context, b) - (int)is_before(context, a);

	if (sure || a->correlation == b->correlation)
		return sure;
	return a->correlation < b->correlation ? -1 : 1;
}

static enum kp_status visit_before(const struct kp_run_ties *ties, const struct held *held,
				   const struct kp_run_visitor *visitor)
{
	const struct kp_launch *launch = &held->launch;
	bool valid = kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID;
	const struct kp_tie_record record = {.start_ns = valid ? launch->start_ns : 0,
					     .end_ns = valid ? launch->end_ns : 0,
					     .config = &ties->process->configs[launch->config],
					     .correlation = launch->correlation,
					     .row = held->row,
					     .graph = launch->graph || launch->graph_node};

	return visitor->tied(visitor->context, &record, &kp_run_before);
}

/* Sorts out what is held, as soon as it is known. */
static enum kp_status release_held(struct kp_run_ties *ties, uint64_t watermark_ns,
				   const struct kp_run_visitor *visitor)
{
	bool all = watermark_ns >= ties->begin_ns + SETTLED_NS || ties->held_count > HELD_MOST;
	enum kp_status status = KP_OK;
	size_t i = 0, left = 0;

	if (all && ties->held_count)
		qsort_r(ties->held, ties->held_count, sizeof(*ties->held), by_call, ties);
	for (; status == KP_OK && ties->before && i < ties->held_count; i++) {
		if (all || is_before(ties, &ties->held[i].launch)) {
			ties->before--;
			status = visit_before(ties, &ties->held[i], visitor);
		} else {
			ties->held[left++] = ties->held[i];
		}
	}
	if (left && ties->before) {
		ties->held_count = left;
		return status;
	}
	for (size_t k = 0; status == KP_OK && k < left; k++)
		status = kp_ties_add_launch(ties->ties, &ties->held[k].launch, ties->held[k].row);
	for (; status == KP_OK && i < ties->held_count; i++)
		status = kp_ties_add_launch(ties->ties, &ties->held[i].launch, ties->held[i].row);
	ties->held_count = 0;
	return status;
}

/* ---- the records of a run ---- */

/* Hands a run's records on, as its own or as nobody's, and makes room. */
static enum kp_status finish_run(struct kp_run_ties *ties, uint32_t number, bool tied)
{
	struct pending_run *run = &ties->runs[number];
	enum kp_status status = KP_OK;

	for (uint32_t at = run->first, next; at != NONE; at = next) {
		next = ties->kept[at].next;
		if (status == KP_OK)
			status = ties->visitor->tied(ties->visitor->context, &ties->kept[at].record,
						     tied ? &run->run : NULL);
		ties->kept[at].next = ties->free_kept;
		ties->free_kept = at;
	}
	run->first = run->last = NONE;
	return status;
}

static enum kp_status keep(struct kp_run_ties *ties, struct pending_run *run,
			   const struct kp_tie_record *record)
{
	uint32_t place = ties->free_kept;

	if (place != NONE) {
		ties->free_kept = ties->kept[place].next;
	} else {
		if (ties->kept_count == NONE ||
		    !kp_vector_grow((void **)&ties->kept, ties->kept_count, &ties->kept_capacity,
				    sizeof(*ties->kept)))
			return KP_NO_MEMORY;
		place = (uint32_t)ties->kept_count++;
	}
	ties->kept[place] = (struct kept){*record, NONE};
	if (run->last == NONE)
		run->first = place;
	else
		ties->kept[run->last].next = place;
	run->last = place;
	return KP_OK;
}

static enum kp_status tied(void *context, const struct kp_tie_record *record,
			   const struct kp_host_call *call, bool first)
{
	struct kp_run_ties *ties = context;
	struct pending_run *run;
	enum kp_status status;

	if (!call || ties->broken)
		return ties->visitor->tied(ties->visitor->context, record, NULL);
	run = &ties->runs[call->thread];
	status = keep(ties, run, record);
	if (status != KP_OK)
		return status;
	run->kernels++;
	if (first && !record->graph)
		run->shapes += kp_launch_run_shape(record->config->grid, record->config->block);
	if (run->kernels < (uint64_t)run->run.launches * run->run.kernels)
		return KP_OK;
	status = finish_run(ties, call->thread, run->shapes == run->run.shapes);
	run->next_free = ties->free_run;
	ties->free_run = call->thread;
	return status;
}

enum kp_status kp_run_ties_settle(struct kp_run_ties *ties, uint64_t watermark_ns,
				  const struct kp_run_visitor *visitor)
{
	const struct kp_tie_visitor inner = {ties, tied};
	enum kp_status status = KP_OK;

	ties->visitor = visitor;
	if (ties->waiting_count)
		status = expand_until(ties, watermark_ns);
	if (status == KP_OK && ties->held_count)
		status = release_held(ties, watermark_ns, visitor);
	if (status == KP_OK)
		status = kp_ties_settle(ties->ties, watermark_ns, &inner);
	for (uint32_t i = 0; status == KP_OK && watermark_ns == UINT64_MAX && i < ties->run_count;
	     i++)
		status = finish_run(ties, i, false);
	return status;
}
