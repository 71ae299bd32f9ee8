/* Parquet's encodings of numbers, as far as exports need them. Pure functions. */
#ifndef KP_PROFILER_PARQUET_ENCODE_H
#define KP_PROFILER_PARQUET_ENCODE_H

#include "trace/codec.h"

/* How many bits hold every number up to `most`; 1 at least. */
unsigned kp_parquet_width(uint64_t most);
/* RLE/bit-packed hybrid of numbers below 2^width, without a length before it. */
void kp_parquet_hybrid(struct kp_buffer *out, const uint32_t *values, size_t count, unsigned width);
/* DELTA_BINARY_PACKED of 64-bit numbers, in two's complement. */
void kp_parquet_delta(struct kp_buffer *out, const uint64_t *values, size_t count);

#endif
