/* The processes of a report, one row each: the table of «--by process», and its rows as CSV. */
#ifndef KP_PROFILER_PRINT_PROCESSES_H
#define KP_PROFILER_PRINT_PROCESSES_H

#include <stdio.h>

#include "profiler/print.h"

/*
 * By kernel time, largest first; those that are not traced last. A line below a row says why
 * nothing was recorded of it. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_print_processes(FILE *file, const struct kp_report *report,
				  const struct kp_view *view);
/* All rows, in the order of the trace. Errors: KP_NO_MEMORY. */
enum kp_status kp_print_processes_csv(FILE *file, const struct kp_report *report);

#endif
