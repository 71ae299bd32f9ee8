/* What is done to the tables of a process once all of its chunks are in; see tables.h. */
#include <stdio.h>
#include <stdlib.h>

#include "trace/tables.h"

enum kp_status kp_tables_name_lost(struct kp_tables *tables, struct kp_process_tables *process)
{
	const struct kp_process *view = &process->view;
	size_t end = view->string_count;
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < view->config_count; i++)
		if (view->configs[i].name >= end &&
		    view->configs[i].name < view->string_count + KP_TABLES_MISSING_MOST)
			end = (size_t)view->configs[i].name + 1;
	while (status == KP_OK && view->string_count < end)
		status = kp_tables_add_lost(tables, process);
	return status == KP_NO_MEMORY ? status : KP_OK; /* beyond the budget, names stay lost */
}

/* ---- limits ---- */

/* What a string is, and what becomes of it. */
enum mark { WORD, KERNEL, BEYOND };

static enum kp_status cut(struct kp_tables *tables, struct kp_text *text, size_t number)
{
	char kept[KP_LIMIT_CUT_BYTES + 32];

	text->length = kp_limits_cut(text->bytes, text->length, number, kept);
	text->bytes = kp_arena_copy(tables->arena, kept, text->length);
	return text->bytes ? KP_OK : KP_NO_MEMORY;
}

/* Judges each string, and cuts those that are too much. */
static enum kp_status judge(struct kp_tables *tables, struct kp_process_tables *process,
			    uint8_t *marks)
{
	enum kp_limits_verdict verdict = KP_LIMIT_WHOLE;
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < process->view.string_count; i++) {
		struct kp_text *text = &process->strings[i];

		status = kp_limits_judge(&tables->limits, *text, marks[i] == KERNEL, &verdict);
		if (status == KP_OK && verdict == KP_LIMIT_CUT)
			status = cut(tables, text, i);
		if (verdict == KP_LIMIT_BEYOND)
			marks[i] = BEYOND;
	}
	return status;
}

/* Gives configurations of kernels beyond the limit one name; beyond the budget they have none. */
static enum kp_status join_others(struct kp_tables *tables, struct kp_process_tables *process,
				  const uint8_t *marks)
{
	const struct kp_process *view = &process->view;
	size_t count = view->string_count;
	char name[64];
	const struct kp_text text = {name, (size_t)snprintf(name, sizeof(name),
							    "(kernels beyond the first %zu)",
							    tables->limits.kernels)};
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < view->config_count; i++) {
		struct kp_launch_config *config = &process->configs[i];

		if (config->name >= count || marks[config->name] != BEYOND)
			continue;
		if (view->string_count == count && status == KP_OK)
			status = kp_tables_add_string(tables, process, &text);
		config->name = (uint32_t)count;
	}
	return status == KP_NO_MEMORY ? status : KP_OK;
}

enum kp_status kp_tables_limit(struct kp_tables *tables, struct kp_process_tables *process)
{
	const struct kp_process *view = &process->view;
	uint8_t *marks = calloc(view->string_count + 1, sizeof(*marks));
	enum kp_status status;

	if (!marks)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < view->config_count; i++)
		if (view->configs[i].name < view->string_count)
			marks[view->configs[i].name] = KERNEL;
	status = judge(tables, process, marks);
	if (status == KP_OK)
		status = join_others(tables, process, marks);
	free(marks);
	return status;
}
