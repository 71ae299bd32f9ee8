/* Reading YAML documents of rules; see rules_yaml.h. */
#include "analyzers/rules_yaml.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Keys that are quoted in a message are cut here. */
#define QUOTED_MAX 40
/* More texts than this in lists are refused. */
#define TEXTS_MAX ((size_t)1 << 18)
/* Lists and mappings within each other; rules have five. */
#define LEVELS_MAX 32

/* How the nesting changes by an event. */
static int nesting_of(yaml_event_type_t type)
{
	switch (type) {
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return 1;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return -1;
	default:
		return 0;
	}
}

/*
 * Before a document is made of it: for lists within lists the library takes time that grows with
 * the square of their number. What is no YAML is not found here.
 */
static enum kp_status check_nesting(struct kp_rules_yaml *yaml, const char *text, size_t length)
{
	bool more = true;
	yaml_parser_t parser;
	yaml_event_t event;
	int levels = 0;

	if (!yaml_parser_initialize(&parser))
		return KP_NO_MEMORY;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	while (more && levels <= LEVELS_MAX && yaml_parser_parse(&parser, &event)) {
		levels += nesting_of(event.type);
		more = event.type != YAML_STREAM_END_EVENT;
		yaml->error->line = event.start_mark.line + 1;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	if (levels <= LEVELS_MAX)
		return KP_OK;
	snprintf(yaml->error->text, sizeof(yaml->error->text),
		 "more than %d lists and mappings within each other", LEVELS_MAX);
	return KP_INVALID;
}

enum kp_status kp_rules_yaml_load(struct kp_rules_yaml *yaml, const char *text, size_t length)
{
	enum kp_status status = check_nesting(yaml, text, length);
	yaml_parser_t parser;

	if (status != KP_OK)
		return status;
	if (!yaml_parser_initialize(&parser))
		return KP_NO_MEMORY;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	if (!yaml_parser_load(&parser, &yaml->document)) {
		status = parser.error == YAML_MEMORY_ERROR ? KP_NO_MEMORY : KP_INVALID;
		yaml->error->line = parser.problem_mark.line + 1;
		snprintf(yaml->error->text, sizeof(yaml->error->text), "not YAML: %s",
			 parser.problem ? parser.problem : "it cannot be read");
	}
	yaml_parser_delete(&parser);
	return status;
}

enum kp_status kp_rules_yaml_fail(struct kp_rules_yaml *yaml, const yaml_node_t *node,
				  const char *format, ...)
{
	va_list args;

	yaml->error->line = node ? node->start_mark.line + 1 : 1;
	va_start(args, format);
	vsnprintf(yaml->error->text, sizeof(yaml->error->text), format, args);
	va_end(args);
	return KP_INVALID;
}

static yaml_node_t *node_at(struct kp_rules_yaml *yaml, int number)
{
	return yaml_document_get_node(&yaml->document, number);
}

const yaml_node_t *kp_rules_yaml_mapping(struct kp_rules_yaml *yaml, int number)
{
	const yaml_node_t *node = node_at(yaml, number);

	return node && node->type == YAML_MAPPING_NODE ? node : NULL;
}

const yaml_node_t *kp_rules_yaml_list(struct kp_rules_yaml *yaml, int number)
{
	const yaml_node_t *node = node_at(yaml, number);

	return node && node->type == YAML_SEQUENCE_NODE ? node : NULL;
}

size_t kp_rules_yaml_count(const yaml_node_t *list)
{
	return (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

enum kp_status kp_rules_yaml_text(struct kp_rules_yaml *yaml, int number, const char **out)
{
	const yaml_node_t *node = node_at(yaml, number);
	const char *text;

	if (!node || node->type != YAML_SCALAR_NODE)
		return kp_rules_yaml_fail(yaml, node, "a text is expected here");
	text = (const char *)node->data.scalar.value;
	if (!node->data.scalar.length || memchr(text, '\0', node->data.scalar.length))
		return kp_rules_yaml_fail(yaml, node, "an empty text");
	*out = kp_arena_copy(yaml->arena, text, node->data.scalar.length);
	return *out ? KP_OK : KP_NO_MEMORY;
}

enum kp_status kp_rules_yaml_texts(struct kp_rules_yaml *yaml, int number, const char ***out,
				   size_t *count)
{
	const yaml_node_t *list = kp_rules_yaml_list(yaml, number);
	enum kp_status status = KP_OK;

	*count = list ? kp_rules_yaml_count(list) : 1;
	if (!*count)
		return kp_rules_yaml_fail(yaml, list, "an empty list");
	if (*count > TEXTS_MAX - yaml->text_count)
		return kp_rules_yaml_fail(yaml, list, "more than %zu patterns", TEXTS_MAX);
	yaml->text_count += *count;
	*out = kp_arena_alloc(yaml->arena, *count * sizeof(**out));
	if (!*out)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < *count; i++)
		status = kp_rules_yaml_text(
			yaml, list ? list->data.sequence.items.start[i] : number, &(*out)[i]);
	return status;
}

/* The row of a key; the end of the table if there is none. */
static size_t find_key(const struct kp_rules_key *keys, const yaml_node_t *node)
{
	size_t i = 0;

	if (node && node->type == YAML_SCALAR_NODE)
		while (keys[i].name &&
		       strcmp(keys[i].name, (const char *)node->data.scalar.value) != 0)
			i++;
	else
		while (keys[i].name)
			i++;
	return i;
}

enum kp_status kp_rules_yaml_values(struct kp_rules_yaml *yaml, int number, const char *what,
				    const struct kp_rules_key *keys, int *values)
{
	const yaml_node_t *node = kp_rules_yaml_mapping(yaml, number), *key;

	for (size_t i = 0; keys[i].name; i++)
		values[i] = 0;
	if (!node)
		return kp_rules_yaml_fail(yaml, node_at(yaml, number),
					  "%s is a mapping of keys and values", what);
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		size_t i;

		key = node_at(yaml, pair->key);
		i = find_key(keys, key);
		if (!keys[i].name)
			return kp_rules_yaml_fail(yaml, key, "%s has no key «%.*s»", what,
						  QUOTED_MAX,
						  key && key->type == YAML_SCALAR_NODE
							  ? (const char *)key->data.scalar.value
							  : "…");
		if (values[i])
			return kp_rules_yaml_fail(yaml, key, "«%s» is there twice", keys[i].name);
		values[i] = pair->value;
	}
	for (size_t i = 0; keys[i].name; i++) {
		if (keys[i].required && !values[i])
			return kp_rules_yaml_fail(yaml, node, "%s needs the key «%s»", what,
						  keys[i].name);
	}
	return KP_OK;
}
