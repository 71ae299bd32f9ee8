/*
 * Candidates: chains of one rule and the same steps joined, and what one kernel would win; see
 * fusion.h for the model.
 */
#include "analyzers/fusion_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/durations.h"
#include "trace/intern.h"

/* Memory is busy from this part of its ceiling on, as in report_traffic.h. */
#define BUSY_PCT 60
/* Chains whose kernels differ, but not their steps. */
struct group {
	const struct kp_fusion_chain *heaviest;
	uint64_t runs, graph_runs, kernel_ns, gap_ns, graph_gap_ns, own_gap_ns;
	double least_ns, most_ns;
	uint64_t *total_ns; /* of each member */
};

struct joining {
	const struct kp_fusion_finder *finder;
	const struct kp_operators *operators;
	const size_t *kernel_of;
	struct kp_report *report;
	struct kp_intern keys;
	struct group *groups;
	struct kp_arena *arena; /* of total_ns */
};

/* ---- one chain ---- */

struct kp_fusion_ends kp_fusion_ends(const struct kp_fusion_link *links, uint32_t count)
{
	struct kp_fusion_ends ends = {1, 1};

	while (ends.first < count && links[ends.first].row == links[0].row)
		ends.first++;
	while (ends.last < count && links[count - 1 - ends.last].row == links[count - 1].row)
		ends.last++;
	return ends;
}

uint64_t kp_fusion_shortest_step(const uint64_t *steps_ns, uint32_t count, uint64_t longest_ns)
{
	uint64_t shortest_ns = longest_ns;

	for (uint32_t i = 0; i < count; i++) {
		if (steps_ns[i] * KP_FUSION_WHOLE_STEP >= longest_ns && steps_ns[i] < shortest_ns)
			shortest_ns = steps_ns[i];
	}
	return shortest_ns;
}

double kp_fusion_part(unsigned inputs, uint32_t i, uint32_t count, struct kp_fusion_ends ends)
{
	double tensors = (inputs ? inputs : 1) + 1.0;

	return (tensors - (i >= ends.first) - (i + ends.last < count)) / tensors;
}

/* ---- joining ---- */

static enum kp_status find_group(struct joining *joining, const struct kp_fusion_chain *chain,
				 struct group **out)
{
	uint32_t key[1 + 64], number = 0;
	enum kp_status status;
	struct group *group;
	bool added;

	key[0] = chain->rule;
	for (uint32_t i = 0; i < chain->count; i++)
		key[1 + i] = chain->rule == KP_FUSION_NO_RULE ? chain->links[i].row
							      : chain->links[i].word;
	status = kp_intern_put(&joining->keys, key, (1 + chain->count) * sizeof(*key), &number,
			       &added);
	if (status != KP_OK)
		return status;
	group = &joining->groups[number];
	if (added)
		group->total_ns =
			kp_arena_alloc(joining->arena, chain->count * sizeof(*group->total_ns));
	*out = group;
	return group->total_ns ? KP_OK : KP_NO_MEMORY;
}

static enum kp_status join(struct joining *joining, const struct kp_fusion_chain *chain)
{
	struct group *group;
	enum kp_status status = find_group(joining, chain, &group);

	if (status != KP_OK)
		return status;
	if (!group->heaviest || chain->kernel_ns > group->heaviest->kernel_ns)
		group->heaviest = chain;
	group->runs += chain->runs;
	group->graph_runs += chain->graph_runs;
	group->kernel_ns = kp_add_saturating(group->kernel_ns, chain->kernel_ns);
	group->gap_ns += chain->gap_ns;
	group->graph_gap_ns += chain->graph_gap_ns;
	group->own_gap_ns += chain->own_gap_ns;
	group->least_ns += chain->least_ns;
	group->most_ns += chain->most_ns;
	for (uint32_t i = 0; i < chain->count; i++)
		group->total_ns[i] =
			kp_add_saturating(group->total_ns[i], chain->links[i].total_ns);
	return KP_OK;
}

/* ---- bytes ---- */

static bool same_shape(const struct kp_shape_row *shape, const struct kp_fusion_member *member)
{
	return memcmp(shape->grid, member->grid, sizeof(shape->grid)) == 0 &&
	       memcmp(shape->block, member->block, sizeof(shape->block)) == 0;
}

/* What counters say of a member's launches: of its usual shape, else of all. */
static const struct kp_row_traffic *traffic_of(const struct kp_report *report,
					       const struct kp_fusion_member *member)
{
	const struct kp_kernel_row *kernel = &report->kernels[member->kernel];

	for (size_t i = 0; i < kernel->shape_count; i++)
		if (same_shape(&kernel->shapes[i], member))
			return &kernel->shapes[i].traffic;
	return &kernel->traffic;
}

/* Bytes of one run: of all members, what one kernel moves at most and at least. */
struct bytes {
	double all, most, least;
	double peak_gbps; /* of what remains */
	enum kp_traffic_source source;
};

/* False: they are not all known. */
static bool sum_bytes(const struct joining *joining, const struct kp_fusion_row *row,
		      const struct kp_fusion_chain *chain, struct bytes *out)
{
	struct kp_fusion_ends ends = kp_fusion_ends(chain->links, chain->count);

	*out = (struct bytes){.source = KP_TRAFFIC_MEASURED};
	if (!joining->report->traffic.any)
		return false;
	for (size_t i = 0; i < row->member_count; i++) {
		const struct kp_row_traffic *traffic =
			traffic_of(joining->report, &row->members[i]);
		bool first = i < ends.first, last = i + ends.last >= row->member_count;
		unsigned inputs = kp_fusion_finder_inputs(joining->finder, chain->links[i].word);

		if (traffic->source == KP_TRAFFIC_UNKNOWN || !isfinite(traffic->bytes))
			return false;
		if (traffic->source < out->source)
			out->source = traffic->source;
		out->all += traffic->bytes;
		out->most +=
			traffic->bytes * kp_fusion_part(inputs, (uint32_t)i, chain->count, ends);
		out->least += first ? traffic->metrics[KP_METRIC_DRAM_READ].mean : 0;
		out->least += last ? traffic->metrics[KP_METRIC_DRAM_WRITE].mean : 0;
		out->peak_gbps = traffic->peak_gbps;
	}
	if (!row->known)
		out->most = out->all;
	out->most = fmin(out->most, out->all);
	out->least = fmin(out->least, out->most);
	return isfinite(out->all) && isfinite(out->least);
}

/* Bytes a nanosecond are GB/s. */
static void weigh_bytes(const struct joining *joining, const struct kp_fusion_chain *chain,
			bool absorbed, struct kp_fusion_row *row)
{
	double kernel_ns = (double)row->kernel_ns, runs = (double)row->runs, gbps;
	struct bytes bytes;

	row->bytes = row->bytes_saved_low = row->bytes_saved_high = NAN;
	if (!sum_bytes(joining, row, chain, &bytes))
		return;
	row->bytes_source = bytes.source;
	row->bytes = bytes.all * runs;
	row->bytes_saved_low = (bytes.all - bytes.most) * runs;
	row->bytes_saved_high = (bytes.all - (absorbed ? 0 : bytes.least)) * runs;
	gbps = kernel_ns > 0 ? row->bytes / kernel_ns : 0;
	if (!isfinite(bytes.peak_gbps) || bytes.peak_gbps <= 0 ||
	    gbps * 100 < bytes.peak_gbps * BUSY_PCT || !row->known)
		return;
	row->by_bytes = true;
	row->kernel_gain.low = row->bytes_saved_low / gbps;
	row->kernel_gain.high =
		absorbed ? kernel_ns : kernel_ns - bytes.least * runs / bytes.peak_gbps;
	row->kernel_gain.high = fmax(row->kernel_gain.high, row->kernel_gain.low);
}

/* ---- rows ---- */

static double percent(double part, double whole)
{
	return whole > 0 ? fmin(100 * part / whole, 100) : 0;
}

/* FNV-1a, which is stable wherever kprof runs. */
static uint32_t hash(uint32_t seed, const char *text)
{
	for (; *text; text++)
		seed = (seed ^ (unsigned char)*text) * 16777619U;
	return (seed ^ '/') * 16777619U;
}

/* «fusion:rmsnorm-with-residual:1f2e3d4c». */
static const char *make_id(const struct joining *joining, const struct kp_fusion_row *row)
{
	char id[96];
	size_t length = 7;
	uint32_t number = 2166136261U;

	for (size_t i = 0; i < row->member_count; i++)
		number = hash(number,
			      row->known ? row->members[i].step
					 : joining->report->kernels[row->members[i].kernel].full);
	memcpy(id, "fusion:", length);
	for (const char *at = row->name; *at && length < sizeof(id) - 16; at++) {
		bool letter = (*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9');

		if (*at >= 'A' && *at <= 'Z')
			id[length++] = (char)(*at - 'A' + 'a');
		else if (letter || id[length - 1] != '-')
			id[length++] = letter ? *at : '-';
	}
	id[length++] = ':';
	for (unsigned i = 0; i < 8; i++)
		id[length++] = "0123456789abcdef"[number >> (28 - 4 * i) & 15];
	return kp_arena_copy(joining->report->arena, id, length);
}

static enum kp_status copy_text(const struct joining *joining, const char *text, const char **out)
{
	*out = text ? kp_arena_copy(joining->report->arena, text, strlen(text)) : NULL;
	return text && !*out ? KP_NO_MEMORY : KP_OK;
}

static enum kp_status put_texts(const struct joining *joining, const struct kp_fusion_rule *rule,
				struct kp_fusion_row *row)
{
	enum kp_status status =
		copy_text(joining, rule ? rule->name : "elementwise chain", &row->name);

	if (status == KP_OK)
		status = copy_text(joining,
				   rule ? rule->about
					: "one kernel, where each works on what the one before it "
					  "wrote: torch.compile or Triton",
				   &row->about);
	if (status == KP_OK && rule)
		status = copy_text(joining, rule->builtin, &row->builtin);
	if (status != KP_OK)
		return status;
	row->id = make_id(joining, row);
	return row->id ? KP_OK : KP_NO_MEMORY;
}

static enum kp_status put_members(const struct joining *joining, const struct group *group,
				  struct kp_fusion_row *row)
{
	const struct kp_fusion_chain *chain = group->heaviest;
	struct kp_fusion_member *members =
		kp_arena_alloc(joining->report->arena, chain->count * sizeof(*members));
	enum kp_status status = members ? KP_OK : KP_NO_MEMORY;
	double alone_ns = 0, total_ns = 0;

	for (uint32_t i = 0; status == KP_OK && i < chain->count; i++) {
		const struct kp_fusion_link *link = &chain->links[i];
		const struct kp_kernel_row *kernel;

		members[i].kernel = joining->kernel_of[link->row];
		kernel = &joining->report->kernels[members[i].kernel];
		members[i].total_ns = group->total_ns[i];
		memcpy(members[i].grid, link->config->grid, sizeof(members[i].grid));
		memcpy(members[i].block, link->config->block, sizeof(members[i].block));
		status = copy_text(joining, kp_fusion_finder_text(joining->finder, link->word),
				   &members[i].step);
		total_ns += (double)members[i].total_ns;
		if (kernel->durations.total_ns)
			alone_ns += (double)members[i].total_ns * (double)kernel->alone_ns /
				    (double)kernel->durations.total_ns;
	}
	row->members = members;
	row->member_count = chain->count;
	row->alone_pct = percent(alone_ns, total_ns);
	return status;
}

static enum kp_status make_row(const struct joining *joining, const struct group *group,
			       struct kp_fusion_row *row)
{
	uint32_t number = group->heaviest->rule;
	const struct kp_fusion_rule *rule =
		number == KP_FUSION_NO_RULE ? NULL : &joining->operators->fusions[number];
	double span_ns = (double)joining->report->span_ns;
	enum kp_status status;

	*row = (struct kp_fusion_row){
		.known = rule != NULL,
		.absorbed = rule && rule->absorbed,
		.confidence = rule ? rule->confidence : KP_FUSION_LOW,
		.runs = group->runs,
		.graph_runs = group->graph_runs,
		.kernel_ns = group->kernel_ns,
		.gap_ns = group->gap_ns,
		.graph_gap_ns = group->graph_gap_ns,
		.kernel_gain.low = rule ? fmax((double)group->kernel_ns - group->most_ns, 0) : 0,
		.kernel_gain.high = fmax((double)group->kernel_ns - group->least_ns, 0),
		.gap_gain.low = rule ? (double)group->own_gap_ns : 0,
		.gap_gain.high = (double)group->gap_ns,
	};
	/* Of a chain that the rule gives no certainty the least is nothing. */
	if (row->confidence == KP_FUSION_LOW)
		row->kernel_gain.low = row->gap_gain.low = 0;
	status = put_members(joining, group, row);
	if (status == KP_OK)
		status = put_texts(joining, rule, row);
	if (status != KP_OK)
		return status;
	weigh_bytes(joining, group->heaviest, row->absorbed, row);
	row->gain.low = (row->kernel_gain.low + row->gap_gain.low) * row->alone_pct / 100;
	row->gain.high = row->kernel_gain.high + row->gap_gain.high;
	row->gain_low_pct = percent(row->gain.low, span_ns);
	row->gain_high_pct = percent(row->gain.high, span_ns);
	return KP_OK;
}

/* Most to win first, halfway between low and high; the id, which differs, breaks ties. */
static int compare_rows(const void *left, const void *right)
{
	const struct kp_fusion_row *a = left, *b = right;
	double a_ns = a->gain.low + a->gain.high, b_ns = b->gain.low + b->gain.high;

	if (a_ns > b_ns || a_ns < b_ns)
		return a_ns > b_ns ? -1 : 1;
	return strcmp(a->id, b->id);
}

static void add_up(struct kp_report *report, const struct kp_fusion_row *rows, size_t count)
{
	struct kp_report_fusion *fusion = &report->fusion;

	for (size_t i = 0; i < count; i++) {
		if (!rows[i].known)
			continue;
		fusion->launches += rows[i].runs * rows[i].member_count;
		fusion->launches_saved +=
			rows[i].runs * (rows[i].member_count - (rows[i].absorbed ? 0 : 1));
		fusion->gain.low += rows[i].gain.low;
		fusion->gain.high += rows[i].gain.high;
	}
	fusion->gain_low_pct = percent(fusion->gain.low, (double)report->span_ns);
	fusion->gain_high_pct = percent(fusion->gain.high, (double)report->span_ns);
}

static enum kp_status put_rows(struct joining *joining)
{
	struct kp_report *report = joining->report;
	struct kp_fusion_row *rows =
		kp_arena_alloc(report->arena, (joining->keys.count + 1) * sizeof(*rows));
	enum kp_status status = rows ? KP_OK : KP_NO_MEMORY;
	size_t count = 0;

	for (size_t i = 0; status == KP_OK && i < joining->keys.count; i++)
		if (joining->groups[i].runs >= KP_FUSION_RUNS_LEAST)
			status = make_row(joining, &joining->groups[i], &rows[count++]);
	if (status != KP_OK)
		return status;
	qsort(rows, count, sizeof(*rows), compare_rows);
	add_up(report, rows, count);
	report->fusion.rows = rows;
	report->fusion.count = count < KP_FUSION_ROWS_MAX ? count : KP_FUSION_ROWS_MAX;
	report->fusion.more = count - report->fusion.count;
	report->fusion.left_out = kp_fusion_finder_left_out(joining->finder);
	return KP_OK;
}

enum kp_status kp_fusion_put(const struct kp_fusion_finder *finder,
			     const struct kp_operators *operators, const size_t *kernel_of,
			     struct kp_report *report)
{
	size_t chains = kp_fusion_finder_count(finder);
	struct joining joining = {.finder = finder,
				  .operators = operators,
				  .kernel_of = kernel_of,
				  .report = report,
				  .groups = calloc(chains + 1, sizeof(*joining.groups)),
				  .arena = kp_arena_create()};
	enum kp_status status = joining.groups && joining.arena ? KP_OK : KP_NO_MEMORY;

	for (size_t i = 0; status == KP_OK && i < chains; i++)
		status = join(&joining, kp_fusion_finder_chain(finder, i));
	if (status == KP_OK)
		status = put_rows(&joining);
	kp_intern_fini(&joining.keys);
	kp_arena_destroy(joining.arena);
	free(joining.groups);
	return status;
}
