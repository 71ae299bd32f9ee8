/* How text looks where it goes; see style.h. Reads the environment, keeps no state. */
#include "profiler/style.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MIN_WIDTH 50     /* tables need it */
#define DEFAULT_WIDTH 80 /* where nothing says how wide it is */
#define MAX_WIDTH 1000

static const char *const sequences[] = {
	[KP_STYLE_PLAIN] = "",           [KP_STYLE_TITLE] = "\033[2m",
	[KP_STYLE_HOT] = "\033[1;31m",   [KP_STYLE_STRONG] = "\033[1m",
	[KP_STYLE_WARNING] = "\033[33m",
};

size_t kp_style_width(FILE *file)
{
	const char *columns = getenv("COLUMNS");
	struct winsize window = {0};
	long width = 0;

	if (ioctl(fileno(file), TIOCGWINSZ, &window) == 0)
		width = window.ws_col;
	if (width == 0 && columns)
		width = strtol(columns, NULL, 10);
	if (width <= 0)
		return DEFAULT_WIDTH;
	return width < MIN_WIDTH ? MIN_WIDTH : width > MAX_WIDTH ? MAX_WIDTH : (size_t)width;
}

bool kp_style_colors(FILE *file, enum kp_color choice)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (choice != KP_COLOR_AUTO)
		return choice == KP_COLOR_ALWAYS;
	if (no_color && *no_color)
		return false;
	return isatty(fileno(file)) && terminal && strcmp(terminal, "dumb") != 0;
}

void kp_style_begin(FILE *file, bool colors, enum kp_style style)
{
	if (colors)
		fputs(sequences[style], file);
}

void kp_style_end(FILE *file, bool colors, enum kp_style style)
{
	if (colors && style != KP_STYLE_PLAIN)
		fputs("\033[0m", file);
}
