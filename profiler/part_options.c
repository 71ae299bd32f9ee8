/* The part of a trace that is looked at; see part_options.h. */
#include "profiler/part_options.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/range_choice.h"
#include "profiler/say.h"
#include "trace/vector.h"

#define AT(member) offsetof(struct kp_settings, member)

static const struct kp_option part_options[] = {
	{.name = "from",
	 .type = KP_OPTION_TEXT,
	 .offset = AT(from),
	 .argument = "TIME",
	 .help = "Leave out what began before TIME, counted from the first record of the trace: "
		 "seconds, or with ms, us or ns behind it."},
	{.name = "to",
	 .type = KP_OPTION_TEXT,
	 .offset = AT(to),
	 .argument = "TIME",
	 .help = "Leave out what began at TIME or later, counted likewise."},
	{.name = "process",
	 .type = KP_OPTION_WORDS,
	 .offset = AT(pids),
	 .argument = "PID",
	 .help = "Look at the process PID alone. May be given several times."},
	{.name = "range",
	 .type = KP_OPTION_TEXT,
	 .offset = AT(range),
	 .argument = "NAME[:N-M]",
	 .help = "Look at what began while an NVTX range called NAME was open, of any process and "
		 "thread: all of them, or the N-th to the M-th in order of their start. NAME:N is "
		 "the N-th alone, NAME:N- all from the N-th on. GPUs work behind their programs: "
		 "what a range launched may begin after its end; --by range knows that."},
	{0},
};
const struct kp_option_group kp_part_group = {"Which part of the trace", part_options};

/* ---- processes ---- */

static bool find_pid(struct kp_reader *reader, const char *text, uint8_t *processes)
{
	char *end;
	uint64_t pid = strtoull(text, &end, 10);
	bool found = false;

	if (*text < '0' || *text > '9' || *end) {
		kp_fail("--process %s: it is the number of a process", text);
		return false;
	}
	for (size_t i = 0; i < kp_reader_process_count(reader); i++) {
		const struct kp_process_info *info = &kp_reader_process(reader, i)->info;

		if (!KP_HAS(info, PROCESS, pid) || info->pid != pid)
			continue;
		processes[i] = 1;
		found = true;
	}
	if (!found)
		kp_fail("--process %s: no such process; kprof report --by process lists them",
			text);
	return found;
}

static bool choose_processes(struct kp_reader *reader, const struct kp_words *pids,
			     struct kp_part *part, struct kp_reader_part *wanted)
{
	bool found = true;

	if (!pids->count)
		return true;
	part->processes = calloc(kp_reader_process_count(reader) + 1, 1);
	if (!part->processes) {
		kp_fail("no memory");
		return false;
	}
	for (size_t i = 0; found && i < pids->count; i++)
		found = find_pid(reader, pids->items[i], part->processes);
	wanted->processes = part->processes;
	return found;
}

/* ---- times ---- */

static bool parse_time(const char *name, const char *text, double *ns)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
	char *end;
	double number = strtod(text, &end);

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (end == text || strcmp(end, units[i].suffix) != 0 || !(number >= 0) ||
		    number * units[i].ns > 1e18)
			continue;
		*ns = number * units[i].ns;
		return true;
	}
	kp_fail("--%s %s: it is a time in seconds, or with ms, us or ns behind it", name, text);
	return false;
}

/* A time of the trace that an option gives; `out` is as it was where it is not given. */
static bool choose_time(const char *name, const char *text, uint64_t first_ns, uint64_t *out)
{
	double ns;

	if (!text)
		return true;
	if (!parse_time(name, text, &ns))
		return false;
	*out = first_ns + (uint64_t)llround(ns);
	return true;
}

/* The window that --from and --to ask for. Where nothing of the run is before it, or behind it, it
 * has no border there: what was read of counters and clocks before and after the run stays. */
static bool choose_window(struct kp_reader *reader, const struct kp_settings *settings,
			  struct kp_reader_window *window)
{
	struct kp_reader_span span = kp_reader_span(reader);

	*window = (struct kp_reader_window){0, UINT64_MAX};
	if (!choose_time("from", settings->from, span.first_ns, &window->begin_ns) ||
	    !choose_time("to", settings->to, span.first_ns, &window->end_ns))
		return false;
	if (settings->from && settings->to && window->begin_ns >= window->end_ns) {
		kp_fail("--from %s is not before --to %s", settings->from, settings->to);
		return false;
	}
	if (window->begin_ns > span.last_ns || window->end_ns <= span.first_ns ||
	    window->begin_ns >= window->end_ns) {
		kp_fail("nothing lies between --from and --to: the trace is %.9g s long",
			(double)(span.last_ns - span.first_ns) / 1e9);
		return false;
	}
	if (window->begin_ns <= span.first_ns)
		window->begin_ns = 0;
	if (window->end_ns > span.last_ns)
		window->end_ns = UINT64_MAX;
	return true;
}

static bool is_all(const struct kp_reader_window *window)
{
	return window->begin_ns == 0 && window->end_ns == UINT64_MAX;
}

/* ---- ranges ---- */

struct list {
	struct kp_reader_window *items;
	size_t count, capacity;
};

static int by_begin(const void *left, const void *right)
{
	const struct kp_reader_window *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* All ranges of that name, in no order. Errors: KP_NO_MEMORY, those of the reader. */
static enum kp_status find_ranges(struct kp_reader *reader, const char *name, struct list *list)
{
	size_t length = strlen(name);
	struct kp_event event;
	enum kp_status status;

	while ((status = kp_reader_next(reader, &event)) == KP_OK) {
		for (size_t i = 0; event.kind == KP_EVENT_RANGES && i < event.count; i++) {
			const struct kp_range *range = &event.ranges[i];
			struct kp_text text = kp_process_string(event.process, range->name);

			if (text.length != length || memcmp(text.bytes, name, length) != 0 ||
			    kp_time_quality(range->start_ns, range->end_ns) != KP_TIME_VALID)
				continue;
			if (!kp_vector_grow((void **)&list->items, list->count, &list->capacity,
					    sizeof *list->items))
				return KP_NO_MEMORY;
			list->items[list->count++] =
				(struct kp_reader_window){range->start_ns, range->end_ns};
		}
	}
	return status == KP_END ? KP_OK : status;
}

/* Leaves the chosen ones, as far as they lie within the bounds, joined where they overlap. */
static void cut_ranges(struct list *list, const struct kp_range_choice *choice,
		       const struct kp_reader_window *bounds)
{
	size_t kept = 0;

	qsort(list->items, list->count, sizeof *list->items, by_begin);
	for (size_t i = 0; i < list->count; i++) {
		struct kp_reader_window window = list->items[i];

		if (i + 1 < choice->first || i + 1 > choice->last)
			continue;
		if (window.begin_ns < bounds->begin_ns)
			window.begin_ns = bounds->begin_ns;
		if (window.end_ns > bounds->end_ns)
			window.end_ns = bounds->end_ns;
		if (window.begin_ns >= window.end_ns)
			continue;
		if (!kept || list->items[kept - 1].end_ns < window.begin_ns)
			list->items[kept++] = window;
		else if (list->items[kept - 1].end_ns < window.end_ns)
			list->items[kept - 1].end_ns = window.end_ns;
	}
	list->count = kept;
}

static bool choose_ranges(struct kp_reader *reader, const char *text,
			  const struct kp_reader_part *wanted,
			  const struct kp_reader_window *bounds, struct list *list)
{
	const struct kp_reader_part ranges = {.processes = wanted->processes, .ranges_alone = true};
	struct kp_range_choice choice;
	enum kp_status status;

	if (!kp_range_choice_parse(text, &choice)) {
		kp_fail("--range %s: it is NAME, NAME:N or NAME:N-M, with N from 1 on", text);
		return false;
	}
	status = kp_reader_select(reader, &ranges);
	if (status == KP_OK)
		status = find_ranges(reader, choice.name, list);
	if (status != KP_OK) {
		kp_fail("cannot read the ranges: %s", kp_status_message(status));
		return false;
	}
	if (list->count)
		cut_ranges(list, &choice, bounds);
	if (!list->count)
		kp_fail("--range %s: the trace has none there; kprof report --by range lists them",
			text);
	return list->count > 0;
}

/* ---- all ---- */

bool kp_part_select(struct kp_reader *reader, const struct kp_settings *settings,
		    struct kp_part *part)
{
	struct kp_reader_part wanted = {0};
	struct kp_reader_window window = {0};
	struct list list = {0};
	bool timed = settings->from || settings->to || settings->range, chosen = true;

	if (!choose_processes(reader, &settings->pids, part, &wanted) ||
	    (timed && !choose_window(reader, settings, &window)))
		return false;
	/* A part that is all of the trace is none: its figures are those of the whole. */
	if (timed && !settings->range && is_all(&window))
		timed = false;
	if (settings->range)
		chosen = choose_ranges(reader, settings->range, &wanted, &window, &list);
	else if (timed &&
		 kp_vector_grow((void **)&list.items, 0, &list.capacity, sizeof *list.items))
		list.items[list.count++] = window;
	wanted.windows = part->windows = list.items;
	wanted.window_count = list.count;
	if (!chosen)
		return false;
	if ((timed && !list.items) || kp_reader_select(reader, &wanted) != KP_OK) {
		kp_fail("no memory");
		return false;
	}
	return true;
}

void kp_part_fini(struct kp_part *part)
{
	free(part->processes);
	free(part->windows);
	*part = (struct kp_part){0};
}
