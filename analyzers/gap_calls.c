/* Gaps and calls; see gap_calls.h. */
#include "analyzers/gap_calls.h"

#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

bool kp_gap_calls_can_tell(const struct kp_gap *gap, const struct kp_activity *kernel)
{
	return kernel->correlation && gap->cause != KP_GAP_EDGE && gap->cause != KP_GAP_GRAPH &&
	       gap->cause != KP_GAP_PROCESS && gap->end_ns - gap->begin_ns > gap->memory_ns;
}

enum kp_status kp_gap_calls_add(struct kp_gap_calls *calls, const struct kp_gap *gap,
				const struct kp_activity *kernel, uint64_t number)
{
	size_t half = calls->count / 2;

	if (calls->count == KP_GAP_CALLS_WAITING) {
		memmove(calls->waiting, calls->waiting + half,
			(calls->count - half) * sizeof(*calls->waiting));
		calls->count -= half;
	}
	if (!kp_vector_grow((void **)&calls->waiting, calls->count, &calls->capacity,
			    sizeof(*calls->waiting)))
		return KP_NO_MEMORY;
	calls->waiting[calls->count++] = (struct kp_gap_waiting){
		.number = number,
		.from_ns = gap->begin_ns,
		.kernel_ns = gap->end_ns,
		.rest_ns = gap->end_ns - gap->begin_ns - gap->memory_ns,
		.correlation = kernel->correlation,
		.cause = (uint8_t)gap->cause,
		.inferred = gap->inferred,
	};
	return KP_OK;
}

/* The gap before the kernel; NULL: there is none. */
static const struct kp_gap_waiting *find(const struct kp_gap_calls *calls, uint64_t start_ns,
					 uint32_t correlation)
{
	size_t low = 0, high = calls->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (calls->waiting[middle].kernel_ns < start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == calls->count || calls->waiting[low].kernel_ns != start_ns ||
	    calls->waiting[low].correlation != correlation)
		return NULL;
	return &calls->waiting[low];
}

/* Since when the thread had launched nothing, when it made the call; the call's begin: unknown. */
static uint64_t quiet_since(struct kp_call_threads *threads, const struct kp_host_call *call)
{
	size_t i = 0;

	while (i < threads->count && threads->items[i].thread != call->thread)
		i++;
	if (i == KP_CALL_THREADS)
		return call->start_ns;
	if (i == threads->count) {
		threads->count++;
		threads->items[i].thread = call->thread;
		threads->items[i].before_ns = 0;
	} else if (threads->items[i].begin_ns != call->start_ns) {
		threads->items[i].before_ns = threads->items[i].end_ns;
	}
	threads->items[i].begin_ns = call->start_ns;
	threads->items[i].end_ns = call->end_ns;
	return threads->items[i].before_ns;
}

static enum kp_gap_cause judge(const struct kp_gap_waiting *gap, const struct kp_host_call *call,
			       uint64_t quiet_ns)
{
	if (call->end_ns <= gap->from_ns)
		return gap->rest_ns <= KP_GAP_QUEUED_NS ? KP_GAP_OWN : KP_GAP_DEVICE;
	if (call->start_ns > gap->from_ns && call->start_ns > quiet_ns &&
	    call->start_ns - quiet_ns > KP_GAP_LAUNCH_NS)
		return gap->cause == KP_GAP_SYNC ? KP_GAP_SYNC : KP_GAP_HOST;
	return KP_GAP_LAUNCH;
}

static void move(struct kp_gaps *gaps, const struct kp_gap_waiting *gap, enum kp_gap_cause cause)
{
	struct kp_gap_part *from = &gaps->parts[gap->cause], *to = &gaps->parts[cause];

	from->gaps--;
	from->total_ns -= gap->rest_ns;
	from->inferred_ns -= gap->inferred ? gap->rest_ns : 0;
	to->gaps++;
	to->total_ns += gap->rest_ns;
	for (size_t i = 0; i < gaps->longest_count; i++)
		if (gaps->longest[i].begin_ns == gap->from_ns) {
			gaps->longest[i].cause = cause;
			gaps->longest[i].inferred = false;
		}
}

static enum kp_status keep(struct kp_gap_verdicts *verdicts, uint64_t number,
			   enum kp_gap_cause cause)
{
	size_t count = verdicts->count ? verdicts->count : 4096;
	uint8_t *grown;

	if (number >= KP_GAP_CALLS_VERDICTS)
		return KP_OK;
	if (number >= verdicts->count) {
		while (count <= number)
			count *= 2;
		grown = realloc(verdicts->causes, count);
		if (!grown)
			return KP_NO_MEMORY;
		memset(grown + verdicts->count, 0, count - verdicts->count);
		verdicts->causes = grown;
		verdicts->count = count;
	}
	verdicts->causes[number] = (uint8_t)(cause + 1);
	return KP_OK;
}

/* Forgets the gaps up to one; calls of a stream come in order, those of others little apart. */
static void forget_old(struct kp_gap_calls *calls, const struct kp_gap_waiting *done)
{
	size_t index = (size_t)(done - calls->waiting);

	if (index < KP_GAP_CALLS_WAITING / 16 || index < calls->count / 2)
		return;
	index /= 2;
	memmove(calls->waiting, calls->waiting + index,
		(calls->count - index) * sizeof(*calls->waiting));
	calls->count -= index;
}

enum kp_status kp_gap_calls_tie(struct kp_gap_calls *calls, struct kp_call_threads *threads,
				const struct kp_host_call *call, uint64_t start_ns,
				uint32_t correlation, struct kp_gaps *gaps,
				struct kp_gap_verdicts *verdicts)
{
	const struct kp_gap_waiting *gap;
	enum kp_gap_cause cause;
	uint64_t quiet_ns;
	enum kp_status status;

	if (kp_time_quality(call->start_ns, call->end_ns) != KP_TIME_VALID)
		return KP_OK;
	quiet_ns = quiet_since(threads, call);
	gap = find(calls, start_ns, correlation);
	if (!gap || !gap->correlation)
		return KP_OK;
	cause = judge(gap, call, quiet_ns);
	status = keep(verdicts, gap->number, cause);
	move(gaps, gap, cause);
	calls->waiting[gap - calls->waiting].correlation = 0; /* it has its verdict */
	forget_old(calls, gap);
	return status;
}

void kp_gap_calls_recall(const struct kp_gap_verdicts *verdicts, uint64_t number,
			 struct kp_gap *gap)
{
	if (number >= verdicts->count || !verdicts->causes[number])
		return;
	gap->cause = (enum kp_gap_cause)(verdicts->causes[number] - 1);
	gap->inferred = false;
}

void kp_gap_calls_fini(struct kp_gap_calls *calls)
{
	free(calls->waiting);
	*calls = (struct kp_gap_calls){0};
}
