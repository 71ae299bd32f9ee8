/*
 * Reports made by hand, for findings: rows are put in, totals and shares follow. Kernels of one
 * operator are put in one after the other. The GPU has the limits of an H200. One at a time.
 */
#ifndef KP_TESTS_FINDINGS_REPORT_H
#define KP_TESTS_FINDINGS_REPORT_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analyzers/findings.h"
#include "analyzers/report.h"

#define MADE_ROWS 16

struct made {
	struct kp_report report;
	struct kp_kernel_row kernels[MADE_ROWS];
	struct kp_operator_row operators[MADE_ROWS];
	struct kp_stability shapes[MADE_ROWS]; /* of operators; one shape each at first */
	size_t by_time[MADE_ROWS];
	struct kp_gpu_row gpus[4];
	struct kp_idle_row idle[4];
	struct kp_iteration_row iterations[1];
	struct kp_timeline timeline;
	struct kp_device_info device;
	struct kp_process_row process;
	struct kp_findings_options options;
	struct kp_arena *arena;
	struct kp_findings found;
};

void made_begin(struct made *made);
void made_end(struct made *made);

/* What counters say of a row; NaN: nothing. */
struct kp_row_traffic made_traffic(double peak_pct, double tensor_pct);
/* A kernel of an operator: 1056 blocks of 128 threads with 32 registers, half of a full wave. */
struct kp_kernel_row *made_kernel(struct made *made, const char *operator_name, const char *name,
				  uint64_t calls, uint64_t mean_ns);
/* Looks for findings where kernels ran for busy_pct of the time, one after the other. */
void made_find(struct made *made, double busy_pct);

/* What is told of an id, and what is held back; NULL: nothing. Whether it was found at all. */
const struct kp_finding *told(const struct made *made, enum kp_finding_id id);
const struct kp_finding_held *held(const struct made *made, enum kp_finding_id id);
bool found(const struct made *made, enum kp_finding_id id);

bool near_to(double value, double wanted);

#endif
