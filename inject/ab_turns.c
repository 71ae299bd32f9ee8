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

static _Atomic uint64_t eligible; /* launches that phases count */

/* Pairs in random order: the second is what the first was not. */
static struct kp_ab_choice draw_sample(struct kp_ab_variant *variant, uint64_t shape)
{
	uint32_t number = atomic_fetch_add(&variant->samples, 1);
	uint64_t seed = (uint64_t)kp_ab.plan.header->seed << 32;
	bool candidate = (kp_scatter(shape + number / 2 + seed) ^ number) & 1;

	return (struct kp_ab_choice){candidate ? KP_AB_TURN_CANDIDATE : KP_AB_TURN_ORIGINAL,
				     KP_AB_REASON_ORIGINAL_SAMPLE, true, number};
}

/* Whether a launch is in a phase of candidates; its beginning is written. */
static bool phase_is_on(void)
{
	uint32_t length = kp_ab.plan.header->phase;
	uint64_t number = atomic_fetch_add(&eligible, 1), phase;

	if (length == 0)
		return true;
	phase = number / length;
	if (number % length == 0 && pthread_mutex_trylock(&kp_ab.rare) == 0) {
		kp_ab_write("{\"phase\":{\"pid\":%ld,\"number\":%llu,\"candidate\":%s,"
			    "\"begin_ns\":%llu,\"launches\":%llu}}\n",
			    (long)getpid(), (unsigned long long)phase,
			    phase % 4 == 1 || phase % 4 == 2 ? "true" : "false",
			    (unsigned long long)kp_clock_now(),
			    (unsigned long long)kp_hooks_numbered());
		pthread_mutex_unlock(&kp_ab.rare);
	}
	return phase % 4 == 1 || phase % 4 == 2;
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
		return draw_sample(variant, job->shape);
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
	if (job->captured) {
		if (kp_ab.plan.header->mode == KP_AB_SHADOW)
			return original(KP_AB_REASON_SHADOW_MODE);
		return verified ? (struct kp_ab_choice){KP_AB_TURN_CANDIDATE, KP_AB_REASON_COUNT,
							false, 0}
				: original(KP_AB_REASON_CAPTURED);
	}
	if (verified)
		return choose_verified(variant, job);
	return (struct kp_ab_choice){KP_AB_TURN_SHADOW, KP_AB_REASON_UNVERIFIED, false, 0};
}

/* ---- samples ---- */

/* What the GPU has finished of earlier samples is written. */
static void harvest(struct kp_ab_sample *sample)
{
	float ms;

	if (!sample->busy || kp_ab.driver.query(sample->end) != CUDA_SUCCESS)
		return;
	if (kp_ab.driver.elapsed(&ms, sample->begin, sample->end) == CUDA_SUCCESS)
		kp_ab_write("{\"sample\":{\"pid\":%ld,\"rule\":%u,\"shape\":\"%016llx\","
			    "\"number\":%u,\"candidate\":%s,\"host_bound\":%s,\"us\":%s}}\n",
			    (long)getpid(), sample->rule, (unsigned long long)sample->shape,
			    sample->number, sample->candidate ? "true" : "false",
			    sample->host_bound ? "true" : "false",
			    kp_ab_number((double)ms * 1e3).text);
	sample->busy = false;
}

static bool has_events(struct kp_ab_sample *sample)
{
	if (sample->end)
		return true;
	return kp_ab.driver.event(&sample->begin, 0) == CUDA_SUCCESS &&
	       kp_ab.driver.event(&sample->end, 0) == CUDA_SUCCESS;
}

struct kp_ab_sample *kp_ab_turns_begin(struct kp_ab_context *context, const struct kp_ab_job *job,
				       const struct kp_ab_choice *choice)
{
	struct kp_ab_sample *sample = NULL;

	for (size_t i = 0; i < KP_AB_SAMPLES; i++) {
		harvest(&context->samples[i]);
		if (!context->samples[i].busy && !sample)
			sample = &context->samples[i];
	}
	if (!sample || !has_events(sample))
		return NULL;
	sample->candidate = choice->turn == KP_AB_TURN_CANDIDATE;
	sample->number = choice->number;
	sample->rule = job->number;
	sample->shape = job->shape;
	if (kp_ab.driver.record(sample->begin, job->stream) != CUDA_SUCCESS)
		return NULL;
	sample->busy = true;
	return sample;
}

/*
 * Where the GPU came to the beginning before the end was there for it, it may have waited for the
 * host between the two: then this is no time of the kernel's.
 */
void kp_ab_turns_end(struct kp_ab_sample *sample, CUstream stream)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	if (kp_ab.driver.record(sample->end, stream) != CUDA_SUCCESS) {
		sample->busy = false;
		return;
	}
	kp_ab.driver.exchange_capture_mode(&mode);
	sample->host_bound = kp_ab.driver.query(sample->begin) == CUDA_SUCCESS;
	kp_ab.driver.exchange_capture_mode(&mode);
}
