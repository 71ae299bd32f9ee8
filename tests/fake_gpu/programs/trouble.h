/*
 * What programs do to themselves and to whoever lives in them, as prog_launch's options say:
 * limits, descriptors, rights, and ways to end that are not a return from main.
 */
#ifndef KP_FAKE_GPU_TROUBLE_H
#define KP_FAKE_GPU_TROUBLE_H

#include "tests/fake_gpu/programs/options.h"

/* Before CUDA is used. */
void kp_prog_trouble_early(const struct kp_prog_options *options);
/* Between the start of CUDA and the work. */
void kp_prog_trouble_late(const struct kp_prog_options *options);
/* After the work; returns where the options ask for no such end. */
void kp_prog_end(const struct kp_prog_options *options);

#endif
