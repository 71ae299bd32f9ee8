/* What the trace holds, and the help; see pages.h. */
#include <inttypes.h>
#include <string.h>

#include "profiler/humanise.h"
#include "tui/keys.h"
#include "tui/live_pages.h"
#include "tui/state.h"

/* The one row of keys whose names have no room. */
#define NUMBERS "1 to 9"

static size_t width_of(const struct kp_tui *tui)
{
	return tui->canvas.columns > 2 ? tui->canvas.columns - 1 : 1;
}

static void say_counts(struct kp_tui *tui, const struct kp_report_counts *counts)
{
	const struct {
		const char *what;
		uint64_t count;
		bool always;
	} rows[] = {
		{"kernels in the trace", counts->kernels, true},
		{"of these launched by CUDA graphs", counts->graph_kernels, false},
		{"of these without times", counts->kernels_untimed, false},
		{"of these with impossible times", counts->kernels_invalid, false},
		{"dropped by CUPTI", counts->dropped, counts->dropped_known},
		{"delivered, but not written", counts->unwritten, false},
		{"lost in damaged parts of the file", counts->lost, false},
		{"left out by patterns", counts->filtered, false},
		{"issued while nothing was recorded", counts->out_of_window, false},
		{"out of order in a broken file", counts->displaced, false},
		{"damaged chunks", counts->damage.damaged_chunks, false},
		{"missing chunks", counts->damage.missing_chunks, false},
	};

	kp_sheet_head(&tui->sheet, "Counts");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!rows[i].always && rows[i].count == 0)
			continue;
		kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width_of(tui),
			     kp_human_count(rows[i].count).text, "%s", rows[i].what);
	}
	if (!counts->dropped_known)
		kp_sheet_say(&tui->sheet, KP_ROLE_WARNING, width_of(tui), "unknown",
			     "dropped by CUPTI: at least one process could not tell");
	if (counts->damage.torn_tail)
		kp_sheet_say(&tui->sheet, KP_ROLE_WARNING, width_of(tui), "torn",
			     "a file ends within a chunk: what was before it counts");
}

static void say_text(struct kp_tui *tui, const char *label, bool has, struct kp_text text)
{
	if (has && text.length)
		kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width_of(tui), label, "%.*s",
			     (int)(text.length < 2000 ? text.length : 2000), text.bytes);
}

static void say_process(struct kp_tui *tui, const struct kp_process *process)
{
	const struct kp_process_info *info = &process->info;
	char title[64];

	snprintf(title, sizeof title, "Process %" PRIu64, info->pid);
	kp_sheet_head(&tui->sheet, KP_HAS(info, PROCESS, pid) ? title : "Process");
	say_text(tui, "command", KP_HAS(info, PROCESS, command), info->command);
	say_text(tui, "host", KP_HAS(info, PROCESS, host), info->host);
	say_text(tui, "rank", KP_HAS(info, PROCESS, rank), info->rank);
	say_text(tui, "driver", KP_HAS(info, PROCESS, driver_name), info->driver_name);
	say_text(tui, "CUPTI", KP_HAS(info, PROCESS, cupti_path), info->cupti_path);
	for (size_t i = 0; i < process->device_count; i++)
		say_text(tui, i ? "" : "GPUs", KP_HAS(&process->devices[i], DEVICE, name),
			 process->devices[i].name);
	for (size_t i = 0; i < process->note_count; i++) {
		const struct kp_note *note = &process->notes[i];
		if (!KP_HAS(note, NOTE, text))
			continue;
		kp_sheet_say(&tui->sheet,
			     note->level > KP_NOTE_INFO ? KP_ROLE_WARNING : KP_ROLE_PLAIN,
			     width_of(tui), note->level > KP_NOTE_INFO ? "warning" : "note", "%.*s",
			     (int)(note->text.length < 2000 ? note->text.length : 2000),
			     note->text.bytes);
	}
}

enum kp_status kp_page_info_fill(struct kp_tui *tui)
{
	const struct kp_reader *reader = tui->source.reader;
	size_t count = kp_reader_process_count(reader);

	tui->item_count = 0;
	kp_sheet_clear(&tui->sheet);
	kp_sheet_head(&tui->sheet, "Files");
	for (size_t i = 0; i < tui->source.path_count; i++)
		kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width_of(tui), NULL, "%s",
			     tui->source.paths[i]);
	kp_sheet_say(&tui->sheet, KP_ROLE_DIM, width_of(tui), NULL, "%s, %zu process%s",
		     kp_human_bytes(kp_reader_bytes(reader), 4).text, count,
		     count == 1 ? "" : "es");
	if (tui->report) {
		kp_sheet_head(&tui->sheet, "Advice");
		kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width_of(tui), NULL, "%s",
			     tui->report->advice);
		say_counts(tui, &tui->report->counts);
	}
	for (size_t i = 0; i < count; i++)
		say_process(tui, kp_reader_process(reader, i));
	return tui->sheet.status;
}

static void say_keys(struct kp_tui *tui, bool here, uint32_t page_bit)
{
	uint32_t not_here = tui->top ? ~(uint32_t)KP_PAGES_LIVE : KP_PAGES_LIVE;

	for (size_t i = 0; i < kp_key_count; i++) {
		const struct kp_key *key = &kp_keys[i];
		bool general = (key->pages | not_here) == UINT32_MAX;
		if (here ? general || !(key->pages & page_bit) : !general)
			continue;
		kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width_of(tui),
			     strlen(key->names) < KP_SHEET_LABEL ? key->names : NUMBERS, "%s",
			     key->help);
	}
}

enum kp_status kp_page_help_fill(struct kp_tui *tui)
{
	enum kp_page_id beneath = tui->depth > 0 ? tui->back[tui->depth - 1] : KP_PAGE_OPERATORS;
	char title[64];

	tui->item_count = 0;
	kp_sheet_clear(&tui->sheet);
	snprintf(title, sizeof title, "Keys of this view: %s", kp_page_title(beneath));
	kp_sheet_head(&tui->sheet, title);
	say_keys(tui, true, 1U << beneath);
	kp_sheet_head(&tui->sheet, "Keys everywhere");
	say_keys(tui, false, 0);
	if (tui->top)
		return tui->sheet.status;
	kp_sheet_head(&tui->sheet, "Gaps in the timeline");
#define CAUSE(name, key, words)                                                                    \
	kp_sheet_say(&tui->sheet, KP_ROLE_PLAIN, width_of(tui), #name, "%s", words);
	KP_GAP_CAUSES(CAUSE)
#undef CAUSE
	kp_sheet_say(&tui->sheet, KP_ROLE_DIM, width_of(tui), NULL,
		     "The timeline shows the first letter of a cause, in small. It tells causes "
		     "from the window alone; the report also looks at timed calls.");
	return tui->sheet.status;
}
