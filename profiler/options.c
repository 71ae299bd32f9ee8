/*
 * The parser of command lines: reads the tables of options.h, writes struct kp_settings.
 *
 * Long options may be written «--name value» or «--name=value», letters «-n value» or «-nvalue»,
 * and flags may share a dash. Names are not abbreviated. «--» ends the options. No state is kept.
 */
#include "profiler/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/number.h"

#define MAX_WORD 32
#define MAX_OPTIONS 64

struct parse {
	const struct kp_command *command;
	int argc;
	char **argv;
	int at; /* the next word */
	struct kp_settings *settings;
	char *complaint;
};

__attribute__((format(printf, 2, 3))) static enum kp_status complain(struct parse *parse,
								     const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(parse->complaint, KP_COMPLAINT_BYTES, format, arguments);
	va_end(arguments);
	return KP_INVALID;
}

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Edits that turn one word into the other: insertions, deletions, replacements, swaps. */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[MAX_WORD + 1][MAX_WORD + 1];
	size_t m = strlen(a), n = strlen(b);

	if (m > MAX_WORD || n > MAX_WORD)
		return MAX_WORD;
	for (size_t i = 0; i <= m; i++)
		rows[i][0] = (unsigned)i;
	for (size_t k = 0; k <= n; k++)
		rows[0][k] = (unsigned)k;
	for (size_t i = 1; i <= m; i++) {
		for (size_t k = 1; k <= n; k++) {
			bool swapped =
				i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
			unsigned best = rows[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
			best = smaller(best, smaller(rows[i - 1][k], rows[i][k - 1]) + 1);
			rows[i][k] = swapped ? smaller(best, rows[i - 2][k - 2] + 1) : best;
		}
	}
	return rows[m][n];
}

const char *kp_options_nearest(const char *word, const char *const *words, size_t count)
{
	const char *nearest = NULL;
	size_t length = strlen(word);
	unsigned least = (unsigned)(length < 4 ? 1 : length / 3) + 1;

	for (size_t i = 0; i < count; i++) {
		unsigned edits = distance(word, words[i]);
		/* A beginning of a name is like it, however much is missing. */
		if (length >= 2 && strncmp(word, words[i], length) == 0)
			edits = 1;
		if (edits < least) {
			least = edits;
			nearest = words[i];
		}
	}
	return nearest;
}

static const struct kp_option *find(const struct kp_command *command, const char *name,
				    size_t length, char letter)
{
	for (const struct kp_option_group *const *group = command->groups; *group; group++) {
		for (const struct kp_option *option = (*group)->options; option->name; option++) {
			if (letter && option->letter == letter)
				return option;
			if (!letter && strlen(option->name) == length &&
			    strncmp(option->name, name, length) == 0)
				return option;
		}
	}
	return NULL;
}

static enum kp_status complain_unknown(struct parse *parse, const char *word, size_t length)
{
	const char *names[MAX_OPTIONS];
	char name[MAX_WORD + 1];
	size_t count = 0;

	for (const struct kp_option_group *const *group = parse->command->groups; *group; group++) {
		for (const struct kp_option *option = (*group)->options; option->name; option++) {
			if (count < MAX_OPTIONS)
				names[count++] = option->name;
		}
	}
	snprintf(name, sizeof name, "%.*s", (int)length - 2, word + 2);
	const char *nearest = kp_options_nearest(name, names, count);
	if (nearest)
		return complain(parse, "unknown option %.*s; did you mean --%s?", (int)length, word,
				nearest);
	return complain(parse, "unknown option %.*s; see kprof %s --help", (int)length, word,
			parse->command->name);
}

static enum kp_status store_choice(struct parse *parse, const struct kp_option *option,
				   const char *value, int *out)
{
	char list[400] = "";
	size_t count = 0;

	for (; option->choices[count]; count++) {
		if (strcmp(value, option->choices[count]) == 0) {
			*out = (int)count;
			return KP_OK;
		}
		size_t length = strlen(list);
		snprintf(list + length, sizeof list - length, "%s%s", count ? ", " : "",
			 option->choices[count]);
	}
	return complain(parse, "--%s %s: it is one of %s", option->name, value, list);
}

static enum kp_status store_number(struct parse *parse, const struct kp_option *option,
				   const char *value, double *out)
{
	double number;

	if (!kp_number_parse(value, strlen(value), option->suffix, &number) ||
	    number < option->minimum || number > option->maximum)
		return complain(parse, "--%s %s: it is a number from %g to %g", option->name, value,
				option->minimum, option->maximum);
	*out = number;
	return KP_OK;
}

static enum kp_status store_count(struct parse *parse, const struct kp_option *option,
				  const char *value, uint64_t *out)
{
	char *end;

	errno = 0;
	unsigned long long number = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno)
		return complain(parse, "--%s %s: it is a whole number from 0", option->name, value);
	*out = number;
	return KP_OK;
}

static enum kp_status store_word(struct parse *parse, const struct kp_option *option,
				 const char *value, struct kp_words *out)
{
	if (!*value)
		return complain(parse, "--%s: its value is empty", option->name);
	if (out->count == KP_WORDS_MAX)
		return complain(parse, "--%s: more than %d of them", option->name, KP_WORDS_MAX);
	out->items[out->count++] = value;
	return KP_OK;
}

static enum kp_status store_member(struct parse *parse, const struct kp_option *option,
				   const char *value, uint64_t *out)
{
	int index = 0;
	enum kp_status status = store_choice(parse, option, value, &index);

	if (status == KP_OK)
		*out |= 1ULL << index;
	return status;
}

/* `value` is NULL for flags only. */
static enum kp_status store(struct parse *parse, const struct kp_option *option, const char *value)
{
	void *member = (char *)parse->settings + option->offset;

	switch (option->type) {
	case KP_OPTION_FLAG:
		*(bool *)member = true;
		return KP_OK;
	case KP_OPTION_TEXT:
	case KP_OPTION_FILE:
		if (!*value && !option->empty)
			return complain(parse, "--%s: its value is empty", option->name);
		if (option->once && *(const char **)member)
			return complain(parse, "--%s %s: it is there already, with %s",
					option->name, value, *(const char **)member);
		*(const char **)member = value;
		return KP_OK;
	case KP_OPTION_CHOICE:
		return store_choice(parse, option, value, member);
	case KP_OPTION_NUMBER:
		return store_number(parse, option, value, member);
	case KP_OPTION_COUNT:
		return store_count(parse, option, value, member);
	case KP_OPTION_WORDS:
		return store_word(parse, option, value, member);
	case KP_OPTION_SET:
		return store_member(parse, option, value, member);
	}
	return KP_INVALID;
}

/* The value that follows in the next word. */
static enum kp_status store_next(struct parse *parse, const struct kp_option *option)
{
	if (parse->at >= parse->argc)
		return complain(parse, "--%s: its value is missing", option->name);
	return store(parse, option, parse->argv[parse->at++]);
}

/* «--name», «--name value», «--name=value». */
static enum kp_status parse_long(struct parse *parse, const char *word)
{
	size_t length = strcspn(word, "=");
	const char *value = word[length] == '=' ? word + length + 1 : NULL;
	const struct kp_option *option = find(parse->command, word + 2, length - 2, 0);

	if (!option)
		return complain_unknown(parse, word, length);
	if (option->type == KP_OPTION_FLAG && value)
		return complain(parse, "--%s takes no value", option->name);
	if (option->type == KP_OPTION_FLAG || value)
		return store(parse, option, value);
	return store_next(parse, option);
}

/* «-f», «-fg», «-o value», «-ovalue». */
static enum kp_status parse_letters(struct parse *parse, const char *word)
{
	for (const char *letter = word + 1; *letter; letter++) {
		const struct kp_option *option = find(parse->command, NULL, 0, *letter);
		enum kp_status status;
		if (!option)
			return complain(parse, "unknown option -%c; see kprof %s --help", *letter,
					parse->command->name);
		if (option->type == KP_OPTION_FLAG)
			status = store(parse, option, NULL);
		else
			return letter[1] ? store(parse, option, letter + 1)
					 : store_next(parse, option);
		if (status != KP_OK)
			return status;
	}
	return KP_OK;
}

static enum kp_status check_operands(struct parse *parse)
{
	const struct kp_command *command = parse->command;
	size_t count = parse->settings->operand_count;

	if (parse->settings->help || parse->settings->version)
		return KP_OK;
	if (count < command->least && command->takes_command)
		return complain(parse, "no command to run; see kprof %s --help", command->name);
	if (count < command->least)
		return complain(parse, "%s is missing; see kprof %s --help", command->operands,
				command->name);
	if (count > command->most)
		return complain(parse, "%s: one operand too many; see kprof %s --help",
				parse->settings->operands[command->most], command->name);
	return KP_OK;
}

enum kp_status kp_options_parse(const struct kp_command *command, int argc, char **argv,
				struct kp_settings *settings, char complaint[KP_COMPLAINT_BYTES])
{
	struct parse parse = {command, argc, argv, 0, settings, complaint};
	int operands = 0;
	bool options_end = false;

	while (parse.at < argc) {
		char *word = argv[parse.at++];
		bool is_option = !options_end && word[0] == '-' && word[1];
		enum kp_status status = KP_OK;
		if (is_option && strcmp(word, "--") == 0) {
			options_end = true;
			settings->operands_before = (size_t)operands;
		} else if (is_option && word[1] == '-')
			status = parse_long(&parse, word);
		else if (is_option)
			status = parse_letters(&parse, word);
		else {
			argv[operands++] = word;
			options_end |= command->takes_command;
		}
		if (status != KP_OK)
			return status;
	}
	/* Fewer words than argc: the place after the last operand exists, as argv[argc] does. */
	if (operands < argc)
		argv[operands] = NULL;
	settings->operands = argv;
	settings->operand_count = (size_t)operands;
	return check_operands(&parse);
}
