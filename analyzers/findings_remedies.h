/*
 * What helps against a finding, in the words of what the program uses, as far as its kernels tell.
 * Pure functions.
 */
#ifndef KP_ANALYZERS_FINDINGS_REMEDIES_H
#define KP_ANALYZERS_FINDINGS_REMEDIES_H

#include "analyzers/findings.h"

/* What a program's kernels come from. */
enum kp_framework {
	KP_FRAMEWORK_NONE, /* neither, as far as can be seen: a program in C, an engine */
	KP_FRAMEWORK_PYTORCH,
	KP_FRAMEWORK_XLA,
	KP_FRAMEWORK_COUNT
};

/* The framework of a report's program, and a finding's remedy there; never NULL. */
enum kp_framework kp_framework_of(const struct kp_report *report);
const char *kp_finding_remedy(enum kp_finding_id id, enum kp_framework framework);

#endif
