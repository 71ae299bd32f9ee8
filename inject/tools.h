/* Other tools of NVIDIA's that were started around the program and own its profiling. */
#ifndef KP_INJECT_TOOLS_H
#define KP_INJECT_TOOLS_H

/* The name of one that is in this process; NULL: none. Allocates nothing. */
const char *kp_tools_find(void);

#endif
