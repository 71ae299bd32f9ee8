/* The release of the NVIDIA kernel driver, as in 580.159.04. */
#ifndef KP_DEVICE_RELEASE_H
#define KP_DEVICE_RELEASE_H

#include <stdbool.h>

/* False, and an empty string, where there is no such driver. */
bool kp_driver_release(char out[64]);

#endif
