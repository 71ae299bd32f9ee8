/* A saved report of kprof ab, read back; see ab_saved.h. */
#include "analyzers/ab_saved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/rules_yaml.h"

#define SCHEMA "kprof.ab/v1"
#define RULES_MOST 4096
#define OUTPUTS_MOST 64
#define COUNT_MOST 1e18

/* ---- values of a mapping ---- */

/* The number of the node of a key's value; 0: there is none. */
static int find(struct kp_rules_yaml *yaml, const yaml_node_t *mapping, const char *key)
{
	for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
	     pair < mapping->data.mapping.pairs.top; pair++) {
		const yaml_node_t *name = yaml_document_get_node(&yaml->document, pair->key);

		if (name && name->type == YAML_SCALAR_NODE &&
		    strcmp((const char *)name->data.scalar.value, key) == 0)
			return pair->value;
	}
	return 0;
}

static bool is_null(struct kp_rules_yaml *yaml, int number)
{
	const yaml_node_t *node = yaml_document_get_node(&yaml->document, number);

	return !node || (node->type == YAML_SCALAR_NODE &&
			 node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
			 strcmp((const char *)node->data.scalar.value, "null") == 0);
}

/* NULL where it is missing or null. */
static enum kp_status read_text(struct kp_rules_yaml *yaml, const yaml_node_t *of, const char *key,
				const char **out)
{
	int number = find(yaml, of, key);

	*out = NULL;
	return is_null(yaml, number) ? KP_OK : kp_rules_yaml_text(yaml, number, out);
}

/* NaN where it is missing or null. */
static enum kp_status read_number(struct kp_rules_yaml *yaml, const yaml_node_t *of,
				  const char *key, double *out)
{
	const char *text;
	char *end;
	enum kp_status status = read_text(yaml, of, key, &text);

	*out = NAN;
	if (status != KP_OK || !text)
		return status;
	*out = strtod(text, &end);
	if (*end || !isfinite(*out))
		return kp_rules_yaml_fail(yaml, of, "«%s» is no number", key);
	return KP_OK;
}

/* 0 where it is missing. */
static enum kp_status read_count(struct kp_rules_yaml *yaml, const yaml_node_t *of, const char *key,
				 uint64_t *out)
{
	double number;
	enum kp_status status = read_number(yaml, of, key, &number);

	*out = 0;
	if (status != KP_OK || isnan(number))
		return status;
	if (number < 0 || number > COUNT_MOST)
		return kp_rules_yaml_fail(yaml, of, "«%s» is no count", key);
	*out = (uint64_t)number;
	return KP_OK;
}

/* Which of `count` names stands there; `count` where it is missing or null. */
static enum kp_status read_name(struct kp_rules_yaml *yaml, const yaml_node_t *of, const char *key,
				const char *const *names, size_t count, size_t *out)
{
	const char *text;
	enum kp_status status = read_text(yaml, of, key, &text);

	*out = count;
	if (status != KP_OK || !text)
		return status;
	for (*out = 0; *out < count; ++*out)
		if (strcmp(text, names[*out]) == 0)
			return KP_OK;
	return kp_rules_yaml_fail(yaml, of, "«%s» is a word that this kprof does not know", key);
}

/* Room for the items of a list, of which there are `most` at most. */
static enum kp_status read_list(struct kp_rules_yaml *yaml, const yaml_node_t *of, const char *key,
				size_t most, size_t item_bytes, void **items, size_t *count)
{
	const yaml_node_t *list = kp_rules_yaml_list(yaml, find(yaml, of, key));

	*items = NULL;
	*count = 0;
	if (!list)
		return kp_rules_yaml_fail(yaml, of, "there is no list «%s»", key);
	if (kp_rules_yaml_count(list) > most)
		return kp_rules_yaml_fail(yaml, list, "more than %zu in «%s»", most, key);
	*count = kp_rules_yaml_count(list);
	*items = kp_arena_alloc(yaml->arena, (*count + 1) * item_bytes);
	return *items ? KP_OK : KP_NO_MEMORY;
}

/* Item i of a list that read_list saw. */
static const yaml_node_t *item_of(struct kp_rules_yaml *yaml, const yaml_node_t *of,
				  const char *key, size_t i)
{
	const yaml_node_t *list = kp_rules_yaml_list(yaml, find(yaml, of, key));

	return kp_rules_yaml_mapping(yaml, list->data.sequence.items.start[i]);
}

/* ---- the report ---- */

struct number {
	const char *key;
	double *out;
};

static enum kp_status read_numbers(struct kp_rules_yaml *yaml, const yaml_node_t *of,
				   const struct number *numbers, size_t count)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = read_number(yaml, of, numbers[i].key, numbers[i].out);
	return status;
}

#define NUMBERS(yaml, of, ...)                                                                     \
	read_numbers(yaml, of, (const struct number[]){__VA_ARGS__},                               \
		     sizeof((const struct number[]){__VA_ARGS__}) / sizeof(struct number))

/* What times say; medians have other names in rules and end to end. */
static enum kp_status read_judged(struct kp_rules_yaml *yaml, const yaml_node_t *of,
				  struct kp_ab_saved_time *out)
{
	static const char *const verdicts[] = {
#define NAME(NAME, name, what) name,
		KP_AB_VERDICTS(NAME)
#undef NAME
	};
	static const char *const doubts[] = {
#define NAME(NAME, key, what) key,
		KP_AB_DOUBTS(NAME)
#undef NAME
	};
	size_t verdict = 0, doubt = 0;
	enum kp_status status = NUMBERS(
		yaml, of, {"change_pct", &out->change_pct}, {"change_low_pct", &out->low_pct},
		{"change_high_pct", &out->high_pct}, {"detectable_pct", &out->detectable_pct});

	if (status == KP_OK)
		status = read_count(yaml, of, "pairs", &out->pairs);
	if (status == KP_OK)
		status = read_name(yaml, of, "verdict", verdicts, KP_AB_VERDICT_COUNT, &verdict);
	if (status == KP_OK && verdict == KP_AB_VERDICT_COUNT)
		status = kp_rules_yaml_fail(yaml, of, "there is no «verdict»");
	if (status == KP_OK)
		status = read_name(yaml, of, "doubt", doubts, KP_AB_DOUBT_COUNT, &doubt);
	out->verdict = (enum kp_ab_verdict_id)verdict;
	out->doubt = doubt < KP_AB_DOUBT_COUNT ? (enum kp_ab_doubt)doubt : KP_AB_DOUBT_NOTHING;
	return status;
}

static enum kp_status read_accuracy(struct kp_rules_yaml *yaml, const yaml_node_t *of,
				    struct kp_ab_saved_rule *rule)
{
	void *items;
	enum kp_status status = read_list(yaml, of, "accuracy", OUTPUTS_MOST,
					  sizeof(*rule->accuracy), &items, &rule->accuracy_count);

	rule->accuracy = items;
	for (size_t i = 0; status == KP_OK && i < rule->accuracy_count; i++) {
		const yaml_node_t *item = item_of(yaml, of, "accuracy", i);
		struct kp_ab_saved_accuracy *out = &rule->accuracy[i];

		if (!item)
			return kp_rules_yaml_fail(yaml, of, "an «accuracy» is no mapping");
		status = read_text(yaml, item, "data", &out->data);
		if (status == KP_OK)
			status = read_count(yaml, item, "elements", &out->elements);
		if (status == KP_OK)
			status = read_count(yaml, item, "mismatches", &out->mismatches);
		if (status == KP_OK)
			status = read_count(yaml, item, "written_outside", &out->outside);
		if (status == KP_OK)
			status = NUMBERS(yaml, item, {"max_abs", &out->max_abs}, {"rms", &out->rms},
					 {"rms_original", &out->rms_original},
					 {"cosine", &out->cosine});
	}
	return status;
}

static enum kp_status read_counts(struct kp_rules_yaml *yaml, const yaml_node_t *of,
				  const char *key, const char *const *names, size_t count,
				  uint64_t *out)
{
	const yaml_node_t *counts = kp_rules_yaml_mapping(yaml, find(yaml, of, key));
	enum kp_status status = KP_OK;

	if (!counts)
		return kp_rules_yaml_fail(yaml, of, "there is no mapping «%s»", key);
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = read_count(yaml, counts, names[i], &out[i]);
	return status;
}

/* Reports of before graphs were timed have none. */
static enum kp_status read_graphs(struct kp_rules_yaml *yaml, const yaml_node_t *rule,
				  struct kp_ab_saved_rule *out)
{
	const yaml_node_t *of = kp_rules_yaml_mapping(yaml, find(yaml, rule, "graphs"));
	enum kp_status status;

	out->replaced_each = NAN;
	if (!of)
		return KP_OK;
	status = NUMBERS(yaml, of, {"replaced_each", &out->replaced_each},
			 {"original_median_us", &out->graphs.original_us},
			 {"candidate_median_us", &out->graphs.candidate_us});
	return status == KP_OK ? read_judged(yaml, of, &out->graphs) : status;
}

static enum kp_status read_rule(struct kp_rules_yaml *yaml, const yaml_node_t *of,
				struct kp_ab_saved_rule *out)
{
	enum kp_status status = read_text(yaml, of, "name", &out->name);

	if (status == KP_OK)
		status = read_text(yaml, of, "replaced_by", &out->by);
	if (status == KP_OK && (!out->name || !out->by))
		status = kp_rules_yaml_fail(yaml, of, "a rule without «name» or «replaced_by»");
	if (status == KP_OK)
		status = read_text(yaml, of, "fault", &out->fault);
	if (status == KP_OK)
		status = read_counts(yaml, of, "launches", kp_ab_count_names, KP_AB_COUNT_COUNT,
				     out->counts);
	if (status == KP_OK)
		status = read_counts(yaml, of, "not_replaced", kp_ab_reason_names,
				     KP_AB_REASON_COUNT, out->reasons);
	if (status == KP_OK)
		status = read_count(yaml, of, "comparisons", &out->comparisons);
	if (status == KP_OK)
		status = read_count(yaml, of, "comparisons_wrong", &out->wrong);
	if (status == KP_OK)
		status = read_accuracy(yaml, of, out);
	if (status == KP_OK)
		status = NUMBERS(yaml, of, {"original_median_us", &out->time.original_us},
				 {"candidate_median_us", &out->time.candidate_us});
	if (status == KP_OK)
		status = read_judged(yaml, of, &out->time);
	return status == KP_OK ? read_graphs(yaml, of, out) : status;
}

static enum kp_status read_end(struct kp_rules_yaml *yaml, const yaml_node_t *root,
			       struct kp_ab_saved *out)
{
	static const char *const agreements[] = {
#define NAME(NAME, key, what) key,
		KP_AB_AGREEMENTS(NAME)
#undef NAME
	};
	const yaml_node_t *of = kp_rules_yaml_mapping(yaml, find(yaml, root, "end_to_end"));
	size_t agreement = 0;
	enum kp_status status;

	if (!of)
		return kp_rules_yaml_fail(yaml, root, "there is no mapping «end_to_end»");
	status = NUMBERS(yaml, of, {"original_phase_ns", &out->end.original_us},
			 {"candidate_phase_ns", &out->end.candidate_us},
			 {"predicted_pct", &out->predicted_pct});
	out->end.original_us /= 1e3;
	out->end.candidate_us /= 1e3;
	if (status == KP_OK)
		status = read_count(yaml, of, "phases", &out->phases);
	if (status == KP_OK)
		status = read_name(yaml, of, "agreement", agreements, KP_AB_AGREEMENT_COUNT,
				   &agreement);
	out->agreement = (enum kp_ab_agreement)agreement;
	return status == KP_OK ? read_judged(yaml, of, &out->end) : status;
}

static enum kp_status read_report(struct kp_rules_yaml *yaml, struct kp_ab_saved *out)
{
	const yaml_node_t *root = kp_rules_yaml_mapping(yaml, 1);
	const char *schema = NULL;
	void *items = NULL;
	enum kp_status status = root ? read_text(yaml, root, "schema", &schema) : KP_OK;

	if (status == KP_OK && (!schema || strcmp(schema, SCHEMA) != 0))
		return kp_rules_yaml_fail(yaml, root,
					  "no report of kprof ab: its schema is not " SCHEMA);
	if (status == KP_OK)
		status = read_text(yaml, root, "mode", &out->mode);
	if (status == KP_OK)
		status = read_list(yaml, root, "rules", RULES_MOST, sizeof(*out->rules), &items,
				   &out->rule_count);
	out->rules = items;
	for (size_t i = 0; status == KP_OK && i < out->rule_count; i++) {
		const yaml_node_t *rule = item_of(yaml, root, "rules", i);

		status = rule ? read_rule(yaml, rule, &out->rules[i])
			      : kp_rules_yaml_fail(yaml, root, "a rule is no mapping");
	}
	return status == KP_OK ? read_end(yaml, root, out) : status;
}

enum kp_status kp_ab_saved_read(const char *text, size_t length, struct kp_ab_saved *out,
				struct kp_rules_error *error)
{
	struct kp_rules_yaml yaml = {.error = error};
	enum kp_status status;

	memset(out, 0, sizeof(*out));
	out->arena = kp_arena_create();
	if (!out->arena)
		return KP_NO_MEMORY;
	yaml.arena = out->arena;
	status = kp_rules_yaml_load(&yaml, text, length);
	if (status != KP_OK)
		return status;
	status = read_report(&yaml, out);
	yaml_document_delete(&yaml.document);
	return status;
}

void kp_ab_saved_fini(struct kp_ab_saved *saved)
{
	kp_arena_destroy(saved->arena);
	memset(saved, 0, sizeof(*saved));
}

uint64_t kp_ab_saved_replaced(const struct kp_ab_saved_rule *rule)
{
	return rule->counts[KP_AB_COUNT_REPLACED] + rule->counts[KP_AB_COUNT_REPLACED_CAPTURED];
}
