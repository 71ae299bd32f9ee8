/*
 * Rows of interned tables to bytes: varints, in the order of the struct; a reader (tables.c) takes
 * missing ones as 0 and ignores any beyond.
 */
#ifndef KP_TRACE_ROWS_H
#define KP_TRACE_ROWS_H

#include "trace/batches.h"
#include "trace/codec.h"
#include "trace/library_call.h"
#include "trace/library_launch.h"

/* The longest varint of 32 bits, and what a row takes at most. */
#define KP_ROW_U32_BYTES 5
#define KP_ROW_CONFIG_BYTES (KP_ROW_U32_BYTES * sizeof(struct kp_launch_config) / 4)
#define KP_ROW_CALL_BYTES (KP_VARINT_MAX_BYTES * sizeof(struct kp_library_call) / 8)
#define KP_ROW_NODE_BYTES (KP_ROW_U32_BYTES * sizeof(struct kp_library_node) / 4)

/* Each returns how many bytes of `out` the row took. */
size_t kp_row_encode_config(const struct kp_launch_config *config, uint8_t *out);
size_t kp_row_encode_call(const struct kp_library_call *call, uint8_t *out);
size_t kp_row_encode_node(const struct kp_library_node *node, uint8_t *out);

#endif
