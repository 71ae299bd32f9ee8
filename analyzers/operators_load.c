/* Reading operator rules from YAML; see operators.yaml for what they mean. */
#include <stdlib.h>
#include <string.h>

#include "analyzers/fusion_rules.h"
#include "analyzers/operators.h"
#include "analyzers/operators_rules.h"
#include "analyzers/rules_yaml.h"
#include "trace/vector.h"

/* Made from operators.yaml and fusions.yaml at build time. */
extern const unsigned char kp_operators_yaml[], kp_fusions_yaml[];
extern const size_t kp_operators_yaml_length, kp_fusions_yaml_length;

/* Rules that cannot be read in a reasonable time are refused. */
#define RULES_MAX 100000
#define CLASSES_MAX 256

struct loader {
	struct kp_rules_yaml yaml;
	struct kp_operators *out;
	bool user;
};

/* ---- tables that grow ---- */

static enum kp_status add_operator(struct kp_operators *out, const char *name, const char *about)
{
	if (!kp_vector_grow((void **)&out->operators, out->operator_count, &out->operator_capacity,
			    sizeof(*out->operators)))
		return KP_NO_MEMORY;
	out->operators[out->operator_count++] = (struct kp_operator_info){name, about};
	return KP_OK;
}

/* Sees to it that there is such a variant. */
static enum kp_status need_variant(struct kp_operators *out, size_t operator_index,
				   const char *name)
{
	if (kp_variant_find(out, operator_index, name) < out->variant_count)
		return KP_OK;
	if (!kp_vector_grow((void **)&out->variants, out->variant_count, &out->variant_capacity,
			    sizeof(*out->variants)))
		return KP_NO_MEMORY;
	out->variants[out->variant_count++] = (struct kp_variant){operator_index, name};
	return KP_OK;
}

enum kp_status kp_variant_need(struct kp_operators *operators, const char *operator_name,
			       const char *name, size_t *out)
{
	enum kp_status status;
	size_t i = 0;

	while (i < operators->operator_count &&
	       strcmp(operators->operators[i].name, operator_name) != 0)
		i++;
	if (i == operators->operator_count)
		return KP_INVALID;
	status = need_variant(operators, i, name);
	if (status == KP_OK)
		*out = kp_variant_find(operators, i, name);
	return status;
}

/* All variants that rules without one can have: each of the number types, and none. */
static enum kp_status need_types(struct kp_operators *out)
{
	const struct kp_rule_list *types = &out->lists[KP_RULE_TYPE];
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < out->lists[KP_RULE_OPERATOR].count; i++) {
		const struct kp_operator_rule *rule = &out->lists[KP_RULE_OPERATOR].rules[i];

		if (rule->text)
			continue;
		status = need_variant(out, rule->operator_index, NULL);
		for (size_t k = 0; status == KP_OK && k < types->count; k++)
			status = need_variant(out, rule->operator_index, types->rules[k].text);
		if (status != KP_OK)
			return status;
	}
	return KP_OK;
}

/* ---- operators ---- */

static size_t find_operator(const struct kp_operators *out, const char *name, size_t length)
{
	size_t i = 0;

	while (i < out->operator_count && (strlen(out->operators[i].name) != length ||
					   memcmp(out->operators[i].name, name, length) != 0))
		i++;
	return i;
}

static enum kp_status read_operator_name(struct loader *loader, int number, size_t *index)
{
	const char *name = NULL;
	enum kp_status status = kp_rules_yaml_text(&loader->yaml, number, &name);

	if (status != KP_OK)
		return status;
	*index = find_operator(loader->out, name, strlen(name));
	if (*index == loader->out->operator_count)
		return kp_rules_yaml_fail(&loader->yaml,
					  yaml_document_get_node(&loader->yaml.document, number),
					  "no operator is called «%s»", name);
	return KP_OK;
}

static enum kp_status read_operator(struct loader *loader, int number)
{
	static const struct kp_rules_key keys[] = {{"name", true}, {"about", true}, {0}};
	const char *texts[2] = {NULL, NULL};
	int values[2];
	enum kp_status status =
		kp_rules_yaml_values(&loader->yaml, number, "an operator", keys, values);

	for (int i = 0; status == KP_OK && i < 2; i++)
		status = kp_rules_yaml_text(&loader->yaml, values[i], &texts[i]);
	if (status != KP_OK)
		return status;
	if (strcmp(texts[0], KP_OPERATOR_ALL) == 0)
		return kp_rules_yaml_fail(&loader->yaml,
					  yaml_document_get_node(&loader->yaml.document, values[0]),
					  "«%s» stands for the whole of a plan", texts[0]);
	if (strpbrk(texts[0], ",="))
		return kp_rules_yaml_fail(&loader->yaml,
					  yaml_document_get_node(&loader->yaml.document, values[0]),
					  "«%s»: neither , nor = can be in an operator's name, "
					  "which a plan has in lists",
					  texts[0]);
	if (find_operator(loader->out, texts[0], strlen(texts[0])) < loader->out->operator_count)
		return kp_rules_yaml_fail(&loader->yaml,
					  yaml_document_get_node(&loader->yaml.document, values[0]),
					  "there is an operator «%s» already", texts[0]);
	return add_operator(loader->out, texts[0], texts[1]);
}

/* ---- rules ---- */

/* The keys of conditions, in the order of enum kp_rule_condition. */
#define CONDITION_KEYS                                                                             \
	{"function", false}, {"scope", false}, {"argument", false}, {"parameter", false},          \
	{                                                                                          \
		"words", false                                                                     \
	}

#define RULE_KEYS_MAX 16

static const struct rule_kind {
	const char *what;
	struct kp_rules_key keys[RULE_KEYS_MAX]; /* conditions, then the outcome */
} rule_kinds[KP_RULE_KIND_COUNT] = {
	[KP_RULE_OPERATOR] =
		{"a rule",
		 {CONDITION_KEYS, {"operator", true}, {"variant", false}, {"helper", false}, {0}}},
	[KP_RULE_LIBRARY] = {"a rule about libraries", {CONDITION_KEYS, {"library", true}, {0}}},
	[KP_RULE_TYPE] = {"a rule about types", {CONDITION_KEYS, {"type", true}, {0}}},
	[KP_RULE_STEP] = {"a rule about steps",
			  {CONDITION_KEYS, {"step", true}, {"inputs", false}, {0}}},
};

static enum kp_status read_flag(struct loader *loader, int number, bool *out)
{
	const char *text = NULL;
	enum kp_status status = kp_rules_yaml_text(&loader->yaml, number, &text);

	if (status != KP_OK)
		return status;
	*out = strcmp(text, "true") == 0;
	if (!*out && strcmp(text, "false") != 0)
		return kp_rules_yaml_fail(&loader->yaml,
					  yaml_document_get_node(&loader->yaml.document, number),
					  "neither true nor false");
	return KP_OK;
}

/* How many tensors a step reads: a digit. */
static enum kp_status read_inputs(struct loader *loader, int number, unsigned *out)
{
	const char *text = NULL;
	enum kp_status status = kp_rules_yaml_text(&loader->yaml, number, &text);

	if (status != KP_OK)
		return status;
	if (text[0] < '1' || text[0] > '9' || text[1])
		return kp_rules_yaml_fail(&loader->yaml,
					  yaml_document_get_node(&loader->yaml.document, number),
					  "«inputs» is a number from 1 to 9");
	*out = (unsigned)(text[0] - '0');
	return KP_OK;
}

/* What a rule says: operator, variant and helper, or a library, type or step. */
static enum kp_status read_outcome(struct loader *loader, enum kp_rule_kind kind, const int *values,
				   struct kp_operator_rule *rule)
{
	const int *outcome = values + KP_RULE_CONDITION_COUNT;
	enum kp_status status;

	if (kind != KP_RULE_OPERATOR) {
		status = kp_rules_yaml_text(&loader->yaml, outcome[0], &rule->text);
		if (status == KP_OK && kind == KP_RULE_STEP && outcome[1])
			status = read_inputs(loader, outcome[1], &rule->inputs);
		return status;
	}
	status = read_operator_name(loader, outcome[0], &rule->operator_index);
	if (status == KP_OK && outcome[1])
		status = kp_rules_yaml_text(&loader->yaml, outcome[1], &rule->text);
	if (status == KP_OK && outcome[2])
		status = read_flag(loader, outcome[2], &rule->helper);
	if (status == KP_OK && rule->text)
		status = need_variant(loader->out, rule->operator_index, rule->text);
	return status;
}

static enum kp_status read_rule(struct loader *loader, enum kp_rule_kind kind, int number,
				struct kp_operator_rule *rule)
{
	const struct rule_kind *about = &rule_kinds[kind];
	int values[RULE_KEYS_MAX];
	bool conditional = false;
	enum kp_status status =
		kp_rules_yaml_values(&loader->yaml, number, about->what, about->keys, values);

	rule->user = loader->user;
	for (unsigned i = 0; status == KP_OK && i < KP_RULE_CONDITION_COUNT; i++) {
		if (!values[i])
			continue;
		conditional = true;
		status = kp_rules_yaml_texts(&loader->yaml, values[i], &rule->conditions[i].items,
					     &rule->conditions[i].count);
	}
	if (status == KP_OK && !conditional)
		return kp_rules_yaml_fail(
			&loader->yaml, yaml_document_get_node(&loader->yaml.document, number),
			"%s needs a condition: function, scope, argument, parameter or words",
			about->what);
	return status == KP_OK ? read_outcome(loader, kind, values, rule) : status;
}

/* Reads a list of rules and puts it before those that are there. */
static enum kp_status read_rules(struct loader *loader, enum kp_rule_kind kind,
				 const yaml_node_t *list)
{
	struct kp_rule_list *old = &loader->out->lists[kind], joined = {0};
	size_t count = kp_rules_yaml_count(list);
	enum kp_status status = KP_OK;

	if (count > RULES_MAX - old->count)
		return kp_rules_yaml_fail(&loader->yaml, list, "more than %d rules", RULES_MAX);
	joined.rules = kp_arena_alloc(loader->out->arena,
				      (count + old->count + 1) * sizeof(*joined.rules));
	if (!joined.rules)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = read_rule(loader, kind, list->data.sequence.items.start[i],
				   &joined.rules[i]);
	if (status != KP_OK)
		return status;
	joined.count = count + old->count;
	if (old->count)
		memcpy(joined.rules + count, old->rules, old->count * sizeof(*old->rules));
	*old = joined;
	return KP_OK;
}

/* ---- sequences ---- */

/* «operator» or «operator/variant». */
static enum kp_status read_class(struct loader *loader, const yaml_node_t *node, const char *text,
				 struct kp_label_class *out)
{
	size_t length = strcspn(text, "/");

	out->operator_index = find_operator(loader->out, text, length);
	out->variant = text[length] ? text + length + 1 : NULL;
	if (out->operator_index == loader->out->operator_count)
		return kp_rules_yaml_fail(&loader->yaml, node, "no operator is called «%.*s»",
					  (int)length, text);
	return KP_OK;
}

static enum kp_status read_classes(struct loader *loader, int number, struct kp_class_list *out)
{
	const yaml_node_t *node = yaml_document_get_node(&loader->yaml.document, number);
	const char **texts;
	size_t count = 0;
	enum kp_status status = kp_rules_yaml_texts(&loader->yaml, number, &texts, &count);

	if (status != KP_OK)
		return status;
	if (count > CLASSES_MAX)
		return kp_rules_yaml_fail(&loader->yaml, node, "more than %d operators",
					  CLASSES_MAX);
	out->items = kp_arena_alloc(loader->out->arena, count * sizeof(*out->items));
	if (!out->items)
		return KP_NO_MEMORY;
	for (out->count = 0; status == KP_OK && out->count < count; out->count++)
		status = read_class(loader, node, texts[out->count], &out->items[out->count]);
	return status;
}

static enum kp_status read_steps(struct loader *loader, int number, struct kp_sequence *sequence)
{
	const yaml_node_t *list = kp_rules_yaml_list(&loader->yaml, number);
	enum kp_status status = KP_OK;
	size_t count = list ? kp_rules_yaml_count(list) : 0;

	if (count < 2 || count > KP_SEQUENCE_STEPS_MAX)
		return kp_rules_yaml_fail(
			&loader->yaml, yaml_document_get_node(&loader->yaml.document, number),
			"«steps» is a list of 2 to %d steps", KP_SEQUENCE_STEPS_MAX);
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = read_classes(loader, list->data.sequence.items.start[i],
				      &sequence->steps[i]);
	sequence->step_count = count;
	return status;
}

static enum kp_status read_sequence(struct loader *loader, int number, struct kp_sequence *sequence)
{
	static const struct kp_rules_key keys[] = {{"operator", true}, {"variant", true},
						   {"steps", true},    {"between", false},
						   {"then", false},    {0}};
	const char *variant = NULL;
	size_t operator_index = 0;
	int values[5];
	enum kp_status status =
		kp_rules_yaml_values(&loader->yaml, number, "a sequence", keys, values);

	if (status == KP_OK)
		status = read_operator_name(loader, values[0], &operator_index);
	if (status == KP_OK)
		status = kp_rules_yaml_text(&loader->yaml, values[1], &variant);
	if (status == KP_OK)
		status = need_variant(loader->out, operator_index, variant);
	if (status == KP_OK)
		status = read_steps(loader, values[2], sequence);
	if (status == KP_OK && values[3])
		status = read_classes(loader, values[3], &sequence->between);
	if (status == KP_OK && values[4])
		status = read_classes(loader, values[4], &sequence->then);
	if (status == KP_OK)
		sequence->variant = kp_variant_find(loader->out, operator_index, variant);
	return status;
}

static enum kp_status read_sequences(struct loader *loader, const yaml_node_t *list)
{
	size_t count = kp_rules_yaml_count(list), old = loader->out->sequence_count;
	struct kp_sequence *joined;
	enum kp_status status = KP_OK;

	if (count > CLASSES_MAX - old)
		return kp_rules_yaml_fail(&loader->yaml, list, "more than %d sequences",
					  CLASSES_MAX);
	joined = kp_arena_alloc(loader->out->arena, (count + old + 1) * sizeof(*joined));
	if (!joined)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = read_sequence(loader, list->data.sequence.items.start[i], &joined[i]);
	if (status != KP_OK)
		return status;
	if (old)
		memcpy(joined + count, loader->out->sequences, old * sizeof(*joined));
	loader->out->sequences = joined;
	loader->out->sequence_count = count + old;
	return KP_OK;
}

/* ---- documents ---- */

enum section { OPERATORS, RULES, LIBRARIES, TYPES, SEQUENCES, STEPS, FUSIONS, SECTION_COUNT };

static enum kp_status read_section(struct loader *loader, enum section section,
				   const yaml_node_t *list)
{
	enum kp_status status = KP_OK;

	switch (section) {
	case OPERATORS:
		for (size_t i = 0; status == KP_OK && i < kp_rules_yaml_count(list); i++)
			status = read_operator(loader, list->data.sequence.items.start[i]);
		return status;
	case RULES:
		return read_rules(loader, KP_RULE_OPERATOR, list);
	case LIBRARIES:
		return read_rules(loader, KP_RULE_LIBRARY, list);
	case TYPES:
		return read_rules(loader, KP_RULE_TYPE, list);
	case SEQUENCES:
		return read_sequences(loader, list);
	case STEPS:
		return read_rules(loader, KP_RULE_STEP, list);
	case FUSIONS:
		return kp_fusion_rules_read(&loader->yaml, list, loader->out);
	case SECTION_COUNT:
		break;
	}
	return KP_OK;
}

static enum kp_status read_document(struct loader *loader)
{
	static const struct kp_rules_key keys[SECTION_COUNT + 1] = {
		{"operators", false}, {"rules", false}, {"libraries", false}, {"types", false},
		{"sequences", false}, {"steps", false}, {"fusions", false},   {0}};
	const yaml_node_t *root = yaml_document_get_root_node(&loader->yaml.document), *list;
	int values[SECTION_COUNT];
	enum kp_status status;

	if (!root)
		return kp_rules_yaml_fail(&loader->yaml, NULL, "there are no rules in it");
	status = kp_rules_yaml_values(&loader->yaml, 1, "a file of rules", keys, values);
	for (unsigned i = 0; status == KP_OK && i < SECTION_COUNT; i++) {
		if (!values[i])
			continue;
		list = kp_rules_yaml_list(&loader->yaml, values[i]);
		if (!list)
			return kp_rules_yaml_fail(
				&loader->yaml,
				yaml_document_get_node(&loader->yaml.document, values[i]),
				"«%s» is a list", keys[i].name);
		status = read_section(loader, (enum section)i, list);
	}
	return status == KP_OK ? need_types(loader->out) : status;
}

static enum kp_status add(struct kp_operators *operators, const char *yaml, size_t length,
			  bool user, struct kp_rules_error *error)
{
	struct loader loader = {.yaml = {.arena = operators->arena, .error = error},
				.out = operators,
				.user = user};
	enum kp_status status;

	*error = (struct kp_rules_error){0};
	status = kp_rules_yaml_load(&loader.yaml, yaml, length);
	if (status != KP_OK)
		return status;
	status = read_document(&loader);
	yaml_document_delete(&loader.yaml.document);
	return status;
}

enum kp_status kp_operators_add(struct kp_operators *operators, const char *yaml, size_t length,
				struct kp_rules_error *error)
{
	return add(operators, yaml, length, true, error);
}

enum kp_status kp_operators_create(const char *yaml, size_t length, struct kp_operators **out,
				   struct kp_rules_error *error)
{
	struct kp_operators *made = calloc(1, sizeof(*made));
	enum kp_status status = KP_NO_MEMORY;

	*out = NULL;
	*error = (struct kp_rules_error){0};
	if (made)
		made->arena = kp_arena_create();
	if (made && made->arena)
		status = add_operator(made, "unknown", "no rule knows the kernel");
	if (status == KP_OK)
		status = need_variant(made, KP_OPERATOR_UNKNOWN, NULL);
	if (status == KP_OK)
		status = add(made, yaml, length, false, error);
	if (status == KP_OK)
		*out = made;
	else
		kp_operators_destroy(made);
	return status;
}

enum kp_status kp_operators_builtin(struct kp_operators **out)
{
	struct kp_rules_error error;
	enum kp_status status = kp_operators_create((const char *)kp_operators_yaml,
						    kp_operators_yaml_length, out, &error);

	if (status == KP_OK)
		status = add(*out, (const char *)kp_fusions_yaml, kp_fusions_yaml_length, false,
			     &error);
	if (status != KP_OK) {
		kp_operators_destroy(*out);
		*out = NULL;
	}
	return status;
}

void kp_operators_destroy(struct kp_operators *operators)
{
	if (!operators)
		return;
	free(operators->operators);
	free(operators->variants);
	kp_arena_destroy(operators->arena);
	free(operators);
}
