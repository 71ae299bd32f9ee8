/* How processes ended, in words: one table for text, YAML, JSON and CSV. */
#ifndef KP_PROFILER_FATES_H
#define KP_PROFILER_FATES_H

#include "analyzers/report.h"

/* For programs: one word or a few, joined by underscores. */
const char *kp_fate_key(enum kp_process_fate fate);
/* For people: a few words. */
const char *kp_fate_words(enum kp_process_fate fate);

#endif
