/*
 * Stable names of the rows of a report, so that two reports can be compared: the same operator or
 * kernel has the same id in every trace, whatever its place in the ranking. Pure functions.
 *
 *   kernel     "k-" and 16 hexadecimal digits: the XXH3 64-bit hash of its mangled name. It rests
 * on no label, so that rules of one's own change none. Where the order of launches gave some of its
 * launches an operator, a kernel has several rows with one id, which their operator and variant
 * tell apart. operator   its name, which no other operator of the report has Modules are not in the
 * trace: two kernels of one mangled name are one row, with one id.
 */
#ifndef KP_ANALYZERS_IDS_H
#define KP_ANALYZERS_IDS_H

#include "analyzers/report.h"

#define KP_ID_BYTES 20

struct kp_id {
	char text[KP_ID_BYTES];
};

struct kp_id kp_id_of_kernel(const struct kp_kernel_row *kernel);
const char *kp_id_of_operator(const struct kp_operator_row *operator);

#endif
