/* The parser of command lines, over a table of its own; see profiler/options.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/options.h"

static const char *const names[] = {"short", "full", "mangled", NULL};

// clang-format off
static const struct kp_option options[] = {
	{.name = "quiet", .letter = 'q', .type = KP_OPTION_FLAG,
	 .offset = offsetof(struct kp_settings, quiet)},
	{.name = "shares", .letter = 's', .type = KP_OPTION_FLAG,
	 .offset = offsetof(struct kp_settings, shares)},
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE,
	 .offset = offsetof(struct kp_settings, output)},
	{.name = "names", .type = KP_OPTION_CHOICE,
	 .offset = offsetof(struct kp_settings, names), .choices = names},
	{.name = "duty", .type = KP_OPTION_NUMBER, .maximum = 50, .suffix = '%',
	 .offset = offsetof(struct kp_settings, duty_pct)},
	{.name = "threshold", .letter = 't', .type = KP_OPTION_NUMBER, .maximum = 100,
	 .offset = offsetof(struct kp_settings, threshold_pct)},
	{.name = "top", .type = KP_OPTION_COUNT,
	 .offset = offsetof(struct kp_settings, top)},
	{.name = "silence", .type = KP_OPTION_SET, .argument = "ID",
	 .offset = offsetof(struct kp_settings, silenced), .choices = names},
	{0},
};
// clang-format on
static const struct kp_option_group group = {"All", options};
static const struct kp_option_group *const groups[] = {&group, NULL};
static const struct kp_command files_command = {
	.name = "files", .operands = "FILE...", .groups = groups, .least = 1, .most = 2};
static const struct kp_command run_command = {
	.name = "go", .groups = groups, .takes_command = true, .least = 1, .most = SIZE_MAX};

static char complaint[KP_COMPLAINT_BYTES];
static char *words[16];

/* Parses words that are separated by one space each. */
static enum kp_status parse(const struct kp_command *command, struct kp_settings *settings,
			    const char *line)
{
	static char buffer[256];
	int count = 0;

	strcpy(buffer, line);
	for (char *word = strtok(buffer, " "); word; word = strtok(NULL, " "))
		words[count++] = word;
	words[count] = NULL;
	*settings = (struct kp_settings){0};
	complaint[0] = '\0';
	return kp_options_parse(command, count, words, settings, complaint);
}

static void test_options_sets_add_up(void **state)
{
	struct kp_settings settings;

	(void)state;
	assert_int_equal(parse(&files_command, &settings, "a"), KP_OK);
	assert_int_equal(settings.silenced, 0);
	assert_int_equal(parse(&files_command, &settings,
			       "--silence full --silence=mangled --silence full a"),
			 KP_OK);
	assert_int_equal(settings.silenced, 6);
	assert_int_equal(parse(&files_command, &settings, "--silence none a"), KP_INVALID);
	assert_string_equal(complaint, "--silence none: it is one of short, full, mangled");
}

static void test_options_values_in_every_spelling(void **state)
{
	static const char *const spellings[] = {"-q -o out x", "-qoout x", "x --output=out -q",
						"--quiet --output out x", "-q x -oout"};
	struct kp_settings settings;

	(void)state;
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		assert_int_equal(parse(&files_command, &settings, spellings[i]), KP_OK);
		assert_true(settings.quiet);
		assert_false(settings.shares);
		assert_string_equal(settings.output, "out");
		assert_int_equal(settings.operand_count, 1);
		assert_string_equal(settings.operands[0], "x");
	}
	assert_int_equal(parse(&files_command, &settings, "-qs x --names mangled -t2.5 --top 7"),
			 KP_OK);
	assert_true(settings.quiet && settings.shares);
	assert_int_equal(settings.names, 2);
	assert_true(settings.threshold_pct == 2.5);
	assert_int_equal(settings.top, 7);
}

static void test_options_end_at_the_command(void **state)
{
	struct kp_settings settings;

	(void)state;
	assert_int_equal(parse(&run_command, &settings, "-q prog -s -- -o"), KP_OK);
	assert_true(settings.quiet);
	assert_false(settings.shares);
	assert_int_equal(settings.operand_count, 4);
	assert_string_equal(settings.operands[0], "prog");
	assert_string_equal(settings.operands[3], "-o");
	assert_null(settings.operands[4]);
	assert_int_equal(parse(&run_command, &settings, "-- -q"), KP_OK);
	assert_false(settings.quiet);
	assert_string_equal(settings.operands[0], "-q");
	assert_null(settings.operands[1]);
}

static void test_options_lone_dash_is_an_operand(void **state)
{
	struct kp_settings settings;

	(void)state;
	assert_int_equal(parse(&files_command, &settings, "- -q"), KP_OK);
	assert_string_equal(settings.operands[0], "-");
	assert_true(settings.quiet);
}

static void test_options_numbers_may_have_their_unit(void **state)
{
	struct kp_settings settings;

	(void)state;
	assert_int_equal(parse(&files_command, &settings, "--duty 2% x"), KP_OK);
	assert_true(settings.duty_pct == 2);
	assert_int_equal(parse(&files_command, &settings, "--duty=0.5 x"), KP_OK);
	assert_true(settings.duty_pct == 0.5);
	assert_int_equal(parse(&files_command, &settings, "--duty % x"), KP_INVALID);
	assert_int_equal(parse(&files_command, &settings, "--duty 2%% x"), KP_INVALID);
	assert_int_equal(parse(&files_command, &settings, "--duty 51% x"), KP_INVALID);
	assert_int_equal(parse(&files_command, &settings, "-t 2% x"), KP_INVALID);
}

static void test_options_complaints_name_what_is_wrong(void **state)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{"--treshold 3 x", "--threshold"},
		{"--names long x", "short, full, mangled"},
		{"-t 101 x", "from 0 to 100"},
		{"-t nan x", "from 0 to 100"},
		{"--top -1 x", "whole number"},
		{"x -o", "missing"},
		{"--quiet=yes x", "no value"},
		{"-qz x", "-z"},
		{"", "FILE"},
		{"a b c", "c: one operand too many"},
		{"--outp x y", "--output"},
		{"--=x", "unknown option"},
	};
	struct kp_settings settings;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(parse(&files_command, &settings, cases[i].line), KP_INVALID);
		assert_non_null(strstr(complaint, cases[i].says));
		assert_null(strchr(complaint, '\n'));
	}
}

static void test_options_nearest(void **state)
{
	static const char *const list[] = {"report", "record", "doctor"};

	(void)state;
	assert_string_equal(kp_options_nearest("reprot", list, 3), "report");
	assert_string_equal(kp_options_nearest("recrod", list, 3), "record");
	assert_string_equal(kp_options_nearest("doc", list, 3), "doctor");
	assert_null(kp_options_nearest("python", list, 3));
	assert_null(kp_options_nearest("", list, 3));
	assert_null(kp_options_nearest("a-word-that-is-longer-than-the-longest-word-of-kprof", list,
				       3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_sets_add_up),
		cmocka_unit_test(test_options_values_in_every_spelling),
		cmocka_unit_test(test_options_end_at_the_command),
		cmocka_unit_test(test_options_lone_dash_is_an_operand),
		cmocka_unit_test(test_options_numbers_may_have_their_unit),
		cmocka_unit_test(test_options_complaints_name_what_is_wrong),
		cmocka_unit_test(test_options_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
