/* Choices of NVTX ranges; see range_choice.h. Pure. */
#include "profiler/range_choice.h"

#include <stdlib.h>
#include <string.h>

static bool take_number(const char **at, uint64_t *out)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*out = strtoull(*at, &end, 10);
	*at = end;
	return true;
}

/* «N», «N-M» or «N-» up to the end of the text. */
static bool parse_occurrences(const char *at, struct kp_range_choice *choice)
{
	if (!take_number(&at, &choice->first))
		return false;
	choice->last = choice->first;
	if (*at == '\0')
		return true;
	if (*at++ != '-')
		return false;
	choice->last = UINT64_MAX;
	return *at == '\0' || (take_number(&at, &choice->last) && *at == '\0');
}

bool kp_range_choice_parse(const char *text, struct kp_range_choice *choice)
{
	const char *colon = strrchr(text, ':');
	size_t length = strlen(text);

	choice->first = 1;
	choice->last = UINT64_MAX;
	if (colon && parse_occurrences(colon + 1, choice))
		length = (size_t)(colon - text);
	else {
		choice->first = 1;
		choice->last = UINT64_MAX;
	}
	if (length == 0 || length >= sizeof choice->name || choice->first == 0 ||
	    choice->last < choice->first)
		return false;
	memcpy(choice->name, text, length);
	choice->name[length] = '\0';
	return true;
}
