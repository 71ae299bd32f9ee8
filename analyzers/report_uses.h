/* GPUs, and who used them, while a report is built: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_USES_H
#define KP_ANALYZERS_REPORT_USES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzers/report.h"

struct kp_builder;

/* One GPU as one process used it. */
struct kp_build_use {
	uint32_t process, gpu;
	const struct kp_process *info; /* the process */
	struct kp_sweep *sweep;        /* NULL: none, see kp_build_uses_timed */
};

/* report_gpus.c: which timeline a device of a process belongs to. */
enum kp_status kp_build_gpu_of(struct kp_builder *builder, const struct kp_process *process,
			       uint32_t device, uint32_t *gpu);
/* How long kernels have run on it. */
uint64_t kp_build_gpu_busy(const struct kp_builder *builder, size_t gpu);
/* Numbers the starts of hosts: fills `boot` of all processes. */
void kp_build_boots(struct kp_builder *builder);

/* report_processes.c: whether uses need busy times of their own: they are asked for, and are not
 * the GPUs', which one process has alone; the use of a GPU by a process; a row, when all is read
 * and settled. */
bool kp_build_uses_timed(const struct kp_builder *builder);
enum kp_status kp_build_use_of(struct kp_builder *builder, const struct kp_process *process,
			       uint32_t gpu, uint32_t *use);
enum kp_status kp_build_uses_settle(struct kp_builder *builder, uint64_t watermark_ns);
void kp_build_uses_fini(struct kp_builder *builder);
enum kp_status kp_build_process_row(struct kp_builder *builder, size_t number,
				    struct kp_process_row *row);

#endif
