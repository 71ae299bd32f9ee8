/*
 * Sums over kernels and NVTX ranges while they are recorded, for the boards of watchers
 * (trace/board.h): one row a kernel and GPU, one a range's name, each with its last minute; and the
 * time in which each GPU ran any kernel.
 *
 * Plain memory, bounded: what finds no row of its own is added to that of the others. The worker's
 * alone. Records whose time is not of this process's clock are placed by their arrival.
 */
#ifndef KP_INJECT_TALLY_H
#define KP_INJECT_TALLY_H

#include "trace/board.h"
#include "trace/records.h"

struct kp_tally;

/* NULL without memory. */
struct kp_tally *kp_tally_create(uint64_t now_ns);
void kp_tally_destroy(struct kp_tally *tally);
/* It is this late now; what ends much later than that has another clock. */
void kp_tally_set_now(struct kp_tally *tally, uint64_t now_ns);
/* A kernel has ended; `name` may be at the place of another one that was there before. */
void kp_tally_kernel(struct kp_tally *tally, const char *name, uint32_t device, uint64_t start_ns,
		     uint64_t end_ns);
/* A range has; its name needs no NUL. */
void kp_tally_range(struct kp_tally *tally, const char *name, size_t bytes, uint64_t start_ns,
		    uint64_t end_ns);
/* What a GPU is. */
void kp_tally_describe(struct kp_tally *tally, const struct kp_device_info *info);
/* All so far, for kp_board_publish; borrowed, and the caller may set what the tally does not know:
 * process, pid, state, times and the launches issued. */
struct kp_board_image *kp_tally_image(struct kp_tally *tally);

#endif
