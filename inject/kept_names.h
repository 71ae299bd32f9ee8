/*
 * Kernel names that outlive CUPTI: a record only points to its kernel's name, which goes when CUPTI
 * is detached, and the worker may read the record later.
 *
 * So from shortly before CUPTI is detached until it is, the names in buffers that come back are
 * replaced by copies. These stay for good, one of each name, within a bound.
 *
 * Threading: enter, replace and leave in whatever thread gives buffers back; the rest is the
 * worker's. No allocator of the program's is used.
 */
#ifndef KP_INJECT_KEPT_NAMES_H
#define KP_INJECT_KEPT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/cupti.h"

/* Brackets the giving back of a buffer. Whether its names are to be replaced. */
bool kp_kept_names_enter(void);
void kp_kept_names_leave(void);
void kp_kept_names_replace(const struct kp_cupti *cupti, uint8_t *bytes, size_t valid_bytes);

/*
 * From now on, or no more. False: a buffer is just being given back with names that are CUPTI's:
 * ask again. Once it is true, all such buffers are in the pool. Worker only.
 */
bool kp_kept_names_keep(bool keep);
/* In a forked child. */
void kp_kept_names_forget(void);

#endif
