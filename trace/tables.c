/* Fills the tables of processes from descriptive chunks; see tables.h. */
#include "trace/tables.h"

#include <stdio.h>
#include <stdlib.h>

#include "trace/fieldset.h"
#include "trace/vector.h"

/* What the index and the allocator add to a process, about. */
#define PROCESS_OVERHEAD_BYTES 128
/* All tables of a small trace. */
#define BUDGET_FLOOR_BYTES ((size_t)48 << 20)
/* So many sessions of counters may a process have: they are looked up one by one. */
#define MAX_SESSIONS 4096

static const struct kp_text lost_name = {"(lost name)", sizeof("(lost name)") - 1};

enum kp_status kp_tables_init(struct kp_tables *tables, uint64_t trace_bytes)
{
	*tables = (struct kp_tables){
		.budget_bytes = trace_bytes > BUDGET_FLOOR_BYTES / 3 ? (size_t)trace_bytes * 3
								     : BUDGET_FLOOR_BYTES,
	};
	kp_limits_init(&tables->limits, trace_bytes);
	tables->arena = kp_arena_create();
	return tables->arena ? KP_OK : KP_NO_MEMORY;
}

void kp_tables_fini(struct kp_tables *tables)
{
	for (size_t i = 0; i < tables->count; i++) {
		struct kp_process_tables *process = tables->processes[i];

		free(process->devices);
		free(process->strings);
		free(process->configs);
		free(process->notes);
		free(process->windows);
		free(process->counters);
		free(process->library_calls);
		free(process->library_nodes);
		kp_lanes_fini(&process->lanes);
		free(process);
	}
	free(tables->processes);
	kp_intern_fini(&tables->identities);
	kp_limits_fini(&tables->limits);
	kp_arena_destroy(tables->arena);
	*tables = (struct kp_tables){0};
}

/* Takes `bytes` from the budget. */
static bool spend(struct kp_tables *tables, size_t bytes)
{
	if (bytes > tables->budget_bytes - tables->used_bytes)
		return false;
	tables->used_bytes += bytes;
	return true;
}

enum kp_status kp_tables_process(struct kp_tables *tables, uint64_t process,
				 struct kp_process_tables **out)
{
	struct kp_process_tables *created;
	uint32_t index;
	enum kp_status status;

	*out = NULL;
	if (kp_intern_find(&tables->identities, &process, sizeof(process), &index)) {
		*out = tables->processes[index];
		return KP_OK;
	}
	if (!spend(tables, sizeof(*created) + PROCESS_OVERHEAD_BYTES))
		return KP_CORRUPT;
	created = calloc(1, sizeof(*created));
	if (!created)
		return KP_NO_MEMORY;
	status = KP_NO_MEMORY;
	if (kp_vector_grow((void **)&tables->processes, tables->count, &tables->capacity,
			   sizeof(struct kp_process_tables *)))
		status =
			kp_intern_put(&tables->identities, &process, sizeof(process), &index, NULL);
	if (status != KP_OK) {
		free(created);
		return status;
	}
	created->view.id = process;
	created->view.index = index;
	tables->processes[tables->count++] = created;
	*out = created;
	return KP_OK;
}

/* ---- interned tables ---- */

enum kp_status kp_tables_add_string(struct kp_tables *tables, struct kp_process_tables *process,
				    const struct kp_text *text)
{
	struct kp_process *view = &process->view;
	const char *copy;

	if (!spend(tables, sizeof(*text) + text->length))
		return KP_CORRUPT;
	copy = kp_arena_copy(tables->arena, text->bytes, text->length);
	if (!copy || !kp_vector_grow((void **)&process->strings, view->string_count,
				     &process->string_capacity, sizeof(*text)))
		return KP_NO_MEMORY;
	process->strings[view->string_count++] = (struct kp_text){copy, text->length};
	view->strings = process->strings;
	return KP_OK;
}

/* A placeholder for the next string, with its number, so that lost names stay different. */
enum kp_status kp_tables_add_lost(struct kp_tables *tables, struct kp_process_tables *process)
{
	char name[32];
	struct kp_text text = {.bytes = name,
			       .length = (size_t)snprintf(name, sizeof(name), "(lost name %zu)",
							  process->view.string_count)};

	return kp_tables_add_string(tables, process, &text);
}

/* Adds one configuration; NULL: it was lost, and no launch can refer to it. */
static enum kp_status add_config(struct kp_tables *tables, struct kp_process_tables *process,
				 const struct kp_launch_config *config)
{
	struct kp_process *view = &process->view;

	if (!spend(tables, sizeof(*config) + sizeof(struct kp_lane)))
		return KP_CORRUPT;
	if (!kp_vector_grow((void **)&process->configs, view->config_count,
			    &process->config_capacity, sizeof(*config)))
		return KP_NO_MEMORY;
	process->configs[view->config_count++] =
		config ? *config : (struct kp_launch_config){.name = UINT32_MAX};
	view->configs = process->configs;
	return kp_lanes_add(&process->lanes, config);
}

/*
 * Where a table chunk begins: *skip says how many of its entries are known already (a chunk that
 * was written again after a failure). A chunk that begins beyond the table's end means that
 * *missing entries were lost; placeholders stand for them.
 */
static enum kp_status table_begin(struct kp_cursor *payload, size_t known, size_t *missing,
				  size_t *skip)
{
	uint64_t first = kp_cursor_varint(payload);

	if (payload->failed || first > UINT32_MAX)
		return KP_CORRUPT;
	*missing = first > known ? first - known : 0;
	*skip = first < known ? known - first : 0;
	return *missing > KP_TABLES_MISSING_MOST ? KP_CORRUPT : KP_OK;
}

static enum kp_status add_strings(struct kp_tables *tables, struct kp_process_tables *process,
				  size_t count, struct kp_cursor *payload)
{
	char cut[KP_LIMIT_CUT_BYTES + 32];
	size_t missing, skip;
	enum kp_status status = table_begin(payload, process->view.string_count, &missing, &skip);

	for (size_t i = 0; status == KP_OK && i < missing; i++)
		status = kp_tables_add_lost(tables, process);
	for (size_t i = 0; status == KP_OK && i < count; i++) {
		struct kp_cursor bytes = kp_cursor_take(payload, kp_cursor_varint(payload));
		struct kp_text text = {.length = kp_cursor_left(&bytes)};

		if (payload->failed)
			return KP_CORRUPT;
		if (i < skip)
			continue;
		text.bytes = (const char *)bytes.at;
		if (!kp_limits_store(&tables->limits, text.length)) {
			text.length = kp_limits_cut(text.bytes, text.length,
						    process->view.string_count, cut);
			text.bytes = cut;
		}
		status = kp_tables_add_string(tables, process, &text);
	}
	return status;
}

static enum kp_status add_configs(struct kp_tables *tables, struct kp_process_tables *process,
				  size_t count, struct kp_cursor *payload)
{
	bool too_many;
	size_t missing, skip;
	enum kp_status status = table_begin(payload, process->view.config_count, &missing, &skip);

	for (size_t i = 0; status == KP_OK && i < missing; i++)
		status = add_config(tables, process, NULL);
	for (size_t i = 0; status == KP_OK && i < count; i++) {
		struct kp_cursor bytes = kp_cursor_take(payload, kp_cursor_varint(payload));
		struct kp_launch_config config = {0};
		uint32_t *members = (uint32_t *)&config;

		if (payload->failed)
			return KP_CORRUPT;
		for (size_t m = 0; m < sizeof(config) / 4 && kp_cursor_left(&bytes); m++)
			members[m] = (uint32_t)kp_cursor_varint(&bytes);
		if (bytes.failed)
			return KP_CORRUPT;
		status = kp_limits_device(&tables->limits, process->view.index, config.device,
					  &too_many);
		if (too_many)
			return KP_CORRUPT;
		if (status == KP_OK && i >= skip)
			status = add_config(tables, process, &config);
	}
	return status;
}

/* Adds one call of a library; NULL: it was lost, and nothing is known of it. */
static enum kp_status add_library_call(struct kp_tables *tables, struct kp_process_tables *process,
				       struct kp_cursor *members)
{
	struct kp_process *view = &process->view;
	struct kp_library_call call = {.library = UINT32_MAX, .entry = UINT32_MAX};
	uint64_t *values = (uint64_t *)&call;

	for (size_t i = 0; members && i < sizeof(call) / 8 && kp_cursor_left(members); i++)
		values[i] = kp_cursor_varint(members);
	if ((members && members->failed) || !spend(tables, sizeof(call)))
		return KP_CORRUPT;
	if (!kp_vector_grow((void **)&process->library_calls, view->library_call_count,
			    &process->library_call_capacity, sizeof(call)))
		return KP_NO_MEMORY;
	process->library_calls[view->library_call_count++] = call;
	view->library_calls = process->library_calls;
	return KP_OK;
}

static enum kp_status add_library_calls(struct kp_tables *tables, struct kp_process_tables *process,
					size_t count, struct kp_cursor *payload)
{
	size_t missing, skip;
	enum kp_status status =
		table_begin(payload, process->view.library_call_count, &missing, &skip);

	for (size_t i = 0; status == KP_OK && i < missing; i++)
		status = add_library_call(tables, process, NULL);
	for (size_t i = 0; status == KP_OK && i < count; i++) {
		struct kp_cursor members = kp_cursor_take(payload, kp_cursor_varint(payload));

		if (payload->failed)
			return KP_CORRUPT;
		if (i >= skip)
			status = add_library_call(tables, process, &members);
	}
	return status;
}

/* Nodes are a list: no one refers to their numbers, so those that are missing are not there. */
static enum kp_status add_library_nodes(struct kp_tables *tables, struct kp_process_tables *process,
					size_t count, struct kp_cursor *payload)
{
	struct kp_process *view = &process->view;
	uint64_t first = kp_cursor_varint(payload);
	struct kp_library_node node;
	uint32_t *values = (uint32_t *)&node;

	for (size_t i = 0; i < count; i++) {
		struct kp_cursor members = kp_cursor_take(payload, kp_cursor_varint(payload));

		node = (struct kp_library_node){0};
		for (size_t m = 0; m < sizeof(node) / 4 && kp_cursor_left(&members); m++)
			values[m] = (uint32_t)kp_cursor_varint(&members);
		if (payload->failed || members.failed || first > UINT32_MAX ||
		    node.call >= view->library_call_count || !spend(tables, sizeof(node)))
			return KP_CORRUPT;
		if (!kp_vector_grow((void **)&process->library_nodes, view->library_node_count,
				    &process->library_node_capacity, sizeof(node)))
			return KP_NO_MEMORY;
		process->library_nodes[view->library_node_count++] = node;
		view->library_nodes = process->library_nodes;
	}
	return KP_OK;
}

/* ---- fields ---- */

/* `record` holds what is known so far: a later record of a process completes an earlier one. */
static enum kp_status decode(struct kp_tables *tables, const struct kp_fieldset *layout,
			     struct kp_cursor *payload, void *record)
{
	return kp_fieldset_decode(layout, payload, tables->arena, record);
}

static enum kp_status add_device(struct kp_tables *tables, struct kp_process_tables *process,
				 struct kp_cursor *payload)
{
	struct kp_process *view = &process->view;
	struct kp_device_info device = {0};
	enum kp_status status = decode(tables, &kp_device_fieldset, payload, &device);

	if (status != KP_OK)
		return status;
	if (view->device_count >= tables->limits.devices || !spend(tables, sizeof(device)))
		return KP_CORRUPT;
	if (!kp_vector_grow((void **)&process->devices, view->device_count,
			    &process->device_capacity, sizeof(device)))
		return KP_NO_MEMORY;
	view->devices = process->devices;
	process->devices[view->device_count++] = device;
	return KP_OK;
}

static enum kp_status add_note(struct kp_tables *tables, struct kp_process_tables *process,
			       struct kp_cursor *payload)
{
	struct kp_process *view = &process->view;
	struct kp_note note = {0};
	enum kp_status status = decode(tables, &kp_note_fieldset, payload, &note);

	if (status != KP_OK)
		return status;
	if (!spend(tables, sizeof(note)))
		return KP_CORRUPT;
	if (!kp_vector_grow((void **)&process->notes, view->note_count, &process->note_capacity,
			    sizeof(note)))
		return KP_NO_MEMORY;
	view->notes = process->notes;
	process->notes[view->note_count++] = note;
	return KP_OK;
}

/*
 * A window replaces the one before it if that has its number: it was written while it was open. One
 * that is never closed ends where the program was killed, which the trace does not say: it ends
 * where it began, and what was recorded in it makes it longer. Windows follow each other.
 */
static enum kp_status add_window(struct kp_tables *tables, struct kp_process_tables *process,
				 struct kp_cursor *payload)
{
	struct kp_process *view = &process->view;
	size_t count = view->window_count;
	struct kp_window_info window = {0};
	enum kp_status status = decode(tables, &kp_window_fieldset, payload, &window);

	if (status != KP_OK)
		return status;
	if (!KP_HAS(&window, WINDOW, end_ns))
		KP_SET(&window, WINDOW, end_ns, window.begin_ns);
	if (!KP_HAS(&window, WINDOW, begin_ns) || window.end_ns < window.begin_ns ||
	    window.end_ns > KP_TIME_MAX_NS)
		return KP_CORRUPT;
	if (count && process->windows[count - 1].number == window.number)
		count--;
	if (count && window.begin_ns < process->windows[count - 1].end_ns)
		return KP_CORRUPT;
	if (!spend(tables, sizeof(window)))
		return KP_CORRUPT;
	if (!kp_vector_grow((void **)&process->windows, count, &process->window_capacity,
			    sizeof(window)))
		return KP_NO_MEMORY;
	process->windows[count] = window;
	view->windows = process->windows;
	view->window_count = count + 1;
	return KP_OK;
}

/* A session adds to the one of its number. Samples refer to it, so that it has to have one. */
static enum kp_status add_counters(struct kp_tables *tables, struct kp_process_tables *process,
				   struct kp_cursor *payload)
{
	struct kp_process *view = &process->view;
	struct kp_counters_info added = {0};
	struct kp_cursor again = *payload;
	enum kp_status status = decode(tables, &kp_counters_fieldset, payload, &added);
	size_t at = 0;

	if (status != KP_OK)
		return status;
	if (!KP_HAS(&added, COUNTERS, number))
		return KP_CORRUPT;
	while (at < view->counters_count && process->counters[at].number != added.number)
		at++;
	if (at < view->counters_count)
		return decode(tables, &kp_counters_fieldset, &again, &process->counters[at]);
	if (at == MAX_SESSIONS || !spend(tables, sizeof(added)))
		return KP_CORRUPT;
	if (!kp_vector_grow((void **)&process->counters, at, &process->counters_capacity,
			    sizeof(added)))
		return KP_NO_MEMORY;
	process->counters[at] = added;
	view->counters = process->counters;
	view->counters_count = at + 1;
	return KP_OK;
}

static enum kp_status add_clock(struct kp_tables *tables, struct kp_process_tables *process,
				struct kp_cursor *payload)
{
	struct kp_process *view = &process->view;
	enum kp_status status = decode(tables, &kp_clock_fieldset, payload, &view->last_clock);

	if (status == KP_OK && !view->first_clock.has)
		view->first_clock = view->last_clock;
	return status;
}

/* An end that was withdrawn leaves none. */
static enum kp_status set_end(struct kp_tables *tables, struct kp_process_tables *process,
			      struct kp_cursor *payload)
{
	struct kp_end end = {0};
	enum kp_status status = decode(tables, &kp_end_fieldset, payload, &end);

	if (status != KP_OK)
		return status;
	process->view.end = end;
	if (end.way == KP_END_WITHDRAWN)
		process->view.end.has = 0;
	return KP_OK;
}

/* Whether a chunk is a record of fields. */
static bool is_described(uint8_t kind)
{
	return kind == KP_CHUNK_PROCESS || kind == KP_CHUNK_DEVICE || kind == KP_CHUNK_NOTE ||
	       kind == KP_CHUNK_COUNTERS;
}

enum kp_status kp_tables_add(struct kp_tables *tables, const struct kp_chunk_header *header,
			     struct kp_cursor *payload)
{
	struct kp_process_tables *process;
	enum kp_status status = kp_tables_process(tables, header->process, &process);

	if (status != KP_OK)
		return status;
	if (!spend(tables, kp_cursor_left(payload)) ||
	    (is_described(header->kind) &&
	     !kp_limits_record(&tables->limits, payload->at, kp_cursor_left(payload))))
		return KP_CORRUPT;
	switch ((enum kp_chunk_kind)header->kind) {
	case KP_CHUNK_PROCESS:
		return decode(tables, &kp_process_fieldset, payload, &process->view.info);
	case KP_CHUNK_DEVICE:
		return add_device(tables, process, payload);
	case KP_CHUNK_CLOCK:
		return add_clock(tables, process, payload);
	case KP_CHUNK_COUNTS:
		return decode(tables, &kp_counts_fieldset, payload, &process->view.counts);
	case KP_CHUNK_NOTE:
		return add_note(tables, process, payload);
	case KP_CHUNK_WINDOW:
		return add_window(tables, process, payload);
	case KP_CHUNK_COUNTERS:
		return add_counters(tables, process, payload);
	case KP_CHUNK_END:
		return set_end(tables, process, payload);
	case KP_CHUNK_STRINGS:
		return add_strings(tables, process, header->record_count, payload);
	case KP_CHUNK_CONFIGS:
		return add_configs(tables, process, header->record_count, payload);
	case KP_CHUNK_LIBRARY_CALLS:
		return add_library_calls(tables, process, header->record_count, payload);
	case KP_CHUNK_LIBRARY_NODES:
		return add_library_nodes(tables, process, header->record_count, payload);
	case KP_CHUNK_LIBRARY_LAUNCHES:
	case KP_CHUNK_LAUNCHES:
	case KP_CHUNK_MEMOPS:
	case KP_CHUNK_RANGES:
	case KP_CHUNK_SAMPLES:
	case KP_CHUNK_CLOCKS:
	case KP_CHUNK_HOST:
	case KP_CHUNK_RUNS:
		break;
	}
	return KP_UNSUPPORTED;
}

struct kp_text kp_process_string(const struct kp_process *process, uint32_t number)
{
	return number < process->string_count ? process->strings[number] : lost_name;
}

const struct kp_counters_info *kp_process_counters(const struct kp_process *process,
						   uint64_t number)
{
	for (size_t i = 0; i < process->counters_count; i++)
		if (process->counters[i].number == number)
			return &process->counters[i];
	return NULL;
}
