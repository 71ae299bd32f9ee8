/*
 * Scripts of keys, without a terminal.
 *
 * A script is words separated by commas: the name of a key («Enter», «Ctrl-L», «/», «Comma»), a
 * size («132x40») that the screen gets, «Wait» where a program runs, or, while a line is being
 * typed, text. P prints the screen. Each word is done when all that it caused has been read, so
 * that screens do not depend on time.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/text.h"
#include "tui/actions.h"
#include "tui/keys.h"
#include "tui/live.h"
#include "tui/state.h"

#define WORD_BYTES 128
#define SIZE_MOST 1000

bool kp_tui_read_size(const char *word, size_t *columns, size_t *rows)
{
	char *end;
	unsigned long first = strtoul(word, &end, 10), second;

	if (end == word || *end != 'x')
		return false;
	word = end + 1;
	second = strtoul(word, &end, 10);
	if (end == word || *end || !first || !second || first > SIZE_MOST || second > SIZE_MOST)
		return false;
	*columns = first;
	*rows = second;
	return true;
}

static void type(struct kp_tui *tui, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i < length;) {
		uint32_t character;
		i += kp_text_decode(word + i, length - i, &character);
		if (character != KP_TEXT_BAD)
			kp_tui_key(tui, character);
	}
}

/* Does one word. Errors: KP_INVALID: it is none. */
static enum kp_status do_word(struct kp_tui *tui, const char *word)
{
	uint32_t code = kp_key_code(word, strlen(word));
	size_t rows, columns;

	if (!tui->prompt.open && kp_tui_read_size(word, &columns, &rows))
		return kp_tui_resize(tui, rows, columns);
	if (tui->top && !tui->prompt.open && strcmp(word, "Wait") == 0)
		kp_live_wait(tui);
	else if (code == 'P' && !tui->prompt.open)
		kp_do_write(tui, code); /* prints what is there, a message as well */
	else if (code)
		kp_tui_key(tui, code);
	else if (tui->prompt.open)
		type(tui, word);
	else
		return KP_INVALID;
	return KP_OK;
}

/* Draws until nothing is left to be read: drawing may ask for more. */
static enum kp_status settle(struct kp_tui *tui)
{
	enum kp_status status = KP_OK;

	do {
		status = kp_tui_finish(tui);
		if (status == KP_OK)
			status = kp_tui_draw(tui);
	} while (status == KP_OK && tui->scanning);
	return status;
}

static enum kp_status run(struct kp_tui *tui, const char *script,
			  char complaint[KP_TUI_COMPLAINT_BYTES])
{
	enum kp_status status = settle(tui);

	while (*script && status == KP_OK && !tui->closed) {
		char word[WORD_BYTES];
		size_t length = strcspn(script, ",");
		snprintf(word, sizeof word, "%.*s", (int)length, script);
		script += length + (script[length] == ',');
		if (length == 0)
			continue;
		status = do_word(tui, word);
		if (status == KP_INVALID)
			snprintf(complaint, KP_TUI_COMPLAINT_BYTES,
				 "«%s» is no key, and no line is being typed", word);
		if (status == KP_OK && !tui->closed)
			status = settle(tui);
	}
	return status;
}

static bool prints(const char *script)
{
	for (const char *word = script; *word; word += strcspn(word, ","), word += *word == ',') {
		if (word[0] == 'P' && (word[1] == ',' || !word[1]))
			return true;
	}
	return false;
}

enum kp_status kp_tui_script(const struct kp_tui_source *source,
			     const struct kp_tui_settings *settings, const char *script, FILE *file,
			     char complaint[KP_TUI_COMPLAINT_BYTES])
{
	struct kp_tui tui;
	enum kp_status status = kp_tui_init(&tui, source, settings);

	complaint[0] = '\0';
	tui.printed = file;
	if (status == KP_OK)
		status = run(&tui, script, complaint);
	if (status == KP_OK && tui.top && settings->framed)
		status = kp_live_frames(&tui, settings->frames);
	else if (status == KP_OK && !prints(script))
		kp_tui_print(&tui);
	if (status != KP_OK && !complaint[0])
		snprintf(complaint, KP_TUI_COMPLAINT_BYTES, "cannot explore the trace: %s",
			 kp_status_message(status));
	kp_tui_fini(&tui);
	return status;
}
