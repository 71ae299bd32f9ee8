/* JSON strings in memory; kp_out_json (export_out.h) writes them to an output. */
#ifndef KP_PROFILER_EXPORT_JSON_H
#define KP_PROFILER_EXPORT_JSON_H

#include "trace/codec.h"

/* Appends valid UTF-8 as a JSON string with its quotes. */
void kp_export_json(struct kp_buffer *out, const char *text);

#endif
