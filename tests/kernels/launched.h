/* For the two ways of launch.h: counts a launch of a version. */
#ifndef KP_TESTS_KERNELS_LAUNCHED_H
#define KP_TESTS_KERNELS_LAUNCHED_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

void kp_test_count(enum kp_kernel_id kernel);

#ifdef __cplusplus
}
#endif

#endif
