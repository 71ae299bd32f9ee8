/*
 * The documents kprof.report/v1 and kprof.info/v1: what they hold, described once for YAML and
 * JSON. docs/report-yaml.md explains every key.
 */
#ifndef KP_PROFILER_DOCUMENT_H
#define KP_PROFILER_DOCUMENT_H

#include <stdio.h>

#include "analyzers/report.h"
#include "profiler/contents.h"
#include "profiler/emit.h"
#include "profiler/format.h"

/* `format` is YAML or JSON. Errors: KP_NO_MEMORY. */
enum kp_status kp_document_report(FILE *file, const struct kp_report *report,
				  enum kp_format format);
enum kp_status kp_document_info(FILE *file, const struct kp_contents *contents,
				enum kp_format format);

/* The parts that both hold: members of the open map. Absent fields are null. */
void kp_document_process(struct kp_emit *emit, const struct kp_process *process);
void kp_document_device(struct kp_emit *emit, const struct kp_device_info *device);
void kp_document_window(struct kp_emit *emit, const struct kp_window_info *window);
void kp_document_counts(struct kp_emit *emit, const struct kp_counts *counts);
void kp_document_counters(struct kp_emit *emit, const struct kp_counters_info *counters);
void kp_document_damage(struct kp_emit *emit, const struct kp_damage *damage);
/* What the timeline says, of a report's document. */
void kp_document_timeline(struct kp_emit *emit, const struct kp_report *report);
/* Begins a document. Errors: KP_NO_MEMORY. */
enum kp_status kp_document_begin(FILE *file, enum kp_format format, const char *schema,
				 struct kp_emit **out);

#endif
