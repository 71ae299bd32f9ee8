/*
 * What kprof must know of the records that it hands on to another client of CUPTI: where their
 * times and their correlation id are. All else in them is copied as it is.
 */
#ifndef KP_INJECT_SHARE_RECORD_H
#define KP_INJECT_SHARE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#include "inject/share_clock.h"

/* Converts all times of a record of `bytes` bytes. */
void kp_share_record_convert(uint8_t *record, size_t bytes, const struct kp_clock_map *map);

struct kp_share_key {
	uint64_t start_ns;    /* 0: the record says none */
	uint32_t correlation; /* 0: it has none */
};
struct kp_share_key kp_share_record_key(const uint8_t *record, size_t bytes);

#endif
