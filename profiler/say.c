/* kprof's own words; see say.h. Threading: none needed, no state is kept. */
#include "profiler/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/text.h"

static void say(const char *format, va_list arguments)
{
	char sentence[2048], line[4096];

	vsnprintf(sentence, sizeof sentence, format, arguments);
	size_t length = (size_t)snprintf(line, sizeof line, "kprof: ");
	length += kp_text_visible(line + length, sizeof line - length - 1, sentence,
				  strlen(sentence));
	line[length++] = '\n';
	if (write(STDERR_FILENO, line, length) < 0)
		return; /* nobody listens; there is nowhere else to say it */
}

void kp_say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

int kp_fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	return KP_EXIT_FAILURE;
}
