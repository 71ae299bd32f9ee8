/* From batches to tracks; see tracks.h. */
#include "tui/tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/limits.h"
#include "trace/vector.h"

/* What a launch configuration of a process is, once one of its launches was seen. */
struct kp_track_slot {
	uint32_t track_plus_one; /* 0: not seen; UINT32_MAX: there is no track for it */
	uint32_t gpu, name;
};

#define NO_TRACK (UINT32_MAX - 1)

static const char *const memop_words[KP_MEMOP_KIND_COUNT] = {
	[KP_MEMOP_OTHER] = "copy",
	[KP_MEMOP_HOST_TO_DEVICE] = "copy host to device",
	[KP_MEMOP_DEVICE_TO_HOST] = "copy device to host",
	[KP_MEMOP_DEVICE_TO_DEVICE] = "copy device to device",
	[KP_MEMOP_HOST_TO_HOST] = "copy host to host",
	[KP_MEMOP_PEER_TO_PEER] = "copy peer to peer",
	[KP_MEMOP_SET] = "set",
};

/* All but the names. */
static void empty(struct kp_tracks *tracks)
{
	for (size_t i = 0; i < tracks->count; i++) {
		free(tracks->tracks[i].bins);
		free(tracks->tracks[i].values);
		free(tracks->tracks[i].blocks);
	}
	for (size_t i = 0; i < tracks->gpu_count; i++)
		kp_activities_destroy(tracks->gpus[i].activities);
	for (size_t i = 0; tracks->slots && i < tracks->process_count; i++)
		free(tracks->slots[i]);
	free(tracks->tracks);
	free(tracks->gpus);
	free(tracks->slots);
	free(tracks->order);
	kp_intern_fini(&tracks->track_keys);
	kp_arena_destroy(tracks->arena);
}

void kp_tracks_fini(struct kp_tracks *tracks)
{
	empty(tracks);
	free(tracks->names);
	kp_intern_fini(&tracks->name_keys);
	kp_intern_fini(&tracks->gpu_keys);
	kp_arena_destroy(tracks->name_arena);
	*tracks = (struct kp_tracks){0};
}

enum kp_status kp_tracks_begin(struct kp_tracks *tracks, const struct kp_reader *reader,
			       uint64_t from_ns, uint64_t to_ns, size_t columns)
{
	const struct kp_tracks older = *tracks;

	empty(tracks);
	*tracks = (struct kp_tracks){
		.from_ns = from_ns,
		.to_ns = to_ns > from_ns ? to_ns : from_ns + 1,
		.columns = columns ? columns : 1,
		.process_count = kp_reader_process_count(reader),
		.waiting_most = kp_limits_waiting(kp_reader_bytes(reader)),
		.names = older.names,
		.name_count = older.name_count,
		.name_capacity = older.name_capacity,
		.name_keys = older.name_keys,
		.gpu_keys = older.gpu_keys,
		.name_arena = older.name_arena ? older.name_arena : kp_arena_create(),
	};
	tracks->arena = kp_arena_create();
	tracks->order = calloc(KP_TRACKS_MOST, sizeof *tracks->order);
	tracks->slots = calloc(tracks->process_count + 1, sizeof(*tracks->slots));
	return tracks->name_arena && tracks->arena && tracks->order && tracks->slots ? KP_OK
										     : KP_NO_MEMORY;
}

/* What tells tracks apart, and their order on the screen. */
struct track_key {
	uint32_t process, gpu, kind, number, domain, depth;
};

static int by_place(const void *a, const void *b, void *context)
{
	const struct kp_track *tracks = context;
	const struct kp_track *left = &tracks[*(const uint32_t *)a];
	const struct kp_track *right = &tracks[*(const uint32_t *)b];
	const uint32_t keys[][2] = {
		{left->gpu, right->gpu},
		{left->process, right->process},
		{left->kind >= KP_TRACK_RANGES ? left->number : left->kind,
		 right->kind >= KP_TRACK_RANGES ? right->number : right->kind},
		{left->kind, right->kind},
		{left->number, right->number},
		{left->domain, right->domain},
		{left->depth, right->depth},
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	}
	return 0;
}

static void set_label(struct kp_track *track)
{
	static const char *const formats[] = {
		[KP_TRACK_GAPS] = "GPU %" PRIu32 " idle", [KP_TRACK_COUNTERS] = " memory GB/s",
		[KP_TRACK_STREAM] = " stream %" PRIu32,   [KP_TRACK_MEMORY] = " copies",
		[KP_TRACK_RANGES] = "NVTX %" PRIu32,      [KP_TRACK_CALLS] = "calls %" PRIu32,
	};
	uint32_t shown = track->kind == KP_TRACK_GAPS ? track->gpu : track->number;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
	snprintf(track->label, sizeof track->label, formats[track->kind], shown);
#pragma GCC diagnostic pop
	if (track->kind == KP_TRACK_RANGES && track->depth > 0)
		snprintf(track->label, sizeof track->label, "%*s", (int)track->depth + 2,
			 "\302\267");
}

/* The track of a key, made where it is new; NO_TRACK: there are too many. */
static enum kp_status track_of(struct kp_tracks *tracks, const struct track_key *key, uint32_t *out)
{
	bool added;
	enum kp_status status;
	if (tracks->count >= KP_TRACKS_MOST &&
	    !kp_intern_find(&tracks->track_keys, key, sizeof *key, out)) {
		tracks->left_out++;
		*out = NO_TRACK;
		return KP_OK;
	}
	status = kp_intern_put(&tracks->track_keys, key, sizeof *key, out, &added);
	if (status != KP_OK || !added)
		return status;
	if (!kp_vector_grow((void **)&tracks->tracks, tracks->count, &tracks->capacity,
			    sizeof *tracks->tracks))
		return KP_NO_MEMORY;
	struct kp_track *track = &tracks->tracks[tracks->count];
	*track = (struct kp_track){
		.kind = (enum kp_track_kind)key->kind,
		.gpu = key->gpu,
		.process = key->process,
		.number = key->number,
		.domain = key->domain,
		.depth = key->depth,
		.bins = calloc(tracks->columns, sizeof *track->bins),
	};
	size_t values = tracks->columns * kp_track_values(track);
	track->values = values ? calloc(values, sizeof *track->values) : NULL;
	tracks->order[tracks->count] = (uint32_t)tracks->count;
	tracks->count++;
	if (!track->bins || (values && !track->values))
		return KP_NO_MEMORY;
	set_label(track);
	qsort_r(tracks->order, tracks->count, sizeof *tracks->order, by_place, tracks->tracks);
	return KP_OK;
}

/* The GPU of a device: processes that name the same UUID share one. */
static enum kp_status gpu_of(struct kp_tracks *tracks, const struct kp_process *process,
			     uint32_t device, uint32_t *out)
{
	uint32_t own[2] = {process->index, device};
	const void *key = own;
	size_t length = sizeof own;

	for (size_t i = 0; i < process->device_count; i++) {
		const struct kp_device_info *info = &process->devices[i];
		if (info->device != device || !KP_HAS(info, DEVICE, uuid) || !info->uuid.length)
			continue;
		key = info->uuid.bytes;
		length = info->uuid.length;
	}
	enum kp_status status = kp_intern_put(&tracks->gpu_keys, key, length, out, NULL);
	if (status != KP_OK)
		return status;
	if (!kp_vector_reserve((void **)&tracks->gpus, (size_t)*out + 1, &tracks->gpu_capacity,
			       sizeof *tracks->gpus))
		return KP_NO_MEMORY;
	while (tracks->gpu_count <= *out)
		tracks->gpus[tracks->gpu_count++] = (struct kp_track_gpu){0};
	struct kp_track_gpu *gpu = &tracks->gpus[*out];
	if (gpu->activities)
		return KP_OK;
	gpu->gaps.arena = tracks->arena;
	gpu->activities = kp_activities_create(tracks->waiting_most);
	const struct track_key gaps = {.gpu = *out, .kind = KP_TRACK_GAPS};
	return gpu->activities ? track_of(tracks, &gaps, &gpu->track) : KP_NO_MEMORY;
}

static enum kp_status fill_slot(struct kp_tracks *tracks, const struct kp_process *process,
				uint32_t number, struct kp_track_slot *slot)
{
	const struct kp_launch_config *config = &process->configs[number];
	uint32_t track = 0;
	enum kp_status status = gpu_of(tracks, process, config->device, &slot->gpu);

	if (status == KP_OK)
		status = kp_tracks_kernel(tracks, kp_process_string(process, config->name),
					  &slot->name);
	const struct track_key key = {.process = process->index,
				      .gpu = slot->gpu,
				      .kind = KP_TRACK_STREAM,
				      .number = config->stream,
				      .domain = config->context};
	if (status == KP_OK)
		status = track_of(tracks, &key, &track);
	slot->track_plus_one = track + 1;
	return status;
}

static enum kp_status take_launch(struct kp_tracks *tracks, const struct kp_process *process,
				  const struct kp_launch *launch)
{
	struct kp_track_slot *slot = &tracks->slots[process->index][launch->config];
	enum kp_status status = KP_OK;

	if (!slot->track_plus_one)
		status = fill_slot(tracks, process, launch->config, slot);
	if (status != KP_OK)
		return status;
	tracks->launches += launch->end_ns >= tracks->from_ns;
	if (slot->track_plus_one != NO_TRACK + 1)
		kp_track_cover(tracks, &tracks->tracks[slot->track_plus_one - 1], launch->start_ns,
			       launch->end_ns, slot->name);
	const struct kp_activity activity = {
		.start_ns = launch->start_ns,
		.end_ns = launch->end_ns,
		.use = process->index,
		.row = slot->name,
		.correlation = launch->correlation,
		.kind = KP_ACTIVITY_KERNEL,
		.graph = launch->graph || launch->graph_node,
	};
	return kp_activities_add(tracks->gpus[slot->gpu].activities, &activity);
}

static enum kp_status take_launches(struct kp_tracks *tracks, const struct kp_event *event)
{
	const struct kp_process *process = event->process;
	enum kp_status status = KP_OK;

	if (!tracks->slots[process->index])
		tracks->slots[process->index] =
			calloc(process->config_count + 1, sizeof(struct kp_track_slot));
	if (!tracks->slots[process->index])
		return KP_NO_MEMORY;
	for (size_t i = 0; i < event->count && status == KP_OK; i++) {
		const struct kp_launch *launch = &event->launches[i];
		if (kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID &&
		    launch->start_ns < tracks->to_ns)
			status = take_launch(tracks, process, launch);
	}
	return status;
}

static enum kp_status take_memop(struct kp_tracks *tracks, const struct kp_process *process,
				 const struct kp_memop *memop)
{
	const char *words = memop_words[memop->kind < KP_MEMOP_KIND_COUNT ? memop->kind : 0];
	uint32_t gpu = 0, track = 0, name = 0;
	enum kp_status status = gpu_of(tracks, process, memop->device, &gpu);
	const struct track_key key = {
		.process = process->index, .gpu = gpu, .kind = KP_TRACK_MEMORY};

	if (status == KP_OK)
		status = track_of(tracks, &key, &track);
	if (status == KP_OK)
		status = kp_tracks_word(tracks, (struct kp_text){words, strlen(words)}, &name);
	if (status != KP_OK)
		return status;
	if (track != NO_TRACK)
		kp_track_cover(tracks, &tracks->tracks[track], memop->start_ns, memop->end_ns,
			       name);
	const struct kp_activity activity = {
		.start_ns = memop->start_ns,
		.end_ns = memop->end_ns,
		.use = process->index,
		.kind = KP_ACTIVITY_MEMORY,
		.to_host = memop->kind == KP_MEMOP_DEVICE_TO_HOST,
		.synchronous = memop->kind != KP_MEMOP_SET && !(memop->flags & 1),
	};
	return kp_activities_add(tracks->gpus[gpu].activities, &activity);
}

static enum kp_status take_range(struct kp_tracks *tracks, const struct kp_process *process,
				 const struct kp_range *range)
{
	uint32_t depth = range->depth == UINT32_MAX ? 0 : range->depth, track = 0, name = 0;
	const struct track_key key = {.process = process->index,
				      .gpu = UINT32_MAX,
				      .kind = KP_TRACK_RANGES,
				      .number = range->thread,
				      .domain = range->domain,
				      .depth = depth};
	enum kp_status status;

	if (depth >= KP_TRACK_RANGE_DEPTHS)
		return KP_OK;
	status = track_of(tracks, &key, &track);
	if (status == KP_OK)
		status = kp_tracks_word(tracks, kp_process_string(process, range->name), &name);
	if (status == KP_OK && track != NO_TRACK)
		kp_track_cover(tracks, &tracks->tracks[track], range->start_ns, range->end_ns,
			       name);
	return status;
}

static enum kp_status take_call(struct kp_tracks *tracks, const struct kp_process *process,
				const struct kp_host_call *call)
{
	static const char *const words[] = {"launch", "cooperative launch", "graph launch"};
	const char *word = call->kind < 3 ? words[call->kind] : words[0];
	const struct track_key key = {.process = process->index,
				      .gpu = UINT32_MAX,
				      .kind = KP_TRACK_CALLS,
				      .number = call->thread};
	uint32_t track = 0, name = 0;
	enum kp_status status = track_of(tracks, &key, &track);

	if (status == KP_OK)
		status = kp_tracks_word(tracks, (struct kp_text){word, strlen(word)}, &name);
	if (status == KP_OK && track != NO_TRACK)
		kp_track_cover(tracks, &tracks->tracks[track], call->start_ns, call->end_ns, name);
	return status;
}

static enum kp_status take_samples(struct kp_tracks *tracks, const struct kp_event *event)
{
	const struct kp_process *process = event->process;
	const struct kp_counters_info *session;
	uint32_t gpu = 0, track = 0;
	size_t read = 0, write = 0;

	if (event->count == 0)
		return KP_OK;
	session = kp_process_counters(process, event->samples[0].session);
	if (!session || !KP_HAS(session, COUNTERS, metrics))
		return KP_OK;
	bool reads = kp_metrics_place(&session->metrics, KP_METRIC_DRAM_READ, &read);
	bool writes = kp_metrics_place(&session->metrics, KP_METRIC_DRAM_WRITE, &write);
	enum kp_status status = gpu_of(tracks, process, (uint32_t)session->device, &gpu);
	const struct track_key key = {.gpu = gpu, .kind = KP_TRACK_COUNTERS};
	if (status == KP_OK && (reads || writes))
		status = track_of(tracks, &key, &track);
	if (status != KP_OK || !(reads || writes) || track == NO_TRACK)
		return status;
	for (size_t i = 0; i < event->count; i++) {
		const struct kp_counter_sample *sample = &event->samples[i];
		double bytes = (reads ? (double)sample->values[read] : 0) +
			       (writes ? (double)sample->values[write] : 0);
		if (kp_time_quality(sample->begin_ns, sample->end_ns) == KP_TIME_VALID)
			kp_track_sample(tracks, &tracks->tracks[track], sample->begin_ns,
					sample->end_ns, bytes);
	}
	return KP_OK;
}

enum kp_status kp_tracks_take(struct kp_tracks *tracks, const struct kp_event *event)
{
	const struct kp_process *process = event->process;
	enum kp_status status = KP_OK;

	if (event->kind == KP_EVENT_LAUNCHES)
		return take_launches(tracks, event);
	if (event->kind == KP_EVENT_SAMPLES)
		return take_samples(tracks, event);
	for (size_t i = 0; i < event->count && status == KP_OK; i++) {
		/* All begin with their start and end. */
		const uint64_t *times = event->kind == KP_EVENT_MEMOPS ? &event->memops[i].start_ns
					: event->kind == KP_EVENT_RANGES
						? &event->ranges[i].start_ns
					: event->kind == KP_EVENT_HOST ? &event->calls[i].start_ns
								       : NULL;
		if (!times || kp_time_quality(times[0], times[1]) != KP_TIME_VALID ||
		    times[0] >= tracks->to_ns || times[1] < tracks->from_ns)
			continue;
		if (event->kind == KP_EVENT_MEMOPS)
			status = take_memop(tracks, process, &event->memops[i]);
		else if (event->kind == KP_EVENT_RANGES)
			status = take_range(tracks, process, &event->ranges[i]);
		else
			status = take_call(tracks, process, &event->calls[i]);
	}
	return status;
}

struct visit {
	struct kp_tracks *tracks;
	struct kp_track_gpu *gpu;
};

static enum kp_status visit_one(const struct visit *at, const struct kp_activity *item)
{
	struct kp_gap gap;

	if (item->kind == KP_ACTIVITY_MEMORY) {
		kp_gaps_memory(&at->gpu->gaps, item);
		return KP_OK;
	}
	if (kp_gaps_reach(&at->gpu->gaps, item, 0, false, &gap) && at->gpu->track != NO_TRACK)
		kp_track_gap(at->tracks, &at->tracks->tracks[at->gpu->track], &gap);
	return kp_gaps_run(&at->gpu->gaps, item);
}

static enum kp_status visit(void *context, const struct kp_activity *items, size_t count)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < count && status == KP_OK; i++)
		status = visit_one(context, &items[i]);
	return status;
}

enum kp_status kp_tracks_settle(struct kp_tracks *tracks, uint64_t watermark_ns)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < tracks->gpu_count && status == KP_OK; i++) {
		struct visit at = {tracks, &tracks->gpus[i]};
		if (at.gpu->activities)
			status = kp_activities_settle(at.gpu->activities, watermark_ns, visit, &at);
	}
	return status;
}
