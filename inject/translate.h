/*
 * CUPTI records to kprof's: the one place that knows how CUPTI lays out its records.
 *
 * Runs on the worker thread only.
 */
#ifndef KP_INJECT_TRANSLATE_H
#define KP_INJECT_TRANSLATE_H

#include <stddef.h>
#include <stdint.h>

#include "inject/cupti.h"
#include "trace/records.h"
#include "trace/writer.h"

struct kp_translator;

/* A translator that writes into `writer`, both borrowed. NULL without memory. */
struct kp_translator *kp_translator_create(const struct kp_cupti *cupti, struct kp_writer *writer);

/*
 * Writes all records of a filled buffer and adds to `counts` (recorded, invalid, untimed, unknown).
 * Their times are on a clock that is `ahead_ns` ahead of kprof's, and are put on that.
 */
void kp_translate(struct kp_translator *translator, uint8_t *bytes, size_t valid_bytes,
		  int64_t ahead_ns, struct kp_counts *counts);

#endif
