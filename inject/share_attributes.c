/* The other client's attributes; see share_attributes.h. */
#include "inject/share_attributes.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Those of CUDA 12.3 to 13; the older headers lack the last names. */
#define PER_THREAD_BUFFERS 9
#define ATTRIBUTE_LIMIT 11 /* beyond: CUPTI answers */

static struct {
	pthread_mutex_t lock;
	struct remembered {
		size_t bytes; /* 0: not set by the client */
		uint8_t value[sizeof(uint64_t)];
	} of[ATTRIBUTE_LIMIT];
} attributes = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t value_bytes(unsigned attribute)
{
	switch (attribute) {
	case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
	case CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED:
	case PER_THREAD_BUFFERS:
		return sizeof(uint8_t);
	default:
		return sizeof(size_t);
	}
}

static bool gives_more_room(CUpti_ActivityAttribute attribute, const void *value,
			    kp_attribute_function get)
{
	size_t now = 0, wished, bytes = sizeof(now);

	if (value_bytes((unsigned)attribute) != sizeof(wished) ||
	    get(attribute, &bytes, &now) != CUPTI_SUCCESS)
		return false;
	memcpy(&wished, value, sizeof(wished));
	return wished > now;
}

CUptiResult kp_share_attributes_set(CUpti_ActivityAttribute attribute, size_t *bytes, void *value,
				    kp_attribute_function set, kp_attribute_function get)
{
	struct remembered kept = {.bytes = value_bytes((unsigned)attribute)};
	CUptiResult result = CUPTI_SUCCESS;

	if (!bytes || !value || (unsigned)attribute >= ATTRIBUTE_LIMIT)
		return set(attribute, bytes, value);
	if (*bytes < kept.bytes)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	if (gives_more_room(attribute, value, get))
		result = set(attribute, bytes, value);
	if (result != CUPTI_SUCCESS)
		return result;
	memcpy(kept.value, value, kept.bytes);
	pthread_mutex_lock(&attributes.lock);
	attributes.of[attribute] = kept;
	pthread_mutex_unlock(&attributes.lock);
	return CUPTI_SUCCESS;
}

CUptiResult kp_share_attributes_get(CUpti_ActivityAttribute attribute, size_t *bytes, void *value,
				    kp_attribute_function get)
{
	struct remembered kept;

	if (!bytes || !value || (unsigned)attribute >= ATTRIBUTE_LIMIT)
		return get(attribute, bytes, value);
	pthread_mutex_lock(&attributes.lock);
	kept = attributes.of[attribute];
	pthread_mutex_unlock(&attributes.lock);
	if (!kept.bytes)
		return get(attribute, bytes, value);
	if (*bytes < kept.bytes)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	memcpy(value, kept.value, kept.bytes);
	*bytes = kept.bytes;
	return CUPTI_SUCCESS;
}

void kp_share_attributes_forget(void)
{
	pthread_mutex_lock(&attributes.lock);
	memset(attributes.of, 0, sizeof(attributes.of));
	pthread_mutex_unlock(&attributes.lock);
}

void kp_share_attributes_after_fork(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&attributes, 0, sizeof(attributes));
	attributes.lock = fresh;
}
