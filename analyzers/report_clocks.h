/* Readings of clocks while a report is built: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_CLOCKS_H
#define KP_ANALYZERS_REPORT_CLOCKS_H

#include "analyzers/report_build.h"

/* A reading; all of the GPUs that have a row; the end. */
enum kp_status kp_build_clocks_read(struct kp_builder *builder, const struct kp_process *process,
				    const struct kp_clocks *reading);
enum kp_status kp_build_clocks_put(struct kp_builder *builder, struct kp_gpu_row *rows);
void kp_build_clocks_fini(struct kp_builder *builder);

#endif
