/* Reading «replace:» of A/B rules: by a built-in, a module of the user's, or a library. */
#include <string.h>

#include "analyzers/ab_rules_parts.h"
#include "trace/vector.h"

static const struct {
	const char *name;
	uint32_t builtin; /* enum kp_ab_builtin */
	enum kp_ab_kind kind;
	bool needed;
} rows[KP_AB_ARGUMENT_ROW_COUNT] = {
#define BUILTIN(name, what)
#define ARG(builtin, name, kind, needed, otherwise, what)                                          \
	{#name, KP_AB_BUILTIN_##builtin, KP_AB_##kind, needed},
#include "trace/ab_builtins.def"
};

const char *const kp_ab_rules_builtins[KP_AB_BUILTIN_COUNT] = {
#define BUILTIN(name, what) #name,
#define ARG(builtin, name, kind, needed, otherwise, what)
#include "trace/ab_builtins.def"
};

enum { BUILTIN_KEY, MODULE, KERNEL, LIBRARY, ENTRY, GRID, BLOCK, SHARED, ARGUMENTS, KEY_COUNT };
static const struct kp_rules_key keys[KEY_COUNT + 1] = {
	{"builtin", false},  {"module", false}, {"kernel", false}, {"library", false},
	{"entry", false},    {"grid", false},   {"block", false},  {"shared", false},
	{"arguments", true}, {NULL, false},
};

static enum kp_status add_argument(struct kp_ab_reading *reading, const yaml_node_t *node,
				   struct kp_ab_argument argument, int value, enum kp_ab_type type)
{
	struct kp_ab_rules *rules = reading->rules;
	enum kp_status status = kp_ab_rules_put_code(reading, value, type, &argument.value);

	if (status != KP_OK)
		return status;
	if (reading->rule.argument_count == KP_AB_ARGUMENTS_MOST)
		return kp_rules_yaml_fail(&reading->yaml, node, "more than %u arguments",
					  KP_AB_ARGUMENTS_MOST);
	if (!kp_vector_grow((void **)&rules->arguments, rules->arguments_count,
			    &rules->arguments_capacity, sizeof(argument)))
		return KP_NO_MEMORY;
	rules->arguments[rules->arguments_count++] = argument;
	reading->rule.argument_count++;
	return KP_OK;
}

/* ---- built-ins ---- */

static enum kp_status find_builtin(struct kp_ab_reading *reading, int number)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	const char *name = NULL;
	enum kp_status status = kp_rules_yaml_text(&reading->yaml, number, &name);
	uint32_t i = 0;

	if (status != KP_OK)
		return status;
	while (i < KP_AB_BUILTIN_COUNT && strcmp(kp_ab_rules_builtins[i], name) != 0)
		i++;
	if (i == KP_AB_BUILTIN_COUNT)
		return kp_rules_yaml_fail(&reading->yaml, node, "there is no built-in «%.40s»",
					  name);
	reading->rule.builtin = i;
	return KP_OK;
}

static uint32_t find_row(uint32_t builtin, const char *name)
{
	uint32_t i = 0;

	while (i < KP_AB_ARGUMENT_ROW_COUNT &&
	       (rows[i].builtin != builtin || strcmp(rows[i].name, name) != 0))
		i++;
	return i;
}

static enum kp_status read_pair(struct kp_ab_reading *reading, const yaml_node_pair_t *pair,
				bool *given)
{
	const yaml_node_t *key = yaml_document_get_node(&reading->yaml.document, pair->key);
	uint32_t builtin = reading->rule.builtin, row;
	const char *name = NULL;
	enum kp_status status = kp_rules_yaml_text(&reading->yaml, pair->key, &name);

	if (status != KP_OK)
		return status;
	row = find_row(builtin, name);
	if (row == KP_AB_ARGUMENT_ROW_COUNT)
		return kp_rules_yaml_fail(&reading->yaml, key, "%s has no argument «%.40s»",
					  kp_ab_rules_builtins[builtin], name);
	if (given[row])
		return kp_rules_yaml_fail(&reading->yaml, key, "«%s» is there twice", name);
	given[row] = true;
	reading->scope.row = row + 1;
	status = add_argument(reading, key, (struct kp_ab_argument){.row = row}, pair->value,
			      rows[row].kind == KP_AB_REAL ? KP_AB_FLOAT : KP_AB_INTEGER);
	reading->scope.row = 0;
	return status;
}

static enum kp_status read_map(struct kp_ab_reading *reading, const yaml_node_t *node, int number)
{
	const yaml_node_t *map = kp_rules_yaml_mapping(&reading->yaml, number);
	bool given[KP_AB_ARGUMENT_ROW_COUNT] = {false};
	enum kp_status status = KP_OK;

	if (!map)
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "the «arguments» of a built-in are a mapping");
	for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
	     status == KP_OK && pair < map->data.mapping.pairs.top; pair++)
		status = read_pair(reading, pair, given);
	for (uint32_t i = 0; status == KP_OK && i < KP_AB_ARGUMENT_ROW_COUNT; i++)
		if (rows[i].builtin == reading->rule.builtin && rows[i].needed && !given[i])
			return kp_rules_yaml_fail(&reading->yaml, map, "%s needs the argument «%s»",
						  kp_ab_rules_builtins[rows[i].builtin],
						  rows[i].name);
	return status;
}

/* ---- the user's ---- */

/* «TYPE: expression», one entry of the list. */
static enum kp_status read_typed(struct kp_ab_reading *reading, int number)
{
	const yaml_node_t *map = kp_rules_yaml_mapping(&reading->yaml, number);
	const yaml_node_pair_t *pair = map ? map->data.mapping.pairs.start : NULL;
	const char *name = NULL;
	enum kp_status status;
	enum kp_ab_type type;
	uint32_t load;

	if (!map || map->data.mapping.pairs.top - pair != 1)
		return kp_rules_yaml_fail(&reading->yaml,
					  yaml_document_get_node(&reading->yaml.document, number),
					  "an argument is «TYPE: expression», as in «ptr: ptr(0)»");
	status = kp_rules_yaml_text(&reading->yaml, pair->key, &name);
	if (status != KP_OK)
		return status;
	load = kp_ab_expression_load(name, &type);
	if (load == KP_AB_LOAD_COUNT)
		return kp_rules_yaml_fail(&reading->yaml, map, "there is no type «%.20s»", name);
	return add_argument(reading, map, (struct kp_ab_argument){.row = KP_AB_NONE, .type = load},
			    pair->value, type);
}

static enum kp_status read_list(struct kp_ab_reading *reading, const yaml_node_t *node, int number)
{
	const yaml_node_t *list = kp_rules_yaml_list(&reading->yaml, number);
	enum kp_status status = KP_OK;

	if (!list)
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "the «arguments» of a kernel are a list");
	for (size_t i = 0; status == KP_OK && i < kp_rules_yaml_count(list); i++)
		status = read_typed(reading, list->data.sequence.items.start[i]);
	return status;
}

/* One expression, or up to three. What is not there is 1. */
static enum kp_status read_size(struct kp_ab_reading *reading, int number, struct kp_ab_span out[3])
{
	const yaml_node_t *list = kp_rules_yaml_list(&reading->yaml, number);
	size_t count = list ? kp_rules_yaml_count(list) : 1;
	enum kp_status status = KP_OK;

	if (count < 1 || count > 3)
		return kp_rules_yaml_fail(&reading->yaml, list, "a size has 1 to 3 numbers");
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = kp_ab_rules_put_code(reading,
					      list ? list->data.sequence.items.start[i] : number,
					      KP_AB_INTEGER, &out[i]);
	return status;
}

static enum kp_status read_symbol(struct kp_ab_reading *reading, int number)
{
	const char *text = NULL;
	enum kp_status status = kp_rules_yaml_text(&reading->yaml, number, &text);

	return status == KP_OK ? kp_ab_rules_put_text(reading->rules, text, &reading->rule.symbol)
			       : status;
}

static enum kp_status read_module(struct kp_ab_reading *reading, const yaml_node_t *node,
				  const int *values)
{
	struct kp_ab_rule *rule = &reading->rule;
	enum kp_status status;

	if (!values[KERNEL] || !values[GRID] || !values[BLOCK] || values[ENTRY])
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "a «module» needs «kernel», «grid» and «block»");
	rule->replace = KP_AB_REPLACE_MODULE;
	status = kp_ab_rules_put_path(reading, values[MODULE], &rule->file);
	if (status == KP_OK)
		status = read_symbol(reading, values[KERNEL]);
	if (status == KP_OK)
		status = read_size(reading, values[GRID], rule->grid);
	if (status == KP_OK)
		status = read_size(reading, values[BLOCK], rule->block);
	if (status == KP_OK && values[SHARED])
		status =
			kp_ab_rules_put_code(reading, values[SHARED], KP_AB_INTEGER, &rule->shared);
	return status == KP_OK ? read_list(reading, node, values[ARGUMENTS]) : status;
}

static enum kp_status read_library(struct kp_ab_reading *reading, const yaml_node_t *node,
				   const int *values)
{
	enum kp_status status;

	if (!values[ENTRY] || values[KERNEL] || values[GRID] || values[BLOCK] || values[SHARED])
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "a «library» needs «entry», and has no kernel or size");
	reading->rule.replace = KP_AB_REPLACE_LIBRARY;
	status = kp_ab_rules_put_path(reading, values[LIBRARY], &reading->rule.file);
	if (status == KP_OK)
		status = read_symbol(reading, values[ENTRY]);
	return status == KP_OK ? read_list(reading, node, values[ARGUMENTS]) : status;
}

enum kp_status kp_ab_rules_read_replace(struct kp_ab_reading *reading, int number)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	int values[KEY_COUNT];
	enum kp_status status =
		kp_rules_yaml_values(&reading->yaml, number, "«replace»", keys, values);

	if (status != KP_OK)
		return status;
	if (!!values[BUILTIN_KEY] + !!values[MODULE] + !!values[LIBRARY] != 1)
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "«replace» has one of «builtin», «module» and «library»");
	reading->rule.first_argument = (uint32_t)reading->rules->arguments_count;
	if (values[MODULE])
		return read_module(reading, node, values);
	if (values[LIBRARY])
		return read_library(reading, node, values);
	if (values[KERNEL] || values[ENTRY] || values[GRID] || values[BLOCK] || values[SHARED])
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "a built-in has no kernel, entry or size");
	status = find_builtin(reading, values[BUILTIN_KEY]);
	return status == KP_OK ? read_map(reading, node, values[ARGUMENTS]) : status;
}
