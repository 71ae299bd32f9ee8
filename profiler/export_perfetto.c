/*
 * Perfetto's own format (protobuf): a Trace of TracePackets.
 *
 * Every process is a track, every lane (export_lanes.h) a track below it, every counter one of its
 * own. A slice is two packets, its begin and its end; the trace processor sorts by time. Names
 * stand once, interned. Times are of CLOCK_MONOTONIC, which a clock snapshot ties to the wall
 * clock. Field numbers are those of perfetto's protos/perfetto/trace.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiler/export.h"
#include "profiler/export_lanes.h"
#include "profiler/export_protobuf.h"
#include "trace/vector.h"

enum { CLOCK_REAL = 1, CLOCK_MONO = 3, SEQUENCE = 1 };
enum { STATE_CLEARED = 1, STATE_NEEDED = 2 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };

/* Of TracePacket, TrackDescriptor and TrackEvent. */
enum {
	TRACE_PACKET = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_CLOCK = 58,
	PACKET_TRACK = 60,
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_ORDER = 12,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_ANNOTATION = 4,
	EVENT_DOUBLE = 44,
	EVENT_CATEGORY_IID = 3
};

/* Tracks are numbered: processes, lanes and counters from places of their own. */
#define UUID_PROCESS 0x100000000ULL
#define UUID_LANE 0x200000000ULL
#define UUID_COUNTER 0x300000000ULL

struct perfetto {
	struct kp_export *job;
	struct kp_lanes_of lanes;
	struct kp_buffer packet, part, inner, innermost; /* messages under construction */
	struct kp_buffer head;
	uint8_t *known; /* by template: its name, or its counter's track, has been written */
	size_t known_capacity;
	uint64_t last_ns;
	bool failed; /* memory was short for some packet */
};

/* Ends the packet under construction. */
static void put_packet(struct perfetto *perfetto)
{
	struct kp_buffer *packet = &perfetto->packet, *head = &perfetto->head;

	kp_protobuf_count(packet, PACKET_SEQUENCE, SEQUENCE);
	kp_buffer_clear(head);
	kp_buffer_put_varint(head, TRACE_PACKET << 3 | 2);
	kp_buffer_put_varint(head, packet->length);
	kp_out_put(&perfetto->job->out, head->bytes, head->length);
	kp_out_put(&perfetto->job->out, packet->bytes, packet->length);
	perfetto->failed |= packet->failed || head->failed;
	kp_buffer_clear(packet);
}

/* The first packet: which clock times are of, and what the wall clock said then. */
static void put_clocks(struct perfetto *perfetto)
{
	struct kp_reader *reader = kp_export_events_reader(perfetto->job->events);
	const struct kp_clock_info *clock = NULL;
	struct kp_buffer *snapshot = &perfetto->part, *reading = &perfetto->inner;
	enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2 };

	if (kp_reader_process_count(reader))
		clock = &kp_reader_process(reader, 0)->first_clock;
	bool known =
		clock && KP_HAS(clock, CLOCK, monotonic_ns) && KP_HAS(clock, CLOCK, realtime_ns);
	kp_buffer_clear(snapshot);
	for (int i = 0; i < (known ? 2 : 1); i++) {
		kp_buffer_clear(reading);
		kp_protobuf_count(reading, CLOCK_ID, i ? CLOCK_REAL : CLOCK_MONO);
		kp_protobuf_count(reading, CLOCK_TIME,
				  !known ? 1
				  : i    ? clock->realtime_ns
					 : clock->monotonic_ns);
		kp_protobuf_message(snapshot, SNAPSHOT_CLOCK, reading);
	}
	kp_protobuf_count(snapshot, SNAPSHOT_PRIMARY, CLOCK_MONO);
	kp_protobuf_message(&perfetto->packet, PACKET_CLOCK_SNAPSHOT, snapshot);
	kp_protobuf_count(&perfetto->packet, PACKET_FLAGS, STATE_CLEARED);
	put_packet(perfetto);
}

/* A track that is about to be used. `parent` 0: it stands alone. */
static void put_track(struct perfetto *perfetto, uint64_t uuid, uint64_t parent, const char *name,
		      int64_t order)
{
	struct kp_buffer *track = &perfetto->part;

	kp_buffer_clear(track);
	kp_protobuf_count(track, TRACK_UUID, uuid);
	if (name)
		kp_protobuf_text(track, TRACK_NAME, name);
	if (parent)
		kp_protobuf_count(track, TRACK_PARENT, parent);
	if (order >= 0)
		kp_protobuf_count(track, TRACK_ORDER, (uint64_t)order);
	kp_protobuf_message(&perfetto->packet, PACKET_TRACK, track);
	put_packet(perfetto);
}

static void put_processes(struct perfetto *perfetto)
{
	struct kp_reader *reader = kp_export_events_reader(perfetto->job->events);
	enum { PROCESS_PID = 1, PROCESS_NAME = 6, CHILD_ORDER = 11, ORDER_EXPLICIT = 3 };
	char name[512];

	for (size_t i = 0; i < kp_reader_process_count(reader); i++) {
		const struct kp_process *process = kp_reader_process(reader, i);
		struct kp_buffer *track = &perfetto->part, *about = &perfetto->inner;

		kp_buffer_clear(track);
		kp_buffer_clear(about);
		kp_export_process_name(process, name, sizeof name);
		if (KP_HAS(&process->info, PROCESS, pid))
			kp_protobuf_count(about, PROCESS_PID, process->info.pid & INT32_MAX);
		kp_protobuf_text(about, PROCESS_NAME, name);
		kp_protobuf_count(track, TRACK_UUID, UUID_PROCESS + i);
		kp_protobuf_message(track, TRACK_PROCESS, about);
		kp_protobuf_count(track, CHILD_ORDER, ORDER_EXPLICIT);
		kp_protobuf_message(&perfetto->packet, PACKET_TRACK, track);
		put_packet(perfetto);
	}
}

/* Begins a packet of an event. */
static void begin_packet(struct perfetto *perfetto, uint64_t time_ns)
{
	kp_protobuf_count(&perfetto->packet, PACKET_TIME, time_ns);
	kp_protobuf_count(&perfetto->packet, PACKET_CLOCK, CLOCK_MONO);
	if (time_ns > perfetto->last_ns)
		perfetto->last_ns = time_ns;
}

/* One argument of a slice. */
static void put_argument(struct perfetto *perfetto, const char *name, const char *text,
			 uint64_t count)
{
	enum { ANNOTATION_NAME = 10, ANNOTATION_COUNT = 3, ANNOTATION_TEXT = 6 };
	struct kp_buffer *argument = &perfetto->inner;

	kp_buffer_clear(argument);
	kp_protobuf_text(argument, ANNOTATION_NAME, name);
	if (text)
		kp_protobuf_text(argument, ANNOTATION_TEXT, text);
	else
		kp_protobuf_count(argument, ANNOTATION_COUNT, count);
	kp_protobuf_message(&perfetto->part, EVENT_ANNOTATION, argument);
}

/* Interns the name of a template, within the packet under construction. */
static void put_name(struct perfetto *perfetto, uint32_t number,
		     const struct kp_export_template *template)
{
	enum { INTERNED_NAME = 2, ENTRY_IID = 1, ENTRY_NAME = 2 };
	const char *name =
		kp_export_text_of(perfetto->job->events, template, KP_EXPORT_COLUMN_NAME);

	kp_buffer_clear(&perfetto->innermost);
	kp_buffer_clear(&perfetto->inner);
	kp_protobuf_count(&perfetto->innermost, ENTRY_IID, (uint64_t)number + 1);
	kp_protobuf_text(&perfetto->innermost, ENTRY_NAME, name ? name : "");
	kp_protobuf_message(&perfetto->inner, INTERNED_NAME, &perfetto->innermost);
	kp_protobuf_message(&perfetto->packet, PACKET_INTERNED, &perfetto->inner);
}

static const uint8_t shown[] = {
	KP_EXPORT_COLUMN_OPERATOR, KP_EXPORT_COLUMN_VARIANT,   KP_EXPORT_COLUMN_LABEL_SOURCE,
	KP_EXPORT_COLUMN_DOMAIN,   KP_EXPORT_COLUMN_GRID_X,    KP_EXPORT_COLUMN_GRID_Y,
	KP_EXPORT_COLUMN_GRID_Z,   KP_EXPORT_COLUMN_BLOCK_X,   KP_EXPORT_COLUMN_BLOCK_Y,
	KP_EXPORT_COLUMN_BLOCK_Z,  KP_EXPORT_COLUMN_REGISTERS,
};

static void put_arguments(struct perfetto *perfetto, const struct kp_export_event *event,
			  const struct kp_export_template *template)
{
	for (size_t i = 0; i < sizeof shown; i++) {
		const struct kp_export_column *column = &kp_export_fixed_columns[shown[i]];

		if (template->has >> shown[i] & 1U)
			put_argument(perfetto, column->name,
				     column->text ? kp_export_text_of(perfetto->job->events,
								      template, shown[i])
						  : NULL,
				     template->cells[shown[i]]);
	}
	for (unsigned i = KP_EXPORT_COLUMN_CORRELATION; i <= KP_EXPORT_COLUMN_BYTES; i++) {
		if (event->has >> i & 1U)
			put_argument(perfetto, kp_export_own_columns[i].name, NULL, event->own[i]);
	}
}

static enum kp_status put_slice(struct perfetto *perfetto, const struct kp_export_event *event,
				const struct kp_export_template *template, uint8_t *known)
{
	struct kp_buffer *part = &perfetto->part;
	size_t lanes = perfetto->lanes.count;
	uint32_t lane;
	char name[256];
	enum kp_status status =
		kp_lanes_find(&perfetto->lanes, perfetto->job->events, event, &lane);

	if (status != KP_OK)
		return status;
	if (perfetto->lanes.count > lanes) {
		kp_lanes_name(&perfetto->lanes, perfetto->job->events, lane, event, name,
			      sizeof name);
		put_track(perfetto, UUID_LANE + lane, UUID_PROCESS + template->process->index, name,
			  (int64_t)kp_lanes_rank(template) << 20 | lane);
	}
	begin_packet(perfetto, event->own[KP_EXPORT_COLUMN_START]);
	kp_protobuf_count(&perfetto->packet, PACKET_FLAGS, STATE_NEEDED);
	if (!*known)
		put_name(perfetto, event->template, template);
	*known = 1;
	kp_buffer_clear(part);
	kp_protobuf_count(part, EVENT_TYPE, SLICE_BEGIN);
	kp_protobuf_count(part, EVENT_TRACK, UUID_LANE + lane);
	kp_protobuf_count(part, EVENT_NAME_IID, (uint64_t)event->template + 1);
	kp_protobuf_text(part, EVENT_CATEGORY, kp_export_kind_names[template->kind]);
	put_arguments(perfetto, event, template);
	kp_protobuf_message(&perfetto->packet, PACKET_TRACK_EVENT, part);
	put_packet(perfetto);

	begin_packet(perfetto, event->own[KP_EXPORT_COLUMN_END]);
	kp_buffer_clear(part);
	kp_protobuf_count(part, EVENT_TYPE, SLICE_END);
	kp_protobuf_count(part, EVENT_TRACK, UUID_LANE + lane);
	kp_protobuf_message(&perfetto->packet, PACKET_TRACK_EVENT, part);
	put_packet(perfetto);
	return KP_OK;
}

/* The track of a counter or clock, before its first value. */
static void put_counter_track(struct perfetto *perfetto, uint32_t number,
			      const struct kp_export_template *template)
{
	struct kp_export_events *events = perfetto->job->events;
	struct kp_buffer *track = &perfetto->part;
	enum { COUNTER_UNIT_NAME = 6 };
	char text[128];

	kp_buffer_clear(track);
	kp_buffer_clear(&perfetto->inner);
	snprintf(text, sizeof text, "%s%s",
		 kp_export_text_of(events, template, KP_EXPORT_COLUMN_UNIT),
		 template->kind == KP_EXPORT_COUNTER ? "/s" : "");
	kp_protobuf_text(&perfetto->inner, COUNTER_UNIT_NAME, text);
	snprintf(text, sizeof text, "GPU %" PRIu64 " %s", template->cells[KP_EXPORT_COLUMN_DEVICE],
		 kp_export_text_of(events, template, KP_EXPORT_COLUMN_NAME));
	kp_protobuf_count(track, TRACK_UUID, UUID_COUNTER + number);
	kp_protobuf_count(track, TRACK_PARENT, UUID_PROCESS + template->process->index);
	kp_protobuf_text(track, TRACK_NAME, text);
	kp_protobuf_message(track, TRACK_COUNTER, &perfetto->inner);
	kp_protobuf_message(&perfetto->packet, PACKET_TRACK, track);
	put_packet(perfetto);
}

static void put_value(struct perfetto *perfetto, const struct kp_export_event *event,
		      const struct kp_export_template *template, uint8_t *known)
{
	struct kp_buffer *part = &perfetto->part;
	double value = (double)event->own[KP_EXPORT_COLUMN_VALUE];
	uint64_t duration_ns = event->own[KP_EXPORT_COLUMN_DURATION];

	if (template->kind == KP_EXPORT_COUNTER && duration_ns == 0)
		return;
	if (template->kind == KP_EXPORT_COUNTER)
		value = value * 1e9 / (double)duration_ns;
	if (!*known)
		put_counter_track(perfetto, event->template, template);
	*known = 1;
	begin_packet(perfetto, event->own[KP_EXPORT_COLUMN_START]);
	kp_buffer_clear(part);
	kp_protobuf_count(part, EVENT_TYPE, COUNTER);
	kp_protobuf_count(part, EVENT_TRACK, UUID_COUNTER + event->template);
	kp_protobuf_double(part, EVENT_DOUBLE, value);
	kp_protobuf_message(&perfetto->packet, PACKET_TRACK_EVENT, part);
	put_packet(perfetto);
}

static enum kp_status take(void *context, const struct kp_export_event *list, size_t count)
{
	struct perfetto *perfetto = context;
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < count; i++) {
		const struct kp_export_event *event = &list[i];
		const struct kp_export_template *template =
			kp_export_events_template(perfetto->job->events, event->template);

		if (!template->valid || !kp_export_admits(perfetto->job))
			continue;
		if (event->template >= perfetto->known_capacity &&
		    !kp_vector_reserve((void **)&perfetto->known, (size_t)event->template + 1,
				       &perfetto->known_capacity, 1))
			return KP_NO_MEMORY;
		uint8_t *known = &perfetto->known[event->template];
		if (template->kind >= KP_EXPORT_COUNTER)
			put_value(perfetto, event, template, known);
		else
			status = put_slice(perfetto, event, template, known);
	}
	if (perfetto->failed)
		return KP_NO_MEMORY;
	return status == KP_OK ? kp_export_status(perfetto->job) : status;
}

/* Where the limit left slices out, an instant at the end says so. */
static void put_left_out(struct perfetto *perfetto)
{
	struct kp_buffer *part = &perfetto->part;
	char text[96];

	if (perfetto->job->left_out == 0)
		return;
	put_track(perfetto, UUID_COUNTER - 1, 0, "kprof", -1);
	begin_packet(perfetto, perfetto->last_ns);
	snprintf(text, sizeof text, "%" PRIu64 " slices are left out (--limit)",
		 perfetto->job->left_out);
	kp_buffer_clear(part);
	kp_protobuf_count(part, EVENT_TYPE, INSTANT);
	kp_protobuf_count(part, EVENT_TRACK, UUID_COUNTER - 1);
	kp_protobuf_text(part, EVENT_NAME, text);
	kp_protobuf_message(&perfetto->packet, PACKET_TRACK_EVENT, part);
	put_packet(perfetto);
}

enum kp_status kp_export_perfetto(struct kp_export *job)
{
	struct perfetto perfetto = {.job = job};
	enum kp_status status;

	put_clocks(&perfetto);
	put_processes(&perfetto);
	status = kp_export_events_each(job->events, take, &perfetto);
	if (status == KP_OK)
		put_left_out(&perfetto);
	if (status == KP_OK && perfetto.failed)
		status = KP_NO_MEMORY;
	kp_lanes_of_fini(&perfetto.lanes);
	kp_buffer_fini(&perfetto.packet);
	kp_buffer_fini(&perfetto.part);
	kp_buffer_fini(&perfetto.inner);
	kp_buffer_fini(&perfetto.innermost);
	kp_buffer_fini(&perfetto.head);
	free(perfetto.known);
	return status;
}
