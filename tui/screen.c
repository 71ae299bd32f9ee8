/* The frame around the views: the line on top, the tabs, the line of keys; see state.h. */
#include <inttypes.h>
#include <string.h>

#include "profiler/humanise.h"
#include "tui/keys.h"
#include "tui/live.h"
#include "tui/state.h"

#define ROWS_WITH_TABS 8    /* from so many rows on there are tabs, */
#define ROWS_WITH_STATUS 12 /* and a line about the selected row */
#define TAB_LETTERS_MOST 30
#define TAB_LETTERS_LEAST 4
#define DIGITS 4

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *subject_of(const struct kp_tui *tui)
{
	if (!tui->top)
		return tui->source.paths[0];
	return tui->top->view.subject ? tui->top->view.subject : "";
}

/* What must not be overlooked: that the trace has not all that was launched. */
static void describe_missing(const struct kp_report *report, char *out, size_t size)
{
	const struct kp_report_counts *counts = &report->counts;
	const struct kp_damage *damage = &counts->damage;
	uint64_t missing = 0;

	for (size_t i = 0; i < report->process_count; i++)
		missing += report->processes[i].absent;
	out[0] = '\0';
	if (missing > 0)
		snprintf(out, size, " (%s missing: see i)", kp_human_count(missing).text);
	else if (counts->dropped || counts->unwritten || counts->lost || damage->damaged_chunks ||
		 damage->missing_chunks || damage->torn_tail || counts->processes_refused)
		snprintf(out, size, " (incomplete: see i)");
}

/* What is known of the whole, before anything is read or after. */
static void describe(const struct kp_tui *tui, char *out, size_t size)
{
	const struct kp_report *report = tui->report;
	uint64_t promised = 0;
	char missing[64];

	if (tui->top) {
		kp_live_describe(tui, out, size);
		return;
	}
	size_t count = kp_reader_process_count(tui->source.reader);

	for (size_t i = 0; i < count; i++)
		promised += kp_reader_process(tui->source.reader, i)->promised_launches;
	if (!report || !tui->part.complete) {
		snprintf(out, size, "%zu process%s, %s launches", count, count == 1 ? "" : "es",
			 kp_human_count(promised).text);
		return;
	}
	describe_missing(report, missing, sizeof missing);
	snprintf(out, size, "%zu GPU%s, %s kernels%s, %s of span, busy %s", report->gpu_count,
		 report->gpu_count == 1 ? "" : "s", kp_human_count(report->counts.kernels).text,
		 missing, kp_human_duration((double)report->span_ns, DIGITS).text,
		 kp_human_percent(report->span_ns
					  ? 100 * (double)report->busy_ns / (double)report->span_ns
					  : 0)
			 .text);
}

/* What stands to the right: how far loading is, and what the rows are of. */
static void describe_progress(const struct kp_tui *tui, char *out, size_t size)
{
	if (tui->top) {
		kp_live_describe_right(tui, out, size);
		return;
	}
	struct kp_loading loading = kp_loader_progress(tui->loader);
	double pct = loading.of ? 100.0 * (double)loading.done / (double)loading.of : 0;
	size_t used = 0;

	out[0] = '\0';
	if (tui->trouble != KP_OK) {
		snprintf(out, size, "cannot be read: %s", kp_status_message(tui->trouble));
		return;
	}
	if (tui->report && !tui->part.complete)
		used = (size_t)snprintf(out, size, "from %.2g %% of the trace  ", tui->part.pct);
	if (!tui->part.complete && !loading.ended && used < size)
		snprintf(out + used, size - used, pct < 100 ? "reading %2.0f %%" : "adding up",
			 pct);
	else if (tui->scanning)
		snprintf(out, size, "reading the trace");
	else if (tui->unread != KP_OK)
		snprintf(out, size, "cannot be read any more");
}

/* Cuts a text to so many columns where one of its parts ends: a number that is cut says another. */
static void fit(char *text, size_t columns)
{
	while (kp_canvas_width(text) > columns) {
		char *cut = NULL;
		for (char *at = text + 1; *text && *at; at++)
			if (at[0] != ' ' && (strncmp(at + 1, "  ", 2) == 0))
				cut = at + 1;
			else if (strncmp(at, ", ", 2) == 0)
				cut = at;
		if (!cut)
			return;
		*cut = '\0';
	}
}

static void draw_title(struct kp_tui *tui)
{
	size_t columns = tui->canvas.columns, used;
	char text[512], right[96];
	const struct kp_list *list = kp_tui_list(tui);

	describe_progress(tui, right, sizeof right);
	used = (size_t)snprintf(text, sizeof text, " %s%s", base_name(subject_of(tui)),
				tui->source.path_count > 1 ? " ..." : "");
	if (used >= sizeof text)
		used = sizeof text - 1;
	if (list->filter[0])
		used += (size_t)snprintf(text + used, sizeof text - used, "  filter: %s",
					 list->filter);
	if (tui->least_pct > 0 && tui->page == KP_PAGE_OPERATORS && used < sizeof text)
		used += (size_t)snprintf(text + used, sizeof text - used, "  from %g %%",
					 tui->least_pct);
	if (used + 2 < sizeof text) {
		memcpy(text + used, "  ", 3);
		describe(tui, text + used + 2, sizeof text - used - 2);
	}
	kp_canvas_fill(&tui->canvas, 0, 0, columns, ' ', KP_ROLE_TITLE);
	size_t right_columns = kp_canvas_width(right);
	size_t room = right_columns + 1 < columns ? columns - right_columns - 1 : columns;
	fit(text, room - (right_columns > 0));
	kp_canvas_put(&tui->canvas, 0, 0, room - (right_columns > 0), KP_ROLE_TITLE, text);
	if (room < columns)
		kp_canvas_put(&tui->canvas, 0, room, right_columns, KP_ROLE_TITLE, right);
}

/* ---- tabs ---- */

/* The view whose tab is shown as the one that is open. */
static enum kp_page_id open_tab(const struct kp_tui *tui)
{
	return tui->depth > 0 ? tui->back[0] : tui->page;
}

/* Columns of a tab: its name's first letters, or its number alone, and what is around. */
static size_t tab_width(const struct kp_tui *tui, enum kp_page_id page, size_t letters)
{
	size_t length = strlen(kp_page_title(page));

	if (!kp_tui_has_tab(tui, page))
		return 0;
	if (page != open_tab(tui) && letters == 0)
		return strlen(" 1 ");
	return (page != open_tab(tui) && length > letters ? letters : length) + strlen(" 1  ");
}

/* Columns of all tabs before `end`, and of what stands behind the last. */
static size_t tabs_width(const struct kp_tui *tui, unsigned end, size_t letters)
{
	size_t taken = 0;

	for (unsigned i = 0; i < end; i++)
		taken += tab_width(tui, (enum kp_page_id)i, letters);
	for (size_t i = 0; i < tui->depth; i++)
		taken += strlen(" > ") +
			 strlen(kp_page_title(i + 1 < tui->depth ? tui->back[i + 1] : tui->page));
	return taken;
}

/* How many letters a tab's name has, other than the open one's, so that all have room: all that
 * there are, a few, or none. */
static size_t tab_letters(const struct kp_tui *tui)
{
	static const size_t choices[] = {TAB_LETTERS_MOST, TAB_LETTERS_LEAST};

	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
		if (tabs_width(tui, KP_PAGE_COUNT, choices[i]) <= tui->canvas.columns)
			return choices[i];
	return 0;
}

static size_t draw_tab(struct kp_tui *tui, size_t row, size_t at, enum kp_page_id page,
		       unsigned number, size_t letters)
{
	bool is_here = page == open_tab(tui);
	const char *title = kp_page_title(page);
	char text[48];

	if (!is_here && letters == 0)
		snprintf(text, sizeof text, " %u ", number);
	else
		snprintf(text, sizeof text, is_here ? "[%u %.*s]" : " %u %.*s ", number,
			 is_here ? TAB_LETTERS_MOST : (int)letters, title);
	size_t taken = kp_canvas_put(&tui->canvas, row, at, tui->canvas.columns - at,
				     is_here ? KP_ROLE_TAB_HERE : KP_ROLE_TAB, text);
	kp_tui_hit(tui, (struct kp_hit){.row = row,
					.column = at,
					.columns = taken,
					.kind = KP_HIT_PAGE,
					.value = page});
	return taken;
}

/* Tabs with their numbers. Where not even these have room, the first give way to the open one. */
static void draw_tabs(struct kp_tui *tui, size_t row)
{
	size_t columns = tui->canvas.columns, at = 0, letters = tab_letters(tui);
	size_t needed = tabs_width(tui, open_tab(tui) + 1, letters);
	unsigned number = 0;

	kp_canvas_fill(&tui->canvas, row, 0, columns, ' ', KP_ROLE_TAB);
	for (unsigned i = 0; i < KP_PAGE_COUNT && at < columns; i++) {
		size_t width = tab_width(tui, (enum kp_page_id)i, letters);
		if (width == 0)
			continue;
		number++;
		if (needed > columns && i != (unsigned)open_tab(tui)) {
			needed -= width;
			continue;
		}
		at += draw_tab(tui, row, at, (enum kp_page_id)i, number, letters);
	}
	for (size_t i = 0; i < tui->depth && at + 3 < columns; i++) {
		enum kp_page_id above = i + 1 < tui->depth ? tui->back[i + 1] : tui->page;
		at += kp_canvas_put(&tui->canvas, row, at, columns - at, KP_ROLE_TAB, " > ");
		at += kp_canvas_put(&tui->canvas, row, at, columns - at,
				    i + 1 == tui->depth ? KP_ROLE_TAB_HERE : KP_ROLE_TAB,
				    kp_page_title(above));
	}
}

/* Columns of a key in the line of keys, and its name. */
static size_t key_width(const struct kp_key *key, char name[16])
{
	kp_key_first_name(key, name, 16);
	return strlen(name) + strlen(key->bar);
}

/* The keys that have room; the one that tells of all others always has. */
static void draw_keys(struct kp_tui *tui, size_t row)
{
	const struct kp_key *help = kp_key_on('?', tui->page);
	size_t at = 0, columns = tui->canvas.columns;
	char name[16];
	size_t kept = help ? key_width(help, name) + 1 : 0;

	for (size_t i = 0; i < kp_key_count; i++) {
		const struct kp_key *key = &kp_keys[i];
		if (!key->bar || !(key->pages & 1U << tui->page))
			continue;
		size_t width = key_width(key, name), begin = at;
		kept = key == help ? 0 : kept;
		if (at + width + kept > columns)
			continue;
		at += kp_canvas_put(&tui->canvas, row, at, columns - at, KP_ROLE_KEY, name);
		at += kp_canvas_put(&tui->canvas, row, at, columns - at, KP_ROLE_KEY_NAME,
				    key->bar);
		kp_tui_hit(tui, (struct kp_hit){.row = row,
						.column = begin,
						.columns = at - begin,
						.kind = KP_HIT_KEY,
						.value = kp_key_code(name, strlen(name))});
		at++;
	}
}

static void draw_prompt(struct kp_tui *tui, size_t row)
{
	const struct kp_prompt *prompt = &tui->prompt;
	size_t columns = tui->canvas.columns, at;
	const char *text = prompt->text;

	kp_canvas_fill(&tui->canvas, row, 0, columns, ' ', KP_ROLE_PROMPT);
	at = kp_canvas_put(&tui->canvas, row, 0, columns, KP_ROLE_PROMPT, prompt->label);
	/* The end of what is typed stays in sight. */
	while (*text && at + kp_canvas_width(text) + 1 > columns)
		text++;
	while (((unsigned char)*text & 0xC0) == 0x80)
		text++;
	at += kp_canvas_put(&tui->canvas, row, at, columns - at,
			    prompt->chosen ? KP_ROLE_SELECTED : KP_ROLE_PROMPT, text);
	kp_canvas_fill(&tui->canvas, row, at, 1, '_', KP_ROLE_PROMPT);
}

/* The line about what is selected: a message, or a name that had no room. */
static void draw_status(struct kp_tui *tui, size_t row)
{
	const struct kp_page *page = &kp_pages[tui->page];
	const struct kp_item *item = kp_tui_selected(tui);
	const char *text = tui->message;
	enum kp_role role = KP_ROLE_WARNING;
	char rest[96];

	if (!text[0] && tui->top && tui->top->view.trouble)
		text = tui->top->view.trouble;
	if (!text[0] && page->columns && page->name && item) {
		text = (page->full ? page->full : page->name)(tui, item);
		role = KP_ROLE_DIM;
	}
	if (!text[0] && !page->name && tui->sheet.count > tui->body.rows) {
		size_t top = tui->lists[tui->page].top, end = top + tui->body.rows;
		snprintf(rest, sizeof rest, "lines %zu to %zu of %zu%s", top + 1, end,
			 tui->sheet.count, end < tui->sheet.count ? "; PgDn shows more" : "");
		text = rest;
		role = KP_ROLE_DIM;
	}
	kp_canvas_put(&tui->canvas, row, 0, tui->canvas.columns, role, text);
}

static void draw_too_small(struct kp_tui *tui)
{
	char text[64];

	snprintf(text, sizeof text, "too small: %zux%zu, needs %dx%d", tui->canvas.columns,
		 tui->canvas.rows, KP_TUI_LEAST_COLUMNS, KP_TUI_LEAST_ROWS);
	if (tui->canvas.rows > 0)
		kp_canvas_put(&tui->canvas, 0, 0, tui->canvas.columns, KP_ROLE_PLAIN, text);
}

void kp_tui_print(const struct kp_tui *tui)
{
	const struct kp_canvas_style style = {.ascii = tui->settings.ascii,
					      .colors = tui->settings.colors,
					      .theme = tui->settings.theme};

	kp_canvas_print(tui->printed, &tui->canvas, &style);
}

enum kp_status kp_tui_draw(struct kp_tui *tui)
{
	size_t rows = tui->canvas.rows, columns = tui->canvas.columns;
	bool tabs = rows >= ROWS_WITH_TABS, status_line = rows >= ROWS_WITH_STATUS;
	enum kp_status status = KP_OK;

	kp_canvas_clear(&tui->canvas);
	tui->hit_count = 0;
	if (rows < KP_TUI_LEAST_ROWS || columns < KP_TUI_LEAST_COLUMNS) {
		draw_too_small(tui);
		return KP_OK;
	}
	if (tui->stale)
		status = kp_pages[tui->page].fill(tui);
	tui->stale = false;
	if (status != KP_OK)
		return status;
	const struct kp_area body = {.row = tabs ? 2 : 1,
				     .rows = rows - (tabs ? 2 : 1) - 1 - status_line,
				     .columns = columns};
	draw_title(tui);
	if (tabs)
		draw_tabs(tui, 1);
	kp_pages[tui->page].draw(tui, body);
	if (status_line)
		draw_status(tui, rows - 2);
	if (tui->prompt.open)
		draw_prompt(tui, rows - 1);
	else if (!status_line && tui->message[0])
		draw_status(tui, rows - 1);
	else
		draw_keys(tui, rows - 1);
	return KP_OK;
}
