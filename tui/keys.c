/* The table of keys with its functions, and the way from a key to one of them; see keys.h. */
#include "tui/keys.h"

#include <string.h>

#include "tui/actions.h"
#include "tui/live_pages.h"
#include "tui/state.h"

#define ALL UINT32_MAX
#define EVIDENCE KP_PAGE_BIT(EVIDENCE)
#define TREE KP_PAGE_BIT(OPERATORS)
#define TIME KP_PAGE_BIT(TIMELINE)
#define LIVE_TABLES KP_PAGES_LIVE_TABLES
#define LIVE KP_PAGES_LIVE
#define RULES KP_PAGES_RULES
#define OF_TRACE (ALL & ~LIVE)
#define SORTED                                                                                     \
	(KP_PAGE_BIT(OPERATORS) | KP_PAGE_BIT(ROOFLINE) | KP_PAGE_BIT(PROCESSES) |                 \
	 KP_PAGE_BIT(PLAN) | KP_PAGE_BIT(FINDINGS) | KP_PAGE_BIT(COMPARE) | KP_PAGE_BIT(AB) |      \
	 LIVE_TABLES)
#define TABLES (SORTED | KP_PAGE_BIT(TIMELINE) | KP_PAGE_BIT(COLUMNS))

const struct kp_key kp_keys[] = {
#define KEY(names, pages, function, bar, help) {names, pages, kp_do_##function, bar, help},
#include "tui/keys.def"
#undef KEY
};
const size_t kp_key_count = sizeof kp_keys / sizeof *kp_keys;

static const struct {
	const char *name;
	uint32_t code;
} specials[] = {
#define SPECIAL(NAME, name, code) {name, code},
	KP_SPECIAL_KEYS(SPECIAL)
#undef SPECIAL
};

uint32_t kp_key_code(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
		if (strlen(specials[i].name) == length &&
		    memcmp(specials[i].name, name, length) == 0)
			return specials[i].code;
	}
	if (length == 6 && memcmp(name, "Ctrl-", 5) == 0 && name[5] >= 'A' && name[5] <= 'Z')
		return (uint32_t)(name[5] & 0x1F);
	return length == 1 ? (uint32_t)(unsigned char)name[0] : 0;
}

void kp_key_first_name(const struct kp_key *key, char *out, size_t size)
{
	snprintf(out, size, "%.*s", (int)strcspn(key->names, " "), key->names);
}

static bool has_code(const struct kp_key *key, uint32_t code)
{
	for (const char *name = key->names; *name;) {
		size_t length = strcspn(name, " ");
		if (kp_key_code(name, length) == code)
			return true;
		name += length + strspn(name + length, " ");
	}
	return false;
}

const struct kp_key *kp_key_on(uint32_t code, unsigned page)
{
	for (size_t i = 0; i < kp_key_count; i++) {
		if ((kp_keys[i].pages & 1U << page) && has_code(&kp_keys[i], code))
			return &kp_keys[i];
	}
	return NULL;
}

void kp_tui_key(struct kp_tui *tui, uint32_t code)
{
	const struct kp_key *key;

	tui->message[0] = '\0';
	if (tui->prompt.open) {
		kp_prompt_key(tui, code);
		return;
	}
	key = kp_key_on(code, tui->page);
	if (key)
		key->run(tui, code);
	else
		kp_tui_say(tui, "That key does nothing here; ? lists those that do.");
}

void kp_tui_wheel(struct kp_tui *tui, int rows)
{
	for (int i = 0; i < rows; i++)
		kp_do_down(tui, 0);
	for (int i = 0; i > rows; i--)
		kp_do_up(tui, 0);
}

static void click_body(struct kp_tui *tui, size_t row)
{
	struct kp_list *list = kp_tui_list(tui);
	size_t item = list->top + row - tui->body.row;

	if (row < tui->body.row || row >= tui->body.row + tui->body.rows || item >= tui->item_count)
		return;
	if (list->selected == item && kp_pages[tui->page].enter)
		kp_do_enter(tui, 0);
	else
		list->selected = item;
}

void kp_tui_click(struct kp_tui *tui, size_t row, size_t column)
{
	for (size_t i = 0; i < tui->hit_count; i++) {
		const struct kp_hit *hit = &tui->hits[i];
		if (row != hit->row || column < hit->column || column >= hit->column + hit->columns)
			continue;
		if (hit->kind == KP_HIT_PAGE)
			kp_tui_show(tui, (enum kp_page_id)hit->value);
		else if (hit->kind == KP_HIT_COLUMN)
			kp_do_sort_by(tui, hit->value);
		else
			kp_tui_key(tui, hit->value);
		return;
	}
	if (!tui->prompt.open)
		click_body(tui, row);
}
