/* The image that samples are decoded into; see pm_image.h. */
#include "inject/pm_image.h"

#include <stdlib.h>
#include <string.h>

/* When it is looked at whether what was not used is still blank: the first few times, and then
 * once in so many. */
#define LOOKS_FIRST 4
#define LOOKS_EVERY 64

static int size_of(const struct kp_pm_image *image, const char **names, size_t count, uint32_t room,
		   size_t *bytes)
{
	struct kp_pm_data_size size = {
		.object = image->object, .names = names, .count = count, .samples = room};
	int result = kp_pm_PmSamplingGetCounterDataSize(image->pm, &size);

	*bytes = size.bytes;
	return result;
}

/* What a sample takes, from the sizes of two images. False: they do not say. */
static bool measure(struct kp_pm_image *image, size_t half_bytes)
{
	uint32_t other_half = image->room - image->room / 2;
	size_t more = image->bytes - half_bytes;

	if (image->bytes <= half_bytes || more % other_half != 0 ||
	    more / other_half > image->bytes / image->room)
		return false;
	image->sample_bytes = more / other_half;
	image->head_bytes = image->bytes - image->room * image->sample_bytes;
	return true;
}

int kp_pm_image_open(struct kp_pm_image *image, const struct kp_pm *pm, void *object,
		     const char **names, size_t count, uint32_t room)
{
	size_t half_bytes;
	int result;

	*image = (struct kp_pm_image){.pm = pm, .object = object, .room = room};
	result = size_of(image, names, count, room / 2, &half_bytes);
	if (result == 0)
		result = size_of(image, names, count, room, &image->bytes);
	if (result != 0)
		return result;
	image->data = calloc(1, image->bytes + 1);
	if (!image->data)
		return KP_PM_NO_MEMORY;
	/* Without a blank one it goes on, the slow way. */
	if (measure(image, half_bytes))
		image->blank = malloc(image->head_bytes + image->sample_bytes);
	return 0;
}

static int let_empty(struct kp_pm_image *image)
{
	struct kp_pm_data_initialize initialize = {
		.object = image->object, .bytes = image->bytes, .image = image->data};

	return kp_pm_PmSamplingCounterDataImageInitialize(image->pm, &initialize);
}

static uint8_t *place_of(const struct kp_pm_image *image, size_t sample)
{
	return image->data + image->head_bytes + sample * image->sample_bytes;
}

/* Whether all places from this one on are as the blank one. */
static bool is_blank_from(const struct kp_pm_image *image, size_t sample)
{
	const uint8_t *blank = image->blank + image->head_bytes;

	for (size_t i = sample; i < image->room; i++)
		if (memcmp(place_of(image, i), blank, image->sample_bytes) != 0)
			return false;
	return true;
}

static void copy_no_more(struct kp_pm_image *image)
{
	free(image->blank);
	image->blank = NULL;
}

int kp_pm_image_begin(struct kp_pm_image *image)
{
	int result = let_empty(image);

	image->clears = 0;
	if (result != 0 || !image->blank)
		return result;
	memcpy(image->blank, image->data, image->head_bytes + image->sample_bytes);
	if (!is_blank_from(image, 1))
		copy_no_more(image);
	return 0;
}

int kp_pm_image_clear(struct kp_pm_image *image, size_t populated)
{
	/* One may have been begun that is not told. */
	size_t used = populated < image->room ? populated + 1 : image->room;
	bool looked_at = image->clears < LOOKS_FIRST || image->clears % LOOKS_EVERY == 0;

	image->clears++;
	if (image->blank && looked_at && !is_blank_from(image, used))
		copy_no_more(image);
	if (!image->blank)
		return let_empty(image);
	memcpy(image->data, image->blank, image->head_bytes);
	for (size_t i = 0; i < used; i++)
		memcpy(place_of(image, i), image->blank + image->head_bytes, image->sample_bytes);
	return 0;
}

void kp_pm_image_close(struct kp_pm_image *image)
{
	free(image->data);
	free(image->blank);
	*image = (struct kp_pm_image){0};
}
