/*
 * Operators written out: an eager RMSNorm is ten element-wise kernels and reductions, whose names
 * say nothing of norms. Rules of fusions.yaml know them by their order (fusion_find.h); those that
 * say which operator a chain is count here.
 *
 * One kernel does such work and other work with the same grid (a product of tensors is part of
 * norms and of rotary embedding), so that launches have to be told apart, not configurations. The
 * trace is looked through once before all else, and a byte a launch remembers what it is part of.
 * When the trace is read again, such a launch is given another configuration: a copy of its own
 * with a label of its own. All that comes behind, which counts by configuration, is exact and knows
 * nothing of this.
 *
 * Soundness: only chains whose order means nothing else (`confidence: high`) count, and only if a
 * rule finds KP_FUSION_RUNS_LEAST of them. Where WHOLE_PCT of a configuration's launches are part
 * of such chains, the others are taken for that, too: they stand where the recording begins or
 * ends, or where it lost something. Kernels that a rule of the user's own names keep what that
 * says, and are part of no chain that is another operator. Nothing is looked for in processes that
 * have no kernels for any rule, nor in traces with more launches than LAUNCHES_MOST or processes
 * with more configurations than CONFIGS_MOST.
 */
#include "analyzers/report_written.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/fusion_find.h"
#include "analyzers/report_passes.h"
#include "trace/vector.h"

#define LAUNCHES_MOST (1ULL << 28)
#define CONFIGS_MOST 65536
#define WHOLE_PCT 95
/* Variants that rules say; a byte holds the number of one. */
#define VARIANTS_MOST 64

/* A process that is looked at. */
struct seen {
	const struct kp_process *process;
	uint64_t *launches; /* of each of its configurations, */
	uint32_t *members;  /* and of these, in chains: [configuration][rule][variant] */
	uint8_t *whole; /* of each: plus one, of variants[], if all launches are; 0: they differ */
};

struct kp_build_written {
	struct kp_builder *builder;
	struct kp_fusion_finder *finder;
	uint16_t *words;                /* of each kp_build_name */
	size_t variants[VARIANTS_MOST]; /* that rules say, in their order */
	uint64_t runs[KP_FUSION_RULES_MAX];
	size_t variant_count;
	struct kp_intern streams;
	uint8_t *of_launch; /* plus one, of variants[]; in the order of reading */
	uint8_t *rule_of_launch;
	size_t launch_count, capacity, rule_capacity;
	size_t at;              /* the next launch of this reading */
	struct seen *seen;      /* by process; its process NULL: it is not looked at */
	struct seen **by_place; /* those that are, by the place of their configurations in memory */
	size_t seen_count;
	size_t *file_configs; /* of each process: how many are the file's */
};

static size_t place_of(const struct kp_build_written *written, size_t variant)
{
	size_t i = 0;

	while (i < written->variant_count && written->variants[i] != variant)
		i++;
	return i;
}

static uint32_t *members_of(const struct kp_build_written *written, const struct seen *seen,
			    size_t config, size_t rule, size_t variant)
{
	size_t rules = written->builder->operators->fusion_count;

	return &seen->members[(config * rules + rule) * written->variant_count + variant];
}

/* ---- looking ---- */

/* The process that a configuration is of. */
static struct seen *seen_of(const struct kp_build_written *written,
			    const struct kp_launch_config *config)
{
	size_t low = 0, high = written->seen_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if ((uintptr_t)written->by_place[middle]->process->configs <= (uintptr_t)config)
			low = middle;
		else
			high = middle;
	}
	return written->by_place[low];
}

static void note(void *context, const struct kp_fusion_rule *rule,
		 const struct kp_fusion_launch *launch, size_t place)
{
	struct kp_build_written *written = context;
	size_t number = (size_t)(rule - written->builder->operators->fusions);
	size_t variant = place_of(written, kp_fusion_rule_variant(rule, place));

	struct seen *seen = seen_of(written, launch->config);
	size_t config = (size_t)(launch->config - seen->process->configs);

	written->runs[number] += place == 0;
	(*members_of(written, seen, config, number, variant))++;
	written->of_launch[launch->row] = (uint8_t)(variant + 1);
	written->rule_of_launch[launch->row] = (uint8_t)number;
}

static enum kp_status make_room(struct kp_build_written *written, size_t more)
{
	size_t count = written->launch_count + more;

	if (count > LAUNCHES_MOST ||
	    !kp_vector_reserve((void **)&written->of_launch, count, &written->capacity, 1) ||
	    !kp_vector_reserve((void **)&written->rule_of_launch, count, &written->rule_capacity,
			       1))
		return KP_NO_MEMORY;
	memset(written->of_launch + written->launch_count, 0, more);
	memset(written->rule_of_launch + written->launch_count, 0, more);
	written->launch_count = count;
	return KP_OK;
}

/* The operator that a rule of the user's own says, plus one. */
static uint32_t own_operator(const struct kp_builder *builder, const struct kp_label *label)
{
	if (label->source != KP_LABEL_USER)
		return 0;
	return (uint32_t)kp_operators_variant(builder->operators, label->variant).operator_index +
	       1;
}

static enum kp_status look(void *context, const struct kp_event *event)
{
	struct kp_builder *builder = context;
	struct kp_build_written *written = builder->written;
	size_t first = written->launch_count;
	enum kp_status status;

	struct seen *seen = &written->seen[event->process->index];

	if (event->kind != KP_EVENT_LAUNCHES || !seen->process)
		return KP_OK;
	status = make_room(written, event->count);
	for (size_t i = 0; status == KP_OK && i < event->count; i++) {
		const struct kp_launch *launch = &event->launches[i];
		const struct kp_launch_config *config = &event->process->configs[launch->config];
		const uint32_t key[4] = {event->process->index, config->device, config->context,
					 config->stream};
		uint32_t name = builder->processes[event->process->index].names[launch->config];
		uint32_t lane = 0;

		seen->launches[launch->config]++;
		status = kp_intern_put(&written->streams, key, sizeof(key), &lane, NULL);
		if (status == KP_OK &&
		    kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID)
			status = kp_fusion_finder_launch(
				written->finder, lane,
				&(struct kp_fusion_launch){
					.start_ns = launch->start_ns,
					.end_ns = launch->end_ns,
					.config = config,
					.row = (uint32_t)(first + i),
					.correlation = launch->correlation,
					.word = written->words[name],
					.graph = launch->graph || launch->graph_node,
					.own_operator =
						own_operator(builder, &builder->names[name].label),
				});
	}
	return status;
}

/* What rules found too seldom is forgotten. */
static void forget_rare(struct kp_build_written *written)
{
	for (size_t i = 0; i < written->launch_count; i++)
		if (written->runs[written->rule_of_launch[i]] < KP_FUSION_RUNS_LEAST)
			written->of_launch[i] = 0;
	free(written->rule_of_launch);
	written->rule_of_launch = NULL;
}

/* The variant that nearly all launches of a configuration are. */
static uint8_t whole_of(const struct kp_build_written *written, const struct seen *seen,
			size_t config)
{
	const struct kp_operators *operators = written->builder->operators;
	uint64_t sums[VARIANTS_MOST] = {0};

	for (size_t i = 0; i < operators->fusion_count; i++)
		for (size_t k = 0; k < written->variant_count; k++)
			if (written->runs[i] >= KP_FUSION_RUNS_LEAST)
				sums[k] += *members_of(written, seen, config, i, k);
	for (size_t i = 0; i < written->variant_count; i++)
		if (sums[i] && sums[i] * 100 >= seen->launches[config] * WHOLE_PCT)
			return (uint8_t)(i + 1);
	return 0;
}

static void find_whole(struct kp_build_written *written)
{
	for (size_t i = 0; i < written->seen_count; i++) {
		struct seen *seen = written->by_place[i];

		for (size_t k = 0; k < seen->process->config_count; k++)
			seen->whole[k] = whole_of(written, seen, k);
	}
}

static enum kp_status look_through(struct kp_builder *builder)
{
	struct kp_relay relay = {.context = builder, .takers = {look}, .taker_count = 1};
	struct kp_build_written *written = builder->written;
	enum kp_status status;

	builder->passes++;
	status = kp_build_read(builder, &relay);
	if (status == KP_OK)
		status = kp_fusion_finder_end(written->finder);
	if (status != KP_OK)
		return status;
	forget_rare(written);
	find_whole(written);
	return KP_OK;
}

/* ---- whether to look ---- */

/* Whether a process has kernels for all that a rule needs. */
static bool can_be(const struct kp_build_written *written, const struct kp_fusion_rule *rule,
		   const bool *words)
{
	for (size_t i = 0; i < rule->element_count; i++) {
		bool any = rule->optional >> i & 1;

		for (size_t k = 0; !any && k < rule->elements[i].count; k++)
			any = words[kp_fusion_finder_number(written->finder,
							    rule->elements[i].items[k])];
		if (!any)
			return false;
	}
	return true;
}

static bool is_worth(const struct kp_build_written *written, const struct kp_process *process,
		     bool *words)
{
	const struct kp_builder *builder = written->builder;
	const struct kp_operators *operators = builder->operators;
	const uint32_t *names = builder->processes[process->index].names;

	if (process->config_count > CONFIGS_MOST)
		return false;
	memset(words, 0, (UINT16_MAX + 1) * sizeof(*words));
	for (size_t i = 0; i < process->config_count; i++)
		words[written->words[names[i]]] = true;
	for (size_t i = 0; i < operators->fusion_count; i++)
		if (operators->fusions[i].written_out &&
		    can_be(written, &operators->fusions[i], words))
			return true;
	return false;
}

/* ---- configurations ---- */

/* The process with a copy of each configuration for each variant, in the report's arena. */
static enum kp_status copy_process(struct kp_builder *builder, size_t index)
{
	struct kp_build_written *written = builder->written;
	const struct kp_process *process = kp_reader_process(builder->reader, index);
	struct kp_build_process *reading = &builder->processes[index];
	size_t own = process->config_count, count = own * (1 + written->variant_count);
	struct kp_arena *arena = builder->report->arena;
	struct kp_process *copy = kp_arena_alloc(arena, sizeof(*copy));
	struct kp_launch_config *configs = kp_arena_alloc(arena, (count + 1) * sizeof(*configs));
	uint32_t *names = realloc(reading->names, (count + 1) * sizeof(*names));

	if (names)
		reading->names = names;
	reading->written = calloc(count + 1, sizeof(*reading->written));
	if (!copy || !configs || !names || !reading->written)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		size_t of = i < own ? i : (i - own) / written->variant_count;

		configs[i] = process->configs[of];
		names[i] = names[of];
		if (i >= own)
			reading->written[i] =
				(uint32_t)written->variants[(i - own) % written->variant_count];
	}
	*copy = *process;
	copy->configs = configs;
	copy->config_count = count;
	reading->copy = copy;
	written->file_configs[index] = own;
	return KP_OK;
}

void kp_build_written_amend(struct kp_builder *builder, struct kp_event *event)
{
	struct kp_build_written *written = builder->written;
	const struct kp_process *copy = builder->processes[event->process->index].copy;
	/* The batch is the reader's own memory for this reading. */
	struct kp_launch *launches = (struct kp_launch *)event->launches;
	size_t own;

	if (!copy)
		return;
	own = written->file_configs[event->process->index];
	event->process = copy;
	if (event->kind != KP_EVENT_LAUNCHES)
		return;
	for (size_t i = 0; i < event->count && written->at < written->launch_count; i++) {
		uint32_t config = launches[i].config;
		uint8_t whole = written->seen[copy->index].whole[config];
		uint8_t own_part = written->of_launch[written->at++],
			part = whole ? whole : own_part;
		const struct kp_build_name *name =
			&builder->names[builder->processes[copy->index].names[config]];

		if (part && name->label.source != KP_LABEL_USER)
			launches[i].config =
				(uint32_t)(own + config * written->variant_count + part - 1);
	}
}

static void amend(void *context, struct kp_event *event)
{
	kp_build_written_amend(context, event);
}

void kp_build_written_rewind(struct kp_builder *builder)
{
	if (builder->written)
		builder->written->at = 0;
}

void kp_build_written_begin_reading(struct kp_builder *builder, struct kp_relay *relay)
{
	kp_build_written_rewind(builder);
	if (builder->written)
		relay->amend = amend;
}

/* ---- life ---- */

static enum kp_status begin(struct kp_builder *builder)
{
	const struct kp_operators *operators = builder->operators;
	size_t processes = kp_reader_process_count(builder->reader);
	struct kp_build_written *written = calloc(1, sizeof(*written));
	enum kp_status status;

	builder->written = written;
	if (!written)
		return KP_NO_MEMORY;
	written->builder = builder;
	for (size_t i = 0; i < operators->fusion_count; i++) {
		const struct kp_fusion_rule *rule = &operators->fusions[i];

		for (size_t k = 0; rule->written_out && k < KP_FUSION_ELEMENTS_MAX; k++)
			if (place_of(written, kp_fusion_rule_variant(rule, k)) ==
				    written->variant_count &&
			    written->variant_count < VARIANTS_MOST)
				written->variants[written->variant_count++] =
					kp_fusion_rule_variant(rule, k);
	}
	status = kp_fusion_finder_create_written(operators, note, written, &written->finder);
	written->words = malloc((builder->name_count + 1) * sizeof(*written->words));
	written->seen = calloc(processes + 1, sizeof(*written->seen));
	written->by_place = calloc(processes + 1, sizeof(struct seen *));
	written->file_configs = calloc(processes + 1, sizeof(*written->file_configs));
	if (status != KP_OK || !written->words || !written->seen || !written->by_place ||
	    !written->file_configs)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < builder->name_count; i++)
		written->words[i] =
			kp_fusion_finder_word(written->finder, &builder->names[i].label);
	return KP_OK;
}

static enum kp_status begin_process(struct kp_build_written *written,
				    const struct kp_process *process)
{
	size_t configs = process->config_count + 1;
	size_t rules = written->builder->operators->fusion_count;
	struct seen *seen = &written->seen[process->index];

	seen->process = process;
	seen->launches = calloc(configs, sizeof(*seen->launches));
	seen->members =
		calloc(configs * rules * written->variant_count + 1, sizeof(*seen->members));
	seen->whole = calloc(configs, sizeof(*seen->whole));
	written->by_place[written->seen_count++] = seen;
	return seen->launches && seen->members && seen->whole ? KP_OK : KP_NO_MEMORY;
}

static int compare_places(const void *left, const void *right)
{
	uintptr_t a = (uintptr_t)(*(struct seen *const *)left)->process->configs;
	uintptr_t b = (uintptr_t)(*(struct seen *const *)right)->process->configs;

	return (a > b) - (a < b);
}

enum kp_status kp_build_written(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);
	bool *words = malloc((UINT16_MAX + 1) * sizeof(*words));
	enum kp_status status = words ? begin(builder) : KP_NO_MEMORY;
	uint64_t launches = 0;

	for (size_t i = 0; status == KP_OK && i < processes; i++) {
		const struct kp_process *process = kp_reader_process(builder->reader, i);

		launches += process->promised_launches;
		if (is_worth(builder->written, process, words))
			status = begin_process(builder->written, process);
	}
	free(words);
	if (status != KP_OK || !builder->written->seen_count || launches > LAUNCHES_MOST)
		return status;
	qsort(builder->written->by_place, builder->written->seen_count, sizeof(struct seen *),
	      compare_places);
	status = look_through(builder);
	for (size_t i = 0; status == KP_OK && i < processes; i++)
		if (builder->written->seen[i].process)
			status = copy_process(builder, i);
	return status;
}

void kp_build_written_end(struct kp_builder *builder)
{
	struct kp_build_written *written = builder->written;

	if (!written)
		return;
	kp_fusion_finder_destroy(written->finder);
	kp_intern_fini(&written->streams);
	free(written->words);
	for (size_t i = 0; written->by_place && i < written->seen_count; i++) {
		free(written->by_place[i]->launches);
		free(written->by_place[i]->members);
		free(written->by_place[i]->whole);
	}
	free(written->by_place);
	free(written->seen);
	free(written->file_configs);
	free(written->of_launch);
	free(written->rule_of_launch);
	free(written);
	builder->written = NULL;
}
