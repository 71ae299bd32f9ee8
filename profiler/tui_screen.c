/* The screen that the command line asks for; see tui_screen.h. */
#include "profiler/tui_screen.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/say.h"

/* Whether only ASCII can be shown. Numbers keep the C locale's point. */
static bool is_ascii(int charset)
{
	setlocale(LC_CTYPE, "");
	bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;

	if (charset == KP_CHARSET_UTF8 && !utf8)
		setlocale(LC_CTYPE, "C.UTF-8");
	return charset == KP_CHARSET_ASCII || (charset == KP_CHARSET_AUTO && !utf8);
}

bool kp_tui_screen_settings(const struct kp_settings *settings, struct kp_tui_settings *out)
{
	const char *no_color = getenv("NO_COLOR");

	*out = (struct kp_tui_settings){
		.theme = (enum kp_theme)settings->tui.theme,
		.ascii = is_ascii(settings->tui.charset),
		.mouse = !settings->tui.no_mouse,
		.colors = settings->color == KP_COLOR_ALWAYS,
	};
	if (no_color && *no_color && settings->color != KP_COLOR_ALWAYS)
		out->theme = KP_THEME_MONO;
	if (kp_tui_read_size(settings->tui.size ? settings->tui.size : "80x24", &out->columns,
			     &out->rows))
		return true;
	kp_fail("--size is WIDTHxHEIGHT, such as 132x40; not «%s»", settings->tui.size);
	return false;
}
