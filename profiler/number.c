/* Numbers of options; see number.h. */
#include "profiler/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 63

/* How many digits there are from `text` on. */
static size_t digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* Where the number ends that begins with `text`; NULL: none does. */
static const char *end_of(const char *text)
{
	size_t whole = digits(text), part = 0;
	const char *at = text + whole;

	if (*at == '.') {
		part = digits(at + 1);
		at += 1 + part;
	}
	if (whole + part == 0)
		return NULL;
	if (*at != 'e' && *at != 'E')
		return at;
	at++;
	at += *at == '+' || *at == '-';
	return digits(at) > 0 ? at + digits(at) : NULL;
}

bool kp_number_parse(const char *text, size_t length, char suffix, double *out)
{
	char copy[LONGEST + 1];

	if (length > 0 && suffix && text[length - 1] == suffix)
		length--;
	if (length == 0 || length > LONGEST)
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	const char *end = end_of(copy);
	if (!end || *end)
		return false;
	*out = strtod(copy, NULL);
	return isfinite(*out);
}
