/*
 * Whose turn it is; see ab_state.h.
 *
 * Of a variant that was verified, each so-many-th launch is shadowed again. In measure mode some
 * launches are timed, original and candidate in pairs of either order, where they stand in the
 * program; the others belong to phases of a number of launches, or of ranges of the program's
 * (--unit-range), in the order original, candidate, candidate, original.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_state.h"

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
	_Atomic uint64_t count;  /* of both */
	_Atomic uint64_t ranges; /* that have begun, where phases count by them */
	_Atomic bool pauses, is_pause;
} stretch;

const char *kp_ab_unit_range(void)
{
	if (!kp_ab_is_on() || kp_ab.plan.header->unit == KP_AB_NONE)
		return NULL;
	return kp_ab.plan.texts + kp_ab.plan.header->unit;
}

/* The next eligible launch is where a stretch may begin. */
void kp_ab_unit_begins(void)
{
	atomic_fetch_add(&stretch.ranges, 1);
}

/*
 * Pairs, the second of which is what the first was not; of so many rules by turns. Of each rule the
 * order of each other pair is drawn, and the next one has the opposite: however few there are, as
 * many are of either order.
 */
static struct kp_ab_choice draw_sample(_Atomic uint32_t *samples, uint64_t shape, uint32_t rules)
{
	uint32_t number = atomic_fetch_add(samples, 1), pair = number / 2;
	uint64_t seed = (uint64_t)kp_ab.plan.header->seed << 32;
	uint32_t drawn = pair / (2 * rules) * rules + pair % rules;
	bool candidate = (kp_scatter(shape + drawn + seed) ^ pair / rules ^ number) & 1;

	return (struct kp_ab_choice){candidate ? KP_AB_TURN_CANDIDATE : KP_AB_TURN_ORIGINAL,
				     KP_AB_REASON_ORIGINAL_SAMPLE, true, number};
}

static bool is_candidates(uint64_t phase)
{
	return phase % 4 == 1 || phase % 4 == 2;
}

/* `number`: of the launch that begins it; `unit`: of what it is counted by. With or without the
 * mutex. */
static void begin_stretch(struct kp_ab_context *context, CUstream stream, uint64_t number,
			  uint64_t unit, bool locked)
{
	struct kp_ab_boundary begin = {
		.number = atomic_load(&stretch.phases), .eligible = number, .units = unit};
	CUstreamCaptureMode mode;

	begin.is_phase = !atomic_load(&stretch.pauses) || atomic_load(&stretch.is_pause) ||
			 begin.number == 0 || begin.number % 4 != 0;
	begin.candidate = is_candidates(begin.number);
	begin.sequence = atomic_fetch_add(&stretch.count, 1);
	atomic_store(&stretch.is_pause, !begin.is_phase);
	if (begin.is_phase)
		atomic_store(&stretch.phases, begin.number + 1);
	if (!context || (!locked && pthread_mutex_trylock(&kp_ab.rare) != 0))
		return;
	kp_ab_driver_relax(&kp_ab.driver, &mode);
	kp_ab_times_boundary(context, &begin, stream);
	kp_ab_driver_restore(&kp_ab.driver, &mode);
	if (!locked)
		pthread_mutex_unlock(&kp_ab.rare);
}

/* So many eligible launches are made at once. */
static void advance(struct kp_ab_context *context, CUstream stream, uint32_t launches, bool locked)
{
	uint64_t number = atomic_fetch_add(&stretch.eligible, launches);
	uint64_t end = atomic_load(&stretch.end), unit = number;

	if (kp_ab.plan.header->unit != KP_AB_NONE) {
		unit = atomic_load(&stretch.ranges);
		if (unit == 0)
			return; /* none has begun yet: originals */
	}
	if (unit >= end &&
	    atomic_compare_exchange_strong(&stretch.end, &end, unit + kp_ab.plan.header->phase))
		begin_stretch(context, stream, number, unit, locked);
}

/* Whether a launch is in a phase of candidates. */
static bool phase_is_on(struct kp_ab_context *context, CUstream stream)
{
	if (kp_ab.plan.header->phase == 0)
		return true;
	advance(context, stream, 1, false);
	return atomic_load(&stretch.is_pause) || is_candidates(atomic_load(&stretch.phases) - 1);
}

static struct kp_ab_choice original(enum kp_ab_reason reason)
{
	return (struct kp_ab_choice){KP_AB_TURN_ORIGINAL, reason, false, 0};
}

/* Phases of ranges are all of one arm, as those of graphs are: times are taken in pauses. */
static struct kp_ab_choice choose_by_ranges(struct kp_ab_variant *variant,
					    struct kp_ab_context *context,
					    const struct kp_ab_job *job)
{
	atomic_store(&stretch.pauses, true);
	advance(context, job->stream, 1, false);
	if (atomic_load(&stretch.is_pause))
		return draw_sample(&variant->samples, job->shape, 1);
	if (!is_candidates(atomic_load(&stretch.phases) - 1))
		return original(KP_AB_REASON_ORIGINAL_PHASE);
	return (struct kp_ab_choice){KP_AB_TURN_CANDIDATE, KP_AB_REASON_COUNT, false, 0};
}

/* Of a variant that was verified, and not in a capture. */
static struct kp_ab_choice choose_verified(struct kp_ab_variant *variant,
					   struct kp_ab_context *context,
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
	if (kp_ab.plan.header->unit != KP_AB_NONE && kp_ab.plan.header->phase)
		return choose_by_ranges(variant, context, job);
	if (number % SAMPLE_EACH == SAMPLE_EACH / 2)
		return draw_sample(&variant->samples, job->shape, 1);
	if (!phase_is_on(context, job->stream))
		return original(KP_AB_REASON_ORIGINAL_PHASE);
	return (struct kp_ab_choice){KP_AB_TURN_CANDIDATE, KP_AB_REASON_COUNT, false, 0};
}

struct kp_ab_choice kp_ab_turns_choose(struct kp_ab_variant *variant, struct kp_ab_context *context,
				       const struct kp_ab_job *job)
{
	bool verified = atomic_load(&variant->passed) >= KP_AB_PASSES;

	if (atomic_load(&kp_ab.off) >> job->number & 1)
		return original(KP_AB_REASON_OFF);
	if (atomic_load(&kp_ab.wrong) >> job->number & 1)
		return original(KP_AB_REASON_WRONG);
	if (verified)
		return choose_verified(variant, context, job);
	return (struct kp_ab_choice){KP_AB_TURN_SHADOW, KP_AB_REASON_UNVERIFIED, false, 0};
}

/* Without phases each one is timed. */
struct kp_ab_choice kp_ab_turns_replay(struct kp_ab_context *context, CUstream stream,
				       uint64_t shape, uint32_t launches, _Atomic uint32_t *samples,
				       uint32_t rules, bool locked)
{
	if (kp_ab.plan.header->phase == 0)
		return draw_sample(samples, shape, rules);
	atomic_store(&stretch.pauses, true);
	advance(context, stream, launches, locked);
	if (atomic_load(&stretch.is_pause))
		return draw_sample(samples, shape, rules);
	if (!is_candidates(atomic_load(&stretch.phases) - 1))
		return original(KP_AB_REASON_ORIGINAL_PHASE);
	return (struct kp_ab_choice){KP_AB_TURN_CANDIDATE, KP_AB_REASON_COUNT, false, 0};
}
