/*
 * The command line of prog_launch: getopt's table and the help are made from options.def.
 */
#include "tests/fake_gpu/programs/options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { A_NUMBER, A_TEXT, A_FLAG, A_NAME, A_DURATION };

struct row {
	const char *name; /* with «_» for «-» */
	enum type type;
	size_t offset; /* of its member */
	const char *what;
};

static const struct row rows[] = {
#define NUMBER(name, initial, what) {#name, A_NUMBER, offsetof(struct kp_prog_options, name), what},
#define TEXT(name, what) {#name, A_TEXT, offsetof(struct kp_prog_options, name), what},
#define FLAG(name, what) {#name, A_FLAG, offsetof(struct kp_prog_options, name), what},
#include "tests/fake_gpu/programs/options.def"
#undef NUMBER
#undef TEXT
#undef FLAG
	{"name", A_NAME, 0, "name of a kernel; may be given several times"},
	{"duration_ns", A_DURATION, 0, "duration of the kernel named in the same place"},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))
#define NAME_BYTES 32
#define HELP ROW_COUNT

static void fail(const char *what, const char *value)
{
	fprintf(stderr, "prog_launch: %s: %s\n", what, value);
	exit(2);
}

static uint64_t parse_number(const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno)
		fail("not a number", text);
	return value;
}

/* «graph_from» as it stands on the command line. */
static void spell(const char *name, char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, "%s", name);
	for (char *at = out + 1; *at; at++)
		if (*at == '_')
			*at = '-';
}

static void help(void)
{
	char name[NAME_BYTES];

	for (size_t i = 0; i < ROW_COUNT; i++) {
		spell(rows[i].name, name);
		printf("  --%-14s %s\n", name, rows[i].what);
	}
	exit(0);
}

static void set(struct kp_prog_options *options, const struct row *row, const char *value)
{
	char *member = (char *)options + row->offset;

	switch (row->type) {
	case A_NUMBER:
		*(uint64_t *)(void *)member = parse_number(value);
		break;
	case A_TEXT:
		*(const char **)(void *)member = value;
		break;
	case A_FLAG:
		*(bool *)(void *)member = true;
		break;
	case A_NAME:
		if (options->name_count == KP_PROG_NAMES)
			fail("too many names", value);
		options->names[options->name_count++] = value;
		break;
	case A_DURATION:
		if (options->duration_count == KP_PROG_NAMES)
			fail("too many durations", value);
		options->durations_ns[options->duration_count++] = parse_number(value);
		break;
	}
}

/* What follows from the options: names and durations in pairs, and the two numbers of --graph. */
static void complete(struct kp_prog_options *options)
{
	const char *cross;
	char nodes[NAME_BYTES];

	if (!options->name_count)
		options->names[options->name_count++] = "vector_add";
	if (!options->duration_count)
		options->durations_ns[options->duration_count++] = 1000;
	while (options->duration_count < options->name_count) {
		options->durations_ns[options->duration_count] =
			options->durations_ns[options->duration_count - 1];
		options->duration_count++;
	}
	if (!options->graph)
		return;
	cross = strchr(options->graph, 'x');
	if (!cross || (size_t)(cross - options->graph) >= sizeof(nodes))
		fail("not NODESxREPLAYS", options->graph);
	memcpy(nodes, options->graph, (size_t)(cross - options->graph));
	nodes[cross - options->graph] = '\0';
	options->graph_nodes = parse_number(nodes);
	options->graph_replays = parse_number(cross + 1);
}

void kp_prog_parse(struct kp_prog_options *options, int argc, char **argv)
{
	static char names[ROW_COUNT][NAME_BYTES];
	struct option longs[ROW_COUNT + 2] = {0};
	int which;

	*options = (struct kp_prog_options){
#define NUMBER(name, initial, what) .name = (initial),
#define TEXT(name, what)
#define FLAG(name, what)
#include "tests/fake_gpu/programs/options.def"
#undef NUMBER
#undef TEXT
#undef FLAG
	};
	for (size_t i = 0; i < ROW_COUNT; i++) {
		spell(rows[i].name, names[i]);
		longs[i].name = names[i];
		longs[i].has_arg = rows[i].type == A_FLAG ? no_argument : required_argument;
		longs[i].val = (int)i;
	}
	longs[ROW_COUNT] = (struct option){"help", no_argument, NULL, (int)HELP};
	while ((which = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (which == (int)HELP)
			help();
		if (which < 0 || which > (int)HELP)
			exit(2);
		set(options, &rows[which], optarg);
	}
	if (optind < argc)
		fail("unexpected argument", argv[optind]);
	complete(options);
}
