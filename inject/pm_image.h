/*
 * The image that CUPTI decodes samples into, and clearing it.
 *
 * CUPTI makes an image empty by writing all of it, used or not. An image is plain bytes, a head and
 * a place for each sample, all of them alike when it is empty: the head and one place are kept, and
 * copied over what was used. Where places are not alike, or what was not used has changed, which is
 * looked at now and then, CUPTI empties the image as before.
 *
 * One thread at a time. The image stays where it is from open to close, as CUPTI wants.
 */
#ifndef KP_INJECT_PM_IMAGE_H
#define KP_INJECT_PM_IMAGE_H

#include <stdbool.h>

#include "inject/pm.h"

struct kp_pm_image {
	const struct kp_pm *pm;
	void *object; /* CUPTI's session */
	uint8_t *data;
	size_t bytes;
	uint32_t room; /* samples */
	size_t head_bytes, sample_bytes;
	uint8_t *blank; /* the head and one place when it is empty; NULL: nothing is copied */
	uint64_t clears;
};

#define KP_PM_NO_MEMORY (-1)

/* Returns CUPTI's result, or KP_PM_NO_MEMORY. To be closed in any case. */
int kp_pm_image_open(struct kp_pm_image *image, const struct kp_pm *pm, void *object,
		     const char **names, size_t count, uint32_t room);
/* Lets CUPTI empty it, before it is first decoded into and at each start. CUPTI's result. */
int kp_pm_image_begin(struct kp_pm_image *image);
/* Empties it after so many samples, finished or not, were put into it. CUPTI's result. */
int kp_pm_image_clear(struct kp_pm_image *image, size_t populated);
void kp_pm_image_close(struct kp_pm_image *image);

#endif
