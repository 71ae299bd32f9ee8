/*
 * Which process of the recording samples a GPU, by the entry for it in the live mapping. Where
 * there is no mapping nobody keeps order, and CUPTI refuses the second.
 */
#ifndef KP_INJECT_COUNTERS_OWNER_H
#define KP_INJECT_COUNTERS_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Takes a GPU for this process. False: another has it (*owner), or it is a slice of one, which has
 * no counters; `reason` is one sentence.
 */
bool kp_owner_claim(uint32_t device, uint32_t *owner, char *reason, size_t size);
/* Gives it up. Does nothing where it was not taken. */
void kp_owner_release(uint32_t device);
/* In a forked child: the parent has what it has. */
void kp_owner_forget(void);

#endif
