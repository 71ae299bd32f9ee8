/* Chains of launches; see fusion_find.h. */
#include "analyzers/fusion_find.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/durations.h"
#include "trace/intern.h"
#include "trace/vector.h"

/* Launches of a window: bits of a word. Those that begin in the first half are settled. */
#define WINDOW 64
#define HALF (WINDOW / 2)
/* At least so much of a full window is settled, even if a chain that begins there goes on. */
#define LEAST (WINDOW / 8)
/* More streams than that take windows from each other. */
#define WINDOWS_MAX 256
#define CHAINS_MAX 4096
#define WORDS_MAX 4096

struct entry {
	struct kp_fusion_launch launch;
	uint64_t gap_ns; /* from the end of the one before, at least 0 */
};

struct window {
	uint32_t lane;
	size_t count;
	uint64_t taken; /* bits of those that are part of a chain already */
	uint16_t words[WINDOW];
	struct entry entries[WINDOW];
};

/* A chain in a window. */
struct found {
	uint32_t rule;
	size_t begin;
	uint64_t members;
};

struct word {
	unsigned inputs;
	uint64_t starts;  /* bits of the rules that it can begin, */
	uint64_t seconds; /* and of those that it can go on with behind one launch */
};

struct kp_fusion_finder {
	const struct kp_operators *operators;
	struct kp_intern texts;
	struct word *words;
	size_t word_count;
	uint32_t *elements; /* [rule][word] */
	uint64_t alone;     /* bits of the rules that one launch may be a chain of */
	struct window *windows;
	size_t window_count, window_capacity;
	size_t next_window;       /* to be taken from its lane when there are as many as may be */
	uint32_t *window_of_lane; /* plus one; 0: none */
	size_t lane_capacity;
	struct kp_intern keys; /* (rule, rows) of chains */
	struct kp_fusion_chain *chains;
	size_t chain_count, chain_capacity;
	struct kp_arena *arena;
	uint64_t left_out;
	kp_fusion_written_out *written_out; /* NULL: chains are counted */
	void *context;
};

/* ---- words ---- */

static enum kp_status add_word(struct kp_fusion_finder *finder, const char *text, unsigned inputs)
{
	uint32_t number = 0;
	bool added;
	enum kp_status status;

	if (finder->texts.count == WORDS_MAX)
		return KP_OK; /* a word that is not there is the first: see kp_fusion_finder_word */
	status = kp_intern_put(&finder->texts, text, strlen(text) + 1, &number, &added);
	if (status == KP_OK && added)
		finder->words[number].inputs = inputs;
	return status;
}

/* What a rule says of words: those of its elements, and of these the ones that may come first and
 * second. */
static void know_rule(struct kp_fusion_finder *finder, size_t number)
{
	const struct kp_fusion_rule *rule = &finder->operators->fusions[number];
	uint32_t *elements = &finder->elements[number * finder->texts.count];
	uint32_t firsts = kp_fusion_rule_next(rule, 0), seconds = kp_fusion_rule_next(rule, firsts);

	for (size_t i = 0; i < rule->element_count; i++) {
		for (size_t k = 0; k < rule->elements[i].count; k++) {
			const char *text = rule->elements[i].items[k];
			uint32_t word = 0;

			if (!kp_intern_find(&finder->texts, text, strlen(text) + 1, &word))
				continue;
			elements[word] |= 1U << i;
			finder->words[word].starts |= (uint64_t)(firsts >> i & 1) << number;
			finder->words[word].seconds |= (uint64_t)(seconds >> i & 1) << number;
		}
	}
	finder->alone |= (uint64_t)(seconds >> rule->element_count & 1) << number;
}

static enum kp_status make_words(struct kp_fusion_finder *finder)
{
	const struct kp_operators *operators = finder->operators;
	const struct kp_rule_list *steps = &operators->lists[KP_RULE_STEP];
	enum kp_status status = KP_OK;

	finder->words =
		calloc(operators->operator_count + steps->count + 1, sizeof(*finder->words));
	if (!finder->words)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < operators->operator_count; i++)
		status = add_word(finder, operators->operators[i].name, 0);
	for (size_t i = 0; status == KP_OK && i < steps->count; i++)
		status = add_word(finder, steps->rules[i].text, steps->rules[i].inputs);
	if (status != KP_OK)
		return status;
	finder->elements = calloc(finder->texts.count * operators->fusion_count + 1,
				  sizeof(*finder->elements));
	for (size_t i = 0; finder->elements && i < operators->fusion_count; i++)
		if (!finder->written_out || operators->fusions[i].written_out)
			know_rule(finder, i);
	return finder->elements ? KP_OK : KP_NO_MEMORY;
}

uint16_t kp_fusion_finder_number(const struct kp_fusion_finder *finder, const char *text)
{
	uint32_t number = KP_OPERATOR_UNKNOWN;

	kp_intern_find(&finder->texts, text, strlen(text) + 1, &number);
	return (uint16_t)number;
}

uint16_t kp_fusion_finder_word(const struct kp_fusion_finder *finder, const struct kp_label *label)
{
	size_t operator_index =
		kp_operators_variant(finder->operators, label->variant).operator_index;
	const char *text =
		label->step ? label->step : kp_operators_name(finder->operators, operator_index);

	return kp_fusion_finder_number(finder, text);
}

const char *kp_fusion_finder_text(const struct kp_fusion_finder *finder, uint16_t word)
{
	size_t length;

	return (const char *)kp_intern_bytes(&finder->texts, word, &length);
}

unsigned kp_fusion_finder_inputs(const struct kp_fusion_finder *finder, uint16_t word)
{
	return finder->words[word].inputs;
}

/* ---- life ---- */

enum kp_status kp_fusion_finder_create(const struct kp_operators *operators,
				       struct kp_fusion_finder **out)
{
	return kp_fusion_finder_create_written(operators, NULL, NULL, out);
}

enum kp_status kp_fusion_finder_create_written(const struct kp_operators *operators,
					       kp_fusion_written_out *written_out, void *context,
					       struct kp_fusion_finder **out)
{
	struct kp_fusion_finder *finder = calloc(1, sizeof(*finder));
	enum kp_status status = KP_NO_MEMORY;

	*out = finder;
	if (!finder)
		return KP_NO_MEMORY;
	finder->operators = operators;
	finder->written_out = written_out;
	finder->context = context;
	finder->arena = kp_arena_create();
	if (finder->arena)
		status = make_words(finder);
	if (status != KP_OK) {
		kp_fusion_finder_destroy(finder);
		*out = NULL;
	}
	return status;
}

void kp_fusion_finder_destroy(struct kp_fusion_finder *finder)
{
	if (!finder)
		return;
	kp_intern_fini(&finder->texts);
	kp_intern_fini(&finder->keys);
	kp_arena_destroy(finder->arena);
	free(finder->words);
	free(finder->elements);
	free(finder->windows);
	free(finder->window_of_lane);
	free(finder->chains);
	free(finder);
}

/* ---- one chain ---- */

/* The chain of these kernels; NULL in *out: there is no room for one more. */
static enum kp_status find_chain(struct kp_fusion_finder *finder, const struct window *window,
				 const struct found *found, struct kp_fusion_chain **out)
{
	uint32_t key[1 + WINDOW], number = 0, count = 0;
	struct kp_fusion_chain *chain;
	enum kp_status status;

	*out = NULL;
	key[0] = found->rule;
	for (uint64_t left = found->members; left; left &= left - 1)
		key[1 + count++] = window->entries[__builtin_ctzll(left)].launch.row;
	if (kp_intern_find(&finder->keys, key, (1 + count) * sizeof(*key), &number)) {
		*out = &finder->chains[number];
		return KP_OK;
	}
	if (finder->chain_count == CHAINS_MAX)
		return KP_OK;
	if (!kp_vector_grow((void **)&finder->chains, finder->chain_count, &finder->chain_capacity,
			    sizeof(*finder->chains)))
		return KP_NO_MEMORY;
	chain = &finder->chains[finder->chain_count];
	*chain = (struct kp_fusion_chain){.rule = found->rule, .count = count};
	chain->links = kp_arena_alloc(finder->arena, count * sizeof(*chain->links));
	if (!chain->links)
		return KP_NO_MEMORY;
	count = 0;
	for (uint64_t left = found->members; left; left &= left - 1) {
		const struct entry *entry = &window->entries[__builtin_ctzll(left)];

		chain->links[count++] = (struct kp_fusion_link){.row = entry->launch.row,
								.word = entry->launch.word};
	}
	status = kp_intern_put(&finder->keys, key, (1 + count) * sizeof(*key), &number, NULL);
	finder->chain_count += status == KP_OK;
	*out = status == KP_OK ? chain : NULL;
	return status;
}

/* The configuration that most have is what is left of votes against each other. */
static void vote(struct kp_fusion_link *link, const struct kp_launch_config *config)
{
	if (!link->votes)
		link->config = config;
	if (link->config == config)
		link->votes++;
	else
		link->votes--;
}

/* Counts the kernels of one run. The same kernel several times over is one step, see
 * kp_fusion_ends. */
static void add_kernels(const struct kp_fusion_finder *finder, struct kp_fusion_chain *chain,
			const struct window *window, uint64_t members, bool absorbed)
{
	struct kp_fusion_ends ends = kp_fusion_ends(chain->links, chain->count);
	uint64_t steps_ns[64] = {0}, longest_ns = 0; /* members has as many bits */
	uint32_t steps = 0;
	double parts_ns = 0;

	for (uint32_t i = 0; members; i++, members &= members - 1) {
		const struct kp_fusion_launch *launch =
			&window->entries[__builtin_ctzll(members)].launch;
		struct kp_fusion_link *link = &chain->links[i];
		uint64_t ns = launch->end_ns - launch->start_ns;

		link->total_ns = kp_add_saturating(link->total_ns, ns);
		vote(link, launch->config);
		chain->kernel_ns = kp_add_saturating(chain->kernel_ns, ns);
		steps += i == 0 || link->row != link[-1].row;
		steps_ns[steps - 1] += ns;
		longest_ns = steps_ns[steps - 1] > longest_ns ? steps_ns[steps - 1] : longest_ns;
		parts_ns += (double)ns *
			    kp_fusion_part(finder->words[link->word].inputs, i, chain->count, ends);
	}
	chain->least_ns +=
		absorbed ? 0 : (double)kp_fusion_shortest_step(steps_ns, steps, longest_ns);
	chain->most_ns += parts_ns > (double)longest_ns ? parts_ns : (double)longest_ns;
}

/* The gaps that go with the kernels that do: behind each but the last. */
static void add_gaps(struct kp_fusion_chain *chain, const struct window *window, uint64_t members)
{
	bool graph = window->entries[0].launch.graph;

	chain->runs++;
	chain->graph_runs += graph;
	while (members & (members - 1)) {
		size_t behind = (size_t)__builtin_ctzll(members) + 1;
		uint64_t gap_ns = window->entries[behind].gap_ns;

		chain->gap_ns += gap_ns;
		chain->graph_gap_ns += graph ? gap_ns : 0;
		chain->own_gap_ns += gap_ns < KP_FUSION_GAP_NS ? gap_ns : KP_FUSION_GAP_NS;
		members &= members - 1;
	}
}

static enum kp_status tell_run(const struct kp_fusion_finder *finder, const struct window *window,
			       const struct found *found)
{
	const struct kp_fusion_rule *rule = &finder->operators->fusions[found->rule];
	size_t place = 0;

	for (uint64_t left = found->members; left; left &= left - 1)
		finder->written_out(finder->context, rule,
				    &window->entries[__builtin_ctzll(left)].launch, place++);
	return KP_OK;
}

static enum kp_status count_run(struct kp_fusion_finder *finder, const struct window *window,
				const struct found *found)
{
	if (finder->written_out)
		return tell_run(finder, window, found);
	struct kp_fusion_chain *chain;
	enum kp_status status = find_chain(finder, window, found, &chain);
	bool absorbed = found->rule != KP_FUSION_NO_RULE &&
			finder->operators->fusions[found->rule].absorbed;

	if (status != KP_OK)
		return status;
	if (!chain) {
		finder->left_out++;
		return KP_OK;
	}
	add_kernels(finder, chain, window, found->members, absorbed);
	add_gaps(chain, window, found->members);
	return KP_OK;
}

/* ---- a window ---- */

/* Whether all launches of a chain have one grid and block. */
static bool is_even(const struct window *window, uint64_t members)
{
	const struct kp_launch_config *first =
		window->entries[__builtin_ctzll(members)].launch.config;

	for (; members; members &= members - 1) {
		const struct kp_launch_config *config =
			window->entries[__builtin_ctzll(members)].launch.config;

		if (memcmp(config->grid, first->grid, sizeof(config->grid)) != 0 ||
		    memcmp(config->block, first->block, sizeof(config->block)) != 0)
			return false;
	}
	return true;
}

/* Whether a rule of the user's own says of a launch that it is another operator than the chain. */
static bool is_denied(const struct kp_fusion_finder *finder, const struct kp_fusion_rule *rule,
		      const struct window *window, uint64_t members)
{
	for (size_t place = 0; members; place++, members &= members - 1) {
		uint32_t own = window->entries[__builtin_ctzll(members)].launch.own_operator;
		size_t variant = kp_fusion_rule_variant(rule, place);

		if (own &&
		    own - 1 != kp_operators_variant(finder->operators, variant).operator_index)
			return true;
	}
	return false;
}

/* What is made of a window. */
struct findings {
	struct found found[WINDOW]; /* each takes a launch that no other has */
	size_t count;
	uint64_t used; /* bits of what is part of chains */
	size_t open;   /* the first place where a chain begins that may go on behind the window */
};

/* All chains of one rule that begin at these places of the window. */
static void apply_rule(const struct kp_fusion_finder *finder, const struct window *window,
		       uint32_t number, uint64_t places, struct findings *out)
{
	const struct kp_fusion_rule *rule = &finder->operators->fusions[number];
	const uint32_t *elements = &finder->elements[number * finder->texts.count];
	struct kp_fusion_memo memo;

	memo.end = 0;
	for (; places; places &= places - 1) {
		size_t at = (size_t)__builtin_ctzll(places);
		const struct kp_fusion_strip strip = {.words = window->words + at,
						      .count = window->count - at,
						      .used = out->used >> at,
						      .memo = &memo,
						      .at = at};
		uint64_t members;
		bool open;
		size_t length = kp_fusion_rule_match(rule, elements, &strip, &members, &open);

		out->open = open && at < out->open ? at : out->open;
		members <<= at;
		if (!length || (!rule->absorbed && !(members & (members - 1))) ||
		    (rule->same_grid && !is_even(window, members)) ||
		    (finder->written_out && is_denied(finder, rule, window, members)))
			continue;
		out->found[out->count++] =
			(struct found){number, (size_t)__builtin_ctzll(members), members};
		out->used |= members;
	}
}

/* What no rule knows and works element by element. */
static void apply_none(const struct kp_fusion_finder *finder, const struct window *window,
		       struct findings *out)
{
	uint64_t members = 0;

	for (size_t i = 0; i <= window->count; i++) {
		bool fits = i < window->count && !(out->used >> i & 1) &&
			    finder->words[window->words[i]].inputs;

		if ((!fits || __builtin_popcountll(members) == KP_FUSION_STEPS_MAX) && members) {
			if (members & (members - 1))
				out->found[out->count++] =
					(struct found){KP_FUSION_NO_RULE,
						       (size_t)__builtin_ctzll(members), members};
			members = 0;
		}
		members |= fits ? 1ULL << i : 0;
	}
}

static void forget(struct window *window, size_t count)
{
	if (count >= window->count) {
		window->count = 0;
		window->taken = 0;
		return;
	}
	window->count -= count;
	window->taken >>= count;
	memmove(window->words, window->words + count, window->count * sizeof(*window->words));
	memmove(window->entries, window->entries + count, window->count * sizeof(*window->entries));
}

/*
 * Settles the chains that begin before `limit`, and forgets what lies before it. A chain that may
 * go on behind a full window waits, if enough lies before it.
 */
static enum kp_status settle(struct kp_fusion_finder *finder, struct window *window, size_t limit)
{
	struct findings findings = {.used = window->taken, .open = WINDOW};
	uint64_t places[KP_FUSION_RULES_MAX] = {0}, rules = 0;
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < window->count; i++) {
		uint64_t starts = finder->words[window->words[i]].starts;

		if (i + 1 < window->count) /* of the last it is not known what comes behind it */
			starts &= finder->words[window->words[i + 1]].seconds | finder->alone;
		for (rules |= starts; starts; starts &= starts - 1)
			places[__builtin_ctzll(starts)] |= 1ULL << i;
	}
	for (; rules; rules &= rules - 1) {
		uint32_t number = (uint32_t)__builtin_ctzll(rules);

		apply_rule(finder, window, number, places[number], &findings);
	}
	if (!finder->written_out)
		apply_none(finder, window, &findings);
	if (limit < WINDOW && findings.open < limit && findings.open >= LEAST)
		limit = findings.open;
	for (size_t i = 0; status == KP_OK && i < findings.count; i++) {
		if (findings.found[i].begin >= limit)
			continue;
		status = count_run(finder, window, &findings.found[i]);
		window->taken |= findings.found[i].members;
	}
	forget(window, limit);
	return status;
}

/* ---- streams ---- */

/* The window of a lane, perhaps taken from another one. */
static enum kp_status window_of(struct kp_fusion_finder *finder, uint32_t lane, struct window **out)
{
	enum kp_status status = KP_OK;
	struct window *window;
	size_t number;

	if (!kp_vector_reserve((void **)&finder->window_of_lane, (size_t)lane + 1,
			       &finder->lane_capacity, sizeof(*finder->window_of_lane)))
		return KP_NO_MEMORY;
	if (finder->window_of_lane[lane]) {
		*out = &finder->windows[finder->window_of_lane[lane] - 1];
		return KP_OK;
	}
	if (finder->window_count < WINDOWS_MAX) {
		number = finder->window_count;
		if (!kp_vector_grow((void **)&finder->windows, number, &finder->window_capacity,
				    sizeof(*finder->windows)))
			return KP_NO_MEMORY;
		finder->window_count++;
	} else {
		number = finder->next_window;
		finder->next_window = (number + 1) % WINDOWS_MAX;
		status = settle(finder, &finder->windows[number], WINDOW);
		finder->window_of_lane[finder->windows[number].lane] = 0;
	}
	window = &finder->windows[number];
	window->lane = lane;
	finder->window_of_lane[lane] = (uint32_t)number + 1;
	*out = window;
	return status;
}

/* Whether a launch can be part of a chain with the one before it. */
static bool follows(const struct kp_fusion_finder *finder, const struct kp_fusion_launch *last,
		    const struct kp_fusion_launch *launch, uint64_t gap_ns)
{
	uint64_t most_ns = finder->written_out ? UINT64_MAX : KP_FUSION_GAP_MAX_NS;

	if (gap_ns > most_ns || launch->graph != last->graph)
		return false;
	if (!launch->graph)
		return launch->start_ns >= last->start_ns;
	return launch->correlation == last->correlation && launch->start_ns >= last->end_ns;
}

enum kp_status kp_fusion_finder_launch(struct kp_fusion_finder *finder, uint32_t lane,
				       const struct kp_fusion_launch *launch)
{
	struct window *window;
	enum kp_status status = window_of(finder, lane, &window);
	struct entry *entry;
	uint64_t gap_ns = 0;

	if (status == KP_OK && window->count) {
		const struct kp_fusion_launch *last = &window->entries[window->count - 1].launch;

		if (launch->start_ns > last->end_ns)
			gap_ns = launch->start_ns - last->end_ns;
		if (!follows(finder, last, launch, gap_ns))
			status = settle(finder, window, WINDOW);
		else if (window->count == WINDOW)
			status = settle(finder, window, HALF);
	}
	if (status != KP_OK)
		return status;
	window->words[window->count] = launch->word;
	entry = &window->entries[window->count++];
	entry->gap_ns = gap_ns;
	/* Member by member: they have only just been written. */
	entry->launch.start_ns = launch->start_ns;
	entry->launch.end_ns = launch->end_ns;
	entry->launch.config = launch->config;
	entry->launch.row = launch->row;
	entry->launch.correlation = launch->correlation;
	entry->launch.word = launch->word;
	entry->launch.graph = launch->graph;
	entry->launch.own_operator = launch->own_operator;
	return KP_OK;
}

enum kp_status kp_fusion_finder_break(struct kp_fusion_finder *finder, uint32_t lane)
{
	if (lane >= finder->lane_capacity || !finder->window_of_lane[lane])
		return KP_OK;
	return settle(finder, &finder->windows[finder->window_of_lane[lane] - 1], WINDOW);
}

enum kp_status kp_fusion_finder_end(struct kp_fusion_finder *finder)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < finder->window_count; i++)
		status = settle(finder, &finder->windows[i], WINDOW);
	return status;
}

/* ---- results ---- */

size_t kp_fusion_finder_count(const struct kp_fusion_finder *finder)
{
	return finder->chain_count;
}

const struct kp_fusion_chain *kp_fusion_finder_chain(const struct kp_fusion_finder *finder,
						     size_t number)
{
	return &finder->chains[number];
}

uint64_t kp_fusion_finder_left_out(const struct kp_fusion_finder *finder)
{
	return finder->left_out;
}
