/*
 * A Chrome trace as a source: finds events in the document; see import_chrome.h for what is read of
 * them, and import_json.h for the limits.
 *
 * A file is a map with traceEvents, a list of events, or several of these one after the other (as
 * Proton writes a stream each). Keys may stand in any order, but an event is taken when it ends:
 * what a file says of devices and ranks may follow.
 */
#include "profiler/import_chrome.h"
#include "analyzers/durations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/durations.h"
#include "profiler/import_json.h"

#define TEXT_BYTES_MOST ((size_t)64 << 10) /* the rest of a longer one is left out */
#define WHOLE_NOTE "the times of the source are whole microseconds: short kernels are shown rounded"

enum key_kind { KEY_NONE, KEY_NUMBER, KEY_TEXT, KEY_TIME, KEY_INNER };

struct key {
	const char *name;
	uint8_t place; /* enum kp_chrome_place, in which it stands */
	uint8_t kind;
	uint8_t number; /* enum kp_chrome_number, …; of an inner one: enum kp_chrome_place */
};

static const struct key keys[] = {
#define X(NAME, place, key) {key, KP_CHROME_##place, KEY_NUMBER, KP_CHROME_##NAME},
	KP_CHROME_NUMBERS(X)
#undef X
#define X(NAME, place, key) {key, KP_CHROME_##place, KEY_TEXT, KP_CHROME_##NAME},
		KP_CHROME_TEXTS(X)
#undef X
#define X(NAME, place, key) {key, KP_CHROME_##place, KEY_TIME, KP_CHROME_##NAME},
			KP_CHROME_TIMES(X)
#undef X
				{"hostname", KP_CHROME_ROOT, KEY_TEXT, KP_CHROME_HOST},
	{"traceEvents", KP_CHROME_ROOT, KEY_INNER, KP_CHROME_EVENTS},
	{"deviceProperties", KP_CHROME_ROOT, KEY_INNER, KP_CHROME_DEVICES},
	{"distributedInfo", KP_CHROME_ROOT, KEY_INNER, KP_CHROME_DISTRIBUTED},
	{"otherData", KP_CHROME_ROOT, KEY_INNER, KP_CHROME_OTHER},
	{"kprof", KP_CHROME_ROOT, KEY_INNER, KP_CHROME_OWN},
	{"sums", KP_CHROME_OWN, KEY_INNER, KP_CHROME_SUMS},
	{"args", KP_CHROME_EVENT, KEY_INNER, KP_CHROME_ARGS},
	{"grid", KP_CHROME_ARGS, KEY_INNER, KP_CHROME_GRID},
	{"block", KP_CHROME_ARGS, KEY_INNER, KP_CHROME_BLOCK},
};

struct chrome {
	struct kp_import *import;
	struct kp_chrome_events events;
	uint8_t places[KP_JSON_DEPTH_MOST + 2];
	unsigned depth;
	const struct key *key;          /* of the value that comes next; NULL: nobody reads it */
	struct kp_chrome_values values; /* of the event or device */
	struct kp_chrome_values document;
	bool hatchet; /* a profile of Proton that holds totals */
	enum kp_status status;
};

static enum kp_chrome_place here(const struct chrome *chrome)
{
	return (enum kp_chrome_place)chrome->places[chrome->depth];
}

static void forget(struct kp_chrome_values *values)
{
	values->has = 0;
	values->has_text = values->has_time = 0;
	values->triple_counts[0] = values->triple_counts[1] = 0;
}

/* Those of the document stay, the others go with the event. */
static struct kp_chrome_values *values_of(struct chrome *chrome)
{
	switch (here(chrome)) {
	case KP_CHROME_ROOT:
	case KP_CHROME_DISTRIBUTED:
	case KP_CHROME_OTHER:
	case KP_CHROME_OWN:
		return &chrome->document;
	default:
		return &chrome->values;
	}
}

static int go_on(struct chrome *chrome)
{
	return chrome->status == KP_OK;
}

/* ---- values ---- */

static int on_scalar(void *context)
{
	struct chrome *chrome = context;

	chrome->key = NULL;
	return 1;
}

static int on_boolean(void *context, int value)
{
	(void)value;
	return on_scalar(context);
}

static void take_triple(struct chrome *chrome, struct kp_text number)
{
	unsigned which = here(chrome) == KP_CHROME_BLOCK;
	unsigned at = chrome->values.triple_counts[which]++;
	uint64_t value;

	if (at < 3)
		chrome->values.triples[which][at] =
			kp_json_count(number, &value) && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static void take_time(struct chrome *chrome, struct kp_text number, unsigned which)
{
	bool whole;

	if (!kp_json_us(number, &chrome->values.times_ns[which], &whole))
		return;
	chrome->values.has_time |= 1U << which;
	chrome->events.any_fraction |= !whole;
}

static int on_number(void *context, const char *text, size_t length)
{
	struct chrome *chrome = context;
	struct kp_text number = {text, length};
	const struct key *key = chrome->key;
	struct kp_chrome_values *values = values_of(chrome);
	uint64_t value;

	if (here(chrome) == KP_CHROME_GRID || here(chrome) == KP_CHROME_BLOCK)
		take_triple(chrome, number);
	else if (key && key->kind == KEY_TIME)
		take_time(chrome, number, key->number);
	else if (key && key->kind == KEY_NUMBER && kp_json_count(number, &value)) {
		values->numbers[key->number] = value;
		values->has |= 1ULL << key->number;
	}
	return on_scalar(chrome);
}

/* Numbers stand in texts, too: «"tid": "stream 7"», «"device": "0"». */
static void take_digits(struct kp_chrome_values *values, unsigned which, struct kp_text text)
{
	size_t at = text.length;
	uint64_t value;

	while (at > 0 && text.bytes[at - 1] >= '0' && text.bytes[at - 1] <= '9')
		at--;
	if (at > 0 && text.bytes[at - 1] != ' ')
		return;
	if (!kp_json_count((struct kp_text){text.bytes + at, text.length - at}, &value))
		return;
	values->numbers[which] = value;
	values->has |= 1ULL << which;
}

static int on_string(void *context, const unsigned char *text, size_t length)
{
	struct chrome *chrome = context;
	const struct key *key = chrome->key;
	struct kp_chrome_values *values = values_of(chrome);

	if (length > TEXT_BYTES_MOST)
		length = TEXT_BYTES_MOST;
	if (key && key->kind == KEY_TEXT) {
		kp_buffer_clear(&values->texts[key->number]);
		kp_buffer_put(&values->texts[key->number], text, length);
		values->has_text |= 1U << key->number;
		if (values->texts[key->number].failed)
			chrome->status = KP_NO_MEMORY;
		if (key->place == KP_CHROME_OTHER)
			chrome->events.own = chrome->import->own =
				length >= 5 && memcmp(text, "kprof", 5) == 0;
	} else if (key && key->kind == KEY_NUMBER) {
		take_digits(values, key->number, (struct kp_text){(const char *)text, length});
	}
	on_scalar(chrome);
	return go_on(chrome);
}

/* ---- structure ---- */

static int on_map_key(void *context, const unsigned char *text, size_t length)
{
	struct chrome *chrome = context;
	enum kp_chrome_place place = here(chrome);

	chrome->key = NULL;
	if (place == KP_CHROME_SKIP)
		return 1;
	for (size_t i = 0; i < sizeof keys / sizeof *keys && !chrome->key; i++)
		if (keys[i].place == place && strlen(keys[i].name) == length &&
		    memcmp(keys[i].name, text, length) == 0)
			chrome->key = &keys[i];
	/* Keys that stand in Proton's totals and in no event. */
	if (place == KP_CHROME_EVENT && !(chrome->values.has_text >> KP_CHROME_PH & 1U))
		chrome->hatchet = (length == 5 && memcmp(text, "frame", 5) == 0) ||
				  (length == 8 && memcmp(text, "children", 8) == 0);
	return !chrome->hatchet;
}

static enum kp_chrome_place place_within(const struct chrome *chrome, bool list)
{
	bool named = chrome->key && chrome->key->kind == KEY_INNER;

	switch (here(chrome)) {
	case KP_CHROME_TOP:
		return list ? KP_CHROME_EVENTS : KP_CHROME_ROOT;
	case KP_CHROME_EVENTS:
		return list ? KP_CHROME_SKIP : KP_CHROME_EVENT;
	case KP_CHROME_DEVICES:
		return list ? KP_CHROME_SKIP : KP_CHROME_DEVICE;
	case KP_CHROME_SUMS:
		return list ? KP_CHROME_SKIP : KP_CHROME_SUM;
	default:
		return named ? (enum kp_chrome_place)chrome->key->number : KP_CHROME_SKIP;
	}
}

static int enter(struct chrome *chrome, bool list)
{
	enum kp_chrome_place place = place_within(chrome, list);
	bool is_list = place == KP_CHROME_EVENTS || place == KP_CHROME_DEVICES ||
		       place == KP_CHROME_GRID || place == KP_CHROME_BLOCK ||
		       place == KP_CHROME_SUMS;

	if (place == KP_CHROME_EVENTS && !list) {
		chrome->status = kp_import_fail(chrome->import, "its traceEvents are no list");
		return 0;
	}
	chrome->events.listed |= place == KP_CHROME_EVENTS && here(chrome) == KP_CHROME_ROOT;
	if (place != KP_CHROME_SKIP && is_list != list)
		place = KP_CHROME_SKIP;
	if (place == KP_CHROME_EVENT || place == KP_CHROME_DEVICE || place == KP_CHROME_SUM)
		forget(&chrome->values);
	chrome->places[++chrome->depth] = (uint8_t)place;
	chrome->key = NULL;
	return 1;
}

static int on_start_map(void *context)
{
	return enter(context, false);
}

static int on_start_array(void *context)
{
	return enter(context, true);
}

/* How many kernels the trace had that was exported: those that are not here are lost. */
static enum kp_status take_sum(struct chrome *chrome)
{
	const struct kp_chrome_values *sum = &chrome->values;
	struct kp_text kind = kp_chrome_text(sum, KP_CHROME_SUM_KIND);
	uint32_t number;
	enum kp_status status;

	if (!chrome->events.own || kind.length != 6 || memcmp(kind.bytes, "kernel", 6) != 0 ||
	    !kp_chrome_has(sum, KP_CHROME_SUM_PID))
		return KP_OK;
	status = kp_import_process(chrome->import, kp_chrome_number(sum, KP_CHROME_SUM_PID),
				   &number);
	if (status != KP_OK)
		return status;
	struct kp_counts *counts = &chrome->import->processes[number].counts;
	KP_SET(counts, COUNTS, kernels_recorded,
	       kp_add_saturating(counts->kernels_recorded,
				 kp_chrome_number(sum, KP_CHROME_SUM_EVENTS)));
	return KP_OK;
}

static int on_end(void *context)
{
	struct chrome *chrome = context;
	enum kp_chrome_place place = here(chrome);

	chrome->depth--;
	chrome->key = NULL;
	if (place == KP_CHROME_EVENT)
		chrome->status = kp_chrome_event(&chrome->events, &chrome->values);
	else if (place == KP_CHROME_DEVICE)
		chrome->status = kp_chrome_device(&chrome->events, &chrome->values);
	else if (place == KP_CHROME_SUM)
		chrome->status = take_sum(chrome);
	return go_on(chrome);
}

/* ---- the whole ---- */

/* What the trace that kprof exported had lost, or the export left out. */
static enum kp_status put_own(struct chrome *chrome)
{
	struct kp_import *import = chrome->import;
	uint64_t lost = kp_chrome_number(&chrome->document, KP_CHROME_LOST);
	uint64_t left_out = kp_chrome_number(&chrome->document, KP_CHROME_LEFT_OUT);

	if (lost && import->process_count) { /* of which process is not said */
		struct kp_counts *counts = &import->processes[0].counts;

		KP_SET(counts, COUNTS, kernels_recorded,
		       kp_add_saturating(counts->kernels_recorded, lost));
	}
	if (!left_out)
		return KP_OK;
	return kp_import_note(import,
			      "%llu slices were left out when this was exported (--limit): it is a "
			      "part of a trace",
			      (unsigned long long)left_out);
}

/* What the document says of the one process of a file of PyTorch's profiler. */
static enum kp_status put_document(struct chrome *chrome)
{
	struct kp_import *import = chrome->import;
	const struct kp_chrome_values *document = &chrome->document;
	struct kp_text host = kp_chrome_text(document, KP_CHROME_HOST);
	char rank[24];

	for (size_t i = 0; i < import->process_count && !chrome->events.own; i++) {
		struct kp_import_process *process = &import->processes[i];
		int length = snprintf(rank, sizeof rank, "%llu",
				      (unsigned long long)document->numbers[KP_CHROME_RANK]);

		if (kp_chrome_has(document, KP_CHROME_RANK))
			KP_SET(&process->info, PROCESS, rank,
			       kp_import_text(import, rank, (size_t)length));
		if (host.length)
			KP_SET(&process->info, PROCESS, host,
			       kp_import_text(import, host.bytes, host.length));
		if (kp_chrome_has(document, KP_CHROME_DRIVER_VERSION))
			KP_SET(&process->info, PROCESS, driver_version,
			       document->numbers[KP_CHROME_DRIVER_VERSION]);
		if (kp_chrome_has(document, KP_CHROME_BASE_NS)) {
			KP_SET(&process->clock, CLOCK, monotonic_ns, KP_IMPORT_SHIFT_NS);
			KP_SET(&process->clock, CLOCK, realtime_ns,
			       document->numbers[KP_CHROME_BASE_NS]);
		}
	}
	if (chrome->events.own && put_own(chrome) != KP_OK)
		return KP_NO_MEMORY;
	if (chrome->events.any_kernel && !chrome->events.any_fraction)
		return kp_import_note(import, WHOLE_NOTE);
	return KP_OK;
}

static enum kp_status conclude(struct chrome *chrome, enum kp_status parsed)
{
	struct kp_import *import = chrome->import;

	if (chrome->hatchet)
		return kp_import_fail(
			import, "a profile of Proton with totals alone, no launches: kprof makes "
				"none up; profile with proton.start(…, data=\"trace\"), and import "
				"that");
	if (chrome->status != KP_OK)
		return chrome->status;
	if (parsed != KP_OK)
		return parsed;
	if (!chrome->events.any && chrome->events.listed)
		return kp_import_fail(import,
				      "its traceEvents hold no event: nothing was recorded");
	if (!chrome->events.any)
		return kp_import_fail(import, "no traceEvents: not a Chrome trace");
	if (!chrome->events.any_kernel)
		return kp_import_fail(import,
				      "no event of the category kernel, copy or set: nothing ran "
				      "on a GPU, or the profiler did not record it (PyTorch: "
				      "ProfilerActivity.CUDA)");
	return put_document(chrome);
}

enum kp_status kp_import_chrome(struct kp_import *import)
{
	static const yajl_callbacks callbacks = {
		.yajl_null = on_scalar,
		.yajl_boolean = on_boolean,
		.yajl_number = on_number,
		.yajl_string = on_string,
		.yajl_start_map = on_start_map,
		.yajl_map_key = on_map_key,
		.yajl_end_map = on_end,
		.yajl_start_array = on_start_array,
		.yajl_end_array = on_end,
	};
	struct chrome *chrome = calloc(1, sizeof *chrome);
	char complaint[256] = "";

	if (!chrome)
		return KP_NO_MEMORY;
	chrome->import = import;
	chrome->events.import = import;
	enum kp_status status =
		kp_json_parse(import->path, &callbacks, chrome, complaint, sizeof complaint);
	if (status == KP_CORRUPT)
		kp_import_fail(import, "%s", complaint);
	status = conclude(chrome, status);
	for (size_t i = 0; i < KP_CHROME_TEXT_COUNT; i++) {
		kp_buffer_fini(&chrome->values.texts[i]);
		kp_buffer_fini(&chrome->document.texts[i]);
	}
	kp_chrome_events_fini(&chrome->events);
	free(chrome);
	return status;
}
