/* Gaps and their causes; see gaps.h. */
#include "analyzers/gaps.h"

#define NO_ROW UINT32_MAX
#define RECENT_MASK ((1U << KP_GAP_RECENT) - 1)

const uint64_t kp_gap_bins_ns[KP_GAP_BIN_COUNT - 1] = {
	1000, 2000, 5000, 10000, 20000, 50000, 100000, 1000000, 10000000, 100000000,
};

uint64_t kp_gaps_busy_until(const struct kp_gaps *gaps, uint64_t at_ns)
{
	uint64_t beyond_ns = gaps->end_ns > at_ns ? gaps->end_ns - at_ns : 0;

	return gaps->busy_ns > beyond_ns ? gaps->busy_ns - beyond_ns : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void add_part(struct kp_gaps *gaps, enum kp_gap_cause cause, uint64_t length_ns,
		     bool inferred)
{
	struct kp_gap_part *part = &gaps->parts[cause];

	if (!length_ns)
		return;
	part->gaps++;
	part->total_ns += length_ns;
	part->inferred_ns += inferred ? length_ns : 0;
}

/* Whether launches have been waiting for the host as a rule. */
static bool is_regular(const struct kp_gaps *gaps)
{
	return __builtin_popcount(gaps->recent & RECENT_MASK) >= KP_GAP_REGULAR;
}

/*
 * Whether a kernel waited, and comes so soon that the host may just be launching one after the
 * other. A gap behind a long kernel says nothing: there was time to launch.
 */
static bool is_in_rhythm(const struct kp_gaps *gaps, const struct kp_activity *kernel,
			 uint64_t rest_ns)
{
	return !gaps->last.graph && !kernel->graph && rest_ns > KP_GAP_OWN_NS &&
	       kernel->start_ns - gaps->last.start_ns <= KP_GAP_LAUNCH_NS;
}

/* Between two launches of one process, without a graph launch that holds both. */
static enum kp_gap_cause cause_between(const struct kp_gaps *gaps, const struct kp_activity *kernel,
				       uint64_t rest_ns)
{
	if (gaps->waited)
		return rest_ns <= KP_GAP_SYNC_NS ? KP_GAP_SYNC : KP_GAP_UNKNOWN;
	if (rest_ns <= KP_GAP_OWN_NS)
		return KP_GAP_OWN;
	if (is_in_rhythm(gaps, kernel, rest_ns) && is_regular(gaps))
		return KP_GAP_LAUNCH;
	return KP_GAP_UNKNOWN;
}

static void judge(const struct kp_gaps *gaps, const struct kp_activity *kernel, bool first,
		  struct kp_gap *gap)
{
	const struct kp_activity *last = &gaps->last;
	uint64_t rest_ns = gap->end_ns - gap->begin_ns - gap->memory_ns;

	if (!gaps->end_ns || first) {
		gap->cause = KP_GAP_EDGE;
	} else if (last->use != kernel->use) {
		gap->cause = KP_GAP_PROCESS;
	} else if (last->graph && kernel->graph && kernel->correlation &&
		   last->correlation == kernel->correlation) {
		gap->cause = KP_GAP_GRAPH;
	} else {
		gap->cause = cause_between(gaps, kernel, rest_ns);
		gap->inferred = gap->cause != KP_GAP_UNKNOWN;
		gap->closable = !last->graph && !kernel->graph && !gaps->waited;
	}
}

static uint64_t length_of(const struct kp_gap *gap)
{
	return gap->end_ns - gap->begin_ns;
}

static void add_length(struct kp_gaps *gaps, const struct kp_gap *gap)
{
	uint64_t length_ns = length_of(gap);
	size_t bin = 0, at = gaps->longest_count;

	while (bin < KP_GAP_BIN_COUNT - 1 && length_ns >= kp_gap_bins_ns[bin])
		bin++;
	gaps->gaps++;
	gaps->bins[bin].gaps++;
	gaps->bins[bin].total_ns += length_ns;
	if (at == KP_GAP_LONGEST && length_of(&gaps->longest[--at]) >= length_ns)
		return;
	if (at == gaps->longest_count)
		gaps->longest_count++;
	for (; at && length_of(&gaps->longest[at - 1]) < length_ns; at--)
		gaps->longest[at] = gaps->longest[at - 1];
	gaps->longest[at] = *gap;
}

/* Time of memory operations between the union's end and at_ns. */
static uint64_t memory_until(const struct kp_gaps *gaps, uint64_t at_ns)
{
	/* What they run beyond at_ns they run in one piece, for none began later. */
	uint64_t beyond_ns = gaps->memory_end_ns > at_ns ? gaps->memory_end_ns - at_ns : 0;

	return gaps->memory_ns > beyond_ns ? gaps->memory_ns - beyond_ns : 0;
}

bool kp_gaps_reach(struct kp_gaps *gaps, const struct kp_activity *kernel, uint64_t window_ns,
		   bool first, struct kp_gap *out)
{
	uint64_t begin_ns = gaps->end_ns ? gaps->end_ns : gaps->first_ns;
	uint64_t rest_ns;

	if (!begin_ns || begin_ns >= kernel->start_ns || begin_ns < window_ns)
		return false;
	*out = (struct kp_gap){
		.begin_ns = begin_ns,
		.end_ns = kernel->start_ns,
		.memory_ns = memory_until(gaps, kernel->start_ns),
		.before = gaps->end_ns ? gaps->last.row : NO_ROW,
		.behind = kernel->row,
	};
	judge(gaps, kernel, first, out);
	rest_ns = out->end_ns - out->begin_ns - out->memory_ns;
	add_part(gaps, KP_GAP_MEMORY, out->memory_ns, false);
	if (gaps->end_ns) /* before the first kernel programs load what they need */
		gaps->synchronous_ns += least(gaps->blocked_ns, out->memory_ns);
	add_part(gaps, out->cause, rest_ns, out->inferred);
	add_length(gaps, out);
	return true;
}

/* What the gap before a launch says about those to come. */
static void remember(struct kp_gaps *gaps, const struct kp_activity *kernel)
{
	uint64_t begin_ns = gaps->end_ns, rest_ns = 0;

	if (kernel->graph)
		return;
	if (begin_ns && kernel->start_ns > begin_ns)
		rest_ns = kernel->start_ns - begin_ns - memory_until(gaps, kernel->start_ns);
	gaps->recent = gaps->recent << 1 | (begin_ns && is_in_rhythm(gaps, kernel, rest_ns));
}

enum kp_status kp_gaps_run(struct kp_gaps *gaps, const struct kp_activity *kernel)
{
	uint64_t from_ns = kernel->start_ns > gaps->end_ns ? kernel->start_ns : gaps->end_ns;
	bool one_launch = gaps->end_ns && gaps->last.graph && kernel->graph &&
			  kernel->correlation && gaps->last.correlation == kernel->correlation &&
			  gaps->last.use == kernel->use;
	enum kp_status status = KP_OK;

	if (!gaps->first_ns)
		gaps->first_ns = kernel->start_ns;
	remember(gaps, kernel);
	if (one_launch && kernel->start_ns > gaps->end_ns && !memory_until(gaps, kernel->start_ns))
		status = kp_durations_add(&gaps->node_gaps, kernel->start_ns - gaps->end_ns,
					  gaps->arena);
	if (gaps->end_ns && kernel->end_ns <= gaps->end_ns)
		return status;
	gaps->busy_ns += kernel->end_ns - from_ns;
	gaps->end_ns = kernel->end_ns;
	gaps->last = *kernel;
	gaps->memory_ns =
		gaps->memory_end_ns > gaps->end_ns ? gaps->memory_end_ns - gaps->end_ns : 0;
	gaps->blocked_ns = least(gaps->blocked_ns, gaps->memory_ns);
	gaps->waited &= gaps->memory_ns > 0;
	return status;
}

void kp_gaps_memory(struct kp_gaps *gaps, const struct kp_activity *memory)
{
	uint64_t from_ns = memory->start_ns;

	if (!gaps->first_ns)
		gaps->first_ns = memory->start_ns;
	if (memory->end_ns > gaps->end_ns)
		gaps->waited |= memory->to_host || memory->synchronous;
	if (from_ns < gaps->end_ns)
		from_ns = gaps->end_ns;
	if (from_ns < gaps->memory_end_ns)
		from_ns = gaps->memory_end_ns;
	if (memory->end_ns <= from_ns)
		return;
	gaps->memory_ns += memory->end_ns - from_ns;
	gaps->blocked_ns += memory->synchronous ? memory->end_ns - from_ns : 0;
	gaps->memory_end_ns = memory->end_ns;
}

void kp_gaps_finish(struct kp_gaps *gaps, uint64_t span_end_ns)
{
	uint64_t begin_ns = gaps->end_ns ? gaps->end_ns : gaps->first_ns;
	struct kp_gap gap = {.begin_ns = begin_ns,
			     .end_ns = span_end_ns,
			     .cause = KP_GAP_EDGE,
			     .before = gaps->end_ns ? gaps->last.row : NO_ROW,
			     .behind = NO_ROW};

	if (!begin_ns || begin_ns >= span_end_ns)
		return;
	gap.memory_ns = memory_until(gaps, span_end_ns);
	add_part(gaps, KP_GAP_MEMORY, gap.memory_ns, false);
	add_part(gaps, KP_GAP_EDGE, span_end_ns - begin_ns - gap.memory_ns, false);
	add_length(gaps, &gap);
}
