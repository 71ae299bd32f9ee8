/* How roles look; see roles.h. Data and pure functions. */
#include "tui/roles.h"

#include <stdio.h>

const char *const kp_theme_names[KP_THEME_COUNT + 1] = {"dark", "light", "mono", NULL};

#define LOOK(foreground, background, attributes)                                                   \
	{                                                                                          \
		foreground, background, attributes                                                 \
	}

static const struct kp_look looks[KP_ROLE_COUNT][KP_THEME_COUNT] = {
#define ROLE_LOOKS(NAME, dark, light, mono, what)                                                  \
	[KP_ROLE_##NAME] = {LOOK dark, LOOK light, LOOK mono},
	KP_ROLES(ROLE_LOOKS)
#undef ROLE_LOOKS
};

struct kp_look kp_role_look(enum kp_role role, enum kp_theme theme)
{
	return looks[role < KP_ROLE_COUNT ? role : KP_ROLE_PLAIN][theme];
}

int16_t kp_look_of_eight(int16_t color)
{
	int red, green, blue;

	if (color < 16)
		return color < 0 ? -1 : (int16_t)(color & 7);
	if (color >= 232)
		return color < 240 ? 0 : 7;
	color = (int16_t)(color - 16);
	red = color / 36 >= 3;
	green = color / 6 % 6 >= 3;
	blue = color % 6 >= 3;
	return (int16_t)(red | green << 1 | blue << 2);
}

void kp_look_sequence(struct kp_look look, char *out, size_t size)
{
	static const struct {
		uint8_t attribute;
		const char *code;
	} codes[] = {{KP_LOOK_BOLD, ";1"}, {KP_LOOK_UNDERLINE, ";4"}, {KP_LOOK_REVERSE, ";7"}};
	char text[48] = "";
	size_t length = 0;

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		if (look.attributes & codes[i].attribute)
			length += (size_t)snprintf(text + length, sizeof text - length, "%s",
						   codes[i].code);
	}
	if (look.foreground >= 0)
		length += (size_t)snprintf(text + length, sizeof text - length, ";38;5;%d",
					   look.foreground);
	if (look.background >= 0)
		length += (size_t)snprintf(text + length, sizeof text - length, ";48;5;%d",
					   look.background);
	snprintf(out, size, length ? "\033[0%sm" : "%s", text);
}
