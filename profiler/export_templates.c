/* Names, texts and templates of the events of an export; see export_events.h. */
#include "profiler/export_templates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/demangle.h"
#include "analyzers/names.h"
#include "profiler/text.h"
#include "trace/vector.h"

static const char *const timings[KP_EXPORT_QUALITIES] = {
	[KP_TIME_VALID] = "valid",
	[KP_TIME_UNTIMED] = "untimed",
	[KP_TIME_INVALID] = "invalid",
};

static const char *const memop_names[KP_MEMOP_KIND_COUNT] = {
	[KP_MEMOP_OTHER] = "copy",
	[KP_MEMOP_HOST_TO_DEVICE] = "copy host to device",
	[KP_MEMOP_DEVICE_TO_HOST] = "copy device to host",
	[KP_MEMOP_DEVICE_TO_DEVICE] = "copy device to device",
	[KP_MEMOP_HOST_TO_HOST] = "copy host to host",
	[KP_MEMOP_PEER_TO_PEER] = "copy peer to peer",
	[KP_MEMOP_SET] = "set",
};

static const char *const call_names[] = {
	[KP_HOST_LAUNCH] = "cuLaunchKernel",
	[KP_HOST_COOPERATIVE] = "cuLaunchCooperativeKernel",
	[KP_HOST_GRAPH] = "cuGraphLaunch",
};

/* ---- texts ---- */

/* The number of a text that is valid UTF-8. */
static enum kp_status put_text(struct kp_export_events *events, const char *text, uint64_t *out)
{
	size_t length = strlen(text);
	uint32_t number;
	bool added;
	enum kp_status status = kp_intern_put(&events->text_numbers, text, length, &number, &added);

	*out = number;
	if (status != KP_OK || !added)
		return status;
	if (!kp_vector_grow((void **)&events->texts, events->text_count, &events->text_capacity,
			    sizeof(*events->texts)))
		return KP_NO_MEMORY;
	events->texts[events->text_count] = kp_arena_copy(events->arena, text, length);
	return events->texts[events->text_count++] ? KP_OK : KP_NO_MEMORY;
}

/* The number of a text of any bytes. */
static enum kp_status put_bytes(struct kp_export_events *events, struct kp_text bytes,
				uint64_t *out)
{
	char *exact = kp_text_exact(bytes.bytes, bytes.length);
	enum kp_status status = exact ? put_text(events, exact, out) : KP_NO_MEMORY;

	free(exact);
	return status;
}

/* ---- kernels ---- */

static enum kp_status add_kernel(struct kp_export_events *events, struct kp_text mangled)
{
	const char *full = kp_demangle(events->arena, mangled);
	struct kp_export_kernel *kernel;
	enum kp_status status;

	if (!full || !kp_vector_grow((void **)&events->kernels, events->kernel_count,
				     &events->kernel_capacity, sizeof(*events->kernels)))
		return KP_NO_MEMORY;
	kernel = &events->kernels[events->kernel_count++];
	status = put_text(events, full, &kernel->full);
	return status == KP_OK ? put_bytes(events, mangled, &kernel->mangled) : status;
}

/* The kernels of a process's configurations; few strings are the names of many. */
static enum kp_status list_kernels(struct kp_export_events *events,
				   const struct kp_process *process)
{
	struct kp_export_process *own = &events->processes[process->index];
	size_t templates = process->config_count * KP_EXPORT_QUALITIES;
	enum kp_status status = KP_OK;

	own->kernels = malloc((process->config_count + 1) * sizeof(*own->kernels));
	own->templates = malloc((templates + 1) * sizeof(*own->templates));
	if (!own->kernels || !own->templates)
		return KP_NO_MEMORY;
	memset(own->templates, 0xff, (templates + 1) * sizeof(*own->templates));
	for (size_t i = 0; status == KP_OK && i < process->config_count; i++) {
		struct kp_text mangled = kp_process_string(process, process->configs[i].name);
		bool added;

		status = kp_intern_put(&events->kernel_numbers, mangled.bytes, mangled.length,
				       &own->kernels[i], &added);
		if (status == KP_OK && added)
			status = add_kernel(events, mangled);
	}
	return status;
}

static enum kp_status shorten(struct kp_export_events *events)
{
	size_t count = events->kernel_count;
	const char **full = calloc(2 * count + 1, sizeof(*full)), **names = full + count;
	enum kp_status status = full ? KP_OK : KP_NO_MEMORY;

	for (size_t i = 0; status == KP_OK && i < count; i++)
		full[i] = events->texts[events->kernels[i].full];
	if (status == KP_OK)
		status = kp_names_shorten_all(events->arena, full, count, names);
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = put_text(events, names[i], &events->kernels[i].name);
	free(full);
	return status;
}

enum kp_status kp_export_name_kernels(struct kp_export_events *events)
{
	size_t count = kp_reader_process_count(events->reader);
	enum kp_status status = KP_OK;

	events->processes = calloc(count + 1, sizeof(*events->processes));
	if (!events->processes)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = list_kernels(events, kp_launch_labels_process(events->labels, i));
	return status == KP_OK ? shorten(events) : status;
}

/* ---- templates ---- */

static void set_count(struct kp_export_template *template, enum kp_export_fixed column,
		      uint64_t value)
{
	template->cells[column] = value;
	template->has |= 1ULL << column;
}

/* Sets a column to a text unless a step before has failed. */
static void set_text(struct kp_export_events *events, struct kp_export_template *template,
		     enum kp_export_fixed column, const char *text, enum kp_status *status)
{
	uint64_t number = 0;

	if (*status == KP_OK)
		*status = put_text(events, text, &number);
	set_count(template, column, number);
}

static void set_bytes(struct kp_export_events *events, struct kp_export_template *template,
		      enum kp_export_fixed column, struct kp_text bytes, enum kp_status *status)
{
	uint64_t number = 0;

	if (*status == KP_OK)
		*status = put_bytes(events, bytes, &number);
	set_count(template, column, number);
}

static void set_known(struct kp_export_template *template, enum kp_export_fixed column,
		      uint32_t value)
{
	if (value != KP_EXPORT_NONE)
		set_count(template, column, value);
}

/* What all templates have. */
static enum kp_status begin_template(struct kp_export_events *events,
				     const struct kp_process *process, enum kp_export_kind kind,
				     enum kp_time_quality quality,
				     struct kp_export_template *template)
{
	const struct kp_process_info *info = &process->info;
	enum kp_status status = KP_OK;
	char identity[20];

	*template = (struct kp_export_template){
		.process = process, .kind = (uint8_t)kind, .valid = quality == KP_TIME_VALID};
	set_text(events, template, KP_EXPORT_COLUMN_KIND, kp_export_kind_names[kind], &status);
	set_text(events, template, KP_EXPORT_COLUMN_TIMING, timings[quality], &status);
	snprintf(identity, sizeof identity, "%016" PRIx64, process->id);
	set_text(events, template, KP_EXPORT_COLUMN_PROCESS, identity, &status);
	if (KP_HAS(info, PROCESS, host))
		set_bytes(events, template, KP_EXPORT_COLUMN_HOST, info->host, &status);
	if (KP_HAS(info, PROCESS, rank))
		set_bytes(events, template, KP_EXPORT_COLUMN_RANK, info->rank, &status);
	if (KP_HAS(info, PROCESS, pid))
		set_count(template, KP_EXPORT_COLUMN_PID, info->pid);
	return status;
}

static enum kp_status add_template(struct kp_export_events *events,
				   const struct kp_export_template *template, uint32_t *out)
{
	if (events->template_count == KP_EXPORT_NONE ||
	    !kp_vector_grow((void **)&events->templates, events->template_count,
			    &events->template_capacity, sizeof(*events->templates)))
		return KP_NO_MEMORY;
	*out = (uint32_t)events->template_count;
	events->templates[events->template_count++] = *template;
	return KP_OK;
}

static void set_config(struct kp_export_template *template, const struct kp_launch_config *config)
{
	set_count(template, KP_EXPORT_COLUMN_DEVICE, config->device);
	set_count(template, KP_EXPORT_COLUMN_CONTEXT, config->context);
	set_count(template, KP_EXPORT_COLUMN_STREAM, config->stream);
	for (unsigned i = 0; i < 3; i++) {
		set_count(template, KP_EXPORT_COLUMN_GRID_X + i, config->grid[i]);
		set_count(template, KP_EXPORT_COLUMN_BLOCK_X + i, config->block[i]);
		if (config->cluster[i]) /* 0: no clusters */
			set_count(template, KP_EXPORT_COLUMN_CLUSTER_X + i, config->cluster[i]);
	}
	set_count(template, KP_EXPORT_COLUMN_REGISTERS, config->registers);
	set_count(template, KP_EXPORT_COLUMN_STATIC_SHARED, config->static_shared_bytes);
	set_count(template, KP_EXPORT_COLUMN_DYNAMIC_SHARED, config->dynamic_shared_bytes);
	set_count(template, KP_EXPORT_COLUMN_LOCAL, config->local_bytes);
}

/* What a kernel's launches of a configuration are, and what says so. */
static void set_label(struct kp_export_events *events, struct kp_export_template *template,
		      struct kp_label label, enum kp_status *status)
{
	struct kp_variant variant = kp_operators_variant(events->operators, label.variant);
	const char *source = kp_label_source_name(label.source);

	set_text(events, template, KP_EXPORT_COLUMN_OPERATOR,
		 kp_operators_name(events->operators, variant.operator_index), status);
	if (variant.name)
		set_text(events, template, KP_EXPORT_COLUMN_VARIANT, variant.name, status);
	if (source)
		set_text(events, template, KP_EXPORT_COLUMN_LABEL_SOURCE, source, status);
	template->written_out = label.source == KP_LABEL_SEQUENCE;
}

enum kp_status kp_export_launch_template(struct kp_export_events *events,
					 const struct kp_process *process, uint32_t config,
					 enum kp_time_quality quality, uint32_t *out)
{
	const struct kp_export_process *own = &events->processes[process->index];
	uint32_t *known = &own->templates[(size_t)config * KP_EXPORT_QUALITIES + quality];
	struct kp_export_template template;
	enum kp_status status = KP_OK;

	if (*known == KP_EXPORT_NONE) {
		const struct kp_export_kernel *kernel = &events->kernels[own->kernels[config]];

		/* The reader's, for the copy of the labels has more configurations only. */
		status = begin_template(events, kp_reader_process(events->reader, process->index),
					KP_EXPORT_KERNEL, quality, &template);
		set_count(&template, KP_EXPORT_COLUMN_NAME, kernel->name);
		set_label(events, &template,
			  kp_launch_labels_of(events->labels, process->index, config), &status);
		set_count(&template, KP_EXPORT_COLUMN_FULL_NAME, kernel->full);
		set_count(&template, KP_EXPORT_COLUMN_MANGLED_NAME, kernel->mangled);
		set_config(&template, &process->configs[config]);
		if (status == KP_OK)
			status = add_template(events, &template, known);
	}
	*out = *known;
	return status;
}

/* What a copy, a set, a range or a call is called. */
static void name_other(struct kp_export_events *events, struct kp_export_template *template,
		       const struct kp_process *process, const struct kp_export_key *key,
		       enum kp_status *status)
{
	if (key->kind == KP_EXPORT_RANGE) {
		set_bytes(events, template, KP_EXPORT_COLUMN_NAME,
			  kp_process_string(process, key->name), status);
		set_bytes(events, template, KP_EXPORT_COLUMN_DOMAIN,
			  kp_process_string(process, key->domain), status);
	} else if (key->kind == KP_EXPORT_CALL) {
		set_text(events, template, KP_EXPORT_COLUMN_NAME,
			 key->code < sizeof call_names / sizeof *call_names ? call_names[key->code]
									    : "cuLaunch",
			 status);
	} else {
		set_text(events, template, KP_EXPORT_COLUMN_NAME,
			 memop_names[key->code < KP_MEMOP_KIND_COUNT ? key->code : 0], status);
	}
}

static enum kp_status make_other(struct kp_export_events *events, const struct kp_export_key *key,
				 const char *name, const char *unit, uint32_t *out)
{
	const struct kp_process *process = kp_reader_process(events->reader, key->process);
	struct kp_export_template template;
	enum kp_status status = begin_template(events, process, (enum kp_export_kind)key->kind,
					       (enum kp_time_quality)key->quality, &template);

	template.code = key->code;
	template.unordered = key->unordered;
	set_known(&template, KP_EXPORT_COLUMN_DEVICE, key->device);
	set_known(&template, KP_EXPORT_COLUMN_CONTEXT, key->context);
	set_known(&template, KP_EXPORT_COLUMN_STREAM, key->stream);
	if (name)
		set_text(events, &template, KP_EXPORT_COLUMN_NAME, name, &status);
	else
		name_other(events, &template, process, key, &status);
	if (unit)
		set_text(events, &template, KP_EXPORT_COLUMN_UNIT, unit, &status);
	return status == KP_OK ? add_template(events, &template, out) : status;
}

enum kp_status kp_export_other_template(struct kp_export_events *events,
					const struct kp_export_key *key, const char *name,
					const char *unit, uint32_t *out)
{
	uint32_t number;
	bool added;
	enum kp_status status = kp_intern_put(&events->keys, key, sizeof *key, &number, &added);

	if (status == KP_OK && added) {
		if (!kp_vector_grow((void **)&events->key_templates, number, &events->key_capacity,
				    sizeof(*events->key_templates)))
			return KP_NO_MEMORY;
		status = make_other(events, key, name, unit, &events->key_templates[number]);
	}
	if (status == KP_OK)
		*out = events->key_templates[number];
	return status;
}
