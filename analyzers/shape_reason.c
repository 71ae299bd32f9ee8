/* Why shapes are fixed enough or not, in one sentence; see shapes.h. */
#include "analyzers/shape_stability.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REASON_BYTES 512

struct sentence {
	char text[REASON_BYTES];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *sentence, const char *format,
						      ...)
{
	size_t room = REASON_BYTES - sentence->length;
	va_list arguments;

	va_start(arguments, format);
	int written = vsnprintf(sentence->text + sentence->length, room, format, arguments);
	va_end(arguments);
	if (written > 0)
		sentence->length += (size_t)written < room ? (size_t)written : room - 1;
}

static unsigned count_bits(uint32_t bits)
{
	unsigned count = 0;

	for (; bits; bits &= bits - 1)
		count++;
	return count;
}

/* "grid.x, grid.y and n" */
static void say_dims(struct sentence *sentence, const struct kp_stability *stability, uint32_t dims)
{
	unsigned left = count_bits(dims);

	for (enum kp_shape_dim dim = 0; dim < KP_SHAPE_DIM_COUNT; dim++) {
		if (!(dims >> dim & 1U))
			continue;
		say(sentence, "%s%s", kp_stability_dim_name(stability, dim),
		    --left > 1  ? ", "
		    : left == 1 ? " and "
				: "");
	}
}

static void say_varying(struct sentence *sentence, const struct kp_stability *stability)
{
	uint32_t others = stability->varies & ~stability->grows;

	if (stability->grows) {
		say(sentence, "; ");
		say_dims(sentence, stability, stability->grows);
		say(sentence, " %s with position, and count%s once",
		    count_bits(stability->grows) == 1 ? "grows" : "grow",
		    count_bits(stability->grows) == 1 ? "s" : "");
	}
	if (others) {
		say(sentence, "; ");
		say_dims(sentence, stability, others);
		say(sentence, count_bits(others) == 1 ? " varies" : " vary");
	}
}

/* An operator's kernels, each for itself. */
static bool is_of_many(const struct kp_stability *stability)
{
	return stability->versions_each < stability->versions;
}

static void say_single(struct sentence *sentence, const struct kp_stability *stability,
		       uint64_t launches)
{
	if (is_of_many(stability)) {
		say(sentence,
		    "%" PRIu64 " kernels, each in one shape for %.0f %% of its time or more",
		    stability->kernels, KP_SHAPES_HELD_PCT);
		say_varying(sentence, stability);
		return;
	}
	const char *what = stability->called_pct >= 50       ? "library call's shape"
			   : stability->parameters_pct >= 50 ? "set of sizes by its parameters"
							     : "grid and block";

	if (stability->grows) {
		say(sentence, "%" PRIu64 " shapes, but ", stability->count);
		say_dims(sentence, stability, stability->grows);
		say(sentence, " %s with position: one version takes the length at run time",
		    count_bits(stability->grows) == 1 ? "grows" : "grow");
	} else if (stability->count == 1) {
		say(sentence, "one %s in all %" PRIu64 " launches", what, launches);
	} else {
		say(sentence, "one of %" PRIu64 " shapes holds %.1f %% of the time",
		    stability->count, stability->top_pct);
	}
}

static void say_many(struct sentence *sentence, const struct kp_stability *stability)
{
	bool few = stability->verdict == KP_SHAPES_FEW_VERSIONS;

	say(sentence, "%s%" PRIu64 " of %" PRIu64 " shapes", few ? "" : "it takes ",
	    stability->versions, stability->count);
	if (stability->called_pct < 50 && stability->kernels > 1)
		say(sentence, ", of %" PRIu64 " kernels,", stability->kernels);
	say(sentence, " %shold %.0f %% of the time", few ? "" : "to ", KP_SHAPES_HELD_PCT);
	if (is_of_many(stability))
		say(sentence,
		    few ? ", and no kernel needs more than %" PRIu64
			: ", and %" PRIu64 " for one kernel alone",
		    stability->versions_each);
	say_varying(sentence, stability);
}

static void say_hidden(struct sentence *sentence, const struct kp_stability *stability,
		       double spread)
{
	if (!stability->hidden)
		return;
	if (stability->count == 1 && spread > KP_SHAPES_SPREAD)
		say(sentence,
		    "; but durations spread by %.0f %% of their mean, so something varies that the "
		    "grid does not show",
		    100 * spread);
	else
		say(sentence,
		    "; graph nodes keep their grid: whether a length varies as a parameter is "
		    "unknown");
}

/* Of all the time, that of trials; the listed shapes say what the rest is. */
static double trials_pct(const struct kp_stability *stability)
{
	double steady_ns = stability->steady_ns, trial_ns = (double)stability->trial_ns;

	return steady_ns + trial_ns > 0 ? 100 * trial_ns / (steady_ns + trial_ns) : 0;
}

const char *kp_shapes_reason(const struct kp_stability *stability, uint64_t launches, double spread,
			     struct kp_arena *arena)
{
	struct sentence sentence = {.length = 0};

	switch (stability->verdict) {
	case KP_SHAPES_UNKNOWN:
		if (!launches && stability->trials)
			say(&sentence, "autotuning tried it, and nothing else ran it");
		else if (!stability->versions)
			say(&sentence, "no launch was timed");
		else
			say(&sentence, "%" PRIu64 " launch%s: too few to tell", launches,
			    launches == 1 ? "" : "es");
		break;
	case KP_SHAPES_SINGLE:
		say_single(&sentence, stability, launches);
		break;
	case KP_SHAPES_FEW_VERSIONS:
	case KP_SHAPES_NOT_WORTH:
		say_many(&sentence, stability);
		break;
	}
	if (stability->verdict != KP_SHAPES_UNKNOWN)
		say_hidden(&sentence, stability, spread);
	if (launches && stability->trials)
		say(&sentence,
		    "; %" PRIu64 " more launches were autotuning's (%.1f %% of all its time)",
		    stability->trials, trials_pct(stability));
	return kp_arena_copy(arena, sentence.text, sentence.length);
}
