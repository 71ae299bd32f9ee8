/* GPUs and processes; see pages.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "profiler/fates.h"
#include "profiler/humanise.h"
#include "tui/state.h"
#include "tui/table.h"

enum { GPU_ROW, PROCESS_ROW };

static const struct kp_gpu_row *gpu_of(const struct kp_tui *tui, const struct kp_item *item)
{
	return item->kind == GPU_ROW ? &tui->report->gpus[item->index] : NULL;
}

static const struct kp_process_row *process_of(const struct kp_tui *tui, const struct kp_item *item)
{
	return item->kind == PROCESS_ROW ? &tui->report->processes[item->index] : NULL;
}

static double kernels_number(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_gpu_row *gpu = gpu_of(tui, item);

	return (double)(gpu ? gpu->kernels : process_of(tui, item)->kernels);
}

static double total_number(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_gpu_row *gpu = gpu_of(tui, item);

	return (double)(gpu ? gpu->kernel_ns : process_of(tui, item)->kernel_ns);
}

static double busy_number(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_gpu_row *gpu = gpu_of(tui, item);

	return (double)(gpu ? gpu->busy_ns : process_of(tui, item)->busy_ns);
}

/* Of the span of a GPU; of a process, of the spans of those it used. */
static double busy_pct_number(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_gpu_row *gpu = gpu_of(tui, item);
	double span_ns = gpu ? (double)gpu->span_ns : 0;

	if (!gpu) {
		const struct kp_process_row *row = process_of(tui, item);
		for (size_t i = 0; i < row->gpu_count; i++)
			span_ns += (double)tui->report->gpus[row->gpus[i]].span_ns;
	}
	return span_ns > 0 ? 100 * busy_number(tui, item) / span_ns : NAN;
}

static double idle_number(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_gpu_row *gpu = gpu_of(tui, item);

	return gpu && tui->report->timeline
		       ? (double)tui->report->timeline->idle[item->index].idle_ns
		       : NAN;
}

static double clock_number(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_gpu_row *gpu = gpu_of(tui, item);

	return gpu && gpu->clocks.sm_mhz.known ? gpu->clocks.sm_mhz.median : NAN;
}

static double power_number(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_gpu_row *gpu = gpu_of(tui, item);

	return gpu && gpu->clocks.power_mw.known ? gpu->clocks.power_mw.mean / 1000 : NAN;
}

static double missing_number(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_process_row *row = process_of(tui, item);

	return row && row->missing_known ? (double)row->missing : NAN;
}

#define TEXT(name, formatted)                                                                      \
	static void name##_text(const struct kp_tui *tui, const struct kp_item *item,              \
				struct kp_value *out)                                              \
	{                                                                                          \
		double value = name##_number(tui, item);                                           \
                                                                                                   \
		snprintf(out->text, sizeof out->text, "%s", isnan(value) ? "-" : (formatted));     \
	}
TEXT(kernels, kp_human_count((uint64_t)value).text)
TEXT(total, kp_human_duration(value, 3).text)
TEXT(busy, kp_human_duration(value, 3).text)
TEXT(busy_pct, kp_human_percent(value).text)
TEXT(idle, kp_human_duration(value, 3).text)
TEXT(clock, kp_human_count((uint64_t)value).text)
TEXT(power, kp_human_count((uint64_t)value).text)
TEXT(missing, kp_human_count((uint64_t)value).text)

static void what_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	const struct kp_process_row *row = process_of(tui, item);
	const struct kp_process_info *info = row ? &row->process->info : NULL;

	if (!row)
		snprintf(out->text, sizeof out->text, "GPU %zu", item->index);
	else if (KP_HAS(info, PROCESS, pid))
		snprintf(out->text, sizeof out->text, "pid %" PRIu64, info->pid);
	else
		snprintf(out->text, sizeof out->text, "process");
}

static void fate_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	const struct kp_process_row *row = process_of(tui, item);

	if (!row)
		return;
	snprintf(out->text, sizeof out->text, "%s", kp_fate_words(row->fate));
	if (row->fate != KP_FATE_ENDED && row->fate != KP_FATE_REPLACED)
		out->role = KP_ROLE_WARNING;
}

// clang-format off
const struct kp_column kp_page_processes_columns[KP_PROCESSES_COLUMNS] = {
	{"What", NULL, "a GPU, or a process by its number", 11, true, false, 0,
	 what_text, NULL, NULL},
	{"Kernels", NULL, "that ran", 11, false, false, 6, kernels_text, kernels_number, NULL},
	{"Total", NULL, "sum of their durations, more than the span where many ran at a time", 7,
	 false, false, 5, total_text, total_number, NULL},
	{"Busy", NULL, "time in which any ran", 7, false, false, 9, busy_text, busy_number, NULL},
	{"Of span", NULL, "part of the span in which any ran", 7, false, false, 0,
	 busy_pct_text, busy_pct_number, NULL},
	{"Idle", NULL, "time in which none ran", 7, false, false, 4, idle_text, idle_number, NULL},
	{"MHz", NULL, "median clock of the SMs under load", 5, false, false, 3,
	 clock_text, clock_number, NULL},
	{"W", NULL, "mean power under load", 5, false, false, 2, power_text, power_number, NULL},
	{"Missing", NULL, "launches that are nowhere", 8, false, false, 1,
	 missing_text, missing_number, NULL},
	{"End", NULL, "how the process ended", 17, true, false, 8, fate_text, NULL, NULL},
};
// clang-format on

const char *kp_page_processes_name(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_gpu_row *gpu = gpu_of(tui, item);
	const struct kp_process_info *info;

	if (gpu)
		return gpu->info && KP_HAS(gpu->info, DEVICE, name) ? gpu->info->name.bytes
								    : "(not described)";
	info = &process_of(tui, item)->process->info;
	return KP_HAS(info, PROCESS, command) ? info->command.bytes : "(no command recorded)";
}

enum kp_status kp_page_processes_fill(struct kp_tui *tui)
{
	enum kp_status status;

	tui->item_count = 0;
	if (!tui->report)
		return KP_OK;
	status = kp_table_fill(tui, tui->report->gpu_count, GPU_ROW);
	if (status == KP_OK)
		status = kp_table_fill(tui, tui->report->process_count, PROCESS_ROW);
	for (size_t i = 0; i < tui->item_count; i++)
		tui->items[i].role = tui->items[i].kind == GPU_ROW ? KP_ROLE_STRONG : KP_ROLE_PLAIN;
	return status;
}

void kp_page_processes_enter(struct kp_tui *tui)
{
	kp_tui_open(tui, KP_PAGE_INFO);
}
