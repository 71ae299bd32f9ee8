/* Names, texts and templates of the events of an export: private to export_events.c and this. */
#ifndef KP_PROFILER_EXPORT_TEMPLATES_H
#define KP_PROFILER_EXPORT_TEMPLATES_H

#include "analyzers/report_launch_labels.h"
#include "profiler/export_events.h"
#include "trace/arena.h"

/* One distinct kernel name: numbers of texts. */
struct kp_export_kernel {
	uint64_t name, full, mangled;
};

/* By configuration of a process. */
struct kp_export_process {
	uint32_t *kernels;
	uint32_t *templates; /* one a time quality; KP_EXPORT_NONE: not made yet */
};

#define KP_EXPORT_NONE UINT32_MAX
#define KP_EXPORT_QUALITIES 3 /* enum kp_time_quality */

struct kp_export_events {
	struct kp_reader *reader;
	const struct kp_operators *operators;
	struct kp_operators *builtin; /* NULL: they are the caller's */
	struct kp_launch_labels *labels;
	struct kp_arena *arena;
	struct kp_intern text_numbers;
	const char **texts;
	size_t text_count, text_capacity;
	struct kp_intern kernel_numbers; /* by mangled name */
	struct kp_export_kernel *kernels;
	size_t kernel_count, kernel_capacity;
	struct kp_export_process *processes;
	struct kp_intern keys;   /* struct kp_export_key */
	uint32_t *key_templates; /* by number of the key */
	size_t key_capacity;
	struct kp_export_template *templates;
	size_t template_count, template_capacity;
};

/* What tells the templates apart that are not those of launches. */
struct kp_export_key {
	uint32_t process;
	uint8_t kind, code, quality, unordered;
	uint32_t device, context, stream; /* KP_EXPORT_NONE: not known */
	uint32_t name, domain;            /* strings of the process; a counter's or clock's place */
};

/* Names and labels of all kernels. Errors: KP_NO_MEMORY. */
enum kp_status kp_export_name_kernels(struct kp_export_events *events);
/* The template of a launch. Errors: KP_NO_MEMORY. */
enum kp_status kp_export_launch_template(struct kp_export_events *events,
					 const struct kp_process *process, uint32_t config,
					 enum kp_time_quality quality, uint32_t *out);
/*
 * The template of anything else. `name` and `unit` name a counter or clock; NULL: the key does.
 * Errors: KP_NO_MEMORY.
 */
enum kp_status kp_export_other_template(struct kp_export_events *events,
					const struct kp_export_key *key, const char *name,
					const char *unit, uint32_t *out);

#endif
