/*
 * NVTX ranges: this library is the NVTX injection (NVTX_INJECTION64_PATH), so that the program's
 * own annotations cost nothing more than a clock reading and a name lookup.
 *
 * Ranges are kept in memory until the worker takes them; beyond KP_NVTX_LIMIT the newest are
 * dropped and counted, which happens only where no collector runs.
 */
#ifndef KP_INJECT_NVTX_H
#define KP_INJECT_NVTX_H

#include "trace/records.h"
#include "trace/writer.h"

#define KP_NVTX_LIMIT 1000000 /* closed ones that wait; open ones of a thread in a domain */
#define KP_NVTX_NAMES 100000  /* different ones; further ones share one name */

/* Writes all closed ranges and counts them. Worker thread only. */
void kp_nvtx_drain(struct kp_writer *writer, struct kp_counts *counts);
/* In a forked child: no range of the parent's is left. */
void kp_nvtx_forget(void);

#endif
