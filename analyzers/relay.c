/*
 * Batches on their way through analyses; see relay.h.
 *
 * Every stage (reading, preparing, each analysis) has a count of the batches that it has done, and
 * works on one batch at a time: the one with that number. Batches lie in a ring; a batch is read
 * into a place when all analyses are done with what lay there before. All counts are guarded by one
 * lock, which is not held while a stage works.
 */
#include "analyzers/relay.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#define THREADS_MOST 4

struct place {
	struct kp_event event;
	struct kp_batch memory;
	bool unprepared; /* it waits until all before it is done */
};

struct stage {
	uint64_t done;
	bool busy;
};

enum { READ, PREPARE, TAKE, STAGES = TAKE + KP_RELAY_TAKERS_MOST };

struct run {
	const struct kp_relay *relay;
	struct place places[KP_RELAY_PLACES];
	unsigned place_count; /* without helpers, one is enough */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct stage stages[STAGES];
	size_t stage_count;
	bool ended;                /* the reader has no more */
	struct kp_reader_place at; /* how far it is */
	enum kp_status status;     /* of the first that failed */
};

static uint64_t least_taken(const struct run *run)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = TAKE; i < run->stage_count; i++)
		if (run->stages[i].done < least)
			least = run->stages[i].done;
	return least;
}

/* How far the stage must be that a taker stays behind. */
static uint64_t done_before(const struct run *run, size_t taker)
{
	size_t behind = run->relay->behind[taker];

	return run->stages[behind ? TAKE + behind - 1 : PREPARE].done;
}

/* Whether a stage has a batch to work on. */
static bool can_work(const struct run *run, size_t number)
{
	const struct stage *stage = &run->stages[number];

	if (stage->busy)
		return false;
	if (number == READ)
		return !run->ended && stage->done < least_taken(run) + run->place_count;
	if (number == PREPARE)
		return stage->done < run->stages[READ].done &&
		       (!run->places[stage->done % run->place_count].unprepared ||
			least_taken(run) == stage->done);
	return stage->done < done_before(run, number - TAKE);
}

/* What is most urgent of what can be done now: what is furthest behind; STAGES: nothing. */
static size_t choose(const struct run *run)
{
	size_t best = STAGES;

	for (size_t i = run->stage_count; i-- > 0;)
		if (can_work(run, i) &&
		    (best == STAGES || run->stages[i].done < run->stages[best].done))
			best = i;
	return best;
}

static bool is_over(const struct run *run)
{
	return run->status != KP_OK || (run->ended && least_taken(run) == run->stages[READ].done);
}

static enum kp_status read_next(struct run *run, struct place *place, bool *done)
{
	enum kp_status status =
		kp_reader_next_into(run->relay->reader, &place->memory, &place->event);

	*done = status == KP_OK;
	if (status == KP_OK && run->relay->amend)
		run->relay->amend(run->relay->context, &place->event);
	return status;
}

static enum kp_status prepare(const struct run *run, struct place *place, bool *done)
{
	const struct kp_relay *relay = run->relay;

	*done = true;
	if (!relay->prepare)
		return KP_OK;
	if (place->unprepared) {
		place->unprepared = false;
		return relay->prepare(relay->context, &place->event);
	}
	*done = relay->is_prepared(relay->context, &place->event);
	return KP_OK;
}

/* One batch through one stage; without the lock. *done: it is through. */
static enum kp_status work_on(struct run *run, size_t number, bool *done)
{
	const struct kp_relay *relay = run->relay;
	struct place *place = &run->places[run->stages[number].done % run->place_count];

	if (number == READ)
		return read_next(run, place, done);
	if (number == PREPARE)
		return prepare(run, place, done);
	*done = true;
	return relay->takers[number - TAKE](relay->context, &place->event);
}

/* Notes how a stage's work ended. */
static void settle(struct run *run, size_t number, enum kp_status status, bool done)
{
	struct stage *stage = &run->stages[number];

	if (number == READ) {
		run->at = kp_reader_place(run->relay->reader);
		run->ended |= status != KP_OK;
	}
	if (number == PREPARE)
		run->places[stage->done % run->place_count].unprepared = !done;
	if (status != KP_OK && status != KP_END && run->status == KP_OK)
		run->status = status;
	stage->done += done;
	stage->busy = false;
	if (number == READ && run->relay->batches_most && stage->done >= run->relay->batches_most)
		run->ended = true;
}

/* One step of a thread that holds the lock: work, or wait for some. */
static void step(struct run *run)
{
	size_t number = choose(run);
	enum kp_status status;
	bool done = false;

	if (number == STAGES) {
		pthread_cond_wait(&run->changed, &run->lock);
		return;
	}
	run->stages[number].busy = true;
	pthread_mutex_unlock(&run->lock);
	status = work_on(run, number, &done);
	pthread_mutex_lock(&run->lock);
	settle(run, number, status, done);
	pthread_cond_broadcast(&run->changed);
}

static void *help(void *argument)
{
	struct run *run = argument;

	pthread_mutex_lock(&run->lock);
	while (!is_over(run))
		step(run);
	pthread_mutex_unlock(&run->lock);
	return NULL;
}

/* The caller's thread: as the others, and it says how far all is. */
static void lead(struct run *run)
{
	const struct kp_relay *relay = run->relay;
	struct kp_reader_place at;
	enum kp_status status;

	pthread_mutex_lock(&run->lock);
	while (!is_over(run)) {
		step(run);
		if (!relay->progress)
			continue;
		at = run->at;
		pthread_mutex_unlock(&run->lock);
		status = relay->progress(relay->progress_context, at);
		pthread_mutex_lock(&run->lock);
		if (status != KP_OK && run->status == KP_OK)
			run->status = status;
		pthread_cond_broadcast(&run->changed);
	}
	pthread_mutex_unlock(&run->lock);
}

/* Signals are for the caller's thread. Returns how many threads there are. */
static unsigned begin_helpers(struct run *run, unsigned wanted, pthread_t *helpers)
{
	unsigned count = 0;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (count < wanted && pthread_create(&helpers[count], NULL, help, run) == 0)
		count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return count;
}

unsigned kp_relay_threads(const struct kp_reader *reader)
{
	cpu_set_t mine;
	int count;

	if (kp_reader_bytes(reader) < KP_RELAY_LEAST_BYTES ||
	    sched_getaffinity(0, sizeof(mine), &mine) != 0)
		return 1;
	count = CPU_COUNT(&mine);
	return count < 1 ? 1 : count > THREADS_MOST ? THREADS_MOST : (unsigned)count;
}

enum kp_status kp_relay_run(const struct kp_relay *relay, unsigned threads)
{
	pthread_t helpers[THREADS_MOST];
	struct run *run = calloc(1, sizeof(*run));
	enum kp_status status;
	unsigned count;

	if (!run)
		return KP_NO_MEMORY;
	run->relay = relay;
	run->stage_count = TAKE + relay->taker_count;
	run->place_count = threads > 1 ? KP_RELAY_PLACES : 1;
	pthread_mutex_init(&run->lock, NULL);
	pthread_cond_init(&run->changed, NULL);
	kp_reader_rewind(relay->reader);
	if (threads > THREADS_MOST)
		threads = THREADS_MOST;
	count = threads > 1 ? begin_helpers(run, threads - 1, helpers) : 0;
	lead(run);
	while (count)
		pthread_join(helpers[--count], NULL);
	status = run->status;
	pthread_cond_destroy(&run->changed);
	pthread_mutex_destroy(&run->lock);
	for (size_t i = 0; i < KP_RELAY_PLACES; i++)
		kp_batch_fini(&run->places[i].memory);
	free(run);
	return status;
}
