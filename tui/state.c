/* The explorer's state: loading, reading on, and going from page to page; see state.h. */
#include "tui/state.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"
#include "tui/live.h"
#include "tui/plan_edit.h"
#include "tui/timeline_page.h"

static enum kp_status load(struct kp_tui *tui)
{
	const struct kp_loader_source loaded = {
		.reader = tui->source.reader,
		.path = tui->source.paths[0],
		.base = tui->source.base,
		.base_path = tui->source.base_path,
		.options = tui->source.options,
	};

	return kp_loader_create(&loaded, &tui->loader);
}

enum kp_status kp_tui_init(struct kp_tui *tui, const struct kp_tui_source *source,
			   const struct kp_tui_settings *settings)
{
	enum kp_status status;

	*tui = (struct kp_tui){
		.source = *source, .settings = *settings, .stale = true, .chosen_at = SIZE_MAX};
	for (size_t i = 0; i < KP_PAGE_COUNT; i++)
		tui->lists[i].sort = SIZE_MAX;
	kp_sheet_clear(&tui->sheet);
	status = kp_plan_edit_init(&tui->plan);
	if (status == KP_OK)
		status = kp_tui_resize(tui, settings->rows, settings->columns);
	if (!source->live)
		tui->span = kp_reader_span(source->reader);
	if (status == KP_OK)
		status = source->live ? kp_live_init(tui) : load(tui);
	return status;
}

void kp_tui_fini(struct kp_tui *tui)
{
	kp_loader_destroy(tui->loader);
	kp_live_fini(tui);
	kp_plan_edit_fini(&tui->plan);
	kp_rank_fini(&tui->rank);
	kp_report_destroy(tui->report);
	free(tui->history);
	kp_tracks_free(tui->tracks);
	kp_scanner_destroy(tui->scanner);
	kp_intern_fini(&tui->operator_names);
	free(tui->operator_open);
	kp_canvas_fini(&tui->canvas);
	kp_sheet_fini(&tui->sheet);
	free(tui->items);
	*tui = (struct kp_tui){0};
}

enum kp_status kp_tui_resize(struct kp_tui *tui, size_t rows, size_t columns)
{
	tui->stale = true; /* lines are wrapped anew */
	return kp_canvas_resize(&tui->canvas, rows, columns);
}

struct kp_list *kp_tui_list(struct kp_tui *tui)
{
	return &tui->lists[tui->page];
}

const struct kp_item *kp_tui_selected(const struct kp_tui *tui)
{
	const struct kp_list *list = &tui->lists[tui->page];

	return list->selected < tui->item_count ? &tui->items[list->selected] : NULL;
}

enum kp_status kp_tui_add(struct kp_tui *tui, struct kp_item item)
{
	if (!kp_vector_grow((void **)&tui->items, tui->item_count, &tui->item_capacity,
			    sizeof *tui->items))
		return KP_NO_MEMORY;
	tui->items[tui->item_count++] = item;
	return KP_OK;
}

void kp_tui_say(struct kp_tui *tui, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(tui->message, sizeof tui->message, format, arguments);
	va_end(arguments);
}

void kp_tui_hit(struct kp_tui *tui, struct kp_hit hit)
{
	if (tui->hit_count < KP_HITS)
		tui->hits[tui->hit_count++] = hit;
}

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool kp_tui_holds(const char *text, const char *part)
{
	size_t length = strlen(part);

	for (; *text; text++) {
		size_t i = 0;
		while (i < length && text[i] && lower(text[i]) == lower(part[i]))
			i++;
		if (i == length)
			return true;
	}
	return length == 0;
}

/* ---- from page to page ---- */

bool kp_tui_has_tab(const struct kp_tui *tui, enum kp_page_id page)
{
	if (page == KP_PAGE_AB && !tui->source.ab)
		return false;
	if (page == KP_PAGE_LIVE_RULES && !(tui->top && tui->top->rule_count))
		return false;
	return kp_page_tab(page) == (tui->top ? KP_TAB_LIVE : KP_TAB_TRACE);
}

static void turn_to(struct kp_tui *tui, enum kp_page_id page)
{
	tui->page = page;
	tui->item_count = 0; /* they are those of the page before */
	tui->stale = true;
}

void kp_tui_open(struct kp_tui *tui, enum kp_page_id page)
{
	if (tui->depth < KP_TUI_DEPTH)
		tui->back[tui->depth++] = tui->page;
	tui->lists[page].top = tui->lists[page].selected = 0;
	turn_to(tui, page);
}

void kp_tui_show(struct kp_tui *tui, enum kp_page_id page)
{
	tui->depth = 0;
	turn_to(tui, page);
}

void kp_tui_back(struct kp_tui *tui)
{
	if (tui->depth > 0)
		turn_to(tui, tui->back[--tui->depth]);
}

void kp_tui_open_kernel(struct kp_tui *tui, size_t kernel)
{
	if (!tui->report || kernel >= tui->report->kernel_count)
		return;
	tui->kernel = kernel;
	kp_tui_open(tui, KP_PAGE_KERNEL);
}

/* ---- working ---- */

void kp_tui_select_again(struct kp_tui *tui, const char *name)
{
	const struct kp_page *page = &kp_pages[tui->page];

	if (!name[0] || !page->fill || page->fill(tui) != KP_OK)
		return;
	tui->stale = false;
	for (size_t i = 0; i < tui->item_count; i++) {
		if (strcmp(page->name(tui, &tui->items[i]), name) == 0) {
			tui->lists[tui->page].selected = i;
			return;
		}
	}
}

/* Puts a report in the place of the one before; pages that show one of its rows show it still. */
static void replace_report(struct kp_tui *tui, struct kp_report *report)
{
	const struct kp_page *page = &kp_pages[tui->page];
	const struct kp_item *item = kp_tui_selected(tui);
	struct kp_report *older = tui->report;
	size_t kernel = 0;
	char name[1024] = "";

	if (older && !tui->stale && page->name && item)
		snprintf(name, sizeof name, "%s", page->name(tui, item));
	if (older && tui->kernel < older->kernel_count) {
		const char *mangled = older->kernels[tui->kernel].mangled;
		while (kernel < report->kernel_count &&
		       strcmp(report->kernels[kernel].mangled, mangled) != 0)
			kernel++;
	}
	tui->kernel = kernel < report->kernel_count ? kernel : 0;
	tui->report = report;
	tui->item_count = 0;
	tui->history_of = NULL;
	kp_plan_edit_reset(&tui->plan);
	tui->trouble = kp_rank_of_report(&tui->rank, report);
	tui->stale = true;
	if (tui->trouble == KP_OK && (tui->page != KP_PAGE_TIMELINE))
		kp_tui_select_again(tui, name);
	kp_report_destroy(older);
}

static bool take_loaded(struct kp_tui *tui)
{
	enum kp_status status;
	struct kp_report *report = kp_loader_take(tui->loader, &tui->part, &status);

	if (report)
		replace_report(tui, report);
	if (!tui->diff && tui->source.base && tui->report && tui->part.complete) {
		tui->diff = kp_loader_diff(tui->loader);
		tui->stale |= tui->diff != NULL;
	}
	if (status != KP_OK)
		tui->trouble = status;
	return report != NULL;
}

void kp_tui_scan(struct kp_tui *tui, const struct kp_scan *scan)
{
	enum kp_status status = KP_OK;

	if (!tui->scanner)
		status = kp_scanner_create(tui->source.paths, tui->source.path_count,
					   tui->source.reader, &tui->scanner);
	if (status == KP_OK)
		status = kp_scanner_want(tui->scanner, scan);
	tui->scanning = status == KP_OK ? scan->kind : KP_SCAN_NOTHING;
	tui->stale = true;
	tui->unread = status;
	if (status != KP_OK)
		kp_tui_say(tui, "The trace cannot be read: %s.", kp_status_message(status));
}

/* Why what was read does not count: parts are damaged that were whole when all was read. */
static enum kp_status judge(const struct kp_tui *tui, const struct kp_scanned *fresh)
{
	if (fresh->ended && fresh->status == KP_OK && tui->report && tui->part.complete &&
	    fresh->damaged_chunks > tui->report->counts.damage.damaged_chunks)
		return KP_CHANGED;
	return fresh->status;
}

/* Of what cannot be read to its end, the part that was read says nothing. */
static void give_up(struct kp_tui *tui, enum kp_scan_kind kind, enum kp_status status)
{
	tui->unread = status;
	kp_tui_say(tui, "The trace cannot be read: %s.", kp_status_message(status));
	if (kind == KP_SCAN_TRACKS && tui->tracks)
		tui->tracks->stretched = true;
	if (kind == KP_SCAN_HISTORY) {
		free(tui->history);
		tui->history = NULL;
	}
}

/* Takes in what was read for views that look into the trace; true: there was something to wait for.
 */
static bool take_scanned(struct kp_tui *tui)
{
	enum kp_scan_kind kind = tui->scanning;
	struct kp_scanned fresh;

	if (!kind)
		return false;
	fresh = kp_scanner_take(tui->scanner);
	if (fresh.tracks)
		kp_page_timeline_take(tui, fresh.tracks);
	if (fresh.history) {
		free(tui->history);
		tui->history = fresh.history;
	}
	/* What cannot be read is not tried again and again. */
	*(kind == KP_SCAN_TRACKS ? &tui->tracks_whole : &tui->history_whole) = fresh.ended;
	if (fresh.ended)
		tui->scanning = KP_SCAN_NOTHING;
	fresh.status = judge(tui, &fresh);
	if (fresh.status != KP_OK)
		give_up(tui, kind, fresh.status);
	bool changed = fresh.ended || fresh.tracks || fresh.history;
	tui->stale |= changed;
	return changed;
}

bool kp_tui_works(const struct kp_tui *tui)
{
	return tui->top || tui->scanning || !tui->all_taken;
}

bool kp_tui_work(struct kp_tui *tui)
{
	bool scanned, taken, ended;

	if (tui->top)
		return kp_live_work(tui);
	/* What comes between the two is taken the next time. */
	ended = kp_loader_progress(tui->loader).ended;
	taken = take_loaded(tui);
	tui->all_taken = ended;
	scanned = take_scanned(tui);
	return taken || scanned;
}

enum kp_status kp_tui_finish(struct kp_tui *tui)
{
	if (tui->top) {
		kp_live_work(tui);
		return tui->trouble;
	}
	kp_loader_wait(tui->loader);
	take_loaded(tui);
	tui->all_taken = true;
	while (tui->scanning) {
		kp_scanner_wait(tui->scanner);
		take_scanned(tui);
	}
	return tui->trouble;
}
