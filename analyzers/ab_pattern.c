/* What a regular expression costs; see ab_pattern.h. */
#include "analyzers/ab_pattern.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Far beyond what may be repeated. */
#define TIMES_MOST 100000U

struct cost {
	uint64_t parts, choices, anchors;
};

/* Within one pair of parentheses: what can be repeated next, and all before it. */
struct level {
	struct cost last, before;
};

struct scan {
	const char *at;
	struct level levels[KP_AB_PATTERN_LEVELS_MOST + 1];
	size_t depth;
};

static struct cost sum(struct cost a, struct cost b)
{
	return (struct cost){a.parts + b.parts, a.choices + b.choices, a.anchors + b.anchors};
}

static void put(struct scan *scan, struct cost cost)
{
	struct level *level = &scan->levels[scan->depth];

	level->before = sum(level->before, level->last);
	level->last = cost;
}

/* Behind what is between brackets; a class in it has brackets of its own. */
static const char *skip_brackets(const char *at)
{
	at += at[1] == '^' ? 2 : 1;
	if (*at == ']')
		at++;
	while (*at && *at != ']') {
		char kind = at[0] == '[' ? at[1] : '\0';
		const char *end = kind == ':' || kind == '.' || kind == '=' ? at + 2 : NULL;

		while (end && *end && !(end[0] == kind && end[1] == ']'))
			end++;
		at = end && *end ? end + 2 : at + 1;
	}
	return *at ? at + 1 : at;
}

static uint64_t read_times(const char **at, uint64_t otherwise)
{
	uint64_t times = 0;

	if (!isdigit((unsigned char)**at))
		return otherwise;
	for (; isdigit((unsigned char)**at); ++*at)
		if (times < TIMES_MOST)
			times = times * 10 + (uint64_t)(**at - '0');
	return times;
}

/* «{2}», «{2,}», «{2,5}». */
static void repeat(struct scan *scan)
{
	struct level *level = &scan->levels[scan->depth];
	const char *at = scan->at + 1;
	uint64_t least = read_times(&at, 0), most = least, copies;

	if (*at == ',') {
		at++;
		most = read_times(&at, least + 1);
	}
	scan->at = *at == '}' ? at + 1 : at;
	copies = most > least ? most : least;
	level->last.parts *= copies ? copies : 1;
	level->last.anchors *= copies ? copies : 1;
	level->last.choices = level->last.choices * copies + (most > least ? most - least : 0);
}

static void open(struct scan *scan)
{
	put(scan, (struct cost){0});
	scan->levels[++scan->depth] = (struct level){.before = {0}};
}

/* All between the parentheses is what can be repeated next. */
static void close(struct scan *scan)
{
	const struct level *inner = &scan->levels[scan->depth];
	struct cost all = sum(inner->before, inner->last);

	if (!all.parts)
		all = (struct cost){1, 1, 0};
	scan->levels[--scan->depth].last = all;
}

/* Behind a backslash; in the GNU C library. */
static bool is_anchor(char what)
{
	return what && strchr("bB<>`'", what);
}

static void step_over(struct scan *scan)
{
	struct level *level = &scan->levels[scan->depth];

	switch (*scan->at) {
	case '(':
		open(scan);
		break;
	case ')': /* alone it stands for itself */
		if (scan->depth)
			close(scan);
		else
			put(scan, (struct cost){1, 0, 0});
		break;
	case '[':
		put(scan, (struct cost){1, 0, 0});
		scan->at = skip_brackets(scan->at);
		return;
	case '{':
		repeat(scan);
		return;
	case '+': /* once, and then perhaps */
		level->last = sum(sum(level->last, level->last), (struct cost){1, 1, 0});
		break;
	case '*':
	case '?':
		level->last = sum(level->last, (struct cost){1, 1, 0});
		break;
	case '|':
		put(scan, (struct cost){1, 1, 0});
		break;
	case '^':
	case '$':
		put(scan, (struct cost){1, 0, 1});
		break;
	case '\\':
		put(scan, (struct cost){1, 0, is_anchor(scan->at[1])});
		scan->at += scan->at[1] ? 1 : 0;
		break;
	default:
		put(scan, (struct cost){1, 0, 0});
		break;
	}
	scan->at++;
}

static const char *judge(const struct scan *scan)
{
	struct cost all = {0};

	for (size_t i = 0; i <= scan->depth; i++)
		all = sum(all, sum(scan->levels[i].before, scan->levels[i].last));
	return all.parts > KP_AB_PATTERN_PARTS_MOST       ? "it repeats too much"
	       : all.choices > KP_AB_PATTERN_CHOICES_MOST ? "it leaves too much open"
	       : all.anchors > KP_AB_PATTERN_ANCHORS_MOST ? "it has too many anchors"
							  : NULL;
}

const char *kp_ab_pattern_refuse(const char *text)
{
	struct scan scan = {.at = text};
	const char *problem = NULL;

	if (strlen(text) > KP_AB_PATTERN_BYTES_MOST)
		return "it is too long";
	while (!problem && *scan.at) {
		if (scan.at[0] == '\\' && scan.at[1] >= '1' && scan.at[1] <= '9')
			return "it refers back to what was found";
		if (*scan.at == '(' && scan.depth == KP_AB_PATTERN_LEVELS_MOST)
			return "too many parentheses within each other";
		step_over(&scan);
		problem = judge(&scan);
	}
	return problem;
}
