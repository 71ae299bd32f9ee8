/*
 * Whose turn it is, and how long it takes; see ab_state.h.
 *
 * Of a variant that was verified, each so-many-th launch is shadowed again. In measure mode some
 * launches are timed by a pair of events, original and candidate in pairs of random order, where
 * they stand in the program; the others belong to phases of a number of launches in the order
 * original, candidate, candidate, original, whose lengths the clock tells.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_state.h"

#include <unistd.h>

#include "inject/hooks_number.h"
#include "inject/state.h"
#include "trace/scatter.h"

#define SAMPLE_EACH 8U

/*
 * Stretches of a number of eligible launches each: phases, and, once there are graphs, a pause
 * behind each four phases, in which launches of graphs are timed. A stretch ends with the first
 * launch behind its number, which may be a graph with many.
 */
static struct {
	_Atomic uint64_t eligible, end; /* launches so far; where the stretch ends */
	_Atomic uint64_t phases; /* that have begun; the last one is under way, but in a pause */
	_Atomic bool pauses, is_pause;
} stretch;

/* Pairs in random order: the second is what the first was not. */
static struct kp_ab_choice draw_sample(_Atomic uint32_t *samples, uint64_t shape)
{
	uint32_t number = atomic_fetch_add(samples, 1);
	uint64_t seed = (uint64_t)kp_ab.plan.header->seed << 32;
	bool candidate = (kp_scatter(shape + number / 2 + seed) ^ number) & 1;

	return (struct kp_ab_choice){candidate ? KP_AB_TURN_CANDIDATE : KP_AB_TURN_ORIGINAL,
				     KP_AB_REASON_ORIGINAL_SAMPLE, true, number};
}

static bool is_candidates(uint64_t phase)
{
	return phase % 4 == 1 || phase % 4 == 2;
}

/* Its beginning is written; `number`: of the launch that begins it. With or without the mutex. */
static void begin_stretch(uint64_t number, bool locked)
{
	uint64_t phases = atomic_load(&stretch.phases);
	bool pause = atomic_load(&stretch.pauses) && !atomic_load(&stretch.is_pause) &&
		     phases > 0 && phases % 4 == 0;

	atomic_store(&stretch.is_pause, pause);
	if (!pause)
		atomic_store(&stretch.phases, phases + 1);
	if (!locked && pthread_mutex_trylock(&kp_ab.rare) != 0)
		return;
	if (pause)
		kp_ab_write("{\"pause\":{\"pid\":%ld,\"begin_ns\":%llu,\"eligible\":%llu}}\n",
			    (long)getpid(), (unsigned long long)kp_clock_now(),
			    (unsigned long long)number);
	else
		kp_ab_write("{\"phase\":{\"pid\":%ld,\"number\":%llu,\"candidate\":%s,"
			    "\"begin_ns\":%llu,\"eligible\":%llu,\"launches\":%llu}}\n",
			    (long)getpid(), (unsigned long long)phases,
			    is_candidates(phases) ? "true" : "false",
			    (unsigned long long)kp_clock_now(), (unsigned long long)number,
			    (unsigned long long)kp_hooks_numbered());
	if (!locked)
		pthread_mutex_unlock(&kp_ab.rare);
}

/* So many eligible launches are made at once. */
static void advance(uint32_t launches, bool locked)
{
	uint64_t number = atomic_fetch_add(&stretch.eligible, launches);
	uint64_t end = atomic_load(&stretch.end);

	if (number >= end &&
	    atomic_compare_exchange_strong(&stretch.end, &end, number + kp_ab.plan.header->phase))
		begin_stretch(number, locked);
}

/* Whether a launch is in a phase of candidates. */
static bool phase_is_on(void)
{
	if (kp_ab.plan.header->phase == 0)
		return true;
	advance(1, false);
	return atomic_load(&stretch.is_pause) || is_candidates(atomic_load(&stretch.phases) - 1);
}

static struct kp_ab_choice original(enum kp_ab_reason reason)
{
	return (struct kp_ab_choice){KP_AB_TURN_ORIGINAL, reason, false, 0};
}

/* Of a variant that was verified, and not in a capture. */
static struct kp_ab_choice choose_verified(struct kp_ab_variant *variant,
					   const struct kp_ab_job *job)
{
	enum kp_ab_mode mode = (enum kp_ab_mode)kp_ab.plan.header->mode;
	uint64_t number = atomic_fetch_add(&variant->launches, 1) + 1;

	if (number % kp_ab.plan.header->again == 0)
		return (struct kp_ab_choice){KP_AB_TURN_SHADOW, KP_AB_REASON_SHADOW, false, 0};
	if (mode == KP_AB_SHADOW)
		return original(KP_AB_REASON_SHADOW_MODE);
	if (mode == KP_AB_SWAP)
		return (struct kp_ab_choice){KP_AB_TURN_CANDIDATE, KP_AB_REASON_COUNT, false, 0};
	if (number % SAMPLE_EACH == SAMPLE_EACH / 2)
		return draw_sample(&variant->samples, job->shape);
	if (!phase_is_on())
		return original(KP_AB_REASON_ORIGINAL_PHASE);
	return (struct kp_ab_choice){KP_AB_TURN_CANDIDATE, KP_AB_REASON_COUNT, false, 0};
}

struct kp_ab_choice kp_ab_turns_choose(struct kp_ab_variant *variant, const struct kp_ab_job *job)
{
	bool verified = atomic_load(&variant->passed) >= KP_AB_PASSES;

	if (atomic_load(&kp_ab.stopped))
		return original(KP_AB_REASON_OFF);
	if (atomic_load(&kp_ab.wrong) >> job->number & 1)
		return original(KP_AB_REASON_WRONG);
	if (verified)
		return choose_verified(variant, job);
	return (struct kp_ab_choice){KP_AB_TURN_SHADOW, KP_AB_REASON_UNVERIFIED, false, 0};
}

/*
 * The mutex may be held: what is said of a stretch is written all the same. Without phases each one
 * is timed.
 */
struct kp_ab_choice kp_ab_turns_replay(uint64_t shape, uint32_t launches, _Atomic uint32_t *samples,
				       bool locked)
{
	if (kp_ab.plan.header->phase == 0)
		return draw_sample(samples, shape);
	atomic_store(&stretch.pauses, true);
	advance(launches, locked);
	if (atomic_load(&stretch.is_pause))
		return draw_sample(samples, shape);
	if (!is_candidates(atomic_load(&stretch.phases) - 1))
		return original(KP_AB_REASON_ORIGINAL_PHASE);
	return (struct kp_ab_choice){KP_AB_TURN_CANDIDATE, KP_AB_REASON_COUNT, false, 0};
}

/* ---- samples ---- */

/* What the GPU has finished of earlier samples is written. */
static void harvest(struct kp_ab_sample *sample)
{
	float ms;

	if (!sample->busy || kp_ab.driver.query(sample->end) != CUDA_SUCCESS)
		return;
	if (kp_ab.driver.elapsed(&ms, sample->begin, sample->end) == CUDA_SUCCESS) {
		kp_ab_write("{\"%s\":{\"pid\":%ld,\"rule\":%u,\"shape\":\"%016llx\","
			    "\"number\":%u,\"candidate\":%s,\"us\":%s",
			    sample->replay ? "replay" : "sample", (long)getpid(), sample->rule,
			    (unsigned long long)sample->shape, sample->number,
			    sample->candidate ? "true" : "false",
			    kp_ab_number((double)ms * 1e3).text);
		if (sample->replay)
			kp_ab_write(",\"replaced\":%u,\"launches\":%u", sample->replaced,
				    sample->launches);
		kp_ab_write("}}\n");
	}
	sample->busy = false;
}

static bool has_events(struct kp_ab_sample *sample)
{
	if (sample->end)
		return true;
	return kp_ab.driver.event(&sample->begin, 0) == CUDA_SUCCESS &&
	       kp_ab.driver.event(&sample->end, 0) == CUDA_SUCCESS;
}

struct kp_ab_sample *kp_ab_turns_begin(struct kp_ab_context *context,
				       const struct kp_ab_sample *what, CUstream stream)
{
	struct kp_ab_sample *sample = NULL, begun = *what;

	for (size_t i = 0; context && i < KP_AB_SAMPLES; i++) {
		harvest(&context->samples[i]);
		if (!context->samples[i].busy && !sample)
			sample = &context->samples[i];
	}
	if (!sample || !has_events(sample))
		return NULL;
	begun.begin = sample->begin;
	begun.end = sample->end;
	*sample = begun;
	if (kp_ab.driver.record(sample->begin, stream) != CUDA_SUCCESS)
		return NULL;
	sample->busy = true;
	return sample;
}

void kp_ab_turns_end(struct kp_ab_sample *sample, CUstream stream)
{
	if (kp_ab.driver.record(sample->end, stream) != CUDA_SUCCESS)
		sample->busy = false;
}
