/* Launches side by side; see attribution_parts.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/attribution_parts.h"

/* Side by side for less than this part of all launches' time: nothing to tell apart. */
#define BESIDE_PART 0.002
/* Launches of a class of which one was shorter than this have so few blocks that they find room
 * beside others. */
#define WAITS_NS 3000

struct ending {
	uint64_t ns;
	size_t launch;
};

/* A walk through the edges of launches and samples in order of time. */
struct walk {
	const struct kp_attribution_input *input;
	struct kp_beside *beside;
	const struct ending *endings; /* in order of time */
	size_t started, ended;
	double slow;
	uint64_t at_ns; /* where it stands, */
	double done_ns; /* and what has passed at the pace of the launches */
};

static int by_time(const void *left, const void *right)
{
	uint64_t a = ((const struct ending *)left)->ns, b = ((const struct ending *)right)->ns;

	return (a > b) - (a < b);
}

static struct ending *endings_of(const struct kp_attribution_input *input)
{
	struct ending *endings = malloc((input->launch_count + 1) * sizeof(*endings));

	for (size_t i = 0; endings && i < input->launch_count; i++)
		endings[i] = (struct ending){input->launches[i].end_ns, i};
	if (endings)
		qsort(endings, input->launch_count, sizeof(*endings), by_time);
	return endings;
}

static uint64_t go_to(struct walk *walk, uint64_t ns)
{
	size_t running = walk->started - walk->ended;
	double others = running > 1 ? (double)(running - 1) : 0;

	walk->done_ns += (double)(ns - walk->at_ns) / (1 + walk->slow * others);
	walk->at_ns = ns;
	return (uint64_t)(walk->done_ns + 0.5);
}

/* What begins or ends until then: beginnings first, so that nothing ends before it began. */
static void pass_launches(struct walk *walk, uint64_t until_ns)
{
	const struct kp_attribution_launch *launches = walk->input->launches;
	struct kp_attribution_launch *to = walk->beside->launches;
	size_t count = walk->input->launch_count;

	while (walk->ended < count) {
		const struct ending *ending = &walk->endings[walk->ended];
		bool starts =
			walk->started < count && launches[walk->started].start_ns <= ending->ns;
		uint64_t next_ns = starts ? launches[walk->started].start_ns : ending->ns;

		if (next_ns > until_ns)
			return;
		uint64_t done_ns = go_to(walk, next_ns);
		if (starts)
			to[walk->started++].start_ns = done_ns;
		else
			to[walk->endings[walk->ended++].launch].end_ns = done_ns;
	}
}

static void walk_all(struct walk *walk)
{
	const struct kp_attribution_input *input = walk->input;
	struct kp_beside *beside = walk->beside;

	for (size_t i = 0; i < input->launch_count; i++)
		beside->launches[i].class = input->launches[i].class;
	for (size_t i = 0; i < input->sample_count; i++) {
		uint64_t begin_ns = input->begin_ns[i], end_ns = begin_ns + input->length_ns[i];

		pass_launches(walk, begin_ns);
		beside->begin_ns[i] = go_to(walk, begin_ns);
		pass_launches(walk, end_ns);
		uint64_t width_ns = go_to(walk, end_ns) - beside->begin_ns[i];
		beside->width_ns[i] = (uint32_t)(width_ns > 0 ? width_ns : 1);
	}
	pass_launches(walk, UINT64_MAX);
}

static uint64_t first_ns(const struct kp_attribution_input *input)
{
	uint64_t launch_ns = input->launch_count ? input->launches[0].start_ns : UINT64_MAX;
	uint64_t sample_ns = input->sample_count ? input->begin_ns[0] : UINT64_MAX;

	return launch_ns < sample_ns ? launch_ns : sample_ns;
}

/*
 * Launches whose blocks wait for room: a full GPU gives room to the next launch's blocks only when
 * no more of the first are left to begin, so that the next one's begin tells that the first has
 * only to end its blocks. They share the GPU for about half of the time until the first one's
 * record ends; for the rest that record waits for memory, which the other keeps busy. Seen on H200
 * with samples of 20 µs. NULL: no memory.
 */
static struct kp_attribution_launch *relieved(const struct kp_attribution_input *input)
{
	size_t count = input->launch_count;
	struct kp_attribution_launch *launches = malloc((count + 1) * sizeof(*launches));
	bool *is_short = calloc(input->class_count + 1U, sizeof(*is_short));
	uint64_t next_ns = UINT64_MAX;

	if (!launches || !is_short) {
		free(launches);
		free(is_short);
		return NULL;
	}
	memcpy(launches, input->launches, count * sizeof(*launches));
	for (size_t i = 0; i < count; i++) {
		if (launches[i].end_ns - launches[i].start_ns < WAITS_NS)
			is_short[launches[i].class] = true;
	}
	for (size_t i = count; i-- > 0;) {
		struct kp_attribution_launch *launch = &launches[i];

		if (launch->end_ns > next_ns)
			launch->end_ns = next_ns + (launch->end_ns - next_ns) / 2;
		if (!is_short[launch->class])
			next_ns = launch->start_ns;
	}
	free(is_short);
	return launches;
}

static enum kp_status init(struct kp_beside *beside, const struct kp_attribution_input *input,
			   double slow)
{
	size_t launches = input->launch_count, samples = input->sample_count;
	struct ending *endings = endings_of(input);
	struct walk walk = {input, beside, endings, 0, 0, slow, first_ns(input), 0};

	beside->launches = malloc((launches + 1) * sizeof(*beside->launches));
	beside->begin_ns = malloc((samples + 1) * sizeof(*beside->begin_ns));
	beside->width_ns = malloc((samples + 1) * sizeof(*beside->width_ns));
	bool made = endings && beside->launches && beside->begin_ns && beside->width_ns;
	if (made)
		walk_all(&walk);
	free(endings);
	return made ? KP_OK : KP_NO_MEMORY;
}

enum kp_status kp_beside_init(struct kp_beside *beside, const struct kp_attribution_input *input,
			      const struct kp_way *way)
{
	struct kp_attribution_input other = *input;
	struct kp_attribution_launch *launches;
	enum kp_status status;

	if (!way->relief)
		return init(beside, input, way->slow);
	other.launches = launches = relieved(input);
	status = launches ? init(beside, &other, way->slow) : KP_NO_MEMORY;
	free(launches);
	return status;
}

void kp_beside_fini(struct kp_beside *beside)
{
	free(beside->launches);
	free(beside->begin_ns);
	free(beside->width_ns);
	*beside = (struct kp_beside){0};
}

bool kp_beside_matters(const struct kp_attribution_input *input)
{
	double beside_ns = 0, whole_ns = 0;
	uint64_t until_ns = 0;

	for (size_t i = 0; i < input->launch_count; i++) {
		const struct kp_attribution_launch *launch = &input->launches[i];
		uint64_t shared_ns = until_ns < launch->end_ns ? until_ns : launch->end_ns;

		if (shared_ns > launch->start_ns)
			beside_ns += (double)(shared_ns - launch->start_ns);
		whole_ns += (double)(launch->end_ns - launch->start_ns);
		until_ns = launch->end_ns > until_ns ? launch->end_ns : until_ns;
	}
	return beside_ns > BESIDE_PART * whole_ns;
}

enum kp_status kp_beside_parts(struct kp_attribution *attribution,
			       const struct kp_attribution_input *input)
{
	double *beside_ns = calloc(input->class_count + 1U, sizeof(*beside_ns));
	double *whole_ns = calloc(input->class_count + 1U, sizeof(*whole_ns));
	const struct kp_attribution_launch *latest = input->launches; /* that ends last */
	enum kp_status status = beside_ns && whole_ns ? KP_OK : KP_NO_MEMORY;

	for (size_t i = 0; status == KP_OK && i < input->launch_count; i++) {
		const struct kp_attribution_launch *launch = &input->launches[i];
		uint64_t until_ns =
			launch->end_ns < latest->end_ns ? launch->end_ns : latest->end_ns;

		whole_ns[launch->class] += (double)(launch->end_ns - launch->start_ns);
		if (i > 0 && until_ns > launch->start_ns) {
			beside_ns[launch->class] += (double)(until_ns - launch->start_ns);
			beside_ns[latest->class] += (double)(until_ns - launch->start_ns);
		}
		if (launch->end_ns > latest->end_ns)
			latest = launch;
	}
	for (uint32_t c = 0; status == KP_OK && c < input->class_count; c++) {
		uint32_t kept = attribution->kept_of_class[c];

		if (kept < attribution->kept && whole_ns[c] > 0)
			attribution->times[kept].beside = fmin(beside_ns[c] / whole_ns[c], 1);
	}
	free(beside_ns);
	free(whole_ns);
	return status;
}

/* Of two times within which each launch that still runs lies, the later end and the one before. */
struct latest {
	uint64_t first_ns, second_ns; /* ends */
	uint64_t since_ns;            /* both run since then */
};

static void take_up(struct latest *latest, const struct kp_attribution_launch *launch)
{
	uint64_t end_ns = launch->end_ns;

	if (end_ns > latest->first_ns) {
		latest->second_ns = latest->first_ns;
		latest->first_ns = end_ns;
	} else if (end_ns > latest->second_ns) {
		latest->second_ns = end_ns;
	} else {
		return;
	}
	latest->since_ns = launch->start_ns;
}

float *kp_beside_at_ends(const struct kp_attribution_input *input)
{
	float *beside_ns = calloc(input->sample_count + 1, sizeof(*beside_ns));
	struct latest latest = {0};
	size_t next = 0;

	for (size_t i = 0; beside_ns && i < input->sample_count; i++) {
		uint64_t at_ns = input->begin_ns[i] + input->length_ns[i];

		while (next < input->launch_count && input->launches[next].start_ns < at_ns)
			take_up(&latest, &input->launches[next++]);
		if (latest.second_ns > at_ns)
			beside_ns[i] = (float)(latest.second_ns - latest.since_ns);
	}
	return beside_ns;
}
