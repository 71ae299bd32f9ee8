/*
 * pprof's profile.proto, compressed by gzip: sums of kernels, copies and sets as stacks of kernel,
 * operator, GPU and process. Two values a sample: how many, and their GPU time.
 *
 * Field numbers are those of github.com/google/pprof/proto/profile.proto.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>

#include "profiler/export.h"
#include "profiler/export_protobuf.h"
#include "profiler/export_totals.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_DEFAULT_TYPE = 14,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3
};

struct pprof {
	struct kp_export *job;
	struct kp_export_totals totals;
	uint64_t first_ns, last_ns;
	struct kp_buffer profile, part, inner;
	struct kp_intern strings;   /* number 0 is the empty one */
	struct kp_intern functions; /* pairs of strings: name, system name */
	bool failed;
};

static uint32_t string_of(struct pprof *pprof, const char *text)
{
	uint32_t number = 0;
	bool added;

	pprof->failed |=
		kp_intern_put(&pprof->strings, text, strlen(text), &number, &added) != KP_OK;
	return number;
}

/* The location of a frame, which has a function of the same number. */
static uint64_t location_of(struct pprof *pprof, const char *name, const char *system_name)
{
	const uint32_t key[2] = {string_of(pprof, name), string_of(pprof, system_name)};
	struct kp_buffer *part = &pprof->part, *inner = &pprof->inner;
	uint32_t number = 0;
	bool added = false;

	pprof->failed |=
		kp_intern_put(&pprof->functions, key, sizeof key, &number, &added) != KP_OK;
	if (!added)
		return (uint64_t)number + 1;
	kp_buffer_clear(part);
	kp_protobuf_count(part, FUNCTION_ID, (uint64_t)number + 1);
	kp_protobuf_count(part, FUNCTION_NAME, key[0]);
	kp_protobuf_count(part, FUNCTION_SYSTEM_NAME, key[1]);
	kp_protobuf_message(&pprof->profile, PROFILE_FUNCTION, part);
	kp_buffer_clear(part);
	kp_buffer_clear(inner);
	kp_protobuf_count(inner, LINE_FUNCTION, (uint64_t)number + 1);
	kp_protobuf_count(part, LOCATION_ID, (uint64_t)number + 1);
	kp_protobuf_message(part, LOCATION_LINE, inner);
	kp_protobuf_message(&pprof->profile, PROFILE_LOCATION, part);
	return (uint64_t)number + 1;
}

static void put_label(struct pprof *pprof, const char *key, const char *text)
{
	kp_buffer_clear(&pprof->inner);
	kp_protobuf_count(&pprof->inner, LABEL_KEY, string_of(pprof, key));
	kp_protobuf_count(&pprof->inner, LABEL_TEXT, string_of(pprof, text));
	kp_protobuf_message(&pprof->part, SAMPLE_LABEL, &pprof->inner);
}

static void put_sample(struct pprof *pprof, const struct kp_export_group *group)
{
	const struct kp_export_template *template = group->template;
	struct kp_export_events *events = pprof->job->events;
	const char *mangled = kp_export_text_of(events, template, KP_EXPORT_COLUMN_MANGLED_NAME);
	const char *name = kp_export_text_of(events, template, KP_EXPORT_COLUMN_NAME);
	const char *rank = kp_export_text_of(events, template, KP_EXPORT_COLUMN_RANK);
	const char *frames[KP_EXPORT_OPERATOR_FRAMES];
	char process[512], gpu[32], written[256];
	size_t count =
		kp_export_operator_frames(pprof->job, template, written, sizeof written, frames);

	kp_export_process_name(template->process, process, sizeof process);
	snprintf(gpu, sizeof gpu, "GPU %" PRIu64, template->cells[KP_EXPORT_COLUMN_DEVICE]);
	uint64_t stack[KP_EXPORT_OPERATOR_FRAMES + 3]; /* from the leaf */
	size_t depth = 0;

	stack[depth++] = location_of(pprof, name, mangled ? mangled : name);
	while (count > 0)
		stack[depth++] = location_of(pprof, frames[--count], "");
	stack[depth++] = location_of(pprof, gpu, "");
	stack[depth++] = location_of(pprof, process, "");
	kp_buffer_clear(&pprof->part);
	for (size_t i = 0; i < depth; i++)
		kp_protobuf_count(&pprof->part, SAMPLE_LOCATION, stack[i]);
	kp_protobuf_count(&pprof->part, SAMPLE_VALUE, group->total.events & INT64_MAX);
	kp_protobuf_count(&pprof->part, SAMPLE_VALUE, group->total.total_ns & INT64_MAX);
	put_label(pprof, "gpu", gpu + 4);
	if (rank)
		put_label(pprof, "rank", rank);
	kp_protobuf_message(&pprof->profile, PROFILE_SAMPLE, &pprof->part);
}

static void put_type(struct pprof *pprof, uint32_t field, const char *type, const char *unit)
{
	kp_buffer_clear(&pprof->part);
	kp_protobuf_count(&pprof->part, TYPE_TYPE, string_of(pprof, type));
	kp_protobuf_count(&pprof->part, TYPE_UNIT, string_of(pprof, unit));
	kp_protobuf_message(&pprof->profile, field, &pprof->part);
}

/* When it was, and how long. */
static void put_times(struct pprof *pprof)
{
	struct kp_reader *reader = kp_export_events_reader(pprof->job->events);
	const struct kp_clock_info *clock;

	if (pprof->last_ns <= pprof->first_ns || kp_reader_process_count(reader) == 0)
		return;
	clock = &kp_reader_process(reader, 0)->first_clock;
	kp_protobuf_count(&pprof->profile, PROFILE_DURATION_NS, pprof->last_ns - pprof->first_ns);
	if (KP_HAS(clock, CLOCK, monotonic_ns) && KP_HAS(clock, CLOCK, realtime_ns))
		kp_protobuf_count(&pprof->profile, PROFILE_TIME_NS,
				  (clock->realtime_ns + pprof->first_ns - clock->monotonic_ns) &
					  INT64_MAX);
}

static void put_strings(struct pprof *pprof)
{
	for (uint32_t i = 0; i < pprof->strings.count; i++) {
		size_t length;
		const uint8_t *bytes = kp_intern_bytes(&pprof->strings, i, &length);

		kp_protobuf_bytes(&pprof->profile, PROFILE_STRING, bytes, length);
	}
}

static enum kp_status take(void *context, const struct kp_export_event *list, size_t count)
{
	struct pprof *pprof = context;

	for (size_t i = 0; i < count; i++) {
		if (!kp_export_knows(&list[i], KP_EXPORT_COLUMN_DURATION))
			continue;
		if (list[i].own[KP_EXPORT_COLUMN_START] < pprof->first_ns)
			pprof->first_ns = list[i].own[KP_EXPORT_COLUMN_START];
		if (list[i].own[KP_EXPORT_COLUMN_END] > pprof->last_ns)
			pprof->last_ns = list[i].own[KP_EXPORT_COLUMN_END];
	}
	return kp_export_totals_add(&pprof->totals, list, count);
}

static enum kp_status compress_into(struct kp_out *out, const struct kp_buffer *profile)
{
	z_stream stream = {.next_in = profile->bytes, .avail_in = (uInt)profile->length};
	int result = Z_OK;

	if (profile->length > UINT32_MAX ||
	    deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16 /* gzip */, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return KP_NO_MEMORY;
	while (result == Z_OK) {
		char *room = kp_out_room(out, KP_OUT_ROOM_BYTES);

		stream.next_out = (Bytef *)room;
		stream.avail_out = KP_OUT_ROOM_BYTES;
		result = deflate(&stream, Z_FINISH);
		kp_out_took(out, (const char *)stream.next_out);
	}
	deflateEnd(&stream);
	return result == Z_STREAM_END ? KP_OK : KP_NO_MEMORY;
}

static enum kp_status put_profile(struct pprof *pprof)
{
	struct kp_export_group *groups;
	size_t count;
	enum kp_status status =
		kp_export_totals_group(&pprof->totals, pprof->job->events, &groups, &count);

	if (status != KP_OK)
		return status;
	string_of(pprof, "");
	put_type(pprof, PROFILE_SAMPLE_TYPE, "operations", "count");
	put_type(pprof, PROFILE_SAMPLE_TYPE, "gpu_time", "nanoseconds");
	put_type(pprof, PROFILE_PERIOD_TYPE, "gpu_time", "nanoseconds");
	kp_protobuf_count(&pprof->profile, PROFILE_PERIOD, 1);
	kp_protobuf_count(&pprof->profile, PROFILE_DEFAULT_TYPE, string_of(pprof, "gpu_time"));
	for (size_t i = 0; i < count; i++)
		put_sample(pprof, &groups[i]);
	put_times(pprof);
	put_strings(pprof);
	free(groups);
	return pprof->failed || pprof->profile.failed
		       ? KP_NO_MEMORY
		       : compress_into(&pprof->job->out, &pprof->profile);
}

enum kp_status kp_export_pprof(struct kp_export *job)
{
	struct pprof pprof = {.job = job, .first_ns = UINT64_MAX};
	enum kp_status status = kp_export_events_each(job->events, take, &pprof);

	if (status == KP_OK)
		status = put_profile(&pprof);
	kp_export_totals_fini(&pprof.totals);
	kp_buffer_fini(&pprof.profile);
	kp_buffer_fini(&pprof.part);
	kp_buffer_fini(&pprof.inner);
	kp_intern_fini(&pprof.strings);
	kp_intern_fini(&pprof.functions);
	return status;
}
