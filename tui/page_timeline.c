/* The timeline: tracks of a window of time, zoomed and moved; see pages.h and tracks.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "profiler/humanise.h"
#include "tui/actions.h"
#include "tui/state.h"
#include "tui/table.h"
#include "tui/timeline_page.h"

#define LEAST_WINDOW 64 /* ns */
#define DIGITS 4
#define LEAST_BOX 3 /* columns of one that is drawn by itself */
#define WORTH 0.02F /* of a column: idle time below is not shown */

/* Columns of labels: names of counters and ranges in full where there is room. */
static size_t label_columns(const struct kp_tui *tui)
{
	return tui->canvas.columns >= 160 ? 24 : 13;
}

static size_t columns_of(const struct kp_tui *tui)
{
	return tui->canvas.columns > label_columns(tui) + 4
		       ? tui->canvas.columns - label_columns(tui) - 1
		       : 4;
}

/* Has a window read anew, kept within the trace; what is known of it is shown meanwhile. */
static void look_at(struct kp_tui *tui, double from_ns, double length_ns)
{
	static const struct kp_tracks nothing = {.to_ns = 1, .columns = 1};
	double whole_ns = fmax((double)(tui->span.last_ns - tui->span.first_ns), LEAST_WINDOW);
	struct kp_scan scan = {.kind = KP_SCAN_TRACKS, .columns = columns_of(tui)};
	struct kp_tracks *tracks;

	length_ns = fmin(fmax(length_ns, LEAST_WINDOW), whole_ns);
	from_ns = fmin(fmax(from_ns, 0), whole_ns - length_ns);
	scan.from_ns = tui->span.first_ns + (uint64_t)from_ns;
	scan.to_ns = tui->span.first_ns + (uint64_t)(from_ns + length_ns) + 1;
	if (tui->tracks_whole && tui->tracks->from_ns == scan.from_ns &&
	    tui->tracks->to_ns == scan.to_ns && tui->tracks->columns == scan.columns)
		return;
	tracks = kp_tracks_stretch(tui->tracks ? tui->tracks : &nothing, scan.from_ns, scan.to_ns,
				   scan.columns);
	if (!tracks) {
		kp_tui_say(tui, "There is not enough memory for the timeline.");
		return;
	}
	kp_page_timeline_take(tui, tracks);
	tui->tracks_whole = false;
	if (tui->cursor_ns < scan.from_ns || tui->cursor_ns >= scan.to_ns)
		tui->cursor_ns = scan.from_ns + (scan.to_ns - scan.from_ns) / 2;
	kp_tui_scan(tui, &scan);
}

static double start_ns(const struct kp_tui *tui)
{
	return (double)(tui->tracks->from_ns - tui->span.first_ns);
}

static double length_ns(const struct kp_tui *tui)
{
	return (double)(tui->tracks->to_ns - tui->tracks->from_ns);
}

static const struct kp_track *track_here(const struct kp_tui *tui)
{
	const struct kp_item *item = kp_tui_selected(tui);

	return item ? &tui->tracks->tracks[item->index] : NULL;
}

/* The track that the user chose: one that is not (yet) in the window is remembered. */
static void remember(struct kp_tui *tui)
{
	size_t selected = tui->lists[KP_PAGE_TIMELINE].selected;
	const struct kp_track *track = tui->page == KP_PAGE_TIMELINE ? track_here(tui) : NULL;

	if (!track || tui->chosen_at == selected)
		return;
	tui->chosen = *track;
	tui->chosen_at = selected;
}

/* Selects it again, or else what is in its place. */
static void select_chosen(struct kp_tui *tui)
{
	struct kp_list *list = &tui->lists[KP_PAGE_TIMELINE];

	for (size_t i = 0; i < tui->item_count; i++) {
		if (kp_track_is(&tui->chosen, &tui->tracks->tracks[tui->items[i].index]))
			list->selected = i;
	}
	if (tui->item_count > 0 && list->selected >= tui->item_count)
		list->selected = tui->item_count - 1;
	tui->chosen_at = list->selected;
}

enum kp_status kp_page_timeline_fill(struct kp_tui *tui)
{
	const char *filter = tui->lists[KP_PAGE_TIMELINE].filter;
	enum kp_status status = KP_OK;

	remember(tui);
	if (!tui->tracks)
		look_at(tui, 0, 1e300);
	else if (tui->tracks->columns != columns_of(tui) ||
		 (!tui->tracks_whole && tui->scanning != KP_SCAN_TRACKS))
		look_at(tui, start_ns(tui), length_ns(tui) - 1);
	tui->item_count = 0;
	for (size_t i = 0; tui->tracks && i < tui->tracks->count && status == KP_OK; i++) {
		uint32_t index = tui->tracks->order[i];
		if (kp_tui_holds(tui->tracks->tracks[index].label, filter))
			status = kp_tui_add(tui, (struct kp_item){.index = index});
	}
	if (tui->tracks)
		select_chosen(tui);
	return status;
}

void kp_page_timeline_take(struct kp_tui *tui, struct kp_tracks *tracks)
{
	remember(tui);
	kp_tracks_free(tui->tracks);
	tui->tracks = tracks;
	if (tui->page == KP_PAGE_TIMELINE)
		tui->item_count = 0; /* they are of the older ones */
	tui->stale = true;
}

const char *kp_page_timeline_name(const struct kp_tui *tui, const struct kp_item *item)
{
	return tui->tracks->tracks[item->index].label;
}

static const struct {
	char letter;
	enum kp_role role;
} causes[KP_GAP_CAUSE_COUNT] = {
	[KP_GAP_MEMORY] = {'m', KP_ROLE_GAP_OTHER}, [KP_GAP_GRAPH] = {'g', KP_ROLE_GAP_GPU},
	[KP_GAP_OWN] = {'o', KP_ROLE_GAP_GPU},      [KP_GAP_LAUNCH] = {'l', KP_ROLE_GAP_HOST},
	[KP_GAP_SYNC] = {'s', KP_ROLE_GAP_HOST},    [KP_GAP_HOST] = {'h', KP_ROLE_GAP_HOST},
	[KP_GAP_DEVICE] = {'d', KP_ROLE_GAP_OTHER}, [KP_GAP_PROCESS] = {'p', KP_ROLE_GAP_OTHER},
	[KP_GAP_EDGE] = {'e', KP_ROLE_GAP_OTHER},   [KP_GAP_UNKNOWN] = {'u', KP_ROLE_GAP_OTHER},
};

static const char *const cause_words[KP_GAP_CAUSE_COUNT] = {
#define WORDS(name, key, text) [KP_GAP_##name] = (text),
	KP_GAP_CAUSES(WORDS)
#undef WORDS
};

static unsigned most_of(const float *parts)
{
	unsigned most = 0;

	for (unsigned k = 1; k < KP_GAP_CAUSE_COUNT; k++)
		most = parts[k] > parts[most] ? k : most;
	return most;
}

static unsigned cause_at(const struct kp_track *track, size_t column)
{
	return most_of(&track->values[column * KP_GAP_CAUSE_COUNT]);
}

static bool shows_gap(const struct kp_tracks *tracks, const struct kp_track *track, size_t column)
{
	return track->bins[column].covered_ns >= WORTH * kp_tracks_column_ns(tracks);
}

/* Idle time: the letter of its cause, large parts of a column in capitals. */
static void draw_gaps(struct kp_tui *tui, size_t row, const struct kp_track *track)
{
	double width_ns = kp_tracks_column_ns(tui->tracks);

	for (size_t i = 0; i < tui->tracks->columns; i++) {
		unsigned cause = cause_at(track, i);
		uint32_t letter = (uint32_t)causes[cause].letter;
		if (!shows_gap(tui->tracks, track, i))
			continue;
		if (track->bins[i].covered_ns >= width_ns / 2)
			letter = letter - 'a' + 'A';
		kp_canvas_fill(&tui->canvas, row, label_columns(tui) + i, 1, letter,
			       causes[cause].role);
	}
}

static void draw_counters(struct kp_tui *tui, size_t row, const struct kp_track *track)
{
	for (size_t i = 0; i < tui->tracks->columns; i++) {
		const struct kp_track_bin *bin = &track->bins[i];
		float rate = bin->covered_ns > 0 ? track->values[i] / bin->covered_ns : 0;
		uint32_t level = kp_canvas_level(track->most > 0 ? rate / track->most : 0);
		kp_canvas_fill(&tui->canvas, row, label_columns(tui) + i, 1, level, KP_ROLE_BAR);
	}
}

static enum kp_role role_of(const struct kp_track *track, uint32_t name)
{
	switch (track->kind) {
	case KP_TRACK_MEMORY:
		return KP_ROLE_MEMORY;
	case KP_TRACK_RANGES:
	case KP_TRACK_CALLS:
		return KP_ROLE_RANGE;
	default:
		return name & 1 ? KP_ROLE_KERNEL_A : KP_ROLE_KERNEL_B;
	}
}

/* How much of each column is covered; a column that is covered but for rounding is full. */
static void draw_density(struct kp_tui *tui, size_t row, const struct kp_track *track)
{
	double width_ns = kp_tracks_column_ns(tui->tracks);
	enum kp_role role = track->kind == KP_TRACK_STREAM ? KP_ROLE_BAR : KP_ROLE_DIM;

	for (size_t i = 0; i < tui->tracks->columns; i++) {
		double part = track->bins[i].covered_ns / width_ns;
		if (track->bins[i].covered_ns > 0 || track->bins[i].weight > 0)
			kp_canvas_fill(&tui->canvas, row, label_columns(tui) + i, 1,
				       kp_canvas_level(fmax(part, 0.01)), role);
	}
}

/* What is one by one and wide enough is a box with its name; its sides say where it goes on. */
static void draw_boxes(struct kp_tui *tui, size_t row, const struct kp_track *track)
{
	const struct kp_tracks *tracks = tui->tracks;
	size_t left = label_columns(tui);

	for (size_t i = 0; i < track->block_count; i++) {
		const struct kp_track_block *block = &track->blocks[i];
		bool goes_on = block->end_ns > tracks->to_ns;
		size_t from = kp_tracks_column(tracks, block->start_ns);
		size_t to = block->end_ns + 1 < tracks->to_ns
				    ? kp_tracks_column(tracks, block->end_ns)
				    : tracks->columns;
		enum kp_role role = role_of(track, block->name);
		if (to < from + LEAST_BOX || block->start_ns >= tracks->to_ns)
			continue;
		kp_canvas_fill(&tui->canvas, row, left + from, to - from, ' ', role);
		kp_canvas_fill(&tui->canvas, row, left + from, 1,
			       block->start_ns < tracks->from_ns ? '<' : '[', role);
		kp_canvas_put_name(&tui->canvas, row, left + from + 1, to - from - 2, role,
				   tracks->names[block->name].text);
		kp_canvas_fill(&tui->canvas, row, left + to - 1, 1, goes_on ? '>' : ']', role);
	}
}

static void draw_track(struct kp_tui *tui, size_t row, const struct kp_track *track, bool selected)
{
	kp_canvas_fill(&tui->canvas, row, 0, 1, selected ? '>' : ' ', KP_ROLE_PLAIN);
	kp_canvas_put(&tui->canvas, row, 1, label_columns(tui) - 2,
		      track->kind == KP_TRACK_GAPS ? KP_ROLE_STRONG : KP_ROLE_PLAIN, track->label);
	if (selected)
		kp_canvas_paint(&tui->canvas, row, 0, label_columns(tui) - 1, KP_ROLE_SELECTED);
	if (track->kind == KP_TRACK_GAPS) {
		draw_gaps(tui, row, track);
	} else if (track->kind == KP_TRACK_COUNTERS) {
		draw_counters(tui, row, track);
	} else {
		draw_density(tui, row, track);
		draw_boxes(tui, row, track);
	}
}

/* The scale: where the window begins and ends, and how long it is, with what has room. */
static void draw_scale(struct kp_tui *tui, size_t row)
{
	size_t columns = tui->tracks->columns, left = label_columns(tui), taken, width;
	const struct kp_human length = kp_human_duration(length_ns(tui), DIGITS);
	char text[128];

	kp_canvas_fill(&tui->canvas, row, left, columns, 0x2500, KP_ROLE_AXIS);
	snprintf(text, sizeof text, "%s ", kp_human_duration(start_ns(tui), DIGITS).text);
	taken = kp_canvas_put(&tui->canvas, row, left, columns, KP_ROLE_AXIS, text);
	snprintf(text, sizeof text, " %s ",
		 kp_human_duration(start_ns(tui) + length_ns(tui), DIGITS).text);
	kp_canvas_put_right(&tui->canvas, row, left, columns, KP_ROLE_AXIS, text);
	width = kp_canvas_width(text);
	taken = 2 * (taken > width ? taken : width) + 2;
	snprintf(text, sizeof text, " %s, %s kernels ", length.text,
		 kp_human_count(tui->tracks->launches).text);
	if (tui->tracks->stretched || taken + kp_canvas_width(text) > columns)
		snprintf(text, sizeof text, " %s ", length.text);
	width = kp_canvas_width(text);
	if (taken + width <= columns)
		kp_canvas_put(&tui->canvas, row, left + columns / 2 - width / 2, width,
			      KP_ROLE_HEAD, text);
}

/* The block of a track at the cursor; NULL: there is none, or they are too many. */
static const struct kp_track_block *block_at(const struct kp_tui *tui, const struct kp_track *track)
{
	for (size_t i = 0; i < track->block_count; i++) {
		const struct kp_track_block *block = &track->blocks[i];
		if (block->start_ns <= tui->cursor_ns && block->end_ns > tui->cursor_ns)
			return block;
	}
	return NULL;
}

/* What is at the cursor in the selected track, in words. */
static void describe(const struct kp_tui *tui, const struct kp_track *track, char *out, size_t size)
{
	size_t column = kp_tracks_column(tui->tracks, tui->cursor_ns);
	const struct kp_track_bin *bin = &track->bins[column];
	const struct kp_track_block *block = block_at(tui, track);
	double part = 100 * bin->covered_ns / kp_tracks_column_ns(tui->tracks);

	if (track->kind == KP_TRACK_GAPS)
		snprintf(out, size, "idle %.0f %% of this column: %s", part,
			 part > 0 ? cause_words[cause_at(track, column)] : "never");
	else if (track->kind == KP_TRACK_COUNTERS)
		snprintf(out, size, "%.0f GB/s, at most %.0f in this window",
			 bin->covered_ns > 0 ? track->values[column] / bin->covered_ns : 0,
			 track->most);
	else if (block)
		snprintf(out, size, "%s %s",
			 kp_human_duration((double)(block->end_ns - block->start_ns), DIGITS).text,
			 tui->tracks->names[block->name].text);
	else if (bin->weight > 0)
		snprintf(out, size, "covers %.0f %% of this column, mostly %s", part,
			 tui->tracks->names[bin->who].text);
	else
		snprintf(out, size, "nothing here");
}

/* The cursor's column, with nothing but blanks beneath where no track is. */
static void draw_cursor(struct kp_tui *tui, struct kp_area area)
{
	size_t column = label_columns(tui) + kp_tracks_column(tui->tracks, tui->cursor_ns);

	for (size_t i = 0; i < area.rows; i++) {
		struct kp_cell *cell = kp_canvas_at(&tui->canvas, area.row + i, column);
		if (cell && cell->base == ' ')
			kp_canvas_fill(&tui->canvas, area.row + i, column, 1, 0x2502,
				       KP_ROLE_SELECTED);
		else if (cell)
			cell->role = KP_ROLE_SELECTED;
	}
}

static void draw_what_is_there(struct kp_tui *tui, size_t row)
{
	const struct kp_track *track = track_here(tui);
	double at_ns = (double)(tui->cursor_ns - tui->span.first_ns);
	char text[512], what[384] = "";

	if (track)
		describe(tui, track, what, sizeof what);
	snprintf(text, sizeof text, " at %s: %s", kp_human_duration(at_ns, DIGITS + 2).text, what);
	kp_canvas_put(&tui->canvas, row, 0, tui->canvas.columns, KP_ROLE_STRONG, text);
}

/* What the letters of idle time on the screen mean, those of most time first. */
static void explain_gaps(const struct kp_tui *tui, size_t columns, struct kp_sheet *sheet)
{
	double totals[KP_GAP_CAUSE_COUNT] = {0};
	char text[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < tui->item_count; i++) {
		const struct kp_track *track = &tui->tracks->tracks[tui->items[i].index];
		for (size_t k = 0; track->kind == KP_TRACK_GAPS && k < tui->tracks->columns; k++)
			if (shows_gap(tui->tracks, track, k))
				totals[cause_at(track, k)] += track->bins[k].covered_ns;
	}
	for (;;) {
		unsigned most = 0;
		for (unsigned k = 1; k < KP_GAP_CAUSE_COUNT; k++)
			most = totals[k] > totals[most] ? k : most;
		if (!(totals[most] > 0) || used + 80 > sizeof text)
			break;
		totals[most] = 0;
		used += (size_t)snprintf(text + used, sizeof text - used, "%c %s; ",
					 causes[most].letter, cause_words[most]);
	}
	kp_sheet_clear(sheet);
	if (used)
		kp_sheet_say(sheet, KP_ROLE_DIM, columns, "idle",
			     "%scapital: half of the column or more", text);
}

static const char *why_empty(const struct kp_tui *tui)
{
	if (tui->lists[KP_PAGE_TIMELINE].filter[0])
		return "No track passes the filter; \\ changes it.";
	if (tui->scanning)
		return "Reading ...";
	return tui->unread != KP_OK ? "The trace cannot be read." : "Nothing is in this window.";
}

void kp_page_timeline_draw(struct kp_tui *tui, struct kp_area area)
{
	const struct kp_list *list = kp_tui_list(tui);
	struct kp_sheet legend = {0};
	size_t drawn = 0;

	if (!tui->tracks)
		return;
	draw_scale(tui, area.row);
	area.row++;
	area.rows = area.rows > 2 ? area.rows - 2 : 0;
	tui->body = area;
	kp_table_scroll(tui, area.rows);
	draw_what_is_there(tui, area.row + area.rows);
	for (; drawn < area.rows && list->top + drawn < tui->item_count; drawn++)
		draw_track(tui, area.row + drawn,
			   &tui->tracks->tracks[tui->items[list->top + drawn].index],
			   list->top + drawn == list->selected);
	if (tui->item_count == 0 && area.rows > 0)
		kp_canvas_put(&tui->canvas, area.row, 1, area.columns - 1, KP_ROLE_DIM,
			      why_empty(tui));
	explain_gaps(tui, area.columns - 1, &legend);
	if (drawn + 1 + legend.count <= area.rows) {
		area.rows -= legend.count;
		kp_sheet_draw(&legend, &tui->canvas,
			      (struct kp_area){.row = area.row + area.rows,
					       .column = 1,
					       .rows = legend.count,
					       .columns = area.columns - 1},
			      0);
	}
	kp_sheet_fini(&legend);
	draw_cursor(tui, area);
}

/* The kernel at the cursor: of the block there, else that with most of the column. */
void kp_page_timeline_enter(struct kp_tui *tui)
{
	const struct kp_track *track = track_here(tui);
	const struct kp_track_block *block = track ? block_at(tui, track) : NULL;
	size_t column = kp_tracks_column(tui->tracks, tui->cursor_ns);
	bool known = track && track->kind == KP_TRACK_STREAM &&
		     (block || track->bins[column].weight > 0);

	if (known && (!tui->report || !tui->part.complete)) {
		kp_tui_say(tui, "Kernels can be opened once the whole trace is read.");
		return;
	}
	if (!known) {
		kp_tui_say(tui, "There is no kernel at the cursor; ↑ and ↓ select a stream.");
		return;
	}
	struct kp_text mangled =
		tui->tracks->names[block ? block->name : track->bins[column].who].mangled;
	for (size_t i = 0; i < tui->report->kernel_count; i++) {
		const char *name = tui->report->kernels[i].mangled;
		if (strlen(name) != mangled.length ||
		    memcmp(name, mangled.bytes, mangled.length) != 0)
			continue;
		kp_tui_open_kernel(tui, i);
		return;
	}
}

/* ---- keys ---- */

/* Moves the cursor by columns; the window follows where it leaves. */
static void move_cursor(struct kp_tui *tui, double columns)
{
	double at_ns;

	if (!tui->tracks)
		return;
	at_ns = (double)(tui->cursor_ns - tui->span.first_ns) +
		columns * kp_tracks_column_ns(tui->tracks);
	at_ns = fmin(fmax(at_ns, 0), (double)(tui->span.last_ns - tui->span.first_ns));
	tui->cursor_ns = tui->span.first_ns + (uint64_t)at_ns;
	if (at_ns < start_ns(tui) || at_ns >= start_ns(tui) + length_ns(tui))
		look_at(tui, at_ns - length_ns(tui) / 2, length_ns(tui));
}

static void zoom(struct kp_tui *tui, double factor)
{
	double at_ns;

	if (!tui->tracks)
		return;
	at_ns = (double)(tui->cursor_ns - tui->span.first_ns);
	/* What is under the cursor stays there. */
	look_at(tui, at_ns - (at_ns - start_ns(tui)) * factor, length_ns(tui) * factor);
}

static void move_window(struct kp_tui *tui, double windows)
{
	double step_ns;

	if (!tui->tracks)
		return;
	step_ns = windows * length_ns(tui);
	move_cursor(tui, windows * (double)tui->tracks->columns);
	look_at(tui, start_ns(tui) + step_ns, length_ns(tui));
}

void kp_do_pan_left(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	move_cursor(tui, -1);
}

void kp_do_pan_right(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	move_cursor(tui, 1);
}

void kp_do_window_left(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	move_window(tui, -0.5);
}

void kp_do_window_right(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	move_window(tui, 0.5);
}

void kp_do_zoom_in(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	zoom(tui, 0.5);
}

void kp_do_zoom_out(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	zoom(tui, 2);
}

void kp_do_whole(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	look_at(tui, 0, 1e300);
}

/* The longest gaps of all GPUs in turn, each in the middle of a window five times as long. */
void kp_do_next_gap(struct kp_tui *tui, uint32_t code)
{
	const struct kp_timeline *timeline = tui->report ? tui->report->timeline : NULL;
	const struct kp_gap_long *next = NULL, *first = NULL;

	(void)code;
	for (size_t i = 0; timeline && i < tui->report->gpu_count; i++) {
		for (size_t k = 0; k < timeline->idle[i].longest_count; k++) {
			const struct kp_gap_long *gap = &timeline->idle[i].longest[k];
			if (!first || gap->at_ns < first->at_ns)
				first = gap;
			if (gap->at_ns + gap->length_ns / 2 > tui->cursor_ns &&
			    (!next || gap->at_ns < next->at_ns))
				next = gap;
		}
	}
	next = next ? next : first;
	if (!next || !tui->tracks) {
		kp_tui_say(tui, "No gaps are known.");
		return;
	}
	tui->cursor_ns = next->at_ns + next->length_ns / 2;
	look_at(tui, (double)(next->at_ns - tui->span.first_ns) - 2 * (double)next->length_ns,
		5 * (double)next->length_ns);
	kp_tui_say(tui, "%s idle, behind %s", kp_human_duration((double)next->length_ns, 3).text,
		   next->before ? next->before : "nothing");
}
