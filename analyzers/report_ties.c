/*
 * What is tied to what on its way into a report: launches to ranges, to calls, to calls of
 * libraries; see report_ranges.h, report_host_build.h, report_calls.h. Beside the timeline where
 * there are no calls; else with it, behind each batch: the gaps must be there before the calls that
 * say what they are.
 */
#include "analyzers/report_build.h"
#include "analyzers/report_calls.h"
#include "analyzers/report_host_build.h"
#include "analyzers/report_passes.h"
#include "analyzers/report_ranges.h"

static enum kp_status tie_launches(struct kp_builder *builder, const struct kp_event *event)
{
	const struct kp_build_slot *slots = builder->processes[event->process->index].slots;
	enum kp_status status = kp_build_ranges_launches(builder, event);

	if (!builder->host && !kp_build_calls_wanted(builder, event->process))
		return status;
	for (size_t i = 0; status == KP_OK && i < event->count; i++) {
		const struct kp_launch *launch = &event->launches[i];
		uint32_t row = slots[launch->config].row_plus_one - 1;

		status = kp_build_host_launch(builder, event->process, row, launch);
		if (status == KP_OK)
			status = kp_build_calls_launch(builder, event->process, row, launch);
	}
	return status;
}

enum kp_status kp_build_tie(void *context, const struct kp_event *event)
{
	struct kp_builder *builder = context;
	enum kp_status status = KP_OK;

	if (event->kind == KP_EVENT_LAUNCHES)
		status = tie_launches(builder, event);
	else if (event->kind == KP_EVENT_HOST)
		status = kp_build_host_calls(builder, event);
	else if (event->kind == KP_EVENT_RANGES || event->kind == KP_EVENT_RUNS)
		status = kp_build_ranges_event(builder, event);
	else if (event->kind == KP_EVENT_LIBRARY)
		status = kp_build_calls_library(builder, event);
	if (status == KP_OK)
		status = kp_build_calls_settle(builder, event);
	if (status == KP_OK)
		status = kp_build_host_settle(builder, event);
	return status == KP_OK ? kp_build_ranges_settle(builder, event) : status;
}
