/* A summary of clocks; see clocks.h. Pure. */
#include "analyzers/clocks.h"

#include <string.h>

/* So many values of a clock are told apart (GPUs have fewer); any more count as the nearest. */
#define VALUES_MOST 256

// clang-format off
static const struct {
	uint64_t bit;
	const char *key, *title;
} reasons[KP_THROTTLE_COUNT] = {
#define X(NAME, bit, key, title) {bit, key, title},
	KP_THROTTLE_REASONS(X)
#undef X
};
// clang-format on

struct range {
	uint64_t count;
	uint32_t least, most;
	double sum;
};

/* Of readings of a busy GPU, or of an idle one. */
struct part {
	uint64_t readings;
	struct range sm_mhz, memory_mhz, power_mw, temperature_c;
	struct value {
		uint32_t mhz;
		uint64_t count;
	} sm_values[VALUES_MOST]; /* rising */
	size_t sm_value_count;
	uint64_t with_reasons, throttled, by_reason[KP_THROTTLE_COUNT];
};

struct kp_clocks_tally {
	struct part busy, idle;
	double asking_ns;
	uint64_t asking_most_ns;
};

const char *kp_throttle_key(enum kp_throttle_reason reason)
{
	return reasons[reason].key;
}

const char *kp_throttle_title(enum kp_throttle_reason reason)
{
	return reasons[reason].title;
}

static void widen(struct range *range, uint32_t value)
{
	if (range->count == 0 || value < range->least)
		range->least = value;
	if (value > range->most)
		range->most = value;
	range->sum += value;
	range->count++;
}

static void count_value(struct part *part, uint32_t mhz, uint64_t count)
{
	struct value *values = part->sm_values;
	size_t at = 0;

	while (at < part->sm_value_count && values[at].mhz < mhz)
		at++;
	if (at < part->sm_value_count && values[at].mhz == mhz) {
		values[at].count += count;
	} else if (part->sm_value_count < VALUES_MOST) {
		memmove(&values[at + 1], &values[at],
			(part->sm_value_count - at) * sizeof(*values));
		values[at] = (struct value){mhz, count};
		part->sm_value_count++;
	} else {
		bool above = at == VALUES_MOST ||
			     (at > 0 && mhz - values[at - 1].mhz < values[at].mhz - mhz);
		values[at - above].count += count;
	}
}

static void count_reasons(struct part *part, uint64_t mask)
{
	bool any = false;

	for (int i = 0; i < KP_THROTTLE_COUNT; i++) {
		bool given = (mask & reasons[i].bit) != 0;

		part->by_reason[i] += given;
		any |= given;
	}
	part->throttled += any;
	part->with_reasons++;
}

static void count_cost(struct kp_clocks_tally *tally, const struct kp_clocks *reading)
{
	uint64_t took_ns =
		reading->end_ns > reading->start_ns ? reading->end_ns - reading->start_ns : 0;

	tally->asking_ns += (double)took_ns;
	if (took_ns > tally->asking_most_ns)
		tally->asking_most_ns = took_ns;
}

enum kp_status kp_clocks_add(struct kp_clocks_tally **tally, const struct kp_clocks *reading,
			     struct kp_arena *arena)
{
	bool idle = (reading->has & KP_CLOCKS_THROTTLE) &&
		    (reading->throttle_reasons & KP_THROTTLE_IDLE);
	struct part *part;

	if (!*tally)
		*tally = kp_arena_alloc(arena, sizeof(**tally));
	if (!*tally)
		return KP_NO_MEMORY;
	count_cost(*tally, reading);
	part = idle ? &(*tally)->idle : &(*tally)->busy;
	part->readings++;
	if (reading->has & KP_CLOCKS_SM) {
		widen(&part->sm_mhz, reading->sm_mhz);
		count_value(part, reading->sm_mhz, 1);
	}
	if (reading->has & KP_CLOCKS_MEMORY)
		widen(&part->memory_mhz, reading->memory_mhz);
	if (reading->has & KP_CLOCKS_POWER)
		widen(&part->power_mw, reading->power_mw);
	if (reading->has & KP_CLOCKS_TEMPERATURE)
		widen(&part->temperature_c, reading->temperature_c);
	if (reading->has & KP_CLOCKS_THROTTLE)
		count_reasons(part, reading->throttle_reasons);
	return KP_OK;
}

static void merge_range(struct range *range, const struct range *other)
{
	if (other->count == 0)
		return;
	if (range->count == 0 || other->least < range->least)
		range->least = other->least;
	if (other->most > range->most)
		range->most = other->most;
	range->sum += other->sum;
	range->count += other->count;
}

static void merge_part(struct part *part, const struct part *other)
{
	part->readings += other->readings;
	merge_range(&part->sm_mhz, &other->sm_mhz);
	merge_range(&part->memory_mhz, &other->memory_mhz);
	merge_range(&part->power_mw, &other->power_mw);
	merge_range(&part->temperature_c, &other->temperature_c);
	for (size_t i = 0; i < other->sm_value_count; i++)
		count_value(part, other->sm_values[i].mhz, other->sm_values[i].count);
	part->with_reasons += other->with_reasons;
	part->throttled += other->throttled;
	for (int i = 0; i < KP_THROTTLE_COUNT; i++)
		part->by_reason[i] += other->by_reason[i];
}

enum kp_status kp_clocks_merge(struct kp_clocks_tally **tally, const struct kp_clocks_tally *other,
			       struct kp_arena *arena)
{
	if (!other)
		return KP_OK;
	if (!*tally)
		*tally = kp_arena_alloc(arena, sizeof(**tally));
	if (!*tally)
		return KP_NO_MEMORY;
	merge_part(&(*tally)->busy, &other->busy);
	merge_part(&(*tally)->idle, &other->idle);
	(*tally)->asking_ns += other->asking_ns;
	if (other->asking_most_ns > (*tally)->asking_most_ns)
		(*tally)->asking_most_ns = other->asking_most_ns;
	return KP_OK;
}

static uint32_t median_of(const struct part *part)
{
	uint64_t seen = 0;
	size_t i = 0;

	while (i + 1 < part->sm_value_count &&
	       (seen += part->sm_values[i].count) * 2 < part->sm_mhz.count)
		i++;
	return part->sm_values[i].mhz;
}

static struct kp_clocks_range range_of(const struct range *range)
{
	struct kp_clocks_range out = {.known = range->count > 0};

	if (out.known) {
		out.least = range->least;
		out.most = range->most;
		out.mean = range->sum / (double)range->count;
	}
	return out;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

void kp_clocks_summarise(const struct kp_clocks_tally *tally, struct kp_clocks_summary *out)
{
	const struct part *part;

	memset(out, 0, sizeof(*out));
	if (!tally)
		return;
	out->readings = tally->busy.readings + tally->idle.readings;
	out->idle = tally->idle.readings;
	out->reading_mean_ns = tally->asking_ns / (double)out->readings;
	out->reading_most_ns = tally->asking_most_ns;
	part = tally->busy.readings ? &tally->busy : &tally->idle;
	out->sm_mhz = range_of(&part->sm_mhz);
	if (out->sm_mhz.known)
		out->sm_mhz.median = median_of(part);
	out->memory_mhz = range_of(&part->memory_mhz);
	out->power_mw = range_of(&part->power_mw);
	out->temperature_c = range_of(&part->temperature_c);
	out->throttle_known = part->with_reasons > 0;
	out->throttled_pct = percent(part->throttled, part->with_reasons);
	for (int i = 0; i < KP_THROTTLE_COUNT; i++)
		out->reason_pct[i] = percent(part->by_reason[i], part->with_reasons);
}
