/* What a kernel of kprof's own takes: one struct; how large it is. */
#ifndef KP_FAKE_GPU_PARAMETERS_H
#define KP_FAKE_GPU_PARAMETERS_H

#include <stdint.h>

/* 0: it is not known. */
uint32_t kp_fake_struct_bytes(const char *kernel);

#endif
