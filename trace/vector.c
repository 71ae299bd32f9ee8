/* Growing arrays; see vector.h. */
#include "trace/vector.h"

#include <stdlib.h>

#define FIRST_CAPACITY 16

bool kp_vector_grow(void **vector, size_t count, size_t *capacity, size_t element_bytes)
{
	size_t larger = *capacity ? *capacity * 2 : FIRST_CAPACITY;
	void *grown;

	if (count < *capacity)
		return true;
	grown = reallocarray(*vector, larger, element_bytes);
	if (!grown)
		return false;
	*vector = grown;
	*capacity = larger;
	return true;
}
