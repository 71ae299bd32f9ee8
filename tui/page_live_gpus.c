/* GPUs and processes of a running program; see pages.h. */
#include <math.h>

#include "profiler/humanise.h"
#include "tui/live.h"
#include "tui/table.h"

#define SPARK_COLUMNS 12

static const struct kp_top_gpu *gpu_of(const struct kp_tui *tui, const struct kp_item *item)
{
	return &tui->top->gpus[item->index];
}

static void what_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	const struct kp_top_gpu *gpu = gpu_of(tui, item);

	if (gpu->process == KP_TOP_ALL)
		snprintf(out->text, sizeof out->text, "GPU %u", gpu->device);
	else
		snprintf(out->text, sizeof out->text, "pid %u",
			 tui->top->view.processes[gpu->process].pid);
}

static void busy_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%.1f %%", gpu_of(tui, item)->busy_pct);
}

static void kernels_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s",
		 kp_human_duration(gpu_of(tui, item)->kernel_ns_per_s, 3).text);
}

static void calls_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s",
		 kp_live_rate(gpu_of(tui, item)->calls_per_s).text);
}

static void count_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s", kp_human_count(gpu_of(tui, item)->calls).text);
}

static void spark_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	kp_live_sparkline(gpu_of(tui, item)->history, KP_TOP_HISTORY, SPARK_COLUMNS, 100, out->text,
			  sizeof out->text);
}

#define NUMBER(name, member)                                                                       \
	static double name(const struct kp_tui *tui, const struct kp_item *item)                   \
	{                                                                                          \
		return (double)gpu_of(tui, item)->member;                                          \
	}
NUMBER(busy_number, busy_pct)
NUMBER(kernels_number, kernel_ns_per_s)
NUMBER(calls_number, calls_per_s)
NUMBER(count_number, calls)

// clang-format off
const struct kp_column kp_page_live_gpus_columns[KP_LIVE_GPUS_COLUMNS] = {
	{"What", NULL, "a GPU, or a process on it by its number", 11, true, false, 0,
	 what_text, NULL, NULL},
	{"Busy", NULL, "part of the time in which any kernel ran; the sum of its processes, at "
	 "most 100 %", 8, false, false, 0, busy_text, busy_number, NULL},
	{"Time/s", NULL, "time of kernels in each second, summed over streams", 8, false, false, 3,
	 kernels_text, kernels_number, NULL},
	{"Calls/s", NULL, "kernels in a second", 8, false, false, 2,
	 calls_text, calls_number, NULL},
	{"Calls", NULL, "kernels in all", 9, false, false, 1, count_text, count_number, NULL},
	{"Last minute", NULL, "how busy, of 100 %", SPARK_COLUMNS, true, false, 4,
	 spark_text, NULL, NULL},
};
// clang-format on

const char *kp_page_live_gpus_name(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_top_gpu *gpu = gpu_of(tui, item);

	if (gpu->process == KP_TOP_ALL)
		return gpu->name[0] ? gpu->name : "(not described)";
	const struct kp_top_process *process = &tui->top->view.processes[gpu->process];
	return process->command[0] ? process->command : "(unknown)";
}

enum kp_status kp_page_live_gpus_fill(struct kp_tui *tui)
{
	enum kp_status status;

	tui->item_count = 0;
	status = kp_table_fill(tui, tui->top->gpu_count, 0);
	for (size_t i = 0; i < tui->item_count; i++)
		if (gpu_of(tui, &tui->items[i])->process == KP_TOP_ALL)
			tui->items[i].role = KP_ROLE_STRONG;
	return status;
}

/* Kernels of that GPU, or of that process on it; the same again: of all. */
void kp_page_live_gpus_enter(struct kp_tui *tui)
{
	const struct kp_item *item = kp_tui_selected(tui);
	struct kp_top_choice *choice = &tui->top->choice;

	if (!item)
		return;
	const struct kp_top_gpu *gpu = gpu_of(tui, item);
	uint32_t pid = gpu->process == KP_TOP_ALL ? 0 : tui->top->view.processes[gpu->process].pid;
	bool same = choice->pid == pid && choice->device == gpu->device;
	choice->pid = same ? 0 : pid;
	choice->device = same ? KP_BOARD_NO_DEVICE : gpu->device;
	tui->trouble = kp_top_update(tui->top);
	kp_tui_say(tui, same ? "All kernels are shown."
			     : "The views show this one's kernels; Enter here again shows all.");
	tui->stale = true;
}
