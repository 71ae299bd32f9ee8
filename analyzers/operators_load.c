/* Reading operator rules from YAML with libyaml; see operators.yaml for what they mean. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "analyzers/operators.h"
#include "analyzers/operators_rules.h"

/* Made from operators.yaml at build time. */
extern const unsigned char kp_operators_yaml[];
extern const size_t kp_operators_yaml_length;

struct loader {
	yaml_document_t document;
	struct kp_operators *out;
	size_t line; /* of what is being read, from 1 */
};

static yaml_node_t *node_at(struct loader *loader, int number)
{
	yaml_node_t *node = yaml_document_get_node(&loader->document, number);

	if (node)
		loader->line = node->start_mark.line + 1;
	return node;
}

/* The text of a scalar, copied; NULL if it is none. */
static const char *copy_scalar(struct loader *loader, int number)
{
	const yaml_node_t *node = node_at(loader, number);

	if (!node || node->type != YAML_SCALAR_NODE)
		return NULL;
	return kp_arena_copy(loader->out->arena, (const char *)node->data.scalar.value,
			     node->data.scalar.length);
}

static size_t item_count(const yaml_node_t *sequence)
{
	return (size_t)(sequence->data.sequence.items.top - sequence->data.sequence.items.start);
}

/* A list of patterns, or a single one. */
static enum kp_status read_patterns(struct loader *loader, int number, struct kp_pattern_list *list)
{
	const yaml_node_t *node = node_at(loader, number);
	size_t count = node && node->type == YAML_SEQUENCE_NODE ? item_count(node) : 1;

	list->items = kp_arena_alloc(loader->out->arena, count * sizeof(*list->items));
	if (!list->items)
		return KP_NO_MEMORY;
	for (list->count = 0; list->count < count; list->count++) {
		int item = number;

		if (node && node->type == YAML_SEQUENCE_NODE)
			item = node->data.sequence.items.start[list->count];
		list->items[list->count] = copy_scalar(loader, item);
		if (!list->items[list->count])
			return KP_INVALID;
	}
	return count ? KP_OK : KP_INVALID;
}

static enum kp_status find_operator(struct loader *loader, int number, size_t *index)
{
	const char *name = copy_scalar(loader, number);

	for (*index = 0; name && *index < loader->out->operator_count; (*index)++) {
		if (strcmp(name, loader->out->operators[*index].name) == 0)
			return KP_OK;
	}
	return KP_INVALID;
}

static enum kp_status read_rule(struct loader *loader, int number, struct kp_operator_rule *rule)
{
	static const char *const keys[KP_RULE_CONDITION_COUNT] = {"function", "scope", "argument",
								  "words"};
	const yaml_node_t *node = node_at(loader, number);
	enum kp_status status = KP_OK;
	bool named = false, conditional = false;

	if (!node || node->type != YAML_MAPPING_NODE)
		return KP_INVALID;
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     status == KP_OK && pair < node->data.mapping.pairs.top; pair++) {
		const char *key = copy_scalar(loader, pair->key);
		unsigned condition = 0;

		if (key && strcmp(key, "operator") == 0) {
			status = find_operator(loader, pair->value, &rule->operator_index);
			named = true;
			continue;
		}
		while (key && condition < KP_RULE_CONDITION_COUNT &&
		       strcmp(key, keys[condition]) != 0)
			condition++;
		if (!key || condition == KP_RULE_CONDITION_COUNT)
			return KP_INVALID;
		status = read_patterns(loader, pair->value, &rule->conditions[condition]);
		conditional = true;
	}
	return status == KP_OK && !(named && conditional) ? KP_INVALID : status;
}

static enum kp_status read_operator(struct loader *loader, int number,
				    struct kp_operator_info *info)
{
	const yaml_node_t *node = node_at(loader, number);

	if (!node || node->type != YAML_MAPPING_NODE)
		return KP_INVALID;
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		const char *key = copy_scalar(loader, pair->key);
		const char *value = copy_scalar(loader, pair->value);

		if (!key || !value)
			return KP_INVALID;
		if (strcmp(key, "name") == 0)
			info->name = value;
		else if (strcmp(key, "about") == 0)
			info->about = value;
		else
			return KP_INVALID;
	}
	return info->name && info->about ? KP_OK : KP_INVALID;
}

/* The non-empty sequence under a key of the document; NULL if there is none. */
static const yaml_node_t *find_sequence(struct loader *loader, const char *wanted)
{
	const yaml_node_t *root = yaml_document_get_root_node(&loader->document);

	if (!root || root->type != YAML_MAPPING_NODE)
		return NULL;
	for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
	     pair < root->data.mapping.pairs.top; pair++) {
		const char *key = copy_scalar(loader, pair->key);
		const yaml_node_t *value = node_at(loader, pair->value);

		if (key && strcmp(key, wanted) == 0)
			return value && value->type == YAML_SEQUENCE_NODE && item_count(value)
				       ? value
				       : NULL;
	}
	return NULL;
}

static enum kp_status read_document(struct loader *loader)
{
	const yaml_node_t *operators = find_sequence(loader, "operators");
	const yaml_node_t *rules = operators ? find_sequence(loader, "rules") : NULL;
	struct kp_operators *out = loader->out;
	enum kp_status status = KP_OK;

	if (!rules)
		return KP_INVALID;
	out->operators =
		kp_arena_alloc(out->arena, item_count(operators) * sizeof(*out->operators));
	out->rules = kp_arena_alloc(out->arena, item_count(rules) * sizeof(*out->rules));
	if (!out->operators || !out->rules)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < item_count(operators); i++) {
		status = read_operator(loader, operators->data.sequence.items.start[i],
				       &out->operators[i]);
		out->operator_count = i + 1;
	}
	for (size_t i = 0; status == KP_OK && i < item_count(rules); i++) {
		status = read_rule(loader, rules->data.sequence.items.start[i], &out->rules[i]);
		out->rule_count = i + 1;
	}
	return status;
}

enum kp_status kp_operators_create(const char *yaml, size_t length, struct kp_operators **out,
				   size_t *line)
{
	struct loader loader = {.line = 1};
	enum kp_status status = KP_NO_MEMORY;
	yaml_parser_t parser;

	*out = NULL;
	*line = 0;
	if (!yaml_parser_initialize(&parser))
		return KP_NO_MEMORY;
	yaml_parser_set_input_string(&parser, (const unsigned char *)yaml, length);
	if (!yaml_parser_load(&parser, &loader.document)) {
		status = parser.error == YAML_MEMORY_ERROR ? KP_NO_MEMORY : KP_INVALID;
		*line = parser.problem_mark.line + 1;
		yaml_parser_delete(&parser);
		return status;
	}
	loader.out = calloc(1, sizeof(*loader.out));
	if (loader.out)
		loader.out->arena = kp_arena_create();
	if (loader.out && loader.out->arena)
		status = read_document(&loader);
	yaml_document_delete(&loader.document);
	yaml_parser_delete(&parser);
	if (status == KP_OK) {
		*out = loader.out;
		return KP_OK;
	}
	*line = loader.line;
	kp_operators_destroy(loader.out);
	return status;
}

enum kp_status kp_operators_builtin(struct kp_operators **out)
{
	size_t line;

	return kp_operators_create((const char *)kp_operators_yaml, kp_operators_yaml_length, out,
				   &line);
}

void kp_operators_destroy(struct kp_operators *operators)
{
	if (!operators)
		return;
	kp_arena_destroy(operators->arena);
	free(operators);
}
