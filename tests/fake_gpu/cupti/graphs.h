/*
 * What detaching does to CUDA graphs, as seen on an H200 (driver 580.159.04, CUPTI 13.0): a graph
 * that is launched between the end of recording and cuptiFinalize, or while that runs, is lost. The
 * program's launches fail once CUPTI is attached again.
 *
 * Threading: any.
 */
#ifndef KP_FAKE_GPU_GRAPHS_H
#define KP_FAKE_GPU_GRAPHS_H

#include <stdbool.h>

#include "tests/fake_gpu/common/link.h"

/* A driver call begins, or ends. */
void kp_fake_graphs_call(struct kp_fake_call *call, bool exit);
/* Kernels are recorded from now on, or not. */
void kp_fake_graphs_record(bool on);
void kp_fake_graphs_finalized(void);
/* A client comes (again). */
void kp_fake_graphs_attached(void);

#endif
