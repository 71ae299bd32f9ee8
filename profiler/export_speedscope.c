/*
 * speedscope's file format: https://www.speedscope.app/file-format-schema.json.
 *
 * The first profile holds the sums of everything (kernels, copies and sets; stacks of process, GPU
 * and operator). One profile a lane in order of time follows; these share the limit, since
 * speedscope keeps every event in memory twice. Slices wait in memory until they are sorted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiler/export.h"
#include "profiler/export_lanes.h"
#include "profiler/export_totals.h"
#include "trace/arena.h"
#include "trace/vector.h"

struct slice {
	uint64_t start_ns, end_ns;
	uint32_t lane, frame;
};

struct speedscope {
	struct kp_export *job;
	struct kp_lanes_of lanes;
	struct kp_export_totals totals;
	struct kp_intern frames; /* by name */
	struct slice *slices;
	size_t count, capacity;
	char **names; /* by lane */
	size_t name_capacity;
	struct kp_arena *arena;
};

static enum kp_status add_slice(struct speedscope *speedscope, const struct kp_export_event *event,
				const struct kp_export_template *template)
{
	struct kp_export_events *events = speedscope->job->events;
	const char *name = kp_export_text_of(events, template, KP_EXPORT_COLUMN_NAME);
	size_t lanes = speedscope->lanes.count;
	struct slice slice = {event->own[KP_EXPORT_COLUMN_START], event->own[KP_EXPORT_COLUMN_END],
			      0, 0};
	enum kp_status status = kp_lanes_find(&speedscope->lanes, events, event, &slice.lane);
	char text[256];
	bool added;

	if (status == KP_OK)
		status = kp_intern_put(&speedscope->frames, name, strlen(name), &slice.frame,
				       &added);
	if (status != KP_OK)
		return status;
	if (speedscope->lanes.count > lanes) {
		if (!kp_vector_grow((void **)&speedscope->names, slice.lane,
				    &speedscope->name_capacity, sizeof *speedscope->names))
			return KP_NO_MEMORY;
		kp_lanes_name(&speedscope->lanes, events, slice.lane, event, text, sizeof text);
		speedscope->names[slice.lane] =
			kp_arena_copy(speedscope->arena, text, strlen(text));
		if (!speedscope->names[slice.lane])
			return KP_NO_MEMORY;
	}
	if (!kp_vector_grow((void **)&speedscope->slices, speedscope->count, &speedscope->capacity,
			    sizeof *speedscope->slices))
		return KP_NO_MEMORY;
	speedscope->slices[speedscope->count++] = slice;
	return KP_OK;
}

static enum kp_status take(void *context, const struct kp_export_event *list, size_t count)
{
	struct speedscope *speedscope = context;
	enum kp_status status = kp_export_totals_add(&speedscope->totals, list, count);

	for (size_t i = 0; status == KP_OK && i < count; i++) {
		const struct kp_export_template *template =
			kp_export_events_template(speedscope->job->events, list[i].template);

		if (template->valid && template->kind < KP_EXPORT_COUNTER &&
		    kp_export_admits(speedscope->job))
			status = add_slice(speedscope, &list[i], template);
	}
	return status;
}

static int by_lane_and_time(const void *a, const void *b)
{
	const struct slice *left = a, *right = b;

	if (left->lane != right->lane)
		return left->lane < right->lane ? -1 : 1;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

#define FRAMES_MOST (KP_EXPORT_OPERATOR_FRAMES + 3)

/* The frames of a group's stack, from the root: process, GPU, operator, kernel. */
static enum kp_status stack_of(struct speedscope *speedscope, const struct kp_export_group *group,
			       uint32_t frames[FRAMES_MOST], size_t *depth)
{
	const struct kp_export_template *template = group->template;
	struct kp_export_events *events = speedscope->job->events;
	char process[512], gpu[32], written[256];
	const char *texts[FRAMES_MOST] = {process, gpu};
	size_t count = 2 + kp_export_operator_frames(speedscope->job, template, written,
						     sizeof written, texts + 2);
	enum kp_status status = KP_OK;
	bool added;

	kp_export_process_name(template->process, process, sizeof process);
	snprintf(gpu, sizeof gpu, "GPU %" PRIu64, template->cells[KP_EXPORT_COLUMN_DEVICE]);
	texts[count++] = kp_export_text_of(events, template, KP_EXPORT_COLUMN_NAME);
	*depth = count;
	for (size_t i = 0; i < count && status == KP_OK; i++)
		status = kp_intern_put(&speedscope->frames, texts[i], strlen(texts[i]), &frames[i],
				       &added);
	return status;
}

/* The profile of sums. */
static enum kp_status put_sums(struct speedscope *speedscope)
{
	struct kp_out *out = &speedscope->job->out;
	struct kp_export_group *groups;
	uint64_t sum_ns = 0;
	size_t count, depth = 0;
	uint32_t frames[FRAMES_MOST];
	const char *comma = "[";
	enum kp_status status = kp_export_totals_group(&speedscope->totals, speedscope->job->events,
						       &groups, &count);

	if (status != KP_OK)
		return status;
	kp_out_text(out, "{\"type\":\"sampled\",\"name\":\"GPU time, all events\",\"unit\":"
			 "\"nanoseconds\",\"startValue\":0,\"samples\":[");
	for (size_t i = 0; i < count && status == KP_OK; i++) {
		if (!groups[i].template->valid)
			continue;
		status = stack_of(speedscope, &groups[i], frames, &depth);
		for (size_t k = 0; k < depth; k++)
			kp_out_print(out, "%s%u", k ? "," : comma, frames[k]);
		kp_out_text(out, "]");
		comma = ",\n[";
	}
	kp_out_text(out, "],\"weights\":[");
	comma = "";
	for (size_t i = 0; i < count; i++) {
		if (!groups[i].template->valid)
			continue;
		kp_out_print(out, "%s%" PRIu64, comma, groups[i].total.total_ns);
		sum_ns += groups[i].total.total_ns;
		comma = ",";
	}
	kp_out_print(out, "],\"endValue\":%" PRIu64 "}", sum_ns);
	free(groups);
	return status;
}

/* The profile of the lane whose slices these are; slices that overlap all the same are cut. */
static void put_lane(struct speedscope *speedscope, const struct slice *slices, size_t count)
{
	struct kp_out *out = &speedscope->job->out;
	const char *process = NULL;
	uint64_t at_ns = slices[0].start_ns;
	char name[800], about[512];

	kp_export_process_name(speedscope->lanes.rows[slices[0].lane].process, about, sizeof about);
	process = about;
	snprintf(name, sizeof name, "%s, %s", speedscope->names[slices[0].lane], process);
	kp_out_text(out, ",\n{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":");
	kp_out_json(out, name);
	kp_out_print(out, ",\"startValue\":%" PRIu64 ",\"events\":[", at_ns);
	for (size_t i = 0; i < count; i++) {
		uint64_t start_ns = slices[i].start_ns > at_ns ? slices[i].start_ns : at_ns;

		at_ns = slices[i].end_ns > start_ns ? slices[i].end_ns : start_ns;
		kp_out_print(out,
			     "%s{\"type\":\"O\",\"frame\":%u,\"at\":%" PRIu64
			     "},{\"type\":\"C\",\"frame\":%u,\"at\":%" PRIu64 "}",
			     i ? ",\n" : "\n", slices[i].frame, start_ns, slices[i].frame, at_ns);
	}
	kp_out_print(out, "],\"endValue\":%" PRIu64 "}", at_ns);
}

static enum kp_status put_frames(struct speedscope *speedscope)
{
	struct kp_out *out = &speedscope->job->out;
	struct kp_buffer name = {0};
	bool failed = false;

	kp_out_text(out, "],\n\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < speedscope->frames.count; i++) {
		size_t length;
		const uint8_t *bytes = kp_intern_bytes(&speedscope->frames, i, &length);

		kp_buffer_clear(&name);
		kp_buffer_put(&name, bytes, length);
		kp_buffer_put(&name, "", 1);
		kp_out_text(out, i ? ",\n{\"name\":" : "\n{\"name\":");
		kp_out_json(out, name.failed ? "" : (const char *)name.bytes);
		failed |= name.failed;
		kp_out_text(out, "}");
	}
	kp_out_text(out, "]}}\n");
	kp_buffer_fini(&name);
	return failed ? KP_NO_MEMORY : KP_OK;
}

static enum kp_status put_document(struct speedscope *speedscope)
{
	struct kp_out *out = &speedscope->job->out;
	enum kp_status status;

	kp_out_text(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			 "\"exporter\":\"kprof\",\"name\":");
	if (speedscope->job->left_out)
		kp_out_print(out,
			     "\"the first %" PRIu64 " slices of %" PRIu64
			     "; the first profile sums up all\"",
			     speedscope->job->slices,
			     speedscope->job->slices + speedscope->job->left_out);
	else
		kp_out_text(out, "\"kprof\"");
	kp_out_text(out, ",\"activeProfileIndex\":0,\"profiles\":[\n");
	status = put_sums(speedscope);
	for (size_t i = 0, next; i < speedscope->count; i = next) {
		for (next = i; next < speedscope->count; next++) {
			if (speedscope->slices[next].lane != speedscope->slices[i].lane)
				break;
		}
		put_lane(speedscope, speedscope->slices + i, next - i);
	}
	return status == KP_OK ? put_frames(speedscope) : status;
}

enum kp_status kp_export_speedscope(struct kp_export *job)
{
	struct speedscope speedscope = {.job = job, .arena = kp_arena_create()};
	enum kp_status status = speedscope.arena ? KP_OK : KP_NO_MEMORY;

	if (status == KP_OK)
		status = kp_export_events_each(job->events, take, &speedscope);
	if (status == KP_OK && speedscope.count)
		qsort(speedscope.slices, speedscope.count, sizeof *speedscope.slices,
		      by_lane_and_time);
	if (status == KP_OK)
		status = put_document(&speedscope);
	kp_lanes_of_fini(&speedscope.lanes);
	kp_export_totals_fini(&speedscope.totals);
	kp_intern_fini(&speedscope.frames);
	free(speedscope.slices);
	free(speedscope.names);
	kp_arena_destroy(speedscope.arena);
	return status;
}
