/*
 * Stable names of the rows of a report, so that two reports can be compared: the same operator or
 * kernel has the same id in every trace, whatever its place in the ranking. Pure functions.
 *
 *   kernel     "k-" and 16 hexadecimal digits: the XXH3 64-bit hash of its mangled name. Where the
 *              order of launches gave it an operator, a kernel may have several rows: then of the
 *              mangled name, the operator and the variant, separated by NUL.
 *   operator   its name, which no other operator of the report has
 * Modules are not in the trace: two kernels of one mangled name are one row, with one id.
 */
#ifndef KP_ANALYZERS_IDS_H
#define KP_ANALYZERS_IDS_H

#include "analyzers/report.h"

#define KP_ID_BYTES 20

struct kp_id {
	char text[KP_ID_BYTES];
};

struct kp_id kp_id_of_kernel(const struct kp_report *report, const struct kp_kernel_row *kernel);
const char *kp_id_of_operator(const struct kp_operator_row *operator);

#endif
