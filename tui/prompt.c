/* A line that is typed at the foot of the screen; see keys.h. */
#include <string.h>

#include "tui/keys.h"
#include "tui/state.h"

#define CTRL_U 0x15

void kp_prompt_open(struct kp_tui *tui, const char *label, const char *text,
		    void (*done)(struct kp_tui *tui, const char *text))
{
	struct kp_prompt *prompt = &tui->prompt;

	*prompt = (struct kp_prompt){.open = true, .label = label, .done = done};
	snprintf(prompt->text, sizeof prompt->text, "%s", text);
	prompt->length = strlen(prompt->text);
	prompt->chosen = prompt->length > 0;
}

static void clear(struct kp_prompt *prompt)
{
	prompt->length = 0;
	prompt->text[0] = '\0';
}

/* Adds a character as UTF-8, where it fits whole. */
static void add(struct kp_prompt *prompt, uint32_t code)
{
	char bytes[5] = {0};
	size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	if (prompt->length + count >= sizeof prompt->text)
		return;
	for (size_t i = count; i-- > 1; code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3F));
	bytes[0] = (char)(count == 1 ? code : (0xF00U >> count & 0xFFU) | code);
	memcpy(prompt->text + prompt->length, bytes, count + 1);
	prompt->length += count;
}

static void remove_last(struct kp_prompt *prompt)
{
	while (prompt->length > 0) {
		unsigned char byte = (unsigned char)prompt->text[--prompt->length];
		prompt->text[prompt->length] = '\0';
		if ((byte & 0xC0) != 0x80)
			break;
	}
}

void kp_prompt_key(struct kp_tui *tui, uint32_t code)
{
	struct kp_prompt *prompt = &tui->prompt;
	bool chosen = prompt->chosen;

	prompt->chosen =
		false; /* any key that does nothing else keeps the text, to go on with it */
	if (code == KP_KEY_ESCAPE) {
		prompt->open = false;
	} else if (code == KP_KEY_ENTER) {
		prompt->open = false;
		prompt->done(tui, prompt->text);
	} else if (code == CTRL_U || (code == KP_KEY_BACKSPACE && chosen)) {
		clear(prompt);
	} else if (code == KP_KEY_BACKSPACE) {
		remove_last(prompt);
	} else if (code >= 0x20 && code < 0x110000) {
		if (chosen)
			clear(prompt);
		add(prompt, code);
	}
}
