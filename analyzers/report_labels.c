/*
 * Names and labels of launch configurations, before anything is read; see report_build.h. Each
 * distinct kernel name of a trace is demangled and matched against the rules once.
 */
#include "analyzers/report_build.h"
#include "analyzers/report_written.h"

#include <stdlib.h>

#include "analyzers/demangle.h"
#include "trace/vector.h"

/* The number of a name, which is labelled when it is seen first. */
static enum kp_status find_name(struct kp_builder *builder, struct kp_text text, uint32_t *number)
{
	struct kp_build_name *name;
	enum kp_status status;
	bool added;

	status = kp_intern_put(&builder->name_texts, text.bytes, text.length, number, &added);
	if (status != KP_OK || !added)
		return status;
	if (!kp_vector_grow((void **)&builder->names, builder->name_count, &builder->name_capacity,
			    sizeof(*builder->names)))
		return KP_NO_MEMORY;
	name = &builder->names[builder->name_count];
	name->full = kp_demangle(builder->report->arena, text);
	if (!name->full)
		return KP_NO_MEMORY;
	status = kp_operators_match(builder->operators, name->full, &name->label);
	builder->name_count += status == KP_OK;
	return status;
}

/* The names of a process's configurations; few strings are the names of many. */
static enum kp_status name_configs(struct kp_builder *builder, const struct kp_process *process)
{
	uint32_t *names = malloc((process->config_count + 1) * sizeof(*names));
	uint32_t *of_string = calloc(process->string_count + 1, sizeof(*of_string)); /* plus one */
	enum kp_status status = names && of_string ? KP_OK : KP_NO_MEMORY;

	builder->processes[process->index].names = names;
	for (size_t i = 0; status == KP_OK && i < process->config_count; i++) {
		uint32_t string = process->configs[i].name;
		bool known = string < process->string_count;

		if (known && of_string[string]) {
			names[i] = of_string[string] - 1;
			continue;
		}
		status = find_name(builder, kp_process_string(process, string), &names[i]);
		if (status == KP_OK && known)
			of_string[string] = names[i] + 1;
	}
	free(of_string);
	return status;
}

enum kp_status kp_build_labels(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < processes; i++)
		status = name_configs(builder, kp_build_process_at(builder, i));
	if (status == KP_OK)
		status = kp_build_written(builder);
	return status == KP_OK ? kp_build_sequences(builder) : status;
}

/* The variant that the order of launches says of a configuration; 0: none. */
static uint32_t ordered_variant(const struct kp_build_process *reading, uint32_t config)
{
	uint32_t sequence = reading->sequences ? reading->sequences[config] : 0;

	return sequence ? sequence : reading->written ? reading->written[config] : 0;
}

/* A kernel's label where that says so. */
static struct kp_label label_by_order(struct kp_label label, uint32_t variant)
{
	if (variant) {
		label.variant = variant;
		label.source = KP_LABEL_SEQUENCE;
	}
	return label;
}

struct kp_label kp_build_label_of(const struct kp_builder *builder, size_t process, uint32_t config)
{
	const struct kp_build_process *reading = &builder->processes[process];

	return label_by_order(builder->names[reading->names[config]].label,
			      ordered_variant(reading, config));
}

enum kp_status kp_build_row_of(struct kp_builder *builder, const struct kp_process *process,
			       uint32_t config, uint32_t *row)
{
	const struct kp_build_process *reading = &builder->processes[process->index];
	uint32_t key[2] = {reading->names[config], ordered_variant(reading, config)};
	const struct kp_build_name *name = &builder->names[key[0]];
	struct kp_build_row *made;
	enum kp_status status;
	bool added;

	status = kp_intern_put(&builder->row_keys, key, sizeof(key), row, &added);
	if (status != KP_OK || !added)
		return status;
	if (!kp_vector_grow((void **)&builder->rows, builder->row_count, &builder->row_capacity,
			    sizeof(*builder->rows)))
		return KP_NO_MEMORY;
	made = &builder->rows[builder->row_count++];
	*made = (struct kp_build_row){
		.mangled = kp_process_string(process, process->configs[config].name),
		.full = name->full,
		.label = label_by_order(name->label, key[1]),
	};
	return KP_OK;
}

void kp_build_labels_fini(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);

	for (size_t i = 0; builder->processes && i < processes; i++) {
		free(builder->processes[i].names);
		free(builder->processes[i].sequences);
		free(builder->processes[i].written);
	}
	free(builder->names);
	kp_intern_fini(&builder->name_texts);
	kp_intern_fini(&builder->row_keys);
}
