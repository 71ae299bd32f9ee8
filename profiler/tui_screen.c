/* The screen that the command line asks for; see tui_screen.h. */
#include "profiler/tui_screen.h"

#include <locale.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/charset.h"
#include "profiler/output.h"
#include "profiler/say.h"
#include "tui/roles.h"

#define AT(member) offsetof(struct kp_settings, member)

static const char *const charsets[] = {"auto", "utf-8", "ascii", NULL};

// clang-format off
static const struct kp_option options[] = {
	{.name = "theme", .type = KP_OPTION_CHOICE, .offset = AT(tui.theme),
	 .choices = kp_theme_names,
	 .help = "Colours for a dark background (the default) or a light one, or none. Colours say "
		 "nothing that marks and words do not say, too; NO_COLOR in the environment "
		 "switches them off."},
	{.name = "charset", .type = KP_OPTION_CHOICE, .offset = AT(tui.charset),
	 .choices = charsets,
	 .help = "Characters to draw with: those of UTF-8 where the locale has them (the default), "
		 "or either in any case."},
	{.name = "no-mouse", .type = KP_OPTION_FLAG, .offset = AT(tui.no_mouse),
	 .help = "Leave the mouse to the terminal, so that it selects text."},
	{0},
};
// clang-format on
const struct kp_option_group kp_tui_screen_group = {"Screen", options};

/* Whether only ASCII can be shown. Numbers keep the C locale's point. */
static bool is_ascii(int charset)
{
	bool utf8 = kp_charset_is_utf8();

	setlocale(LC_CTYPE, "");

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

enum kp_status kp_tui_screen_show(const struct kp_tui_source *source,
				  const struct kp_tui_settings *screen, const char *script,
				  const char *instead, char complaint[KP_TUI_COMPLAINT_BYTES])
{
	struct kp_output output;

	if (!script) {
#ifdef KPROF_NCURSES
		(void)instead;
		return kp_tui_terminal(source, screen, complaint);
#else
		snprintf(complaint, KP_TUI_COMPLAINT_BYTES,
			 "this kprof was built without ncurses; %s", instead);
		return KP_UNSUPPORTED;
#endif
	}
	if (!kp_output_open(&output, NULL))
		return KP_IO;
	enum kp_status status = kp_tui_script(source, screen, script, output.file, complaint);
	return kp_output_close(&output) ? status : KP_IO;
}
