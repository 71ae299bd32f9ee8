/*
 * docs/trace-format.md against the tables of trace/: each section has one row for each field, kind,
 * column or member, with the right number, name and type, and no row beside these.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/chunk.h"
#include "trace/columns.h"
#include "trace/fields.h"
#include "trace/records.h"
#include "trace/writer.h"

/* The document stands beside this file's folder. */
#define DOCUMENT "../../docs/trace-format.md"

struct row {
	const char *first, *second, *third; /* cells; third may be NULL: not compared */
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

#define TYPE_U64 "number"
#define TYPE_TEXT "text"
#define FIELD_ROW(key, type, name) {#key, "`" #name "`", TYPE_##type},
static const struct row process_rows[] = {KP_PROCESS_FIELDS(FIELD_ROW)};
static const struct row device_rows[] = {KP_DEVICE_FIELDS(FIELD_ROW)};
static const struct row clock_rows[] = {KP_CLOCK_FIELDS(FIELD_ROW)};
static const struct row counts_rows[] = {KP_COUNTS_FIELDS(FIELD_ROW)};
static const struct row note_rows[] = {KP_NOTE_FIELDS(FIELD_ROW)};
static const struct row window_rows[] = {KP_WINDOW_FIELDS(FIELD_ROW)};
static const struct row counters_rows[] = {KP_COUNTERS_FIELDS(FIELD_ROW)};
static const struct row end_rows[] = {KP_END_FIELDS(FIELD_ROW)};

#define KIND_ROW(name, number, holds) {#number, "`" #name "`", NULL},
static const struct row kind_rows[] = {KP_CHUNK_KINDS(KIND_ROW)};
static const struct row launch_rows[] = {KP_LAUNCH_COLUMNS(KIND_ROW)};

#define COLUMN_ROW(number, name) {#number, "`" #name "`", NULL},
static const struct row memop_rows[] = {KP_MEMOP_COLUMNS(COLUMN_ROW)};
static const struct row range_rows[] = {KP_RANGE_COLUMNS(COLUMN_ROW)};
static const struct row sample_rows[] = {KP_SAMPLE_COLUMNS(COLUMN_ROW)};
static const struct row clocks_rows[] = {KP_CLOCKS_COLUMNS(COLUMN_ROW)};
static const struct row host_rows[] = {KP_HOST_COLUMNS(COLUMN_ROW)};
static const struct row library_rows[] = {KP_LIBRARY_COLUMNS(COLUMN_ROW)};

static const struct section {
	const char *title;
	const struct row *rows;
	size_t count;
} sections[] = {
	{"\n## Kinds\n", kind_rows, COUNT(kind_rows)},
	{"\n### PROCESS\n", process_rows, COUNT(process_rows)},
	{"\n### DEVICE\n", device_rows, COUNT(device_rows)},
	{"\n### CLOCK\n", clock_rows, COUNT(clock_rows)},
	{"\n### COUNTS\n", counts_rows, COUNT(counts_rows)},
	{"\n### NOTE\n", note_rows, COUNT(note_rows)},
	{"\n### WINDOW\n", window_rows, COUNT(window_rows)},
	{"\n### COUNTERS\n", counters_rows, COUNT(counters_rows)},
	{"\n### END\n", end_rows, COUNT(end_rows)},
	{"\n### LAUNCHES\n", launch_rows, COUNT(launch_rows)},
	{"\n### MEMOPS\n", memop_rows, COUNT(memop_rows)},
	{"\n### RANGES\n", range_rows, COUNT(range_rows)},
	{"\n### SAMPLES\n", sample_rows, COUNT(sample_rows)},
	{"\n### CLOCKS\n", clocks_rows, COUNT(clocks_rows)},
	{"\n### HOST\n", host_rows, COUNT(host_rows)},
	{"\n### LIBRARY_LAUNCHES\n", library_rows, COUNT(library_rows)},
};

/* Offsets and sizes of the header, and places of the configuration, as the compiler lays them out.
 */
struct member {
	size_t offset, size;
	const char *name;
};
#define HEADER(member)                                                                             \
	offsetof(struct kp_chunk_header, member), sizeof(((struct kp_chunk_header *)0)->member),   \
		#member
static const struct member header_members[] = {
	{HEADER(magic)},        {HEADER(kind)},         {HEADER(major)},     {HEADER(minor)},
	{HEADER(flags)},        {HEADER(stored_bytes)}, {HEADER(raw_bytes)}, {HEADER(record_count)},
	{HEADER(sequence)},     {HEADER(process)},      {HEADER(first_ns)},  {HEADER(last_ns)},
	{HEADER(payload_hash)}, {HEADER(header_hash)},
};
#define CONFIG(member)                                                                             \
	offsetof(struct kp_launch_config, member) / 4,                                             \
		sizeof(((struct kp_launch_config *)0)->member) / 4, #member
static const struct member config_members[] = {
	{CONFIG(name)},
	{CONFIG(device)},
	{CONFIG(context)},
	{CONFIG(stream)},
	{CONFIG(grid)},
	{CONFIG(block)},
	{CONFIG(cluster)},
	{CONFIG(registers)},
	{CONFIG(static_shared_bytes)},
	{CONFIG(dynamic_shared_bytes)},
	{CONFIG(local_bytes)},
	{CONFIG(launch_type)},
};

static char *document;

static int load_document(void **state)
{
	const char *slash = strrchr(__FILE__, '/');
	char path[4096];
	FILE *file;
	size_t length;

	(void)state;
	snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - __FILE__), __FILE__, DOCUMENT);
	file = fopen(path, "rb");
	document = calloc(1, 1 << 20);
	if (!file || !document) {
		print_error("cannot read %s\n", path);
		return -1;
	}
	length = fread(document, 1, (1 << 20) - 1, file);
	fclose(file);
	return length > 0 ? 0 : -1;
}

static int free_document(void **state)
{
	(void)state;
	free(document);
	return 0;
}

/* The lines of a section, from behind its title to the next title. Freed by the caller. */
static char *section_text(const char *title)
{
	const char *begin = strstr(document, title);
	const char *end;

	if (!begin) {
		fail_msg("the document has no section «%s»", title);
		abort();
	}
	begin += strlen(title);
	end = strstr(begin, "\n#");
	return strndup(begin, end ? (size_t)(end - begin) : strlen(begin));
}

/* Rows of tables that begin with a digit: those of fields, not the heads of tables. */
static size_t row_count(const char *text)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, "\n| ")); at += 3)
		count += at[3] >= '0' && at[3] <= '9';
	return count;
}

static void test_trace_document_has_every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(sections); i++) {
		const struct section *section = &sections[i];
		char *text = section_text(section->title);

		for (size_t k = 0; k < section->count; k++) {
			const struct row *row = &section->rows[k];
			char line[256];

			snprintf(line, sizeof(line), "\n| %s | %s | %s", row->first, row->second,
				 row->third ? row->third : "");
			if (!strstr(text, line))
				fail_msg("«%s» in section %s", line + 1, section->title);
		}
		assert_int_equal(row_count(text), section->count);
		free(text);
	}
}

static void test_trace_document_lays_out_the_header(void **state)
{
	char *text = section_text("\n## Header\n");
	size_t bytes = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(header_members); i++) {
		const struct member *member = &header_members[i];
		const char *type = member->size == 1   ? "u8"
				   : member->size == 8 ? "u64"
				   : i == 0            ? "4 × u8"
						       : "u32";
		char line[256];

		snprintf(line, sizeof(line), "\n| %zu | %s | `%s` | ", member->offset, type,
			 member->name);
		if (!strstr(text, line))
			fail_msg("«%s» in the header", line + 1);
		bytes += member->size;
	}
	assert_int_equal(bytes, KP_CHUNK_HEADER_BYTES);
	assert_int_equal(row_count(text), COUNT(header_members));
	free(text);
}

static void test_trace_document_lays_out_the_configuration(void **state)
{
	char *text = section_text("\n## Tables: STRINGS, CONFIGS\n");
	size_t places = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(config_members); i++) {
		const struct member *member = &config_members[i];
		char line[256];

		if (member->size == 1)
			snprintf(line, sizeof(line), "\n| %zu | `%s` | ", member->offset,
				 member->name);
		else
			snprintf(line, sizeof(line), "\n| %zu–%zu | `%s` | ", member->offset,
				 member->offset + member->size - 1, member->name);
		if (!strstr(text, line))
			fail_msg("«%s» in the configuration", line + 1);
		places += member->size;
	}
	assert_int_equal(places * 4, sizeof(struct kp_launch_config));
	assert_int_equal(row_count(text), COUNT(config_members));
	free(text);
}

static void test_trace_document_names_the_limits(void **state)
{
	(void)state;
	assert_int_equal(KP_CHUNK_MAX_BYTES, 16 << 20);
	assert_non_null(strstr(document, "at most 16 MiB"));
	assert_int_equal(KP_CHUNK_MAX_RECORDS, 65536);
	assert_non_null(strstr(document, "at most 65,536 |"));
	assert_int_equal(KP_STRING_MAX_BYTES, 65536);
	assert_non_null(strstr(document, "a text of at most 65,536 bytes"));
	assert_int_equal(KP_CHUNK_MAJOR * 10 + KP_CHUNK_MINOR, 10);
	assert_non_null(strstr(document, "every byte of version 1.0"));
}

static void test_trace_document_names_the_metrics(void **state)
{
	char *text = section_text("\n### COUNTERS\n");

	(void)state;
	for (int metric = 0; metric < KP_METRIC_COUNT; metric++) {
		char line[256];

		snprintf(line, sizeof(line), "\n| `%s` | %s | ", kp_metric_key(metric),
			 kp_metric_unit(metric));
		if (!strstr(text, line))
			fail_msg("«%s» among the metrics", line + 1);
	}
	assert_int_equal(KP_SAMPLE_VALUES, 8);
	assert_non_null(strstr(text, "There are at most 8."));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trace_document_has_every_row),
		cmocka_unit_test(test_trace_document_lays_out_the_header),
		cmocka_unit_test(test_trace_document_lays_out_the_configuration),
		cmocka_unit_test(test_trace_document_names_the_limits),
		cmocka_unit_test(test_trace_document_names_the_metrics),
	};

	return cmocka_run_group_tests(tests, load_document, free_document);
}
