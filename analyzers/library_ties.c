/*
 * Pending launches and records, and how they are settled; see library_ties.h.
 *
 * One settling: records in order of correlation id make groups (of one launch each), which have
 * positions; launches in order of lane and ordinal ask for them. A lane is a context and stream;
 * launches whose stream was not asked for, because one thread launched, may ask for any group. What
 * graphs' launches were tied to teaches which graph is which. Then all records are visited.
 */
#include "analyzers/library_ties.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/library_match.h"
#include "trace/vector.h"

#define NO_GRAPH UINT32_MAX
#define ANY_LANE UINT64_MAX
/* More records than launches: threads that were stopped for good before they had counted. */
#define UNCOUNTED_MOST 64U

struct record {
	uint64_t start_ns, duration_ns;
	uint32_t correlation, config, row;
	uint32_t graph, node; /* CUPTI's node id, upper and lower half */
	bool of_graph;
};

/* Records of one correlation id. */
struct group {
	size_t first, count;
	uint64_t position;
	uint64_t lane;
	size_t launch; /* number of the launch + 1; 0: none */
};

/* What is known of one of CUPTI's graphs. */
struct graph {
	uint32_t upper;  /* half of the node ids */
	uint32_t number; /* NO_GRAPH: it is not to be believed */
};

struct kp_library_ties {
	const struct kp_process *process;
	struct kp_library_node *nodes; /* by graph and index */
	size_t node_count;
	struct graph *graphs; /* in order of `upper` */
	size_t graph_count, graph_capacity;
	struct kp_library_launch *launches;
	struct record *records;
	size_t launch_count, launch_capacity, record_count, record_capacity;
	struct kp_library_slack slack;
	uint64_t base;   /* records settled so far */
	uint64_t strays; /* of these: without a correlation id */
	struct kp_library_account account;
	/* while settling */
	struct group *groups;
	size_t group_count, settled; /* settled: records */
	uint64_t end;                /* launches whose record may be beyond have to wait */
	size_t ready;                /* launches that need not: they stand first */
	size_t *group_order, *all;   /* by lane and position; by position */
	struct kp_library_ask *asks;
	struct kp_library_offer *offers;
	size_t *scratch, *ask_of;
};

/* ---- what is known from the start ---- */

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_node(const void *left, const void *right)
{
	const struct kp_library_node *a = left, *b = right;
	int result = order(a->graph, b->graph);

	return result ? result : order(a->index, b->index);
}

/* A graph that was changed later has a node twice: if its calls differ, it is not known which. */
static void join_nodes(struct kp_library_ties *ties)
{
	size_t left = 0;

	for (size_t i = 0; i < ties->node_count; i++) {
		struct kp_library_node *last = left ? &ties->nodes[left - 1] : NULL;
		const struct kp_library_node *node = &ties->nodes[i];

		if (!last || by_node(last, node) != 0)
			ties->nodes[left++] = *node;
		else if (last->call != node->call || last->part != node->part)
			last->call = KP_LIBRARY_NO_CALL;
	}
	ties->node_count = left;
}

static bool take_nodes(struct kp_library_ties *ties)
{
	size_t count = ties->process->library_node_count;

	ties->nodes = malloc((count + 1) * sizeof(*ties->nodes));
	if (!ties->nodes)
		return false;
	if (count) {
		memcpy(ties->nodes, ties->process->library_nodes, count * sizeof(*ties->nodes));
		qsort(ties->nodes, count, sizeof(*ties->nodes), by_node);
	}
	ties->node_count = count;
	join_nodes(ties);
	return true;
}

/*
 * How many records are missing, by the counts. Of a process that was killed those are missing that
 * came last: they change no position.
 */
static struct kp_library_slack slack_of(const struct kp_process *process)
{
	const struct kp_counts *counts = &process->counts;
	struct kp_library_slack slack = {KP_LIBRARY_UNKNOWN, 0};
	uint64_t numbered;

	if (!process->end.has) {
		slack.missing =
			process->missing_chunks ? KP_LIBRARY_UNKNOWN : counts->records_dropped;
		return slack;
	}
	if (!KP_HAS(counts, COUNTS, kernels_issued) ||
	    counts->kernels_issued < counts->kernels_unnumbered)
		return slack;
	numbered = counts->kernels_issued - counts->kernels_unnumbered;
	if (numbered >= process->promised_launches)
		slack.missing = numbered - process->promised_launches;
	else if (process->promised_launches - numbered <= UNCOUNTED_MOST)
		slack = (struct kp_library_slack){0, process->promised_launches - numbered};
	return slack;
}

bool kp_library_ties_any(const struct kp_process *process)
{
	return process->promised_library_launches > 0 || process->library_node_count > 0;
}

struct kp_library_ties *kp_library_ties_create(const struct kp_process *process)
{
	struct kp_library_ties *ties = calloc(1, sizeof(*ties));

	if (!ties)
		return NULL;
	ties->process = process;
	ties->slack = slack_of(process);
	ties->account.calls = process->counts.library_calls;
	ties->account.launches_lost =
		process->counts.library_launches_lost + process->counts.library_launches_unwritten;
	ties->account.graph_nodes = process->library_node_count;
	if (!take_nodes(ties)) {
		kp_library_ties_destroy(ties);
		return NULL;
	}
	return ties;
}

void kp_library_ties_distrust(struct kp_library_ties *ties)
{
	ties->slack.missing = KP_LIBRARY_UNKNOWN;
}

void kp_library_ties_destroy(struct kp_library_ties *ties)
{
	if (!ties)
		return;
	free(ties->nodes);
	free(ties->graphs);
	free(ties->launches);
	free(ties->records);
	free(ties);
}

enum kp_status kp_library_ties_add_library(struct kp_library_ties *ties,
					   const struct kp_library_launch *launch)
{
	if (!kp_vector_grow((void **)&ties->launches, ties->launch_count, &ties->launch_capacity,
			    sizeof(*ties->launches)))
		return KP_NO_MEMORY;
	ties->launches[ties->launch_count++] = *launch;
	ties->account.launches += launch->graph == 0;
	return KP_OK;
}

enum kp_status kp_library_ties_add_launch(struct kp_library_ties *ties,
					  const struct kp_launch *launch, uint32_t row)
{
	bool valid = kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID;

	if (!kp_vector_grow((void **)&ties->records, ties->record_count, &ties->record_capacity,
			    sizeof(*ties->records)))
		return KP_NO_MEMORY;
	ties->records[ties->record_count++] = (struct record){
		.start_ns = valid ? launch->start_ns : 0,
		.duration_ns = valid ? launch->end_ns - launch->start_ns : 0,
		.correlation = launch->correlation,
		.config = launch->config,
		.row = row,
		.graph = (uint32_t)(launch->graph_node >> 32),
		.node = (uint32_t)launch->graph_node,
		.of_graph = launch->graph || launch->graph_node,
	};
	return KP_OK;
}

/* ---- groups and launches in order ---- */

static int by_id(const void *left, const void *right)
{
	const struct record *a = left, *b = right;
	int result = order(a->correlation, b->correlation);

	return result ? result : order(a->start_ns, b->start_ns);
}

static uint64_t lane_of(uint32_t context, uint32_t stream)
{
	return stream == UINT32_MAX ? ANY_LANE : (uint64_t)context << 32 | stream;
}

static const struct kp_launch_config *config_of(const struct kp_library_ties *ties,
						const struct record *record)
{
	return &ties->process->configs[record->config];
}

/* Groups of the first `limit` records at least, up to the end of a group. */
static void make_groups(struct kp_library_ties *ties, size_t limit)
{
	const struct record *records = ties->records;
	size_t i = 0;

	ties->group_count = 0;
	while (i < ties->record_count && i < limit) {
		const struct kp_launch_config *config = config_of(ties, &records[i]);
		struct group *group = &ties->groups[ties->group_count++];

		*group = (struct group){.first = i, .position = ties->base};
		group->lane = lane_of(config->context, config->stream);
		do {
			i++;
			group->count++;
		} while (i < ties->record_count && records[i].correlation &&
			 records[i].correlation == records[i - 1].correlation);
		/* Nothing says where a record without an id belongs: it may be anywhere. */
		ties->strays += records[group->first].correlation == 0;
		ties->base += group->count;
	}
	ties->settled = i;
}

static int groups_by_lane(const void *left, const void *right, void *context)
{
	const struct group *groups = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	int result = order(groups[a].lane, groups[b].lane);

	return result ? result : order(a, b);
}

/* Whether all records that can be the launch's are there. */
static bool is_ready(const struct kp_library_ties *ties, const struct kp_library_launch *launch)
{
	const struct kp_library_slack *slack = &ties->slack;

	if (ties->end == UINT64_MAX)
		return true;
	return slack->missing != KP_LIBRARY_UNKNOWN && !ties->strays &&
	       launch->ordinal < ties->end &&
	       ties->end - launch->ordinal > launch->others + slack->excess;
}

static int launches_by_lane(const void *left, const void *right, void *context)
{
	const struct kp_library_ties *ties = context;
	const struct kp_library_launch *a = left, *b = right;
	int result = is_ready(ties, b) - is_ready(ties, a);

	if (!result)
		result = order(lane_of(a->context, a->stream), lane_of(b->context, b->stream));
	return result ? result : order(a->ordinal, b->ordinal);
}

static void sort_launches(struct kp_library_ties *ties)
{
	ties->end = ties->settled == ties->record_count ? UINT64_MAX : ties->base;
	if (ties->launch_count)
		qsort_r(ties->launches, ties->launch_count, sizeof(*ties->launches),
			launches_by_lane, ties);
	ties->ready = 0;
	while (ties->ready < ties->launch_count && is_ready(ties, &ties->launches[ties->ready]))
		ties->ready++;
}

/* Of launches of graphs: which graph; else which part of which call. */
static uint64_t what_of(const struct kp_library_launch *launch)
{
	return launch->graph ? (uint64_t)launch->graph << 32
			     : (uint64_t)launch->part << 32 | launch->call;
}

static void make_asks(struct kp_library_ties *ties)
{
	for (size_t i = 0; i < ties->ready; i++) {
		const struct kp_library_launch *launch = &ties->launches[i];
		struct kp_library_ask *ask = &ties->asks[i];

		*ask = (struct kp_library_ask){.ordinal = launch->ordinal,
					       .before = launch->before,
					       .others = launch->others,
					       .kernels = UINT32_MAX,
					       .graph = launch->graph != 0,
					       .what = what_of(launch)};
		memcpy(ask->grid, launch->grid, sizeof(ask->grid));
		memcpy(ask->block, launch->block, sizeof(ask->block));
	}
}

/* Of `count` groups, by their numbers. */
static void make_offers(struct kp_library_ties *ties, const size_t *groups, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct group *group = &ties->groups[groups[i]];
		const struct record *record = &ties->records[group->first];
		const struct kp_launch_config *config = config_of(ties, record);
		struct kp_library_offer *offer = &ties->offers[i];

		*offer = (struct kp_library_offer){.position = group->position,
						   .kernels = (uint32_t)group->count,
						   .graph = record->of_graph};
		memcpy(offer->grid, config->grid, sizeof(offer->grid));
		memcpy(offer->block, config->block, sizeof(offer->block));
	}
}

/* Matches launches with groups, both of one lane. A group that is tied stays so. */
static void match_lane(struct kp_library_ties *ties, size_t from, size_t to, const size_t *groups,
		       size_t count)
{
	struct kp_library_slack slack = ties->slack;

	if (ties->strays)
		slack.missing = KP_LIBRARY_UNKNOWN;
	make_offers(ties, groups, count);
	kp_library_match(ties->asks + from, to - from, ties->offers, count, slack, ties->scratch,
			 ties->ask_of);
	for (size_t i = 0; i < count; i++)
		if (ties->ask_of[i] != KP_LIBRARY_NONE && !ties->groups[groups[i]].launch)
			ties->groups[groups[i]].launch = from + ties->ask_of[i] + 1;
}

static uint64_t lane_of_launch(const struct kp_library_ties *ties, size_t number)
{
	return lane_of(ties->launches[number].context, ties->launches[number].stream);
}

static void match_lanes(struct kp_library_ties *ties)
{
	const size_t *groups = ties->group_order;

	for (size_t l = 0, g = 0, l_end, g_end; l < ties->ready; l = l_end, g = g_end) {
		uint64_t lane = lane_of_launch(ties, l);

		for (l_end = l; l_end < ties->ready && lane_of_launch(ties, l_end) == lane;)
			l_end++;
		while (g < ties->group_count && ties->groups[groups[g]].lane < lane)
			g++;
		for (g_end = g;
		     g_end < ties->group_count && ties->groups[groups[g_end]].lane == lane;)
			g_end++;
		if (lane == ANY_LANE)
			match_lane(ties, l, l_end, ties->all, ties->group_count);
		else
			match_lane(ties, l, l_end, groups + g, g_end - g);
	}
}

/* ---- graphs ---- */

static struct graph *find_graph(struct kp_library_ties *ties, uint32_t upper, size_t *place)
{
	size_t low = 0, high = ties->graph_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ties->graphs[middle].upper < upper)
			low = middle + 1;
		else
			high = middle;
	}
	if (place)
		*place = low;
	return low < ties->graph_count && ties->graphs[low].upper == upper ? &ties->graphs[low]
									   : NULL;
}

/* A graph of CUPTI's is one of the trace's; if it was another before, it is neither. */
static enum kp_status learn_graph(struct kp_library_ties *ties, uint32_t upper, uint32_t number)
{
	size_t place;
	struct graph *graph = find_graph(ties, upper, &place);

	if (graph) {
		if (graph->number != number)
			graph->number = NO_GRAPH;
		return KP_OK;
	}
	if (!kp_vector_grow((void **)&ties->graphs, ties->graph_count, &ties->graph_capacity,
			    sizeof(*ties->graphs)))
		return KP_NO_MEMORY;
	memmove(ties->graphs + place + 1, ties->graphs + place,
		(ties->graph_count - place) * sizeof(*ties->graphs));
	ties->graphs[place] = (struct graph){upper, number};
	ties->graph_count++;
	return KP_OK;
}

static enum kp_status learn_graphs(struct kp_library_ties *ties)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < ties->group_count; i++) {
		const struct group *group = &ties->groups[i];
		uint32_t number = group->launch ? ties->launches[group->launch - 1].graph : 0;

		if (number)
			status = learn_graph(ties, ties->records[group->first].graph, number - 1);
	}
	return status;
}

static const struct kp_library_node *find_node(struct kp_library_ties *ties,
					       const struct record *record)
{
	const struct graph *graph = find_graph(ties, record->graph, NULL);
	struct kp_library_node key = {.index = record->node};

	if (!graph || graph->number == NO_GRAPH || !ties->node_count)
		return NULL;
	key.graph = graph->number;
	return bsearch(&key, ties->nodes, ties->node_count, sizeof(key), by_node);
}

/* Whether the record has the grid and block with which its node was captured. */
static bool is_like(const struct kp_library_ties *ties, const struct record *record,
		    const struct kp_library_node *node)
{
	const struct kp_launch_config *config = config_of(ties, record);

	return kp_library_agree(node->grid, node->block, config->grid, config->block);
}

static void judge_graphs(struct kp_library_ties *ties)
{
	for (size_t i = 0; i < ties->settled; i++) {
		const struct record *record = &ties->records[i];
		const struct kp_library_node *node =
			record->of_graph ? find_node(ties, record) : NULL;

		if (node && !is_like(ties, record, node))
			find_graph(ties, record->graph, NULL)->number = NO_GRAPH;
	}
}

/* ---- visiting, and what is left ---- */

static void tie_group(struct kp_library_ties *ties, const struct group *group,
		      const struct record *record, struct kp_library_tie *tie)
{
	const struct kp_library_launch *launch =
		group->launch ? &ties->launches[group->launch - 1] : NULL;
	const struct kp_library_node *node = record->of_graph ? find_node(ties, record) : NULL;

	if (launch && !launch->graph) {
		tie->call = launch->call;
		tie->part = launch->part;
		ties->account.launches_tied++;
	} else if (node && node->call != KP_LIBRARY_NO_CALL) {
		tie->call = node->call;
		tie->part = node->part;
		ties->account.graph_launches++;
	} else {
		ties->account.kernels_untied++;
	}
}

static enum kp_status visit(struct kp_library_ties *ties, const struct kp_library_visitor *visitor)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < ties->group_count; i++) {
		const struct group *group = &ties->groups[i];

		for (size_t r = 0; status == KP_OK && r < group->count; r++) {
			const struct record *record = &ties->records[group->first + r];
			struct kp_library_tie tie = {record->start_ns,   record->duration_ns,
						     record->row,        record->config,
						     KP_LIBRARY_NO_CALL, 0,
						     record->of_graph};

			tie_group(ties, group, record, &tie);
			status = visitor->launch(visitor->context, &tie);
		}
	}
	return status;
}

/* Launches that were not ready stay. */
static void leave(struct kp_library_ties *ties)
{
	ties->launch_count -= ties->ready;
	if (ties->launch_count)
		memmove(ties->launches, ties->launches + ties->ready,
			ties->launch_count * sizeof(*ties->launches));
	ties->record_count -= ties->settled;
	if (ties->record_count)
		memmove(ties->records, ties->records + ties->settled,
			ties->record_count * sizeof(*ties->records));
}

static bool reserve(struct kp_library_ties *ties)
{
	size_t groups = ties->record_count + 1, launches = ties->launch_count + 1;

	ties->groups = malloc(groups * sizeof(*ties->groups));
	ties->group_order = malloc(groups * sizeof(*ties->group_order));
	ties->all = malloc(groups * sizeof(*ties->all));
	ties->offers = malloc(groups * sizeof(*ties->offers));
	ties->asks = malloc(launches * sizeof(*ties->asks));
	ties->scratch = malloc(2 * launches * sizeof(*ties->scratch));
	ties->ask_of = malloc(groups * sizeof(*ties->ask_of));
	return ties->groups && ties->group_order && ties->all && ties->offers && ties->asks &&
	       ties->scratch && ties->ask_of;
}

static void release(struct kp_library_ties *ties)
{
	free(ties->groups);
	free(ties->group_order);
	free(ties->all);
	free(ties->offers);
	free(ties->asks);
	free(ties->scratch);
	free(ties->ask_of);
}

static enum kp_status settle(struct kp_library_ties *ties, size_t limit,
			     const struct kp_library_visitor *visitor)
{
	enum kp_status status;

	if (!reserve(ties))
		return KP_NO_MEMORY;
	if (ties->record_count)
		qsort(ties->records, ties->record_count, sizeof(*ties->records), by_id);
	make_groups(ties, limit);
	sort_launches(ties);
	for (size_t i = 0; i < ties->group_count; i++)
		ties->group_order[i] = ties->all[i] = i;
	if (ties->group_count)
		qsort_r(ties->group_order, ties->group_count, sizeof(*ties->group_order),
			groups_by_lane, ties->groups);
	make_asks(ties);
	match_lanes(ties);
	status = learn_graphs(ties);
	judge_graphs(ties);
	if (status == KP_OK)
		status = visit(ties, visitor);
	leave(ties);
	return status;
}

enum kp_status kp_library_ties_settle(struct kp_library_ties *ties, bool all,
				      const struct kp_library_visitor *visitor)
{
	enum kp_status status;

	if (!all && ties->record_count < KP_LIBRARY_TIES_LIMIT)
		return KP_OK;
	status = settle(ties, all ? SIZE_MAX : KP_LIBRARY_TIES_LIMIT / 2, visitor);
	release(ties);
	return status;
}

struct kp_library_account kp_library_ties_account(const struct kp_library_ties *ties)
{
	return ties->account;
}
