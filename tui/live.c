/* «kprof top» in the explorer; see live.h. */
#include "tui/live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/humanise.h"
#include "profiler/text.h"
#include "tui/actions.h"

#define DIGITS 3
#define WAIT_MS 100
#define FRAME_WAITS 10 /* so many waits are a second */
#define GPU_NAME_COLUMNS 30

enum kp_status kp_live_init(struct kp_tui *tui)
{
	tui->top = calloc(1, sizeof *tui->top);
	if (!tui->top)
		return KP_NO_MEMORY;
	tui->page = KP_PAGE_LIVE_KERNELS;
	kp_top_init(tui->top, tui->source.live);
	return KP_OK;
}

void kp_live_fini(struct kp_tui *tui)
{
	if (tui->top)
		kp_top_fini(tui->top);
	free(tui->top);
}

/* Makes the rows anew, and selects again what was selected. */
static void update(struct kp_tui *tui)
{
	const struct kp_page *page = &kp_pages[tui->page];
	const struct kp_item *item = kp_tui_selected(tui);
	char name[1024] = "";

	if (page->name && item && !tui->stale)
		snprintf(name, sizeof name, "%s", page->name(tui, item));
	tui->trouble = kp_top_update(tui->top);
	tui->item_count = 0;
	tui->stale = true;
	if (tui->trouble == KP_OK)
		kp_tui_select_again(tui, name);
}

bool kp_live_work(struct kp_tui *tui)
{
	struct kp_top *top = tui->top;
	const struct kp_top_view *view = top->source.refresh(top->source.context);

	if (view && view->closing)
		tui->closed = true;
	if (!view || (top->paused && !view->ended))
		return false;
	top->view = *view;
	top->recording = false;
	for (size_t i = 0; i < view->process_count; i++)
		top->recording |= view->processes[i].image && view->processes[i].alive &&
				  view->processes[i].image->head.recording;
	update(tui);
	return true;
}

/* ---- words ---- */

static size_t count_gpus(const struct kp_top *top)
{
	size_t count = 0;

	for (size_t i = 0; i < top->gpu_count; i++)
		count += top->gpus[i].process == KP_TOP_ALL;
	return count;
}

static void describe_choice(const struct kp_top *top, char *out, size_t size)
{
	const struct kp_top_choice *choice = &top->choice;
	size_t used = 0;

	out[0] = '\0';
	if (choice->pid)
		used = (size_t)snprintf(out, size, "  process %u", choice->pid);
	if (choice->device != KP_BOARD_NO_DEVICE && used < size)
		snprintf(out + used, size - used, "  GPU %u", choice->device);
}

void kp_live_describe(const struct kp_tui *tui, char *out, size_t size)
{
	const struct kp_top *top = tui->top;
	char choice[64];
	size_t count = top->view.process_count;

	describe_choice(top, choice, sizeof choice);
	snprintf(out, size, "%s%s%s%s  %zu process%s, %zu GPU%s",
		 top->view.state ? top->view.state : "", choice, top->paused ? "  PAUSED" : "",
		 top->recording ? "  RECORDING" : "", count, count == 1 ? "" : "es",
		 count_gpus(top), count_gpus(top) == 1 ? "" : "s");
}

void kp_live_describe_right(const struct kp_tui *tui, char *out, size_t size)
{
	const struct kp_top *top = tui->top;
	const struct kp_human span = kp_human_duration(top->span_s * 1e9, DIGITS);

	if (top->span_s <= 0)
		snprintf(out, size, "waiting");
	else if (top->all_time && top->bases)
		snprintf(out, size, "%s since reset", span.text);
	else if (top->all_time)
		snprintf(out, size, "%s since start", span.text);
	else
		snprintf(out, size, "last %.0f s", top->span_s);
}

struct kp_human kp_live_rate(double per_s)
{
	struct kp_human text;

	if (per_s >= 100)
		return kp_human_count((uint64_t)llround(fmin(per_s, 1e18)));
	snprintf(text.text, sizeof text.text, per_s < 10 ? "%.2f" : "%.1f", per_s);
	return text;
}

size_t kp_live_sparkline(const double *numbers, size_t count, size_t columns, double most,
			 char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < columns && used + 4 < size; i++) {
		size_t from = i * count / columns, until = (i + 1) * count / columns;
		double sum = 0;
		for (size_t k = from; k < until; k++)
			sum += numbers[k];
		double part = most > 0 && until > from ? sum / (double)(until - from) / most : 0;
		used += kp_canvas_put_level(out + used, part);
	}
	out[used] = '\0';
	return used;
}

static bool has_kernels(const struct kp_top *top)
{
	for (size_t i = 0; i < top->view.process_count; i++)
		if (top->view.processes[i].image && top->view.processes[i].image->head.trail)
			return true;
	return false;
}

const char *kp_live_empty(const struct kp_tui *tui)
{
	const struct kp_top *top = tui->top;

	if (top->view.process_count == 0)
		return top->view.ended ? "No process has used the GPU."
				       : "No process has used the GPU so far.";
	if (tui->page == KP_PAGE_LIVE_RANGES)
		return "No NVTX range has ended in this time.";
	if (has_kernels(top))
		return "No kernel has run in this time.";
	return top->rule_count && !top->recording
		       ? "Nothing is recorded of kernels here; w begins to."
		       : "No kernel has run so far.";
}

/* ---- above the rows ---- */

static void draw_rates(struct kp_tui *tui, size_t row, size_t columns)
{
	const struct kp_top *top = tui->top;
	const struct kp_top_rate *rate = &top->rate;
	char text[256];
	size_t used;

	used = (size_t)snprintf(text, sizeof text, " %s kernels/s",
				kp_live_rate(top->calls_per_s).text);
	if (rate->known && rate->of_range)
		used += (size_t)snprintf(text + used, sizeof text - used, "   %s/s of «%.60s»",
					 kp_live_rate(rate->per_s).text, top->source.unit_range);
	else if (rate->known)
		used += (size_t)snprintf(text + used, sizeof text - used,
					 "   %s iterations/s of %u kernels",
					 kp_live_rate(rate->per_s).text, rate->period);
	if (rate->known && !isnan(rate->mean_ns))
		used += (size_t)snprintf(text + used, sizeof text - used, ", %s each",
					 kp_human_duration(rate->mean_ns, DIGITS).text);
	if (rate->known && rate->pid && top->view.process_count > 1)
		snprintf(text + used, sizeof text - used, " (process %u)", rate->pid);
	kp_canvas_put(&tui->canvas, row, 0, columns, KP_ROLE_STRONG, text);
}

static void draw_gpu(struct kp_tui *tui, size_t row, size_t columns, const struct kp_top_gpu *gpu)
{
	char text[256];
	size_t name = columns >= 72 ? GPU_NAME_COLUMNS : 6, at, left;

	snprintf(text, sizeof text, " GPU %u %s", gpu->device, columns >= 72 ? gpu->name : "");
	kp_canvas_put(&tui->canvas, row, 0, name, KP_ROLE_PLAIN, text);
	at = name + 1;
	snprintf(text, sizeof text, "busy %5.1f %% ", gpu->busy_pct);
	at += kp_canvas_put(&tui->canvas, row, at, columns - at, KP_ROLE_STRONG, text);
	left = columns > at + 1 ? columns - at - 1 : 0;
	if (left > KP_TOP_HISTORY)
		left = KP_TOP_HISTORY;
	kp_live_sparkline(gpu->history, KP_TOP_HISTORY, left, 100, text, sizeof text);
	kp_canvas_put(&tui->canvas, row, at, left, KP_ROLE_BAR, text);
}

struct kp_area kp_live_draw_head(struct kp_tui *tui, struct kp_area area)
{
	const struct kp_top *top = tui->top;
	size_t room = area.rows / 4; /* rows matter more */
	size_t used = 0;

	for (size_t i = 0; i < top->gpu_count && used + 1 < room; i++)
		if (top->gpus[i].process == KP_TOP_ALL)
			draw_gpu(tui, area.row + used++, area.columns, &top->gpus[i]);
	if (used < room)
		draw_rates(tui, area.row + used++, area.columns);
	area.row += used;
	area.rows -= used;
	return area;
}

/* ---- without a terminal ---- */

static enum kp_status print_frame(struct kp_tui *tui)
{
	enum kp_status status = kp_tui_draw(tui);

	if (status == KP_OK)
		kp_tui_print(tui);
	fflush(tui->printed);
	return status;
}

/* Waits, and takes in what comes, at most so many times; 0: until it has ended. */
static void watch(struct kp_tui *tui, unsigned waits)
{
	const struct kp_top_source *source = &tui->top->source;

	for (unsigned i = 0; !tui->top->view.ended && !tui->closed && (!waits || i < waits); i++) {
		source->wait(source->context, WAIT_MS);
		kp_live_work(tui);
	}
}

void kp_live_wait(struct kp_tui *tui)
{
	const struct kp_top *top = tui->top;
	uint64_t calls = top->calls, second = top->second;

	/* Figures of a steady program may be the same for ever: a second more is news, too. */
	while (!top->view.ended && !tui->closed && top->calls == calls &&
	       (top->second == second || !has_kernels(top)))
		watch(tui, 1);
}

enum kp_status kp_live_frames(struct kp_tui *tui, size_t frames)
{
	enum kp_status status = KP_OK;

	if (frames == 0) {
		watch(tui, 0);
		return print_frame(tui);
	}
	for (size_t i = 0; i < frames && status == KP_OK; i++) {
		watch(tui, FRAME_WAITS);
		status = print_frame(tui);
	}
	return status;
}

/* ---- keys ---- */

void kp_do_pause(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	tui->top->paused = !tui->top->paused;
	if (tui->top->paused)
		kp_tui_say(tui, "Paused: the screen stands still, the program does not.");
}

void kp_do_reset(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	tui->trouble = kp_top_reset(tui->top);
	tui->top->choice.seconds = 0;
	update(tui);
	kp_tui_say(tui, "Counted from now on.");
}

void kp_do_span(struct kp_tui *tui, uint32_t code)
{
	static const unsigned spans[] = {1, 10, 60, 0};
	const size_t count = sizeof spans / sizeof *spans;
	unsigned *seconds = &tui->top->choice.seconds;
	size_t at = 0;

	(void)code;
	while (at < count - 1 && spans[at] != *seconds)
		at++;
	*seconds = spans[(at + 1) % count];
	update(tui);
}

void kp_do_record(struct kp_tui *tui, uint32_t code)
{
	const struct kp_top_source *source = &tui->top->source;
	char words[sizeof tui->message] = "There is nothing to record here.";

	(void)code;
	if (source->record)
		source->record(source->context, !tui->top->recording, words, sizeof words);
	kp_tui_say(tui, "%s", words);
}
