/*
 * Attributes of CUPTI's activity API that the other client sets: it reads back what it set, and
 * nothing that kprof rests on changes. Switches are only remembered: kprof's buffers do come
 * zeroed, and to change per-thread buffers while records are made is undefined. Sizes and limits
 * are handed on to CUPTI where they give it more room than it has.
 */
#ifndef KP_INJECT_SHARE_ATTRIBUTES_H
#define KP_INJECT_SHARE_ATTRIBUTES_H

#include <stddef.h>

#include <cupti.h>

typedef CUptiResult(CUPTIAPI *kp_attribute_function)(CUpti_ActivityAttribute, size_t *, void *);

CUptiResult kp_share_attributes_set(CUpti_ActivityAttribute attribute, size_t *bytes, void *value,
				    kp_attribute_function set, kp_attribute_function get);
CUptiResult kp_share_attributes_get(CUpti_ActivityAttribute attribute, size_t *bytes, void *value,
				    kp_attribute_function get);
void kp_share_attributes_forget(void);

/* In a forked child; see kp_share_forget. */
void kp_share_attributes_after_fork(void);

#endif
