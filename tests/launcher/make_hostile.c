/*
 * Writes a small file that asks for much memory: make_hostile KIND COUNT LENGTH >FILE
 *
 * COUNT texts of LENGTH bytes each, which compress well, stand where KIND says: see the table at
 * the end. Every name is a kernel that was launched once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/writer.h"

#define FIRST_NS 1000000000ULL

struct making {
	struct kp_writer *writer;
	size_t count, length;
	char *text; /* of `length` bytes */
};

static void check(enum kp_status status)
{
	if (status != KP_OK) {
		fprintf(stderr, "make_hostile: %s\n", kp_status_message(status));
		exit(1);
	}
}

static uint32_t intern(struct making *making, const char *text, size_t length)
{
	uint32_t number;

	check(kp_writer_intern(making->writer, text, length, &number));
	return number;
}

/* A launch of a kernel of that name on a stream. */
static void launch(struct making *making, size_t at, uint32_t name, struct kp_launch_config config)
{
	struct kp_launch record = {.start_ns = FIRST_NS + at * 1000,
				   .correlation = (uint32_t)at + 1};

	config.name = name;
	config.grid[0] = config.grid[1] = config.grid[2] = 1;
	config.block[0] = config.block[1] = config.block[2] = 1;
	record.end_ns = record.start_ns + 500;
	check(kp_writer_config(making->writer, &config, &record.config));
	check(kp_writer_launch(making->writer, &record));
}

/* The text with a number in front of it. */
static uint32_t numbered(struct making *making, const char *prefix, size_t at)
{
	char number[64];
	int length = snprintf(number, sizeof(number), "%s%zu", prefix, at);

	if ((size_t)length < making->length)
		memcpy(making->text, number, (size_t)length);
	return intern(making, making->text, making->length);
}

static void fill_names(struct making *making, char with)
{
	memset(making->text, with, making->length);
	for (size_t i = 0; i < making->count; i++)
		launch(making, i, numbered(making, "k", i),
		       (struct kp_launch_config){.context = 1, .stream = 7});
}

static void make_names(struct making *making)
{
	fill_names(making, 'a');
}

/* Each byte takes four to show. */
static void make_controls(struct making *making)
{
	fill_names(making, '\001');
}

/* Substitutions that double: 64 KiB each once they are demangled. */
static void make_mangled(struct making *making)
{
	static const char *const doubling[] = {"S_S_",   "S0_S0_", "S1_S1_", "S2_S2_", "S3_S3_",
					       "S4_S4_", "S5_S5_", "S6_S6_", "S7_S7_", "S8_S8_",
					       "S9_S9_", "SA_SA_", "SB_SB_", "SC_SC_"};
	char name[512];

	for (size_t i = 0; i < making->count; i++) {
		int at = snprintf(name, sizeof(name), "_Z6k%05zu1A", i);

		for (size_t k = 0; k < sizeof(doubling) / sizeof(doubling[0]); k++)
			at += snprintf(name + at, sizeof(name) - (size_t)at, "1TI%sE", doubling[k]);
		launch(making, i, intern(making, name, (size_t)at),
		       (struct kp_launch_config){.context = 1, .stream = 7});
	}
}

static void make_streams(struct making *making)
{
	uint32_t name = intern(making, "k", 1);

	for (size_t i = 0; i < making->count; i++)
		launch(making, i, name,
		       (struct kp_launch_config){.context = 1, .stream = (uint32_t)i});
}

static void make_devices(struct making *making)
{
	for (size_t i = 0; i < making->count; i++)
		launch(making, i, numbered(making, "k", i % 64),
		       (struct kp_launch_config){.context = 1, .device = (uint32_t)i});
}

static void make_ranges(struct making *making)
{
	uint32_t domain = intern(making, "", 0), name = intern(making, "k", 1);

	memset(making->text, 'a', making->length);
	for (size_t i = 0; i < making->count; i++) {
		struct kp_range range = {.start_ns = FIRST_NS + i * 1000,
					 .end_ns = FIRST_NS + i * 1000 + 900,
					 .thread = (uint32_t)i % 8,
					 .domain = domain};

		range.name = numbered(making, "r", i);
		launch(making, i, name, (struct kp_launch_config){.context = 1, .stream = 7});
		check(kp_writer_range(making->writer, &range));
	}
}

static void make_notes(struct making *making)
{
	memset(making->text, '\001', making->length);
	for (size_t i = 0; i < making->count; i++)
		check(kp_writer_note(making->writer, KP_NOTE_WARNING, making->text));
}

/* What describes a process and its devices. */
static void make_fields(struct making *making)
{
	memset(making->text, '\001', making->length);
	for (size_t i = 0; i < making->count; i++) {
		struct kp_process_info process = {0};
		struct kp_device_info device = {0};
		const struct kp_text text = {making->text, making->length};

		KP_SET(&process, PROCESS, command, text);
		KP_SET(&process, PROCESS, host, text);
		KP_SET(&process, PROCESS, executable, text);
		KP_SET(&device, DEVICE, device, i);
		KP_SET(&device, DEVICE, name, text);
		KP_SET(&device, DEVICE, uuid, text);
		check(kp_writer_process(making->writer, &process));
		check(kp_writer_device(making->writer, &device));
	}
}

/* LENGTH launches a batch, of which the first begins when all do: what is behind it must wait, for
 * all that is known, until the last batch. */
static void make_waits(struct making *making)
{
	struct kp_launch_config config = {
		.context = 1, .stream = 7, .grid = {1, 1, 1}, .block = {1, 1, 1}};
	struct kp_launch record = {0};

	config.name = intern(making, "k", 1);
	check(kp_writer_config(making->writer, &config, &record.config));
	for (size_t i = 0; i < making->count; i++) {
		bool first = i % making->length == 0;

		if (first)
			check(kp_writer_flush(making->writer));
		record.start_ns = FIRST_NS + (first ? 0 : i * 1000);
		record.end_ns = record.start_ns + 500;
		record.correlation = (uint32_t)i + 1;
		check(kp_writer_launch(making->writer, &record));
	}
}

static const struct {
	const char *name;
	void (*make)(struct making *making);
} kinds[] = {
	{"names", make_names},     {"controls", make_controls}, {"mangled", make_mangled},
	{"streams", make_streams}, {"devices", make_devices},   {"ranges", make_ranges},
	{"notes", make_notes},     {"fields", make_fields},     {"waits", make_waits},
};

int main(int argc, char **argv)
{
	const size_t kind_count = sizeof(kinds) / sizeof(kinds[0]);
	struct making making = {0};
	size_t kind = 0;

	while (argc == 4 && kind < kind_count && strcmp(argv[1], kinds[kind].name) != 0)
		kind++;
	if (argc != 4 || kind == kind_count) {
		fputs("Usage: make_hostile KIND COUNT LENGTH >FILE\n", stderr);
		return 2;
	}
	making.count = strtoul(argv[2], NULL, 10);
	making.length = strtoul(argv[3], NULL, 10);
	making.text = calloc(making.length + 1, 1);
	check(making.text ? kp_writer_create(STDOUT_FILENO, 1, &making.writer) : KP_NO_MEMORY);
	kinds[kind].make(&making);
	check(kp_writer_flush(making.writer));
	kp_writer_destroy(making.writer);
	free(making.text);
	return 0;
}
