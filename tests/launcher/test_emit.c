/* Structured output, read back by the parsers of libyaml and cJSON; see profiler/emit.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>
#include <yaml.h>

#include "profiler/emit.h"

/* Texts that a careless writer turns into something else. */
static const char *const texts[] = {
	"",
	"no",
	"Yes",
	"null",
	"~",
	"1e5",
	"0x10",
	"1:30",
	".inf",
	"- x",
	"a: b",
	"# c",
	"'",
	"\"",
	"{}",
	"[",
	"a\\b",
	"\\n",
	"<<",
	"=",
	"tab\t",
	"new\nline",
	" lead",
	"trail ",
	"\x01",
	"\x1b[0m",
	"\x7f",
	"…",
	"😀",
	"\xC2\x85",
	"\xE2\x80\xA8",
	"\xEF\xBB\xBFmark",
	"operator \"\" _x",
	"%TAG",
	"---",
	"...",
	"!x",
	"&a",
	"*a",
	"|",
};

#define TEXT_COUNT (sizeof texts / sizeof *texts)

typedef enum kp_status (*create_function)(FILE *file, struct kp_emit **out);

/* A document with every kind of value; the caller frees it. */
static char *write_document(create_function create)
{
	char *written = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&written, &size);
	struct kp_emit *emit;

	assert_non_null(file);
	assert_int_equal(create(file, &emit), KP_OK);
	kp_emit_map_begin(emit, NULL);
	kp_emit_count(emit, "largest", UINT64_MAX);
	kp_emit_count(emit, "odd", (1ULL << 53) + 1);
	kp_emit_number(emit, "third", 1.0 / 3, 4);
	kp_emit_number(emit, "nan", 0.0 / 0.0, 4);
	kp_emit_number(emit, "infinite", 1.0 / 0.0, 4);
	kp_emit_number(emit, "minus_zero", -0.0, 1);
	kp_emit_bool(emit, "yes", true);
	kp_emit_null(emit, "nothing");
	kp_emit_string(emit, "absent", NULL);
	kp_emit_list_begin(emit, "texts");
	for (size_t i = 0; i < TEXT_COUNT; i++)
		kp_emit_string(emit, NULL, texts[i]);
	kp_emit_list_end(emit);
	kp_emit_list_begin(emit, "empty_list");
	kp_emit_list_end(emit);
	kp_emit_map_begin(emit, "empty_map");
	kp_emit_map_end(emit);
	kp_emit_map_end(emit);
	assert_int_equal(kp_emit_finish(emit), KP_OK);
	fclose(file);
	return written;
}

static void test_emit_json_reads_back(void **state)
{
	char *written = write_document(kp_emit_json_create);
	cJSON *document = cJSON_ParseWithOpts(written, NULL, 1), *list;

	(void)state;
	assert_non_null(document);
	list = cJSON_GetObjectItemCaseSensitive(document, "texts");
	assert_int_equal(cJSON_GetArraySize(list), TEXT_COUNT);
	for (size_t i = 0; i < TEXT_COUNT; i++)
		assert_string_equal(cJSON_GetArrayItem(list, (int)i)->valuestring, texts[i]);
	assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(document, "nan")));
	assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(document, "infinite")));
	assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(document, "absent")));
	assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(document, "yes")));
	/* cJSON reads numbers as doubles: look at the digits. */
	assert_non_null(strstr(written, "18446744073709551615"));
	assert_non_null(strstr(written, "9007199254740993"));
	assert_non_null(strstr(written, "0.3333"));
	assert_null(strstr(written, "-0.0"));
	cJSON_Delete(document);
	free(written);
}

/* Checks that the value of `key` is this plain scalar. */
static void assert_plain(yaml_document_t *document, const char *key, const char *value)
{
	yaml_node_t *root = yaml_document_get_root_node(document);

	for (yaml_node_pair_t *pair = root->data.mapping.pairs.start;
	     pair < root->data.mapping.pairs.top; pair++) {
		yaml_node_t *name = yaml_document_get_node(document, pair->key);
		yaml_node_t *node = yaml_document_get_node(document, pair->value);
		if (strcmp((char *)name->data.scalar.value, key) != 0)
			continue;
		assert_int_equal(node->type, YAML_SCALAR_NODE);
		assert_int_equal(node->data.scalar.style, YAML_PLAIN_SCALAR_STYLE);
		assert_string_equal((char *)node->data.scalar.value, value);
		return;
	}
	fail_msg("no key %s", key);
}

/* Checks the list of texts: equal, and quoted so that none is read as something else. */
static void assert_texts(yaml_document_t *document, yaml_node_t *list)
{
	assert_int_equal(list->data.sequence.items.top - list->data.sequence.items.start,
			 TEXT_COUNT);
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		yaml_node_t *node =
			yaml_document_get_node(document, list->data.sequence.items.start[i]);
		assert_int_equal(node->type, YAML_SCALAR_NODE);
		assert_int_equal(node->data.scalar.style, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
		assert_int_equal(node->data.scalar.length, strlen(texts[i]));
		assert_memory_equal(node->data.scalar.value, texts[i], strlen(texts[i]));
	}
}

static void test_emit_yaml_reads_back(void **state)
{
	char *written = write_document(kp_emit_yaml_create);
	yaml_parser_t parser;
	yaml_document_t document;
	size_t lists = 0;

	(void)state;
	assert_true(yaml_parser_initialize(&parser));
	yaml_parser_set_input_string(&parser, (unsigned char *)written, strlen(written));
	assert_true(yaml_parser_load(&parser, &document));
	assert_plain(&document, "largest", "18446744073709551615");
	assert_plain(&document, "odd", "9007199254740993");
	assert_plain(&document, "third", "0.3333");
	assert_plain(&document, "nan", "null");
	assert_plain(&document, "infinite", "null");
	assert_plain(&document, "minus_zero", "0.0");
	assert_plain(&document, "yes", "true");
	assert_plain(&document, "absent", "null");
	for (yaml_node_t *node = document.nodes.start; node < document.nodes.top; node++) {
		bool is_texts = node->type == YAML_SEQUENCE_NODE &&
				node->data.sequence.items.top > node->data.sequence.items.start;
		if (is_texts)
			assert_texts(&document, node);
		lists += is_texts;
	}
	assert_int_equal(lists, 1);
	yaml_document_delete(&document);
	yaml_parser_delete(&parser);
	free(written);
}

static void test_emit_long_names_are_not_folded(void **state)
{
	char name[5000], *written = NULL;
	size_t size = 0;
	struct kp_emit *emit;

	(void)state;
	for (size_t i = 0; i < sizeof name; i++)
		name[i] = i % 10 == 9 ? ' ' : 'x';
	name[sizeof name - 1] = '\0';
	FILE *file = open_memstream(&written, &size);
	assert_non_null(file);
	assert_int_equal(kp_emit_yaml_create(file, &emit), KP_OK);
	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "name", name);
	kp_emit_map_end(emit);
	assert_int_equal(kp_emit_finish(emit), KP_OK);
	fclose(file);
	assert_non_null(strstr(written, name));
	free(written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_emit_json_reads_back),
		cmocka_unit_test(test_emit_yaml_reads_back),
		cmocka_unit_test(test_emit_long_names_are_not_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
