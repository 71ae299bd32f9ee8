/* Operators that are written out as chains of kernels, launch by launch: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_WRITTEN_H
#define KP_ANALYZERS_REPORT_WRITTEN_H

#include "analyzers/relay.h"
#include "analyzers/report_build.h"

/*
 * Once kernels are named: looks through the trace for chains that are an operator written out, if
 * there can be any. From then on such launches have configurations of their own: copies, behind
 * those of the file, which the process that the builder has (kp_build_process_at) counts as its
 * own. Errors: KP_NO_MEMORY, those of kp_build_read.
 */
enum kp_status kp_build_written(struct kp_builder *builder);
/* Before each reading: from now on it is amended. */
void kp_build_written_begin_reading(struct kp_builder *builder, struct kp_relay *relay);
/* The same for who reads without a relay: before, and for every batch in order. */
void kp_build_written_rewind(struct kp_builder *builder);
void kp_build_written_amend(struct kp_builder *builder, struct kp_event *event);
void kp_build_written_end(struct kp_builder *builder);

#endif
