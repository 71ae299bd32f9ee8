/*
 * The kernel names that records point to: CUPTI's own, gone when it is finalized.
 *
 * Threading: any.
 */
#ifndef KP_FAKE_GPU_NAMES_H
#define KP_FAKE_GPU_NAMES_H

/* CUPTI's copy of a kernel's name. */
const char *kp_fake_name(const char *name);
/* Whoever reads one of them from now on reads nonsense. */
void kp_fake_names_lose(void);
/* In a forked child that may begin anew. */
void kp_fake_names_forget(void);

#endif
