/*
 * Chrome's trace event format (JSON), as Perfetto UI and chrome://tracing open it.
 *
 * Every slice is a complete event (ph X) on a thread of its process that is a lane
 * (export_lanes.h); counters and clocks are counters (ph C). What repeats is rendered once a
 * template. Times are microseconds of the trace's clock with three decimals: exact. After the
 * events stand the sums of all kernels, copies and sets under the key "kprof".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzers/report_losses.h"
#include "profiler/export.h"
#include "profiler/export_json.h"
#include "profiler/export_lanes.h"
#include "profiler/export_totals.h"
#include "profiler/text.h"
#include "trace/codec.h"
#include "trace/vector.h"

/* Above the kernel's largest pid: processes that share one are told apart. */
#define FIRST_MADE_UP_PID ((1ULL << 22) + 1)

/* Where the rendered parts of a template stand in the pool; 0 bytes: not rendered yet. */
struct part {
	size_t at;
	uint32_t name_bytes, args_bytes;
};

struct chrome {
	struct kp_export *job;
	struct kp_lanes_of lanes;
	struct kp_export_totals totals;
	struct kp_buffer pool;
	struct part *parts;
	size_t part_capacity;
	uint64_t *pids; /* by process */
	bool *named;    /* by number of a kernel's mangled name: it was said */
	size_t named_capacity;
	bool any; /* an event was written */
};

/* The columns that a slice shows among its arguments, as far as the template has them. */
static const uint8_t shown[] = {
	KP_EXPORT_COLUMN_OPERATOR,      KP_EXPORT_COLUMN_DOMAIN,         KP_EXPORT_COLUMN_GRID_X,
	KP_EXPORT_COLUMN_GRID_Y,        KP_EXPORT_COLUMN_GRID_Z,         KP_EXPORT_COLUMN_BLOCK_X,
	KP_EXPORT_COLUMN_BLOCK_Y,       KP_EXPORT_COLUMN_BLOCK_Z,        KP_EXPORT_COLUMN_REGISTERS,
	KP_EXPORT_COLUMN_STATIC_SHARED, KP_EXPORT_COLUMN_DYNAMIC_SHARED, KP_EXPORT_COLUMN_DEVICE,
	KP_EXPORT_COLUMN_CONTEXT,       KP_EXPORT_COLUMN_STREAM,         KP_EXPORT_COLUMN_VARIANT,
	KP_EXPORT_COLUMN_LABEL_SOURCE,
};

static void render_args(struct chrome *chrome, const struct kp_export_template *template)
{
	struct kp_buffer *pool = &chrome->pool;
	char text[96];

	for (size_t i = 0; i < sizeof shown; i++) {
		const struct kp_export_column *column = &kp_export_fixed_columns[shown[i]];

		if (!(template->has >> shown[i] & 1U))
			continue;
		kp_buffer_put(pool, text,
			      (size_t)snprintf(text, sizeof text, ",\"%s\":", column->name));
		if (column->text)
			kp_export_json(pool,
				       kp_export_text_of(chrome->job->events, template, shown[i]));
		else
			kp_buffer_put(pool, text,
				      (size_t)snprintf(text, sizeof text, "%" PRIu64,
						       template->cells[shown[i]]));
	}
	kp_buffer_put(pool, "}}", 2);
}

/* Renders a template: «"cat":…,"name":…,"pid":…» and the arguments behind the event's own. */
static enum kp_status render(struct chrome *chrome, const struct kp_export_template *template,
			     struct part *part)
{
	struct kp_buffer *pool = &chrome->pool;
	const char *name = kp_export_text_of(chrome->job->events, template, KP_EXPORT_COLUMN_NAME);
	char text[96];

	part->at = pool->length;
	kp_buffer_put(pool, text,
		      (size_t)snprintf(text, sizeof text,
				       ",\"pid\":%" PRIu64 ",\"cat\":\"%s\",\"name\":",
				       chrome->pids[template->process->index],
				       kp_export_kind_names[template->kind]));
	kp_export_json(pool, name ? name : "");
	part->name_bytes = (uint32_t)(pool->length - part->at);
	render_args(chrome, template);
	part->args_bytes = (uint32_t)(pool->length - part->at - part->name_bytes);
	return pool->failed ? KP_NO_MEMORY : KP_OK;
}

static void begin_event(struct chrome *chrome)
{
	kp_out_text(&chrome->job->out, chrome->any ? ",\n" : "\n");
	chrome->any = true;
}

static void put_metadata(struct chrome *chrome, const char *what, uint64_t pid, uint64_t tid,
			 const char *name)
{
	struct kp_out *out = &chrome->job->out;

	begin_event(chrome);
	kp_out_print(out,
		     "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64
		     ",\"args\":{\"name\":",
		     what, pid, tid);
	kp_out_json(out, name);
	kp_out_text(out, "}}");
}

/* What is known of a process, exactly, for kprof import: viewers show its name. */
static enum kp_status put_process(struct chrome *chrome, const struct kp_process *process,
				  uint64_t pid)
{
	const struct kp_process_info *info = &process->info;
	const struct {
		const char *key;
		bool known;
		struct kp_text value;
	} facts[] = {
		{"command", KP_HAS(info, PROCESS, command), info->command},
		{"host", KP_HAS(info, PROCESS, host), info->host},
		{"rank", KP_HAS(info, PROCESS, rank), info->rank},
	};
	struct kp_out *out = &chrome->job->out;
	enum kp_status status = KP_OK;
	char name[512];

	kp_export_process_name(process, name, sizeof name);
	begin_event(chrome);
	kp_out_print(out,
		     "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRIu64
		     ",\"tid\":0,\"args\":{\"name\":",
		     pid);
	kp_out_json(out, name);
	for (size_t i = 0; i < sizeof facts / sizeof *facts && status == KP_OK; i++) {
		char *text = facts[i].known
				     ? kp_text_exact(facts[i].value.bytes, facts[i].value.length)
				     : NULL;

		if (facts[i].known && !text)
			status = KP_NO_MEMORY;
		if (text) {
			kp_out_print(out, ",\"%s\":", facts[i].key);
			kp_out_json(out, text);
		}
		free(text);
	}
	kp_out_text(out, "}}");
	return status;
}

/* The name that the driver has for a kernel, once, for kprof import: viewers pass it over. */
static enum kp_status say_name(struct chrome *chrome, const struct kp_export_template *template)
{
	struct kp_export_events *events = chrome->job->events;
	struct kp_out *out = &chrome->job->out;
	uint64_t number = template->cells[KP_EXPORT_COLUMN_MANGLED_NAME];

	if (template->kind != KP_EXPORT_KERNEL)
		return KP_OK;
	if (!kp_vector_reserve((void **)&chrome->named, number + 1, &chrome->named_capacity,
			       sizeof *chrome->named))
		return KP_NO_MEMORY;
	if (chrome->named[number])
		return KP_OK;
	chrome->named[number] = true;
	begin_event(chrome);
	kp_out_print(out,
		     "{\"ph\":\"M\",\"name\":\"kprof_kernel\",\"pid\":%" PRIu64
		     ",\"tid\":0,\"args\":{\"name\":",
		     chrome->pids[template->process->index]);
	kp_out_json(out, kp_export_text_of(events, template, KP_EXPORT_COLUMN_NAME));
	kp_out_text(out, ",\"mangled_name\":");
	kp_out_json(out, kp_export_text_of(events, template, KP_EXPORT_COLUMN_MANGLED_NAME));
	kp_out_text(out, "}}");
	return KP_OK;
}

/* A lane that is new gets its name and its place. */
static void name_lane(struct chrome *chrome, uint32_t lane, const struct kp_export_event *event,
		      const struct kp_export_template *template)
{
	char name[256];
	uint64_t pid = chrome->pids[template->process->index];

	kp_lanes_name(&chrome->lanes, chrome->job->events, lane, event, name, sizeof name);
	put_metadata(chrome, "thread_name", pid, lane + 1, name);
	begin_event(chrome);
	kp_out_print(&chrome->job->out,
		     "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%" PRIu64
		     ",\"tid\":%u,\"args\":{\"sort_index\":%u}}",
		     pid, lane + 1, kp_lanes_rank(template) << 20 | lane);
}

/* The event's own columns behind the slice's times, in the order of their enum. */
static char *write_own(char *at, const struct kp_export_event *event)
{
	char *begin = at;

	for (unsigned column = KP_EXPORT_COLUMN_CORRELATION; column <= KP_EXPORT_COLUMN_BYTES;
	     column++) {
		const char *name = kp_export_own_columns[column].name;

		if (!(event->has >> column & 1U))
			continue;
		if (at != begin)
			*at++ = ',';
		*at++ = '"';
		while (*name)
			*at++ = *name++;
		*at++ = '"';
		*at++ = ':';
		at = kp_out_write_count(at, event->own[column]);
	}
	return at;
}

/* More than a slice takes without what its template decides. */
#define SLICE_BYTES 1024
#define APPEND(at, literal) (memcpy(at, literal, sizeof(literal) - 1), (at) + sizeof(literal) - 1)

static enum kp_status put_slice(struct chrome *chrome, const struct kp_export_event *event,
				const struct kp_export_template *template, const struct part *part)
{
	struct kp_out *out = &chrome->job->out;
	const char *rendered;
	size_t lanes = chrome->lanes.count, args = part->args_bytes;
	uint32_t lane;
	enum kp_status status = kp_lanes_find(&chrome->lanes, chrome->job->events, event, &lane);

	if (status != KP_OK)
		return status;
	if (chrome->lanes.count > lanes)
		name_lane(chrome, lane, event, template);
	rendered = (const char *)chrome->pool.bytes + part->at;
	begin_event(chrome);
	char *at = kp_out_room(out, SLICE_BYTES);
	at = APPEND(at, "{\"ph\":\"X\",\"ts\":");
	at = kp_out_write_us(at, event->own[KP_EXPORT_COLUMN_START]);
	at = APPEND(at, ",\"dur\":");
	at = kp_out_write_us(at, event->own[KP_EXPORT_COLUMN_DURATION]);
	at = APPEND(at, ",\"tid\":");
	kp_out_took(out, kp_out_write_count(at, lane + 1));
	kp_out_copy(out, rendered, part->name_bytes);
	at = APPEND(kp_out_room(out, SLICE_BYTES), ",\"args\":{");
	char *end = write_own(at, event);
	bool comma = end != at || args == 2; /* the arguments begin with one, or there are none */
	kp_out_took(out, end);
	rendered += part->name_bytes;
	kp_out_copy(out, rendered + !comma, args - !comma);
	return KP_OK;
}

/* A counter over its interval as a rate, a clock as it is. */
static void put_value(struct chrome *chrome, const struct kp_export_event *event,
		      const struct kp_export_template *template)
{
	struct kp_export *job = chrome->job;
	uint64_t duration_ns = event->own[KP_EXPORT_COLUMN_DURATION];
	uint64_t value = event->own[KP_EXPORT_COLUMN_VALUE];
	bool counter = template->kind == KP_EXPORT_COUNTER;
	char time[32];

	if (counter && duration_ns == 0)
		return;
	*kp_out_write_us(time, event->own[KP_EXPORT_COLUMN_START]) = '\0';
	begin_event(chrome);
	kp_out_print(&job->out,
		     "{\"ph\":\"C\",\"ts\":%s,\"pid\":%" PRIu64
		     ",\"cat\":\"%s\",\"name\":\"GPU %" PRIu64 " %s (%s%s)\",\"args\":{\"value\":",
		     time, chrome->pids[template->process->index],
		     kp_export_kind_names[template->kind], template->cells[KP_EXPORT_COLUMN_DEVICE],
		     kp_export_text_of(job->events, template, KP_EXPORT_COLUMN_NAME),
		     kp_export_text_of(job->events, template, KP_EXPORT_COLUMN_UNIT),
		     counter ? "/s" : "");
	if (counter)
		kp_out_print(&job->out, "%.0f}}", (double)value * 1e9 / (double)duration_ns);
	else
		kp_out_print(&job->out, "%" PRIu64 "}}", value);
}

static enum kp_status take(void *context, const struct kp_export_event *list, size_t count)
{
	struct chrome *chrome = context;
	enum kp_status status = kp_export_totals_add(&chrome->totals, list, count);

	for (size_t i = 0; status == KP_OK && i < count; i++) {
		const struct kp_export_event *event = &list[i];
		const struct kp_export_template *template =
			kp_export_events_template(chrome->job->events, event->template);

		if (!template->valid || !kp_export_admits(chrome->job))
			continue;
		if (template->kind >= KP_EXPORT_COUNTER) {
			put_value(chrome, event, template);
			continue;
		}
		if (event->template >= chrome->part_capacity &&
		    !kp_vector_reserve((void **)&chrome->parts, (size_t)event->template + 1,
				       &chrome->part_capacity, sizeof *chrome->parts))
			return KP_NO_MEMORY;
		struct part *part = &chrome->parts[event->template];
		if (part->args_bytes == 0) {
			status = say_name(chrome, template);
			if (status == KP_OK)
				status = render(chrome, template, part);
		}
		if (status == KP_OK)
			status = put_slice(chrome, event, template, part);
	}
	return status == KP_OK ? kp_export_status(chrome->job) : status;
}

/* Gives each process a pid of its own: the real one, if no other has it. */
static enum kp_status number_processes(struct chrome *chrome)
{
	struct kp_reader *reader = kp_export_events_reader(chrome->job->events);
	size_t count = kp_reader_process_count(reader);
	struct kp_intern taken = {0};
	enum kp_status status = KP_OK;

	chrome->pids = calloc(count + 1, sizeof *chrome->pids);
	if (!chrome->pids)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < count; i++) {
		const struct kp_process *process = kp_reader_process(reader, i);
		uint64_t pid = KP_HAS(&process->info, PROCESS, pid) ? process->info.pid : 0;
		uint32_t number;
		bool added;

		status = kp_intern_put(&taken, &pid, sizeof pid, &number, &added);
		if (!added || pid == 0 || pid >= FIRST_MADE_UP_PID)
			pid = FIRST_MADE_UP_PID + i;
		chrome->pids[i] = pid;
		if (status == KP_OK)
			status = put_process(chrome, process, pid);
	}
	kp_intern_fini(&taken);
	return status;
}

static void put_group(struct chrome *chrome, const struct kp_export_group *group)
{
	const struct kp_export_template *template = group->template;
	struct kp_export_events *events = chrome->job->events;
	struct kp_out *out = &chrome->job->out;
	const char *full = kp_export_text_of(events, template, KP_EXPORT_COLUMN_FULL_NAME);
	const char *operator_name = kp_export_text_of(events, template, KP_EXPORT_COLUMN_OPERATOR);

	kp_out_print(
		out,
		"{\"kind\":\"%s\",\"timing\":\"%s\",\"pid\":%" PRIu64 ",\"device\":%" PRIu64
		",\"events\":%" PRIu64 ",\"total_ns\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"name\":",
		kp_export_kind_names[template->kind],
		kp_export_text_of(events, template, KP_EXPORT_COLUMN_TIMING),
		chrome->pids[template->process->index], template->cells[KP_EXPORT_COLUMN_DEVICE],
		group->total.events, group->total.total_ns, group->total.bytes);
	kp_out_json(out, kp_export_text_of(events, template, KP_EXPORT_COLUMN_NAME));
	if (operator_name) {
		kp_out_text(out, ",\"operator\":");
		kp_out_json(out, operator_name);
		kp_out_print(out, ",\"written_out\":%s", template->written_out ? "true" : "false");
	}
	if (full) {
		kp_out_text(out, ",\"full_name\":");
		kp_out_json(out, full);
		kp_out_text(out, ",\"mangled_name\":");
		kp_out_json(out,
			    kp_export_text_of(events, template, KP_EXPORT_COLUMN_MANGLED_NAME));
	}
	kp_out_text(out, "}");
}

/* The sums of everything, and what the timeline lacks. */
static enum kp_status put_sums(struct chrome *chrome)
{
	struct kp_out *out = &chrome->job->out;
	struct kp_export_group *groups;
	size_t count;
	enum kp_status status =
		kp_export_totals_group(&chrome->totals, chrome->job->events, &groups, &count);

	if (status != KP_OK)
		return status;
	kp_out_print(out,
		     "\n],\"displayTimeUnit\":\"ns\",\"kprof\":{\"slices\":%" PRIu64
		     ",\"left_out\":%" PRIu64 ",\"lost_launches\":%" PRIu64 ",\"sums\":[",
		     chrome->job->slices, chrome->job->left_out,
		     kp_losses_promised(kp_export_events_reader(chrome->job->events)));
	for (size_t i = 0; i < count; i++) {
		kp_out_text(out, i ? ",\n" : "\n");
		put_group(chrome, &groups[i]);
	}
	kp_out_text(out, "]}}\n");
	free(groups);
	return KP_OK;
}

enum kp_status kp_export_chrome(struct kp_export *job)
{
	struct chrome chrome = {.job = job};
	enum kp_status status;

	kp_out_text(&job->out,
		    "{\"otherData\":{\"producer\":\"kprof " KPROF_VERSION "\"},\"traceEvents\":[");
	status = number_processes(&chrome);
	if (status == KP_OK)
		status = kp_export_events_each(job->events, take, &chrome);
	if (status == KP_OK)
		status = put_sums(&chrome);
	kp_lanes_of_fini(&chrome.lanes);
	kp_export_totals_fini(&chrome.totals);
	kp_buffer_fini(&chrome.pool);
	free(chrome.parts);
	free(chrome.named);
	free(chrome.pids);
	return status;
}
