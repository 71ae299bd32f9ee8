/*
 * Reads one YAML document on stdin with libyaml's parser and writes it as JSON, so that a test can
 * compare a report in both formats. Plain scalars become null, booleans or numbers by YAML's core
 * schema, all others strings. Ends with status 1 and a line for what is not valid YAML, for aliases
 * and tags, and for anything after the document.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

static void fail(const char *what)
{
	fprintf(stderr, "yaml_to_json: %s\n", what);
	exit(1);
}

static void print_string(const yaml_event_t *scalar)
{
	putchar('"');
	for (size_t i = 0; i < scalar->data.scalar.length; i++) {
		unsigned char byte = scalar->data.scalar.value[i];

		if (byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f)
			printf("\\u%04x", byte);
		else
			putchar(byte);
	}
	putchar('"');
}

/* Whether the text is a number both in YAML's core schema and in JSON. */
static bool is_number(const char *text)
{
	text += *text == '-';
	if (!isdigit((unsigned char)*text) || (text[0] == '0' && isdigit((unsigned char)text[1])))
		return false;
	text += strspn(text, "0123456789");
	if (*text == '.') {
		if (!isdigit((unsigned char)*++text))
			return false;
		text += strspn(text, "0123456789");
	}
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '-' || *text == '+';
		if (!isdigit((unsigned char)*text))
			return false;
		text += strspn(text, "0123456789");
	}
	return *text == '\0';
}

/* Words that the core schema gives a type of their own, in the spelling that JSON shares or not. */
static const char *json_word(const char *text)
{
	static const char *const words[][2] = {
		{"null", "null"},   {"Null", "null"},   {"NULL", "null"},   {"~", "null"},
		{"", "null"},       {"true", "true"},   {"True", "true"},   {"TRUE", "true"},
		{"false", "false"}, {"False", "false"}, {"FALSE", "false"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i][0], text) == 0)
			return words[i][1];
	return NULL;
}

static void print_scalar(const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;

	if (event->data.scalar.tag)
		fail("a scalar has a tag");
	if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		print_string(event);
	else if (json_word(text))
		fputs(json_word(text), stdout);
	else if (is_number(text))
		fputs(text, stdout);
	else
		print_string(event);
}

static void next(yaml_parser_t *parser, yaml_event_t *event)
{
	if (!yaml_parser_parse(parser, event))
		fail(parser->problem ? parser->problem : "cannot be parsed");
	if (event->type == YAML_ALIAS_EVENT)
		fail("there is an alias");
}

static void print_node(yaml_parser_t *parser, yaml_event_t *event);

static void print_mapping(yaml_parser_t *parser)
{
	yaml_event_t event;

	putchar('{');
	next(parser, &event);
	for (bool first = true; event.type != YAML_MAPPING_END_EVENT; first = false) {
		if (event.type != YAML_SCALAR_EVENT)
			fail("a key is not a scalar");
		if (!first)
			putchar(',');
		print_string(&event);
		putchar(':');
		yaml_event_delete(&event);
		next(parser, &event);
		print_node(parser, &event);
		next(parser, &event);
	}
	putchar('}');
}

static void print_sequence(yaml_parser_t *parser)
{
	yaml_event_t event;

	putchar('[');
	next(parser, &event);
	for (bool first = true; event.type != YAML_SEQUENCE_END_EVENT; first = false) {
		if (!first)
			putchar(',');
		print_node(parser, &event);
		next(parser, &event);
	}
	putchar(']');
}

/* Prints the node that begins with this event, and gives the event back. */
static void print_node(yaml_parser_t *parser, yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		print_scalar(event);
		break;
	case YAML_MAPPING_START_EVENT:
		print_mapping(parser);
		break;
	case YAML_SEQUENCE_START_EVENT:
		print_sequence(parser);
		break;
	default:
		fail("a node was expected");
	}
	yaml_event_delete(event);
}

static void expect(yaml_parser_t *parser, yaml_event_type_t type, const char *what)
{
	yaml_event_t event;

	next(parser, &event);
	if (event.type != type)
		fail(what);
	yaml_event_delete(&event);
}

int main(void)
{
	yaml_parser_t parser;
	yaml_event_t event;

	if (!yaml_parser_initialize(&parser))
		fail("out of memory");
	yaml_parser_set_input_file(&parser, stdin);
	expect(&parser, YAML_STREAM_START_EVENT, "no stream");
	expect(&parser, YAML_DOCUMENT_START_EVENT, "no document");
	next(&parser, &event);
	print_node(&parser, &event);
	expect(&parser, YAML_DOCUMENT_END_EVENT, "the document does not end");
	expect(&parser, YAML_STREAM_END_EVENT, "something follows the document");
	yaml_parser_delete(&parser);
	putchar('\n');
	return 0;
}
